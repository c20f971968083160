/** Ways in for data, in the order in which they are offered. */

import { paths } from '../app/routing';

export interface Way {
  id: string;
  title: string;
  about: string;
}

export const WAYS: readonly Way[] = [
  { id: 'upload', title: 'Upload a file', about: 'A log, a CSV or JSON file from this machine' },
  { id: 'paste', title: 'Paste a text', about: 'Some lines to try' },
  {
    id: 'hec',
    title: 'HTTP Event Collector',
    about: 'curl, Docker, Vector, Fluent Bit: acknowledged',
  },
  { id: 'otlp', title: 'OpenTelemetry', about: 'Logs of the OpenTelemetry Collector and SDKs' },
  {
    id: 'elasticsearch',
    title: 'Elasticsearch bulk API',
    about: 'Filebeat, Logstash, Fluent Bit, Vector',
  },
  { id: 'syslog', title: 'Syslog', about: 'rsyslog, syslog-ng, network devices' },
  {
    id: 'forwarder',
    title: 'Forwarder',
    about: 'Files of other machines, with a queue on their disks',
  },
  { id: 'input', title: 'Files and ports of the server', about: 'Monitored files, TCP, UDP' },
];

/** Where a way begins. */
export const wayPath = (way: Way): string =>
  way.id === 'input' ? paths.data('inputs', '_new') : paths.data('add', way.id);
