//! The copies that an indexer keeps of the journals of others, and the answers of its service. The owner's
//! side is in `replication`.

use std::sync::Arc;

use bytes::Bytes;
use catalog::Catalog;
use futures::future::BoxFuture;
use model::IndexerId;
use peers::Registration;
use prost::Message;
use protocol::replication::{
    Copy as CopyMessage, Done, Entry, GetObject, KeepObjects, Listing, Object, PutObject,
};
use replication::{BEGIN, DROP, GET, KEEP, LIST, PUT};
use tonic::Status;
use uuid::Uuid;

use crate::Mutant;
use crate::disk::Copy;
use crate::network::{self, Answer, Request};
use crate::process::Pid;
use crate::world::World;

/// Requests of a process to the holders of copies.
#[derive(Debug)]
pub(crate) struct Calls {
    pub(crate) world: Arc<World>,
    pub(crate) pid: Pid,
    pub(crate) catalog: Catalog,
}

impl replication::Calls for Calls {
    fn call<'a>(
        &'a self,
        peer: IndexerId,
        method: &'static str,
        message: Bytes,
    ) -> BoxFuture<'a, Result<Bytes, Status>> {
        Box::pin(async move {
            let listed = Registration::of(&self.catalog.snapshot(), &peer.to_string());
            let to = match peer == self.world.id_of(self.pid) {
                true => Some(self.pid),
                false => listed.and_then(|known| Pid::at(&known.address)),
            };
            let unknown = || Status::unavailable("it is not in the list of the cluster");
            let to = to.ok_or_else(unknown)?;
            let asked = network::ask(&self.world, self.pid, to, Request::Copies(method, message));
            let answered = match asked.await {
                Ok(Answer::Copies(answer)) => answer,
                Ok(_) => Err(Status::internal("another answer")),
                Err(reason) => Err(Status::unavailable(reason)),
            };
            match answered {
                Err(status)
                    if method == PUT && self.world.is(Mutant::AcknowledgesWithFewerCopies) =>
                {
                    match status.code() {
                        tonic::Code::FailedPrecondition => Err(status),
                        _ => Ok(Bytes::new()),
                    }
                }
                answered => answered,
            }
        })
    }
}

fn decode<M: Message + Default>(message: Bytes) -> Result<M, Status> {
    M::decode(message).map_err(|error| Status::internal(error.to_string()))
}

fn key(copy: Option<&CopyMessage>) -> Result<(IndexerId, Uuid), Status> {
    let wrong = || Status::invalid_argument("the copy is missing");
    let copy = copy.ok_or_else(wrong)?;
    let id = |bytes: &[u8]| Uuid::from_slice(bytes).map_err(|_| wrong());
    Ok((IndexerId(id(&copy.indexer)?), id(&copy.id)?))
}

/// Answers a request about the copies of a process.
pub(crate) async fn answer(
    world: &Arc<World>,
    own: Pid,
    method: &'static str,
    message: Bytes,
) -> Result<Bytes, Status> {
    match method {
        BEGIN => {
            let key = key(Some(&decode(message)?))?;
            world.sync().await;
            world.state().machines.entry(own).or_default().copies.entry(key).or_default();
            Ok(Done {}.encode_to_vec().into())
        }
        PUT => put(world, own, decode(message)?).await,
        LIST => {
            let copy = decode::<CopyMessage>(message)?;
            with(world, own, Some(&copy), |copy| {
                let entry = |(number, data): (&u64, &Bytes)| Entry {
                    number: *number,
                    bytes: data.len() as u64,
                };
                Ok(Listing { objects: copy.objects.iter().map(entry).collect() })
            })
        }
        GET => {
            let GetObject { copy, number } = decode(message)?;
            with(world, own, copy.as_ref(), |copy| {
                let absent = || Status::out_of_range("the copy has no such object");
                let data = copy.objects.get(&number).cloned().ok_or_else(absent)?;
                Ok(Object { data })
            })
        }
        KEEP => {
            let KeepObjects { copy, below, numbers } = decode(message)?;
            with(world, own, copy.as_ref(), |copy| {
                copy.keep(below, &numbers.into_iter().collect());
                Ok(Done {})
            })
        }
        DROP => {
            let key = key(Some(&decode(message)?))?;
            if let Some(machine) = world.state().machines.get_mut(&own) {
                machine.copies.remove(&key);
            }
            Ok(Done {}.encode_to_vec().into())
        }
        _ => Err(Status::unimplemented("copies have no such method")),
    }
}

fn with<M: Message>(
    world: &World,
    own: Pid,
    copy: Option<&CopyMessage>,
    work: impl FnOnce(&mut Copy) -> Result<M, Status>,
) -> Result<Bytes, Status> {
    let key = key(copy)?;
    let mut state = world.state();
    let held = state.machines.get_mut(&own).and_then(|machine| machine.copies.get_mut(&key));
    let held = held.ok_or_else(|| Status::not_found("this process has no such copy"))?;
    let is_of_now = held.enter(copy.map_or(0, |copy| copy.epoch));
    if !is_of_now && !world.is(Mutant::SealedCopiesTakeMore) {
        return Err(Status::failed_precondition("the copy is of a later epoch"));
    }
    Ok(work(held)?.encode_to_vec().into())
}

/// Writes an object to the disk before it confirms it; if the process is killed in between, the object may
/// exist or not.
async fn put(world: &Arc<World>, own: Pid, message: PutObject) -> Result<Bytes, Status> {
    let PutObject { copy, number, data } = message;
    if world.is(Mutant::ConfirmsBeforeCopyIsSynced) && !data.is_empty() {
        let (world, life) = (Arc::clone(world), {
            let state = world.state();
            state.processes.get(&own).and_then(|process| process.life.clone())
        });
        if let Some(life) = life {
            life.spawn(async move {
                world.sleep(500, 3000).await;
                let _ = with(&world, own, copy.as_ref(), |copy| {
                    copy.put(number, &data);
                    Ok(Done {})
                });
            });
        }
        return Ok(Done {}.encode_to_vec().into());
    }
    let is_late = world.permille(500);
    if is_late {
        world.sync().await;
    }
    let is_unsealed = world.is(Mutant::SealedCopiesTakeMore);
    let put = with(world, own, copy.as_ref(), |copy| {
        if is_unsealed && !data.is_empty() {
            copy.objects.insert(number, data.clone());
            return Ok(Done {});
        }
        match copy.put(number, &data) {
            true => Ok(Done {}),
            false => Err(Status::failed_precondition("the copy is sealed")),
        }
    });
    if !is_late {
        world.sync().await;
    }
    put
}
