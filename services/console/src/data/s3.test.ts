import { expect, it } from 'vitest';
import { queueForm, s3Recipes } from './s3';

const target = {
  queue: 'https://sqs.eu-central-1.amazonaws.com/123456789012/trail',
  decoder: 'CloudTrail',
  index: 'aws',
  sourcetype: 'aws:cloudtrail',
};

it('a queue that tells of objects is an input with its name', () => {
  expect(queueForm(target)).toEqual({
    name: 'aws_sqs_based_s3://trail',
    sqs_queue_url: target.queue,
    s3_file_decoder: 'CloudTrail',
    index: 'aws',
    sourcetype: 'aws:cloudtrail',
  });
  for (const queue of ['', 'trail', 'https://sqs.eu-central-1.amazonaws.com', 'https://x/a b']) {
    expect(queueForm({ ...target, queue })).toBeNull();
  }
});

it('the recipes are the command for existing objects, and the stanza for new ones', () => {
  expect(s3Recipes({ ...target, sourcetype: 'a b' }).map(({ text }) => text)).toEqual([
    "AWS_REGION=REGION karst add s3://BUCKET/PREFIX/ --index aws --sourcetype 'a b'",
    `[aws_sqs_based_s3://trail]\nsqs_queue_url = ${target.queue}\ns3_file_decoder = CloudTrail\nindex = aws\nsourcetype = a b`,
  ]);
  expect(s3Recipes({ ...target, queue: '' })[1]?.text).toContain('[aws_sqs_based_s3://QUEUE]');
});
