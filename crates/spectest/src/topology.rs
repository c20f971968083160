//! Where the events of a block lie while its search runs.

use std::fmt::Debug;
use std::sync::Arc;

use futures::future::BoxFuture;
use plan::{
    Completed, Error, EventSource, OnBatch, PlanContext, PlannedSearch, Session, SessionSettings,
    execute,
};

use crate::SpecEvent;

/// One way to hold events. Implementations put every event where a search finds it once.
pub trait Topology: Send + Sync + Debug {
    /// Names it in reports.
    fn name(&self) -> String;

    /// Whether it differs from others only in where events are: blocks that generate their rows are not run
    /// over it again.
    fn is_about_events(&self) -> bool {
        false
    }

    /// [`SessionSettings::wide_columns`] of its searches.
    fn wide_columns(&self) -> usize {
        SessionSettings::default().wide_columns
    }

    /// Which one it is, of how many among which the blocks of a file are shared out in turns.
    fn share(&self) -> (usize, usize) {
        (0, 1)
    }

    /// Takes the events of a block, in the order in which the block lists them, and gives back a
    /// source that finds them. `knowledge` holds the block's configuration.
    ///
    /// # Errors
    /// Why they could not be stored; the block fails with it.
    fn load<'a>(
        &'a self,
        events: &'a [SpecEvent],
        knowledge: &'a Arc<knowledge::Knowledge>,
    ) -> BoxFuture<'a, Result<Arc<dyn EventSource>, String>>;

    /// Runs a search that was planned over a source of [`Self::load`].
    ///
    /// # Errors
    /// Those of the search.
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
