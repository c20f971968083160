//! The side of an indexer that holds copies: the gRPC service `karst.replication.v1.Replication`.

use std::io;

use bytes::Bytes;
use model::IndexerId;
use protocol::replication::{
    Copy, Done, Entry, GetObject, KeepObjects, Listing, Object, PutObject,
};
use tokio::time::Instant;
use tonic::Status;
use transport::{Answer, Call, Methods};
use uuid::Uuid;

use crate::copies::{Copies, Held, Key};
use crate::disk::PutError;
use crate::{BEGIN, DROP, GET, KEEP, LIST, MAX_MESSAGE, PUT, SERVICE};

type Reply<T> = Result<T, Status>;

/// The copies at this process as a service for their owners. Clones share them.
#[derive(Debug, Clone)]
pub struct ReplicaService {
    copies: Copies,
    own: IndexerId,
}

impl ReplicaService {
    /// Creates the service of these copies; `own` is the identity of this process.
    #[must_use]
    pub fn new(copies: Copies, own: IndexerId) -> Self {
        Self { copies, own }
    }

    /// Refuses a request for a copy at another process, one that is gone with its disk and had the address of
    /// this one: the owner of the journal may be this process itself, or may have another copy here. A sender
    /// of an older version names no process. An existing copy may still be read and sealed, because it may be
    /// the only one.
    fn refuse_if_for_another(&self, copy: Option<&Copy>) -> Reply<()> {
        let is_for_another =
            |copy: &Copy| !copy.peer.is_empty() && copy.peer != self.own.0.as_bytes().as_slice();
        match copy.is_some_and(is_for_another) {
            // The same answer as for an empty disk, so that the owner replaces the copy at once.
            true => Err(Status::not_found("another process has its address")),
            false => Ok(()),
        }
    }

    async fn with<T: Send + 'static>(
        &self,
        copy: Option<&Copy>,
        work: impl FnOnce(&mut Held) -> Reply<T> + Send + 'static,
    ) -> Reply<T> {
        let held = self.copies.get(key(copy)?);
        let held = held.ok_or_else(|| Status::not_found("this process has no such copy"))?;
        let epoch = copy.map_or(0, |copy| copy.epoch);
        blocking(move || match held.lock().as_mut() {
            Some(held) => match held.copy.enter(epoch).map_err(disk)? {
                true => work(held),
                false => Err(Status::failed_precondition("the copy is of a later epoch")),
            },
            None => Err(Status::not_found("the copy is removed")),
        })
        .await
    }

    pub(crate) async fn begin(self, copy: Copy) -> Reply<Done> {
        self.refuse_if_for_another(Some(&copy))?;
        let key = key(Some(&copy))?;
        blocking(move || self.copies.begin(key).map_err(disk)).await?;
        Ok(Done {})
    }

    pub(crate) async fn put(self, request: PutObject) -> Reply<Done> {
        let PutObject { copy, number, data } = request;
        if !data.is_empty() {
            self.refuse_if_for_another(copy.as_ref())?;
        }
        let put = move |held: &mut Held| {
            held.changed = Instant::now();
            held.copy.put(number, &data).map_err(|error| match error {
                PutError::Sealed => Status::failed_precondition("the copy is sealed"),
                PutError::Disk(error) => disk(error),
            })
        };
        self.with(copy.as_ref(), put).await?;
        Ok(Done {})
    }

    pub(crate) async fn list(self, copy: Copy) -> Reply<Listing> {
        let objects = self.with(Some(&copy), |held| Ok(held.copy.list())).await?;
        let entry = |(number, bytes)| Entry { number, bytes };
        Ok(Listing { objects: objects.into_iter().map(entry).collect() })
    }

    pub(crate) async fn get(self, request: GetObject) -> Reply<Object> {
        let number = request.number;
        let data = move |held: &mut Held| held.copy.get(number).map_err(disk);
        let data: Option<Bytes> = self.with(request.copy.as_ref(), data).await?;
        let data = data.ok_or_else(|| Status::out_of_range("the copy has no such object"))?;
        Ok(Object { data })
    }

    pub(crate) async fn keep(self, request: KeepObjects) -> Reply<Done> {
        let KeepObjects { copy, below, numbers } = request;
        let keep = move |held: &mut Held| {
            held.copy.keep(below, &numbers);
            Ok(())
        };
        self.with(copy.as_ref(), keep).await?;
        Ok(Done {})
    }

    pub(crate) async fn remove(self, copy: Copy) -> Reply<Done> {
        let key = key(Some(&copy))?;
        blocking(move || self.copies.drop(key).map_err(disk)).await?;
        Ok(Done {})
    }
}

fn key(copy: Option<&Copy>) -> Reply<Key> {
    let copy = copy.ok_or_else(|| Status::invalid_argument("the copy is missing"))?;
    let id = |bytes: &[u8]| {
        Uuid::from_slice(bytes).map_err(|error| Status::invalid_argument(error.to_string()))
    };
    Ok((IndexerId(id(&copy.indexer)?), id(&copy.id)?))
}

fn disk(error: io::Error) -> Status {
    Status::internal(format!("the copy cannot be read or written: {error}"))
}

async fn blocking<T: Send + 'static>(work: impl FnOnce() -> Reply<T> + Send + 'static) -> Reply<T> {
    let done = tokio::task::spawn_blocking(work).await;
    done.unwrap_or_else(|_| Err(Status::aborted("the process stops")))
}

impl Methods for ReplicaService {
    const NAME: &'static str = SERVICE;
    const MAX_MESSAGE: usize = MAX_MESSAGE;

    async fn answer(self, call: Call) -> Answer {
        match call.method() {
            BEGIN => call.unary(|copy| self.begin(copy)).await,
            PUT => call.unary(|put| self.put(put)).await,
            LIST => call.unary(|copy| self.list(copy)).await,
            GET => call.unary(|get| self.get(get)).await,
            KEEP => call.unary(|keep| self.keep(keep)).await,
            DROP => call.unary(|copy| self.remove(copy)).await,
            _ => call.unknown(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tonic::Code;

    use super::*;

    fn bytes(id: u128) -> Bytes {
        Bytes::copy_from_slice(Uuid::from_u128(id).as_bytes())
    }

    fn copy(id: u128, peer: Bytes) -> Copy {
        Copy { indexer: bytes(9), id: bytes(id), epoch: 1, peer }
    }

    fn object(copy: Copy, data: &'static str) -> PutObject {
        PutObject { copy: Some(copy), number: 1, data: Bytes::from_static(data.as_bytes()) }
    }

    #[tokio::test]
    async fn a_copy_is_neither_made_nor_written_here_that_another_process_is_to_have() {
        let root = tempfile::tempdir().unwrap();
        let own = IndexerId(Uuid::from_u128(1));
        let service = ReplicaService::new(Copies::open(root.path()).unwrap(), own);
        let here = || service.clone();
        let refused = here().begin(copy(4, bytes(2))).await.unwrap_err();
        assert_eq!(refused.code(), Code::NotFound);
        assert!(refused.message().contains("another process"), "{refused}");
        assert_eq!(here().list(copy(4, bytes(1))).await.unwrap_err().code(), Code::NotFound);
        // A sender of an older version names no process.
        for (id, peer) in [(5, bytes(1)), (6, Bytes::new())] {
            here().begin(copy(id, peer.clone())).await.unwrap();
            here().put(object(copy(id, peer), "one")).await.unwrap();
            let refused = here().put(object(copy(id, bytes(2)), "two")).await.unwrap_err();
            assert_eq!(refused.code(), Code::NotFound);
            // It may be the only copy that is left.
            assert_eq!(here().list(copy(id, bytes(2))).await.unwrap().objects.len(), 1);
            here().put(PutObject { number: 2, ..object(copy(id, bytes(2)), "") }).await.unwrap();
        }
    }
}
