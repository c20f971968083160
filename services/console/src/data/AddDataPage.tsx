/** `/data/add/KIND`: ways in for data, with commands for this server, and the first event as it arrives. */

import { Button, Checkbox, NativeSelect, TextInput } from '@mantine/core';
import { useState } from 'react';
import type { Entry } from '../api/types';
import { useMe } from '../app/clientContext';
import { Notice } from '../app/Notice';
import { PageLink } from '../app/PageLink';
import { navigate, paths } from '../app/routing';
import { useTitle } from '../app/useTitle';
import jobs from '../jobs/JobsPage.module.css';
import { Snippet } from '../objects/Copyable';
import { useOptions } from '../objects/FormFields';
import { contentText } from '../objects/kind';
import objects from '../objects/Objects.module.css';
import { useObjects } from '../objects/ObjectsPage';
import { NotAllowed } from '../states/NotAllowed';
import styles from './AddData.module.css';
import { FirstEvent } from './FirstEvent';
import { hecTokens } from './inputKinds';
import { LoadText } from './LoadText';
import {
  forwarderRecipes,
  hecRecipes,
  otlpRecipes,
  type Recipe,
  syslogRecipes,
  type Target,
  tlsOf,
} from './recipes';
import { WAYS, wayPath } from './ways';

export function AddDataPage({ way, app }: { way: string | null; app: string }) {
  const chosen = WAYS.find((one) => one.id === way) ?? null;
  useTitle(chosen ? chosen.title : 'Add data');
  return (
    <div className={jobs.page}>
      <header className={jobs.head}>
        <h1>{chosen ? chosen.title : 'Add data'}</h1>
        {chosen && (
          <PageLink className={objects.link} href={paths.data('add')}>
            Other ways
          </PageLink>
        )}
      </header>
      {way !== null && !chosen && <Notice kind="warning">{`There is no way "${way}".`}</Notice>}
      {chosen ? <WayView key={chosen.id} way={chosen.id} app={app} /> : <Ways />}
    </div>
  );
}

function Ways() {
  return (
    <ul className={styles.cards} data-testid="ways">
      {WAYS.map((one) => (
        <li key={one.id}>
          <PageLink href={wayPath(one)}>
            <b>{one.title}</b>
            <span>{one.about}</span>
          </PageLink>
        </li>
      ))}
    </ul>
  );
}

function WayView({ way, app }: { way: string; app: string }) {
  const me = useMe();
  if (way === 'upload' || way === 'paste') {
    if (me && !me.capabilities.has('edit_tcp')) return <NotAllowed capability="edit_tcp" />;
    return <LoadText app={app} isPasted={way === 'paste'} />;
  }
  if (way === 'hec' || way === 'otlp') {
    if (me && !me.capabilities.has('edit_token_http')) {
      return <NotAllowed capability="edit_token_http" />;
    }
    return <Collector app={app} isOtlp={way === 'otlp'} />;
  }
  return <Port app={app} isForwarder={way === 'forwarder'} />;
}

/** What the server does not say over REST: at which address and port its senders reach it. */
function useAddress(port: string) {
  const [host, setHost] = useState(window.location.hostname);
  const [value, setValue] = useState(port);
  const inputs = (
    <>
      <TextInput
        label="Server"
        description="As senders reach it."
        value={host}
        spellCheck={false}
        onChange={(event) => setHost(event.currentTarget.value.trim())}
      />
      <TextInput
        label="Port"
        description={`${port} unless the server was started with another.`}
        inputMode="numeric"
        value={value}
        onChange={(event) => setValue(event.currentTarget.value.replace(/\D/g, ''))}
      />
    </>
  );
  return { host, port: value, inputs };
}

function Collector({ app, isOtlp }: { app: string; isOtlp: boolean }) {
  const { data } = useObjects(hecTokens);
  const address = useAddress('8088');
  const indexes = useOptions({ name: 'index', label: 'Index', kind: 'choice', source: 'indexes' });
  const [tls, setTls] = useState<boolean | null>(null);
  const [name, setName] = useState<string | null>(null);
  const [index, setIndex] = useState<string | null>(null);
  const [sourcetype, setSourcetype] = useState('');
  const tokens = (data ?? []).filter((token) => token.content.disabled !== true);
  const token = tokens.find((one) => one.name === name) ?? tokens[0] ?? null;
  const target: Target = {
    host: address.host,
    hecPort: address.port,
    isTls: tls ?? tlsOf(address.host),
    token: token ? contentText(token, 'token') : 'TOKEN',
    index: index ?? indexOf(token),
    sourcetype: sourcetype.trim(),
  };
  return (
    <div className={styles.columns}>
      <div>
        {data && tokens.length === 0 ? (
          <Notice kind="info">There is no token yet: make one.</Notice>
        ) : (
          <NativeSelect
            label="Token"
            data={tokens.map((one) => one.name)}
            value={token?.name ?? ''}
            onChange={(event) => setName(event.currentTarget.value)}
          />
        )}
        <Button
          size="compact-sm"
          variant="default"
          onClick={() => navigate(paths.data('tokens', '_new'))}
        >
          New token …
        </Button>
        {address.inputs}
        <Checkbox
          size="xs"
          label="The port has TLS"
          checked={target.isTls}
          onChange={(event) => setTls(event.currentTarget.checked)}
        />
        <NativeSelect
          label="Index"
          data={indexes.length > 0 ? indexes : [target.index]}
          value={target.index}
          onChange={(event) => setIndex(event.currentTarget.value)}
        />
        {!isOtlp && (
          <TextInput
            label="Source type"
            value={sourcetype}
            spellCheck={false}
            onChange={(event) => setSourcetype(event.currentTarget.value)}
          />
        )}
      </div>
      <Steps
        app={app}
        index={target.index}
        recipes={isOtlp ? otlpRecipes(target) : hecRecipes(target)}
      />
    </div>
  );
}

const indexOf = (token: Entry | null) => (token && contentText(token, 'index')) || 'main';

function Port({ app, isForwarder }: { app: string; isForwarder: boolean }) {
  const address = useAddress(isForwarder ? '9997' : '514');
  const indexes = useOptions({ name: 'index', label: 'Index', kind: 'choice', source: 'indexes' });
  const [index, setIndex] = useState('main');
  const target: Target = {
    host: address.host,
    hecPort: '',
    isTls: false,
    token: '',
    index,
    sourcetype: '',
  };
  const recipes = isForwarder
    ? forwarderRecipes(target, address.port)
    : syslogRecipes(target, address.port);
  return (
    <div className={styles.columns}>
      <div>
        {address.inputs}
        <NativeSelect
          label="Index"
          data={indexes.length > 0 ? indexes : ['main']}
          value={index}
          onChange={(event) => setIndex(event.currentTarget.value)}
        />
        <p className={objects.help}>
          The port can also be opened here, without a restart:{' '}
          <PageLink className={objects.link} href={paths.data('inputs', '_new')}>
            New input
          </PageLink>
        </p>
      </div>
      <Steps app={app} index={index} recipes={recipes} />
    </div>
  );
}

function Steps({ app, index, recipes }: { app: string; index: string; recipes: Recipe[] }) {
  return (
    <div data-testid="recipes">
      <FirstEvent key={index} app={app} index={index} />
      {recipes.map((recipe) => (
        <Snippet key={recipe.label} {...recipe} />
      ))}
    </div>
  );
}
