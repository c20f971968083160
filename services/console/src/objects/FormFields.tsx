/** The inputs of a form, made from the fields of a kind. */

import { Checkbox, NativeSelect, PasswordInput, Switch, Textarea, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { namespaced } from '../api/client';
import { useConnection } from '../app/clientContext';
import { choicesOf, internalLast, type Option, withUnlisted } from './form';
import type { Field, Source, Value, Values } from './kind';
import styles from './Objects.module.css';

interface FormFieldsProps {
  fields: Field[];
  /** The app of the object. */
  app: string;
  values: Values;
  problems: Map<string, string>;
  isReadOnly: boolean;
  onChange: (name: string, value: Value) => void;
}

export function FormFields({ fields, onChange, ...props }: FormFieldsProps) {
  return fields.map((field, place) => (
    <FieldView
      key={field.name}
      field={field}
      app={props.app}
      isFirst={place === 0}
      value={props.values[field.name] ?? ''}
      problem={props.problems.get(field.name) ?? null}
      isReadOnly={props.isReadOnly || field.isReadOnly === true}
      onChange={(value) => onChange(field.name, value)}
    />
  ));
}

interface FieldViewProps {
  field: Field;
  app: string;
  isFirst: boolean;
  value: Value;
  problem: string | null;
  isReadOnly: boolean;
  onChange: (value: Value) => void;
}

function FieldView({ field, app, isFirst, value, problem, isReadOnly, onChange }: FieldViewProps) {
  const options = useOptions(field, app);
  const common = {
    label: field.label,
    description: field.help,
    name: field.name,
    disabled: isReadOnly,
    'data-autofocus': isFirst || undefined,
  };
  const input = { ...common, error: problem, required: field.isRequired, withAsterisk: false };
  const text = typeof value === 'string' ? value : '';
  switch (field.kind) {
    case 'switch':
      return (
        <Switch
          {...common}
          error={problem}
          size="xs"
          checked={value === true}
          onChange={(event) => onChange(event.currentTarget.checked)}
        />
      );
    case 'checks':
      return (
        <Checks
          field={field}
          options={options}
          chosen={Array.isArray(value) ? value : []}
          isReadOnly={isReadOnly}
          problem={problem}
          onChange={onChange}
        />
      );
    case 'choice':
      return (
        <NativeSelect
          {...input}
          data={choicesOf(field, options, text)}
          value={text}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      );
    case 'area':
      return (
        <Textarea
          {...input}
          className={styles.mono}
          autosize
          minRows={3}
          maxRows={14}
          spellCheck={false}
          value={text}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      );
    case 'password':
      return (
        <PasswordInput
          {...input}
          aria-invalid={problem !== null || undefined}
          autoComplete={field.autoComplete ?? 'new-password'}
          value={text}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      );
    default:
      return (
        <TextInput
          {...input}
          inputMode={field.kind === 'number' ? 'decimal' : undefined}
          autoComplete="off"
          spellCheck={false}
          value={text}
          onChange={(event) => onChange(event.currentTarget.value)}
        />
      );
  }
}

interface ChecksProps {
  field: Field;
  options: Option[];
  chosen: string[];
  isReadOnly: boolean;
  problem: string | null;
  onChange: (value: string[]) => void;
}

/** More than this many have a filter. */
const MANY = 10;

function Checks({ field, options, chosen, isReadOnly, problem, onChange }: ChecksProps) {
  const [filter, setFilter] = useState('');
  const all = withUnlisted(options, chosen);
  const wanted = filter.trim().toLowerCase();
  const shown = all.filter((option) => option.label.toLowerCase().includes(wanted));
  return (
    <fieldset className={styles.checks} data-invalid={problem !== null || undefined}>
      <legend>
        {field.label} ({chosen.length})
      </legend>
      {field.help && <p className={styles.help}>{field.help}</p>}
      {problem && (
        <p className={styles.problem} role="alert">
          {problem}
        </p>
      )}
      {all.length > MANY && (
        <TextInput
          size="xs"
          aria-label={`Filter ${field.label.toLowerCase()}`}
          placeholder="Filter"
          value={filter}
          onChange={(event) => setFilter(event.currentTarget.value)}
        />
      )}
      <div>
        {shown.map((option) => (
          <Checkbox
            key={option.value}
            size="xs"
            name={field.name}
            label={option.label}
            disabled={isReadOnly}
            aria-invalid={problem !== null || undefined}
            checked={chosen.includes(option.value)}
            onChange={(event) =>
              onChange(
                event.currentTarget.checked
                  ? [...chosen, option.value]
                  : chosen.filter((one) => one !== option.value),
              )
            }
          />
        ))}
      </div>
    </fieldset>
  );
}

const SOURCES: Record<Source, string> = {
  roles: '/services/authorization/roles',
  indexes: '/services/data/indexes',
  capabilities: '/services/authorization/capabilities',
  apps: '/services/apps/local',
  lookupFiles: '/services/data/lookup-table-files',
  lookups: '/services/data/transforms/lookups',
};
/** Those that belong to apps. */
const OF_APPS: readonly (Source | undefined)[] = ['lookupFiles', 'lookups'];

/** The choices of a field; those of a source come from the server. `app`: of sources that belong to apps. */
export function useOptions(field: Field, app = ''): Option[] {
  const { client, username } = useConnection();
  const { source } = field;
  const collection = SOURCES[source ?? 'roles'];
  const path = OF_APPS.includes(source)
    ? namespaced({ owner: username, app }, collection)
    : collection;
  const { data } = useQuery({
    queryKey: ['options', path],
    enabled: source !== undefined,
    staleTime: 30_000,
    queryFn: async ({ signal }) => {
      const found = await client.entries(path, signal);
      const listed = found[0]?.content.capabilities;
      const names =
        source === 'capabilities'
          ? (Array.isArray(listed) ? listed : []).map(String)
          : found.map((entry) => entry.name).sort(internalLast);
      return [...new Set(names)].map((name) => ({ value: name, label: name }));
    },
  });
  return field.options ?? data ?? [];
}
