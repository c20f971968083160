/** Saves the search with its time range as a report. */

import { Button, Switch, Textarea, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import code from '../app/Code.module.css';
import { useConnection, useMayShare } from '../app/clientContext';
import { FormError } from '../app/FormError';
import { Modal } from '../app/Modal';
import { useZone } from '../app/preferences';
import { useSubmit } from '../app/useSubmit';
import { asReport } from '../query/typed';
import { REPORTS } from '../reports/reportLists';
import { rangeLabel } from '../time/timeRange';
import styles from './SaveReport.module.css';
import type { SearchRequest } from './urlState';

interface SaveReportProps {
  app: string;
  request: SearchRequest;
  onClose: () => void;
  onSaved: (name: string) => void;
}

export function SaveReport({ app, request, onClose, onSaved }: SaveReportProps) {
  const { client, username } = useConnection();
  const queries = useQueryClient();
  const canShare = useMayShare(app);
  const [zone] = useZone();
  const [name, setName] = useState('');
  const [description, setDescription] = useState('');
  const [shared, setShared] = useState(false);
  const { busy, error, submit } = useSubmit();
  const problem = name.trim() === '' ? 'Give it a name' : null;

  const save = async (event: FormEvent) => {
    event.preventDefault();
    if (problem) return;
    const isSaved = await submit(async () => {
      const report = {
        name: name.trim(),
        description,
        search: asReport(request.query),
        ...request.range,
        shared,
      };
      await client.createReport({ owner: username, app }, report);
      await queries.invalidateQueries({ queryKey: REPORTS });
      onSaved(report.name);
    });
    if (isSaved) onClose();
  };

  return (
    <Modal
      opened
      onClose={onClose}
      title="Save as report"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form className={styles.form} onSubmit={save} data-testid="report-form">
        <FormError error={error} />
        <TextInput
          label="Name"
          name="name"
          data-autofocus
          required
          withAsterisk={false}
          maxLength={100}
          value={name}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Textarea
          label="Description"
          autosize
          minRows={2}
          value={description}
          onChange={(event) => setDescription(event.currentTarget.value)}
        />
        <pre className={`${code.code} ${styles.search}`}>{asReport(request.query)}</pre>
        <p className={styles.note}>Time range: {rangeLabel(request.range, zone)}</p>
        {canShare && (
          <Switch
            size="xs"
            label={`For everybody who uses the app ${app}`}
            checked={shared}
            onChange={(event) => setShared(event.currentTarget.checked)}
          />
        )}
        <Button type="submit" loading={busy} disabled={problem !== null}>
          Save
        </Button>
      </form>
    </Modal>
  );
}
