/**
 * Prices of the cost page: list prices as examples, replaced by those of the lookup file karst_prices.csv
 * (key,usd,unit).
 */

import { ApiError, type KarstClient } from '../api/client';
import { csvRows } from '../settings/csv';

export interface Price {
  key: string;
  usd: number;
  unit: string;
  about: string;
}

export const FILES = '/servicesNS/nobody/search/data/lookup-table-files';
export const PRICES_FILE = 'karst_prices.csv';

/** Amazon S3 Standard and on-demand compute in us-east-1: examples, not what anybody pays. */
export const EXAMPLES: readonly Price[] = [
  { key: 'get', usd: 0.0004, unit: '1,000 requests', about: 'GET and HEAD to object storage' },
  { key: 'put', usd: 0.005, unit: '1,000 requests', about: 'PUT, POST and LIST to object storage' },
  { key: 'gb_month', usd: 0.023, unit: 'GB and month', about: 'object storage' },
  { key: 'cpu_hour', usd: 0.048, unit: 'processor and hour', about: 'compute' },
  { key: 'transfer_gb', usd: 0, unit: 'GB', about: 'bytes from object storage to the servers' },
  { key: 'disk_gb_month', usd: 0, unit: 'GB and month', about: 'disk of the cache' },
];

export interface Prices {
  list: Price[];
  /** Whether any that is not free is an example. */
  areExamples: boolean;
}

/** `text`: the lookup file; null where there is none. */
export function readPrices(text: string | null): Prices {
  const [header = [], ...rows] = text === null ? [] : csvRows(text);
  const [key, usd, unit] = ['key', 'usd', 'unit'].map((name) => header.indexOf(name));
  const own = new Map<string, { usd: number; unit: string }>();
  for (const row of rows) {
    const value = Number(row[usd ?? -1] ?? 'NaN');
    const name = row[key ?? -1];
    if (name && Number.isFinite(value) && value >= 0) {
      own.set(name, { usd: value, unit: row[unit ?? -1] ?? '' });
    }
  }
  const list = EXAMPLES.map((price) => ({
    ...price,
    ...(own.has(price.key) && { usd: own.get(price.key)?.usd ?? 0 }),
  }));
  return { list, areExamples: EXAMPLES.some(({ key, usd }) => usd > 0 && !own.has(key)) };
}

/** Asks for the file only where the list has it; a user who may read neither sees examples. */
export async function loadPrices(
  client: Pick<KarstClient, 'entries' | 'fileText'>,
  signal: AbortSignal,
): Promise<Prices> {
  try {
    const files = await client.entries(FILES, signal);
    const isThere = files.some((file) => file.name === PRICES_FILE && file.app === 'search');
    return readPrices(isThere ? await client.fileText(`${FILES}/${PRICES_FILE}`, signal) : null);
  } catch (error) {
    if (error instanceof ApiError) return readPrices(null);
    throw error;
  }
}

const cell = (text: string) => (/[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text);

export const writePrices = (list: Price[]): string =>
  ['key,usd,unit', ...list.map(({ key, usd, unit }) => `${key},${usd},${cell(unit)}`)]
    .join('\n')
    .concat('\n');

export const priceTokens = ({ list }: Prices): Record<string, string> =>
  Object.fromEntries(list.map(({ key, usd }) => [`price_${key}`, String(usd)]));

/** Why a user may not set prices; null for one who may. */
export function pricesRefusal(lacking: string | null | undefined, canShare: boolean) {
  if (lacking) return `Needs the capability ${lacking}`;
  return canShare ? null : 'Needs a role that may write to the app search';
}
