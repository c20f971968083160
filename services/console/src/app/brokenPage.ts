/** Why a part of the page, which is loaded when it is first shown, is missing. */

import { ApiError, KarstClient } from '../api/client';

/** Whether the error of a view is a script or a style sheet that could not be loaded; browsers word it differently. */
export const isPartMissing = (error: Error): boolean =>
  /dynamically imported module|Importing a module script|Unable to preload CSS/.test(error.message);

/** Whether the server answers; `client`: without a session, as it may have ended. */
export async function isReachable(client = new KarstClient()): Promise<boolean> {
  try {
    await client.welcome();
    return true;
  } catch (error) {
    return error instanceof ApiError && error.kind !== 'unreachable';
  }
}
