import { expect, it } from 'vitest';
import { decodeEntries } from '../api/decode';
import type { Entry } from '../api/types';
import { copyOf, fieldsFor, formOf, initialValues, problemsOf } from '../objects/form';
import type { Kind, Values } from '../objects/kind';
import { refusedField } from '../objects/refusal';
import { dataModels, modelOf } from './dataModelKind';
import {
  automaticLookups,
  calculatedFields,
  extractions,
  fieldAliases,
  fieldTransforms,
  sourceTypeRenames,
} from './fieldKinds';
import { eventTypes, lookupDefinitions, macros, tags } from './knowledgeKinds';
import {
  aliasesProblem,
  fieldsProblem,
  lookupProblem,
  lookupValue,
  permissionsOfStanza,
  searchOfStanza,
} from './stanzas';

/** A setting of props.conf as the server answers. */
function setting(stanza: string, attribute: string, value: string): Entry {
  const name = `${stanza} : ${attribute}`;
  const edit = `/servicesNS/nobody/search/data/props/x/${encodeURIComponent(name)}`;
  const content = { stanza, attribute, value };
  const acl = { app: 'search', owner: 'ann', sharing: 'app' };
  return decodeEntries({ entry: [{ name, links: { edit }, acl, content }] })[0] as Entry;
}

const object = (name: string, content: Record<string, unknown>): Entry =>
  decodeEntries({ entry: [{ name, content }] })[0] as Entry;

/** The parameters of a new object. */
function made(kind: Kind, values: Values) {
  const fields = fieldsFor(kind.fields, true);
  const form = formOf(fields, { ...initialValues(fields, null), ...values }, null);
  return kind.request?.(form, null, '/new').form ?? { ...kind.more, ...form };
}

const problems = (kind: Kind, values: Values) => {
  const fields = fieldsFor(kind.fields, true);
  return [...problemsOf(fields, { ...initialValues(fields, null), ...values }).keys()];
};

it('a stanza has the search for its events, unless its pattern is a regular expression', () => {
  expect(searchOfStanza('a "b"')).toBe('index=* sourcetype="a \\"b\\""');
  expect(searchOfStanza('host::web-*')).toBe('index=* host="web-*"');
  expect(searchOfStanza('source::/var/.../x.log')).toBe('index=* source="/var/*/x.log"');
  expect(searchOfStanza('source::/var/(a|b)')).toBeNull();
  expect(searchOfStanza('(?::){0}ps*')).toBeNull();
  expect(searchOfStanza('rule::x')).toBeNull();
});

it('a setting has the permissions of its stanza, and says so', () => {
  const { path, note } = permissionsOfStanza(setting('source::/var/log', 'EVAL-a', '1'));
  expect(path).toBe('/servicesNS/nobody/search/configs/conf-props/source%3A%3A%252Fvar%252Flog');
  expect(note).toContain('[source::/var/log]');
});

it('a calculated field is searched by its field, and copied with its field and stanza', () => {
  const entry = setting('web', 'EVAL-a+b', 'x/2');
  expect(calculatedFields.search?.(entry)).toBe('index=* sourcetype="web" "a+b"=*');
  expect(copyOf(calculatedFields.fields, entry)).toEqual({
    stanza: 'web',
    name: 'a+b',
    value: 'x/2',
  });
});

it('a refused expression is shown at the expression', () => {
  const text = 'the expression of a calculated field is invalid: unexpected end';
  const fields = fieldsFor(calculatedFields.fields, true);
  expect(refusedField(fields, text)).toEqual({
    name: 'value',
    text: 'Expression of a calculated field is invalid: unexpected end',
  });
});

it('a copied extraction keeps its kind', () => {
  const copy = (attribute: string) => copyOf(extractions.fields, setting('a', attribute, 'b'));
  expect(copy('EXTRACT-x')).toMatchObject({ name: 'x', type: 'EXTRACT' });
  expect(copy('REPORT-y')).toMatchObject({ name: 'y', type: 'REPORT' });
});

it('a copied macro keeps the number of its arguments', () => {
  const name = (of: string) => copyOf(macros.fields, object(of, {})).name;
  expect([name('errors'), name('errors(2)')]).toEqual(['errors_copy', 'errors_copy(2)']);
});

it('aliases are complete', () => {
  const ok = ['a AS b', 'a as b, "c d" ASNEW e\n"as" AS f', "'a b' AS c", "it's AS x"];
  expect(ok.map(aliasesProblem)).toEqual(ok.map(() => null));
  for (const wrong of ['a', 'a b', 'a AS', 'a AS b c', 'a AS as', 'a "as" b', '"" AS b']) {
    expect(aliasesProblem(wrong), wrong).not.toBeNull();
  }
  expect(aliasesProblem('a AS b c')).toContain('"c"');
  expect(problems(fieldAliases, { stanza: 'a', name: 'b', value: 'c' })).toEqual(['value']);
});

it('fields of lookups are names, some with AS', () => {
  const ok = ['ip', 'ip AS clientip, site', 'a b c', '"as" AS x', '"output"'];
  expect(ok.map(fieldsProblem)).toEqual(ok.map(() => null));
  for (const wrong of ['AS a', 'a AS', 'a AS AS', 'a OUTPUT b']) {
    expect(fieldsProblem(wrong), wrong).not.toBeNull();
  }
});

it('an automatic lookup is composed of its parts, and changed as a text', () => {
  const parts = { stanza: 'web', name: 'site', transform: 'hosts.csv', inputs: ' ip AS clientip ' };
  expect(made(automaticLookups, parts)).toEqual({
    stanza: 'web',
    name: 'site',
    value: 'hosts.csv ip AS clientip',
  });
  const more = { ...parts, outputs: 'site, owner AS who' };
  expect(made(automaticLookups, more).value).toBe(
    'hosts.csv ip AS clientip OUTPUT site, owner AS who',
  );
  expect(made(automaticLookups, { ...more, isKept: true }).value).toContain(' OUTPUTNEW site');
  expect(lookupValue('my lookup', { inputs: 'a', outputs: '', isKept: false })).toBe(
    '"my lookup" a',
  );
  expect(problems(automaticLookups, { ...parts, isKept: true })).toEqual(['outputs']);
  expect(problems(automaticLookups, parts)).toEqual([]);
  const entry = setting('web', 'LOOKUP-site', 'hosts ip');
  const path = '/servicesNS/nobody/search/data/props/lookups/x';
  expect(automaticLookups.request?.({ value: 'hosts ip OUTPUT a' }, entry, path)).toEqual({
    path,
    form: { value: 'hosts ip OUTPUT a' },
  });
});

it('the text of an automatic lookup has a lookup and a field', () => {
  const ok = ['hosts ip', 'hosts ip AS a OUTPUT b', 'hosts ip OUTPUTNEW b AS c'];
  expect(ok.map(lookupProblem)).toEqual(ok.map(() => null));
  for (const wrong of ['hosts', 'hosts OUTPUT a', 'hosts ip OUTPUT a OUTPUT b']) {
    expect(lookupProblem(wrong), wrong).not.toBeNull();
  }
});

it('a field transform has a regular expression or delimiters', () => {
  expect(problems(fieldTransforms, { name: 'a' })).toEqual(['REGEX']);
  expect(problems(fieldTransforms, { name: 'a', REGEX: '(?<b>.)' })).toEqual([]);
  expect(problems(fieldTransforms, { name: 'a', DELIMS: '","', FIELDS: 'b' })).toEqual([]);
  expect(problems(fieldTransforms, { name: 'a', REGEX: 'x', FIELDS: 'b' })).toEqual(['DELIMS']);
  // One of index time, which has other settings.
  const fields = fieldsFor(fieldTransforms.fields, false);
  const values = initialValues(fields, object('a', { INGEST_EVAL: 'b=1' }));
  expect([...problemsOf(fields, values, values).keys()]).toEqual([]);
});

it('a switch that is on by default is on where nothing is set', () => {
  const read = (kind: Kind, content: Record<string, unknown>) =>
    initialValues(fieldsFor(kind.fields, false), object('a', content));
  expect(read(fieldTransforms, {}).CLEAN_KEYS).toBe(true);
  expect(read(fieldTransforms, { CLEAN_KEYS: false }).CLEAN_KEYS).toBe(false);
  expect(read(lookupDefinitions, {}).case_sensitive_match).toBe(true);
});

it('a rename is sent with the name that the server asks for', () => {
  const values = { stanza: 'old', value: 'new' };
  expect(made(sourceTypeRenames, values)).toEqual({ ...values, name: 'rename' });
  expect(problems(sourceTypeRenames, { ...values, stanza: 'host::a' })).toEqual(['stanza']);
  const entry = setting('old', 'rename', 'new');
  expect(sourceTypeRenames.search?.(entry)).toBe('index=* sourcetype="new"');
  expect(sourceTypeRenames.loss(entry)).toContain('events of old');
});

it('a data model has the names of its datasets, and is searched by the first', () => {
  const text = '{"displayName":"Shop","objects":[{"objectName":"Orders"},{"objectName":"Paid"}]}';
  expect(modelOf(text)).toEqual({ title: 'Shop', datasets: ['Orders', 'Paid'] });
  for (const other of ['', '{', '[]', 'null', '{"objects":[1]}']) {
    expect(modelOf(other), other).toEqual({ title: '', datasets: [] });
  }
  const search = (data: string) => dataModels.search?.(object('shop', { 'eai:data': data }));
  expect(search(text)).toBe('| datamodel shop Orders search');
  expect(search('{')).toBeNull();
  expect(copyOf(dataModels.fields, object('shop', {})).name).toBe('shop_copy');
});

it('other objects lead to the events and rows that they are about', () => {
  expect(eventTypes.search?.(object('a b', {}))).toBe('index=* eventtype="a b"');
  expect(tags.search?.(object('host=web=1', {}))).toBe('index=* host="web=1"');
  expect(tags.search?.(object('host=web%201 100% %ff', {}))).toBe('index=* host="web 1 100% %ff"');
  expect(lookupDefinitions.search?.(object('hosts', {}))).toBe('| inputlookup hosts');
  expect(lookupDefinitions.search?.(object('dns', { external_cmd: 'x' }))).toBeNull();
});
