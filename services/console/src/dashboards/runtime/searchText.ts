/** Texts and ranges of searches as they are sent. */

import { withoutLastPipe } from '../../query/syntax';

/** Bounds as they are sent, without those of all time. Real-time windows run once, over the same span of time. */
export function bounds(earliest: string, latest: string): { earliest: string; latest: string } {
  const past = (bound: string) => (/^rt/i.test(bound) ? bound.slice(2) : bound);
  const [from, to] = [past(earliest), past(latest)];
  return { earliest: from === 'now' || from === '0' ? '' : from, latest: to };
}

/** What follows a base, with the pipe in front that its authors may leave out. */
export function pipeline(parts: string[]): string {
  const commands = parts
    .map((part) => withoutLastPipe(part.trim().replace(/^\|\s*/, '')))
    .filter((part) => part !== '');
  return commands.length === 0 ? '' : `| ${commands.join(' | ')}`;
}

/** A base and what follows it, as one text for the search page. */
export const joined = (base: string, postProcess: string): string =>
  `${withoutLastPipe(base)} ${pipeline([postProcess])}`.trim();
