/** `/data/KIND/NAME`: adding data, indexes, inputs, tokens of senders, source types, the deployment server. */

import { DATA_TITLES } from '../app/pages';
import { DATA_KINDS, type DataKind, paths } from '../app/routing';
import { DeploymentPage } from '../deployment/DeploymentPage';
import type { Kind } from '../objects/kind';
import { ObjectsPage } from '../objects/ObjectsPage';
import { SectionTabs } from '../objects/SectionTabs';
import { sourceTypes } from '../settings/knowledgeKinds';
import { AddDataPage } from './AddDataPage';
import { indexes } from './indexKind';
import { hecTokens, inputs } from './inputKinds';
import { InputsElsewhere } from './NoEvents';

const KINDS: Record<Exclude<DataKind, 'add' | 'deployment'>, Kind> = {
  indexes,
  inputs,
  tokens: hecTokens,
  sourcetypes: sourceTypes,
};

interface DataPageProps {
  kind: DataKind;
  name: string | null;
  app: string;
}

export default function DataPage({ kind, name, app }: DataPageProps) {
  const tabs = DATA_KINDS.map((one) => ({
    label: DATA_TITLES[one],
    href: paths.data(one),
    isCurrent: one === kind,
  }));
  return (
    <>
      <SectionTabs label="Data" tabs={tabs} />
      {kind === 'add' ? (
        <AddDataPage way={name} app={app} />
      ) : kind === 'deployment' ? (
        <DeploymentPage name={name} />
      ) : (
        <ObjectsPage
          key={kind}
          kind={KINDS[kind]}
          name={name}
          app={app}
          href={(next) => paths.data(kind, next)}
        >
          {kind === 'inputs' && <InputsElsewhere />}
        </ObjectsPage>
      )}
    </>
  );
}
