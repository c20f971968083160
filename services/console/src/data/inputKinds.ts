/** Inputs of the server, and tokens of the HTTP Event Collector. */

import type { Entry } from '../api/types';
import { addressOf, paths } from '../app/routing';
import { column, contentText, type Form, type Kind } from '../objects/kind';

const KINDS = [
  { value: 'monitor', label: 'monitored file or directory' },
  { value: 'batch', label: 'directory whose files are indexed and deleted' },
  { value: 'tcp/raw', label: 'TCP port' },
  { value: 'tcp/cooked', label: 'port for forwarders' },
  { value: 'udp', label: 'UDP port' },
  { value: 'fifo', label: 'named pipe' },
  { value: 'script', label: 'program whose output is indexed' },
];

const BASE = '/services/data/inputs';
const PATTERN = /\*|\.\.\./;

/** The values of `source` of the events of an input; empty where other inputs may have the same. */
export function sourcesOf(kind: string, name: string): string[] {
  if (kind !== 'monitor' && kind !== 'batch') return [];
  if (PATTERN.test(name)) return [name.replaceAll('...', '*')];
  return [name, `${name.replace(/\/$/, '')}/*`];
}

/** The kind of an input is in its path: `/services/data/inputs/tcp/raw/514`. */
export function kindOf(entry: Entry): string {
  return KINDS.find((kind) => entry.path.startsWith(`${BASE}/${kind.value}/`))?.value ?? '';
}

export const inputs: Kind = {
  title: 'Inputs',
  noun: 'input',
  about:
    'Files, ports and programs that this server reads, defined in inputs.conf or created here. Changes take effect immediately. Ports that were set at the start of the server (with --syslog-tcp, --syslog-tls or similar flags) are not listed.',
  path: `${BASE}/all`,
  isOfApps: false,
  capability: 'edit_monitor',
  columns: [
    {
      label: 'Kind',
      text: (entry) => KINDS.find((kind) => kind.value === kindOf(entry))?.label ?? '',
    },
    column('Index', 'index'),
    column('Source type', 'sourcetype'),
    column('Host', 'host'),
  ],
  fields: [
    { name: 'kind', label: 'Kind', kind: 'choice', when: 'new', options: KINDS },
    {
      name: 'name',
      label: 'Path or port',
      kind: 'text',
      isRequired: true,
      when: 'new',
      help: 'An absolute path on the machine of the server; a port, or address:port.',
    },
    { name: 'index', label: 'Index', kind: 'choice', source: 'indexes', initial: 'main' },
    {
      name: 'sourcetype',
      label: 'Source type',
      kind: 'text',
      help: 'Empty: recognised by the content; for ports, the default.',
    },
    { name: 'host', label: 'Host', kind: 'text', help: 'Empty: that of the server or the sender.' },
    {
      name: 'check-path',
      label: 'Refuse a path that does not exist',
      kind: 'switch',
      when: 'new',
      initial: true,
      help: 'Of a file, directory or pipe. Switch it off for one that is created later.',
    },
  ],
  request: (form: Form, entry) => {
    if (entry) return { path: entry.path, form };
    const { kind, 'check-path': check, ...rest } = form;
    // With a pattern, it is not a path that exists.
    const isChecked = check === '1' && !PATTERN.test(String(form.name));
    const path = `${BASE}/${String(kind)}`;
    return { path, form: isChecked ? { ...rest, 'check-path': '1' } : rest };
  },
  after: ({ kind, name, index }) =>
    addressOf(paths.data('add', 'input'), {
      kind: String(kind),
      name: String(name).trim(),
      index: String(index),
    }),
  loss: (entry) =>
    `${entry.name} is no longer read; senders to the port are refused. Indexed events are kept. If a monitored file is added again, it continues at its checkpoint.`,
};

export const hecTokens: Kind = {
  title: 'HEC tokens',
  noun: 'HEC token',
  about:
    'A token lets senders deliver events over HTTP (HEC, OTLP, Elasticsearch bulk, Loki), to the indexes that it names.',
  path: `${BASE}/http`,
  isOfApps: false,
  capability: 'edit_token_http',
  columns: [
    column('Default index', 'index'),
    { label: 'Permitted indexes', text: (entry) => contentText(entry, 'indexes') || 'all' },
    column('Source type', 'sourcetype'),
    { label: 'Acknowledgement', text: (entry) => (entry.content.useACK === true ? 'by ID' : '') },
  ],
  fields: [
    { name: 'name', label: 'Name', kind: 'text', isRequired: true, when: 'new' },
    {
      name: 'index',
      label: 'Default index of events',
      kind: 'choice',
      source: 'indexes',
      initial: 'main',
    },
    {
      name: 'indexes',
      label: 'Permitted indexes',
      kind: 'list',
      help: 'Separated by commas; empty for all.',
    },
    { name: 'sourcetype', label: 'Source type', kind: 'text', help: 'For events that name none.' },
    {
      name: 'useACK',
      label: 'Senders ask later whether events are durable (useACK)',
      kind: 'switch',
    },
    {
      name: 'allowQueryStringAuth',
      label: 'The token may be in the URL (allowQueryStringAuth)',
      kind: 'switch',
    },
  ],
  secret: (entry) =>
    contentText(entry, 'token') === ''
      ? null
      : {
          label: 'Token',
          value: contentText(entry, 'token'),
          note: 'The token has been created. Senders use it in Authorization: Splunk TOKEN.',
        },
  actions: (entry) => [
    { label: 'New secret', path: `${entry.path}/rotate` },
    entry.content.disabled === true
      ? { label: 'Enable', path: `${entry.path}/enable` }
      : { label: 'Disable', path: `${entry.path}/disable` },
  ],
  loss: (entry) =>
    `Senders with the token ${entry.name} are refused from now on; events that they do not keep are lost. Indexed events are kept.`,
};
