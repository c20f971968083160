//! A channel of rows from a running search, with an explicit end mark.
//!
//! Guarantees: who reads gets `None` only after the sender said that there is no more. Where the sender is
//! gone without a word (a panic, a runtime that ends) the last thing is an error, so that nobody takes what
//! came until then for the whole.

use std::time::Duration;

use model::ErrorKind;
use tokio::sync::mpsc;
use tokio::sync::mpsc::error::SendError;
use tokio::time::timeout;

use crate::Error;

/// The sender's end; the item `None` marks the end.
pub(crate) type Sender<T> = mpsc::Sender<Option<Result<T, Error>>>;

/// Time after which a reader that takes nothing stands still.
const STILL: Duration = Duration::from_secs(5);

/// Sends an item once there is room for it. If the reader stands still, `aside` is called, once, before the
/// rest of the wait.
///
/// # Errors
/// If the reader is gone.
pub(crate) async fn send<T>(
    sender: &Sender<T>,
    item: Result<T, Error>,
    aside: impl FnOnce(),
) -> Result<(), SendError<()>> {
    let mut room = std::pin::pin!(sender.reserve());
    let permit = match timeout(STILL, room.as_mut()).await {
        Ok(reserved) => reserved?,
        Err(_) => {
            aside();
            room.await?
        }
    };
    permit.send(Some(item));
    Ok(())
}

/// The reader's end.
#[derive(Debug)]
pub(crate) struct Receiver<T> {
    items: mpsc::Receiver<Option<Result<T, Error>>>,
    ended: bool,
}

/// Creates a channel with this capacity.
pub(crate) fn channel<T>(room: usize) -> (Sender<T>, Receiver<T>) {
    let (sender, items) = mpsc::channel(room);
    (sender, Receiver { items, ended: false })
}

impl<T> Receiver<T> {
    /// Returns the next rows; `None` at the end, and after an error.
    pub(crate) async fn next(&mut self) -> Option<Result<T, Error>> {
        if self.ended {
            return None;
        }
        let next = self.items.recv().await.unwrap_or_else(|| Some(Err(broken_off())));
        self.ended = !matches!(next, Some(Ok(_)));
        next
    }
}

fn broken_off() -> Error {
    let text = "the search was aborted before its last row; run it again".to_owned();
    Error::Search { kind: ErrorKind::Unavailable, text }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::AtomicUsize;
    use std::sync::atomic::Ordering::Relaxed;

    use super::*;

    #[tokio::test]
    async fn an_end_that_nobody_said_is_an_error() {
        let (sender, mut receiver) = channel(2);
        let _ = sender.send(Some(Ok(1))).await;
        drop(sender);
        assert!(matches!(receiver.next().await, Some(Ok(1))));
        let error = receiver.next().await.and_then(Result::err).map(|error| error.to_string());
        assert!(error.is_some_and(|text| text.contains("aborted")));
        assert!(receiver.next().await.is_none());
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_stands_still_is_noticed_once_and_waited_for() {
        let (sender, mut receiver) = channel(1);
        let asides = AtomicUsize::new(0);
        let aside = || {
            asides.fetch_add(1, Relaxed);
        };
        assert!(send(&sender, Ok(1), aside).await.is_ok());
        let reads = async {
            tokio::time::sleep(STILL / 2).await;
            assert!(matches!(receiver.next().await, Some(Ok(1))));
            // The second item is there now, and the third waits for this.
            tokio::time::sleep(STILL * 3).await;
            assert_eq!(asides.load(Relaxed), 1);
            assert!(matches!(receiver.next().await, Some(Ok(2))));
            assert!(matches!(receiver.next().await, Some(Ok(3))));
        };
        let sends = async {
            assert!(send(&sender, Ok(2), aside).await.is_ok());
            assert_eq!(asides.load(Relaxed), 0);
            assert!(send(&sender, Ok(3), aside).await.is_ok());
        };
        tokio::join!(reads, sends);
        drop(receiver);
        assert!(send(&sender, Ok(4), aside).await.is_err());
    }

    #[tokio::test]
    async fn an_end_that_was_said_is_none() {
        let (sender, mut receiver) = channel::<u8>(2);
        let _ = sender.send(None).await;
        assert!(receiver.next().await.is_none());
        drop(sender);
        assert!(receiver.next().await.is_none());
    }
}
