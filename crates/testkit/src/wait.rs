//! Waits for the effects of another task or process.

use std::time::{Duration, Instant};

/// Checks a condition every few milliseconds until it holds; `false` after the timeout.
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
