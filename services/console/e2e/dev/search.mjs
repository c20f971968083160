/**
 * A toy reading of searches, just enough to see the page move: words, field=value, and the last of
 * `stats count by`, `top`, `timechart count [by]`. The real thing is the server.
 */

const at = (event) => Date.parse(event._time) / 1000;

export function rangeOf(earliest, latest, now) {
  return { start: bound(earliest, now, 0), end: bound(latest, now, now + 1) };
}

function bound(text, now, otherwise) {
  if (!text) return otherwise;
  if (text === 'now') return now;
  if (/^\d+(\.\d+)?$/.test(text)) return Number(text);
  const match = /^(?:-(\d+)(s|m|h|d|w))?(?:@(d))?$/.exec(text);
  if (!match) return otherwise;
  const unit = { s: 1, m: 60, h: 3600, d: 86400, w: 604800 }[match[2]] ?? 0;
  const moment = now - Number(match[1] ?? 0) * unit;
  return match[3] ? Math.floor(moment / 86400) * 86400 : moment;
}

export function runSearch(events, text, earliest, latest, now) {
  const [first, ...commands] = text.replace(/^search\s+/i, '').split(/\s\|\s/);
  const range = rangeOf(earliest, latest, now);
  const terms = [...first.matchAll(/(?:([\w.:{}]+)(!=|>=|=))?("(?:\\.|[^"\\])*"|[^\s()"]+)/g)]
    .map(([, field, operator, value]) => ({ field, operator, value: unquote(value) }))
    .filter((term) => term.field || !/^(AND|OR|NOT|\*)$/.test(term.value));
  const found = events.filter((event) => {
    const time = at(event);
    return time >= range.start && time < range.end && terms.every((term) => matches(event, term));
  });
  const words = terms.filter((term) => term.operator !== '!=').map((term) => term.value);
  return {
    events: found,
    words,
    range,
    report: commands.length ? report(found, commands.join(' | '), range) : null,
  };
}

const unquote = (value) =>
  value.startsWith('"') ? value.slice(1, -1).replace(/\\(.)/g, '$1') : value;

function matches(event, { field, operator, value }) {
  const pattern = new RegExp(
    `^${value.replace(/[.+?^${}()|[\]\\]/g, '\\$&').replaceAll('*', '.*')}$`,
    'i',
  );
  if (!field) return new RegExp(pattern.source.slice(1, -1), 'i').test(event._raw);
  const values = [event[field] ?? []].flat();
  if (operator === '>=') return values.some((one) => Number(one) >= Number(value));
  const equal = values.some((one) => pattern.test(one));
  return operator === '!=' ? values.length > 0 && !equal : equal;
}

const countBy = (events, key) => {
  const counts = new Map();
  for (const event of events) {
    for (const value of [event[key] ?? []].flat()) counts.set(value, (counts.get(value) ?? 0) + 1);
  }
  return [...counts].sort((a, b) => b[1] - a[1]);
};

function report(events, command, range) {
  const by = /\bby\s+"?([\w.:{}]+)/.exec(command)?.[1];
  if (command.startsWith('timechart')) return timechart(events, by, range, command);
  const field = by ?? /\s"?([\w.:{}]+)"?$/.exec(command)?.[1] ?? 'host';
  if (/^(top|rare)/.test(command)) {
    const rows = countBy(events, field).slice(0, 20);
    return {
      command,
      fields: [field, 'count', 'percent'],
      rows: rows.map(([value, count]) => [
        value,
        String(count),
        ((100 * count) / events.length).toFixed(6),
      ]),
    };
  }
  if (!by) return { command, fields: ['count'], rows: [[String(events.length)]] };
  const rows = countBy(events, by).map(([value, count]) => {
    const mine = events.filter((event) => [event[by]].flat().includes(value));
    return [value, String(count), [...new Set(mine.map((event) => event.level))].sort()];
  });
  return { command, fields: [by, 'count', 'values(level)'], rows };
}

function timechart(events, by, range, command) {
  const step = 1800;
  const times = events.map(at);
  const start = Math.floor(Math.max(range.start, Math.min(...times)) / step) * step;
  const names = by
    ? countBy(events, by)
        .slice(0, 10)
        .map(([value]) => value)
    : ['count'];
  const rows = [];
  for (let time = start; time <= Math.max(...times); time += step) {
    const inside = events.filter((_, index) => times[index] >= time && times[index] < time + step);
    const counts = by
      ? names.map((name) =>
          String(inside.filter((event) => [event[by]].flat().includes(name)).length),
        )
      : [String(inside.length)];
    rows.push([
      new Date(time * 1000).toISOString().replace('Z', '+00:00'),
      ...counts,
      String(step),
    ]);
  }
  return { command, fields: ['_time', ...names, '_span'], rows };
}

export function timeline(events, range) {
  if (events.length === 0) return { event_count: 0, buckets: [] };
  const times = events.map(at);
  const start = Math.max(range.start, Math.min(...times));
  const end = Math.min(range.end, Math.max(...times) + 1);
  const step =
    [1, 10, 60, 300, 1800, 3600, 86400].find((one) => (end - start) / one <= 150) ?? 86400;
  const first = Math.floor(start / step) * step;
  const buckets = [];
  for (let time = first; time < end; time += step) {
    const count = times.filter((one) => one >= time && one < time + step).length;
    buckets.push({
      earliest_time: time,
      duration: step,
      total_count: count,
      available_count: count,
    });
  }
  return { event_count: events.length, buckets };
}

export function summary(events) {
  const fields = {};
  const names = new Set(events.flatMap((event) => Object.keys(event)));
  for (const name of names) {
    if (name.startsWith('_')) continue;
    const having = events.filter((event) => name in event);
    const counts = countBy(having, name);
    const numbers = having.map((event) => Number(event[name])).filter((one) => !Number.isNaN(one));
    fields[name] = {
      count: having.length,
      distinct_count: counts.length,
      is_exact: counts.length < 500,
      numeric_count: numbers.length,
      modes: counts.slice(0, 10).map(([value, count]) => ({ value, count })),
      ...(numbers.length === having.length && {
        min: Math.min(...numbers),
        max: Math.max(...numbers),
        mean: Math.round((100 * numbers.reduce((a, b) => a + b, 0)) / numbers.length) / 100,
      }),
    };
  }
  return { event_count: events.length, fields };
}
