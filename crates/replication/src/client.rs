//! Requests to the indexers that have copies.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::future::BoxFuture;
use model::IndexerId;
use parking_lot::Mutex;
use prost::Message;
use protocol::replication::{Copy, Done, GetObject, KeepObjects, Listing, Object, PutObject};
use tokio::time::timeout;
use tonic::client::Grpc;
use tonic::codegen::http::uri::PathAndQuery;
use tonic::transport::Channel;
use tonic::{Code, Request, Status};
use tonic_prost::ProstCodec;

use crate::copies::Copies;
use crate::members::Member;
use crate::service::ReplicaService;
use crate::{BEGIN, DROP, GET, KEEP, LIST, MAX_MESSAGE, PUT};

/// A function that creates the lazily connected channel to an address; fails for an invalid address.
type Channels = dyn Fn(&str) -> Result<Channel, String> + Send + Sync;

/// How connections to the indexers that may have copies are made.
#[derive(Clone)]
pub enum Connect {
    /// Over channels that this function creates.
    Channels(Arc<Channels>),
    /// Through a simulation.
    Simulated(Arc<dyn Calls>),
}

impl fmt::Debug for Connect {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Connect").finish_non_exhaustive()
    }
}

/// Requests to indexers without a network.
pub trait Calls: Send + Sync {
    /// Sends a message to a method of the service of an indexer, such as [`PUT`], and returns its answer.
    ///
    /// # Errors
    /// The error of the service, or that no answer arrives.
    fn call<'a>(
        &'a self,
        peer: IndexerId,
        method: &'static str,
        message: Bytes,
    ) -> BoxFuture<'a, Result<Bytes, Status>>;
}

/// Returns the indexers that may have copies; this process is not among them.
pub type Peers = Arc<dyn Fn() -> Vec<Peer> + Send + Sync>;

/// Returns the epoch in which this process owns the journal of an indexer; 0 if it does not own it.
pub(crate) type Epochs = Arc<dyn Fn(IndexerId) -> u64 + Send + Sync>;

/// An indexer that may have copies.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Peer {
    /// Its identity.
    pub id: IndexerId,
    /// Its cluster address.
    pub address: String,
    /// Its site.
    pub site: String,
    /// Whether it is being removed from the cluster: it gets no new copies.
    pub leaves: bool,
    /// Whether its address seems to be that of this process, or of a process that was started later: it is
    /// asked last for new copies. Because clocks of two machines may differ, it may be the later one itself;
    /// if not, the process at the address refuses.
    pub is_replaced: bool,
}

/// See the module.
pub(crate) struct Client {
    peers: Peers,
    connect: Connect,
    timeout: Duration,
    channels: Mutex<HashMap<String, Channel>>,
    /// The copies at this process, which are reached without a connection.
    local: Option<(IndexerId, ReplicaService)>,
    epochs: Epochs,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("timeout", &self.timeout).finish_non_exhaustive()
    }
}

impl Client {
    pub(crate) fn new(
        (peers, connect): (Peers, Connect),
        timeout: Duration,
        local: Option<(IndexerId, Copies)>,
        epochs: Epochs,
    ) -> Self {
        let local = local.map(|(own, copies)| (own, ReplicaService::new(copies, own)));
        Self { peers, connect, timeout, channels: Mutex::default(), local, epochs }
    }

    fn copy(&self, owner: IndexerId, member: Member) -> Copy {
        Copy {
            indexer: Bytes::copy_from_slice(owner.0.as_bytes()),
            id: Bytes::copy_from_slice(member.copy.as_bytes()),
            epoch: (self.epochs)(owner),
            peer: Bytes::copy_from_slice(member.peer.0.as_bytes()),
        }
    }

    fn local(&self, peer: IndexerId) -> Option<ReplicaService> {
        self.local.as_ref().filter(|(own, _)| *own == peer).map(|(_, service)| service.clone())
    }

    /// Returns the indexers that may have copies.
    pub(crate) fn peers(&self) -> Vec<Peer> {
        (self.peers)()
    }

    fn channel(&self, peer: IndexerId, connect: &Channels) -> Result<Channel, Status> {
        let known = (self.peers)().into_iter().find(|known| known.id == peer);
        let unknown = || Status::unavailable("it is not in the list of the cluster");
        let address = known.ok_or_else(unknown)?.address;
        let mut channels = self.channels.lock();
        if let Some(channel) = channels.get(&address) {
            return Ok(channel.clone());
        }
        let channel = connect(&address).map_err(Status::unavailable)?;
        channels.insert(address, channel.clone());
        Ok(channel)
    }

    async fn call<Q, A>(
        &self,
        peer: IndexerId,
        method: &'static str,
        message: Q,
    ) -> Result<A, Status>
    where
        Q: Message + Send + Sync + 'static,
        A: Message + Default + Send + Sync + 'static,
    {
        let asking = async {
            let connect = match &self.connect {
                Connect::Channels(connect) => connect,
                Connect::Simulated(calls) => {
                    let answer = calls.call(peer, method, message.encode_to_vec().into()).await?;
                    let unread = |error: prost::DecodeError| Status::internal(error.to_string());
                    return A::decode(answer).map_err(unread);
                }
            };
            let channel = self.channel(peer, &**connect)?;
            let mut grpc = Grpc::new(channel)
                .max_decoding_message_size(MAX_MESSAGE)
                .max_encoding_message_size(MAX_MESSAGE);
            let ready = grpc.ready().await;
            ready.map_err(|error| Status::unavailable(transport::reason(&error)))?;
            let codec = ProstCodec::<Q, A>::default();
            let path = PathAndQuery::from_static(method);
            grpc.unary(Request::new(message), path, codec).await.map(tonic::Response::into_inner)
        };
        match timeout(self.timeout, asking).await {
            Ok(answer) => answer,
            Err(_) => {
                let most = self.timeout.as_millis();
                Err(Status::deadline_exceeded(format!("no answer within {most} ms")))
            }
        }
    }

    pub(crate) async fn begin(&self, owner: IndexerId, member: Member) -> Result<(), Status> {
        let copy = self.copy(owner, member);
        let Done {} = match self.local(member.peer) {
            Some(local) => local.begin(copy).await?,
            None => self.call(member.peer, BEGIN, copy).await?,
        };
        Ok(())
    }

    pub(crate) async fn put(
        &self,
        owner: IndexerId,
        member: Member,
        (number, data): (u64, Bytes),
    ) -> Result<(), Status> {
        let put = PutObject { copy: Some(self.copy(owner, member)), number, data };
        let Done {} = match self.local(member.peer) {
            Some(local) => local.put(put).await?,
            None => self.call(member.peer, PUT, put).await?,
        };
        Ok(())
    }

    /// Returns number and size of each object of a copy.
    pub(crate) async fn list(
        &self,
        owner: IndexerId,
        member: Member,
    ) -> Result<Vec<(u64, u64)>, Status> {
        let copy = self.copy(owner, member);
        let listing: Listing = match self.local(member.peer) {
            Some(local) => local.list(copy).await?,
            None => self.call(member.peer, LIST, copy).await?,
        };
        Ok(listing.objects.into_iter().map(|entry| (entry.number, entry.bytes)).collect())
    }

    /// Returns an object; `None` if the copy has no object with this number.
    pub(crate) async fn get(
        &self,
        owner: IndexerId,
        member: Member,
        number: u64,
    ) -> Result<Option<Bytes>, Status> {
        let get = GetObject { copy: Some(self.copy(owner, member)), number };
        let got = match self.local(member.peer) {
            Some(local) => local.get(get).await,
            None => self.call(member.peer, GET, get).await,
        };
        match got {
            Ok(Object { data }) => Ok(Some(data)),
            Err(status) if status.code() == Code::OutOfRange => Ok(None),
            Err(status) => Err(status),
        }
    }

    pub(crate) async fn keep(
        &self,
        owner: IndexerId,
        member: Member,
        (below, numbers): (u64, Vec<u64>),
    ) -> Result<(), Status> {
        let keep = KeepObjects { copy: Some(self.copy(owner, member)), below, numbers };
        let Done {} = match self.local(member.peer) {
            Some(local) => local.keep(keep).await?,
            None => self.call(member.peer, KEEP, keep).await?,
        };
        Ok(())
    }

    pub(crate) async fn drop(&self, owner: IndexerId, member: Member) -> Result<(), Status> {
        let copy = self.copy(owner, member);
        let Done {} = match self.local(member.peer) {
            Some(local) => local.remove(copy).await?,
            None => self.call(member.peer, DROP, copy).await?,
        };
        Ok(())
    }
}
