//! Reads at the start of a process, which are repeated if a response of the store was truncated.
//!
//! The client retries requests that it could not send, and bodies of objects that break off. A truncated
//! listing, or a truncated response such as "no such object", is an error at once. After the start, callers
//! retry themselves; during the start, such an error would end the process.

use std::time::Duration;

use object_store::{Error, Result};
use tokio::time::{Instant, sleep};

/// First and longest pause between attempts; the pause doubles.
const PAUSES: (Duration, Duration) = (Duration::from_millis(100), Duration::from_millis(6_400));
/// Time after which there are no more attempts: the client itself has retried for a while, and an
/// administrator may be waiting for the message that an address is wrong.
const PATIENCE: Duration = Duration::from_secs(20);

/// Repeats a read while it fails, and returns its result. Refusals and missing objects count as results.
/// `what` names the object or the prefix in the log.
///
/// # Errors
/// The last error, after some seconds.
pub async fn ask_again<T, Asked>(what: &str, ask: impl Fn() -> Asked) -> Result<T>
where
    Asked: Future<Output = Result<T>>,
{
    let began = Instant::now();
    let (mut pause, longest) = PAUSES;
    loop {
        let error = match ask().await {
            Err(error @ Error::Generic { .. }) => error,
            answer => return answer,
        };
        if pause > longest || began.elapsed() >= PATIENCE {
            return Err(error);
        }
        tracing::warn!(what, %error, again_in = ?pause, "the object store is asked again");
        sleep(pause).await;
        pause *= 2;
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::cell::Cell;

    use super::*;

    fn cut() -> Error {
        Error::Generic { store: "S3", source: "end of file before message length reached".into() }
    }

    #[tokio::test(start_paused = true)]
    async fn a_cut_answer_is_asked_for_again_and_a_refusal_is_not() {
        let asked = Cell::new(0);
        let third = ask_again("x", || async {
            asked.set(asked.get() + 1);
            if asked.get() < 3 { Err(cut()) } else { Ok(asked.get()) }
        });
        assert_eq!(third.await.unwrap(), 3);
        let missing = ask_again::<(), _>("x", || async {
            asked.set(asked.get() + 1);
            Err(Error::NotFound { path: "x".to_owned(), source: "none".into() })
        });
        assert!(matches!(missing.await, Err(Error::NotFound { .. })));
        assert_eq!(asked.get(), 4);
    }

    #[tokio::test(start_paused = true)]
    async fn a_store_that_stays_away_is_reported_after_some_seconds() {
        let began = Instant::now();
        let error = ask_again::<(), _>("x", || async { Err(cut()) }).await.unwrap_err();
        assert!(error.to_string().contains("end of file"), "{error}");
        assert!(began.elapsed() > Duration::from_secs(10) && began.elapsed() < PATIENCE);
        // Simulates a client that has itself retried for long.
        let slowly = || async {
            sleep(PATIENCE).await;
            Err(cut())
        };
        let began = Instant::now();
        ask_again::<(), _>("x", slowly).await.unwrap_err();
        assert_eq!(began.elapsed(), PATIENCE);
    }
}
