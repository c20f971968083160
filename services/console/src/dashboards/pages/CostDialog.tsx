/** What the searches of a dashboard have read and cost since it was opened. */

import { Skeleton } from '@mantine/core';
import { useEffect, useState } from 'react';
import { Modal } from '../../app/Modal';
import type { DashboardRun } from '../runtime/page';
import type { Cost } from '../runtime/server';
import { useConnection } from '../useConnection';

interface CostDialogProps {
  run: DashboardRun;
  onClose: () => void;
}

const NOTHING: Cost = { seconds: 0, bytes: 0, storeRequests: 0, dollars: 0 };

function sum(costs: Cost[]): Cost {
  return costs.reduce(
    (all, one) => ({
      seconds: all.seconds + one.seconds,
      bytes: all.bytes + one.bytes,
      storeRequests: all.storeRequests + one.storeRequests,
      dollars: all.dollars + one.dollars,
    }),
    NOTHING,
  );
}

export function CostDialog({ run, onClose }: CostDialogProps) {
  const { server } = useConnection();
  const [costs, setCosts] = useState<(Cost | null)[] | null>(null);
  useEffect(() => {
    let isLeft = false;
    const sids = run.manager.sids();
    Promise.all(sids.map((sid) => server.jobCost(sid).catch(() => null))).then(
      (found) => !isLeft && setCosts(found),
    );
    return () => {
      isLeft = true;
    };
  }, [run, server]);
  const known = (costs ?? []).filter((cost): cost is Cost => cost !== null);
  const total = sum(known);
  const unknown = (costs ?? []).length - known.length;
  return (
    <Modal opened onClose={onClose} title="Cost of this page view">
      {costs === null ? (
        <Skeleton height={80} />
      ) : (
        <>
          <p>
            {known.length} searches ran {total.seconds.toFixed(1)} s in all, read{' '}
            {(total.bytes / 2 ** 20).toFixed(1)} MiB and sent {total.storeRequests} requests to
            object storage, for <strong>${total.dollars.toFixed(6)}</strong>.
          </p>
          <p>
            The price of requests comes from the server's settings; see the inspector of a search
            for its parts.
            {unknown > 0 && ` The server no longer has ${unknown} of the searches.`}
          </p>
        </>
      )}
    </Modal>
  );
}
