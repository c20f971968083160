import { expect, it } from 'vitest';
import type { Entry } from '../api/types';
import {
  changedMeanwhile,
  choicesOf,
  fieldsFor,
  formOf,
  givenValues,
  initialValues,
  internalLast,
  isFilledIn,
  problemsOf,
} from './form';
import type { Field, Form } from './kind';

const FIELDS: Field[] = [
  { name: 'name', label: 'Name', kind: 'text', isRequired: true, when: 'new' },
  { name: 'seconds', label: 'Days', kind: 'number', scale: 86_400, least: 1 },
  { name: 'roles', label: 'Roles', kind: 'checks' },
  { name: 'indexes', label: 'Indexes', kind: 'list' },
  { name: 'password', label: 'Password', kind: 'password' },
  { name: 'off', label: 'Off', kind: 'switch' },
];

const ENTRY: Entry = {
  name: 'a',
  path: '/services/a/a',
  app: 'search',
  owner: 'nobody',
  sharing: 'app',
  canWrite: true,
  isRemovable: true,
  readers: [],
  writers: [],
  links: [],
  content: { seconds: 172_800, roles: ['x', 'y'], indexes: 'main, web', off: '1', password: '***' },
};

it('values of an object are in the units of the form, and its password is not shown', () => {
  const values = initialValues(fieldsFor(FIELDS, false), ENTRY);
  expect(values).toEqual({
    seconds: '2',
    roles: ['x', 'y'],
    indexes: 'main, web',
    password: '',
    off: true,
  });
});

it('a change sends only what was changed', () => {
  const fields = fieldsFor(FIELDS, false);
  const values = initialValues(fields, ENTRY);
  expect(formOf(fields, values, ENTRY)).toEqual({});
  expect(formOf(fields, { ...values, seconds: '0.5', roles: ['y', 'x'] }, ENTRY)).toEqual({
    seconds: '43200',
  });
});

it('an empty field is no limit where the server has a number for it', () => {
  const fields: Field[] = [
    { name: 'seconds', label: 'Days', kind: 'number', scale: 86_400, endless: 1e6 },
  ];
  const endless = { ...ENTRY, content: { seconds: 1e6 } };
  expect(initialValues(fields, endless)).toEqual({ seconds: '' });
  expect(formOf(fields, { seconds: '' }, endless)).toEqual({});
  expect(formOf(fields, { seconds: '' }, ENTRY)).toEqual({ seconds: '1000000' });
  expect(formOf(fields, { seconds: '' }, null)).toEqual({});
  expect(formOf(fields, { seconds: '2' }, endless)).toEqual({ seconds: '172800' });
});

it('an emptied list is sent as an empty one', () => {
  const fields = fieldsFor(FIELDS, false);
  const values = initialValues(fields, ENTRY);
  expect(formOf(fields, { ...values, roles: [], indexes: '', off: false }, ENTRY)).toEqual({
    roles: '',
    indexes: '',
    off: '0',
  });
});

it('a new object sends what was filled in', () => {
  const fields = fieldsFor(FIELDS, true);
  const values = { ...initialValues(fields, null), name: 'b', indexes: 'main,web' };
  expect(formOf(fields, values, null)).toEqual({ name: 'b', indexes: ['main', 'web'], off: '0' });
});

it('problems name the field', () => {
  const fields = fieldsFor(FIELDS, true);
  const values = { ...initialValues(fields, null), seconds: 'many' };
  expect([...problemsOf(fields, values)]).toEqual([
    ['name', 'Name is missing'],
    ['seconds', '"many" is not a number'],
  ]);
  expect(problemsOf(fields, { ...values, name: 'b', seconds: '0' }).get('seconds')).toBe(
    'Days is at least 1',
  );
  const limited: Field[] = [{ name: 'n', label: 'Priority', kind: 'number', least: 1, most: 10 }];
  expect(problemsOf(limited, { n: '99' }).get('n')).toBe('Priority is at most 10');
  expect(problemsOf(limited, { n: '10' }).size).toBe(0);
});

it('of choices, one at least is asked for', () => {
  const checks = (label: string): Field[] => [
    { name: 'one', label, kind: 'checks', isRequired: true },
  ];
  const problem = (label: string) => problemsOf(checks(label), { one: [] }).get('one');
  expect(problem('Roles')).toBe('Choose at least one role');
  expect(problem('Indexes')).toBe('Choose at least one index');
});

it('a form is filled in as soon as a value is not that with which it was opened', () => {
  const fields = fieldsFor(FIELDS, false);
  const values = initialValues(fields, ENTRY);
  expect(isFilledIn(fields, { ...values, roles: ['y', 'x'] }, values)).toBe(false);
  expect(isFilledIn(fields, { ...values, password: 'x' }, values)).toBe(true);
});

it('an address gives values of texts and known choices to a new object', () => {
  const options = [{ value: 'udp', label: 'UDP port' }];
  const fields: Field[] = [...FIELDS, { name: 'kind', label: 'Kind', kind: 'choice', options }];
  const given = (query: string) => givenValues(fields, new URLSearchParams(query));
  expect(given('name=514&kind=udp&password=x&other=y')).toEqual({ name: '514', kind: 'udp' });
  expect(given('kind=tcp')).toEqual({});
});

it('what somebody else has changed meanwhile is found if the request changes it, too', () => {
  const fields = fieldsFor(FIELDS, false);
  const now = { ...ENTRY, content: { ...ENTRY.content, seconds: 864_000, indexes: 'web' } };
  const found = (form: Form) => changedMeanwhile(fields, form, ENTRY, now).map(({ name }) => name);
  expect(found({ seconds: '43200', indexes: ['main'] })).toEqual(['seconds', 'indexes']);
  expect(found({ off: '0', roles: ['x'] })).toEqual([]);
  // Both want the same.
  expect(found({ seconds: '864000', indexes: ['web'] })).toEqual([]);
  expect(changedMeanwhile(fields, { seconds: '43200' }, ENTRY, ENTRY)).toEqual([]);
});

it('a choice of a source keeps a value that the server does not list', () => {
  const field: Field = {
    name: 'file',
    label: 'File',
    kind: 'choice',
    source: 'lookupFiles',
    none: 'no file',
  };
  const listed = [{ value: 'a.csv', label: 'a.csv' }];
  const values = (chosen: string) => choicesOf(field, listed, chosen).map(({ value }) => value);
  expect(values('')).toEqual(['', 'a.csv']);
  expect(values('a.csv')).toEqual(['', 'a.csv']);
  expect(values('gone.csv')).toEqual(['', 'a.csv', 'gone.csv']);
});

it('internal indexes are offered last', () => {
  expect(['_audit', '_internal', 'main', 'web'].sort(internalLast)).toEqual([
    'main',
    'web',
    '_audit',
    '_internal',
  ]);
});
