import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import {
  elasticsearchRecipes,
  forwarderRecipes,
  hecRecipes,
  lokiRecipes,
  otlpGrpcRecipes,
  otlpRecipes,
  shell,
  syslogRecipes,
  type Target,
  urlOf,
} from './recipes';

const TARGET: Target = {
  host: 'logs.example.com',
  port: '8088',
  isTls: true,
  isSelfSigned: true,
  token: '1111-2222',
  index: 'web',
  sourcetype: '',
};
const HOSTILE = `it's "$(touch x)" \`y\` \\`;

it('a word of the shell stays one word, whatever is in it', () => {
  for (const text of [HOSTILE, 'plain', 'a b', '', '*', '\n']) {
    const said = execFileSync('sh', ['-c', `printf %s ${shell(text) || "''"}`], {
      encoding: 'utf8',
    });
    expect(said).toBe(text);
  }
});

it('an IPv6 address has brackets once', () => {
  expect(urlOf({ ...TARGET, host: '::1', isTls: false })).toBe('http://[::1]:8088');
  expect(urlOf({ ...TARGET, host: '[::1]' })).toBe('https://[::1]:8088');
});

it('only a certificate that nobody has signed is accepted unseen', () => {
  const makers = [hecRecipes, otlpRecipes, otlpGrpcRecipes, elasticsearchRecipes, lokiRecipes];
  const texts = (target: Target) => makers.flatMap((make) => make(target)).map((one) => one.text);
  const accepts =
    /curl -k|insecure[_-]?skip[_-]?verify ?[=:] ?true|verify_certificate: false|mode.*none|verify: off/;
  expect(texts(TARGET).filter((text) => accepts.test(text)).length).toBeGreaterThan(5);
  for (const text of texts({ ...TARGET, isSelfSigned: false })) expect(text).not.toMatch(accepts);
  for (const text of texts({ ...TARGET, isTls: false })) expect(text).not.toMatch(accepts);
});

it('commands have the address, the token and the index', () => {
  const makers = [hecRecipes, otlpRecipes, elasticsearchRecipes];
  for (const { text } of makers.flatMap((make) => make(TARGET))) {
    expect(text).toContain('https://logs.example.com:8088');
    expect(text).toContain('1111-2222');
  }
  for (const { text } of lokiRecipes(TARGET)) {
    expect(text).toContain('logs.example.com');
    expect(text).toContain('1111-2222');
    expect(text).toContain('web');
  }
  expect(hecRecipes(TARGET)[0]?.text).toContain('"index":"web"');
  expect(otlpGrpcRecipes(TARGET)[0]?.text).toContain('endpoint: "logs.example.com:8088"');
  expect(syslogRecipes({ ...TARGET, port: '5514' }, false)[0]?.text).toContain('port="5514"');
  expect(syslogRecipes(TARGET, true)[2]?.text).toContain('--udp');
  const [rsyslog, syslogNg, message] = syslogRecipes({ ...TARGET, isTls: true }, false);
  expect(rsyslog?.text).toContain('StreamDriverMode="1"');
  expect(syslogNg?.text).toContain('transport("tls") tls(peer-verify(no))');
  expect(message?.text).toContain('| openssl s_client -connect ');
  for (const { text } of [rsyslog, syslogNg, message].filter((recipe) => !!recipe)) {
    expect(text).not.toContain('sender-key.pem');
  }
  for (const { text } of syslogRecipes({ ...TARGET, isTls: true }, false, true)) {
    expect(text).toMatch(/sender\.pem.*sender-key\.pem/);
  }
});

it('a forwarder is told of TLS and of the token that the server requires', () => {
  const outputs = (target: Target, needsToken: boolean) =>
    forwarderRecipes(target, needsToken)[1]?.text ?? '';
  const plain = outputs({ ...TARGET, port: '9997', isTls: false }, false);
  expect(plain).toContain('server = logs.example.com:9997\n');
  expect(plain).not.toMatch(/useSSL|token/);
  expect(outputs(TARGET, true)).toMatch(/useSSL = true\ntoken = /);
  expect(outputs({ ...TARGET, isSelfSigned: false }, false)).toContain(
    'sslVerifyServerCert = true',
  );
});

it('a hostile source type ends no quotes', () => {
  const [first] = hecRecipes({ ...TARGET, sourcetype: HOSTILE });
  const command = (first?.text ?? '').replace(/^curl -k/, "printf '%s\\n'");
  const said = execFileSync('sh', ['-c', command], { encoding: 'utf8' });
  expect(JSON.parse(said.trim().split('\n').at(-1) ?? '')).toEqual({
    event: 'hello from curl',
    index: 'web',
    sourcetype: HOSTILE,
  });
});

it('the bulk request of a hostile index is two lines of JSON', () => {
  const [first] = elasticsearchRecipes({ ...TARGET, index: HOSTILE });
  const command = (first?.text ?? '').replace(/ \| curl[\s\S]*$/, '');
  const said = execFileSync('sh', ['-c', command], { encoding: 'utf8' });
  const [action = '', document = ''] = said.trim().split('\n');
  expect(JSON.parse(action)).toEqual({ create: { _index: HOSTILE } });
  expect(JSON.parse(document)).toEqual({ message: 'hello from curl' });
});

it('the push request of a hostile source type is one line of JSON', () => {
  const [first] = lokiRecipes({ ...TARGET, sourcetype: HOSTILE });
  const command = (first?.text ?? '').replace(/ \| curl[\s\S]*$/, '');
  const said = JSON.parse(execFileSync('sh', ['-c', command], { encoding: 'utf8' }));
  expect(said.streams[0].stream).toEqual({ job: 'curl', sourcetype: HOSTILE });
  expect(said.streams[0].values[0]).toEqual([expect.stringMatching(/^\d{19}$/), 'hello from curl']);
});
