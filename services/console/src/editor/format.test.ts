import { readdirSync, readFileSync } from 'node:fs';
import { history, undo } from '@codemirror/commands';
import { EditorState, type StateCommand } from '@codemirror/state';
import { describe, expect, it } from 'vitest';
import { formatChanges as changesOf, format } from './format';
import { tokensOf } from './spl';

const formatChanges = (text: string) => changesOf(text, tokensOf(text));

function formatted(text: string): string {
  let done = '';
  let at = 0;
  for (const { from, to, insert } of formatChanges(text)) {
    done += text.slice(at, from) + insert;
    at = to;
  }
  return done + text.slice(at);
}

describe('formatting', () => {
  it('begins a line with each pipe', () => {
    expect(formatted('index=a error|stats count by host |  head 5')).toBe(
      'index=a error\n| stats count by host\n| head 5',
    );
    expect(formatted(' | makeresults\n\n  |eval a=1 ')).toBe('| makeresults\n| eval a=1');
    expect(formatted('a |')).toBe('a\n|');
  });

  it('gives subsearches with a pipe lines of their own', () => {
    const text = 'a [search b] | join x [search c | append [|makeresults] | fields x] | table x';
    expect(formatted(text)).toBe(
      [
        'a [search b]',
        '| join x [',
        '    search c',
        '    | append [',
        '        | makeresults',
        '    ]',
        '    | fields x',
        ']',
        '| table x',
      ].join('\n'),
    );
    expect(formatted('a [search [search b | fields c]]')).toBe(
      'a [\n    search [\n        search b\n        | fields c\n    ]\n]',
    );
  });

  it('keeps strings, comments, macros and quoted names', () => {
    const kept = [
      '"a | b\n  | c"',
      '"say \\"x | y\\" [ z | ]"',
      '```one | two\n   | three```',
      '`macro(a | b)`',
      "'a | b'",
      'TERM(a   b)',
    ];
    for (const piece of kept) {
      expect(formatted(`x=1 ${piece}|where y`)).toBe(`x=1 ${piece}\n| where y`);
    }
    expect(formatted("don't | eval a='b  c'")).toBe("don't\n| eval a='b  c'");
  });

  it('keeps the lines of a command and of comments', () => {
    const text = 'index=a\n```why```\n| stats count\n    by host';
    expect(formatChanges(text)).toEqual([]);
  });

  it('leaves brackets alone that have no pipe or are not closed', () => {
    expect(formatChanges('x=a[0] y=[1,  2]')).toEqual([]);
    expect(formatted('a [search b | c')).toBe('a [search b\n| c');
    expect(formatted('a] | b')).toBe('a]\n| b');
  });

  it('does nothing where it is unclear what is quoted', () => {
    expect(formatChanges('a\\"b c" | head "x | y"')).toEqual([]);
    expect(formatChanges('`m("a`b")` | head')).toEqual([]);
    expect(formatChanges('say \'a "b\' c" | eval x="p | q"')).toEqual([]);
    expect(formatChanges('a\ufeff | head')).toEqual([]);
    expect(formatChanges('\'a "b\\" c\' | d" | e')).toEqual([]);
    expect(formatChanges('`m("a\\"b` | c")` | head')).toEqual([]);
    expect(formatChanges("'x `m(y' | z)` q'")).toEqual([]);
    expect(formatChanges('regex x=a"b | eval y="c | d"')).toEqual([]);
    expect(formatted('a "b\\\\"|head')).toBe('a "b\\\\"\n| head');
  });

  it('keeps tokens of dashboards, whose filters are no commands', () => {
    expect(formatted('user=$user|s$ $row.Some Field|h$|head')).toBe(
      'user=$user|s$ $row.Some Field|h$\n| head',
    );
  });

  it('takes a moment for long texts', () => {
    expect(formatChanges("\\'".repeat(300_000))).toEqual([]);
    expect(formatted('[|'.repeat(9_000) + ']'.repeat(9_000)).length).toBeLessThan(3_000_000);
  });

  it('keeps the caret at its word', () => {
    const doc = 'index=a | stats count';
    for (const [anchor, before, after] of [
      [doc.indexOf('stats') + 2, 'index=a\n| st', 'ats count'],
      [doc.indexOf('stats'), 'index=a\n| ', 'stats count'],
      [doc.length, 'index=a\n| stats count', ''],
    ] as const) {
      const { state } = run(EditorState.create({ doc, selection: { anchor } }), formatting);
      const { head } = state.selection.main;
      expect([state.sliceDoc(0, head), state.sliceDoc(head)]).toEqual([before, after]);
    }
  });

  it('is one step of undo, apart from what is typed just before', () => {
    const empty = EditorState.create({ doc: 'a |', extensions: history() });
    const typed = empty.update({
      changes: { from: 3, insert: ' head|x' },
      userEvent: 'input.type',
    }).state;
    const after = run(typed, formatting);
    expect(after.state.doc.toString()).toBe('a\n| head\n| x');
    expect(run(after.state, undo).state.doc.toString()).toBe('a | head|x');
    expect(run(after.state, formatting).isChanged).toBe(false);
  });
});

describe('every search of the specs and the documentation', () => {
  const searches = [...specs(), ...examples()];

  it('is formatted once, without a change of its words', { timeout: 60_000 }, () => {
    const wrong = searches.filter((search) => {
      const once = formatted(search);
      return formatted(once) !== once || words(once) !== words(search);
    });
    expect(wrong).toEqual([]);
    expect(searches.length).toBeGreaterThan(2_000);
    const changed = searches.filter((search) => formatChanges(search).length > 0);
    expect(changed.length).toBeGreaterThan(1_000);
  });
});

const words = (text: string) =>
  tokensOf(text)
    .map((token) => token.text)
    .join('\0');

const formatting: StateCommand = (target) => {
  format(target, tokensOf);
  return true;
};

function run(state: EditorState, command: StateCommand) {
  let next = state;
  command({
    state,
    dispatch: (transaction) => {
      next = transaction.state;
    },
  });
  return { state: next, isChanged: next !== state };
}

/** A file or a folder of the repository. */
const at = (path: string) => new URL(`../../../../${path}`, import.meta.url);

function specs(): string[] {
  const folder = 'crates/spectest/specs';
  return readdirSync(at(folder), { recursive: true })
    .map(String)
    .filter((name) => name.endsWith('.spec'))
    .flatMap((name) => {
      const text = readFileSync(at(`${folder}/${name}`), 'utf8');
      return [...text.matchAll(/^search (.*(?:\n +.*)*)/gm)].map(([, search]) => search as string);
    });
}

function examples(): string[] {
  return readdirSync(at('docs/spl'))
    .filter((name) => name.endsWith('.md'))
    .flatMap((name) => {
      const text = readFileSync(at(`docs/spl/${name}`), 'utf8');
      return [...text.matchAll(/^```spl\n([\s\S]*?)\n```$/gm)].map(
        ([, search]) => search as string,
      );
    });
}
