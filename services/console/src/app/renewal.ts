/**
 * What requests do whose session has ended: they wait for the next login of the same user, and are sent once more.
 * The page stays as it is meanwhile, with all that is not saved. Guarantees that nothing of one user goes on for
 * another: after the login of another user the page begins anew.
 */

import type { Renew } from '../api/client';
import type { Session } from './session';

interface RenewalOptions {
  session: Session;
  /** Whose the cookie is now; null for nobody. */
  whose: () => Promise<Session | null>;
  /** Shows the login, or takes it away. */
  onChange: (isEnded: boolean) => void;
  /** The browser has the session of another user. */
  onOther: () => void;
}

interface Login {
  done: Promise<string>;
  finish: (key: string) => void;
}

export class Renewal {
  readonly #options: RenewalOptions;
  #session: Session;
  #login: Login | null = null;

  constructor(options: RenewalOptions) {
    this.#options = options;
    this.#session = options.session;
  }

  get isEnded(): boolean {
    return this.#login !== null;
  }

  /** Called after an answer that the session is not valid. */
  readonly renew: Renew = (usedKey, signal) => {
    // A late answer to an earlier session does not end the current one.
    if (usedKey !== this.#session.sessionKey) return Promise.resolve(this.#session.sessionKey);
    if (!this.#login) {
      let finish: Login['finish'] = () => {};
      const done = new Promise<string>((resolve) => {
        finish = resolve;
      });
      this.#login = { done, finish };
      void this.look().then((goesOn) => goesOn || this.#options.onChange(true));
    }
    return unlessAborted(this.#login.done, signal);
  };

  /** Whether the session goes on: another tab may have logged in, or the answer was a late one. */
  readonly look = async (): Promise<boolean> => {
    const found = await this.#options.whose().catch(() => null);
    if (found) this.begin(found);
    return found !== null;
  };

  /** Goes on with a session. */
  begin(next: Session): void {
    if (next.username !== this.#session.username) {
      this.#options.onOther();
      return;
    }
    this.#session = next;
    const login = this.#login;
    this.#login = null;
    this.#options.onChange(false);
    login?.finish(next.sessionKey);
  }
}

function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | null | undefined): Promise<T> {
  if (!signal) return promise;
  return new Promise((resolve, reject) => {
    const stop = () => reject(new DOMException('nobody waits any more', 'AbortError'));
    if (signal.aborted) return stop();
    signal.addEventListener('abort', stop, { once: true });
    promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', stop));
  });
}
