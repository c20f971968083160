//! The state of another process, which its list of hot buckets contains besides the buckets.

use std::time::Duration;

use cluster::Searches;
use model::{Durations, IndexName};
use protocol::hot::OpenResponse;
use tonic::Status;

/// The answer of a process to a status request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Answered {
    /// The number of the last write of the catalog that it has.
    pub write: u64,
    /// For how long it has lacked a write that this process had when it got the answer.
    pub lag: Duration,
    /// Its search counters; none from a process of an older version.
    pub searches: Searches,
    /// The indexes being removed of which it has and accepts no hot events; none from an older version.
    pub emptied: Vec<IndexName>,
    /// The texts of its conditions which say that one of its disks is full; none from an older version.
    pub full_disks: Vec<String>,
}

impl Answered {
    /// Takes the state from a list.
    pub(crate) fn take(list: &mut OpenResponse) -> Result<Self, Status> {
        let emptied = list.emptied.iter().map(|name| IndexName::new(name));
        let emptied = emptied.collect::<Result<Vec<_>, _>>();
        Ok(Self {
            write: list.floor,
            lag: Duration::ZERO,
            searches: list.searches.take().map(searches_of).unwrap_or_default(),
            emptied: emptied.map_err(|error| Status::data_loss(error.to_string()))?,
            full_disks: std::mem::take(&mut list.full_disks),
        })
    }
}

fn searches_of(message: protocol::hot::Searches) -> Searches {
    let times = Durations::of_counts(message.times);
    Searches { incomplete: message.incomplete, times }
}
