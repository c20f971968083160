/** One input of a form. */

import {
  Button,
  Checkbox,
  Loader,
  MultiSelect,
  Radio,
  Select,
  TagsInput,
  TextInput,
} from '@mantine/core';
import { type ReactNode, useEffect, useMemo, useState } from 'react';
import { explainJobError } from '../../api/explain';
import { firstLine } from '../../api/messageText';
import { cellText } from '../../statistics/table';
import { TimeRangePicker } from '../../time/TimeRangePicker';
import { useDashboard, useIsShown, useSearch, useText, useTokens } from '../DashboardContext';
import type { Choice, Input } from '../model/types';
import type { SearchState } from '../runtime/manager';
import styles from './InputView.module.css';
import { limitedChoices, MOST_CHOICES } from './limitedChoices';

export function InputView({ input }: { input: Input }) {
  const isShown = useIsShown(input.depends, input.rejects);
  return isShown ? <Shown input={input} /> : null;
}

/** Those that are written, then those that its search finds, each value once. */
function choicesOf(input: Input, state: SearchState): Choice[] {
  const choices = [...input.choices];
  const { rows } = state;
  if (rows) {
    const field =
      input.fieldForValue ||
      input.fieldForLabel ||
      (rows.fields.find((name) => !name.startsWith('_')) ?? '');
    const value = rows.fields.indexOf(field);
    const label = rows.fields.indexOf(input.fieldForLabel || field);
    for (const row of rows.rows) {
      const text = cellText(row[value] ?? null);
      if (text !== '') choices.push({ value: text, label: cellText(row[label] ?? null) || text });
    }
  }
  return [...new Map(choices.map((choice) => [choice.value, choice])).values()];
}

function Shown({ input }: { input: Input }) {
  const { run } = useDashboard();
  const tokens = useTokens();
  const label = useText(input.label);
  const state = useSearch(input.search?.key ?? null, true);
  const found = useMemo(() => choicesOf(input, state), [input, state]);
  const values = run.values(input);
  // What is chosen stays, whether the search finds it or not.
  const choices = useMemo(() => {
    const known = new Set(found.map((choice) => choice.value));
    const others = values.filter((value) => !known.has(value) && value !== '');
    return [...found, ...others.map((value) => ({ value, label: value }))];
  }, [found, values]);
  const first = found[0];
  const isEmpty = values.length === 0;
  useEffect(() => {
    const wants = input.selectFirstChoice && input.default === null && input.initial === null;
    if (wants && isEmpty && first) run.chooseFirst(input, first.value, first.label);
  }, [run, input, first, isEmpty]);
  void tokens.version;

  const labelOf = (value: string | undefined) =>
    choices.find((choice) => choice.value === value)?.label ?? null;
  const choose = (next: string[]) => run.choose(input, next, labelOf(next[0]));
  const isLoading =
    input.search !== null && (state.phase === 'running' || state.phase === 'queued');
  const problem = state.phase === 'failed' && state.error ? explainJobError(state.error) : null;
  const waiting =
    state.phase === 'waiting' && state.missing.length > 0
      ? `Waiting for ${state.missing.map((name) => `$${name}$`).join(', ')}`
      : null;
  return (
    <div
      id={input.id ?? undefined}
      className={`${styles.input} input input-${input.kind}`}
      data-testid={`input-${input.token ?? 'time'}`}
      data-type={input.kind}
    >
      <Field
        input={input}
        label={label}
        choices={choices}
        values={values}
        isLoading={isLoading}
        choose={choose}
      />
      {waiting && <p className={styles.note}>{waiting}</p>}
      {problem && (
        <p className={styles.problem} role="alert" title={problem}>
          {firstLine(problem)}
        </p>
      )}
    </div>
  );
}

interface FieldProps {
  input: Input;
  label: string;
  choices: Choice[];
  values: string[];
  isLoading: boolean;
  choose: (values: string[]) => void;
}

function Field({ input, label, choices, values, isLoading, choose }: FieldProps) {
  const loader = isLoading ? <Loader size={12} /> : undefined;
  const shared = {
    label: label || undefined,
    'aria-label': label || input.token || 'input',
    size: 'xs' as const,
  };
  switch (input.kind) {
    case 'dropdown':
      return (
        <Select
          {...shared}
          data={choices}
          value={values[0] ?? null}
          searchable
          selectFirstOptionOnChange
          limit={MOST_CHOICES}
          filter={limitedChoices}
          clearable={input.default === null || values[0] !== input.default[0]}
          placeholder="Choose"
          leftSection={loader}
          nothingFoundMessage="No choices"
          onChange={(value) => choose(value === null ? [] : [value])}
        />
      );
    case 'multiselect':
      return input.allowCustomValues ? (
        <TagsInput
          {...shared}
          classNames={{ pill: styles.pill }}
          data={choices}
          value={values}
          limit={MOST_CHOICES}
          filter={limitedChoices}
          onChange={choose}
          leftSection={loader}
        />
      ) : (
        <Multiple
          {...shared}
          choices={choices}
          values={values}
          leftSection={loader}
          choose={choose}
        />
      );
    case 'radio':
      return (
        <Radio.Group {...shared} value={values[0] ?? ''} onChange={(value) => choose([value])}>
          <div className={styles.group}>
            {choices.map((choice) => (
              <Radio key={choice.value} size="xs" value={choice.value} label={choice.label} />
            ))}
          </div>
        </Radio.Group>
      );
    case 'checkbox':
      return (
        <Checkbox.Group {...shared} value={values} onChange={choose}>
          <div className={styles.group}>
            {choices.map((choice) => (
              <Checkbox key={choice.value} size="xs" value={choice.value} label={choice.label} />
            ))}
          </div>
        </Checkbox.Group>
      );
    case 'link':
      return (
        <fieldset className={styles.links}>
          {label && <legend>{label}</legend>}
          {choices.map((choice) => (
            <button
              key={choice.value}
              type="button"
              aria-pressed={values[0] === choice.value}
              onClick={() => choose([choice.value])}
            >
              {choice.label}
            </button>
          ))}
        </fieldset>
      );
    case 'time':
      return (
        <fieldset className={styles.time}>
          {label && <legend>{label}</legend>}
          <TimeRangePicker
            range={{ earliest: values[0] ?? '', latest: values[1] ?? '' }}
            onChange={({ earliest, latest }) => choose([earliest, latest])}
          />
        </fieldset>
      );
    case 'submit':
      return null;
    default:
      return <TextField input={input} label={label} value={values[0] ?? ''} choose={choose} />;
  }
}

interface MultipleProps extends Pick<FieldProps, 'choices' | 'values' | 'choose'> {
  label: string | undefined;
  'aria-label': string;
  size: 'xs';
  leftSection: ReactNode;
}

function Multiple({ choices, values, choose, ...shared }: MultipleProps) {
  const [typed, setTyped] = useState('');
  return (
    <MultiSelect
      {...shared}
      classNames={{ pill: styles.pill }}
      data={choices}
      value={values}
      searchable
      onSearchChange={setTyped}
      // Only what is typed: after a choice, another Enter would choose the first of all.
      selectFirstOptionOnChange={typed !== ''}
      limit={MOST_CHOICES}
      filter={limitedChoices}
      clearable
      placeholder={values.length === 0 ? 'Choose' : undefined}
      nothingFoundMessage="No choices"
      onChange={(next) => choose(withoutAll(next, values))}
    />
  );
}

/** "All" and single values do not go together: the one that was chosen last counts. */
function withoutAll(next: string[], before: string[]): string[] {
  if (next.length < 2 || !next.includes('*')) return next;
  return before.includes('*') ? next.filter((value) => value !== '*') : ['*'];
}

/** Is told once it is left, or with Enter: a search with every key would be too many. */
function TextField({
  input,
  label,
  value,
  choose,
}: {
  input: Input;
  label: string;
  value: string;
  choose: (values: string[]) => void;
}) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  const tell = () => {
    if (typed !== value) choose([typed]);
  };
  return (
    <TextInput
      label={label || undefined}
      aria-label={label || input.token || 'text'}
      size="xs"
      value={typed}
      onChange={(event) => setTyped(event.currentTarget.value)}
      onBlur={tell}
      onKeyDown={(event) => {
        if (event.key === 'Enter') tell();
      }}
    />
  );
}

/** The inputs above the rows, and the button that submits them. */
export function Filters({ inputs, hasButton }: { inputs: Input[]; hasButton: boolean }) {
  const { run } = useDashboard();
  const tokens = useTokens();
  if (inputs.length === 0) return null;
  return (
    <form
      className={`${styles.filters} fieldset`}
      aria-label="Filters"
      onSubmit={(event) => {
        event.preventDefault();
        // A text that is still being typed is told first.
        (document.activeElement as HTMLElement | null)?.blur();
        run.submit();
      }}
    >
      {inputs.map((input) => (
        <InputView key={input.key} input={input} />
      ))}
      {hasButton && (
        <Button
          type="submit"
          size="xs"
          className={styles.submit}
          variant={tokens.isPending ? 'filled' : 'default'}
          data-testid="submit"
        >
          Submit
        </Button>
      )}
    </form>
  );
}
