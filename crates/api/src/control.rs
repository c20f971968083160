//! What requests may ask of the process itself.

use tokio::sync::watch;

/// A handle that routes ask with and the process listens to. Clones share it.
#[derive(Debug, Clone)]
pub struct Control(watch::Sender<bool>);

impl Default for Control {
    fn default() -> Self {
        Self(watch::Sender::new(false))
    }
}

impl Control {
    /// Asks the process to end in order and to begin again.
    pub(crate) fn restart(&self) {
        self.0.send_replace(true);
    }

    /// Waits until somebody asks for it.
    pub async fn restart_wanted(&self) {
        let mut wanted = self.0.subscribe();
        // The sender lives in self, so waiting cannot fail.
        let _ = wanted.wait_for(|wanted| *wanted).await;
    }
}
