/** An input in the form of the editor. */

import { Button, NativeSelect } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { TimeRangePicker } from '../../time/TimeRangePicker';
import type { XmlElement } from '../model/xml';
import {
  readChoices,
  readDefaultRange,
  type WrittenChoice,
  writeChoices,
  writeDefaultRange,
} from './choices';
import styles from './Editing.module.css';
import {
  Back,
  Fields,
  type FormProps,
  INPUT_NAMES,
  inputName,
  Remove,
  Rest,
  TypedText,
} from './FormParts';
import { type FormField, inputFields, writeField } from './fields';
import { INPUT_KINDS } from './operations';
import { inputsOf } from './outline';
import { SearchForm } from './SearchForm';
import { searchOf, writeQuery, writeRange } from './searchParts';
import { sourceOf, withAttribute } from './source';

interface InputFormProps extends FormProps {
  input: XmlElement;
  at: number;
}

export function InputForm({ app, source, input, onEdit, onSelect, onSource }: InputFormProps) {
  const kind = input.attributes.get('type')?.toLowerCase() ?? 'text';
  const hasChoices = kind !== 'time' && kind !== 'text';
  const { start } = input;
  const search = searchOf(input);
  return (
    <>
      <Back onSelect={onSelect} />
      <h2>Input {inputName(input)}</h2>
      <NativeSelect
        size="xs"
        label="Kind"
        data={[
          ...(INPUT_NAMES[kind] ? [] : [{ value: kind, label: kind }]),
          ...INPUT_KINDS.map((one) => ({ value: one, label: INPUT_NAMES[one] ?? one })),
        ]}
        value={kind}
        onChange={(event) => {
          const next = event.currentTarget.value;
          onEdit((text) => {
            const now = sourceOf(text);
            const element = inputsOf(now).find((one) => one.start === start);
            return element ? withAttribute(now, element, 'type', next) : text;
          });
        }}
      />
      <Fields fields={inputFields(kind)} element={input} onEdit={onEdit} />
      {kind === 'time' && <DefaultRange input={input} onEdit={onEdit} />}
      {hasChoices && (
        <>
          <h3>Choices</h3>
          <Choices
            choices={readChoices(input)}
            onChange={(choices) => onEdit((text) => writeChoices(text, start, choices))}
          />
          <h3>Choices that a search finds</h3>
          {search ? (
            <>
              <SearchForm app={app} source={source} element={input} onEdit={onEdit} />
              <Fields fields={FOUND} element={input} onEdit={onEdit} />
            </>
          ) : (
            <Button
              variant="default"
              size="compact-sm"
              onClick={() =>
                onEdit((text) => {
                  const query = writeQuery(text, start, 'index=* | stats count by host');
                  const ranged = writeRange(query, start, '-24h', 'now');
                  return FOUND.reduce(
                    (now, field) => writeField(now, start, field, 'host'),
                    ranged,
                  );
                })
              }
            >
              Add a search
            </Button>
          )}
        </>
      )}
      <Rest element={input} isKnown={(child) => KNOWN_INPUT.has(child.name)} onSource={onSource} />
    </>
  );
}

const FOUND: FormField[] = ['fieldForLabel', 'fieldForValue'].map((name) => ({
  label: name === 'fieldForLabel' ? 'Field that is shown' : 'Field whose value is used',
  kind: 'text',
  at: { child: [name], behind: ['label', 'choice', 'search'] },
  usual: '',
}));

function DefaultRange({ input, onEdit }: { input: XmlElement; onEdit: FormProps['onEdit'] }) {
  return (
    <div>
      <div className={styles.label}>Default</div>
      <TimeRangePicker
        range={readDefaultRange(input)}
        onChange={({ earliest, latest }) =>
          onEdit((text) => writeDefaultRange(text, input.start, earliest, latest))
        }
      />
    </div>
  );
}

interface ChoicesProps {
  choices: WrittenChoice[];
  onChange: (choices: WrittenChoice[]) => void;
}

function Choices({ choices, onChange }: ChoicesProps) {
  const change = (at: number, part: Partial<WrittenChoice>) =>
    onChange(choices.map((choice, one) => (one === at ? { ...choice, ...part } : choice)));
  return (
    <div>
      {choices.map((choice, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: choices are their order
        <div key={at} className={styles.choice}>
          <TypedText
            isBare
            placeholder="Value"
            label={`Value ${at + 1}`}
            value={choice.value}
            onChange={(value) => change(at, { value })}
          />
          <TypedText
            isBare
            placeholder="Label"
            label={`Label ${at + 1}`}
            value={choice.label}
            onChange={(label) => change(at, { label })}
          />
          <Remove
            label={`Remove ${choice.label || choice.value}`}
            onRemove={() => onChange(choices.filter((_, one) => one !== at))}
          />
        </div>
      ))}
      <Button
        variant="default"
        size="compact-xs"
        leftSection={<IconPlus size={12} />}
        onClick={() => onChange([...choices, { value: '', label: '' }])}
      >
        Add a choice
      </Button>
    </div>
  );
}

const KNOWN_INPUT = new Set(
  'label,choice,search,default,prefix,suffix,valueprefix,valuesuffix,delimiter,fieldforlabel,fieldforvalue,selectfirstchoice'.split(
    ',',
  ),
);
