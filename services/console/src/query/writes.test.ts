import { describe, expect, it } from 'vitest';
import { commandsOf, isOpaque, surelyReads, writingCommands } from './writes';

const writes = (query: string) => writingCommands(commandsOf(query));

describe('searches that change something', () => {
  it('are found in every pipe and subsearch', () => {
    expect(writes('index=a | delete')).toEqual(['delete']);
    expect(writes('index=a |outputlookup x.csv | COLLECT index=b')).toEqual([
      'outputlookup',
      'collect',
    ]);
    expect(writes('index=a [search index=b | sendemail to=x] | stats count')).toEqual([
      'sendemail',
    ]);
    expect(writes('| makeresults | append [ | makeresults | outputcsv a]')).toEqual(['outputcsv']);
  });

  it('are not found where the words are text', () => {
    for (const query of [
      'index=a delete',
      'index=a "| delete"',
      'index=a "a\\"| delete"',
      'index=a ```| delete``` | stats count',
      'index=a | eval x="[ | collect"',
      'index=a | rename x AS delete',
    ]) {
      expect(writes(query)).toEqual([]);
    }
  });

  it('may hide in macros and saved searches', () => {
    expect(isOpaque('index=a | `wipe(1)`')).toBe(true);
    expect(isOpaque('| savedsearch nightly')).toBe(true);
    expect(isOpaque('savedsearch nightly')).toBe(true);
    expect(isOpaque('```a``` savedsearch nightly')).toBe(true);
    expect(isOpaque('delete failed')).toBe(true);
    expect(isOpaque('index=a | shout')).toBe(true);
    expect(isOpaque('index=a | stats count ```why```')).toBe(false);
  });
});

it('a search surely reads if no word that could write is in it, also not between quotation marks', () => {
  expect(surelyReads('index=a user IN ("ann", "bob") [search index=b | fields c]')).toBe(true);
  for (const query of [
    'index=a | Delete',
    'index=a "delete',
    'index=a `m`',
    '| savedsearch x',
    '| from savedsearch:x',
    'index=a | shout',
  ]) {
    expect(surelyReads(query), query).toBe(false);
  }
});
