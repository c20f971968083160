/**
 * Keeps the settings of a preview as a source type. The intake reads files of apps alone, so the source type is
 * installed as an app of its own, which takes effect at once in all processes. Without the right to install
 * apps, the stanza is there to copy.
 */

import { Button, Checkbox, TextInput } from '@mantine/core';
import { useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { useClient, useMe } from '../app/clientContext';
import { FormError } from '../app/FormError';
import { Modal } from '../app/Modal';
import { Notice } from '../app/Notice';
import { useSubmit } from '../app/useSubmit';
import { Snippet } from '../objects/Copyable';
import objects from '../objects/Objects.module.css';
import { decodeAppReport, messageText, type Place } from '../settings/appReport';
import { appOf, packSourceType, sourceTypeProblem } from './archive';
import { type Preview, settingsToSave, stanzaText } from './preview';

interface SaveSourceTypeProps {
  preview: Preview;
  onSaved: (name: string, settings: ReturnType<typeof settingsToSave>) => void;
  onClose: () => void;
}

export function SaveSourceType({ preview, onSaved, onClose }: SaveSourceTypeProps) {
  const client = useClient();
  const queries = useQueryClient();
  const me = useMe();
  const { busy, error, submit } = useSubmit();
  const [name, setName] = useState(preview.sourcetype);
  const [isReplaced, setReplaced] = useState(false);
  const [ignored, setIgnored] = useState<Place[] | null>(null);
  const settings = settingsToSave(preview);
  const problem = sourceTypeProblem(name.trim());
  const mayInstall = me?.capabilities.has('edit_local_apps') ?? false;
  const isTaken = error?.kind === 'conflict';

  const save = async (event: FormEvent) => {
    event.preventDefault();
    if (problem) return;
    const called = name.trim();
    await submit(async () => {
      const query = { name: `${appOf(called)}.tar`, update: isReplaced ? '1' : '0' };
      const app = packSourceType(called, settings);
      const report = decodeAppReport(await client.sendBody('/services/apps/upload', app, query));
      await queries.invalidateQueries({ queryKey: ['objects'] });
      await queries.invalidateQueries({ queryKey: ['source-type-names'] });
      onSaved(called, settings);
      if (report.ignored.length > 0) setIgnored(report.ignored);
      else onClose();
    });
  };
  return (
    <Modal
      opened
      onClose={onClose}
      size="lg"
      title="Save as source type"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <form className={objects.form} onSubmit={save} data-testid="save-source-type" noValidate>
        {isTaken ? (
          <Notice kind="warning">{`The app ${appOf(name.trim())} exists already.`}</Notice>
        ) : (
          <FormError error={error} />
        )}
        <TextInput
          label="Name"
          description="The source type that senders set, or that a stanza assigns to a source."
          data-autofocus
          autoComplete="off"
          spellCheck={false}
          value={name}
          error={problem}
          onChange={(event) => setName(event.currentTarget.value)}
        />
        <Snippet label="props.conf" text={stanzaText(name.trim() || 'NAME', settings)} />
        {ignored ? (
          <Notice kind="warning">
            {`Saved, but some of it is not used:\n${ignored.map(messageText).join('\n')}`}
          </Notice>
        ) : mayInstall ? (
          <>
            <p className={objects.help}>
              The server installs it as the app {appOf(name.trim() || 'NAME')}. It takes effect
              immediately for new events; stored events are not changed.
            </p>
            {isTaken && (
              <Checkbox
                size="xs"
                label="Replace the app"
                checked={isReplaced}
                onChange={(event) => setReplaced(event.currentTarget.checked)}
              />
            )}
          </>
        ) : (
          <Notice kind="info">
            To save it here, a role needs the capability edit_local_apps. Otherwise an administrator
            adds the stanza to system/local/props.conf, which takes effect at the next start.
          </Notice>
        )}
        <div className={objects.buttons}>
          <Button variant="default" onClick={onClose}>
            {ignored || !mayInstall ? 'Close' : 'Cancel'}
          </Button>
          {mayInstall && !ignored && (
            <Button
              type="submit"
              loading={busy}
              disabled={problem !== null || settings.length === 0 || (isTaken && !isReplaced)}
            >
              Save
            </Button>
          )}
        </div>
      </form>
    </Modal>
  );
}
