import { Component, type ReactNode } from 'react';
import { Empty } from '../states/Empty';

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
    // A file of an earlier version that the server no longer has.
    const isStale = /dynamically imported module|Importing a module script/.test(error.message);
    return (
      <Empty
        title={isStale ? 'The server has a newer version' : 'This page failed'}
        testId="broken"
      >
        <p>{isStale ? 'Load the page again to get it.' : error.message}</p>
        <button type="button" onClick={() => window.location.reload()}>
          Load again
        </button>
      </Empty>
    );
  }
}
