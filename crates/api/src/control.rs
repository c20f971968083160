//! Requests to the process itself, such as a restart.

use tokio::sync::watch;

/// A handle through which routes send requests to the process, and through which the process announces that
/// it is about to stop. Clones share it.
#[derive(Debug, Clone)]
pub struct Control {
    restart: watch::Sender<bool>,
    leaves: watch::Sender<bool>,
    retires: watch::Sender<bool>,
}

impl Default for Control {
    fn default() -> Self {
        let no = || watch::Sender::new(false);
        Self { restart: no(), leaves: no(), retires: no() }
    }
}

impl Control {
    /// Asks the process to end in order and to begin again.
    pub fn restart(&self) {
        self.restart.send_replace(true);
    }

    /// Waits until somebody asks for it.
    pub async fn restart_wanted(&self) {
        let mut wanted = self.restart.subscribe();
        // The sender lives in self, so waiting cannot fail.
        let _ = wanted.wait_for(|wanted| *wanted).await;
    }

    /// Marks the process as not ready, because it stops soon. It continues to answer.
    pub fn leave(&self) {
        self.leaves.send_replace(true);
    }

    /// Marks the process as ready again, because it does not stop.
    pub fn stay(&self) {
        self.leaves.send_replace(false);
    }

    /// Asks the process to end in order, and for good: it has time for everything that it has.
    pub fn retire(&self) {
        self.retires.send_replace(true);
    }

    /// Waits until somebody asks for it.
    pub async fn retirement_wanted(&self) {
        let mut wanted = self.retires.subscribe();
        let _ = wanted.wait_for(|wanted| *wanted).await;
    }

    /// Whether somebody has asked for it.
    #[must_use]
    pub fn retires(&self) -> bool {
        *self.retires.borrow()
    }

    /// Whether it stops soon.
    #[must_use]
    pub fn leaves(&self) -> bool {
        *self.leaves.borrow()
    }
}
