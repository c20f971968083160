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
