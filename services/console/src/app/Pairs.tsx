/** Names with their values. */

interface PairsProps {
  pairs: readonly (readonly [name: string, value: string])[];
  className?: string | undefined;
  /** What the names have in common. */
  title?: string;
  testId?: string;
}

export function Pairs({ pairs, className, title, testId }: PairsProps) {
  return (
    <dl className={className} data-testid={testId}>
      {pairs.map(([name, value]) => (
        <div key={name}>
          <dt title={title}>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
