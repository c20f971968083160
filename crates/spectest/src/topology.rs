//! Topologies: the ways in which the events of a block are stored while its search runs.

use std::fmt::Debug;
use std::sync::Arc;

use futures::future::BoxFuture;
use plan::{
    Completed, Error, EventSource, OnBatch, PlanContext, PlannedSearch, Session, SessionSettings,
    execute,
};

use crate::SpecEvent;

/// A way to store events. Implementations must store every event such that a search finds it once.
pub trait Topology: Send + Sync + Debug {
    /// The name in reports.
    fn name(&self) -> String;

    /// Whether it differs from other topologies only in the place of events. If so, blocks that generate
    /// their rows are not repeated with it.
    fn is_about_events(&self) -> bool {
        false
    }

    /// [`SessionSettings::wide_columns`] of its searches.
    fn wide_columns(&self) -> usize {
        SessionSettings::default().wide_columns
    }

    /// Its number, and the number of topologies among which the blocks of a file are distributed in turn. All
    /// of them run the blocks of files about wildcards.
    fn share(&self) -> (usize, usize) {
        (0, 1)
    }

    /// Stores the events of a block, in the listed order, and returns an event source over them.
    /// `knowledge` has the block's configuration.
    ///
    /// # Errors
    /// The reason why they cannot be stored; the block fails with it.
    fn load<'a>(
        &'a self,
        events: &'a [SpecEvent],
        knowledge: &'a Arc<knowledge::Knowledge>,
    ) -> BoxFuture<'a, Result<Arc<dyn EventSource>, String>>;

    /// Runs a search that was planned over a source returned by [`Self::load`].
    ///
    /// # Errors
    /// Errors of the search.
    fn execute<'a>(
        &'a self,
        planned: &'a PlannedSearch,
        _context: &'a PlanContext,
        session: &'a Session,
        on_batch: &'a mut OnBatch<'a>,
    ) -> BoxFuture<'a, Result<Completed, Error>> {
        Box::pin(async move { execute(planned, session, on_batch).await })
    }
}
