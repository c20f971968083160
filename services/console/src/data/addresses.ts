/** Where this process receives events: `GET /api/v1/addresses`. */

import { asObject } from '../api/decode';
import type { Peer } from '../api/types';
import { addressOf, paths } from '../app/routing';

export interface InputAddress {
  /** `hec`, `otlp_grpc`, `syslog_tcp` ... */
  kind: string;
  name: string;
  isOn: boolean;
  /** As senders reach it, by the name of the server; empty if it is off. */
  host: string;
  port: string;
  isTls: boolean;
  /** Whether only programs on the server's machine reach it. */
  isLocal: boolean;
  /** `hec_token`, `forwarder_token`, `login` or `none`. */
  credential: string;
  /** Of a port that gives its events an index; empty for others. */
  index: string;
  sourcetype: string;
  /** The stanza of inputs.conf; empty for a port of the command line. */
  stanza: string;
  /** How to turn it on, or open it to other machines; empty if nothing is to be done. */
  advice: string;
}

export interface Addresses {
  /** Whether this process receives events at all: search heads do not. */
  takesEvents: boolean;
  isSelfSigned: boolean;
  inputs: InputAddress[];
}

const text = (value: unknown): string =>
  value === null || value === undefined ? '' : String(value);

export function decodeAddresses(body: unknown): Addresses {
  const root = asObject(body);
  const inputs = Array.isArray(root.inputs) ? root.inputs.map(asObject) : [];
  return {
    takesEvents: root.takes_events !== false,
    isSelfSigned: root.certificate === 'self_signed',
    inputs: inputs.map((input) => ({
      kind: text(input.kind),
      name: text(input.name),
      isOn: input.on === true,
      ...hostAndPort(text(input.url)),
      isTls: input.tls === true,
      isLocal: input.reach === 'this_machine',
      credential: text(input.credential),
      index: text(input.index),
      sourcetype: text(input.sourcetype),
      stanza: text(input.stanza),
      advice: text(input.advice),
    })),
  };
}

/** Indexers that are named; the others are counted. */
const NAMED = 5;

/** The indexers of a cluster, by name and host; empty if there are none. */
export function indexersText(peers: readonly Peer[]): string {
  const indexers = peers.filter(({ roles }) => roles.includes('indexer'));
  const named = indexers.slice(0, NAMED).map(({ name, address }) => {
    const { host } = hostAndPort(address);
    return host === '' || host === name ? name : `${name} (${host})`;
  });
  const more = indexers.length - named.length;
  return [...named, ...(more > 0 ? [`${more} more`] : [])].join(', ');
}

/** `scheme://host:port` in its parts; an IPv6 address keeps its brackets. */
export function hostAndPort(url: string): { host: string; port: string } {
  const [, host = '', port = ''] = /^(?:[a-z]+:\/\/)?(\[[^\]]*\]|[^:/]*):?(\d*)/i.exec(url) ?? [];
  return { host, port };
}

/** A way in for data: the kinds of addresses that it uses, the one that it prefers first. */
export const KINDS_OF: Record<string, readonly string[]> = {
  hec: ['hec'],
  otlp: ['hec', 'otlp_http', 'otlp_grpc'],
  elasticsearch: ['elasticsearch'],
  loki: ['loki'],
  syslog: ['syslog_tcp', 'syslog_udp'],
  forwarder: ['forwarders'],
};

/** The addresses of a way in, those that are on first. */
export function addressesOf({ inputs }: Addresses, way: string): InputAddress[] {
  const kinds = KINDS_OF[way] ?? [];
  const found = inputs.filter(({ kind }) => kinds.includes(kind));
  const rank = (input: InputAddress) => (input.isOn ? 0 : kinds.length) + kinds.indexOf(input.kind);
  return found.sort((a, b) => rank(a) - rank(b));
}

/** An address in a list of several. */
export function addressLabel({ name, host, port, isOn, stanza, kind }: InputAddress, way: string) {
  const what = way === 'otlp' && kind === 'hec' ? 'OpenTelemetry over HTTP, at the HEC port' : name;
  if (!isOn) return `${what} (off)`;
  return `${what}, ${host}:${port}${stanza === '' ? '' : `, [${stanza}]`}`;
}

/** What is to be done, as a sentence for somebody who has this page open. */
export function adviceText({ advice, kind, isOn }: InputAddress): string {
  const isPort = kind === 'forwarders' && !isOn;
  const text = advice
    .replace(/^off; /, isPort ? 'open a port with the button below, without a restart, or ' : '')
    .replace(
      /^create an input at \S+ with [^,]*, without/,
      'open a port with the button below, without',
    );
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** That nothing listens. */
export const offTitle = ({ kind, name }: InputAddress): string =>
  `${kind === 'forwarders' ? 'The forwarder port' : name} is off`;

/** The form of an input that listens for syslog or forwarders; it leads back here. */
export const openPortAddress = ({ kind }: InputAddress): string =>
  addressOf(
    paths.data('inputs', '_new'),
    kind === 'forwarders'
      ? { kind: 'tcp/cooked', back: paths.data('add', 'forwarder') }
      : {
          kind: kind === 'syslog_udp' ? 'udp' : 'tcp/raw',
          sourcetype: 'syslog',
          back: paths.data('add', 'syslog'),
        },
  );

/** The default ports, for a user who may not ask for the addresses. */
export const DEFAULT_PORTS: Record<string, string> = {
  hec: '8088',
  otlp: '8088',
  elasticsearch: '9200',
  loki: '3100',
  syslog: '514',
  forwarder: '9997',
};
