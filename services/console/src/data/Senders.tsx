/** What a sender needs: the address at which the server listens, a token, the index, and commands made of them. */

import { Button, NativeSelect, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError } from '../api/client';
import type { Entry } from '../api/types';
import { useClient, useMe } from '../app/clientContext';
import { Notice } from '../app/Notice';
import { Pairs } from '../app/Pairs';
import { navigate, paths } from '../app/routing';
import { Snippet } from '../objects/Copyable';
import { useOptions } from '../objects/FormFields';
import { contentText } from '../objects/kind';
import { Empty } from '../states/Empty';
import { NotAllowed } from '../states/NotAllowed';
import { Skeleton } from '../states/Skeleton';
import styles from './AddData.module.css';
import {
  type Addresses,
  addressesOf,
  addressLabel,
  adviceText,
  DEFAULT_PORTS,
  hostAndPort,
  type InputAddress,
  KINDS_OF,
  offTitle,
  openPortAddress,
} from './addresses';
import { FirstEvent } from './FirstEvent';
import { hecTokens } from './inputKinds';
import { NoEvents } from './NoEvents';
import { recipesOf, type Target } from './recipes';
import { useAddresses } from './useAddresses';

const OF_TOKENS = ['hec', 'otlp', 'elasticsearch', 'loki'];

export function Senders({ way, app }: { way: string; app: string }) {
  const me = useMe();
  const needsToken = OF_TOKENS.includes(way);
  const isAllowed = !needsToken || (me?.capabilities.has('edit_token_http') ?? false);
  const asked = useAddresses(isAllowed);
  const { error, lacking } = asked;
  if (me && !isAllowed) return <NotAllowed capability="edit_token_http" />;
  if (asked.isWaiting) return <Skeleton lines={6} label="Waiting for the addresses" />;
  const addresses = asked.addresses ?? guessed(way);
  return (
    <>
      {lacking && (
        <Notice kind="info">
          {`The default addresses of a server are shown. Yours may have others: asking for them needs the capability ${lacking}.`}
        </Notice>
      )}
      {error !== null && (
        <Notice kind="warning">
          {`The addresses are guesses: ${error instanceof ApiError ? error.message : String(error)}`}
        </Notice>
      )}
      {addresses.takesEvents ? (
        <Sender key={way} way={way} app={app} addresses={addresses} />
      ) : (
        <NoEvents />
      )}
    </>
  );
}

/** For a user who may not ask: the defaults of the server. */
function guessed(way: string): Addresses {
  const host = window.location.hostname;
  const isTls = OF_TOKENS.includes(way) && !/^(?:localhost|127\.|\[?::1)/.test(host);
  const input: InputAddress = {
    kind: KINDS_OF[way]?.[0] ?? '',
    name: 'Default port',
    isOn: true,
    host,
    port: DEFAULT_PORTS[way] ?? '',
    isTls,
    isLocal: false,
    credential: OF_TOKENS.includes(way) ? 'hec_token' : 'none',
    index: '',
    sourcetype: '',
    stanza: '',
    advice: '',
  };
  return { takesEvents: true, isSelfSigned: true, inputs: [input] };
}

interface SenderProps {
  way: string;
  app: string;
  addresses: Addresses;
}

function Sender({ way, app, addresses }: SenderProps) {
  const queries = useQueryClient();
  const choices = addressesOf(addresses, way);
  const needsToken = OF_TOKENS.includes(way);
  const [chosen, setChosen] = useState(0);
  const [place, setPlace] = useState<string | null>(null);
  const [index, setIndex] = useState<string | null>(null);
  const [sourcetype, setSourcetype] = useState('');
  const [tokenName, setTokenName] = useState<string | null>(null);
  const tokens = useTokens(needsToken);
  const token = tokens?.find((one) => one.name === tokenName) ?? tokens?.[0] ?? null;
  const indexes = useOptions({ name: 'index', label: 'Index', kind: 'choice', source: 'indexes' });
  const input = choices[chosen] ?? choices[0];
  if (!input) return <Empty title="The server lists no address of this kind" />;
  const told = `${input.host}:${input.port}`;
  const reached = hostAndPort(place ?? told);
  const own = needsToken ? token && contentText(token, 'index') : input.index;
  const target: Target = {
    host: reached.host,
    port: reached.port || input.port,
    isTls: input.isTls,
    isSelfSigned: addresses.isSelfSigned,
    token: token ? contentText(token, 'token') : 'TOKEN',
    index: index ?? (own || 'main'),
    sourcetype: sourcetype.trim(),
  };
  return (
    <div className={styles.columns}>
      <div>
        {choices.length > 1 && (
          <NativeSelect
            label="Input"
            data={choices.map((one, at) => ({ value: `${at}`, label: addressLabel(one, way) }))}
            value={`${chosen}`}
            onChange={(event) => {
              setChosen(Number(event.currentTarget.value));
              setPlace(null);
            }}
          />
        )}
        {input.isOn && (
          <TextInput
            label="Address"
            description="The address at which senders reach the server: they may know it by another name."
            spellCheck={false}
            value={place ?? told}
            onChange={(event) => setPlace(event.currentTarget.value.trim())}
          />
        )}
        {input.isOn && <Facts input={input} isSelfSigned={addresses.isSelfSigned} />}
        {input.isOn && needsToken && <Token tokens={tokens} token={token} onToken={setTokenName} />}
        {input.isOn && input.index === '' && (
          <NativeSelect
            label="Index"
            description={way === 'syslog' ? 'As set by --syslog-index of the server.' : undefined}
            data={indexes.length > 0 ? indexes : [target.index]}
            value={target.index}
            onChange={(event) => setIndex(event.currentTarget.value)}
          />
        )}
        {input.isOn && (way === 'hec' || way === 'forwarder') && (
          <TextInput
            label="Source type"
            value={sourcetype}
            spellCheck={false}
            onChange={(event) => setSourcetype(event.currentTarget.value)}
          />
        )}
      </div>
      <div data-testid="recipes">
        {input.isOn && input.advice && <Notice kind="info">{adviceText(input)}</Notice>}
        {!input.isOn && (
          <Empty title={offTitle(input)} testId="input-off">
            <p>{adviceText(input)}</p>
            <div className={styles.actions}>
              {(way === 'syslog' || way === 'forwarder') && (
                <Button
                  size="xs"
                  variant="default"
                  onClick={() => navigate(openPortAddress(input))}
                >
                  Open a port …
                </Button>
              )}
              <Button
                size="xs"
                variant="default"
                onClick={() => void queries.invalidateQueries({ queryKey: ['addresses'] })}
              >
                Look again
              </Button>
            </div>
          </Empty>
        )}
        {input.isOn && (
          <>
            <FirstEvent key={target.index} app={app} index={target.index} />
            {recipesOf(way, target, input).map((recipe) => (
              <Snippet key={recipe.label} {...recipe} />
            ))}
          </>
        )}
      </div>
    </div>
  );
}

const CREDENTIALS: Record<string, string> = {
  hec_token: 'a HEC token',
  forwarder_token: 'the token of --forwarding-token',
  client_certificate: 'a certificate of the CA in sslRootCAPath',
  login: 'a login',
  none: 'none',
};

function Facts({ input, isSelfSigned }: { input: InputAddress; isSelfSigned: boolean }) {
  const tls = isSelfSigned ? 'yes, self-signed certificate' : 'yes';
  const facts: [string, string][] = [
    ['TLS', input.isTls ? tls : 'no'],
    ['Credential', CREDENTIALS[input.credential] ?? input.credential],
    ['Index', input.index],
    ['Source type', input.sourcetype],
    ['Reached by', input.isLocal ? 'this machine only' : 'other machines'],
  ];
  return (
    <Pairs
      className={styles.facts}
      testId="address-facts"
      pairs={facts.filter(([, value]) => value !== '')}
    />
  );
}

/** The tokens that senders may use; null until they are known. */
function useTokens(isWanted: boolean): Entry[] | null {
  const client = useClient();
  const { data } = useQuery({
    queryKey: ['objects', hecTokens.path],
    enabled: isWanted,
    queryFn: ({ signal }) => client.entries(hecTokens.path, signal),
  });
  return data?.filter((token) => token.content.disabled !== true) ?? null;
}

interface TokenProps {
  tokens: Entry[] | null;
  token: Entry | null;
  onToken: (name: string) => void;
}

function Token({ tokens, token, onToken }: TokenProps) {
  return (
    <>
      {tokens?.length === 0 ? (
        <Notice kind="info">There is no token yet: create one.</Notice>
      ) : (
        <NativeSelect
          label="Token"
          data={(tokens ?? []).map((one) => one.name)}
          value={token?.name ?? ''}
          onChange={(event) => onToken(event.currentTarget.value)}
        />
      )}
      <Button
        size="compact-sm"
        variant="default"
        onClick={() => navigate(paths.data('tokens', '_new'))}
      >
        New token …
      </Button>
    </>
  );
}
