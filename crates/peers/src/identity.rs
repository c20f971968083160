//! Asks an address for the identity of its process. A start uses this to check whether its own identity is in
//! use.

use std::time::Duration;

use protocol::hot::OpenRequest;
use tonic::transport::Channel;

use crate::connection::{self, Deadlines};

/// The identity of the process at the end of a connection. The connection, and then the answer, may take
/// `most` each.
///
/// # Errors
/// Nobody answers in time, or the process does not tell its identity yet; the reason.
pub async fn identity_at(channel: Channel, most: Duration) -> Result<String, String> {
    let deadlines = Deadlines { first: most, next: most };
    // A range without events: only the identity in the list is wanted.
    let request = OpenRequest { earliest: 0, latest: 0, ..OpenRequest::default() };
    let opened = connection::open(channel, request, deadlines).await;
    let mut answer = opened.map_err(|status| connection::reason(&status))?;
    match answer.next().await {
        Ok(Some(list)) => Ok(list.id),
        Ok(None) => Err("the answer is empty".to_owned()),
        Err(status) => Err(connection::reason(&status)),
    }
}
