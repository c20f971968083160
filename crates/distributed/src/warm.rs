//! Hints to other processes: which buckets they are likely to read soon.

use std::time::Duration;

use bytes::Bytes;
use protocol::search::{WarmAnswer, WarmRequest};
use tokio::time::timeout;
use tonic::transport::Channel;
use tonic::{Code, Request};
use tonic_prost::ProstCodec;

use crate::conversation::{Failure, lost, ready, silent};
use crate::{WARM, path_of};

/// Sends hints to a process. Returns false if the process, one of an earlier release, does not know the call.
///
/// # Errors
/// [`Failure::Lost`] if it does not answer in time.
pub async fn warm(channel: Channel, hints: Bytes, most: Duration) -> Result<bool, Failure> {
    let telling = async {
        let codec = ProstCodec::<WarmRequest, WarmAnswer>::default();
        let request = Request::new(WarmRequest { hints });
        ready(channel).await?.unary(request, path_of(WARM), codec).await
    };
    match timeout(most, telling).await.map_err(|_| silent(most))? {
        Ok(_) => Ok(true),
        Err(status) if status.code() == Code::Unimplemented => Ok(false),
        Err(status) => Err(lost(&status)),
    }
}
