/**
 * `/data/deployment`: forwarders that phone home, what they have and what failed; server classes; apps. Looks again
 * every few seconds.
 */

import { Button } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ConfirmDialog } from '../app/ConfirmDialog';
import { useClient, useMe } from '../app/clientContext';
import { plural } from '../app/format';
import list from '../app/List.module.css';
import { Notice } from '../app/Notice';
import { PageLink } from '../app/PageLink';
import { useZone } from '../app/preferences';
import { paths } from '../app/routing';
import { asApiError } from '../app/useSubmit';
import { useTitle } from '../app/useTitle';
import objects from '../objects/Objects.module.css';
import { Empty } from '../states/Empty';
import { Failed } from '../states/Failed';
import { NotAllowed } from '../states/NotAllowed';
import { Skeleton } from '../states/Skeleton';
import { StaleStripe } from '../states/Stripe';
import { formatEpoch } from '../time/zone';
import { Apps, Classes } from './ClassesAndApps';
import styles from './Deployment.module.css';
import {
  DEPLOYMENT,
  decodeApp,
  decodeClass,
  decodeForwarder,
  decodeState,
  type ServerState,
} from './deployment';
import { Forwarders } from './Forwarders';

/** Milliseconds between two looks. */
const EVERY = 10_000;
/** What the server asks for: to see it, and to change it. */
const SEES = 'list_deployment_server';
const CHANGES = 'edit_deployment_server';

const VIEWS = ['forwarders', 'serverclasses', 'applications'] as const;
type View = (typeof VIEWS)[number];

export function DeploymentPage({ name }: { name: string | null }) {
  useTitle('Deployment server');
  const client = useClient();
  const queries = useQueryClient();
  const me = useMe();
  const [isReloading, setReloading] = useState(false);
  const isAllowed = me?.capabilities.has(SEES) ?? false;
  const mayChange = me?.capabilities.has(CHANGES) ?? false;
  const { data, error, isPending, dataUpdatedAt, refetch } = useQuery({
    queryKey: ['deployment'],
    enabled: isAllowed,
    refetchInterval: EVERY,
    queryFn: async ({ signal }) => {
      const list = (path: string) => client.entries(`${DEPLOYMENT}/${path}`, signal);
      const state = decodeState(await list('config'));
      if (!state.isOn) return { state, forwarders: [], classes: [], apps: [] };
      const [forwarders, classes, apps] = await Promise.all([
        list('clients'),
        list('serverclasses'),
        list('applications'),
      ]);
      return {
        state,
        forwarders: forwarders.map(decodeForwarder),
        classes: classes.map(decodeClass),
        apps: apps.map(decodeApp),
      };
    },
  });
  if (me && !isAllowed) return <NotAllowed capability={SEES} />;
  const again = () => queries.invalidateQueries({ queryKey: ['deployment'] });
  const view = VIEWS.find((one) => one === name) ?? VIEWS[0];
  const numbers: Record<View, number> = {
    forwarders: data?.forwarders.length ?? 0,
    serverclasses: data?.classes.length ?? 0,
    applications: data?.apps.length ?? 0,
  };
  return (
    <div className={list.page}>
      <header className={list.head}>
        <h1>Deployment server</h1>
        {data?.state.isOn && (
          <span role="status">{plural(data.forwarders.length, 'forwarder')}</span>
        )}
        {data && mayChange && (
          <div className={list.filters}>
            <Button
              size="xs"
              variant="default"
              onClick={() => setReloading(true)}
              data-testid="reload"
            >
              Reload …
            </Button>
          </div>
        )}
      </header>
      <p className={objects.about}>
        A deployment server tells forwarders which apps to install: serverclass.conf assigns apps to
        forwarders, the apps are directories in deployment-apps. Forwarders check once a minute.
      </p>
      {error &&
        (data ? (
          <StaleStripe
            since={dataUpdatedAt}
            reason={error.message}
            onRetry={() => void refetch()}
          />
        ) : (
          <Failed error={asApiError(error)} onRetry={() => void refetch()} />
        ))}
      {isPending && !error && <Skeleton lines={6} />}
      {data && <State state={data.state} />}
      {data && !data.state.isOn && (
        <Empty title="This process is not a deployment server" testId="no-deployment">
          <p>
            Add server classes to system/local/serverclass.conf in its configuration directory
            (--conf-dir), a directory for each app in deployment-apps, and the key that forwarders
            use: pass4SymmKey of [deployment] in server.conf.
          </p>
        </Empty>
      )}
      {data?.state.isOn && (
        <>
          <nav className={styles.views} aria-label="Views of the deployment server">
            {VIEWS.map((one) => (
              <PageLink
                key={one}
                href={paths.data('deployment', one === VIEWS[0] ? null : one)}
                aria-current={one === view ? 'page' : undefined}
              >
                {TITLES[one]} <span>{numbers[one]}</span>
              </PageLink>
            ))}
          </nav>
          {view === 'forwarders' && (
            <Forwarders
              forwarders={data.forwarders}
              classes={data.classes.map((one) => one.name)}
              mayRemove={mayChange}
              now={dataUpdatedAt / 1_000}
              onRemoved={again}
            />
          )}
          {view === 'serverclasses' && <Classes classes={data.classes} />}
          {view === 'applications' && <Apps apps={data.apps} />}
        </>
      )}
      {isReloading && (
        <ConfirmDialog
          title="Reload the deployment server?"
          action="Reload"
          testId="reload-form"
          onConfirm={async () => {
            // A refused file changes what is shown, too.
            try {
              await client.change(`${DEPLOYMENT}/config/_reload`);
            } finally {
              await again();
            }
          }}
          onClose={() => setReloading(false)}
        >
          <p>
            The server reloads serverclass.conf and all apps.{' '}
            {plural(numbers.forwarders, 'forwarder')} {numbers.forwarders === 1 ? 'gets' : 'get'}{' '}
            the changes with the next call, within about a minute: apps are installed, replaced and
            removed there, and inputs and outputs restart. If the file has a mistake, all of it is
            refused, and the previous rules stay in effect.
          </p>
        </ConfirmDialog>
      )}
    </div>
  );
}

const TITLES: Record<View, string> = {
  forwarders: 'Forwarders',
  serverclasses: 'Server classes',
  applications: 'Apps',
};

function State({ state }: { state: ServerState }) {
  const [zone] = useZone();
  const parts = [
    state.loaded !== null && `Read ${formatEpoch(state.loaded, zone)} ${zone}`,
    state.isOn && `${state.downloads} of ${state.maxDownloads} downloads running`,
    state.repositories.length > 0 && `apps in ${state.repositories.join(', ')}`,
  ].filter(Boolean);
  return (
    <>
      {state.error && (
        <Notice kind="error">
          {`The files were refused, and the previous rules are in effect:\n${state.error}`}
        </Notice>
      )}
      {state.messages.map((message) => (
        <Notice key={message} kind="warning">
          {message}
        </Notice>
      ))}
      {state.isOn && <p className={objects.about}>{parts.join(' · ')}</p>}
    </>
  );
}
