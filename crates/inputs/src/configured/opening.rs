//! Inputs that cannot be opened, for example because their checkpoints are on a full disk: they are opened
//! again until it succeeds or the input ends, and are named meanwhile. Inputs that the program tries again,
//! because their port is taken, are named with them.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use runtime::Shutdown;
use tokio::sync::watch;

use super::skipped::Skipped;
use crate::Error;

/// Pause between two attempts to begin an input that does not run.
pub const PAUSE: Duration = Duration::from_secs(5);
/// The name of the input that reads monitored files.
pub(super) const MONITORED: &str = "the monitored files";

/// Opens an input beside the threads that wait for sockets: it may read, write and sync a file.
pub(super) async fn beside_sockets<T: Send + 'static>(
    open: Arc<impl Fn() -> Result<T, Error> + Send + Sync + 'static>,
) -> Result<T, Error> {
    runtime::blocking(move || open()).await.unwrap_or(Err(Error::Closed))
}

/// The inputs that do not run yet. Clones share them.
#[derive(Debug, Clone)]
pub(super) struct NotRunning(Arc<Board>);

#[derive(Debug)]
struct Board {
    reasons: Mutex<Reasons>,
    text: watch::Sender<Option<Arc<str>>>,
}

/// The reasons by input.
#[derive(Debug, Default)]
struct Reasons {
    /// Of inputs that are being opened.
    opening: BTreeMap<String, String>,
    /// Of inputs that the program tries again.
    skipped: BTreeMap<String, String>,
}

impl Default for NotRunning {
    fn default() -> Self {
        let (reasons, text) = (Mutex::default(), watch::Sender::new(None));
        Self(Arc::new(Board { reasons, text }))
    }
}

impl NotRunning {
    /// The inputs with their reasons; `None` if all run.
    pub(super) fn text(&self) -> watch::Receiver<Option<Arc<str>>> {
        self.0.text.subscribe()
    }

    /// Begins to open an input.
    pub(super) fn opening(&self, input: impl Into<String>, shutdown: &Shutdown) -> Opening {
        Opening { input: input.into(), board: self.clone(), shutdown: shutdown.clone() }
    }

    /// Names the inputs that the program tries again, in place of those before.
    pub(super) fn name_skipped<'a>(&self, skipped: impl Iterator<Item = &'a Skipped>) {
        let mut reasons = self.0.reasons.lock();
        let named = skipped.map(|one| (format!("[{}]", one.stanza), one.reason.clone()));
        reasons.skipped = named.collect();
        self.tell(&reasons);
    }

    /// Whether there are inputs that the program tries again.
    pub(super) fn has_skipped(&self) -> bool {
        !self.0.reasons.lock().skipped.is_empty()
    }

    fn note(&self, input: &str, reason: Option<String>) {
        let mut reasons = self.0.reasons.lock();
        match reason {
            Some(reason) => drop(reasons.opening.insert(input.to_owned(), reason)),
            None => drop(reasons.opening.remove(input)),
        }
        self.tell(&reasons);
    }

    /// Publishes the reasons, while they are locked: a text is not replaced by an earlier one.
    fn tell(&self, reasons: &Reasons) {
        let all = reasons.opening.iter().chain(&reasons.skipped);
        let all: Vec<_> = all.map(|(input, reason)| format!("{input}: {reason}")).collect();
        let text: Option<Arc<str>> = (!all.is_empty()).then(|| {
            let (seconds, all) = (PAUSE.as_secs(), all.join("; "));
            format!("inputs do not run, and are tried again every {seconds} s: {all}").into()
        });
        self.0.text.send_if_modified(|now| {
            let is_changed = *now != text;
            *now = text;
            is_changed
        });
    }
}

/// An input that is being opened.
#[derive(Debug)]
pub(super) struct Opening {
    input: String,
    board: NotRunning,
    shutdown: Shutdown,
}

impl Opening {
    /// Returns the input once it can be opened; `None` if it ends before.
    pub(super) async fn until_open<T, F>(self, open: impl Fn() -> F) -> Option<T>
    where
        F: Future<Output = Result<T, Error>>,
    {
        let opened = loop {
            match open().await {
                Ok(opened) => break Some(opened),
                Err(error) => self.board.note(&self.input, Some(error.to_string())),
            }
            if !self.shutdown.sleep(PAUSE).await {
                break None;
            }
        };
        self.board.note(&self.input, None);
        opened
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn inputs_that_do_not_run_are_named_with_their_reasons_until_they_do() {
        let inputs = NotRunning::default();
        let text = inputs.text();
        inputs.note("the monitored files", Some("the disk is full".to_owned()));
        inputs.note("[aws_sqs_based_s3://q]", Some("the disk is full".to_owned()));
        assert_eq!(
            text.borrow().as_deref().unwrap(),
            "inputs do not run, and are tried again every 5 s: [aws_sqs_based_s3://q]: the disk is full; \
             the monitored files: the disk is full"
        );
        inputs.note("[aws_sqs_based_s3://q]", None);
        assert!(!text.borrow().as_deref().unwrap().contains("aws_sqs"));
        inputs.note("the monitored files", None);
        assert!(text.borrow().is_none());
    }

    #[test]
    fn inputs_that_the_program_tries_again_are_named_beside_them_until_it_names_others() {
        let inputs = NotRunning::default();
        let text = inputs.text();
        let skipped = |stanza: &str| Skipped {
            stanza: stanza.to_owned(),
            reason: "the port is taken".to_owned(),
        };
        inputs.note("the monitored files", Some("the disk is full".to_owned()));
        inputs.name_skipped([skipped("tcp://1"), skipped("udp://2")].iter());
        let named = text.borrow().as_deref().unwrap().to_owned();
        let all = "the monitored files: the disk is full; [tcp://1]: the port is taken; [udp://2]: \
                   the port is taken";
        assert!(named.ends_with(all) && inputs.has_skipped(), "{named}");
        inputs.note("the monitored files", None);
        inputs.name_skipped([skipped("udp://2")].iter());
        let named = text.borrow().as_deref().unwrap().to_owned();
        assert!(named.ends_with("every 5 s: [udp://2]: the port is taken"), "{named}");
        inputs.name_skipped(std::iter::empty());
        assert!(text.borrow().is_none() && !inputs.has_skipped());
    }

    #[tokio::test]
    async fn an_input_that_ends_before_it_is_opened_is_not_named_any_more() {
        let (inputs, shutdown) = (NotRunning::default(), Shutdown::new());
        shutdown.stop();
        let open = || std::future::ready(Err::<(), _>(Error::Closed));
        let opening = inputs.opening("the monitored files", &shutdown);
        assert!(opening.until_open(open).await.is_none());
        assert!(inputs.text().borrow().is_none());
    }
}
