/** At a process that receives no events, such as a search head: which processes do. */

import { useQuery } from '@tanstack/react-query';
import { useClient, useLacking } from '../app/clientContext';
import { Notice } from '../app/Notice';
import { Empty } from '../states/Empty';
import { indexersText } from './addresses';
import { useAddresses } from './useAddresses';

/** The names of the indexers; empty if they are not known, or the user may not ask. */
function useIndexers(isWanted: boolean): string {
  const client = useClient();
  const lacking = useLacking('list_settings');
  const { data } = useQuery({
    queryKey: ['indexers'],
    enabled: isWanted && lacking === null,
    queryFn: async ({ signal }) => indexersText(await client.peers(signal)),
  });
  return data ?? '';
}

/** In place of a page that is about addresses of senders, or that sends a text. */
export function NoEvents({ isText = false }: { isText?: boolean }) {
  const indexers = useIndexers(true);
  return (
    <Empty title="This process receives no events" testId="takes-no-events">
      <p>
        {`It is not an indexer. Send events to an indexer of the cluster${indexers && `: ${indexers}`}.`}
      </p>
      {isText ? (
        <p>
          On the machine of an indexer, <code>karst add oneshot FILE</code> loads a file. From other
          machines, send it to the address of an indexer for the HTTP Event Collector (port 8088
          unless it was changed).
        </p>
      ) : (
        <p>
          Each indexer lists its own addresses: open this page of one that has a console, or see{' '}
          <code>karst status</code> there.
        </p>
      )}
    </Empty>
  );
}

/** Above the list of inputs, where this process runs none of them. */
export function InputsElsewhere() {
  const { addresses } = useAddresses();
  const isElsewhere = addresses?.takesEvents === false;
  const indexers = useIndexers(isElsewhere);
  if (!isElsewhere) return null;
  return (
    <Notice kind="info">
      {`This process is not an indexer and runs no inputs. These are the inputs of the cluster; create and change inputs at an indexer${indexers && `: ${indexers}`}.`}
    </Notice>
  );
}
