/** Objects in S3: a command that loads them once, and an input for a queue that tells of new ones. */

import { Button, NativeSelect, TextInput } from '@mantine/core';
import { type FormEvent, useState } from 'react';
import { namespaced } from '../api/client';
import { useClient } from '../app/clientContext';
import { FormError } from '../app/FormError';
import { Notice } from '../app/Notice';
import { useSubmit } from '../app/useSubmit';
import { Snippet } from '../objects/Copyable';
import { useOptions } from '../objects/FormFields';
import objects from '../objects/Objects.module.css';
import styles from './AddData.module.css';
import { FirstEvent } from './FirstEvent';
import { queueForm, type S3Target, s3Recipes } from './s3';

const DECODERS = [
  { value: 'CustomLogs', label: 'Lines of the source type' },
  { value: 'CloudTrail', label: 'CloudTrail: each of the Records' },
];

export function S3Objects({ app }: { app: string }) {
  const client = useClient();
  const [target, setTarget] = useState<S3Target>({
    queue: '',
    decoder: 'CustomLogs',
    index: 'main',
    sourcetype: '',
  });
  const [made, setMade] = useState<string | null>(null);
  const { busy, error, submit } = useSubmit();
  const indexes = useOptions({ name: 'index', label: 'Index', kind: 'choice', source: 'indexes' });
  const change = (part: Partial<S3Target>) => setTarget((now) => ({ ...now, ...part }));
  const form = queueForm(target);
  const create = async (event: FormEvent) => {
    event.preventDefault();
    if (!form) return;
    const path = namespaced({ owner: 'nobody', app }, '/services/configs/conf-inputs');
    if (await submit(() => client.change(path, form))) setMade(target.index);
  };
  return (
    <div className={styles.columns}>
      <form className={objects.form} onSubmit={create} data-testid="s3-form">
        <TextInput
          label="URL of the queue (SQS)"
          description="The queue that the bucket notifies of new objects, directly or through SNS or EventBridge."
          placeholder="https://sqs.REGION.amazonaws.com/ACCOUNT/QUEUE"
          spellCheck={false}
          required
          withAsterisk={false}
          value={target.queue}
          error={
            target.queue !== '' && !form ? 'an URL that ends with the name of the queue' : null
          }
          onChange={(event) => change({ queue: event.currentTarget.value.trim() })}
        />
        <NativeSelect
          label="Content of the objects"
          data={DECODERS}
          value={target.decoder}
          onChange={(event) => change({ decoder: event.currentTarget.value })}
        />
        <NativeSelect
          label="Index"
          data={indexes.length > 0 ? indexes : [target.index]}
          value={target.index}
          onChange={(event) => change({ index: event.currentTarget.value })}
        />
        <TextInput
          label="Source type"
          description="Empty: recognised by the content."
          spellCheck={false}
          value={target.sourcetype}
          onChange={(event) => change({ sourcetype: event.currentTarget.value.trim() })}
        />
        <FormError error={error} />
        <Button type="submit" size="xs" loading={busy} disabled={!form || made !== null}>
          Create the input
        </Button>
      </form>
      <div data-testid="recipes">
        {made !== null && <FirstEvent app={app} index={made} />}
        <Notice kind="info">
          The server reads the queue and the objects with its own credentials: the AWS_* variables
          of its process, its profile, or the role of its instance or container.
        </Notice>
        {s3Recipes(target).map((recipe) => (
          <Snippet key={recipe.label} {...recipe} />
        ))}
      </div>
    </div>
  );
}
