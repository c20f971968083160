/** What forms of reports have. The list of reports is a page of its own. */

import { column, type Field, type Kind } from '../objects/kind';
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
