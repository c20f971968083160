/** The drilldown of an element, in the form of the editor: what a click on it does. */

import { Button, NativeSelect } from '@mantine/core';
import { IconPlus } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { childOf, childrenOf, textOf, type XmlElement } from '../model/xml';
import { useConnection } from '../useConnection';
import {
  ACTION_FIELDS,
  ACTION_NAMES,
  actionsOf,
  clickSelection,
  conditionFields,
  type Link,
  NEW_TAB,
  ON_CLICK,
  onClickChoices,
  onClickOf,
  readLink,
  unknownIn,
  withAction,
  withClickSelection,
  withCondition,
  withHref,
  withNamed,
  withOnClick,
  withoutAction,
  withoutDrilldown,
  withParameter,
  withView,
} from './drilldown';
import styles from './Editing.module.css';
import { AddMenu, Fields, type FormProps, Remove, TypedText } from './FormParts';
import { useColumns } from './useColumns';

interface DrilldownProps extends Pick<FormProps, 'app' | 'onEdit'> {
  /** The element, its drilldown, or a part of it. */
  element: XmlElement;
}

export function DrilldownForm({ app, element, onEdit }: DrilldownProps) {
  const drilldown = childOf(element, 'drilldown');
  const onClick = onClickOf(element);
  const columns = useColumns(element.start);
  const choices = onClickChoices(element).map((value) => ({ value, label: ON_CLICK[value] }));
  return (
    <>
      <h3>Drilldown</h3>
      <NativeSelect
        size="xs"
        label="On click"
        data-testid="on-click"
        description={onClick === 'several' ? 'To choose one, remove the others' : undefined}
        disabled={onClick === 'several'}
        data={
          onClick === 'several'
            ? [{ value: 'several', label: 'Several actions' }, ...choices]
            : choices
        }
        value={onClick}
        onChange={(event) => {
          const next = event.currentTarget.value as keyof typeof ON_CLICK;
          onEdit((text) => withOnClick(text, element.start, next, app));
        }}
      />
      {element.name === 'table' && onClick !== 'none' && (
        <NativeSelect
          size="xs"
          label="Click selection"
          data={[
            { value: 'cell', label: 'Cell' },
            { value: 'row', label: 'Row' },
          ]}
          value={clickSelection(element)}
          onChange={(event) => {
            const next = event.currentTarget.value === 'row' ? 'row' : 'cell';
            onEdit((text) => withClickSelection(text, element.start, next));
          }}
        />
      )}
      {drilldown && (
        <Handler
          app={app}
          element={drilldown}
          drilldown={drilldown}
          columns={columns}
          onEdit={onEdit}
        />
      )}
    </>
  );
}

interface PartProps extends DrilldownProps {
  drilldown: XmlElement;
}

interface HandlerProps extends PartProps {
  columns: readonly string[];
}

/** The actions of a drilldown or a condition, and the conditions. */
function Handler({ app, element, drilldown, columns, onEdit }: HandlerProps) {
  const conditions = element === drilldown ? childrenOf(element, 'condition') : [];
  return (
    <>
      {actionsOf(element).map((action, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: actions are their order
        <Action key={at} app={app} element={action} drilldown={drilldown} onEdit={onEdit} />
      ))}
      {conditions.map((condition, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: conditions are their order
        <section key={at} className={styles.group} aria-label={`Condition ${at + 1}`}>
          <header>
            Condition {at + 1}
            <Remove
              label={`Remove condition ${at + 1}`}
              onRemove={() =>
                onEdit((text) => withoutAction(text, drilldown.start, condition.start))
              }
            />
          </header>
          <Fields fields={conditionFields(columns)} element={condition} onEdit={onEdit} />
          <Handler
            app={app}
            element={condition}
            drilldown={drilldown}
            columns={columns}
            onEdit={onEdit}
          />
        </section>
      ))}
      <Unknown part={element} />
      <div className={styles.tabs}>
        <AddMenu
          label="Add an action"
          choices={ACTION_NAMES}
          onAdd={(kind) => onEdit((text) => withAction(text, element.start, kind, app))}
        />
        {element === drilldown && (
          <>
            <Button
              variant="default"
              size="compact-sm"
              leftSection={<IconPlus size={14} />}
              onClick={() => onEdit((text) => withCondition(text, drilldown.start, '*'))}
            >
              Add a condition
            </Button>
            <Button
              variant="default"
              size="compact-sm"
              onClick={() => onEdit((text) => withoutDrilldown(text, drilldown.start))}
            >
              Remove all
            </Button>
          </>
        )}
      </div>
    </>
  );
}

const LINK_NAMES: Record<Link['kind'], string> = {
  search: ACTION_NAMES.search,
  dashboard: ACTION_NAMES.dashboard,
  address: ACTION_NAMES.address,
};
const TOKEN_NAMES: Record<string, string> = {
  set: ACTION_NAMES.set,
  unset: ACTION_NAMES.unset,
  eval: ACTION_NAMES.eval,
};

function Action({ app, element, drilldown, onEdit }: PartProps) {
  const isLink = element.name === 'link';
  const href = textOf(element);
  const name = isLink ? LINK_NAMES[readLink(href).kind] : (TOKEN_NAMES[element.name] ?? '');
  return (
    <section className={styles.group} aria-label={name} data-testid="action">
      <header>
        {name}
        <Remove
          label={`Remove: ${name}`}
          onRemove={() => onEdit((text) => withoutAction(text, drilldown.start, element.start))}
        />
      </header>
      {isLink ? (
        <LinkForm app={app} element={element} drilldown={drilldown} onEdit={onEdit} />
      ) : (
        <Fields fields={ACTION_FIELDS[element.name] ?? []} element={element} onEdit={onEdit} />
      )}
      <Unknown part={element} />
    </section>
  );
}

/** Names what stays as it is written. */
function Unknown({ part }: { part: XmlElement }) {
  const unknown = unknownIn(part);
  if (unknown.length === 0) return null;
  return <p className={styles.hint}>Edit in the source: {unknown.join(', ')}.</p>;
}

const SEARCH_PARTS: [name: string, label: string][] = [
  ['q', 'Search'],
  ['earliest', 'Earliest'],
  ['latest', 'Latest'],
];

function LinkForm({ app, element, drilldown, onEdit }: PartProps) {
  const href = textOf(element);
  const link = readLink(href);
  const write = (change: (href: string) => string) =>
    onEdit((text) => withHref(text, element.start, change(href)));
  const inherited = drilldown.attributes.get('target') ?? '';
  const newTab =
    inherited === ''
      ? NEW_TAB
      : { ...NEW_TAB, choices: { _self: 'No', _blank: 'Yes' }, usual: inherited };
  return (
    <>
      {link.kind === 'search' &&
        SEARCH_PARTS.map(([name, label]) => (
          <TypedText
            key={name}
            label={label}
            value={link.parameters.find(([known]) => known === name)?.[1] ?? ''}
            onChange={(value) => write((now) => withNamed(now, name, value))}
          />
        ))}
      {link.kind === 'dashboard' && (
        <>
          <DashboardChoice
            app={app}
            link={link}
            onChange={(of, view) => write((now) => withView(now, of, view))}
          />
          <Parameters link={link} onWrite={write} />
        </>
      )}
      {link.kind === 'address' && (
        <TypedText label="URL" value={href} onChange={(next) => write(() => next)} />
      )}
      <Fields fields={[newTab]} element={element} onEdit={onEdit} />
    </>
  );
}

/** Pages of an app beside its dashboards. */
const PAGES = new Set(['reports', 'dashboards']);

interface DashboardChoiceProps {
  app: string;
  link: Link;
  onChange: (app: string, view: string) => void;
}

function DashboardChoice({ app, link, onChange }: DashboardChoiceProps) {
  const { server } = useConnection();
  const { data } = useQuery({
    queryKey: ['views', app],
    queryFn: () => server.listViews(app),
  });
  const now = JSON.stringify([link.app || app, link.view]);
  const all = (data ?? [])
    .filter((view) => view.isDashboard)
    .map((view) => ({
      value: JSON.stringify([view.app, view.name]),
      label:
        view.app === app ? view.label || view.name : `${view.label || view.name} (${view.app})`,
    }));
  const isKnown = all.some(({ value }) => value === now);
  // Of another app, only what it shares is known here.
  const isOwn = link.app === '' || link.app === app;
  const isThere = PAGES.has(link.view) || data?.some(({ name }) => name === link.view);
  const isMissing = data !== undefined && isOwn && !isThere && !link.view.includes('$');
  return (
    <NativeSelect
      size="xs"
      label="Dashboard"
      error={isMissing ? `Choose a dashboard: ${link.view} does not exist` : undefined}
      data={isKnown ? all : [{ value: now, label: link.view }, ...all]}
      value={now}
      onChange={(event) => {
        const [of = app, view = ''] = JSON.parse(event.currentTarget.value) as string[];
        onChange(of, view);
      }}
    />
  );
}

interface ParametersProps {
  link: Link;
  onWrite: (change: (href: string) => string) => void;
}

function Parameters({ link, onWrite }: ParametersProps) {
  const { parameters } = link;
  return (
    <div>
      <div className={styles.label}>Parameters</div>
      {parameters.map(([name, value], at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: parameters are their order
        <div key={at} className={styles.choice}>
          <TypedText
            isBare
            label={`Name of parameter ${at + 1}`}
            value={name}
            onChange={(next) => onWrite((href) => withParameter(href, at, [next, value]))}
          />
          <TypedText
            isBare
            label={`Value of parameter ${at + 1}`}
            value={value}
            onChange={(next) => onWrite((href) => withParameter(href, at, [name, next]))}
          />
          <Remove
            label={`Remove ${name}`}
            onRemove={() => onWrite((href) => withParameter(href, at, null))}
          />
        </div>
      ))}
      <Button
        variant="default"
        size="compact-xs"
        leftSection={<IconPlus size={12} />}
        onClick={() =>
          onWrite((href) => withParameter(href, parameters.length, ['form.field', '$click.value$']))
        }
      >
        Add a parameter
      </Button>
      <p className={styles.hint}>form.TOKEN sets an input of the dashboard.</p>
    </div>
  );
}
