/** What the forms of the editor share: their fields, what stands in the text besides, names of inputs. */

import { childOf, childrenOf, elementsOf, type XmlElement } from '../model/xml';
import styles from './Editing.module.css';
import { FieldInput } from './FieldInput';
import { type FormField, writeField } from './fields';
import { inputsOf, type OutlineRow } from './outline';
import type { Source } from './source';

/** What the form is about, by its order in the text. */
export type Selection =
  | { kind: 'dashboard' }
  | { kind: 'input'; at: number }
  | { kind: 'panel'; row: number; panel: number };

export interface FormProps {
  app: string;
  source: Source;
  rows: readonly OutlineRow[];
  onSelect: (selection: Selection) => void;
  /** Changes the text; `isTyping` joins the change with the one before. */
  onEdit: (edit: (text: string) => string) => void;
  /** Shows a place in the source. */
  onSource: (line: number) => void;
}

interface FieldsProps {
  fields: readonly FormField[];
  element: XmlElement;
  onEdit: FormProps['onEdit'];
}

export function Fields({ fields, element, onEdit }: FieldsProps) {
  return fields.map((field) => (
    <FieldInput
      key={field.label}
      field={field}
      element={element}
      onChange={(value) => onEdit((text) => writeField(text, element.start, field, value))}
    />
  ));
}

export function Back({ onSelect }: Pick<FormProps, 'onSelect'>) {
  return (
    <button type="button" className={styles.link} onClick={() => onSelect({ kind: 'dashboard' })}>
      ← The dashboard and its inputs
    </button>
  );
}

export const INPUT_NAMES: Record<string, string> = {
  time: 'Time range',
  dropdown: 'Dropdown',
  text: 'Text',
  radio: 'Radio buttons',
  multiselect: 'Multiple choice',
  checkbox: 'Checkboxes',
  link: 'Links (tabs)',
};

export const inputName = (input: XmlElement): string => {
  const label = childOf(input, 'label');
  const text = label?.children.map((part) => (part.kind === 'text' ? part.text : '')).join('');
  const kind = input.attributes.get('type') ?? 'text';
  return text?.trim() || input.attributes.get('token') || (INPUT_NAMES[kind] ?? kind);
};

/** Tokens of the time inputs above the rows. */
export function timeTokens(source: Source): { token: string; label: string }[] {
  return inputsOf(source)
    .filter((input) => input.attributes.get('type')?.toLowerCase() === 'time')
    .flatMap((input) => {
      const token = input.attributes.get('token');
      return token ? [{ token, label: inputName(input) }] : [];
    });
}

interface RestProps {
  element: XmlElement;
  known: ReadonlySet<string>;
  fields?: readonly FormField[];
  onSource: (line: number) => void;
}

/** What the form has no field for: it stays as it is, and is changed in the source. */
export function Rest({ element, known, fields = [], onSource }: RestProps) {
  const options = new Set(
    fields.flatMap(({ at }) =>
      'option' in at ? at.option.map((option) => option.toLowerCase()) : [],
    ),
  );
  const rest = [
    ...childrenOf(element, 'option').flatMap((option) => {
      const name = option.attributes.get('name') ?? '';
      return options.has(name.toLowerCase()) ? [] : [{ name, line: option.line }];
    }),
    ...(element.name === 'html' ? [] : elementsOf(element)).flatMap((child) =>
      known.has(child.name) ? [] : [{ name: `<${child.written}>`, line: child.line }],
    ),
  ];
  const line = rest[0]?.line ?? element.line;
  return (
    <div>
      {rest.length > 0 && (
        <p className={styles.hint}>Also there: {rest.map(({ name }) => name).join(', ')}.</p>
      )}
      <button type="button" className={styles.link} onClick={() => onSource(line)}>
        Show it in the source
      </button>
    </div>
  );
}
