//! Inputs that another process of the cluster creates, changes or removes: this process follows.
//!
//! Guarantees: the state of the last change counts, however quickly changes follow each other. An input that
//! was changed over REST and cannot run here, for example because its port is taken on this machine, is named
//! in [`inputs::configured::RunningInputs::not_running`], and runs once it can; the others are not affected.
//! Leaves to others: to learn of changes, and to put the index-time rules in force between
//! [`FollowedInputs::end`] and [`FollowedInputs::catch_up`].

use axum::http::StatusCode;
use conf::Effective;
use inputs::configured::Skipped;

use super::change::{end_missing, follow, home};
use crate::ApiState;

/// The state of the inputs that was applied last.
#[derive(Debug, Default)]
pub struct FollowedInputs {
    /// The settings; `None`: they are applied in any case.
    applied: Option<Effective>,
    /// The enabled inputs that did not run then. `None`: those of the start, which are in the log.
    skipped: Option<Vec<Skipped>>,
    /// Whether one of them was created or changed over REST, so that it is tried again.
    is_short: bool,
}

impl FollowedInputs {
    /// Whether [`Self::catch_up`] has something to try again after [`inputs::configured::PAUSE`].
    #[must_use]
    pub fn is_behind(&self) -> bool {
        self.applied.is_none() || self.is_short
    }

    /// Applies the settings the next time even if they are the same.
    pub fn forget(&mut self) {
        self.applied = None;
    }

    /// Ends the inputs that were removed or disabled. This must be done before the index-time rules of that
    /// moment are in force: the rules of these inputs may be removed, too.
    pub async fn end(&self, state: &ApiState) {
        let applied = self.applied.as_ref();
        if applied.is_none_or(|applied| *applied == settings(state)) {
            return;
        }
        if let Err(error) = end_missing(state).await {
            tracing::info!(error = error.text, "inputs are not ended now");
        }
    }

    /// Begins, changes and ends inputs as `inputs.conf` and the objects of the cluster say it now, if they
    /// have changed since the last time, or if an input did not run then.
    pub async fn catch_up(&mut self, state: &ApiState) {
        let now = settings(state);
        if !self.is_behind() && self.applied.as_ref() == Some(&now) {
            return;
        }
        let skipped = match follow(state).await {
            Ok(skipped) => skipped,
            Err(error) => {
                self.applied = None;
                // Before the start of the inputs, and while the server is stopping.
                if error.status != StatusCode::SERVICE_UNAVAILABLE {
                    tracing::error!(error = error.text, "inputs.conf could not be applied");
                }
                return;
            }
        };
        if let Some(known) = &self.skipped {
            for one in skipped.iter().filter(|one| !known.contains(one)) {
                tracing::warn!("{one}");
            }
        }
        let is_stored =
            |one: &&Skipped| home(state, &one.stanza).is_some_and(|home| home.is_stored);
        let stored: Vec<&Skipped> = skipped.iter().filter(is_stored).collect();
        self.is_short = !stored.is_empty();
        state.inputs.name_skipped(stored.into_iter());
        self.applied = Some(now);
        self.skipped = Some(skipped);
    }
}

/// The settings in force.
fn settings(state: &ApiState) -> Effective {
    state.apps.knowledge().conf("inputs")
}
