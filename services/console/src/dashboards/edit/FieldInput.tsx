/** One value of a panel, an element or an input, as a field of the form. */

import { NativeSelect, Switch, TextInput } from '@mantine/core';
import { useId } from 'react';
import { colorOf, flag } from '../model/values';
import type { XmlElement } from '../model/xml';
import styles from './Editing.module.css';
import { type FormField, mistakeIn, readField } from './fields';
import { colorMistake } from './mistakes';
import { useDraft } from './useDraft';

interface FieldInputProps {
  field: FormField;
  element: XmlElement;
  onChange: (value: string) => void;
}

export function FieldInput({ field, element, onChange }: FieldInputProps) {
  const value = readField(element, field) ?? field.usual;
  if (field.kind === 'choice') {
    return <ChoiceInput field={field} value={value} onChange={onChange} />;
  }
  if (field.kind === 'switch') {
    // In the words that are usual for this one.
    const [yes, no] = /^[01]$/.test(field.usual) ? ['1', '0'] : ['true', 'false'];
    return (
      <Switch
        size="xs"
        label={field.label}
        description={field.help}
        checked={flag(value, flag(field.usual, false))}
        onChange={(event) => onChange(event.currentTarget.checked ? yes : no)}
      />
    );
  }
  if (field.kind === 'color') {
    const { label, help } = field;
    return (
      <ColorInput
        label={label}
        help={help}
        check={(draft) => mistakeIn(field, draft)}
        value={value}
        onChange={onChange}
      />
    );
  }
  return <TypedInput field={field} value={value} onChange={onChange} />;
}

interface ValueProps {
  field: FormField;
  value: string;
  onChange: (value: string) => void;
}

function ChoiceInput({ field, value, onChange }: ValueProps) {
  const choices = Object.entries(field.choices ?? {});
  const known = choices.find(([one]) => one.toLowerCase() === value.toLowerCase());
  // A token, or what this form does not know, stays until another one is chosen.
  const data = [
    ...(known ? [] : [{ value, label: value }]),
    ...choices.map(([one, label]) => ({ value: one, label })),
  ];
  return (
    <NativeSelect
      size="xs"
      label={field.label}
      description={field.help}
      data={data}
      value={known?.[0] ?? value}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}

function TypedInput({ field, value, onChange }: ValueProps) {
  const { draft, change, flush } = useDraft(value, (next) => {
    if (mistakeIn(field, next) === null) onChange(next);
  });
  const list = useId();
  const { suggestions = [] } = field;
  const input = (
    <TextInput
      size="xs"
      label={field.label}
      description={field.help}
      error={mistakeIn(field, draft)}
      list={suggestions.length > 0 ? list : undefined}
      inputMode={field.kind === 'number' ? 'decimal' : undefined}
      autoComplete="off"
      spellCheck={false}
      value={draft}
      onChange={(event) => change(event.currentTarget.value)}
      onBlur={flush}
      onKeyDown={(event) => event.key === 'Enter' && flush()}
    />
  );
  if (suggestions.length === 0) return input;
  return (
    <div>
      {input}
      <datalist id={list}>
        {suggestions.map((value) => (
          <option key={value} value={value} />
        ))}
      </datalist>
    </div>
  );
}

interface ColorInputProps {
  label: string;
  help?: string | undefined;
  /** Without its label, where the row says what it is of. */
  isBare?: boolean;
  /** What is wrong with a colour: it is not told. */
  check?: (color: string) => string | null;
  value: string;
  onChange: (value: string) => void;
}

/** A colour as it is written, and the browser's way to choose one. */
export function ColorInput(props: ColorInputProps) {
  const { label, help, isBare = false, check = colorMistake, value, onChange } = props;
  const { draft, change, flush } = useDraft(value, (next) => {
    if (check(next) === null) onChange(next);
  });
  const known = colorOf(draft);
  return (
    <TextInput
      size="xs"
      label={isBare ? undefined : label}
      aria-label={label}
      description={help}
      error={check(draft)}
      autoComplete="off"
      spellCheck={false}
      value={draft}
      onChange={(event) => change(event.currentTarget.value)}
      onBlur={flush}
      onKeyDown={(event) => event.key === 'Enter' && flush()}
      leftSection={
        <input
          type="color"
          className={styles.color}
          aria-label={`Choose: ${label}`}
          value={known?.startsWith('#') ? known.slice(0, 7) : '#ffffff'}
          onChange={(event) => change(event.currentTarget.value.toUpperCase())}
          onBlur={flush}
        />
      }
    />
  );
}
