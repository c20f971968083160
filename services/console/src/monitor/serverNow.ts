/** The state of the server as it says it directly, without a search, in a few figures. */

import { asObject } from '../api/decode';
import type { Entry } from '../api/types';
import { grouped, percent } from '../app/format';
import { size } from '../inspector/inspection';

export interface Figure {
  label: string;
  value: string;
  level: 'good' | 'warning' | 'bad';
  /** What the level depends on. */
  about: string;
}

const number = (content: Record<string, unknown>, name: string) => Number(content[name] ?? 0) || 0;
const level = (value: number, warning: number, bad: number): Figure['level'] =>
  value >= bad ? 'bad' : value >= warning ? 'warning' : 'good';

/** `health`, `queues`, `cache`: the answers of the server; those that are missing give no figures. */
export function figuresOf(
  health: Entry | undefined,
  queues: Entry | undefined,
  cache: Entry | undefined,
): Figure[] {
  const figures: Figure[] = [];
  if (health) {
    const colour = String(health.content.health ?? '');
    const conditions = Array.isArray(health.content.conditions) ? health.content.conditions : [];
    figures.push({
      label: 'Health',
      value: colour || 'unknown',
      level: colour === 'red' ? 'bad' : colour === 'yellow' ? 'warning' : 'good',
      about:
        conditions.map((one) => String(asObject(one).text ?? one)).join('; ') || 'no condition',
    });
  }
  if (queues) figures.push(...ingestFigures(queues.content));
  if (cache) {
    const { content } = cache;
    const hits = number(content, 'dram_hits') + number(content, 'nvme_hits');
    const all = hits + number(content, 'store_reads');
    figures.push({
      label: 'Cache hits',
      value: all === 0 ? 'no reads yet' : percent(hits, all),
      level: 'good',
      about: `of ${grouped(all)} reads since the start; ${grouped(number(content, 'store_requests'))} requests to object storage`,
    });
  }
  return figures;
}

function ingestFigures(content: Record<string, unknown>): Figure[] {
  const queues = Array.isArray(content.queues) ? content.queues.map(asObject) : [];
  const fill = (queue: Record<string, unknown>) =>
    number(queue, 'bytes') / Math.max(1, number(queue, 'capacity'));
  const fullest = [...queues].sort((a, b) => fill(b) - fill(a))[0];
  const waiting = number(content, 'uploads_waiting');
  const stopped = content.intake_stopped;
  const failure = content.upload_error;
  return [
    {
      label: 'Fullest queue',
      value: fullest ? percent(fill(fullest), 1) || '0%' : 'none',
      level: level(fullest ? fill(fullest) : 0, 0.6, 0.9),
      about: fullest ? `${String(fullest.stage)}; amber above 60 %, red above 90 %` : '',
    },
    {
      label: 'Uploads waiting',
      value: grouped(waiting),
      level: failure ? 'bad' : level(waiting, 10, 100),
      about: failure ? String(failure) : 'buckets; amber above 10, red above 100',
    },
    {
      label: 'Journal',
      value: size(number(content, 'journal_bytes')),
      level: 'good',
      about: `${grouped(number(content, 'journal_segments'))} segments`,
    },
    {
      label: 'Intake',
      value: stopped ? 'stopped' : 'open',
      level: stopped ? 'bad' : 'good',
      about: stopped ? String(stopped) : `${size(number(content, 'disk_free_bytes'))} free on disk`,
    },
  ];
}
