/** The job inspector: where the time of a search went, what it read and left out, what that cost. */

import type { ReactNode } from 'react';
import type { KarstClient } from '../api/client';
import { explainJobError } from '../api/explain';
import type { InspectedOperator, InspectedPhase, Inspection, JobStatus } from '../api/types';
import { grouped, percent } from '../app/format';
import { Notice } from '../app/Notice';
import { compare, type Estimate, estimateOf, truthOf } from '../search/estimate';
import { useLoaded } from '../search/useLoaded';
import { conclusions } from './conclusion';
import styles from './InspectorView.module.css';
import {
  costText,
  counterRows,
  duration,
  longest,
  operatorRows,
  size,
  tierName,
} from './inspection';

interface InspectorViewProps {
  client: KarstClient;
  sid: string;
  job: JobStatus;
}

export function InspectorView({ client, sid, job }: InspectorViewProps) {
  const version = `${job.dispatchState}:${job.runDuration}`;
  const { value, error } = useLoaded(sid, version, (signal) => client.inspect(sid, signal));
  return (
    <div className={styles.view} data-testid="inspector">
      {error && <Notice kind="error">{explainJobError(error)}</Notice>}
      {value && <Tables inspection={value} estimate={estimateOf(localStorage, sid)} />}
    </div>
  );
}

const PART_COLUMNS = [
  'Indexer',
  'Buckets',
  'Scanned',
  'Matched',
  'CPU',
  'Read',
  'From object storage',
  'Longest phases',
];

interface TablesProps {
  inspection: Inspection;
  /** Of a search that was run in this browser. */
  estimate: Estimate | null;
}

function Tables({ inspection, estimate }: TablesProps) {
  return (
    <>
      <section className={styles.conclusion} aria-label="Conclusion" data-testid="conclusion">
        {conclusions(inspection).map((sentence) => (
          <p key={sentence}>{sentence}</p>
        ))}
        <p>{costText(inspection)}</p>
      </section>
      {inspection.answeredFrom.map((text) => (
        <p key={text} className={styles.line}>
          {text}
        </p>
      ))}
      {inspection.prunedBy.map((expression) => (
        <p key={expression} className={styles.line}>
          Looked up in the term index: <code>{expression}</code>
        </p>
      ))}
      <Part title="Phases" columns={['Phase', 'Time', 'Share', 'Times', 'Rows in', 'Rows out']}>
        {inspection.phases
          .filter((phase) => phase.invocations > 0)
          .map((phase) => (
            <tr key={phase.name}>
              <td>{phase.name}</td>
              <td data-numeric>{duration(phase.seconds)}</td>
              <td>
                <Share of={phase.seconds} all={inspection.phases} />
              </td>
              <td data-numeric>{grouped(phase.invocations)}</td>
              <td data-numeric>{phase.rowsIn === null ? '' : grouped(phase.rowsIn)}</td>
              <td data-numeric>{phase.rowsOut === null ? '' : grouped(phase.rowsOut)}</td>
            </tr>
          ))}
      </Part>
      <Part title="Read" columns={['Tier', 'Bytes', 'Blocks', 'Time']}>
        {inspection.tiers.map((tier) => (
          <tr key={tier.name}>
            <td>{tierName(tier.name)}</td>
            <td data-numeric>{size(tier.bytes)}</td>
            <td data-numeric>{grouped(tier.blocks)}</td>
            <td data-numeric>{duration(tier.seconds)}</td>
          </tr>
        ))}
      </Part>
      {inspection.parts.length > 0 && (
        <Part title="Parts on indexers" columns={PART_COLUMNS}>
          {inspection.parts.map((part, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: an indexer may have several parts
            <tr key={index}>
              <td>{part.indexer}</td>
              <td data-numeric>{grouped(part.buckets)}</td>
              <td data-numeric>{grouped(part.scanned)}</td>
              <td data-numeric>{grouped(part.matched)}</td>
              <td data-numeric>{duration(part.cpu)}</td>
              <td data-numeric>{size(part.bytes)}</td>
              <td data-numeric>{size(part.storeBytes)}</td>
              <td>{longest(part.phases)}</td>
            </tr>
          ))}
        </Part>
      )}
      {estimate && (
        <Part title="Estimate before the run" columns={['What', 'At most', 'Read', 'Share']}>
          {compare(estimate, truthOf(inspection), inspection.pricePer1000).map((row) => (
            <tr key={row.what}>
              <td>{row.what}</td>
              <td data-numeric>{row.estimated}</td>
              <td data-numeric>{row.read}</td>
              <td data-numeric>{row.share}</td>
            </tr>
          ))}
        </Part>
      )}
      <Part title="Pruned and read" columns={['What', 'How many']}>
        {counterRows(inspection).map((row) => (
          <tr key={row.what}>
            <td>{row.what}</td>
            <td>{row.counts}</td>
          </tr>
        ))}
      </Part>
      {inspection.plans.map((plan, index) => (
        <Operators
          // biome-ignore lint/suspicious/noArrayIndexKey: plans have no identity of their own
          key={index}
          title={inspection.plans.length > 1 ? `Operators of plan ${index + 1}` : 'Operators'}
          plan={plan}
        />
      ))}
      {inspection.partPlans.map(({ indexer, plan }, index) => (
        <Operators
          // biome-ignore lint/suspicious/noArrayIndexKey: an indexer may have several parts
          key={index}
          title={`Operators of part ${index + 1}, on ${indexer}`}
          plan={plan}
        />
      ))}
    </>
  );
}

/** The operators of a plan, the last one first. */
function Operators({ title, plan }: { title: string; plan: InspectedOperator }) {
  return (
    <Part title={title} columns={['Operator', 'Time', 'Rows', 'Spilled', 'What it does']}>
      {operatorRows(plan).map(({ depth, operator }, row) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a plan's operators keep their places
        <tr key={row}>
          <td style={{ paddingLeft: 8 + 14 * depth }}>{operator.name}</td>
          <td data-numeric>{duration(operator.seconds)}</td>
          <td data-numeric>{operator.rows === null ? '' : grouped(operator.rows)}</td>
          <td data-numeric>{operator.spilledBytes > 0 ? size(operator.spilledBytes) : ''}</td>
          <td className={styles.detail} title={operator.detail}>
            {operator.detail}
          </td>
        </tr>
      ))}
    </Part>
  );
}

/** The part of all work, as a bar beside its number. */
function Share({ of, all }: { of: number; all: InspectedPhase[] }) {
  const whole = all.reduce((sum, phase) => sum + phase.seconds, 0);
  return (
    <span className={styles.share}>
      <span>
        <span style={{ width: `${whole > 0 ? (100 * of) / whole : 0}%` }} />
      </span>
      {percent(of, whole)}
    </span>
  );
}

interface PartProps {
  title: string;
  columns: string[];
  children: ReactNode;
}

function Part({ title, columns, children }: PartProps) {
  return (
    <section>
      <h2 className={styles.title}>{title}</h2>
      <section
        className={styles.scroll}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: keys scroll it
        tabIndex={0}
        aria-label={title}
      >
        <table className={styles.table}>
          <thead>
            <tr>
              {columns.map((name) => (
                <th key={name} scope="col">
                  {name}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>{children}</tbody>
        </table>
      </section>
    </section>
  );
}
