/** Looks whether a server is back that could not be reached, as long as somebody waits for it. */

import { ApiError } from '../../api/client';

/** Milliseconds between two looks. */
const EVERY = 3_000;

export const isAway = (error: unknown): boolean =>
  error instanceof ApiError && error.kind === 'unreachable';

export interface ServerWatchOptions {
  /** Fails as `unreachable` while the server is away. */
  ping: () => Promise<void>;
  /** Whether nobody looks at the page: nothing is asked then. */
  isPaused: () => boolean;
  onBack: () => void;
}

export class ServerWatch {
  readonly #options: ServerWatchOptions;
  #timer: ReturnType<typeof setTimeout> | null = null;
  #isDisposed = false;

  constructor(options: ServerWatchOptions) {
    this.#options = options;
  }

  /** Calls `onBack` once the server answers. */
  begin(): void {
    if (this.#timer === null && !this.#isDisposed) this.#timer = setTimeout(this.#look, EVERY);
  }

  dispose(): void {
    this.#isDisposed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
  }

  #look = async (): Promise<void> => {
    const { ping, isPaused, onBack } = this.#options;
    const isBack =
      !isPaused() &&
      (await ping().then(
        () => true,
        (error) => !isAway(error),
      ));
    this.#timer = null;
    if (this.#isDisposed) return;
    if (isBack) onBack();
    else this.begin();
  };
}
