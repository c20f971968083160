/** Saves the search with its time range as a panel: of a dashboard that is there, or of a new one. */

import { Button, NativeSelect, Radio, Select, TextInput } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import code from '../app/Code.module.css';
import { FormError } from '../app/FormError';
import { Modal } from '../app/Modal';
import { navigate, paths } from '../app/routing';
import { useSubmit } from '../app/useSubmit';
import { panelXml, withPanel } from '../dashboards/edit/operations';
import { reportOfText } from '../dashboards/model/features';
import { bareDashboard, idOf, isId } from '../dashboards/pages/newDashboard';
import { useConnection } from '../dashboards/useConnection';
import { kindOf, PANEL_KINDS, targetOf } from './panelKinds';
import styles from './SaveReport.module.css';
import type { SearchRequest } from './urlState';

interface SavePanelProps {
  app: string;
  request: SearchRequest;
  /** The commands that make rows; null for events. */
  reportSearch: string | null;
  onClose: () => void;
}

export default function SavePanel({ app, request, reportSearch, onClose }: SavePanelProps) {
  const { server } = useConnection();
  const [isNew, setNew] = useState(true);
  const [title, setTitle] = useState('');
  const [chosenTarget, setTarget] = useState<string | null>(null);
  const [panelTitle, setPanelTitle] = useState('');
  const [kind, setKind] = useState(() => kindOf(reportSearch));
  const { busy, error, submit } = useSubmit();
  const { data: views } = useQuery({
    queryKey: ['views', app],
    queryFn: () => server.listViews(app),
  });
  const own = (views ?? []).filter(
    (view) =>
      view.app === app &&
      view.isDashboard &&
      view.canWrite &&
      reportOfText(view.text).level !== 'none',
  );
  const target = targetOf(
    chosenTarget,
    own.map((view) => view.name),
  );
  const name = idOf(title);
  const isTaken = isNew && (views ?? []).some((view) => view.app === app && view.name === name);
  const isReady = isNew ? isId(name) && !isTaken : target !== null;

  const save = async (event: FormEvent) => {
    event.preventDefault();
    if (!isReady) return;
    const chosen = PANEL_KINDS.find((one) => one.value === kind) ?? PANEL_KINDS[0];
    const xml = panelXml({
      kind: chosen.element,
      title: panelTitle.trim(),
      search: request.query || '*',
      ...request.range,
      options: chosen.options,
    });
    const isSaved = await submit(async () => {
      if (isNew) {
        await server.createView(app, name, withPanel(bareDashboard(title.trim()), xml, {}));
        return;
      }
      // As it is now: somebody else may have changed it.
      const view = await server.readView(app, target ?? '');
      await server.saveView(view, withPanel(view.text.replace(/^\uFEFF/, ''), xml, {}));
    });
    if (isSaved) navigate(paths.dashboard(app, isNew ? name : (target ?? '')));
  };

  return (
    <Modal
      opened
      onClose={onClose}
      title="Save as dashboard panel"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form className={styles.form} onSubmit={save} data-testid="panel-form">
        <FormError error={error} />
        <Radio.Group
          label="Dashboard"
          value={isNew ? 'new' : 'existing'}
          onChange={(value) => setNew(value === 'new')}
        >
          <div className={styles.radios}>
            <Radio value="new" label="A new one" />
            <Radio
              value="existing"
              label={`One of the app ${app} (${own.length})`}
              disabled={own.length === 0}
            />
          </div>
        </Radio.Group>
        {isNew ? (
          <TextInput
            label="Title of the dashboard"
            data-autofocus
            required
            withAsterisk={false}
            maxLength={100}
            error={isTaken ? `There is a dashboard with the id ${name}` : null}
            value={title}
            onChange={(event) => setTitle(event.currentTarget.value)}
          />
        ) : (
          <Select
            label="Add it at the end of"
            searchable
            data={own.map((view) => ({ value: view.name, label: view.label }))}
            value={target}
            onChange={setTarget}
          />
        )}
        <TextInput
          label="Title of the panel"
          maxLength={100}
          value={panelTitle}
          onChange={(event) => setPanelTitle(event.currentTarget.value)}
        />
        <NativeSelect
          label="Shown as"
          data={PANEL_KINDS.map(({ value, label }) => ({ value, label }))}
          value={kind}
          onChange={(event) => setKind(event.currentTarget.value)}
        />
        <pre className={`${code.code} ${styles.search}`}>{request.query || '*'}</pre>
        <Button type="submit" loading={busy} disabled={!isReady}>
          Save
        </Button>
      </form>
    </Modal>
  );
}
