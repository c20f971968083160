/** The cost page with its prices, which are edited here and kept in a lookup file. */

import { Button, TextInput } from '@mantine/core';
import { useQuery, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useMemo, useState } from 'react';
import { ApiError } from '../api/client';
import { useClient, useLacking, useMayShare } from '../app/clientContext';
import { FormError } from '../app/FormError';
import { Modal } from '../app/Modal';
import { Notice } from '../app/Notice';
import { useSubmit } from '../app/useSubmit';
import objects from '../objects/Objects.module.css';
import { Skeleton } from '../states/Skeleton';
import { COST } from './cost';
import { OwnDashboard } from './OwnDashboard';
import {
  FILES,
  loadPrices,
  PRICES_FILE,
  type Prices,
  pricesRefusal,
  priceTokens,
  writePrices,
} from './prices';

export function CostPage() {
  const client = useClient();
  const [isOpen, setOpen] = useState(false);
  const lacking = useLacking('upload_lookup_files');
  const canShare = useMayShare('search');
  const refusal = pricesRefusal(lacking, canShare);
  const { data } = useQuery({
    queryKey: ['prices'],
    staleTime: 60_000,
    queryFn: ({ signal }) => loadPrices(client, signal),
  });
  const page = useMemo(() => (data ? { ...COST, tokens: priceTokens(data) } : null), [data]);
  if (!data || !page) return <Skeleton lines={6} />;
  return (
    <OwnDashboard
      page={page}
      tools={
        <Button
          size="compact-sm"
          variant="default"
          disabled={refusal !== null}
          title={refusal ?? undefined}
          onClick={() => setOpen(true)}
        >
          Prices …
        </Button>
      }
    >
      {data.areExamples && (
        <Notice kind="info">
          Prices are examples (list prices of Amazon S3 and EC2 in us-east-1).
          {refusal === null && ' Set your own under Prices.'}
        </Notice>
      )}
      {isOpen && <PricesDialog prices={data} onClose={() => setOpen(false)} />}
    </OwnDashboard>
  );
}

function PricesDialog({ prices, onClose }: { prices: Prices; onClose: () => void }) {
  const client = useClient();
  const queries = useQueryClient();
  const [texts, setTexts] = useState(() => prices.list.map((price) => String(price.usd)));
  const { busy, error, submit } = useSubmit();
  const isValid = (text: string) => text.trim() !== '' && Number(text) >= 0;

  const save = async (event: FormEvent) => {
    event.preventDefault();
    if (!texts.every(isValid)) return;
    const list = prices.list.map((price, at) => ({ ...price, usd: Number(texts[at]) }));
    const contents = writePrices(list);
    const isSaved = await submit(async () => {
      await client.change(`${FILES}/${PRICES_FILE}`, { contents }).catch((failure: unknown) => {
        if (!(failure instanceof ApiError) || failure.kind !== 'notFound') throw failure;
        return client.change(FILES, { name: PRICES_FILE, contents });
      });
      await queries.invalidateQueries({ queryKey: ['prices'] });
    });
    if (isSaved) onClose();
  };
  return (
    <Modal opened onClose={onClose} title="Prices" closeButtonProps={{ 'aria-label': 'Close' }}>
      <form className={objects.form} onSubmit={save} data-testid="prices-form" noValidate>
        <p className={objects.help}>
          In dollars. They are stored in the lookup file {PRICES_FILE} of the app search, for all
          users.
        </p>
        <FormError error={error} />
        {prices.list.map((price, at) => (
          <TextInput
            key={price.key}
            label={`${price.about.charAt(0).toUpperCase()}${price.about.slice(1)}`}
            description={`per ${price.unit}`}
            name={price.key}
            inputMode="decimal"
            value={texts[at] ?? ''}
            error={isValid(texts[at] ?? '') ? null : 'a number, 0 or more'}
            onChange={(event) => {
              const text = event.currentTarget.value;
              setTexts((now) => now.map((one, place) => (place === at ? text : one)));
            }}
          />
        ))}
        <div className={objects.buttons}>
          <Button variant="default" onClick={onClose}>
            Cancel
          </Button>
          <Button type="submit" loading={busy} disabled={!texts.every(isValid)}>
            Save
          </Button>
        </div>
      </form>
    </Modal>
  );
}
