import { expect, it } from 'vitest';
import { decodeReports } from '../api/decode';
import { copyOf, fieldsFor, formOf, initialValues, problemsOf } from '../objects/form';
import { reports } from './reportKind';

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
