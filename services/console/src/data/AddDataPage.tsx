/** `/data/add/KIND`: ways in for data, with commands for this server, and the first event as it arrives. */

import { useMe } from '../app/clientContext';
import list from '../app/List.module.css';
import { Notice } from '../app/Notice';
import { PageLink } from '../app/PageLink';
import { paths, useQuery } from '../app/routing';
import { useTitle } from '../app/useTitle';
import objects from '../objects/Objects.module.css';
import { NotAllowed } from '../states/NotAllowed';
import { Skeleton } from '../states/Skeleton';
import styles from './AddData.module.css';
import { FirstEvent } from './FirstEvent';
import { sourcesOf } from './inputKinds';
import { LoadText } from './LoadText';
import { NoEvents } from './NoEvents';
import { S3Objects } from './S3Objects';
import { Senders } from './Senders';
import { useAddresses } from './useAddresses';
import { WAYS, wayPath, waysOf } from './ways';

export function AddDataPage({ way, app }: { way: string | null; app: string }) {
  const chosen = WAYS.find((one) => one.id === way) ?? null;
  useTitle(chosen ? chosen.title : 'Add data');
  return (
    <div className={list.page}>
      <header className={list.head}>
        <h1>{chosen ? chosen.title : 'Add data'}</h1>
        {chosen && (
          <PageLink className={objects.link} href={paths.data('add')}>
            Other ways
          </PageLink>
        )}
      </header>
      {way !== null && !chosen && <Notice kind="warning">{`There is no method "${way}".`}</Notice>}
      {chosen ? <WayView key={chosen.id} way={chosen.id} app={app} /> : <Ways />}
    </div>
  );
}

function Ways() {
  const ways = waysOf(useMe());
  if (ways.length === 0) return <NotAllowed capability={WAYS[0]?.capability ?? ''} />;
  return (
    <ul className={styles.cards} data-testid="ways">
      {ways.map((one) => (
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
    return <TextWay app={app} isPasted={way === 'paste'} />;
  }
  if (way === 's3') {
    if (me && !me.capabilities.has('admin_all_objects')) {
      return <NotAllowed capability="admin_all_objects" />;
    }
    return <S3Objects app={app} />;
  }
  if (way === 'input') return <NewInput app={app} />;
  return <Senders way={way} app={app} />;
}

/** A text is sent to this process: asked first, so that nobody prepares one that is refused. */
function TextWay({ app, isPasted }: { app: string; isPasted: boolean }) {
  const { addresses, isWaiting } = useAddresses();
  if (isWaiting) return <Skeleton lines={6} label="Waiting for the addresses" />;
  if (addresses?.takesEvents === false) return <NoEvents isText />;
  return <LoadText app={app} isPasted={isPasted} />;
}

/** After the form of an input: whether something arrives. */
function NewInput({ app }: { app: string }) {
  const parameters = new URLSearchParams(useQuery());
  const [kind, name, index] = ['kind', 'name', 'index'].map((one) => parameters.get(one) ?? '');
  if (!kind || !name || !index) {
    return (
      <PageLink className={objects.link} href={paths.data('inputs', '_new')}>
        New input
      </PageLink>
    );
  }
  return (
    <div className={styles.made}>
      <p>
        The input <code>{name}</code> is open.{' '}
        <PageLink href={paths.data('inputs')}>Inputs</PageLink> has all of them.
      </p>
      <FirstEvent app={app} index={index} input={{ name, sources: sourcesOf(kind, name) }} />
    </div>
  );
}
