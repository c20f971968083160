/** What the forms of the editor share: their fields, what stands in the text besides, names of inputs. */

import { ActionIcon, Button, Menu, TextInput } from '@mantine/core';
import { IconPlus, IconTrash } from '@tabler/icons-react';
import { childOf, childrenOf, elementsOf, type XmlElement } from '../model/xml';
import styles from './Editing.module.css';
import { FieldInput } from './FieldInput';
import { type FormField, writeField } from './fields';
import { inputsOf, type OutlineRow } from './outline';
import type { Source } from './source';
import { useDraft } from './useDraft';

/** What the form is about, by its order in the text. */
export type Selection =
  | { kind: 'dashboard' }
  | { kind: 'input'; at: number }
  | { kind: 'search'; at: number }
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

/** The id of a search of the page, or the line where it stands. */
export const searchName = (search: XmlElement): string =>
  search.attributes.get('id') || `Search in line ${search.line}`;

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
  /** Whether the form changes a child. */
  isKnown: (child: XmlElement) => boolean;
  /** Options that the form changes: by fields, and others. */
  fields?: readonly FormField[];
  known?: readonly string[];
  onSource: (line: number) => void;
}

/** What the form has no field for: it stays as it is, and is changed in the source. */
export function Rest({ element, isKnown, fields = [], known = [], onSource }: RestProps) {
  const options = new Set([
    ...known,
    ...fields.flatMap(({ at }) =>
      at !== 'text' && 'option' in at ? at.option.map((option) => option.toLowerCase()) : [],
    ),
  ]);
  const rest = [
    ...childrenOf(element, 'option').flatMap((option) => {
      const name = option.attributes.get('name') ?? '';
      return options.has(name.toLowerCase()) ? [] : [{ name, line: option.line }];
    }),
    ...(element.name === 'html' ? [] : elementsOf(element)).flatMap((child) =>
      isKnown(child) ? [] : [{ name: `<${child.written}>`, line: child.line }],
    ),
  ];
  const line = rest[0]?.line ?? element.line;
  return (
    <div>
      {rest.length > 0 && (
        <p className={styles.hint}>
          Edit in the source: {rest.map(({ name }) => name).join(', ')}.
        </p>
      )}
      <button type="button" className={styles.link} onClick={() => onSource(line)}>
        Show it in the source
      </button>
    </div>
  );
}

interface AddMenuProps<K extends string> {
  label: string;
  testId?: string;
  choices: Readonly<Record<K, string>>;
  onAdd: (kind: K) => void;
}

/** A button that adds one of several things. */
export function AddMenu<K extends string>({ label, testId, choices, onAdd }: AddMenuProps<K>) {
  return (
    <Menu position="bottom-start" withinPortal>
      <Menu.Target>
        <Button
          variant="default"
          size="compact-sm"
          leftSection={<IconPlus size={14} />}
          data-testid={testId}
        >
          {label}
        </Button>
      </Menu.Target>
      <Menu.Dropdown>
        {(Object.entries(choices) as [K, string][]).map(([kind, words]) => (
          <Menu.Item key={kind} onClick={() => onAdd(kind)}>
            {words}
          </Menu.Item>
        ))}
      </Menu.Dropdown>
    </Menu>
  );
}

interface RemoveProps {
  label: string;
  onRemove: () => void;
}

export function Remove({ label, onRemove }: RemoveProps) {
  return (
    <ActionIcon size={24} aria-label={label} onClick={onRemove}>
      <IconTrash size={14} />
    </ActionIcon>
  );
}

interface TypedTextProps {
  label: string;
  /** Without its label, where the row says what it is of. */
  isBare?: boolean;
  help?: string;
  placeholder?: string | undefined;
  error?: string | null | undefined;
  value: string;
  onChange: (text: string) => void;
}

/** A text that is told once the typing rests. */
export function TypedText(props: TypedTextProps) {
  const { label, isBare = false, help, placeholder, error, value, onChange } = props;
  const { draft, change, flush } = useDraft(value, onChange);
  return (
    <TextInput
      size="xs"
      label={isBare ? undefined : label}
      aria-label={label}
      description={help}
      placeholder={placeholder}
      error={error}
      autoComplete="off"
      spellCheck={false}
      value={draft}
      onChange={(event) => change(event.currentTarget.value)}
      onBlur={flush}
      onKeyDown={(event) => event.key === 'Enter' && flush()}
    />
  );
}
