/** Keeps the job of a search, and gives an address that shows its results while it is kept. */

import { Button } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { ApiError, type KarstClient } from '../api/client';
import type { JobStatus } from '../api/types';
import { FormError } from '../app/FormError';
import { Modal } from '../app/Modal';
import { paths } from '../app/routing';
import { Snippet } from '../objects/Copyable';
import { Skeleton } from '../states/Skeleton';
import styles from './SaveReport.module.css';
import { readAddress, type SearchRequest, sharedAddress } from './urlState';

interface ShareJobProps {
  client: KarstClient;
  app: string;
  sid: string;
  request: SearchRequest;
  job: JobStatus;
  onKeep: () => void;
  onClose: () => void;
}

export default function ShareJob({ client, app, sid, job, onClose, ...props }: ShareJobProps) {
  const { request, onKeep } = props;
  const { data, error } = useQuery({
    queryKey: ['share', sid],
    gcTime: 0,
    staleTime: Number.POSITIVE_INFINITY,
    retry: false,
    queryFn: async () => {
      await client.control(sid, 'save');
      onKeep();
      return true;
    },
  });
  const { view } = readAddress(window.location.search);
  const address = sharedAddress(paths.search(app), { request, job, sid, view });
  return (
    <Modal
      opened
      onClose={onClose}
      title="Share the job"
      closeButtonProps={{ 'aria-label': 'Close' }}
    >
      <div className={styles.form} data-testid="share-job">
        {error instanceof ApiError && <FormError error={error} />}
        {!data && !error && <Skeleton lines={2} />}
        {data && (
          <>
            <Snippet label="Address" text={window.location.origin + address} />
            <p className={styles.note}>
              The results are kept for 7 days after they were last opened, also over restarts. You
              and administrators see them. For others, and afterwards, the address runs the search
              again over the same time range, with the rights of the user who opens it.
            </p>
          </>
        )}
        <Button variant="default" onClick={onClose}>
          Close
        </Button>
      </div>
    </Modal>
  );
}
