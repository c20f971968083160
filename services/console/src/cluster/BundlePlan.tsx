/** What a dry run of the server says of a bundle: the files that it changes, and what is wrong in it. */

import { useState } from 'react';
import { Notice } from '../app/Notice';
import { ShowAll } from '../app/ShowAll';
import styles from './Bundle.module.css';
import { changesText, FINDINGS, filesOf, type Plan, wrappedIn } from './bundle';

/** Entries of a list that are shown at first. */
const SHOWN = 50;

export function BundlePlan({ plan }: { plan: Plan }) {
  const wrapped = wrappedIn(plan);
  return (
    <div className={styles.found} data-testid="bundle-plan">
      <p>{changesText(plan)}</p>
      {wrapped !== null && (
        <Notice kind="warning">
          {`The archive has all files in the directory ${wrapped}, which would be the only app. Pack the directories of the apps, without the directory around them.`}
        </Notice>
      )}
      <Entries
        label="Files"
        entries={filesOf(plan).map(({ word, file }) => ({ word, text: file }))}
      />
      {FINDINGS.map(
        ({ kind, title, isMistake }) =>
          plan[kind].length > 0 && (
            <section key={kind} data-finding={kind} data-mistake={isMistake}>
              <h4>
                {title}: {plan[kind].length}
              </h4>
              <Entries label={title} entries={plan[kind].map((text) => ({ word: '', text }))} />
            </section>
          ),
      )}
    </div>
  );
}

interface EntriesProps {
  label: string;
  entries: { word: string; text: string }[];
}

function Entries({ label, entries }: EntriesProps) {
  const [isWhole, setWhole] = useState(false);
  if (entries.length === 0) return null;
  const shown = isWhole ? entries : entries.slice(0, SHOWN);
  return (
    <>
      <ul aria-label={label}>
        {shown.map(({ word, text }) => (
          <li key={`${word} ${text}`} data-word={word}>
            {word !== '' && <span>{word}</span>} {text}
          </li>
        ))}
      </ul>
      <ShowAll shown={shown.length} all={entries.length} onAll={() => setWhole(true)} />
    </>
  );
}
