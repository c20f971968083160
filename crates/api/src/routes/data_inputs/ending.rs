//! Inputs of apps that end: they end before the index-time rules of their app do.
//!
//! Guarantees: from [`end_inputs_of`] until its result is dropped, no change of inputs begins those of the
//! apps. After a change that [`without_inputs_of`] makes, the inputs of the configuration in force run, also
//! if the change fails or panics. Leaves to others: which changes end apps.

use std::collections::{BTreeMap, BTreeSet};
use std::panic::{AssertUnwindSafe, resume_unwind};
use std::sync::Arc;

use axum::http::StatusCode;
use futures::FutureExt;
use inputs::configured::Skipped;
use parking_lot::Mutex;

use super::change::{end_missing, follow};
use crate::ApiState;
use crate::error::RestError;

/// The apps whose inputs have ended because their rules are about to end. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct EndingApps(Arc<Mutex<BTreeMap<String, usize>>>);

impl EndingApps {
    /// The names of the apps.
    pub(crate) fn names(&self) -> BTreeSet<String> {
        self.0.lock().keys().cloned().collect()
    }

    fn add(&self, apps: BTreeSet<String>) -> Ending {
        let mut all = self.0.lock();
        for app in &apps {
            *all.entry(app.clone()).or_default() += 1;
        }
        Ending { all: self.clone(), apps }
    }
}

/// Apps that are about to end. Until this is dropped, their inputs do not begin.
#[derive(Debug)]
#[must_use = "the inputs may begin again once it is dropped"]
pub struct Ending {
    all: EndingApps,
    apps: BTreeSet<String>,
}

impl Drop for Ending {
    fn drop(&mut self) {
        let mut all = self.all.0.lock();
        for app in &self.apps {
            // The app may be in several changes.
            let Some(changes) = all.get_mut(app) else { continue };
            *changes -= 1;
            if *changes == 0 {
                all.remove(app);
            }
        }
    }
}

/// Applies `inputs.conf` after an app was disabled or enabled. Inputs that do not run, and a server that is
/// stopping or starting, are logged.
pub async fn follow_inputs(state: &ApiState) {
    log(follow(state).await);
}

/// Ends the inputs of apps that are about to be disabled. No other input begins: its own index-time rules may
/// be part of the change. This must be done while the index-time rules of these apps are in force: without
/// them, events that still arrive would be indexed with everything that a rule masks or drops.
pub async fn end_inputs_of(state: &ApiState, apps: BTreeSet<String>) -> Ending {
    let ending = state.ending_apps.add(apps);
    log(end_missing(state).await.map(|()| Vec::new()));
    ending
}

/// Makes a change that may end apps: their inputs end before it, as [`end_inputs_of`] says, and the inputs of
/// the configuration that is in force afterwards begin after it, also if it fails.
pub(crate) async fn without_inputs_of<T>(
    state: &ApiState,
    apps: BTreeSet<String>,
    change: impl Future<Output = T>,
) -> T {
    let ending = if apps.is_empty() { None } else { Some(end_inputs_of(state, apps).await) };
    let done = AssertUnwindSafe(change).catch_unwind().await;
    drop(ending);
    follow_inputs(state).await;
    match done {
        Ok(done) => done,
        Err(panic) => resume_unwind(panic),
    }
}

fn log(followed: Result<Vec<Skipped>, RestError>) {
    match followed {
        Ok(skipped) => skipped.iter().for_each(|one| tracing::warn!("{one}")),
        Err(error) if error.status == StatusCode::SERVICE_UNAVAILABLE => {
            tracing::info!(error = error.text, "inputs.conf is not applied now");
        }
        Err(error) => tracing::error!(
            error = error.text,
            "inputs.conf could not be applied: inputs of apps that were being changed may not run"
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_app_is_ending_until_its_last_change_is_over() {
        let all = EndingApps::default();
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let (one, other) = (all.add(names(&["a", "b"])), all.add(names(&["b"])));
        assert_eq!(all.names(), names(&["a", "b"]));
        drop(one);
        assert_eq!(all.names(), names(&["b"]));
        drop(other);
        assert!(all.names().is_empty());
    }
}
