import { execFileSync } from 'node:child_process';
import { expect, it } from 'vitest';
import {
  collectorAddress,
  forwarderRecipes,
  hecRecipes,
  otlpRecipes,
  shell,
  syslogRecipes,
  type Target,
  tlsOf,
} from './recipes';

const TARGET: Target = {
  host: 'logs.example.com',
  hecPort: '8088',
  isTls: true,
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

it('the collector has TLS everywhere but on loopback', () => {
  expect(tlsOf('localhost')).toBe(false);
  expect(tlsOf('127.0.0.1')).toBe(false);
  expect(tlsOf('logs.example.com')).toBe(true);
  expect(collectorAddress({ ...TARGET, host: '::1', isTls: false })).toBe('http://[::1]:8088');
});

it('commands have the address, the token and the index', () => {
  const texts = [...hecRecipes(TARGET), ...otlpRecipes(TARGET)].map((one) => one.text);
  for (const text of texts) {
    expect(text).toContain('https://logs.example.com:8088');
    expect(text).toContain('1111-2222');
  }
  expect(hecRecipes(TARGET)[0]?.text).toContain('"index":"web"');
  expect(syslogRecipes(TARGET, '5514')[0]?.text).toContain('port="5514"');
  expect(forwarderRecipes(TARGET, '9997')[1]?.text).toContain('server = logs.example.com:9997');
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
