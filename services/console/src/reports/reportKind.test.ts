import { expect, it } from 'vitest';
import { decodeReports } from '../api/decode';
import { copyOf, fieldsFor, formOf, initialValues, problemsOf } from '../objects/form';
import { cloneOf, reports, stanzaOf } from './reportKind';

const [REPORT] = decodeReports({
  entry: [
    {
      name: 'disk',
      links: { edit: '/servicesNS/ann/ops/saved/searches/disk' },
      acl: { app: 'ops', owner: 'ann', sharing: 'user', can_write: true, removable: true },
      content: {
        search: 'index=os disk',
        description: 'Full disks',
        'dispatch.earliest_time': '-24h',
        'dispatch.latest_time': 'now',
        cron_schedule: '0 * * * *',
      },
    },
  ],
});
const entry = REPORT?.entry ?? null;
const fields = fieldsFor(reports.fields, false);

it('a changed report sends what was changed, not its schedule', () => {
  const values = initialValues(fields, entry);
  expect(values).toMatchObject({ search: 'index=os disk', 'dispatch.earliest_time': '-24h' });
  expect(fields.map((field) => field.name)).not.toContain('name');
  const changed = { ...values, search: 'index=os', 'dispatch.latest_time': '' };
  expect(formOf(fields, changed, entry)).toEqual({
    search: 'index=os',
    'dispatch.latest_time': '',
  });
});

it('a report has times that searches understand', () => {
  const values = { ...initialValues(fields, entry), 'dispatch.earliest_time': 'yesterday' };
  expect([...problemsOf(fields, values).keys()]).toEqual(['dispatch.earliest_time']);
});

it('a copy has the values of the report', () => {
  const values = entry ? copyOf(reports.fields, entry) : {};
  expect(formOf(fieldsFor(reports.fields, true), values, null)).toEqual({
    name: 'disk copy',
    description: 'Full disks',
    search: 'index=os disk',
    'dispatch.earliest_time': '-24h',
    'dispatch.latest_time': 'now',
  });
});

it('a clone has the schedule, the alert and its actions; it does not run by itself', () => {
  if (!entry) throw new Error('there is no report');
  expect(stanzaOf(entry)).toBe('/servicesNS/ann/ops/configs/conf-savedsearches/disk');
  const content = {
    search: 'index=os disk',
    description: 'Full disks',
    is_scheduled: '1',
    disabled: false,
    cron_schedule: '0 * * * *',
    schedule_window: '5',
    alert_type: 'number of events',
    'alert.severity': '4',
    'action.email': '1',
    'action.email.to': 'ann@example.com',
    'action.email.auth_password': '********',
    actions: 'email',
    'dispatch.ttl': '2p',
    'display.visualizations.type': 'singlevalue',
    'embed.enabled': '1',
    auto_summarize: '1',
    'eai:appName': 'ops',
  };
  const scheduled = { ...entry, content: { ...entry.content, is_scheduled: true } };
  const kind = cloneOf(scheduled, { ...entry, content });
  expect(kind.more).toEqual({
    cron_schedule: '0 * * * *',
    schedule_window: '5',
    alert_type: 'number of events',
    'alert.severity': '4',
    'action.email': '1',
    'action.email.to': 'ann@example.com',
    actions: 'email',
    'dispatch.ttl': '2p',
    'display.visualizations.type': 'singlevalue',
  });
  const values = copyOf(kind.fields, entry);
  expect(
    formOf(fieldsFor(kind.fields, true), { ...values, is_scheduled: false }, null),
  ).toMatchObject({
    name: 'disk copy',
    is_scheduled: '0',
  });
  expect(cloneOf(entry, entry).fields).toBe(reports.fields);
});
