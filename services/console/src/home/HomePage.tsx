/**
 * `/`: where a person begins. Earlier searches, dashboards, reports and apps to go on with; which sources
 * sent last; what the server warns of; and the first steps while there are no events.
 */

import { Button, TextInput } from '@mantine/core';
import {
  IconAlertTriangle,
  IconCircleCheck,
  IconInfoCircle,
  IconSearch,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { type FormEvent, type ReactNode, useMemo, useRef, useState } from 'react';
import { ApiError } from '../api/client';
import type { ResultRows } from '../api/types';
import { useApps, useConnection, useLacking, useMe } from '../app/clientContext';
import { grouped, plural } from '../app/format';
import { PageLink } from '../app/PageLink';
import { useLetterShortcuts, useZone } from '../app/preferences';
import { addressOf, navigate, paths } from '../app/routing';
import { ShowAll } from '../app/ShowAll';
import { useShortcuts } from '../app/shortcuts';
import { useTitle } from '../app/useTitle';
import { wayPath, waysOf } from '../data/ways';
import { readHistory, remember } from '../query/history';
import { withFieldValue } from '../query/rewrite';
import { REPORTS } from '../reports/reportLists';
import { Failed } from '../states/Failed';
import { Skeleton } from '../states/Skeleton';
import { DEFAULT_RANGE } from '../time/timeRange';
import { formatEpoch } from '../time/zone';
import styles from './HomePage.module.css';
import { readOpened } from './opened';
import {
  agoText,
  beginning,
  currentOf,
  dashboardsOf,
  reportsOf,
  SOURCES_RIGHTS,
  SOURCES_SEARCH,
  sourcesOf,
  type Warning,
  warningsOf,
} from './overview';

/** Lines of a list; a link leads to the rest. */
const MOST = 8;
/** Warnings that are listed at first, and characters of each; apps can have hundreds of mistakes. */
const MOST_WARNINGS = 4;
const MOST_CHARACTERS = 300;
/** Milliseconds between two looks at sources and warnings. */
const EVERY = 60_000;
/** What adding data needs: one of these. */
const ADDS = ['edit_tcp', 'edit_token_http'];

export default function HomePage({ app }: { app: string }) {
  useTitle('Home');
  const lacking = useLacking(...SOURCES_RIGHTS);
  const sources = useSources(lacking === null);
  const isEmpty = currentOf(sources)?.length === 0;
  // Lists from before would stand beside the message that nothing can be asked for.
  const isAway = sources.error instanceof ApiError && sources.error.kind === 'unreachable';
  return (
    <div className={styles.page} data-testid="home">
      <h1 className="visually-hidden">Home</h1>
      <SearchField app={app} />
      {isEmpty && <FirstSteps />}
      <div className={styles.cards}>
        <EarlierSearches app={app} />
        <Opened />
        <Health sources={sources} lacking={lacking ?? null} app={app} />
        {!isAway && (
          <>
            <Dashboards app={app} />
            <Reports app={app} />
            <Apps />
          </>
        )}
      </div>
    </div>
  );
}

function SearchField({ app }: { app: string }) {
  const [letters] = useLetterShortcuts();
  const field = useRef<HTMLInputElement>(null);
  const [text, setText] = useState('');
  useShortcuts({ '/': () => field.current?.focus() }, letters);
  const search = (event: FormEvent) => {
    event.preventDefault();
    const query = text.trim();
    const path = paths.search(app);
    // The search page remembers what is typed there, not what an address brings.
    remember(localStorage, query);
    navigate(query === '' ? path : addressOf(path, { q: query, ...DEFAULT_RANGE }));
  };
  return (
    <search>
      <form className={styles.search} onSubmit={search}>
        <TextInput
          ref={field}
          className={styles.field}
          size="md"
          aria-label="Search"
          placeholder="Search the last 24 hours, such as error OR failed"
          leftSection={<IconSearch size={16} />}
          spellCheck={false}
          value={text}
          onChange={(event) => setText(event.currentTarget.value)}
          data-testid="home-search"
        />
        <Button type="submit" size="md">
          Search
        </Button>
      </form>
    </search>
  );
}

interface CardProps {
  title: string;
  /** A link to the whole of it. */
  all?: { label: string; href: string };
  testId: string;
  children: ReactNode;
}

function Card({ title, all, testId, children }: CardProps) {
  return (
    <section className={styles.card} aria-label={title} data-testid={testId}>
      <header>
        <h2>{title}</h2>
        {all && <PageLink href={all.href}>{all.label}</PageLink>}
      </header>
      {children}
    </section>
  );
}

function EarlierSearches({ app }: { app: string }) {
  const searches = useMemo(() => readHistory(localStorage).slice(0, MOST), []);
  return (
    <Card title="Earlier searches" testId="home-searches">
      {searches.length === 0 ? (
        <p>Searches that you run in this browser are listed here.</p>
      ) : (
        <ul>
          {searches.map((query) => (
            <li key={query}>
              <PageLink
                className={styles.code}
                href={addressOf(paths.search(app), { q: query, ...DEFAULT_RANGE })}
                title={query}
              >
                {query}
              </PageLink>
            </li>
          ))}
        </ul>
      )}
    </Card>
  );
}

function Opened() {
  const { username } = useConnection();
  const opened = useMemo(() => readOpened(localStorage, username).slice(0, MOST), [username]);
  if (opened.length === 0) return null;
  return (
    <Card title="Opened last" testId="home-opened">
      <ul>
        {opened.map((one) => (
          <li key={one.href}>
            <PageLink href={one.href} title={one.title}>
              {one.title}
            </PageLink>
            <span>
              {one.kind} in {one.app}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** The sources of all indexes; the job of the search is removed at once. */
function useSources(isAllowed: boolean) {
  const { client } = useConnection();
  const [zone] = useZone();
  return useQuery({
    queryKey: ['home-sources'],
    enabled: isAllowed,
    refetchInterval: EVERY,
    queryFn: async ({ signal }) => {
      const request = { search: SOURCES_SEARCH, earliest: '', latest: '', timezone: zone };
      const rows: ResultRows & { sid: string } = await client.rowsOf(request, signal);
      // It expires anyway: a failure to remove it harms nobody.
      client.removeJob(rows.sid).catch(() => {});
      return sourcesOf(rows);
    },
  });
}

interface HealthProps {
  sources: ReturnType<typeof useSources>;
  /** The capability without which there are no sources. */
  lacking: string | null;
  app: string;
}

/** What a card says that needs a capability of the user. */
const Lacking = ({ capability }: { capability: string }) => (
  <p>
    Not allowed: needs the capability <code>{capability}</code>.
  </p>
);

function Health({ sources, lacking, app }: HealthProps) {
  const { client } = useConnection();
  const [zone] = useZone();
  const messages = useQuery({
    queryKey: ['messages'],
    refetchInterval: EVERY,
    queryFn: ({ signal }) => client.entries('/services/messages', signal),
  });
  const now = (sources.dataUpdatedAt || Date.now()) / 1000;
  const warnings = currentOf(messages);
  const all = currentOf(sources);
  const shown = all?.slice(0, MOST) ?? [];
  const searchOf = (name: string) => withFieldValue('index=*', 'sourcetype', name);
  return (
    <Card
      title="Health"
      testId="home-health"
      all={{ label: 'Performance', href: paths.monitor('performance') }}
    >
      {messages.error instanceof ApiError && <Failed error={messages.error} />}
      {warnings && <Warnings warnings={warningsOf(warnings)} />}
      <h3>Most recent sources</h3>
      {lacking && <Lacking capability={lacking} />}
      {sources.isPending && !lacking && <Skeleton lines={3} />}
      {sources.error instanceof ApiError && (
        <Failed error={sources.error} onRetry={() => void sources.refetch()} />
      )}
      {all?.length === 0 && <p>No events in the indexes that you may search.</p>}
      {shown.length > 0 && (
        <ul>
          {shown.map((source) => (
            <li key={source.name}>
              <PageLink
                href={addressOf(paths.search(app), { q: searchOf(source.name), ...DEFAULT_RANGE })}
              >
                {source.name}
              </PageLink>
              <span title={formatEpoch(source.received, zone)}>
                {agoText(now - source.received)}, {plural(source.events, 'event')}
              </span>
            </li>
          ))}
        </ul>
      )}
      {all && all.length > MOST && (
        <p>{`${grouped(all.length - MOST)} more source types sent earlier.`}</p>
      )}
    </Card>
  );
}

const ICONS = { error: IconAlertTriangle, warning: IconAlertTriangle, info: IconInfoCircle };

function Warnings({ warnings }: { warnings: Warning[] }) {
  const [isAll, setAll] = useState(false);
  if (warnings.length === 0) {
    return (
      <p className={styles.well}>
        <IconCircleCheck size={15} aria-hidden="true" /> The server has no warnings.
      </p>
    );
  }
  const shown = isAll ? warnings : warnings.slice(0, MOST_WARNINGS);
  return (
    <>
      <ul className={styles.warnings}>
        {shown.map((warning) => {
          const Icon = ICONS[warning.level];
          return (
            <li key={warning.text} data-level={warning.level}>
              <Icon size={15} aria-label={warning.level} />
              <WarningText text={warning.text} />
            </li>
          );
        })}
      </ul>
      <ShowAll shown={shown.length} all={warnings.length} onAll={() => setAll(true)} />
    </>
  );
}

function WarningText({ text }: { text: string }) {
  const [isWhole, setWhole] = useState(false);
  const short = isWhole ? null : beginning(text, MOST_CHARACTERS);
  if (short === null) return <span>{text}</span>;
  return (
    <span>
      {short}{' '}
      <Button size="compact-xs" variant="default" onClick={() => setWhole(true)}>
        Show all
      </Button>
    </span>
  );
}

function Dashboards({ app }: { app: string }) {
  const { client, username } = useConnection();
  const views = useQuery({
    queryKey: ['home-dashboards'],
    staleTime: EVERY,
    // Without the sources of the dashboards, which are megabytes where many apps are installed.
    queryFn: ({ signal }) =>
      client.entries('/servicesNS/-/-/data/ui/views', signal, {
        f: ['label', 'isDashboard', 'isVisible'],
      }),
  });
  const { error, isPending } = views;
  const data = currentOf(views);
  const all = useMemo(() => dashboardsOf(data ?? [], username), [data, username]);
  return (
    <Card
      title="Dashboards"
      testId="home-dashboards"
      all={{ label: data ? `All ${grouped(all.length)}` : 'All', href: paths.dashboards(app) }}
    >
      {isPending && <Skeleton lines={3} />}
      {error instanceof ApiError && <Failed error={error} />}
      {data && all.length === 0 && (
        <p>A dashboard comes with an app, or is created on the page Dashboards.</p>
      )}
      <ul>
        {all.slice(0, MOST).map((one) => (
          <li key={`${one.app}/${one.owner}/${one.name}`}>
            <PageLink href={paths.dashboard(one.app, one.name)} title={one.label}>
              {one.label}
            </PageLink>
            <span>{one.app}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Reports({ app }: { app: string }) {
  const { client, username } = useConnection();
  const reports = useQuery({
    queryKey: [...REPORTS, app],
    queryFn: ({ signal }) => client.reports({ owner: '-', app }, signal),
    staleTime: 30_000,
  });
  const { error, isPending } = reports;
  const data = currentOf(reports);
  const all = useMemo(() => reportsOf(data ?? [], username), [data, username]);
  return (
    <Card
      title="Reports"
      testId="home-reports"
      all={{ label: data ? `All ${grouped(data.length)}` : 'All', href: paths.reports(app) }}
    >
      {isPending && <Skeleton lines={3} />}
      {error instanceof ApiError && <Failed error={error} />}
      {data && all.length === 0 && <p>Run a search, then choose Save, As report.</p>}
      <ul>
        {all.slice(0, MOST).map((report) => (
          <li key={`${report.app}/${report.owner}/${report.name}`}>
            <PageLink href={paths.report(app, report)} title={report.search}>
              {report.name}
            </PageLink>
            <span>
              {report.isScheduled
                ? report.cron
                : report.owner === 'nobody'
                  ? 'shared'
                  : report.owner}
            </span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

function Apps() {
  const me = useMe();
  const { apps, error, lacking } = useApps();
  const mayInstall = me?.capabilities.has('edit_local_apps') ?? false;
  return (
    <Card
      title="Apps"
      testId="home-apps"
      {...(mayInstall ? { all: { label: 'Manage', href: paths.settings('apps') } } : {})}
    >
      {lacking && <Lacking capability={lacking} />}
      {error instanceof ApiError && <Failed error={error} />}
      {apps?.length === 0 && <p>There is no app that you may open.</p>}
      <ul>
        {(apps ?? []).map((one) => (
          <li key={one.name}>
            <PageLink href={paths.dashboards(one.name)} title={one.label}>
              {one.label}
            </PageLink>
            <span>{one.name}</span>
          </li>
        ))}
      </ul>
    </Card>
  );
}

/** The first steps on a server without events. */
function FirstSteps() {
  const me = useMe();
  const mayAdd = me === null || ADDS.some((one) => me.capabilities.has(one));
  return (
    <section className={styles.first} aria-label="First steps" data-testid="first-steps">
      <h2>There are no events yet</h2>
      {mayAdd ? (
        <>
          <p>Choose their source. Each method has its commands, and shows the first event.</p>
          <ul className={styles.ways}>
            {waysOf(me).map((way) => (
              <li key={way.id}>
                <PageLink href={wayPath(way)}>
                  <b>{way.title}</b>
                  <span>{way.about}</span>
                </PageLink>
              </li>
            ))}
          </ul>
        </>
      ) : (
        <p>
          Or you may not search the indexes that have some. Data is added by users with the
          capability <code>{ADDS[0]}</code> or <code>{ADDS[1]}</code>: ask an administrator.
        </p>
      )}
      <p>
        Until then, the server writes events about itself:{' '}
        <PageLink href={paths.monitor('performance')}>how it runs</PageLink>.
      </p>
    </section>
  );
}
