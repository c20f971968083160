//! Who may hold how much memory: each search gets a pool of its own, over which it spills to disk. One that
//! sorts, groups or joins waits until the pools of all such searches together fit.

use std::sync::Arc;

use datafusion::common::tree_node::TreeNode;
use datafusion::logical_expr::LogicalPlan;
use plan::{PlanningTime, Session};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{Error, Settings};

const MEBIBYTE: usize = 1 << 20;

/// Room for searches.
#[derive(Debug)]
pub(crate) struct Memory {
    /// A permit is a mebibyte.
    room: Arc<Semaphore>,
    /// What one search may hold.
    search: usize,
}

/// Where a search runs, and its room, which it gives back when this is dropped.
#[derive(Debug)]
pub(crate) struct Granted {
    pub(crate) session: Session,
    _room: Option<OwnedSemaphorePermit>,
}

impl Memory {
    pub(crate) fn new(settings: &Settings) -> Self {
        let total = settings.memory_bytes.max(settings.search_memory_bytes) / MEBIBYTE;
        let room = Arc::new(Semaphore::new(total.clamp(1, Semaphore::MAX_PERMITS)));
        Self { room, search: settings.search_memory_bytes }
    }

    /// A session for a plan; waits for room if the plan may hold much.
    ///
    /// # Errors
    /// If the session cannot be set up.
    pub(crate) async fn grant(
        &self,
        session: &Session,
        plan: &LogicalPlan,
        stages: bool,
        planning: &PlanningTime,
    ) -> Result<Granted, Error> {
        let room = if stages || holds_much(plan) {
            let permits = u32::try_from(self.search / MEBIBYTE).unwrap_or(u32::MAX).max(1);
            // The semaphore is never closed, and has room for one search at least.
            Arc::clone(&self.room).acquire_many_owned(permits).await.ok()
        } else {
            None
        };
        let session = session.for_search(self.search, planning);
        let session = session.map_err(|error| Error::Internal(error.to_string()))?;
        Ok(Granted { session, _room: room })
    }
}

/// Whether a plan has an operator that holds as much as its rows or groups are.
fn holds_much(plan: &LogicalPlan) -> bool {
    let holds = |node: &LogicalPlan| {
        Ok(match node {
            LogicalPlan::Sort(sort) => sort.fetch.is_none(),
            LogicalPlan::Projection(_)
            | LogicalPlan::Filter(_)
            | LogicalPlan::Limit(_)
            | LogicalPlan::TableScan(_)
            | LogicalPlan::SubqueryAlias(_)
            | LogicalPlan::Union(_)
            | LogicalPlan::Values(_)
            | LogicalPlan::EmptyRelation(_) => false,
            _ => true,
        })
    };
    plan.exists(holds).unwrap_or(true)
}
