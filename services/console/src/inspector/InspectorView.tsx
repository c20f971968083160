/** The job inspector: where the time of a search went, what it read and left out, what that cost. */

import type { ReactNode } from 'react';
import { explainJobError } from '../api/explain';
import type { Inspection } from '../api/types';
import { grouped } from '../app/format';
import { Notice } from '../app/Notice';
import type { JobResultsProps } from '../search/Results';
import { useLoaded } from '../search/useLoaded';
import styles from './InspectorView.module.css';
import { costText, counterRows, duration, operatorRows, size, tierName } from './inspection';

export function InspectorView({ client, sid, job }: JobResultsProps) {
  const version = `${job.dispatchState}:${job.runDuration}`;
  const { value, error } = useLoaded(sid, version, (signal) => client.inspect(sid, signal));
  return (
    <div className={styles.view} data-testid="inspector">
      {error && <Notice kind="error">{explainJobError(error)}</Notice>}
      {value && <Tables inspection={value} />}
    </div>
  );
}

function Tables({ inspection }: { inspection: Inspection }) {
  return (
    <>
      <p className={styles.line}>Ran {duration(inspection.runDuration)}.</p>
      {inspection.answeredFrom.map((text) => (
        <p key={text} className={styles.line}>
          {text}
        </p>
      ))}
      {inspection.prunedBy.map((expression) => (
        <p key={expression} className={styles.line}>
          Pruned by <code>{expression}</code>
        </p>
      ))}
      <Part title="Phases" columns={['Phase', 'Time', 'Times', 'Rows in', 'Rows out']}>
        {inspection.phases
          .filter((phase) => phase.invocations > 0)
          .map((phase) => (
            <tr key={phase.name}>
              <td>{phase.name}</td>
              <td data-numeric>{duration(phase.seconds)}</td>
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
      <p className={styles.line}>{costText(inspection)}</p>
      <Part title="Left out and read" columns={['What', 'How many']}>
        {counterRows(inspection).map((row) => (
          <tr key={row.what}>
            <td>{row.what}</td>
            <td>{row.counts}</td>
          </tr>
        ))}
      </Part>
      {inspection.plans.map((plan, index) => (
        <Part
          // biome-ignore lint/suspicious/noArrayIndexKey: plans have no identity of their own
          key={index}
          title={inspection.plans.length > 1 ? `Operators of plan ${index + 1}` : 'Operators'}
          columns={['Operator', 'Time', 'Rows', 'Spilled', 'What it does']}
        >
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
      ))}
    </>
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
      <h3 className={styles.title}>{title}</h3>
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
  );
}
