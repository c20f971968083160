import { Component, type ReactNode, useCallback, useEffect, useState } from 'react';
import { Empty } from '../states/Empty';
import { isPartMissing, isReachable } from './brokenPage';

interface BoundaryState {
  error: Error | null;
}

/** A view that breaks takes neither the bar nor the other views with it. */
export class ErrorBoundary extends Component<{ children: ReactNode }, BoundaryState> {
  override state: BoundaryState = { error: null };

  static getDerivedStateFromError(error: Error): BoundaryState {
    return { error };
  }

  override render() {
    const { error } = this.state;
    if (!error) return this.props.children;
    if (isPartMissing(error)) return <PartMissing />;
    return (
      <Empty title="This page failed" testId="broken">
        <p>{error.message}</p>
        <button type="button" onClick={() => window.location.reload()}>
          Load again
        </button>
      </Empty>
    );
  }
}

/** The server has not sent a file of the page: it is away, or has those of another version. */
function PartMissing() {
  const [isAway, setAway] = useState<boolean | null>(null);
  const ask = useCallback(async () => {
    const isThere = await isReachable();
    setAway(!isThere);
    return isThere;
  }, []);
  useEffect(() => void ask(), [ask]);
  // A part that failed is loaded again only with the whole page; without a server, the page would be lost.
  const again = async () => {
    if (await ask()) window.location.reload();
  };
  if (isAway === null) return null;
  return (
    <Empty
      title={isAway ? 'The server cannot be reached' : 'The server has a newer version'}
      testId="broken"
    >
      <p>
        {isAway
          ? 'Check the network, and whether the server is running.'
          : 'Load the page again to get it.'}
      </p>
      <button type="button" onClick={again}>
        {isAway ? 'Try again' : 'Load again'}
      </button>
    </Empty>
  );
}
