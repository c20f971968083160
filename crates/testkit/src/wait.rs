//! Waiting for something that another task or process does.

use std::time::{Duration, Instant};

/// Asks every few milliseconds until the condition holds; `false` when the time is over first.
pub async fn wait_until<F, R>(mut condition: F, timeout: Duration) -> bool
where
    F: FnMut() -> R,
    R: Future<Output = bool>,
{
    let start = Instant::now();
    loop {
        if condition().await {
            return true;
        }
        if start.elapsed() >= timeout {
            return false;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}
