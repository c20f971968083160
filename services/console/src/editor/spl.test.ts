import { StringStream } from '@codemirror/language';
import { describe, expect, it } from 'vitest';
import { type SplState, spl, tokensOf } from './spl';

/** The coloured pieces of a text, as `piece:colour`. */
function coloured(text: string): string[] {
  const state = spl.startState?.(2) as SplState;
  return text.split('\n').flatMap((line) => {
    const stream = new StringStream(line, 2, 2);
    const pieces: string[] = [];
    while (!stream.eol()) {
      stream.start = stream.pos;
      const colour = spl.token(stream, state);
      if (colour !== null) pieces.push(`${stream.current()}:${colour}`);
    }
    return pieces;
  });
}

describe('colours of SPL', () => {
  it('tell commands, functions, fields and values apart', () => {
    expect(coloured('index=a error | stats count(x) AS n by host')).toEqual([
      'index:propertyName',
      '=:operator',
      '|:operator',
      'stats:keyword',
      'count:function',
      '(:operator',
      '):operator',
      'AS:keyword',
      'by:keyword',
    ]);
    expect(coloured('status>=500')).toEqual([
      'status:propertyName',
      '>:operator',
      '=:operator',
      '500:number',
    ]);
  });

  it('leave pipes in strings and comments alone', () => {
    expect(coloured('a="x | \\" y" ```| stats``` `macro(1)`')).toEqual([
      'a:propertyName',
      '=:operator',
      '"x | \\" y":string',
      '```| stats```:comment',
      '`macro(1)`:macroName',
    ]);
    expect(coloured('```one\n| two``` | stats count')).toContain('stats:keyword');
  });

  it('show names between single quotes, but no apostrophes', () => {
    expect(coloured("where 'a | b'>1 | head")).toContain("'a | b':propertyName");
    expect(coloured("don't | stats count | eval a='b'")).toContain('stats:keyword');
    expect(coloured("'tis | stats count | eval a='b'")).toContain('stats:keyword');
  });

  it('show a command that there is not', () => {
    expect(coloured('a | stast count')).toContain('stast:invalid');
  });
});

describe('the pieces of a text', () => {
  it('have their places, and strings of several lines are one', () => {
    expect(tokensOf('| makeresults data="a\n| b"')).toEqual([
      { from: 0, to: 1, text: '|', kind: 'operator', isCommand: false },
      { from: 2, to: 13, text: 'makeresults', kind: 'keyword', isCommand: true },
      { from: 14, to: 18, text: 'data', kind: 'propertyName', isCommand: false },
      { from: 18, to: 19, text: '=', kind: 'operator', isCommand: false },
      { from: 19, to: 26, text: '"a\n| b"', kind: 'string', isCommand: false },
    ]);
  });
});
