/** Colours and numbers of the columns of a table, in the form of the editor. */

import { Button, NativeSelect } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { childOf, textOf, type XmlElement } from '../model/xml';
import styles from './Editing.module.css';
import { ColorInput } from './FieldInput';
import { AddMenu, Fields, type FormProps, Remove, TypedText } from './FormParts';
import {
  BOUNDS,
  type Bound,
  type BoundType,
  boundMistake,
  COLOR_KINDS,
  type ColoredValue,
  type ColorKind,
  colorKind,
  FIRST_BOUNDS,
  FORMAT_COLUMN,
  formatsIn,
  hasBoundMistake,
  hasMapMistake,
  hasRangeMistake,
  isNumbers,
  NUMBER_FORMAT,
  readBound,
  readMap,
  readRanges,
  SCALE_COLORS,
  withColorKind,
  withFormat,
  writeBounds,
  writeExpression,
  writeMap,
  writeRanges,
} from './formats';
import { ascendingMistakes, expressionMistake, valueMistakes } from './mistakes';
import { withoutElement } from './operations';
import { useColumns } from './useColumns';
import { useWhole } from './useWhole';

interface FormatProps {
  element: XmlElement;
  onEdit: FormProps['onEdit'];
  onSource: FormProps['onSource'];
}

export function FormatsForm({ element, onEdit, onSource }: FormatProps) {
  const columns = useColumns(element.start);
  return (
    <>
      <h3>Column formats</h3>
      {formatsIn(element).map((format, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: formats are their order
        <Format key={at} element={format} columns={columns} onEdit={onEdit} onSource={onSource} />
      ))}
      <div>
        <AddMenu
          label="Add a column format"
          testId="add-format"
          choices={{ color: 'Colour', number: 'Number formatting' }}
          onAdd={(type) => onEdit((text) => withFormat(text, element.start, type))}
        />
      </div>
    </>
  );
}

function Format({
  element,
  columns,
  onEdit,
  onSource,
}: FormatProps & { columns: readonly string[] }) {
  const column = element.attributes.get('field') || 'all columns';
  const name = `${isNumbers(element) ? 'Number formatting' : 'Colour'} of ${column}`;
  return (
    <section className={styles.group} aria-label={name} data-testid="format">
      <header>
        {name}
        <Remove
          label={`Remove: ${name}`}
          onRemove={() => onEdit((text) => withoutElement(text, element.start))}
        />
      </header>
      <Fields
        fields={[{ ...FORMAT_COLUMN, suggestions: columns }]}
        element={element}
        onEdit={onEdit}
      />
      {isNumbers(element) ? (
        <Fields fields={NUMBER_FORMAT} element={element} onEdit={onEdit} />
      ) : (
        <Colors element={element} onEdit={onEdit} onSource={onSource} />
      )}
    </section>
  );
}

function Colors({ element, onEdit, onSource }: FormatProps) {
  const kind = colorKind(element);
  const palette = childOf(element, 'colorpalette');
  const choices = Object.entries(COLOR_KINDS).map(([value, label]) => ({ value, label }));
  return (
    <>
      <NativeSelect
        size="xs"
        label="Colour by"
        data={kind ? choices : [{ value: '', label: 'As in the source' }, ...choices]}
        value={kind ?? ''}
        onChange={(event) => {
          const next = event.currentTarget.value;
          if (next !== '') onEdit((text) => withColorKind(text, element.start, next as ColorKind));
        }}
      />
      {kind === null && (
        <button type="button" className={styles.link} onClick={() => onSource(element.line)}>
          Edit the palette in the source
        </button>
      )}
      {kind === 'minMidMax' && palette && (
        <>
          <Fields fields={SCALE_COLORS} element={palette} onEdit={onEdit} />
          <BoundsInput
            element={element}
            hasMidpoint={Boolean(palette.attributes.get('midcolor'))}
            onEdit={onEdit}
          />
        </>
      )}
      {kind === 'threshold' && <RangesInput element={element} onEdit={onEdit} />}
      {kind === 'map' && <MapInput element={element} onEdit={onEdit} />}
      {kind === 'expression' && palette && (
        <ExpressionInput element={element} palette={palette} onEdit={onEdit} />
      )}
    </>
  );
}

type InputProps = Omit<FormatProps, 'onSource'>;

const BOUND_NAMES: Record<Bound, string> = { min: 'Minimum', mid: 'Midpoint', max: 'Maximum' };
const BOUND_TYPES: Record<BoundType, string> = {
  '': '',
  number: 'Number',
  percent: 'Percent',
  percentile: 'Percentile',
};
/** What a bound is that has no type. */
const OF_VALUES: Record<Bound, string> = {
  min: 'Lowest value',
  mid: 'Between both',
  max: 'Highest value',
};

function BoundsInput({ element, hasMidpoint, onEdit }: InputProps & { hasMidpoint: boolean }) {
  const [bounds, change] = useWhole(
    BOUNDS.map((bound) => readBound(element, bound)),
    hasBoundMistake,
    (next) => onEdit((text) => writeBounds(text, element.start, next)),
  );
  return BOUNDS.map((bound, at) => {
    const { type, value } = bounds[at] ?? { type: '', value: '' };
    const name = BOUND_NAMES[bound];
    if (bound === 'mid' && !hasMidpoint) return null;
    return (
      <div key={bound} className={styles.pair}>
        <NativeSelect
          size="xs"
          label={name}
          data={Object.entries({ ...BOUND_TYPES, '': OF_VALUES[bound] }).map(([one, label]) => ({
            value: one,
            label,
          }))}
          value={type}
          onChange={(event) => {
            const next = event.currentTarget.value as BoundType;
            const kept = next === '' ? '' : value || FIRST_BOUNDS[bound];
            change(replaced(bounds, at, { type: next, value: kept }));
          }}
        />
        {type !== '' && (
          <TypedText
            label={`${name} value`}
            value={value}
            error={boundMistake(bounds, at)}
            onChange={(next) => change(replaced(bounds, at, { type, value: next.trim() }))}
          />
        )}
      </div>
    );
  });
}

const replaced = <T,>(list: readonly T[], at: number, item: T): T[] =>
  list.map((one, index) => (index === at ? item : one));
const without = <T,>(list: readonly T[], at: number): T[] =>
  list.filter((_, index) => index !== at);

function RangesInput({ element, onEdit }: InputProps) {
  const [ranges, write] = useWhole(readRanges(element), hasRangeMistake, (next) =>
    onEdit((text) => writeRanges(text, element.start, next)),
  );
  const { bounds, colors } = ranges;
  const mistakes = ascendingMistakes(bounds);
  return (
    <div>
      {colors.map((color, at) => {
        const from = bounds[at - 1];
        const name = from === undefined ? `below ${bounds[0] ?? ''}` : `from ${from}`;
        return (
          // biome-ignore lint/suspicious/noArrayIndexKey: ranges are their order
          <div key={at} className={styles.choice}>
            {from === undefined ? (
              <span>{bounds.length === 0 ? 'All values' : `Below ${bounds[0]}`}</span>
            ) : (
              <TypedText
                isBare
                label={`Threshold ${at}`}
                value={from}
                error={mistakes[at - 1]}
                onChange={(bound) =>
                  write({ bounds: replaced(bounds, at - 1, bound.trim()), colors })
                }
              />
            )}
            <ColorInput
              isBare
              label={`Colour ${name}`}
              value={color}
              onChange={(next) => write({ bounds, colors: replaced(colors, at, next) })}
            />
            {from !== undefined && (
              <Remove
                label={`Remove the range ${name}`}
                onRemove={() =>
                  write({ bounds: without(bounds, at - 1), colors: without(colors, at) })
                }
              />
            )}
          </div>
        );
      })}
      <Add
        label="Add a range"
        onAdd={() => {
          const last = Number(bounds.at(-1) ?? 0);
          const next = String(Number.isFinite(last) ? last + 10 : 100);
          write({ bounds: [...bounds, next], colors: [...colors, '#DC4E41'] });
        }}
      />
    </div>
  );
}

/** A value that has no colour yet. */
function freeValue(pairs: readonly ColoredValue[]): string {
  const known = new Set(pairs.map(([value]) => value));
  for (let at = 1; ; at += 1) {
    const value = at === 1 ? 'value' : `value ${at}`;
    if (!known.has(value)) return value;
  }
}

function MapInput({ element, onEdit }: InputProps) {
  const [pairs, write] = useWhole(readMap(element), hasMapMistake, (next) =>
    onEdit((text) => writeMap(text, element.start, next)),
  );
  const mistakes = valueMistakes(pairs.map(([value]) => value));
  return (
    <div>
      {pairs.map(([value, color], at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: values are their order
        <div key={at} className={styles.choice}>
          <TypedText
            isBare
            label={`Value ${at + 1}`}
            value={value}
            error={mistakes[at]}
            onChange={(next) => write(replaced(pairs, at, [next, color]))}
          />
          <ColorInput
            isBare
            label={`Colour of ${value}`}
            value={color}
            onChange={(next) => write(replaced(pairs, at, [value, next]))}
          />
          <Remove label={`Remove ${value}`} onRemove={() => write(without(pairs, at))} />
        </div>
      ))}
      <Add label="Add a value" onAdd={() => write([...pairs, [freeValue(pairs), '#F8BE34']])} />
    </div>
  );
}

function ExpressionInput({ element, palette, onEdit }: InputProps & { palette: XmlElement }) {
  const [expression, change] = useWhole(
    textOf(palette),
    (next) => expressionMistake(next) !== null,
    (next) => onEdit((text) => writeExpression(text, element.start, next)),
  );
  return (
    <TypedText
      label="Expression"
      help={'if(value > 100, "#DC4E41", "#53A051")'}
      value={expression}
      error={expressionMistake(expression)}
      onChange={change}
    />
  );
}

function Add({ label, onAdd }: { label: string; onAdd: () => void }) {
  return (
    <Button
      variant="default"
      size="compact-xs"
      leftSection={<IconPlus size={12} />}
      onClick={onAdd}
    >
      {label}
    </Button>
  );
}
