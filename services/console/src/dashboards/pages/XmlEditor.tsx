/** The text of a dashboard with highlighting and mistakes in place. Loaded when it is needed. */

import { autocompletion, type CompletionContext, closeBrackets } from '@codemirror/autocomplete';
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { xml } from '@codemirror/lang-xml';
import {
  bracketMatching,
  foldGutter,
  HighlightStyle,
  indentOnInput,
  syntaxHighlighting,
} from '@codemirror/language';
import { type Diagnostic, lintGutter, setDiagnostics } from '@codemirror/lint';
import { EditorState } from '@codemirror/state';
import {
  drawSelection,
  EditorView,
  highlightActiveLine,
  keymap,
  lineNumbers,
} from '@codemirror/view';
import { tags } from '@lezer/highlight';
import { useEffect, useRef } from 'react';
import table from '../../../../../schemas/dashboards/simple-xml.json';
import styles from './DashboardEditor.module.css';

export interface Mark {
  /** From 1. */
  line: number;
  severity: 'error' | 'warning' | 'info';
  text: string;
}

interface XmlEditorProps {
  text: string;
  marks: Mark[];
  /** Where it begins to be read, from 1. */
  line?: number | null;
  onChange: (text: string) => void;
}

const COLORS = HighlightStyle.define([
  { tag: tags.tagName, color: 'var(--accent)' },
  { tag: tags.attributeName, color: 'var(--info)' },
  { tag: tags.attributeValue, color: 'var(--warning)' },
  { tag: tags.comment, color: 'var(--muted)', fontStyle: 'italic' },
]);

const contexts = table.contexts as Record<
  string,
  { children: Record<string, string>; attributes: Record<string, string> }
>;
const names = (known: Record<string, string>) =>
  Object.entries(known)
    .filter(([name, level]) => !name.includes('*') && level !== 'ignored:no-effect')
    .map(([name]) => name);
const SPELLED: Record<string, string> = {
  earliesttime: 'earliestTime',
  latesttime: 'latestTime',
  fieldforlabel: 'fieldForLabel',
  fieldforvalue: 'fieldForValue',
  valueprefix: 'valuePrefix',
  valuesuffix: 'valueSuffix',
  initialvalue: 'initialValue',
  selectfirstchoice: 'selectFirstChoice',
  refreshtype: 'refreshType',
  colorpalette: 'colorPalette',
  sampleratio: 'sampleRatio',
};
const spelled = (name: string) => SPELLED[name] ?? name;
const elements = [
  ...new Set(Object.values(contexts).flatMap((context) => names(context.children))),
].map((name) => ({
  name: spelled(name),
}));
const options = [
  ...new Set(
    Object.values(table.options).flatMap((known) =>
      names(known as unknown as Record<string, string>),
    ),
  ),
];

/** Names of options inside `<option name="`. */
function completeOption(context: CompletionContext) {
  const word = context.matchBefore(/<option\s+name="[\w.]*/);
  if (!word) return null;
  const from = word.from + word.text.lastIndexOf('"') + 1;
  return { from, options: options.map((label) => ({ label, type: 'property' })) };
}

export default function XmlEditor({ text, marks, line = null, onChange }: XmlEditorProps) {
  const box = useRef<HTMLDivElement>(null);
  const view = useRef<EditorView | null>(null);
  const told = useRef(onChange);
  told.current = onChange;
  const begin = useRef({ text, line });

  useEffect(() => {
    if (!box.current) return;
    const created = new EditorView({
      parent: box.current,
      state: EditorState.create({
        doc: begin.current.text,
        extensions: [
          lineNumbers(),
          foldGutter(),
          history(),
          drawSelection(),
          indentOnInput(),
          bracketMatching(),
          closeBrackets(),
          highlightActiveLine(),
          lintGutter(),
          xml({ elements, autoCloseTags: true }),
          autocompletion({ activateOnTyping: true }),
          EditorState.languageData.of(() => [{ autocomplete: completeOption }]),
          syntaxHighlighting(COLORS),
          keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
          EditorView.lineWrapping,
          EditorView.contentAttributes.of({ 'aria-label': 'Source of the dashboard' }),
          EditorView.updateListener.of((update) => {
            if (update.docChanged) told.current(update.state.doc.toString());
          }),
        ],
      }),
    });
    view.current = created;
    const at = begin.current.line;
    if (at !== null) {
      const { doc } = created.state;
      const { from } = doc.line(Math.min(Math.max(1, at), doc.lines));
      const effects = EditorView.scrollIntoView(from, { y: 'center' });
      created.dispatch({ selection: { anchor: from }, effects });
      created.focus();
    }
    return () => created.destroy();
  }, []);

  useEffect(() => {
    const editor = view.current;
    if (!editor) return;
    const { doc } = editor.state;
    const diagnostics = marks.map((mark): Diagnostic => {
      const line = doc.line(Math.min(Math.max(1, mark.line), doc.lines));
      return { from: line.from, to: line.to, severity: mark.severity, message: mark.text };
    });
    editor.dispatch(setDiagnostics(editor.state, diagnostics));
  }, [marks]);

  return <div ref={box} className={styles.code} data-testid="source" />;
}
