/** What reads objects of S3: the stanza of a queue, and the command for objects that exist. */

import type { Form } from '../objects/kind';
import { type Recipe, shell } from './recipes';

export interface S3Target {
  queue: string;
  decoder: string;
  index: string;
  sourcetype: string;
}

/** The name of the queue at the end of its URL, which names the input; null for another text. */
const queueName = (queue: string): string | null =>
  /^https?:\/\/[^/\s]+(?:\/[^/\s]+)*\/([\w.-]+)$/.exec(queue)?.[1] ?? null;

function settingsOf({ queue, decoder, index, sourcetype }: S3Target): Record<string, string> {
  const settings: Record<string, string> = {
    sqs_queue_url: queue,
    s3_file_decoder: decoder,
    index,
  };
  if (sourcetype !== '') settings.sourcetype = sourcetype;
  return settings;
}

/** The new stanza of `inputs.conf`; null while the URL is not one of a queue. */
export function queueForm(target: S3Target): Form | null {
  const name = queueName(target.queue);
  return name === null ? null : { name: `aws_sqs_based_s3://${name}`, ...settingsOf(target) };
}

export function s3Recipes(target: S3Target): Recipe[] {
  const queue = target.queue || 'https://sqs.REGION.amazonaws.com/ACCOUNT/QUEUE';
  const stanza = Object.entries(settingsOf({ ...target, queue })).map(
    ([name, value]) => `${name} = ${value}`,
  );
  const sourcetype = target.sourcetype === '' ? '' : ` --sourcetype ${shell(target.sourcetype)}`;
  return [
    {
      label: 'Objects that exist, once: with the AWS_* credentials of the shell',
      text: `AWS_REGION=REGION karst add s3://BUCKET/PREFIX/ --index ${shell(target.index)}${sourcetype}`,
    },
    {
      label: 'New objects, in inputs.conf',
      text: [`[aws_sqs_based_s3://${queueName(queue) ?? 'QUEUE'}]`, ...stanza].join('\n'),
    },
  ];
}
