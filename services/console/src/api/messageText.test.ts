import { describe, expect, it } from 'vitest';
import { ApiError } from './errors';
import { excerpt, firstLine, printable, readable } from './messageText';

/** A message about a word of a search, as the server writes it. */
const about = (search: string, word: string) =>
  `Unknown search command '${word}'.\n1 | ${search}\n${' '.repeat(4 + search.indexOf(word))}${'^'.repeat(word.length)}\nhint: none`;

/** The text above the mark. */
const marked = (message: string) => {
  const [, line = '', mark = ''] = message.split('\n');
  return line.slice(mark.indexOf('^'), mark.lastIndexOf('^') + 1);
};

describe('the excerpt of a search', () => {
  it('is the whole line where it is short', () => {
    const message = about('index=main | stast count', 'stast');
    expect(excerpt(message)).toBe(message);
  });

  it.each([
    ['the begin', `stast ${'x'.repeat(300)}`, false, true],
    ['the middle', `${'a'.repeat(200)} stast ${'b'.repeat(200)}`, true, true],
    ['the end', `${'a'.repeat(300)} stast`, true, false],
  ])('shows 80 characters around a mark at %s', (_, search, isCutBefore, isCutAfter) => {
    const cut = excerpt(about(search, 'stast'));
    expect(marked(cut)).toBe('stast');
    const line = cut.split('\n')[1] ?? '';
    expect(line.length).toBeLessThanOrEqual(4 + 80 + 2);
    expect(line.slice(4).startsWith('…')).toBe(isCutBefore);
    expect(line.endsWith('…')).toBe(isCutAfter);
    expect(cut.endsWith('\nhint: none')).toBe(true);
  });

  it('ends a mark that is longer than what is shown', () => {
    const cut = excerpt(about(`${'a'.repeat(90)} ${'b'.repeat(200)}`, 'b'.repeat(200)));
    expect(marked(cut)).toMatch(/^b+$/);
  });

  it('has a mark behind the end of the line', () => {
    const cut = excerpt(`missing\n1 | ${'a'.repeat(200)}\n${' '.repeat(204)}^`);
    expect(cut.split('\n')[2]?.indexOf('^')).toBe(cut.split('\n')[1]?.length);
  });

  it('keeps characters of two units whole', () => {
    const cut = excerpt(about(`${'🪨'.repeat(100)}stast${'🪨'.repeat(100)}`, 'stast'));
    expect(cut).not.toMatch(/\p{Surrogate}/u);
    expect(marked(cut)).toBe('stast');
  });

  it('is in the message of a failure, whose texts stay whole', () => {
    const text = about(`${'a'.repeat(300)} stast`, 'stast');
    const error = new ApiError('rejected', 400, [{ type: 'FATAL', text }]);
    expect(error.message).toBe(excerpt(text));
    expect(error.messages[0]?.text).toBe(text);
  });
});

describe('bytes in a message', () => {
  it('are escaped and cut', () => {
    const text = printable(`invalid gzip header: \u0000\u001fZ${'\uFFFD'.repeat(500)}`);
    expect(text).toBe(`invalid gzip header: \\x00\\x1fZ${'\uFFFD'.repeat(13)}…`);
  });

  it('a few are escaped, and the text after them stays', () =>
    expect(printable('"a\u001bb" is not a number, write 5')).toBe(
      '"a\\x1bb" is not a number, write 5',
    ));

  it('text, line breaks and tabs stay', () =>
    expect(printable('größe 🪨\r\n\tnext')).toBe('größe 🪨\r\n\tnext'));
});

it('the first line says what is wrong', () => {
  expect(firstLine(about('index=main | stast', 'stast'))).toBe("Unknown search command 'stast'.");
  expect(firstLine('one')).toBe('one');
});

it('counts of messages have the separators of other numbers', () => {
  expect(readable('the first 200 of 8464 events are shown')).toBe(
    'the first 200 of 8,464 events are shown',
  );
  expect(readable('port 8089 is not open')).toBe('port 8089 is not open');
});
