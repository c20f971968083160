/** Data models: datasets over events, as JSON. */

import type { Entry } from '../api/types';
import { column, contentText, type Kind } from '../objects/kind';
import { fieldName } from '../query/syntax';

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What the JSON of a model says of it; nothing if it is not a model. */
export function modelOf(text: string): { title: string; datasets: string[] } {
  let model: unknown;
  try {
    model = JSON.parse(text);
  } catch {
    model = null;
  }
  if (!isObject(model)) return { title: '', datasets: [] };
  const objects = Array.isArray(model.objects) ? model.objects.filter(isObject) : [];
  return {
    title: typeof model.displayName === 'string' ? model.displayName : '',
    datasets: objects.map(({ objectName }) => String(objectName ?? '')).filter((one) => one !== ''),
  };
}

const shownIn = (entry: Entry) => modelOf(contentText(entry, 'eai:data'));

export const dataModels: Kind = {
  title: 'Data models',
  noun: 'data model',
  about:
    'A data model gives names to sets of events and to their fields. The commands datamodel, from, pivot and tstats use its name and its datasets.',
  path: '/services/datamodel/model',
  isOfApps: true,
  capability: 'edit_own_objects',
  columns: [
    { label: 'Title', text: (entry) => shownIn(entry).title },
    { label: 'Datasets', text: (entry) => shownIn(entry).datasets.join(', ') },
    column('Description', 'description'),
  ],
  fields: [
    {
      name: 'name',
      label: 'Name',
      kind: 'text',
      isRequired: true,
      when: 'new',
      // Of a copy: searches name models without quotes, as in from datamodel:shop_copy.
      read: (entry) => `${entry.name}_copy`,
    },
    {
      name: 'eai:data',
      label: 'Definition',
      kind: 'area',
      isRequired: true,
      help: 'JSON, as in the files data/models of apps, with the datasets in objects.',
    },
    { name: 'description', label: 'Description', kind: 'text' },
  ],
  isCopied: true,
  search: (entry) => {
    const [root] = shownIn(entry).datasets;
    return root === undefined
      ? null
      : `| datamodel ${fieldName(entry.name)} ${fieldName(root)} search`;
  },
  loss: (entry) =>
    `Searches, reports and dashboards that use the data model ${entry.name} fail. Events are not changed.`,
};
