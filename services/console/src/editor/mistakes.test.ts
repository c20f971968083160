import { describe, expect, it } from 'vitest';
import { withSearch } from '../query/typed';
import { mistakesOf } from './mistakes';

describe('the place of a mistake', () => {
  it('is what the server marks', () => {
    const typed = 'index=main | stast count';
    const message =
      "Unknown search command 'stast'.\n1 | index=main | stast count\n                 ^^^^^\nhint: did you mean `stats`?";
    expect(mistakesOf(message, typed)).toEqual([
      { from: 13, to: 18, text: "Unknown search command 'stast'. hint: did you mean `stats`?" },
    ]);
    expect(typed.slice(13, 18)).toBe('stast');
  });

  it('is on a later line', () => {
    const typed = 'index=main\n| stats count\n| hed 5';
    const [mistake] = mistakesOf("Unknown search command 'hed'.\n3 | | hed 5\n      ^^^", typed);
    expect(typed.slice(mistake?.from, mistake?.to)).toBe('hed');
  });

  it('is moved where the server wrote a pipe in front', () => {
    const typed = 'makeresults cont=3';
    const [mistake] = mistakesOf(
      'unknown option\n1 | | makeresults cont=3\n                  ^^^^',
      typed,
    );
    expect(typed.slice(mistake?.from, mistake?.to)).toBe('cont');
  });

  it('is moved where the page wrote search in front', () => {
    const typed = '  sort error | statz';
    const sent = withSearch(typed);
    const message = `Unknown search command\n1 | ${sent}\n${' '.repeat(4 + sent.indexOf('statz'))}^^^^^`;
    const [mistake] = mistakesOf(message, typed);
    expect(typed.slice(mistake?.from, mistake?.to)).toBe('statz');
  });

  it('stays within the text', () => {
    const [mistake] = mistakesOf('expected a command\n1 | a |\n       ^', 'a |');
    expect(mistake).toEqual({ from: 3, to: 3, text: 'expected a command' });
    expect(mistakesOf('the index x does not exist', 'index=x')).toEqual([]);
    expect(mistakesOf('x\n7 | a\n    ^', 'a')).toEqual([]);
  });
});
