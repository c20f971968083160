/** `/settings/KIND/NAME`: users, roles, tokens, apps, knowledge objects, settings. */

import { SETTINGS_TITLES } from '../app/pages';
import { paths, SETTINGS_KINDS, type SettingsKind } from '../app/routing';
import type { Kind } from '../objects/kind';
import { ObjectsPage } from '../objects/ObjectsPage';
import { SectionTabs } from '../objects/SectionTabs';
import { AppsPage } from './AppsPage';
import { apiTokens, roles, users } from './accessKinds';
import { ConfPage } from './ConfPage';
import { dataModels } from './dataModelKind';
import {
  automaticLookups,
  calculatedFields,
  extractions,
  fieldAliases,
  fieldTransforms,
  sourceTypeRenames,
} from './fieldKinds';
import { eventTypes, lookupDefinitions, macros, tags } from './knowledgeKinds';
import { LookupFiles } from './LookupFiles';

const KINDS: Partial<Record<SettingsKind, Kind>> = {
  users,
  roles,
  tokens: apiTokens,
  'lookup-definitions': lookupDefinitions,
  'automatic-lookups': automaticLookups,
  macros,
  eventtypes: eventTypes,
  tags,
  extractions,
  'field-transforms': fieldTransforms,
  'field-aliases': fieldAliases,
  'calculated-fields': calculatedFields,
  'sourcetype-renames': sourceTypeRenames,
  'data-models': dataModels,
};

interface SettingsPageProps {
  kind: SettingsKind;
  name: string | null;
  app: string;
}

export default function SettingsPage({ kind, name, app }: SettingsPageProps) {
  const tabs = SETTINGS_KINDS.map((one) => ({
    label: SETTINGS_TITLES[one],
    href: paths.settings(one),
    isCurrent: one === kind,
  }));
  return (
    <>
      <SectionTabs label="Settings" tabs={tabs} />
      <View key={kind} kind={kind} name={name} app={app} />
    </>
  );
}

function View({ kind, name, app }: SettingsPageProps) {
  const known = KINDS[kind];
  const href = (next: string | null) => paths.settings(kind, next);
  if (known) return <ObjectsPage kind={known} name={name} app={app} href={href} />;
  if (kind === 'apps') return <AppsPage name={name} app={app} />;
  if (kind === 'lookups') return <LookupFiles name={name} app={app} />;
  return <ConfPage file={name} />;
}
