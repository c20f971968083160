/**
 * The preview of a text, asked again after each change.
 * Guarantees that an answer is shown only as long as nothing newer was asked: older requests are aborted. While a
 * request runs, and after one that was refused, the last preview stays.
 */

import { useDebouncedValue } from '@mantine/hooks';
import { useQuery } from '@tanstack/react-query';
import { useMemo, useRef } from 'react';
import type { ApiError } from '../api/client';
import { useClient } from '../app/clientContext';
import { asApiError } from '../app/useSubmit';
import { decodePreview, type Preview } from './preview';

/** Milliseconds without a change after which the server is asked. */
const PAUSE = 350;

/** Bytes that are sent: the server reads `max_preview_bytes` of them, 2,000,000 by default. */
export const MOST_BYTES = 2_000_001;

/** The beginning of a text or file. */
export interface Sample {
  bytes: Uint8Array<ArrayBuffer>;
  /** Another number for another text. */
  version: number;
}

export interface PreviewRequest {
  sample: Sample | null;
  source: string;
  host: string;
  index: string;
  sourcetype: string;
  tried: ReadonlyMap<string, string>;
  /** Maximum number of events. */
  count: number;
}

interface Shown {
  preview: Preview | null;
  error: ApiError | null;
  /** Whether `preview` is that of an earlier request. */
  isStale: boolean;
  retry: () => void;
}

/** The parameters of a request; those that are empty are left out. */
export function previewQuery(request: PreviewRequest): Record<string, string> {
  const { source, host, index, sourcetype, tried, count } = request;
  const query: Record<string, string> = { count: String(count) };
  for (const [name, value] of Object.entries({ source, host, index, sourcetype })) {
    if (value.trim() !== '') query[name] = value.trim();
  }
  for (const [name, value] of tried) query[`props.${name}`] = value;
  return query;
}

const isMarked = (bytes: Uint8Array) => bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf;

export function usePreview(request: PreviewRequest): Shown {
  const client = useClient();
  const { sample } = request;
  const key = sample && `${sample.version} ${JSON.stringify(previewQuery(request))}`;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key has all of the request
  const wanted = useMemo(() => ({ key, request }), [key]);
  const [asked] = useDebouncedValue(wanted, PAUSE);
  const last = useRef<Preview | null>(null);
  const { data, error, refetch } = useQuery({
    queryKey: ['preview', asked.key],
    enabled: asked.key !== null && key !== null,
    gcTime: 0,
    retry: false,
    queryFn: async ({ signal }) => {
      const bytes = asked.request.sample?.bytes ?? new Uint8Array();
      const query = previewQuery(asked.request);
      const answer = await client.sendBody('/api/v1/preview', new Blob([bytes]), query, signal);
      return decodePreview(answer, isMarked(bytes) ? bytes.subarray(3) : bytes);
    },
  });
  if (data) last.current = data;
  else if (key === null) last.current = null;
  const isAsked = asked.key === key;
  return {
    preview: key === null ? null : (data ?? last.current),
    error: key !== null && isAsked && error ? asApiError(error) : null,
    isStale: key !== null && (!isAsked || data === undefined),
    retry: () => void refetch(),
  };
}
