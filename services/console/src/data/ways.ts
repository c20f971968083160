/** Ways in for data, in the order in which they are offered. */

import type { Me } from '../api/types';
import { paths } from '../app/routing';

export interface Way {
  id: string;
  title: string;
  about: string;
  /** What a user needs for it. */
  capability: string;
}

export const WAYS: readonly Way[] = [
  {
    id: 'upload',
    title: 'Upload a file',
    about: 'A log, a CSV or JSON file from this machine',
    capability: 'edit_tcp',
  },
  { id: 'paste', title: 'Paste a text', about: 'Some lines to try', capability: 'edit_tcp' },
  {
    id: 'hec',
    title: 'HTTP Event Collector',
    about: 'curl, Docker, Vector: acknowledged',
    capability: 'edit_token_http',
  },
  {
    id: 'otlp',
    title: 'OpenTelemetry',
    about: 'Logs of the OpenTelemetry Collector and SDKs',
    capability: 'edit_token_http',
  },
  {
    id: 'elasticsearch',
    title: 'Elasticsearch bulk API',
    about: 'Filebeat, Logstash, Fluent Bit, Vector',
    capability: 'edit_token_http',
  },
  {
    id: 'loki',
    title: 'Loki push API',
    about: 'Promtail, Grafana Alloy, Fluent Bit, Docker',
    capability: 'edit_token_http',
  },
  {
    id: 'syslog',
    title: 'Syslog',
    about: 'rsyslog, syslog-ng, network devices',
    capability: 'list_inputs',
  },
  {
    id: 'forwarder',
    title: 'Forwarder',
    about: 'Files of other machines, with a queue on their disks',
    capability: 'list_inputs',
  },
  {
    id: 's3',
    title: 'Objects in S3',
    about: 'Once by a command, or as a queue (SQS) tells of them',
    capability: 'admin_all_objects',
  },
  {
    id: 'input',
    title: 'Files and ports of the server',
    about: 'Monitored files, TCP, UDP',
    capability: 'edit_monitor',
  },
];

/** The ways that a user may go; all, until it is known who that is. */
export const waysOf = (me: Me | null): readonly Way[] =>
  me === null ? WAYS : WAYS.filter(({ capability }) => me.capabilities.has(capability));

/** Where a way begins. */
export const wayPath = (way: Way): string =>
  way.id === 'input' ? paths.data('inputs', '_new') : paths.data('add', way.id);
