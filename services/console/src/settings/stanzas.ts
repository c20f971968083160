/** Settings of stanzas of props.conf: their names, their values as text, the search for the events that have them. */

import type { Entry } from '../api/types';
import { contentText, type Kind } from '../objects/kind';
import { fieldName, quoted } from '../query/syntax';

/** The class of a setting: `x` of `EVAL-x`. */
export const classOf = (entry: Entry): string =>
  contentText(entry, 'attribute').replace(/^[A-Z]+-/, '');

/** A setting has the permissions of its stanza, which is the object that the server stores. */
export const permissionsOfStanza: NonNullable<Kind['permissions']> = (entry) => {
  const stanza = contentText(entry, 'stanza');
  const [place] = entry.path.split('/data/props/');
  // A slash is escaped twice, as the server writes it.
  const segment = encodeURIComponent(stanza).replaceAll('%2F', '%252F');
  return {
    path: `${place}/configs/conf-props/${segment}`,
    note: `They apply to all settings of the stanza [${stanza}] in the app ${entry.app}.`,
  };
};

/** The search for the events of a stanza; null where no search has the same pattern. */
export function searchOfStanza(stanza: string): string | null {
  const [, field, pattern] = /^(host|source)::(.+)$/.exec(stanza) ?? [];
  if (field === undefined || pattern === undefined) {
    return stanza.includes('::') ? null : `index=* sourcetype=${quoted(stanza)}`;
  }
  // A part of a regular expression.
  if (/[()[\]|\\]/.test(pattern)) return null;
  return `index=* ${field}=${quoted(pattern.replaceAll('...', '*'))}`;
}

/** The search for the events of the stanza of a setting. */
export const searchOfSetting = (entry: Entry): string | null =>
  searchOfStanza(contentText(entry, 'stanza'));

/** The events that have the field of a setting. */
export function searchOfField(entry: Entry): string | null {
  const events = searchOfSetting(entry);
  return events && `${events} ${fieldName(classOf(entry))}=*`;
}

interface Word {
  text: string;
  /** In lower case, unless it is in quotes. */
  keyword: string | null;
}

/** Words between blanks and commas; quotes keep blanks. As crates/knowledge/src/extract/aliases.rs. */
function wordsOf(text: string): Word[] {
  const found = text.match(/(?:'[^']*'?|"[^"]*"?|[^\s,"'])(?:"[^"]*"?|[^\s,"])*/g) ?? [];
  return found.map((word) => {
    const isQuoted = /^'|"/.test(word);
    const plain = word.startsWith("'") ? word.replaceAll("'", '') : word;
    return {
      text: plain.replaceAll('"', ''),
      keyword: isQuoted ? null : word.toLowerCase(),
    };
  });
}

/** Why a text is not a list of `FIELD AS NAME`: the server would leave out the other words. */
export function aliasesProblem(text: string): string | null {
  const isName = (word: Word | undefined) =>
    word !== undefined && word.text !== '' && !['as', 'asnew'].includes(word.keyword ?? '');
  const words = wordsOf(text);
  for (let at = 0; at < words.length; at += 3) {
    const [field, how, alias] = words.slice(at, at + 3);
    const isAlias = how?.keyword === 'as' || how?.keyword === 'asnew';
    if (!isName(field) || !isAlias || !isName(alias)) {
      return `"${field?.text}" does not begin FIELD AS NAME`;
    }
  }
  return null;
}

const isOutput = ({ keyword }: Word) => keyword === 'output' || keyword === 'outputnew';

/** Why a text is not a list of `FIELD` or `FIELD AS NAME`, as the command lookup reads it. */
export function fieldsProblem(text: string): string | null {
  const words = wordsOf(text);
  const output = words.find(isOutput);
  if (output) return `"${output.text}" is not part of the list of fields`;
  const isName = (word: Word | undefined) => word !== undefined && word.keyword !== 'as';
  for (let at = 0; at < words.length; ) {
    const isRenamed = words[at + 1]?.keyword === 'as';
    if (!isName(words[at]) || (isRenamed && !isName(words[at + 2]))) {
      return 'AS stands between two names: FIELD AS NAME';
    }
    at += isRenamed ? 3 : 1;
  }
  return null;
}

/** Why a text is not the value of an automatic lookup. */
export function lookupProblem(text: string): string | null {
  const words = wordsOf(text);
  if (words.filter(isOutput).length > 1) return 'OUTPUT or OUTPUTNEW is allowed once';
  const end = words.findIndex(isOutput);
  const inputs = end === -1 ? words : words.slice(0, end);
  return inputs.length < 2
    ? 'Write the name of a lookup and a field: LOOKUP FIELD OUTPUT FIELD'
    : null;
}

/** The value of an automatic lookup; without `outputs`, all fields of the lookup. */
export function lookupValue(
  lookup: string,
  { inputs, outputs, isKept }: { inputs: string; outputs: string; isKept: boolean },
): string {
  const how = isKept ? 'OUTPUTNEW' : 'OUTPUT';
  const added = outputs.trim() === '' ? '' : ` ${how} ${outputs.trim()}`;
  return `${fieldName(lookup)} ${inputs.trim()}${added}`;
}
