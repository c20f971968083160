/** Colours and numbers of the columns of a table, in the form of the editor. */

import { Button, NativeSelect } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { childOf, type XmlElement } from '../model/xml';
import styles from './Editing.module.css';
import { ColorInput } from './FieldInput';
import { AddMenu, Fields, type FormProps, Remove, TypedText } from './FormParts';
import {
  type Bound,
  COLOR_KINDS,
  type ColorKind,
  colorKind,
  EXPRESSION,
  FORMAT_COLUMN,
  formatsIn,
  isNumbers,
  NUMBER_FORMAT,
  readBound,
  readMap,
  readRanges,
  SCALE_COLORS,
  withColorKind,
  withFormat,
  writeBound,
  writeMap,
  writeRanges,
} from './formats';
import { withoutElement } from './operations';

interface FormatProps {
  element: XmlElement;
  onEdit: FormProps['onEdit'];
}

export function FormatsForm({ element, onEdit }: FormatProps) {
  return (
    <>
      <h3>Formats of columns</h3>
      {formatsIn(element).map((format, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: formats are their order
        <Format key={at} element={format} onEdit={onEdit} />
      ))}
      <div>
        <AddMenu
          label="Add a format"
          testId="add-format"
          choices={{ color: 'Colours', number: 'Numbers' }}
          onAdd={(type) => onEdit((text) => withFormat(text, element.start, type))}
        />
      </div>
    </>
  );
}

function Format({ element, onEdit }: FormatProps) {
  const column = element.attributes.get('field') || 'all columns';
  const name = `${isNumbers(element) ? 'Numbers' : 'Colours'} of ${column}`;
  return (
    <section className={styles.group} aria-label={name} data-testid="format">
      <header>
        {name}
        <Remove
          label={`Remove: ${name}`}
          onRemove={() => onEdit((text) => withoutElement(text, element.start))}
        />
      </header>
      <Fields fields={[FORMAT_COLUMN]} element={element} onEdit={onEdit} />
      {isNumbers(element) ? (
        <Fields fields={NUMBER_FORMAT} element={element} onEdit={onEdit} />
      ) : (
        <Colors element={element} onEdit={onEdit} />
      )}
    </section>
  );
}

function Colors({ element, onEdit }: FormatProps) {
  const kind = colorKind(element);
  const palette = childOf(element, 'colorpalette');
  const choices = Object.entries(COLOR_KINDS).map(([value, label]) => ({ value, label }));
  return (
    <>
      <NativeSelect
        size="xs"
        label="Coloured"
        data={kind ? choices : [{ value: '', label: 'As the source says' }, ...choices]}
        value={kind ?? ''}
        onChange={(event) => {
          const next = event.currentTarget.value;
          if (next !== '') onEdit((text) => withColorKind(text, element.start, next as ColorKind));
        }}
      />
      {kind === 'minMidMax' && palette && (
        <>
          <Fields fields={SCALE_COLORS} element={palette} onEdit={onEdit} />
          {(['min', 'mid', 'max'] as const).map((bound) => (
            <BoundInput key={bound} bound={bound} element={element} onEdit={onEdit} />
          ))}
        </>
      )}
      {kind === 'threshold' && <RangesInput element={element} onEdit={onEdit} />}
      {kind === 'map' && <MapInput element={element} onEdit={onEdit} />}
      {kind === 'expression' && palette && (
        <Fields fields={[EXPRESSION]} element={palette} onEdit={onEdit} />
      )}
    </>
  );
}

const BOUNDS: Record<Bound, string> = { min: 'Lowest at', mid: 'Middle at', max: 'Highest at' };

function BoundInput({ bound, element, onEdit }: FormatProps & { bound: Bound }) {
  const { value, unit } = readBound(element, bound);
  return (
    <TypedText
      label={unit === '' ? BOUNDS[bound] : `${BOUNDS[bound]} (${unit})`}
      help={bound === 'mid' ? 'Empty: between them' : 'Empty: that of the values'}
      value={value}
      onChange={(next) => onEdit((text) => writeBound(text, element.start, bound, next.trim()))}
    />
  );
}

const replaced = <T,>(list: readonly T[], at: number, item: T): T[] =>
  list.map((one, index) => (index === at ? item : one));
const without = <T,>(list: readonly T[], at: number): T[] =>
  list.filter((_, index) => index !== at);

function RangesInput({ element, onEdit }: FormatProps) {
  const { bounds, colors } = readRanges(element);
  const write = (next: Partial<{ bounds: string[]; colors: string[] }>) =>
    onEdit((text) => writeRanges(text, element.start, { bounds, colors, ...next }));
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
                label={`Bound ${at}`}
                value={from}
                onChange={(bound) => write({ bounds: replaced(bounds, at - 1, bound.trim()) })}
              />
            )}
            <ColorInput
              isBare
              label={`Colour ${name}`}
              value={color}
              onChange={(next) => write({ colors: replaced(colors, at, next) })}
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

function MapInput({ element, onEdit }: FormatProps) {
  const pairs = readMap(element);
  const write = (next: [string, string][]) => onEdit((text) => writeMap(text, element.start, next));
  return (
    <div>
      {pairs.map(([value, color], at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: values are their order
        <div key={at} className={styles.choice}>
          <TypedText
            isBare
            label={`Value ${at + 1}`}
            value={value}
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
      <Add label="Add a value" onAdd={() => write([...pairs, ['value', '#F8BE34']])} />
    </div>
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
