import { describe, expect, it } from 'vitest';
import { readDashboard } from '../model/reader';
import { childOf } from '../model/xml';
import { mistakeIn, writeField } from './fields';
import {
  BOUNDS,
  boundMistake,
  COLOR_KINDS,
  type ColorKind,
  colorKind,
  formatsIn,
  hasBoundMistake,
  hasMapMistake,
  hasRangeMistake,
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
import { elementAt, sourceOf } from './source';

const VIEW = `<dashboard version="1.1">
  <row>
    <panel>
      <table>
        <search><query>index=a | stats count by s</query></search>
        <option name="count">10</option>
        <format type="color" field="s">
          <!-- of the team -->
          <colorPalette type="map"><![CDATA[{"a": #53A051, 'b': 0xDC4E41}]]></colorPalette>
        </format>
        <format type="sparkline" field="x"><option name="height">20</option></format>
        <format field="n" type="color">
          <colorPalette type="list">["#53A051", "#DC4E41"]</colorPalette>
          <scale type="threshold">50</scale>
        </format>
        <drilldown><link>/app/search/x</link></drilldown>
      </table>
    </panel>
  </row>
</dashboard>
`;
const TABLE = VIEW.indexOf('<table>');

function formatAt(text: string, at: number) {
  const table = elementAt(sourceOf(text), TABLE);
  const format = table && formatsIn(table)[at];
  if (!format) throw new Error(`there is no format ${at}`);
  return format;
}
const read = (text: string) => readDashboard(text).rows[0]?.panels[0]?.elements[0]?.formats ?? [];
const added = (before: string, after: string) => {
  const lines = new Set(before.split('\n'));
  return after.split('\n').filter((line) => !lines.has(line));
};

describe('formats of a table', () => {
  it('are those that the form knows', () => {
    const table = elementAt(sourceOf(VIEW), TABLE);
    expect(table && formatsIn(table).map(colorKind)).toEqual(['map', 'threshold']);
    const token = VIEW.replace('{"a": #53A051, \'b\': 0xDC4E41}', '$palette$');
    expect(colorKind(formatAt(token, 0))).toBeNull();
  });

  it('are added behind the others, and removed again without a trace', () => {
    const colored = withFormat(VIEW, TABLE, 'color');
    expect(read(colored).at(-1)).toMatchObject({ type: 'color', field: null });
    expect(colored.indexOf('minMidMax')).toBeLessThan(colored.indexOf('<drilldown>'));
    expect(withoutElement(colored, formatAt(colored, 2).start)).toBe(VIEW);
    const numbers = withFormat(VIEW, TABLE, 'number');
    const [digits] = NUMBER_FORMAT;
    if (!digits) throw new Error('there is one');
    const precise = writeField(numbers, formatAt(numbers, 2).start, digits, '0');
    expect(read(precise).at(-1)?.options.get('precision')).toBe('0');
  });

  it('keep their spelling where nothing changes', () => {
    const map = formatAt(VIEW, 0);
    expect(readMap(map)).toEqual([
      ['a', '#53A051'],
      ['b', '0xDC4E41'],
    ]);
    const ranges = formatAt(VIEW, 1);
    expect(writeRanges(VIEW, ranges.start, readRanges(ranges))).toBe(VIEW);
    const bounds = writeRanges(VIEW, ranges.start, {
      ...readRanges(ranges),
      bounds: ['60'],
    });
    expect(added(VIEW, bounds)).toEqual(['          <scale type="threshold">60</scale>']);
  });

  it('colour by values, also by those with quotes', () => {
    const { start } = formatAt(VIEW, 0);
    const text = writeMap(VIEW, start, [
      ['a', '#000000'],
      ['say "b"', '#53A051'],
    ]);
    expect(text).toContain('<![CDATA[{"a":#000000,\'say "b"\':#53A051}]]>');
    expect(text).toContain('<!-- of the team -->');
    expect(read(text)[0]?.palette).toEqual({
      type: 'map',
      colors: new Map([
        ['a', '#000000'],
        ['say "b"', '#53a051'],
      ]),
    });
  });

  it('colour by a scale with bounds', () => {
    const { start } = formatAt(VIEW, 1);
    const scaled = withColorKind(VIEW, start, 'minMidMax');
    expect(colorKind(formatAt(scaled, 1))).toBe('minMidMax');
    expect(scaled).not.toContain('threshold');
    const palette = childOf(formatAt(scaled, 1), 'colorpalette');
    const [, middle] = SCALE_COLORS;
    if (!palette || !middle) throw new Error('there are both');
    const colored = writeField(scaled, palette.start, middle, '#FFFF00');
    const bounds = (now: string) => BOUNDS.map((one) => readBound(formatAt(now, 1), one));
    const none = { type: '', value: '' } as const;
    expect(bounds(colored)).toEqual([none, none, none]);
    expect(writeBounds(colored, start, bounds(colored))).toBe(colored);
    const most = { type: 'number', value: '90' } as const;
    const bound = writeBounds(colored, start, [none, none, most]);
    expect(bounds(bound)).toEqual([none, none, most]);
    expect(read(bound)[2]).toMatchObject({
      palette: { type: 'minMidMax', mid: '#ffff00' },
      scale: { type: 'minMidMax', maxType: 'number', maxValue: '90' },
    });
    const percent = bound.replace('maxType="number"', 'maxType="percent"');
    expect(bounds(percent)[2]).toEqual({ type: 'percent', value: '90' });
    expect(writeBounds(bound, start, [none, none, none])).toBe(colored);
    const kept = bound.replace('<scale ', '<scale note="x" ');
    expect(writeBounds(kept, start, [{ type: 'percentile', value: '5' }, none, most])).toBe(
      kept.replace('<scale ', '<scale minType="percentile" minValue="5" '),
    );
    // Without a type, a value is a number.
    expect(bounds(bound.replace(' maxType="number"', ''))[2]).toEqual(most);
  });

  it('colour by an expression, in CDATA where it was', () => {
    const { start } = formatAt(VIEW, 0);
    const text = withColorKind(VIEW, start, 'expression').replace(
      /(<colorPalette type="expression">).*(<\/colorPalette>)/,
      '$1<![CDATA[if(value > 1, "red", "green")]]>$2',
    );
    expect(writeExpression(text, start, 'if(value < 2, "red", "green")')).toBe(
      text.replace('value > 1', 'value < 2'),
    );
  });

  it('are coloured in another way without a change elsewhere', () => {
    const text = VIEW.replaceAll('\n', '\r\n').replace('field="s"', "field='s' note='x'");
    const place = text.indexOf('<format');
    const [before, after] = [text.slice(0, place), text.slice(text.indexOf('</format>'))];
    for (const kind of Object.keys(COLOR_KINDS) as ColorKind[]) {
      const changed = withColorKind(text, place, kind);
      const format = elementAt(sourceOf(changed), place);
      expect(format && colorKind(format)).toBe(kind);
      expect(changed.startsWith(before)).toBe(true);
      expect(changed.endsWith(after)).toBe(true);
      expect(changed).toContain("<format type=\"color\" field='s' note='x'>");
      expect(changed).toContain('<!-- of the team -->');
      expect(changed.replaceAll('\r\n', '')).not.toContain('\n');
    }
  });

  it('have as many colours as ranges, and one more', () => {
    const few = VIEW.replace('>50<', '>50,70,90<');
    expect(readRanges(formatAt(few, 1)).colors).toHaveLength(4);
  });
});

describe('mistakes in formats', () => {
  const ranges = (bounds: string[], color = '#53A051') => ({
    bounds,
    colors: Array(bounds.length + 1).fill(color),
  });

  it('of ranges are numbers that do not ascend, and words that are not colours', () => {
    expect(hasRangeMistake(ranges(['-1', '0.5', '10']))).toBe(false);
    expect(hasRangeMistake(ranges(['10'], 'Tomato'))).toBe(false);
    for (const bounds of [['10', '9'], ['10', '10'], ['x'], ['']]) {
      expect(hasRangeMistake(ranges(bounds))).toBe(true);
    }
    for (const color of ['', 'reddish', '#12', '$c$', 'rgb(1, 2, 3)']) {
      expect(hasRangeMistake(ranges(['1'], color))).toBe(true);
    }
    expect(ascendingMistakes(['1', 'x', '3', '2'])).toEqual([
      null,
      'Enter a number',
      null,
      'Enter a number greater than 3',
    ]);
  });

  it('of values are those that are empty or there twice', () => {
    expect(hasMapMistake([['a', 'red']])).toBe(false);
    expect(valueMistakes(['a', '', 'a', `"'`])).toEqual([
      null,
      'Enter a value',
      'a has a colour above',
      'Enter a value with one kind of quotes',
    ]);
  });

  it('of a scale are bounds that do not ascend in the same measure', () => {
    const number = (value: string) => ({ type: 'number', value }) as const;
    const percent = (value: string) => ({ type: 'percent', value }) as const;
    const none = { type: '', value: '' } as const;
    expect(hasBoundMistake([none, none, none])).toBe(false);
    expect(hasBoundMistake([number('50'), percent('10'), number('60')])).toBe(false);
    expect(boundMistake([number('50'), none, number('40')], 2)).toBe(
      'Enter a number greater than 50',
    );
    expect(boundMistake([percent('101'), none, none], 0)).toBe('Enter a number from 0 to 100');
  });

  it('of a precision are fractions and what is not from 0 to 20', () => {
    const [precision] = NUMBER_FORMAT;
    const mistakes = ['', '0', '20', '$digits$', '21', '-1', '1.5', 'x'].map(
      (text) => precision && mistakeIn(precision, text),
    );
    expect(mistakes.slice(0, 4)).toEqual([null, null, null, null]);
    expect(new Set(mistakes.slice(4))).toEqual(new Set(['Enter a whole number from 0 to 20']));
  });

  it('of an expression are told in its words', () => {
    expect(expressionMistake('if(value > 100, "#DC4E41", "green")')).toBeNull();
    expect(expressionMistake('sha256(value)')).toContain('sha256');
    expect(expressionMistake('if(value >')).toContain('Enter an expression');
  });
});
