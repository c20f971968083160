/** Times of expressions, in the zone of the browser: `strftime`, `strptime`, and modifiers such as `-1d@d`. */

const pad = (value: number, width = 2) => String(value).padStart(width, '0');
const MONTHS =
  'January February March April May June July August September October November December'.split(
    ' ',
  );
const DAYS = 'Sunday Monday Tuesday Wednesday Thursday Friday Saturday'.split(' ');

function offset(date: Date, colon: boolean): string {
  const minutes = -date.getTimezoneOffset();
  const sign = minutes < 0 ? '-' : '+';
  const all = Math.abs(minutes);
  return `${sign}${pad(Math.floor(all / 60))}${colon ? ':' : ''}${pad(all % 60)}`;
}

export function strftime(epoch: number, format: string): string {
  const date = new Date(epoch * 1000);
  const milliseconds = pad(Math.floor((((epoch * 1000) % 1000) + 1000) % 1000), 3);
  const parts: Record<string, () => string> = {
    Y: () => String(date.getFullYear()),
    y: () => pad(date.getFullYear() % 100),
    m: () => pad(date.getMonth() + 1),
    d: () => pad(date.getDate()),
    e: () => String(date.getDate()).padStart(2, ' '),
    H: () => pad(date.getHours()),
    I: () => pad(date.getHours() % 12 || 12),
    M: () => pad(date.getMinutes()),
    S: () => pad(date.getSeconds()),
    p: () => (date.getHours() < 12 ? 'AM' : 'PM'),
    b: () => (MONTHS[date.getMonth()] ?? '').slice(0, 3),
    B: () => MONTHS[date.getMonth()] ?? '',
    a: () => (DAYS[date.getDay()] ?? '').slice(0, 3),
    A: () => DAYS[date.getDay()] ?? '',
    w: () => String(date.getDay()),
    s: () => String(Math.floor(epoch)),
    F: () => `${date.getFullYear()}-${pad(date.getMonth() + 1)}-${pad(date.getDate())}`,
    T: () => `${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())}`,
    D: () => `${pad(date.getMonth() + 1)}/${pad(date.getDate())}/${pad(date.getFullYear() % 100)}`,
    N: () => milliseconds,
    Q: () => milliseconds,
    f: () => `${milliseconds}000`,
    z: () => offset(date, false),
    Z: () => `UTC${offset(date, true)}`,
    c: () =>
      `${(DAYS[date.getDay()] ?? '').slice(0, 3)} ${(MONTHS[date.getMonth()] ?? '').slice(0, 3)} ${date.getDate()} ${pad(date.getHours())}:${pad(date.getMinutes())}:${pad(date.getSeconds())} ${date.getFullYear()}`,
    '%': () => '%',
  };
  return format.replace(/%(?:[36]?)(:z|[A-Za-z%])/g, (written, letter: string) =>
    letter === ':z' ? offset(date, true) : (parts[letter]?.() ?? written),
  );
}

export function strptime(text: string, format: string): number | null {
  const names: string[] = [];
  const digits: Record<string, string> = {
    Y: '(\\d{4})',
    y: '(\\d{2})',
    N: '(\\d+)',
    Q: '(\\d+)',
    s: '(\\d+)',
  };
  const expanded = format.replaceAll('%F', '%Y-%m-%d').replaceAll('%T', '%H:%M:%S');
  const source = expanded.replace(
    /%[36]?(:z|[A-Za-z])|[.*+?^${}()|[\]\\]/g,
    (written, letter?: string) => {
      if (letter === undefined) return `\\${written}`;
      names.push(letter);
      if (letter === 'z' || letter === ':z' || letter === 'Z')
        return '(Z|[-+]\\d{2}:?\\d{2}|[A-Z]{3,4})';
      if (letter === 'b' || letter === 'B') return '([A-Za-z]{3,})';
      return letter === 'p' ? '([AaPp][Mm])' : (digits[letter] ?? '(\\d{1,2})');
    },
  );
  const found = new RegExp(`^\\s*${source}`).exec(text);
  if (!found) return null;
  const part = (...letters: string[]) => {
    const at = names.findIndex((name) => letters.includes(name));
    return at === -1 ? undefined : found[at + 1];
  };
  const epoch = part('s');
  if (epoch !== undefined) return Number(epoch);
  const month = part('b', 'B')?.slice(0, 3).toLowerCase();
  const byName = MONTHS.findIndex((name) => name.slice(0, 3).toLowerCase() === month);
  let hour = Number(part('H', 'I') ?? 0);
  if (part('p')?.toLowerCase() === 'pm' && hour < 12) hour += 12;
  if (part('p')?.toLowerCase() === 'am' && hour === 12) hour = 0;
  const year = part('Y') ?? (part('y') ? `20${part('y')}` : new Date().getFullYear());
  const date = new Date(
    Number(year),
    byName === -1 ? Number(part('m') ?? 1) - 1 : byName,
    Number(part('d', 'e') ?? 1),
    hour,
    Number(part('M') ?? 0),
    Number(part('S') ?? 0),
  );
  let seconds = date.getTime() / 1000 + Number(`0.${part('N', 'Q') ?? '0'}`);
  const zone = /^([-+])(\d{2}):?(\d{2})$/.exec(part('z', ':z', 'Z') ?? '');
  const utc = /^(?:Z|UTC|GMT)$/.test(part('z', ':z', 'Z') ?? '');
  if (zone || utc) {
    const own = -date.getTimezoneOffset() * 60;
    const said = zone
      ? (zone[1] === '-' ? -1 : 1) * (Number(zone[2]) * 3600 + Number(zone[3]) * 60)
      : 0;
    seconds += own - said;
  }
  return Number.isNaN(seconds) ? null : seconds;
}

type Step = (date: Date, amount: number) => void;
const STEPS: Record<string, Step> = {
  s: (date, amount) => date.setTime(date.getTime() + amount * 1000),
  m: (date, amount) => date.setTime(date.getTime() + amount * 60_000),
  h: (date, amount) => date.setTime(date.getTime() + amount * 3_600_000),
  d: (date, amount) => date.setDate(date.getDate() + amount),
  w: (date, amount) => date.setDate(date.getDate() + 7 * amount),
  mon: (date, amount) => date.setMonth(date.getMonth() + amount),
  q: (date, amount) => date.setMonth(date.getMonth() + 3 * amount),
  y: (date, amount) => date.setFullYear(date.getFullYear() + amount),
};

function unitOf(word: string): string {
  const lower = word.toLowerCase();
  if (/^mon/.test(lower)) return 'mon';
  return lower.slice(0, 1);
}

function snap(date: Date, unit: string, weekday: number): void {
  date.setMilliseconds(0);
  if (unit === 's') return;
  date.setSeconds(0);
  if (unit === 'm') return;
  date.setMinutes(0);
  if (unit === 'h') return;
  date.setHours(0);
  if (unit === 'w') date.setDate(date.getDate() - ((date.getDay() - weekday + 7) % 7));
  if (unit === 'mon') date.setDate(1);
  if (unit === 'q') date.setMonth(Math.floor(date.getMonth() / 3) * 3, 1);
  if (unit === 'y') date.setMonth(0, 1);
}

/** `-1d@d+3h` from a time on; null for what is no modifier. */
export function relativeTime(from: number, modifier: string): number | null {
  const date = new Date(from * 1000);
  const pattern = /([-+])(\d*)([a-z]+)|@([a-z]+?)([0-7]?)(?=$|[-+@])/giy;
  const text = modifier.trim().replace(/^now/, '');
  while (pattern.lastIndex < text.length) {
    const found = pattern.exec(text);
    if (!found) return null;
    const unit = unitOf(found[3] ?? found[4] ?? '');
    const step = STEPS[unit];
    if (!step) return null;
    if (found[4] === undefined) step(date, (found[1] === '-' ? -1 : 1) * Number(found[2] || 1));
    else snap(date, unit, Number(found[5] || 0) % 7);
  }
  return date.getTime() / 1000;
}
