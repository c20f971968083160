import { describe, expect, it } from 'vitest';
import { readDashboard } from '../model/reader';
import { childOf } from '../model/xml';
import { writeField } from './fields';
import {
  colorKind,
  formatsIn,
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
    const bound = writeBound(colored, start, 'max', '90');
    expect(readBound(formatAt(bound, 1), 'max')).toEqual({ value: '90', unit: '' });
    expect(read(bound)[2]).toMatchObject({
      palette: { type: 'minMidMax', mid: '#ffff00' },
      scale: { type: 'minMidMax', maxType: 'number', maxValue: '90' },
    });
    const percent = bound.replace('maxType="number"', 'maxType="percent"');
    expect(writeBound(percent, start, 'max', '80')).toContain('maxType="percent"');
    expect(writeBound(bound, start, 'max', '')).toBe(colored);
  });

  it('have as many colours as ranges, and one more', () => {
    const few = VIEW.replace('>50<', '>50,70,90<');
    expect(readRanges(formatAt(few, 1)).colors).toHaveLength(4);
  });
});
