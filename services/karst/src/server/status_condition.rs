//! Status messages of components, as conditions of the server's health.

use std::sync::Arc;

use runtime::health::Severity;
use runtime::{Health, Shutdown};
use tokio::sync::watch;

/// Sets the condition, as a warning, while the component has a message.
pub(crate) async fn follow(
    mut said: watch::Receiver<Option<Arc<str>>>,
    condition: &'static str,
    health: Health,
    shutdown: Shutdown,
) {
    loop {
        let now = said.borrow_and_update().clone();
        match now {
            Some(text) => health.set(condition, Severity::Warning, text),
            None => health.clear(condition),
        }
        tokio::select! {
            () = shutdown.stopped() => return,
            changed = said.changed() => if changed.is_err() { return },
        }
    }
}
