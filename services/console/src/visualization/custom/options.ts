/** From a custom visualization to the options of ECharts. */

import type { EChartsCoreOption } from 'echarts/core';
import { compact, short } from '../../app/format';
import type { Look } from '../chartOptions';
import { shifted } from '../plotOptions';
import type { CustomKind } from './kinds';
import type { Branch, CustomModel } from './model';

export interface CustomContext {
  look: Look;
  zone: string;
  width: number;
  height: number;
  /** Options of the element without the name of its app, in lower case. */
  options: ReadonlyMap<string, string>;
}

/** The names of the ECharts types that a kind needs are in `CustomCanvas.tsx`. */
export function customOptions(
  kind: CustomKind,
  model: CustomModel,
  context: CustomContext,
): EChartsCoreOption {
  const { look } = context;
  const common = {
    color: look.palette,
    animation: false,
    useUTC: true,
    textStyle: { fontFamily: look.font, fontSize: 11.5, color: look.muted },
    tooltip: {
      backgroundColor: look.surface,
      borderColor: look.line,
      textStyle: { color: look.text, fontSize: 12 },
      valueFormatter: numberText,
      confine: true,
      appendTo: 'body',
    },
  };
  switch (model.kind) {
    case 'links':
      return { ...common, ...(kind === 'sankey' ? sankey(model, look) : network(model, context)) };
    case 'tree':
      return { ...common, ...(kind === 'treemap' ? treemap(model, look) : sunburst(model, look)) };
    case 'grid':
      return { ...common, ...grid(kind, model, context) };
    case 'calendar':
      return { ...common, ...calendar(model, context) };
    case 'timeline':
      return { ...common, ...timeline(model, context) };
    case 'value':
      return { ...common, ...meter(model, context) };
    case 'parallel':
      return { ...common, ...parallel(model, context) };
  }
}

const numberText = (value: unknown): string => (typeof value === 'number' ? short(value) : '–');

type Of<K extends CustomModel['kind']> = Extract<CustomModel, { kind: K }>;

function sankey({ links, names }: Of<'links'>, look: Look) {
  return {
    series: [
      {
        type: 'sankey',
        left: 8,
        right: 120,
        top: 10,
        bottom: 10,
        nodeGap: 8,
        draggable: false,
        emphasis: { focus: 'adjacency' },
        label: { color: look.text, fontSize: 11.5, width: 110, overflow: 'truncate' },
        lineStyle: { color: 'gradient', opacity: 0.4 },
        data: names.map((name) => ({ name })),
        links: links.map(({ source, target, value, row }) => ({ source, target, value, row })),
      },
    ],
  };
}

function network({ links, names }: Of<'links'>, { look, width, height }: CustomContext) {
  // Few nodes fill the room that there is.
  const room = Math.sqrt((width * height) / Math.max(1, names.length));
  const weights = new Map<string, number>();
  for (const { source, target, value } of links) {
    for (const name of [source, target]) weights.set(name, (weights.get(name) ?? 0) + value);
  }
  const most = Math.max(1, ...weights.values());
  const widest = Math.max(1, ...links.map(({ value }) => value));
  return {
    series: [
      {
        type: 'graph',
        layout: 'force',
        roam: 'move',
        left: 30,
        right: 30,
        top: 24,
        bottom: 24,
        // Computed before it is drawn: nothing moves, and the page is not stopped for an animation.
        force: {
          repulsion: 3 * room,
          edgeLength: [0.6 * room, 1.4 * room],
          gravity: 0.14,
          layoutAnimation: false,
        },
        emphasis: { focus: 'adjacency' },
        edgeSymbol: ['none', 'arrow'],
        edgeSymbolSize: 6,
        label: {
          show: names.length <= 60,
          position: 'right',
          color: look.text,
          fontSize: 11,
          width: 120,
          overflow: 'truncate',
        },
        data: names.map((name) => ({
          name,
          value: weights.get(name) ?? 0,
          symbolSize: 8 + 22 * Math.sqrt((weights.get(name) ?? 0) / most),
        })),
        links: links.map(({ source, target, value, row }) => ({
          source,
          target,
          value,
          row,
          lineStyle: { width: 1 + (4 * value) / widest, color: look.muted, opacity: 0.5 },
        })),
      },
    ],
  };
}

/** What ECharts calls data; a branch with children has its own value only through them. */
const branches = (all: readonly Branch[]): object[] =>
  all.map(({ name, value, row, children }) => ({
    name,
    value,
    row,
    ...(children.length > 0 ? { children: branches(children) } : {}),
  }));

function treemap({ branches: all, valueName }: Of<'tree'>, look: Look) {
  return {
    series: [
      {
        type: 'treemap',
        name: valueName,
        left: 4,
        right: 4,
        top: 4,
        bottom: 28,
        roam: false,
        nodeClick: false,
        breadcrumb: { show: false },
        label: { fontSize: 11.5, overflow: 'truncate' },
        upperLabel: { show: true, height: 18, color: look.text, fontSize: 11.5 },
        itemStyle: { borderColor: look.surface, borderWidth: 1, gapWidth: 1 },
        levels: [
          { upperLabel: { show: false }, itemStyle: { borderWidth: 0, gapWidth: 2 } },
          // The strip above the parts, which has the name of the whole.
          { itemStyle: { borderColor: look.line, borderWidth: 2, gapWidth: 1 } },
          { colorSaturation: [0.35, 0.6] },
        ],
        data: branches(all),
      },
    ],
  };
}

function sunburst({ branches: all, valueName }: Of<'tree'>, look: Look) {
  return {
    series: [
      {
        type: 'sunburst',
        name: valueName,
        radius: ['12%', '92%'],
        nodeClick: false,
        itemStyle: { borderColor: look.surface, borderWidth: 1 },
        label: { fontSize: 11, overflow: 'truncate', width: 80, minAngle: 8 },
        data: branches(all),
      },
    ],
  };
}

const axisText = (look: Look) => ({ color: look.muted, hideOverlap: true });

function grid(
  kind: CustomKind,
  { xs, ys, cells, names }: Of<'grid'>,
  { look, width, options }: CustomContext,
) {
  const values = cells.map(({ value }) => value);
  const [least, most] = [Math.min(0, ...values), Math.max(1, ...values)];
  const axis = (data: string[], name: string) => ({
    type: 'category',
    data,
    name,
    nameLocation: 'middle',
    nameTextStyle: { color: look.muted },
    axisLine: { lineStyle: { color: look.line } },
    axisTick: { show: false },
    axisLabel: {
      ...axisText(look),
      interval: data.length <= 30 ? 0 : undefined,
      width: Math.min(140, width / 5),
      overflow: 'truncate',
    },
    splitArea: { show: false },
    splitLine: { show: kind === 'punchcard', lineStyle: { color: look.line } },
  });
  const common = {
    grid: {
      left: 10,
      right: 16,
      top: 14,
      bottom: kind === 'punchcard' ? 8 : 44,
      outerBoundsMode: 'same',
    },
    xAxis: axis(xs, names[0]),
    // The first one is above.
    yAxis: { ...axis(ys, names[1]), inverse: true },
  };
  const data = cells.map(({ x, y, value, row }) => ({ value: [x, y, value], row }));
  if (kind === 'punchcard') {
    const largest = Math.max(6, Math.min(30, width / Math.max(1, xs.length) - 4));
    const color = options.get('color') ?? undefined;
    return {
      ...common,
      series: [
        {
          type: 'scatter',
          name: names[2],
          data,
          itemStyle: { color, opacity: 0.8 },
          symbolSize: ([, , value]: number[]) =>
            value === undefined || value <= 0 ? 0 : 3 + largest * Math.sqrt(value / most),
          tooltip: { valueFormatter: undefined },
        },
      ],
    };
  }
  return {
    ...common,
    visualMap: shades(least, most, look),
    series: [
      {
        type: 'heatmap',
        name: names[2],
        data,
        itemStyle: { borderColor: look.surface, borderWidth: 1 },
      },
    ],
  };
}

/** From the surface to the first colour of the palette. */
const shades = (min: number, max: number, look: Look) => ({
  min,
  max,
  calculable: false,
  orient: 'horizontal',
  left: 'center',
  bottom: 2,
  itemWidth: 12,
  itemHeight: 120,
  text: [compact(max), compact(min)],
  textStyle: { color: look.muted, fontSize: 11 },
  inRange: { color: [look.line, look.palette[0] ?? '#0f766e'] },
});

/** The last day of the month of a day. */
function monthEnd(day: string): string {
  const [year, month] = [Number(day.slice(0, 4)), Number(day.slice(5, 7))];
  return new Date(Date.UTC(year, month, 0)).toISOString().slice(0, 10);
}

function calendar({ days, valueName }: Of<'calendar'>, { look, height }: CustomContext) {
  const all = days.map(({ day }) => day).sort();
  const years = [...new Set(all.map((day) => day.slice(0, 4)))].slice(-4);
  const [first = '', last = ''] = [all[0], all.at(-1)];
  const isOne = years.length === 1;
  const room = Math.max(90, (height - 40) / years.length);
  const cell = Math.max(6, Math.min(22, (room - 30) / 7));
  const values = days.map(({ value }) => value);
  return {
    visualMap: shades(Math.min(0, ...values), Math.max(1, ...values), look),
    calendar: years.map((year, at) => ({
      // Whole months of the days that there are, or whole years.
      range: isOne ? [`${first.slice(0, 7)}-01`, monthEnd(last)] : year,
      top: 24 + at * room,
      left: 44,
      ...(isOne ? {} : { right: 10 }),
      cellSize: [isOne ? 22 : 'auto', cell],
      splitLine: { lineStyle: { color: look.muted, width: 1 } },
      itemStyle: { color: look.surface, borderColor: look.line, borderWidth: 1 },
      dayLabel: { firstDay: 1, color: look.muted, fontSize: 10 },
      monthLabel: { color: look.muted, fontSize: 11 },
      yearLabel: { show: !isOne, color: look.muted, fontSize: 12, margin: 28 },
    })),
    series: years.map((year, at) => ({
      type: 'heatmap',
      coordinateSystem: 'calendar',
      calendarIndex: at,
      name: valueName,
      data: days
        .filter(({ day }) => day.startsWith(year))
        .map(({ day, value, row }) => ({ value: [day, value], row })),
    })),
  };
}

function timeline({ lanes, groups, items }: Of<'timeline'>, { look, zone, width }: CustomContext) {
  const isCalled = groups.some((group) => group !== '');
  const shownGroups = groups.slice(0, 50);
  return {
    legend: {
      show: isCalled && groups.length > 1,
      type: 'scroll',
      bottom: 2,
      icon: 'roundRect',
      itemWidth: 12,
      itemHeight: 8,
      textStyle: { color: look.text, fontSize: 11.5 },
      pageTextStyle: { color: look.muted },
      pageIconColor: look.muted,
    },
    grid: {
      left: 10,
      right: 20,
      top: 10,
      bottom: isCalled && groups.length > 1 ? 30 : 8,
      outerBoundsMode: 'same',
    },
    xAxis: {
      type: 'time',
      axisLine: { lineStyle: { color: look.line } },
      axisTick: { show: false },
      axisLabel: axisText(look),
      splitLine: { show: true, lineStyle: { color: look.line } },
    },
    yAxis: {
      type: 'category',
      data: lanes,
      inverse: true,
      axisLine: { lineStyle: { color: look.line } },
      axisTick: { show: false },
      axisLabel: { ...axisText(look), width: Math.min(180, width * 0.3), overflow: 'truncate' },
      splitLine: { show: true, lineStyle: { color: look.line } },
    },
    series: shownGroups.flatMap((group, at) => {
      const own = items.filter((item) => item.group === group);
      const color = look.palette[at % look.palette.length];
      const name = group || 'events';
      const spans = own.filter((item) => item.end > item.start);
      return [
        {
          type: 'scatter',
          name,
          color,
          symbolSize: 9,
          itemStyle: { opacity: 0.85 },
          data: own.map(({ start, lane, row }) => ({ value: [shifted(start, zone), lane], row })),
        },
        // How long each takes: a line from its begin to its end.
        ...(spans.length > 0
          ? [
              {
                type: 'lines',
                coordinateSystem: 'cartesian2d',
                name,
                color,
                lineStyle: { color, width: 7, opacity: 0.6, cap: 'round' },
                data: spans.map(({ start, end, lane, row }) => ({
                  coords: [
                    [shifted(start, zone), lane],
                    [shifted(end, zone), lane],
                  ],
                  row,
                })),
              },
            ]
          : []),
      ];
    }),
  };
}

const RANGE_COLORS = ['#53a051', '#f8be34', '#dc4e41'];

/** A horseshoe: the value on a scale, coloured by its range. */
function meter({ value, text }: Of<'value'>, { look, height, width, options }: CustomContext) {
  const number = (name: string, otherwise: number) => {
    const given = Number(options.get(name) ?? 'NaN');
    return Number.isFinite(given) ? given : otherwise;
  };
  const [least, most] = [number('minvalue', 0), number('maxvalue', 100)];
  const isShare = (options.get('thresholdstyle') ?? 'percentage') === 'percentage';
  const bound = (given: number) => (isShare ? least + ((most - least) * given) / 100 : given);
  const middle = bound(number('midrangethreshold', 70));
  const high = bound(number('maxrangethreshold', 90));
  const shown = value ?? least;
  const at = shown >= high ? 2 : shown >= middle ? 1 : 0;
  const names = ['minrangecolor', 'midrangecolor', 'maxrangecolor'];
  const color = options.get(names[at] ?? '') || RANGE_COLORS[at];
  const size = Math.min(width, height);
  const thick = Math.max(8, size / 12);
  return {
    series: [
      {
        type: 'gauge',
        min: least,
        max: most,
        startAngle: 225,
        endAngle: -45,
        radius: '90%',
        center: ['50%', '54%'],
        pointer: { show: false },
        progress: { show: true, width: thick, itemStyle: { color } },
        axisLine: { lineStyle: { width: thick, color: [[1, look.line]] } },
        axisTick: { show: false },
        splitLine: { show: false },
        axisLabel: { show: false },
        title: { color: look.muted, fontSize: 12, offsetCenter: [0, '38%'] },
        detail: {
          formatter: value === null ? text : numberText(value),
          color: look.text,
          fontSize: Math.max(14, size / 8),
          offsetCenter: [0, 0],
        },
        data: [{ value: shown, name: options.get('caption') ?? '' }],
      },
    ],
  };
}

function parallel({ axes, lines }: Of<'parallel'>, { look }: CustomContext) {
  return {
    parallel: { left: 50, right: 60, top: 34, bottom: 20 },
    parallelAxis: axes.map(({ name, values }, dim) => ({
      dim,
      name,
      ...(values ? { type: 'category', data: values } : {}),
      nameTextStyle: { color: look.text, fontSize: 11.5 },
      axisLine: { lineStyle: { color: look.muted } },
      axisLabel: { color: look.muted, width: 80, overflow: 'truncate' },
    })),
    series: [
      {
        type: 'parallel',
        lineStyle: { width: 1.2, opacity: 0.45, color: look.palette[0] },
        data: lines.map((values, row) => ({ value: values, row })),
      },
    ],
  };
}
