/** What forms of reports have. The list of reports is a page of its own. */

import type { Entry } from '../api/types';
import { column, type Field, isTrue, type Kind } from '../objects/kind';
import { isTimeModifier } from '../time/timeRange';
import { REPORTS_PATH } from './reportLists';

const bound = (name: string, label: string, example: string): Field => ({
  name,
  label,
  kind: 'text',
  help: `Such as ${example}; empty: no bound.`,
  check: (text) =>
    isTimeModifier(text.trim()) ? null : `"${text}" is not a time: enter one such as ${example}`,
});

export const reports: Kind = {
  title: 'Reports',
  noun: 'report',
  about: 'A report is a saved search.',
  path: REPORTS_PATH,
  isOfApps: true,
  capability: 'edit_own_objects',
  columns: [column('Search', 'search', { isCode: true })],
  fields: [
    { name: 'name', label: 'Name', kind: 'text', isRequired: true, when: 'new' },
    { name: 'description', label: 'Description', kind: 'text' },
    { name: 'search', label: 'Search', kind: 'area', isRequired: true },
    bound('dispatch.earliest_time', 'Earliest', '-24h@h'),
    bound('dispatch.latest_time', 'Latest', 'now'),
  ],
  loss: (entry) => `Dashboards and links that use ${entry.name} will fail.`,
};

/** Settings of the schedule, of alerts with their actions, of runs and of how results are shown; not of embedding and acceleration. */
const COPIED =
  /^(?:(?:action|alert|dispatch|display|durable|request|schedule)[._].+|alert_\w+|actions|allow_skew|counttype|cron_schedule|dispatchAs|is_visible|max_concurrent|quantity|realtime_schedule|relation|restart_on_searchpeer_add|run_n_times|run_on_startup|sendresults|workload_pool)$/;
/** What the server shows in place of a secret, or of one in an address. */
const HIDDEN = '********';

/** The stanza of a report, which has its own settings without the defaults. */
export const stanzaOf = (entry: Entry): string =>
  entry.path.replace('/saved/searches/', '/configs/conf-savedsearches/');

/** The kind of a clone: it has the settings that the form does not show, too. Only the schedule does not run by itself. */
export function cloneOf(entry: Entry, stanza: Entry): Kind {
  const shown = new Set(reports.fields.map(({ name }) => name));
  const more = Object.entries(stanza.content)
    .map(([name, value]): [string, string] => [name, String(value ?? '')])
    .filter(([name, text]) => COPIED.test(name) && !shown.has(name) && text !== '')
    .filter(([, text]) => !text.includes(HIDDEN));
  const schedule: Field = {
    name: 'is_scheduled',
    label: `Run on the schedule ${entry.content.cron_schedule}`,
    kind: 'switch',
    when: 'new',
    capability: 'schedule_search',
    help: 'Its actions are copied, too, with their recipients.',
  };
  const isScheduled = isTrue(entry.content.is_scheduled);
  return {
    ...reports,
    more: Object.fromEntries(more),
    fields: isScheduled ? [...reports.fields, schedule] : reports.fields,
  };
}
