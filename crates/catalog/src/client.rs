//! Requests of a follower to the leader of the catalog, over gRPC.
//!
//! A follower knows the addresses of all processes that may lead. A request goes to the one that answered
//! last; when it does not answer, or is no leader, the next one is asked after a pause, until the deadline.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use model::{BucketId, BucketSummary};
use prost::Message;
use protocol::catalog::{
    CommitRequest, CommitResponse, FollowRequest, FollowResponse, SummariesRequest,
    SummariesResponse,
};
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Channel;
use tonic::{Code, Request, Status, Streaming};
use tonic_prost::ProstCodec;
use transport::Transport;

use crate::codec::{Entry, Shared};
use crate::error::{Result, chain};
use crate::wire::{self, COMMIT, FOLLOW, MAX_IDS, MAX_MESSAGE, SUMMARIES};
use crate::{Error, Settings};

/// A process that may lead.
struct Peer {
    address: String,
    channel: Channel,
}

/// The processes that may lead.
pub(crate) struct Leader {
    peers: Vec<Peer>,
    /// The one that is asked first.
    current: AtomicUsize,
    /// Of a request with its repetitions, and of one of them.
    deadlines: (Duration, Duration),
    /// Of a request for summaries, which can be read elsewhere.
    summaries_deadline: Duration,
    /// Whether nobody that was asked leads.
    is_lost: AtomicBool,
    pauses: (Duration, Duration),
}

impl std::fmt::Debug for Leader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Leader").field("addresses", &self.addresses()).finish_non_exhaustive()
    }
}

impl Leader {
    /// Connects when the first request is made.
    pub(crate) fn new(
        addresses: &[String],
        transport: &Transport,
        settings: &Settings,
    ) -> Result<Self> {
        let refused = |address: &str, reason: String| Error::Invalid {
            path: String::new(),
            what: format!("the address {address:?} of a leader"),
            reason,
        };
        let mut peers = Vec::with_capacity(addresses.len());
        for address in addresses {
            let channel = transport.channel(address);
            let channel = channel.map_err(|error| refused(address, chain(&error)))?;
            peers.push(Peer { address: address.clone(), channel });
        }
        if peers.is_empty() {
            return Err(refused("", "at least one is needed".to_owned()));
        }
        let deadlines = (settings.leader_deadline, settings.leader_attempt);
        Ok(Self {
            peers,
            current: AtomicUsize::new(0),
            deadlines,
            summaries_deadline: settings.summaries_deadline,
            is_lost: AtomicBool::new(false),
            pauses: settings.leader_retry,
        })
    }

    pub(crate) fn addresses(&self) -> String {
        let all: Vec<_> = self.peers.iter().map(|peer| peer.address.as_str()).collect();
        all.join(", ")
    }

    pub(crate) fn deadline(&self) -> Duration {
        self.deadlines.0
    }

    /// A change; the number of a state that has it. It may be made more than once.
    pub(crate) async fn commit(&self, request: CommitRequest) -> Result<u64> {
        let length = request.encoded_len();
        if length > MAX_MESSAGE {
            let reason = format!("it has {length} bytes, at most {MAX_MESSAGE} are sent at a time");
            let path = self.addresses();
            return Err(Error::Invalid { path, what: "a commit".to_owned(), reason });
        }
        let ask = |channel: Channel| {
            let request = Request::new(request.clone());
            async {
                let mut grpc = ready(channel).await?;
                let codec = ProstCodec::<CommitRequest, CommitResponse>::default();
                grpc.unary(request, PathAndQuery::from_static(COMMIT), codec).await
            }
        };
        Ok(self.ask(self.deadlines.0, ask).await?.into_inner().number)
    }

    /// Summaries of buckets, those that the leader has.
    pub(crate) async fn summaries(
        &self,
        ids: &[BucketId],
    ) -> Result<HashMap<BucketId, Arc<BucketSummary>>> {
        let mut found = HashMap::with_capacity(ids.len());
        for some in ids.chunks(MAX_IDS) {
            let ids = some.iter().map(|id| wire::id_bytes(*id)).collect();
            let request = SummariesRequest { ids };
            let ask = |channel: Channel| {
                let request = Request::new(request.clone());
                async {
                    let mut grpc = ready(channel).await?;
                    let codec = ProstCodec::<SummariesRequest, SummariesResponse>::default();
                    let path = PathAndQuery::from_static(SUMMARIES);
                    let mut parts = grpc.server_streaming(request, path, codec).await?.into_inner();
                    let mut all = Vec::new();
                    while let Some(part) = parts.message().await? {
                        all.extend(part.summaries);
                    }
                    Ok(all)
                }
            };
            for pair in self.ask(self.summaries_deadline, ask).await? {
                let entry = wire::entry_of(&pair, &mut Shared::default());
                let entry = entry.map_err(|damage| damage.at(&self.addresses(), &pair.key))?;
                if let Entry::Summary(id, summary) = entry {
                    found.insert(id, summary);
                }
            }
        }
        Ok(found)
    }

    /// One attempt to follow the process that is asked first.
    pub(crate) async fn follow(
        &self,
        request: FollowRequest,
    ) -> std::result::Result<Streaming<FollowResponse>, Status> {
        let (_, channel) = self.peer();
        let opening = async {
            let mut grpc = ready(channel).await?;
            let codec = ProstCodec::<FollowRequest, FollowResponse>::default();
            let path = PathAndQuery::from_static(FOLLOW);
            grpc.server_streaming(Request::new(request), path, codec).await
        };
        let opened = tokio::time::timeout(self.deadlines.1, opening).await;
        opened.unwrap_or_else(|_| Err(silent(self.deadlines.1))).map(tonic::Response::into_inner)
    }

    /// Whether the leader is lost: then nobody is asked for what can be had elsewhere.
    pub(crate) fn is_lost(&self) -> bool {
        self.is_lost.load(Ordering::SeqCst)
    }

    /// Notes whether the leader is lost; whether it was before.
    pub(crate) fn lose(&self, is_lost: bool) -> bool {
        self.is_lost.swap(is_lost, Ordering::SeqCst)
    }

    /// The pauses between attempts, at first and at most.
    pub(crate) fn pauses(&self) -> (Duration, Duration) {
        self.pauses
    }

    /// Asks another process from now on, unless somebody has seen to that.
    pub(crate) fn pass_over(&self, place: usize) {
        let next = (place + 1) % self.peers.len();
        let _ = self.current.compare_exchange(place, next, Ordering::SeqCst, Ordering::SeqCst);
    }

    pub(crate) fn place(&self) -> usize {
        self.current.load(Ordering::SeqCst)
    }

    fn peer(&self) -> (usize, Channel) {
        let place = self.place();
        (place, self.peers[place].channel.clone())
    }

    /// Asks until there is an answer of the catalog.
    async fn ask<T, F>(&self, deadline: Duration, request: impl Fn(Channel) -> F) -> Result<T>
    where
        F: Future<Output = std::result::Result<T, Status>> + Send,
    {
        let began = Instant::now();
        let attempt = self.deadlines.1;
        let (mut pause, longest) = self.pauses;
        loop {
            let (place, channel) = self.peer();
            let left = attempt.min(deadline.saturating_sub(began.elapsed()));
            let answer = tokio::time::timeout(left, Box::pin(request(channel))).await;
            let status = match answer {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(status)) => status,
                Err(_) => silent(attempt),
            };
            let reason = match self.judge(&status) {
                Judgement::Answer(error) => return Err(error),
                Judgement::AskAgain(reason) => reason,
            };
            self.pass_over(place);
            if began.elapsed() + pause >= deadline {
                let (leader, seconds) = (self.addresses(), deadline.as_secs());
                return Err(Error::Unreachable { leader, seconds, reason });
            }
            tokio::time::sleep(jittered(pause)).await;
            pause = (pause * 2).min(longest);
        }
    }

    fn judge(&self, status: &Status) -> Judgement {
        match wire::error_of(status) {
            // It is no leader any more; another one is, or will be.
            Some(error @ (Error::Fenced { .. } | Error::Closed { .. })) => {
                Judgement::AskAgain(error.to_string())
            }
            Some(error) => Judgement::Answer(error),
            None => match status.code() {
                Code::InvalidArgument | Code::OutOfRange | Code::Unimplemented => {
                    let (path, what) = (self.addresses(), "a request".to_owned());
                    let reason = status.message().to_owned();
                    Judgement::Answer(Error::Invalid { path, what, reason })
                }
                _ => Judgement::AskAgain(chain(status)),
            },
        }
    }
}

/// What a failed request means.
enum Judgement {
    /// The leader has refused it.
    Answer(Error),
    /// Whether it took effect is not known.
    AskAgain(String),
}

async fn ready(channel: Channel) -> std::result::Result<Grpc<Channel>, Status> {
    let mut grpc = Grpc::new(channel)
        .max_decoding_message_size(MAX_MESSAGE)
        .max_encoding_message_size(MAX_MESSAGE);
    match grpc.ready().await {
        Ok(()) => Ok(grpc),
        Err(error) => {
            let mut status = Status::unavailable(chain(&error));
            status.set_source(Arc::new(error));
            Err(status)
        }
    }
}

fn silent(attempt: Duration) -> Status {
    Status::deadline_exceeded(format!("there was no answer for {} s", attempt.as_secs_f32()))
}

/// Between half and all of the pause, so that many do not come back at once.
pub(crate) fn jittered(pause: Duration) -> Duration {
    let random = runtime::random::uuid().as_u64_pair().0 % 1000;
    pause / 2 + (pause / 2).mul_f64(f64::from(u16::try_from(random).unwrap_or(0)) / 1000.0)
}
