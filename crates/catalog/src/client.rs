//! Requests of a follower to the leader of the catalog, over gRPC.
//!
//! A follower knows the addresses of all processes that may lead. It repeatedly asks all of them for the feed
//! until one of them sends it: that one is the leader. Requests go to the process that is followed; while
//! there is none, or it does not answer, they wait and are retried until the deadline.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures::StreamExt;
use futures::stream::FuturesUnordered;
use model::{BucketId, BucketSummary};
use parking_lot::Mutex;
use prost::Message;
use protocol::catalog::{
    CommitRequest, CommitResponse, FollowRequest, FollowResponse, SummariesRequest,
    SummariesResponse,
};
use tokio::sync::watch;
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
    /// The current leader, as far as it is known: the process that sends the feed.
    followed: watch::Sender<Option<usize>>,
    /// Since when there is no known leader.
    lost: Mutex<Option<Instant>>,
    /// Why there is no known leader; empty until a process has been asked.
    failure: watch::Sender<String>,
    /// Deadline of a request with its retries, and of one attempt.
    deadlines: (Duration, Duration),
    /// Deadline of a request for summaries, which can be read elsewhere.
    summaries_deadline: Duration,
    pauses: (Duration, Duration),
}

impl std::fmt::Debug for Leader {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Leader").field("addresses", &self.addresses()).finish_non_exhaustive()
    }
}

impl Leader {
    /// Creates the client; connections are made with the first request. `failure` receives the reason while
    /// there is no leader.
    pub(crate) fn new(
        addresses: &[String],
        transport: &Transport,
        settings: &Settings,
        failure: watch::Sender<String>,
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
            followed: watch::Sender::new(None),
            lost: Mutex::new(Some(Instant::now())),
            failure,
            deadlines,
            summaries_deadline: settings.summaries_deadline,
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

    /// Sends a change. Returns the number of a state that includes it. The change may be applied more than
    /// once.
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
        Ok(self.ask((self.deadlines.0, true), ask).await?.into_inner().number)
    }

    /// Returns the summaries of buckets that the leader has.
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
            for pair in self.ask((self.summaries_deadline, false), ask).await? {
                let entry = wire::entry_of(&pair, &mut Shared::default());
                let entry = entry.map_err(|damage| damage.at(&self.addresses(), &pair.key))?;
                if let Entry::Summary(id, summary) = entry {
                    found.insert(id, summary);
                }
            }
        }
        Ok(found)
    }

    /// Asks all processes for the feed until one of them sends it. `refused` receives the error of processes
    /// that belong to another cluster.
    pub(crate) async fn follow(
        &self,
        request: FollowRequest,
        refused: &(dyn Fn(String) + Sync),
    ) -> (usize, Streaming<FollowResponse>) {
        let mut asked: FuturesUnordered<_> = (0..self.peers.len())
            .map(|place| {
                let request = request.clone();
                async move { (place, self.feed_of(place, request, refused).await) }
            })
            .collect();
        match asked.next().await {
            Some(first) => first,
            // There is at least one process, and each is asked without end.
            None => std::future::pending().await,
        }
    }

    /// Returns the feed of one process, once it leads.
    async fn feed_of(
        &self,
        place: usize,
        request: FollowRequest,
        refused: &(dyn Fn(String) + Sync),
    ) -> Streaming<FollowResponse> {
        let peer = &self.peers[place];
        let (mut pause, longest) = self.pauses;
        let mut is_other = false;
        loop {
            let (channel, request) = (peer.channel.clone(), Request::new(request.clone()));
            let opening = async {
                let mut grpc = ready(channel).await?;
                let codec = ProstCodec::<FollowRequest, FollowResponse>::default();
                grpc.server_streaming(request, PathAndQuery::from_static(FOLLOW), codec).await
            };
            let opened = tokio::time::timeout(self.deadlines.1, Box::pin(opening)).await;
            let status = match opened {
                Ok(Ok(feed)) => return feed.into_inner(),
                Ok(Err(status)) => status,
                Err(_) => silent(self.deadlines.1),
            };
            if let Some(reason) = transport::Error::refusal(&status) {
                refused(reason);
            }
            let reason = no_feed(&peer.address, &status);
            tracing::debug!(address = peer.address, reason, "it gives no feed of the catalog");
            let error = wire::error_of(&status);
            if matches!(error, Some(Error::OtherCatalog { .. }))
                && !std::mem::replace(&mut is_other, true)
            {
                tracing::error!(
                    address = peer.address,
                    reason,
                    "it leads another catalog: not followed"
                );
            }
            // "Not the leader" is the least informative failure, so it does not replace others.
            let leads_not = matches!(error, Some(Error::NotLeading { .. }));
            if !leads_not || self.peers.len() == 1 {
                self.fail(reason);
            }
            tokio::time::sleep(jittered(pause)).await;
            pause = (pause * 2).min(longest);
        }
    }

    /// Returns why there is no known leader.
    pub(crate) fn failure(&self) -> String {
        let known = self.failure.borrow();
        if known.is_empty() { "no leader has sent its state".to_owned() } else { known.clone() }
    }

    /// Returns why a change takes long, as far as it is known.
    pub(crate) fn delay(&self) -> String {
        if self.is_lost() {
            return self.failure();
        }
        "the change is under way: the leader is busy, or object storage does not accept its writes, which its \
         health shows"
            .to_owned()
    }

    pub(crate) fn fail(&self, reason: String) {
        self.failure.send_replace(reason);
    }

    /// Whether there is no known leader: then data that is available elsewhere is not requested.
    pub(crate) fn is_lost(&self) -> bool {
        self.followed.borrow().is_none()
    }

    /// Returns for how long there has been no known leader; `None` while there is one.
    pub(crate) fn lost_for(&self) -> Option<Duration> {
        self.lost.lock().map(|since| since.elapsed())
    }

    /// Sets the process that is followed. Returns whether that is a change.
    pub(crate) fn note(&self, followed: Option<usize>) -> bool {
        let changes = |known: &mut Option<usize>| std::mem::replace(known, followed) != followed;
        let is_changed = self.followed.send_if_modified(changes);
        if is_changed {
            *self.lost.lock() = followed.is_none().then(Instant::now);
        }
        is_changed
    }

    pub(crate) fn address(&self, place: usize) -> &str {
        &self.peers[place].address
    }

    /// Returns the minimum and maximum pause between attempts.
    pub(crate) fn pauses(&self) -> (Duration, Duration) {
        self.pauses
    }

    /// Repeats a request until the catalog answers. `waits`: whether to wait for a leader if there is none.
    async fn ask<T, F>(
        &self,
        (deadline, waits): (Duration, bool),
        request: impl Fn(Channel) -> F,
    ) -> Result<T>
    where
        F: Future<Output = std::result::Result<T, Status>> + Send,
    {
        let began = Instant::now();
        let attempt = self.deadlines.1;
        let (mut pause, longest) = self.pauses;
        let mut failure = None;
        let mut followed = self.followed.subscribe();
        loop {
            let left =
                if waits { deadline.saturating_sub(began.elapsed()) } else { Duration::ZERO };
            let leader = tokio::time::timeout(left, followed.wait_for(Option::is_some)).await;
            let place = leader.ok().and_then(|known| *known.ok()?);
            let Some(place) = place else { return Err(self.unreachable(deadline, failure)) };
            let left = attempt.min(deadline.saturating_sub(began.elapsed()));
            let request = Box::pin(request(self.peers[place].channel.clone()));
            let status = tokio::select! {
                answer = tokio::time::timeout(left, request) => match answer {
                    Ok(Ok(answer)) => return Ok(answer),
                    Ok(Err(status)) => status,
                    Err(_) => silent(attempt),
                },
                // The leader has changed: the request is repeated to the new one.
                _ = followed.changed() => continue,
            };
            failure = match self.judge(&status) {
                Judgement::Answer(error) => return Err(error),
                Judgement::AskAgain(reason) => Some(reason),
            };
            if began.elapsed() + pause >= deadline {
                return Err(self.unreachable(deadline, failure));
            }
            tokio::time::sleep(jittered(pause)).await;
            pause = (pause * 2).min(longest);
        }
    }

    pub(crate) fn unreachable(&self, deadline: Duration, reason: Option<String>) -> Error {
        let (leader, seconds) = (self.addresses(), deadline.as_secs());
        let reason = reason.unwrap_or_else(|| self.failure());
        Error::Unreachable { leader, seconds, reason }
    }

    fn judge(&self, status: &Status) -> Judgement {
        match wire::error_of(status) {
            // The process does not lead (any more), or leads another catalog; another process leads or will
            // lead.
            Some(
                error @ (Error::Fenced { .. }
                | Error::Closed { .. }
                | Error::NotLeading { .. }
                | Error::OtherCatalog { .. }),
            ) => Judgement::AskAgain(error.to_string()),
            Some(error) => Judgement::Answer(error),
            None => match status.code() {
                Code::InvalidArgument | Code::OutOfRange | Code::Unimplemented => {
                    let (path, what) = (self.addresses(), "a request".to_owned());
                    let reason = status.message().to_owned();
                    Judgement::Answer(Error::Invalid { path, what, reason })
                }
                _ => Judgement::AskAgain(transport::reason(status)),
            },
        }
    }
}

/// The meaning of a failed request.
enum Judgement {
    /// The leader has refused the request.
    Answer(Error),
    /// It is not known whether the request took effect.
    AskAgain(String),
}

/// Returns why a process sends no feed, with its address.
fn no_feed(address: &str, status: &Status) -> String {
    // Processes without the control-plane role do not serve the catalog.
    if status.code() == Code::Unimplemented {
        return format!(
            "{address} is an indexer or a search head, not a control plane: correct --manager-uri"
        );
    }
    let reason = transport::reason(status);
    // Connection errors already contain the address, without a scheme.
    let place = address.rsplit('/').next().unwrap_or(address);
    if reason.contains(place) { reason } else { format!("{address}: {reason}") }
}

async fn ready(channel: Channel) -> std::result::Result<Grpc<Channel>, Status> {
    let mut grpc = Grpc::new(channel)
        .max_decoding_message_size(MAX_MESSAGE)
        .max_encoding_message_size(MAX_MESSAGE);
    match grpc.ready().await {
        Ok(()) => Ok(grpc),
        Err(error) => {
            let mut status = Status::unavailable(transport::reason(&error));
            status.set_source(Arc::new(error));
            Err(status)
        }
    }
}

fn silent(attempt: Duration) -> Status {
    Status::deadline_exceeded(format!("there was no answer for {} s", attempt.as_secs_f32()))
}

/// Returns a random time between half and all of the pause, so that clients do not retry at the same time.
pub(crate) fn jittered(pause: Duration) -> Duration {
    let random = runtime::random::uuid().as_u64_pair().0 % 1000;
    pause / 2 + (pause / 2).mul_f64(f64::from(u16::try_from(random).unwrap_or(0)) / 1000.0)
}
