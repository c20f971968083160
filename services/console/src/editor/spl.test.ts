import { StringStream } from '@codemirror/language';
import { describe, expect, it } from 'vitest';
import { type SplState, spl } from './spl';

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

  it('show a command that there is not', () => {
    expect(coloured('a | stast count')).toContain('stast:invalid');
  });
});
