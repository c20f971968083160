//! Questions that planning asks a worker before parts are started.

use std::time::Duration;

use bytes::Bytes;
use protocol::search::{DescribeAnswer, DescribeRequest};
use tokio::time::timeout;
use tonic::Streaming;
use tonic::transport::Channel;
use tonic_prost::ProstCodec;

use crate::conversation::{Failure, lost, ready, silent};
use crate::{CallContext, DESCRIBE, path_of};

/// Asks a process about its hot rows; fails if it is silent for longer than the given time. `context` is
/// sent with the call.
///
/// # Errors
/// [`Failure::Refused`] with the reason, or [`Failure::Lost`].
pub async fn describe(
    channel: Channel,
    question: Bytes,
    silence: Duration,
    context: &CallContext,
) -> Result<Bytes, Failure> {
    let asking = async {
        let codec = ProstCodec::<DescribeRequest, DescribeAnswer>::default();
        let request = context.with(DescribeRequest { question });
        ready(channel).await?.server_streaming(request, path_of(DESCRIBE), codec).await
    };
    let answers = timeout(silence, asking).await.map_err(|_| silent(silence))?;
    let mut answers: Streaming<DescribeAnswer> =
        answers.map_err(|status| lost(&status))?.into_inner();
    loop {
        let answer = timeout(silence, answers.message()).await.map_err(|_| silent(silence))?;
        let Some(answer) = answer.map_err(|status| lost(&status))? else {
            return Err(Failure::Lost("it left before the end".to_owned()));
        };
        if !answer.refused.is_empty() {
            return Err(Failure::Refused(answer.refused));
        }
        if !answer.alive {
            return Ok(answer.answer);
        }
    }
}
