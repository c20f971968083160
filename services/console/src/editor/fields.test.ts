import { describe, expect, it } from 'vitest';
import { evalFieldName, fieldName } from '../query/syntax';
import { fieldSuggestions, type KnownFields, writtenFields as writtenIn } from './fields';
import { tokensOf } from './spl';

const language = { tokensOf, fieldName, evalFieldName };

const KNOWN: KnownFields = {
  fields: [
    { name: 'bytes', count: 1 },
    { name: 'status', count: 1_200 },
    { name: 'state', count: 7 },
    { name: 'http.method', count: 5 },
    { name: 'a b', count: 3 },
  ],
  columns: ['total'],
};

/** Names at the `|` of a text, which is not a part of it. `¦` are pipes. */
function at(marked: string, explicit = false) {
  const cursor = marked.indexOf('|');
  const text = marked.replace('|', '').replaceAll('¦', '|');
  return fieldSuggestions({ text, cursor, known: KNOWN, explicit, ...language });
}
const names = (marked: string, explicit = false) =>
  at(marked, explicit).found.map((one) => one.label);

const writtenFields = (text: string) => writtenIn(text, tokensOf(text));

describe('fields are completed', () => {
  it('at the beginning of a term, most frequent first', () => {
    expect(names('error sta|')).toEqual(['status', 'state']);
    expect(names('(STA| OR x)')).toEqual(['status', 'state']);
    expect(names('a [search sta|')).toEqual(['status', 'state']);
    expect(names('error |')).toEqual([]);
    expect(names('error |', true)).toContain('host');
  });

  it('after by, in functions, and in lists', () => {
    expect(names('a ¦ stats count by st|')).toEqual(['status', 'state']);
    expect(names('a ¦ stats sum(by|')).toEqual(['bytes']);
    expect(names('a ¦ timechart max(x) by host, to|')).toEqual(['total']);
    expect(names('a ¦ table x, by| ¦ head')).toEqual(['bytes']);
    for (const empty of ['stats count by |', 'stats sum(|', 'table |', 'where |', 'eval x=|']) {
      expect(names(`a ¦ ${empty}`).slice(0, 2)).toEqual(['status', 'state']);
    }
  });

  it('before functions where only fields fit', () => {
    expect(at('a ¦ stats count by s|').isFirst).toBe(true);
    expect(at('a ¦ stats sum(s|').isFirst).toBe(true);
    expect(at('a ¦ stats sum(eval(s|').isFirst).toBe(false);
    expect(at('a ¦ where s|').isFirst).toBe(false);
    expect(at('s|').isFirst).toBe(false);
  });

  it('not where there are none', () => {
    const places = [
      '¦ sta|',
      'a ¦ stats sta|',
      'a ¦ stats sum(x) as sta|',
      'status=sta|',
      'a ¦ timechart span=sta|',
      '"sta|',
      'a ```sta|',
      '`sta|',
      'a ¦ head 5|',
      'a ¦ eval x="sta|',
    ];
    for (const place of places) expect(names(place)).toEqual([]);
  });

  it('with what the search names', () => {
    expect(names('a ¦ eval duration=x+y ¦ table dur|')).toEqual(['duration']);
    expect(names('dur|')).toEqual([]);
    expect(writtenFields('user=x "b=c" | stats')).toEqual(['user']);
    expect(
      writtenFields(
        'code>1 | rex field=msg "(?<level>\\w+)" | timechart span=1m limit=5 p95(ms) AS slow by host',
      ),
    ).toEqual(['code', 'level', 'ms', 'slow', 'host']);
    expect(writtenFields("a | eval r=if(s>5, 'my t', u*2) | fields err*, $token$ v")).toEqual([
      'r',
      's',
      'my t',
      'u',
      'v',
    ]);
  });

  it('quoted as the command needs it', () => {
    expect(at('a ¦ table ht|').found[0]).toEqual({
      label: 'http.method',
      detail: 'field, 5 events',
      insert: 'http.method',
      from: 10,
      to: 12,
    });
    expect(at('a ¦ where ht|').found[0]?.insert).toBe("'http.method'");
    expect(at("a ¦ where 'ht|").found[0]).toMatchObject({ insert: "'http.method'", from: 10 });
    expect(at("a ¦ where 'ht|'>1").found[0]).toMatchObject({ from: 10, to: 14 });
    expect(at('a ¦ table http.m|').found[0]?.from).toBe(10);
    expect(at('a ¦ table a|').found.map((one) => one.insert)).toEqual(['"a b"']);
    expect(at('a ¦ table by|').found[0]?.detail).toBe('field, 1 event');
    expect(at('a ¦ table to|').found[0]?.detail).toBe('field');
  });

  it('at most twenty', () => {
    const fields = Array.from({ length: 100 }, (_, number) => ({ name: `f${number}`, count: 1 }));
    const complete = (text: string, known?: KnownFields) =>
      fieldSuggestions({ text, cursor: text.length, known, explicit: false, ...language }).found;
    expect(complete('f', { fields, columns: [] })).toHaveLength(20);
    expect(complete('hos')).toHaveLength(1);
  });
});
