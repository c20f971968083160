//! The open streams of job statuses: their number per user, and the page that each new job belongs to.
//!
//! A page follows its jobs with one stream (`routes/job_stream.rs`). It names that stream when it starts a
//! search, so that the stream has the job at once, without being opened again for each job.
//! The registry knows the streams of this process only: a page that a load balancer sends elsewhere with a
//! new search opens its stream again, with the id of the job.

use std::collections::HashMap;
use std::sync::Arc;

use metrics::{counter, gauge};
use parking_lot::Mutex;
use runtime::metrics as names;
use search::Job;
use tokio::sync::mpsc;

use crate::error::RestError;

/// New jobs that wait for their stream. A stream looks at them within milliseconds; a job that finds no room
/// is left out, and its page asks for it by id.
const MAX_WAITING: usize = 64;

/// Longest name of a stream.
const MAX_NAME_BYTES: usize = 64;

/// The name by which a page ties its searches to its stream (`status_stream`).
pub(crate) fn stream_name(name: &str) -> Result<&str, RestError> {
    let fits = |c: char| c.is_ascii_alphanumeric() || "_-".contains(c);
    if !name.is_empty() && name.len() <= MAX_NAME_BYTES && name.chars().all(fits) {
        return Ok(name);
    }
    let text = format!("status_stream: 1 to {MAX_NAME_BYTES} letters, digits and _ -");
    Err(RestError::invalid(text))
}

/// The open streams of job statuses. Clones share them.
#[derive(Debug, Clone, Default)]
pub struct StatusStreams(Arc<Mutex<Open>>);

#[derive(Debug, Default)]
struct Open {
    /// The number of the next stream.
    next: u64,
    by_user: HashMap<String, Vec<Entry>>,
}

#[derive(Debug)]
struct Entry {
    number: u64,
    name: Option<String>,
    jobs: mpsc::Sender<Arc<Job>>,
}

/// A stream that is open until this is dropped.
#[derive(Debug)]
pub(crate) struct OpenStream {
    streams: StatusStreams,
    user: String,
    number: u64,
    jobs: mpsc::Receiver<Arc<Job>>,
}

impl StatusStreams {
    /// Opens a stream of a user, who may have `most` at a time; `None` if there are as many. A stream ends an
    /// earlier one of the same name: its page has opened it again, and a proxy may keep the old one open.
    pub(crate) fn open(&self, user: &str, name: Option<&str>, most: usize) -> Option<OpenStream> {
        let mut open = self.0.lock();
        let number = open.next;
        let entries = open.by_user.entry(user.to_owned()).or_default();
        if name.is_some() {
            entries.retain(|entry| entry.name.as_deref() != name);
        }
        if entries.len() >= most {
            if entries.is_empty() {
                open.by_user.remove(user);
            }
            counter!(names::STATUS_STREAMS_REFUSED).increment(1);
            return None;
        }
        let (sender, jobs) = mpsc::channel(MAX_WAITING);
        entries.push(Entry { number, name: name.map(str::to_owned), jobs: sender });
        open.next += 1;
        gauge!(names::STATUS_STREAMS).increment(1.0);
        Some(OpenStream { streams: self.clone(), user: user.to_owned(), number, jobs })
    }

    /// Notifies a user's stream of this name, if it is open here, of a new job.
    pub(crate) fn tell(&self, user: &str, name: &str, job: &Arc<Job>) {
        let open = self.0.lock();
        let entries = open.by_user.get(user).into_iter().flatten();
        for entry in entries.filter(|entry| entry.name.as_deref() == Some(name)) {
            let _ = entry.jobs.try_send(Arc::clone(job));
        }
    }
}

impl OpenStream {
    /// The next new job of the page; `None` once another stream of the same name is open.
    pub(crate) async fn next_job(&mut self) -> Option<Arc<Job>> {
        self.jobs.recv().await
    }
}

impl Drop for OpenStream {
    fn drop(&mut self) {
        gauge!(names::STATUS_STREAMS).decrement(1.0);
        let mut open = self.streams.0.lock();
        let Some(entries) = open.by_user.get_mut(&self.user) else { return };
        entries.retain(|entry| entry.number != self.number);
        if entries.is_empty() {
            open.by_user.remove(&self.user);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_a_limited_number_of_streams_and_gets_a_place_back() {
        let streams = StatusStreams::default();
        let first = streams.open("ann", None, 2).unwrap();
        let second = streams.open("ann", Some("page"), 2).unwrap();
        assert!(streams.open("ann", Some("other"), 2).is_none());
        assert!(streams.open("bob", None, 2).is_some());
        drop(first);
        let third = streams.open("ann", None, 2).unwrap();
        drop((second, third));
        assert!(streams.0.lock().by_user.is_empty());
    }

    #[tokio::test]
    async fn a_stream_ends_the_earlier_one_of_its_name() {
        let streams = StatusStreams::default();
        let mut earlier = streams.open("ann", Some("page"), 1).unwrap();
        let other = streams.open("bob", Some("page"), 1).unwrap();
        let later = streams.open("ann", Some("page"), 1).unwrap();
        assert!(earlier.next_job().await.is_none());
        drop(earlier);
        assert_eq!(streams.0.lock().by_user.len(), 2);
        drop((later, other));
        assert!(streams.0.lock().by_user.is_empty());
    }

    #[test]
    fn none_are_open_where_none_are_allowed() {
        let streams = StatusStreams::default();
        assert!(streams.open("ann", Some("page"), 0).is_none());
        assert!(streams.0.lock().by_user.is_empty());
    }
}
