//! Inputs that another process of the cluster creates, changes or removes: this process follows.
//!
//! Guarantees: the state of the last change counts, however quickly changes follow each other, and whichever
//! processes make them. An input that was changed over REST and cannot run here, for example because its port
//! is taken on this machine, is named in [`inputs::configured::RunningInputs::not_running`], and runs once it
//! can; the others are not affected. Leaves to others: to learn of changes, and to put the index-time rules
//! in force between [`FollowedInputs::end`] and [`FollowedInputs::catch_up`].

use axum::http::StatusCode;
use inputs::configured::Skipped;

use super::change::{end_missing, follow};
use crate::ApiState;
use crate::error::RestError;

/// What was followed. The settings are compared with the running inputs each time, not with those that were
/// followed last: requests to this process change the inputs, too.
#[derive(Debug, Default)]
pub struct FollowedInputs {
    /// Whether the inputs are those of the settings in force, except those that cannot run.
    is_applied: bool,
    /// The enabled inputs that did not run. `None`: those of the start, which are in the log.
    skipped: Option<Vec<Skipped>>,
    /// The failure that is in the log.
    failure: Option<String>,
}

impl FollowedInputs {
    /// Whether [`Self::catch_up`] has something to try again after [`inputs::configured::PAUSE`].
    #[must_use]
    pub fn is_behind(&self, state: &ApiState) -> bool {
        !self.is_applied || state.inputs.has_skipped()
    }

    /// Ends the inputs that were removed or disabled. This must be done before the index-time rules of that
    /// moment are in force: the rules of these inputs may be removed, too.
    pub async fn end(&mut self, state: &ApiState) {
        if let Err(error) = end_missing(state).await {
            self.note(&error);
        }
    }

    /// Begins, changes and ends inputs as `inputs.conf` and the objects of the cluster say it now.
    pub async fn catch_up(&mut self, state: &ApiState) {
        let skipped = match follow(state).await {
            Ok(skipped) => skipped,
            Err(error) => return self.note(&error),
        };
        if let Some(known) = &self.skipped {
            for one in skipped.iter().filter(|one| !known.contains(one)) {
                tracing::warn!("{one}");
            }
        }
        *self = Self { is_applied: true, skipped: Some(skipped), failure: None };
    }

    /// A failure that stays the same is logged once.
    fn note(&mut self, error: &RestError) {
        self.is_applied = false;
        // Before the start of the inputs, and while the server is stopping.
        if error.status == StatusCode::SERVICE_UNAVAILABLE
            || self.failure.as_ref() == Some(&error.text)
        {
            return;
        }
        tracing::error!(error = error.text, "inputs.conf could not be applied");
        self.failure = Some(error.text.clone());
    }
}
