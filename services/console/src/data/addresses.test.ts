import { expect, it } from 'vitest';
import type { Peer } from '../api/types';
import {
  addressesOf,
  addressLabel,
  adviceText,
  decodeAddresses,
  hostAndPort,
  type InputAddress,
  indexersText,
  offTitle,
  openPortAddress,
} from './addresses';

const input = (kind: string, more: Record<string, unknown>) => ({
  kind,
  name: kind,
  on: true,
  url: 'http://web1:8088',
  tls: false,
  advice: null,
  ...more,
});

it('an address is taken apart', () => {
  expect(hostAndPort('https://web1:8088')).toEqual({ host: 'web1', port: '8088' });
  expect(hostAndPort('tls://[::1]:9997')).toEqual({ host: '[::1]', port: '9997' });
  expect(hostAndPort('logs.example.com:514')).toEqual({ host: 'logs.example.com', port: '514' });
  expect(hostAndPort('logs.example.com')).toEqual({ host: 'logs.example.com', port: '' });
  expect(hostAndPort('')).toEqual({ host: '', port: '' });
});

it('what is on comes first, in the order that the way prefers', () => {
  const all = decodeAddresses({
    inputs: [
      input('otlp_grpc', {}),
      input('hec', {}),
      input('otlp_http', { on: false, url: null }),
      input('rest', {}),
    ],
  });
  expect(addressesOf(all, 'otlp').map(({ kind }) => kind)).toEqual([
    'hec',
    'otlp_grpc',
    'otlp_http',
  ]);
  expect(addressesOf(all, 'syslog')).toEqual([]);
});

it('what the server says of an address is kept', () => {
  const all = decodeAddresses({
    takes_events: false,
    certificate: 'own',
    inputs: [
      input('hec', { on: false, url: null, advice: 'off; start karst server with --hec-address' }),
      input('syslog_tcp', {
        url: 'tcp://10.0.0.7:514',
        reach: 'this_machine',
        stanza: 'tcp://514',
      }),
    ],
  });
  expect([all.takesEvents, all.isSelfSigned]).toEqual([false, false]);
  const [hec, syslog] = all.inputs;
  expect(hec).toMatchObject({ isOn: false, host: '', advice: expect.stringContaining('--hec') });
  expect(hec && adviceText(hec)).toBe('Start karst server with --hec-address');
  const off = (kind: string, advice = '') =>
    decodeAddresses({ inputs: [input(kind, { advice })] }).inputs[0] as InputAddress;
  const rest =
    'off; create an input at /services/data/inputs/tcp/raw with name=<port> and sourcetype=syslog, without a restart, or start karst server with --syslog-tcp 0.0.0.0:5514';
  expect(adviceText(off('syslog_tcp', rest))).toBe(
    'Open a port with the button below, without a restart, or start karst server with --syslog-tcp 0.0.0.0:5514',
  );
  const forwarders = decodeAddresses({
    inputs: [input('forwarders', { on: false, advice: 'off; start karst server with --f' })],
  }).inputs[0] as InputAddress;
  expect(adviceText(forwarders)).toBe(
    'Open a port with the button below, without a restart, or start karst server with --f',
  );
  expect(openPortAddress(forwarders)).toBe(
    '/data/inputs/_new?kind=tcp%2Fcooked&back=%2Fdata%2Fadd%2Fforwarder',
  );
  expect(offTitle(off('forwarders'))).toBe('The forwarder port is off');
  expect(openPortAddress(off('syslog_udp'))).toBe(
    '/data/inputs/_new?kind=udp&sourcetype=syslog&back=%2Fdata%2Fadd%2Fsyslog',
  );
  expect(hec && addressLabel(hec, 'hec')).toBe('hec (off)');
  expect(syslog && addressLabel(syslog, 'syslog')).toBe('syslog_tcp, 10.0.0.7:514, [tcp://514]');
  expect(syslog?.isLocal).toBe(true);
});

it('indexers are named with their hosts, and counted where there are many', () => {
  const peer = (name: string, address: string, roles = ['indexer']) =>
    ({ name, address, roles }) as Peer;
  const head = peer('sh1', '10.0.0.9:9100', ['search-head']);
  expect(indexersText([head])).toBe('');
  const two = [peer('idx1', '10.0.0.7:9100'), head, peer('idx2', 'idx2:9100')];
  expect(indexersText(two)).toBe('idx1 (10.0.0.7), idx2');
  const many = Array.from({ length: 8 }, (_, n) => peer(`i${n}`, `i${n}:1`));
  expect(indexersText(many)).toBe('i0, i1, i2, i3, i4, 3 more');
});
