/** The report of an installation: what an app adds, and what of it is not used, with its place. */

import { asObject } from '../api/decode';

export interface Place {
  place: string;
  text: string;
}

export interface AppReport {
  app: string;
  files: number;
  /** Files of configuration with their numbers of settings, as text. */
  used: string;
  gains: Place[];
  notUsed: Place[];
  ignored: Place[];
}

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

const places = (value: unknown): Place[] =>
  list(value).map((item) => {
    if (Array.isArray(item)) return { place: String(item[0] ?? ''), text: String(item[1] ?? '') };
    const one = asObject(item);
    return { place: String(one.place ?? ''), text: String(one.text ?? '') };
  });

export function decodeAppReport(body: unknown): AppReport {
  const entry = asObject(list(asObject(body).entry)[0]);
  const content = asObject(entry.content);
  const used = places(content.used).map(({ place, text }) => `${place}.conf ${text}`);
  return {
    app: String(entry.name ?? ''),
    files: Number(content.files ?? 0),
    used: used.join(', '),
    gains: places(content.gains),
    notUsed: places(content.not_used),
    ignored: places(content.ignored),
  };
}
