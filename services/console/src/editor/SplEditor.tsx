/**
 * The editor of searches: colours, completion at the cursor, mistakes where they are. Enter runs, Shift+Enter
 * breaks the line, up and down at the edges recall earlier searches, Tab takes a completion, Ctrl+\ formats.
 * Loaded after the page is usable; until then there is a plain text area.
 */

import {
  acceptCompletion,
  autocompletion,
  type CompletionContext,
  type CompletionResult,
  closeCompletion,
  completionStatus,
  moveCompletionSelection,
  selectedCompletionIndex,
} from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap } from '@codemirror/commands';
import { HighlightStyle, StreamLanguage, syntaxHighlighting } from '@codemirror/language';
import { type Diagnostic, linter } from '@codemirror/lint';
import { EditorState, Prec } from '@codemirror/state';
import { EditorView, keymap, placeholder } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { IconIndentIncrease } from '@tabler/icons-react';
import { useEffect, useRef } from 'react';
import { flushSync } from 'react-dom';
import type { Suggestion } from '../api/types';
import { evalFieldName, fieldName } from '../query/syntax';
import type { KnownFields } from './fields';
import type { Mistake } from './mistakes';
import styles from './SplEditor.module.css';
import { COLOURED_CHARACTERS, spl, tokensOf } from './spl';

export interface SplEditorProps {
  value: string;
  /** Where the caret stands at first; the end if absent. */
  caret?: number;
  autoFocus: boolean;
  onChange: (text: string) => void;
  onRun: () => void;
  /** An earlier or later search in place of the text; null if there is none. */
  onRecall: (direction: 'older' | 'newer') => string | null;
  complete: (text: string, cursor: number, signal: AbortSignal) => Promise<Suggestion[]>;
  check: (text: string, signal: AbortSignal) => Promise<Mistake[]>;
  /** Fields to complete besides those that the search names. */
  known?: KnownFields;
}

/** Milliseconds without a key after which the text is checked. */
const CHECK_DELAY = 600;
const MOST_SUGGESTIONS = 50;

const colours = HighlightStyle.define([
  { tag: tags.comment, class: styles.comment },
  { tag: tags.string, class: styles.string },
  { tag: tags.macroName, class: styles.macro },
  { tag: tags.keyword, class: styles.keyword },
  { tag: tags.function(tags.variableName), class: styles.function },
  { tag: tags.number, class: styles.number },
  { tag: tags.propertyName, class: styles.field },
  { tag: tags.operator, class: styles.operator },
  { tag: tags.invalid, class: styles.invalid },
]);

const language = StreamLanguage.define({
  ...spl,
  tokenTable: { function: tags.function(tags.variableName) },
});

export default function SplEditor(props: SplEditorProps) {
  const host = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const latest = useRef(props);
  latest.current = props;

  useEffect(() => {
    if (!host.current) return;
    const { value, caret, autoFocus } = latest.current;
    const created = new EditorView({
      parent: host.current,
      state: EditorState.create({
        doc: value,
        selection: { anchor: Math.min(caret ?? value.length, value.length) },
        extensions: extensions(latest),
      }),
    });
    view.current = created;
    if (autoFocus) created.focus();
    return () => {
      view.current = null;
      created.destroy();
    };
  }, []);

  useEffect(() => {
    const editor = view.current;
    if (editor && editor.state.doc.toString() !== props.value) replace(editor, props.value);
  }, [props.value]);

  return (
    <div className={styles.editor}>
      <div ref={host} />
      <button
        type="button"
        className={styles.format}
        title="Format search (Ctrl+\)"
        aria-label="Format search"
        data-testid="format-search"
        // The caret stays in the text.
        onMouseDown={(event) => event.preventDefault()}
        onClick={() => view.current && format(view.current)}
      >
        <IconIndentIncrease size={15} />
      </button>
    </div>
  );
}

function format(editor: EditorView): boolean {
  void import('./format').then((formatter) => formatter.format(editor, tokensOf));
  return true;
}

function replace(editor: EditorView, text: string): void {
  editor.dispatch({
    changes: { from: 0, to: editor.state.doc.length, insert: text },
    selection: { anchor: text.length },
    scrollIntoView: true,
  });
}

type Latest = { readonly current: SplEditorProps };

function extensions(latest: Latest) {
  const coloured = latest.current.value.length <= COLOURED_CHARACTERS;
  return [
    history(),
    coloured ? [language, syntaxHighlighting(colours)] : [],
    EditorView.lineWrapping,
    placeholder('Words, field=value, | commands'),
    EditorView.contentAttributes.of({
      'aria-label': 'Search',
      'data-testid': 'search-input',
      spellcheck: 'false',
      autocapitalize: 'off',
      autocorrect: 'off',
    }),
    autocompletion({
      override: [(context) => suggestions(context, latest)],
      activateOnTypingDelay: 120,
      defaultKeymap: false,
      selectOnOpen: false,
      icons: false,
      maxRenderedOptions: MOST_SUGGESTIONS,
      tooltipClass: () => styles.completions ?? '',
    }),
    linter((editor) => mistakes(editor, latest), { delay: CHECK_DELAY }),
    Prec.highest(keymap.of(keys(latest))),
    keymap.of([
      ...defaultKeymap.filter((binding) => binding.key !== 'Mod-Enter'),
      ...historyKeymap,
    ]),
    EditorView.updateListener.of((update) => {
      if (!update.docChanged) return;
      const text = update.state.doc.toString();
      // At once: a text that came back later would replace what was typed meanwhile.
      if (text !== latest.current.value) flushSync(() => latest.current.onChange(text));
    }),
  ];
}

function keys(latest: Latest) {
  const run = (editor: EditorView) => {
    closeCompletion(editor);
    latest.current.onRun();
    return true;
  };
  const isChosen = (editor: EditorView) =>
    completionStatus(editor.state) === 'active' && selectedCompletionIndex(editor.state) !== null;
  const isOpen = (editor: EditorView) => completionStatus(editor.state) === 'active';
  const move = (forward: boolean) => (editor: EditorView) => {
    if (isOpen(editor)) return moveCompletionSelection(forward)(editor);
    const { head, empty } = editor.state.selection.main;
    const line = editor.state.doc.lineAt(head);
    const isEdge = forward ? line.number === editor.state.doc.lines : line.number === 1;
    if (!empty || !isEdge || isWrapped(editor, forward)) return false;
    const text = latest.current.onRecall(forward ? 'newer' : 'older');
    if (text === null) return false;
    replace(editor, text);
    return true;
  };
  return [
    {
      key: 'Enter',
      run: (editor: EditorView) => (isChosen(editor) ? acceptCompletion(editor) : run(editor)),
    },
    { key: 'Mod-Enter', run },
    { key: 'Mod-\\', run: format },
    { key: 'ArrowUp', run: move(false) },
    { key: 'ArrowDown', run: move(true) },
    {
      key: 'Tab',
      run: (editor: EditorView) => {
        if (!isOpen(editor)) return false;
        if (!isChosen(editor)) moveCompletionSelection(true)(editor);
        return acceptCompletion(editor);
      },
    },
    { key: 'Escape', run: closeCompletion },
  ];
}

/** Whether the caret has a line of the same paragraph above or below. */
function isWrapped(editor: EditorView, forward: boolean): boolean {
  const range = editor.state.selection.main;
  const moved = editor.moveVertically(range, forward);
  return (
    moved.head !== range.head &&
    editor.coordsAtPos(moved.head)?.top !== editor.coordsAtPos(range.head)?.top
  );
}

async function suggestions(
  context: CompletionContext,
  latest: Latest,
): Promise<CompletionResult | null> {
  const controller = new AbortController();
  context.addEventListener('abort', () => controller.abort(), { onDocChange: true });
  const text = context.state.doc.toString();
  const [words, fieldSuggestions] = await Promise.all([
    latest.current.complete(text, context.pos, controller.signal),
    // Words are completed without it, such as in a page that is older than the server's files.
    import('./fields').then((loaded) => loaded.fieldSuggestions).catch(() => null),
  ]);
  if (context.aborted) return null;
  const { pos: cursor, explicit } = context;
  const { known } = latest.current;
  const fields =
    !fieldSuggestions || text.length > COLOURED_CHARACTERS
      ? { found: [], isFirst: false }
      : fieldSuggestions({ text, cursor, known, explicit, tokensOf, fieldName, evalFieldName });
  // Where both fit, fields have a part of the list, however many functions there are.
  const some = words.slice(0, MOST_SUGGESTIONS - fields.found.length);
  const found = fields.isFirst ? [...fields.found, ...some] : [...some, ...fields.found];
  const first = found[0];
  if (!first) return null;
  return {
    from: first.from,
    to: first.to,
    filter: false,
    options: found.map((one) => ({
      label: one.label,
      detail: one.detail,
      apply: (editor: EditorView) =>
        editor.dispatch({
          changes: { from: one.from, to: Math.max(one.to, context.pos), insert: one.insert },
          selection: { anchor: one.from + one.insert.length },
        }),
    })),
  };
}

async function mistakes(editor: EditorView, latest: Latest): Promise<Diagnostic[]> {
  const { state } = editor;
  const text = state.doc.toString();
  if (text.trim() === '') return [];
  const found = await latest.current.check(text, new AbortController().signal);
  // What is being typed is not wrong yet.
  const caret = editor.hasFocus && state.selection.main.head === text.length ? text.length : -1;
  return found
    .filter((mistake) => mistake.to < text.trimEnd().length || caret === -1)
    .map(({ from, to, text: message }) => ({
      from,
      to: Math.max(to, Math.min(from + 1, text.length)),
      severity: 'error',
      message,
    }));
}
