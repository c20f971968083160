/** The form beside a dashboard that is edited: of the dashboard, a panel with its elements, or an input. */

import { ActionIcon, Button, Menu, NativeSelect, TextInput } from '@mantine/core';
import { IconArrowLeft, IconArrowRight, IconPlus, IconTrash } from '@tabler/icons-react';
import { useEffect, useRef, useState } from 'react';
import { TimeRangePicker } from '../../time/TimeRangePicker';
import { childOf, childrenOf, elementsOf, type XmlElement } from '../model/xml';
import styles from './Editing.module.css';
import { FieldInput } from './FieldInput';
import {
  DASHBOARD,
  ELEMENT_SHOWN,
  ELEMENT_TITLE,
  FIELDS,
  FIELDSET,
  type FormField,
  inputFields,
  KIND_NAMES,
  PANEL,
  readChoices,
  readDefaultRange,
  searchOf,
  type WrittenChoice,
  writeChoices,
  writeDefaultRange,
  writeField,
  writeQuery,
  writeRange,
} from './fields';
import { HtmlForm } from './HtmlForm';
import { INPUT_KINDS, withInput, withInputMoved, withKind, withoutElement } from './operations';
import { elementsOfPanel, inputsOf, type OutlineRow } from './outline';
import { SearchForm } from './SearchForm';
import { type Source, sourceOf, withAttribute } from './source';
import { useDraft } from './useDraft';

/** What the form is about, by its order in the text. */
export type Selection =
  | { kind: 'dashboard' }
  | { kind: 'input'; at: number }
  | { kind: 'panel'; row: number; panel: number };

export interface InspectorProps {
  app: string;
  source: Source;
  rows: readonly OutlineRow[];
  selection: Selection;
  onSelect: (selection: Selection) => void;
  /** Changes the text; `isTyping` joins the change with the one before. */
  onEdit: (edit: (text: string) => string) => void;
  /** Shows a place in the source. */
  onSource: (line: number) => void;
}

const NOTHING = JSON.stringify({ kind: 'dashboard' } satisfies Selection);

export function Inspector(props: InspectorProps) {
  const { source, rows, selection } = props;
  const panel =
    selection.kind === 'panel' ? rows[selection.row]?.panels[selection.panel] : undefined;
  const input = selection.kind === 'input' ? inputsOf(source)[selection.at] : undefined;
  const box = useRef<HTMLElement>(null);
  const chosen = JSON.stringify(selection);
  // On a narrow screen it is below the page.
  useEffect(() => {
    if (chosen !== NOTHING) box.current?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  return (
    <section ref={box} className={styles.form} aria-label="Properties" data-testid="inspector">
      {panel ? (
        <PanelForm key={chosen} {...props} panel={panel} />
      ) : input && selection.kind === 'input' ? (
        <InputForm key={`input ${selection.at}`} {...props} input={input} at={selection.at} />
      ) : (
        <DashboardForm {...props} />
      )}
    </section>
  );
}

interface FieldsProps {
  fields: readonly FormField[];
  element: XmlElement;
  onEdit: InspectorProps['onEdit'];
}

function Fields({ fields, element, onEdit }: FieldsProps) {
  return fields.map((field) => (
    <FieldInput
      key={field.label}
      field={field}
      element={element}
      onChange={(value) => onEdit((text) => writeField(text, element.start, field, value))}
    />
  ));
}

function Back({ onSelect }: Pick<InspectorProps, 'onSelect'>) {
  return (
    <button type="button" className={styles.link} onClick={() => onSelect({ kind: 'dashboard' })}>
      ← The dashboard and its inputs
    </button>
  );
}

// -- dashboard

const INPUT_NAMES: Record<string, string> = {
  time: 'Time range',
  dropdown: 'Dropdown',
  text: 'Text',
  radio: 'Radio buttons',
  multiselect: 'Multiple choice',
  checkbox: 'Checkboxes',
  link: 'Links (tabs)',
};

function DashboardForm({ source, onEdit, onSelect }: InspectorProps) {
  const inputs = inputsOf(source);
  const fieldset = childOf(source.root, 'fieldset');
  return (
    <>
      <h2>Dashboard</h2>
      <p className={styles.hint}>Choose a panel to change it.</p>
      <Fields fields={DASHBOARD} element={source.root} onEdit={onEdit} />
      <h3>Inputs</h3>
      {inputs.length > 0 && (
        <ol className={styles.list}>
          {inputs.map((input, at) => (
            <li key={input.start}>
              <button
                type="button"
                className={styles.link}
                onClick={() => onSelect({ kind: 'input', at })}
              >
                {inputName(input)}
              </button>
              <ActionIcon
                size={24}
                aria-label={`Move ${inputName(input)} to the left`}
                disabled={at === 0}
                onClick={() => onEdit((text) => withInputMoved(text, input.start, -1))}
              >
                <IconArrowLeft size={14} />
              </ActionIcon>
              <ActionIcon
                size={24}
                aria-label={`Move ${inputName(input)} to the right`}
                disabled={at === inputs.length - 1}
                onClick={() => onEdit((text) => withInputMoved(text, input.start, 1))}
              >
                <IconArrowRight size={14} />
              </ActionIcon>
              <ActionIcon
                size={24}
                aria-label={`Remove ${inputName(input)}`}
                onClick={() => onEdit((text) => withoutElement(text, input.start))}
              >
                <IconTrash size={14} />
              </ActionIcon>
            </li>
          ))}
        </ol>
      )}
      <Menu position="bottom-start" withinPortal>
        <Menu.Target>
          <Button
            variant="default"
            size="compact-sm"
            leftSection={<IconPlus size={14} />}
            data-testid="add-input"
          >
            Add an input
          </Button>
        </Menu.Target>
        <Menu.Dropdown>
          {INPUT_KINDS.map((kind) => (
            <Menu.Item
              key={kind}
              onClick={() => {
                onEdit((text) => withInput(text, kind));
                onSelect({ kind: 'input', at: inputs.length });
              }}
            >
              {INPUT_NAMES[kind]}
            </Menu.Item>
          ))}
        </Menu.Dropdown>
      </Menu>
      {fieldset && inputs.length > 0 && (
        <Fields fields={FIELDSET} element={fieldset} onEdit={onEdit} />
      )}
    </>
  );
}

const inputName = (input: XmlElement): string => {
  const label = childOf(input, 'label');
  const text = label?.children.map((part) => (part.kind === 'text' ? part.text : '')).join('');
  const kind = input.attributes.get('type') ?? 'text';
  return text?.trim() || input.attributes.get('token') || (INPUT_NAMES[kind] ?? kind);
};

// -- input

interface InputFormProps extends InspectorProps {
  input: XmlElement;
  at: number;
}

function InputForm({ app, source, input, onEdit, onSelect, onSource }: InputFormProps) {
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
              <SearchForm
                app={app}
                element={input}
                times={timeTokens(source)}
                onQuery={(query) => onEdit((text) => writeQuery(text, start, query))}
                onRange={(earliest, latest) =>
                  onEdit((text) => writeRange(text, start, earliest, latest))
                }
              />
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
      <Rest element={input} known={KNOWN_INPUT} onSource={onSource} />
    </>
  );
}

const FOUND: FormField[] = ['fieldForLabel', 'fieldForValue'].map((name) => ({
  label: name === 'fieldForLabel' ? 'Field that is shown' : 'Field whose value is used',
  kind: 'text',
  at: { child: [name], behind: ['label', 'choice', 'search'] },
  usual: '',
}));

function DefaultRange({ input, onEdit }: { input: XmlElement; onEdit: InspectorProps['onEdit'] }) {
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
          <ChoiceText
            label={`Value ${at + 1}`}
            value={choice.value}
            onChange={(value) => change(at, { value })}
          />
          <ChoiceText
            label={`Label ${at + 1}`}
            value={choice.label}
            onChange={(label) => change(at, { label })}
          />
          <ActionIcon
            size={24}
            aria-label={`Remove ${choice.label || choice.value}`}
            onClick={() => onChange(choices.filter((_, one) => one !== at))}
          >
            <IconTrash size={14} />
          </ActionIcon>
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

interface ChoiceTextProps {
  label: string;
  value: string;
  onChange: (text: string) => void;
}

function ChoiceText({ label, value, onChange }: ChoiceTextProps) {
  const { draft, change, flush } = useDraft(value, onChange);
  return (
    <TextInput
      size="xs"
      aria-label={label}
      placeholder={label.split(' ')[0]}
      autoComplete="off"
      value={draft}
      onChange={(event) => change(event.currentTarget.value)}
      onBlur={flush}
    />
  );
}

// -- panel

interface PanelFormProps extends InspectorProps {
  panel: XmlElement;
}

function PanelForm({ app, source, panel, onEdit, onSelect, onSource }: PanelFormProps) {
  const [chosen, setChosen] = useState(0);
  const elements = elementsOfPanel(panel);
  const element = elements[Math.min(chosen, elements.length - 1)];
  const reference = panel.attributes.get('ref');
  const isPanel = panel.name === 'panel';
  return (
    <>
      <Back onSelect={onSelect} />
      <h2>Panel</h2>
      {reference && (
        <p className={styles.hint}>
          Shows the prebuilt panel <b>{reference}</b> of an app: it is changed there.
        </p>
      )}
      {elements.length > 1 && (
        <NativeSelect
          size="xs"
          label="Part"
          data={elements.map((one, at) => ({
            value: String(at),
            label: `${at + 1}: ${kindName(one.name)}`,
          }))}
          value={String(Math.min(chosen, elements.length - 1))}
          onChange={(event) => setChosen(Number(event.currentTarget.value))}
        />
      )}
      {element && (
        <ElementForm
          key={elements.indexOf(element)}
          app={app}
          source={source}
          element={element}
          isAlone={elements.length === 1}
          onEdit={onEdit}
          onSource={onSource}
        />
      )}
      {isPanel && (
        <>
          <h3>Its panel</h3>
          <Fields fields={PANEL} element={panel} onEdit={onEdit} />
        </>
      )}
    </>
  );
}

const kindName = (name: string): string =>
  KIND_NAMES.find(([kind]) => kind === name)?.[1] ?? 'Visualization of an app';

interface ElementFormProps extends Pick<InspectorProps, 'app' | 'source' | 'onEdit' | 'onSource'> {
  element: XmlElement;
  isAlone: boolean;
}

function ElementForm({ app, source, element, isAlone, onEdit, onSource }: ElementFormProps) {
  const { start, name } = element;
  const isHtml = name === 'html';
  const fields = FIELDS[name] ?? [];
  const isKnown = KIND_NAMES.some(([kind]) => kind === name);
  return (
    <>
      <NativeSelect
        size="xs"
        label="Shown as"
        data={[
          ...(isKnown ? [] : [{ value: name, label: element.attributes.get('type') || name }]),
          // Text has no search, and a search is no text.
          ...KIND_NAMES.filter(([kind]) => (kind === 'html') === isHtml).map(([value, label]) => ({
            value,
            label,
          })),
        ]}
        value={name}
        disabled={isHtml}
        data-testid="element-kind"
        onChange={(event) => {
          const kind = event.currentTarget.value;
          onEdit((text) => withKind(text, start, kind));
        }}
      />
      {isHtml ? (
        <HtmlForm source={source} element={element} onEdit={onEdit} />
      ) : (
        <>
          <Fields fields={[ELEMENT_TITLE]} element={element} onEdit={onEdit} />
          <SearchForm
            app={app}
            element={element}
            times={timeTokens(source)}
            onQuery={(query) => onEdit((text) => writeQuery(text, start, query))}
            onRange={(earliest, latest) =>
              onEdit((text) => writeRange(text, start, earliest, latest))
            }
          />
          <Fields fields={fields} element={element} onEdit={onEdit} />
        </>
      )}
      {!isAlone && <Fields fields={ELEMENT_SHOWN} element={element} onEdit={onEdit} />}
      <Rest element={element} known={KNOWN_ELEMENT} fields={fields} onSource={onSource} />
    </>
  );
}

/** Tokens of the time inputs above the rows. */
function timeTokens(source: Source): { token: string; label: string }[] {
  return inputsOf(source)
    .filter((input) => input.attributes.get('type')?.toLowerCase() === 'time')
    .flatMap((input) => {
      const token = input.attributes.get('token');
      return token ? [{ token, label: inputName(input) }] : [];
    });
}

const KNOWN_INPUT = new Set(
  'label,choice,search,default,prefix,suffix,valueprefix,valuesuffix,delimiter,fieldforlabel,fieldforvalue,selectfirstchoice'.split(
    ',',
  ),
);
const KNOWN_ELEMENT = new Set('title,search,option,fields'.split(','));

interface RestProps {
  element: XmlElement;
  known: ReadonlySet<string>;
  fields?: readonly FormField[];
  onSource: (line: number) => void;
}

/** What the form has no field for: it stays as it is, and is changed in the source. */
function Rest({ element, known, fields = [], onSource }: RestProps) {
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
