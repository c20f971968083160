import { expect, it } from 'vitest';
import type { Field } from './kind';
import { refusedField } from './refusal';

const FIELDS: Field[] = [
  { name: 'name', label: 'User name', kind: 'text' },
  { name: 'maxTotalDataSizeMB', label: 'Maximum size in MB', kind: 'number' },
  { name: 'expires_on', label: 'Expires', kind: 'text' },
  { name: 'tz', label: 'Time zone', kind: 'text' },
  { name: 'password', label: 'New password', kind: 'password' },
];

it('a refusal that names a parameter is at its field, under its label', () => {
  const named: [string, string, string][] = [
    [
      'the parameter "maxTotalDataSizeMB" must be a whole number of 0 or more, not "x"',
      'maxTotalDataSizeMB',
      'Maximum size in MB must be a whole number of 0 or more, not "x"',
    ],
    ['expires_on = yesterday: expected +30d', 'expires_on', 'Expires = yesterday: expected +30d'],
    ['tz: there is none', 'tz', 'Time zone: there is none'],
    [
      'an ephemeral token lasts at most 6 hours (expires_on)',
      'expires_on',
      'An ephemeral token lasts at most 6 hours',
    ],
  ];
  for (const [message, name, text] of named) {
    expect(refusedField(FIELDS, message)).toEqual({ name, text });
  }
});

it('a refusal that begins with a label is at its field, too', () => {
  expect(refusedField(FIELDS, 'unknown time zone "Nowhere": not found')).toEqual({
    name: 'tz',
    text: 'Unknown time zone "Nowhere": not found',
  });
  expect(refusedField(FIELDS, 'invalid user name "a b": no blanks')?.name).toBe('name');
  expect(refusedField(FIELDS, 'the password needs at least 8 characters')).toEqual({
    name: 'password',
    text: 'New password needs at least 8 characters',
  });
});

it('other refusals are at no field', () => {
  for (const message of [
    'an index with name=a already exists',
    'there is no role "name"',
    'expires_once is not supported',
    '',
  ]) {
    expect(refusedField(FIELDS, message), message).toBeNull();
  }
});

it('a refusal that quotes the value of one field is at that field', () => {
  const fields: Field[] = [
    { name: 'name', label: 'Path or port', kind: 'text' },
    { name: 'index', label: 'Index', kind: 'choice' },
    { name: 'check-path', label: 'Refuse a path that does not exist', kind: 'switch' },
    { name: 'secret', label: 'Secret', kind: 'password' },
  ];
  const named = (message: string, name: string, index = 'main') =>
    refusedField(fields, message, { name, index, 'check-path': true, secret: 'lock' })?.name;
  expect(named('"/var/lgo" does not exist (check-path)', '/var/lgo')).toBe('name');
  expect(named('"var/log": expected an absolute path', 'var/log')).toBe('name');
  expect(named('there is no index "web"', '/var/log', 'web')).toBe('index');
  expect(named('cannot listen on tcp://0.0.0.0:514: in use', '514')).toBe('name');
  expect(named('An object with name=514 already exists', ' 514 ')).toBe('name');
  // Of both fields, of a part of a word, of a secret.
  expect(named('there is no index "web"', 'web', 'web')).toBeUndefined();
  expect(named('"/var/log2" is a directory', '/var/log')).toBeUndefined();
  expect(named('"lock" is too short', '/var/log')).toBeUndefined();
});
