/** Apps: the list, the upload of a packed app, and the report of what of it works here. */

import { Button, Checkbox, FileButton } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useClient, useMe } from '../app/clientContext';
import { FormError } from '../app/FormError';
import { plural } from '../app/format';
import { ListTable } from '../app/ListTable';
import { Modal } from '../app/Modal';
import { paths } from '../app/routing';
import { useSubmit } from '../app/useSubmit';
import { column, type Kind } from '../objects/kind';
import styles from '../objects/Objects.module.css';
import { ObjectsPage } from '../objects/ObjectsPage';
import { type AppReport, decodeAppReport } from './appReport';

const apps: Kind = {
  title: 'Apps',
  noun: 'app',
  about:
    'An app has dashboards, reports, source types, lookups and other knowledge. Apps made for Splunk are installed unchanged: the report shows which parts are used.',
  path: '/services/apps/local',
  isOfApps: false,
  capability: 'edit_local_apps',
  columns: [
    column('Title', 'label'),
    column('Version', 'version'),
    column('Author', 'author'),
    column('Description', 'description'),
    {
      label: 'From',
      text: (entry) =>
        entry.content.installed === true
          ? 'upload'
          : entry.content.core === true
            ? 'built in'
            : 'files or REST',
    },
  ],
  fields: [
    {
      name: 'name',
      label: 'Name',
      kind: 'text',
      isRequired: true,
      when: 'new',
      help: 'Its address; letters, digits, _ - .',
    },
    { name: 'label', label: 'Title', kind: 'text' },
    { name: 'description', label: 'Description', kind: 'text' },
    { name: 'visible', label: 'Shown among the apps', kind: 'switch', initial: true },
  ],
  loss: (entry) =>
    `The dashboards, reports, lookups and all other objects in the app ${entry.name} are removed, including those that users have created there. Events are kept.`,
  isRemovalTyped: true,
};

export function AppsPage({ name, app }: { name: string | null; app: string }) {
  const me = useMe();
  const [isOpen, setOpen] = useState(false);
  return (
    <ObjectsPage kind={apps} name={name} app={app} href={(next) => paths.settings('apps', next)}>
      {me?.capabilities.has(apps.capability) && (
        <div>
          <Button
            size="xs"
            variant="default"
            onClick={() => setOpen(true)}
            data-testid="upload-app"
          >
            Upload an app archive …
          </Button>
        </div>
      )}
      {isOpen && <UploadDialog onClose={() => setOpen(false)} />}
    </ObjectsPage>
  );
}

function UploadDialog({ onClose }: { onClose: () => void }) {
  const client = useClient();
  const queries = useQueryClient();
  const [file, setFile] = useState<File | null>(null);
  const [isUpdate, setUpdate] = useState(false);
  const { busy, error, submit } = useSubmit();
  const [report, setReport] = useState<AppReport | null>(null);

  const upload = async (event: FormEvent) => {
    event.preventDefault();
    if (!file) return;
    await submit(async () => {
      const query = { name: file.name, update: isUpdate ? '1' : '0' };
      setReport(decodeAppReport(await client.sendBody('/services/apps/upload', file, query)));
      await queries.invalidateQueries({ queryKey: ['objects'] });
      await queries.invalidateQueries({ queryKey: ['apps'] });
    });
  };
  return (
    <Modal
      opened
      onClose={onClose}
      size="xl"
      title={report ? `The app ${report.app} is installed` : 'Upload an app'}
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      {report ? (
        <ReportView report={report} onClose={onClose} />
      ) : (
        <form className={styles.form} onSubmit={upload}>
          <FormError error={error} />
          <p>A .tgz, .tar.gz, .spl or .tar file. Programs of the app are not run by this page.</p>
          <div className={styles.secret}>
            <FileButton onChange={setFile} accept=".tgz,.gz,.spl,.tar">
              {(props) => (
                <Button variant="default" {...props}>
                  Choose a file …
                </Button>
              )}
            </FileButton>
            <span role="status">{file ? file.name : 'No file is chosen'}</span>
          </div>
          <Checkbox
            size="xs"
            label="Replace an app of the same name; changes made here (local) are kept"
            checked={isUpdate}
            onChange={(event) => setUpdate(event.currentTarget.checked)}
          />
          <div className={styles.buttons}>
            <Button variant="default" onClick={onClose}>
              Cancel
            </Button>
            <Button type="submit" loading={busy} disabled={!file}>
              Upload
            </Button>
          </div>
        </form>
      )}
    </Modal>
  );
}

function ReportView({ report, onClose }: { report: AppReport; onClose: () => void }) {
  const { files, gains, notUsed, used, ignored, notes } = report;
  return (
    <div className={styles.form} data-testid="app-report">
      <p>
        {plural(files, 'file')}; settings used: {used || 'none'}.
        {notUsed.length === 0 && ignored.length === 0 && ' All of it is used.'}
      </p>
      {gains.length > 0 && <Places caption="What it adds" head="Part" places={gains} />}
      {notUsed.length > 0 && (
        <Places
          caption={`Not used or shown in part: ${notUsed.length}`}
          head="File and line"
          places={notUsed}
        />
      )}
      {ignored.length > 0 && (
        <Places
          caption={`Mistakes that are ignored: ${ignored.length}`}
          head="File and line"
          places={ignored}
        />
      )}
      {notes.length > 0 && (
        <Places
          caption={`Notes, without effect on the app: ${notes.length}`}
          head="File and line"
          places={notes}
        />
      )}
      <div className={styles.buttons}>
        <Button onClick={onClose}>Done</Button>
      </div>
    </div>
  );
}

function Places(props: { caption: string; head: string; places: AppReport['gains'] }) {
  return (
    <ListTable columns={[props.head, 'What']} label={props.caption} caption={props.caption}>
      {props.places.map((one) => (
        <tr key={`${one.place}\u0000${one.text}`}>
          <td>{one.place}</td>
          <td>{one.text}</td>
        </tr>
      ))}
    </ListTable>
  );
}
