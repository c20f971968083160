/** The report of an installation: what an app adds, and what of it is not used, with its place. */

import { asObject } from '../api/decode';

export interface Place {
  /** File and line, or the name of the part; empty where there is none. */
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
  /** Mistakes: these settings are ignored. */
  ignored: Place[];
  /** Settings that are oddly written and count nevertheless. */
  notes: Place[];
}

const list = (value: unknown): unknown[] => (Array.isArray(value) ? value : []);

const places = (value: unknown): Place[] =>
  list(value).map((item) => {
    if (Array.isArray(item)) return { place: String(item[0] ?? ''), text: String(item[1] ?? '') };
    const one = asObject(item);
    return { place: String(one.place ?? ''), text: String(one.text ?? '') };
  });

/** `default/props.conf:7: what is wrong`; messages without a line of a file have no place. */
const PLACED = /^([^:\n]+:\d+): ([\s\S]*)$/;

const messages = (value: unknown): Place[] =>
  list(value).map((item) => {
    const message = String(item);
    const found = PLACED.exec(message);
    return { place: found?.[1] ?? '', text: found?.[2] ?? message };
  });

/** A message as one text. */
export const messageText = ({ place, text }: Place): string =>
  place === '' ? text : `${place}: ${text}`;

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
    ignored: messages(content.ignored),
    notes: messages(content.notes),
  };
}
