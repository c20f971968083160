//! The network between processes: requests and answers are delayed, lost, duplicated and reordered, and
//! links are cut in one direction.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use catalog::{Commit, Documents, Snapshot};
use model::IndexerId;
use tokio::sync::oneshot;
use tonic::Status;

use crate::control;
use crate::copies;
use crate::process::Pid;
use crate::search::{self, View};
use crate::world::World;

/// A request to another process.
#[derive(Debug, Clone)]
pub(crate) enum Request {
    /// Whether the process is alive, and its identity.
    Ping,
    /// Its hot buckets.
    View,
    /// A request about its copies of journals: the method and the message.
    Copies(&'static str, Bytes),
    /// A commit, for the leader.
    Commit(Box<Commit>),
    /// A change of documents, for the leader.
    Documents(Documents),
    /// The catalog after a write, from the leader.
    Follow(Option<u64>),
}

/// An answer to a request.
#[derive(Debug)]
pub(crate) enum Answer {
    Here(IndexerId),
    View(Box<View>),
    Copies(Result<Bytes, Status>),
    /// The number of a state with the change, or why the change was refused.
    Changed(Result<u64, catalog::Error>),
    /// The newest state, and the time of the last renewal of the lease.
    State(Arc<Snapshot>),
    NotLeading,
}

/// An answer, or that there is no connection.
pub(crate) type Outcome = Result<Answer, &'static str>;

/// Sends a request to a process. The caller needs a timeout of its own.
pub(crate) async fn ask(world: &Arc<World>, from: Pid, to: Pid, request: Request) -> Outcome {
    let (answer, answered) = oneshot::channel();
    let doubled = {
        let mut state = world.state();
        let doubled = state.weather.doubled;
        from != to && state.chance.permille(doubled)
    };
    if doubled {
        send(world, (from, to), request.clone(), None);
    }
    send(world, (from, to), request, Some(answer));
    match answered.await {
        Ok(outcome) => outcome,
        // The process was killed before it answered.
        Err(_) => {
            world.sleep(1, 50).await;
            Err("the connection is lost")
        }
    }
}

/// The delay of a message; `None` if the message is lost.
fn delay(world: &World, from: Pid, to: Pid) -> Option<Duration> {
    if from == to {
        return Some(Duration::ZERO);
    }
    let mut state = world.state();
    let weather = state.weather;
    if state.cuts.contains(&(from, to)) || state.chance.permille(weather.lost) {
        return None;
    }
    Some(match state.chance.permille(weather.late) {
        true => state.chance.millis(1_000, 40_000),
        false => state.chance.millis(1, 8),
    })
}

fn send(
    world: &Arc<World>,
    (from, to): (Pid, Pid),
    request: Request,
    answer: Option<oneshot::Sender<Outcome>>,
) {
    let Some(there) = delay(world, from, to) else {
        world.state().limbo.extend(answer);
        return;
    };
    let (tasks, world) = (world.tasks.clone(), Arc::clone(world));
    tasks.spawn(async move {
        tokio::time::sleep(there).await;
        let life = {
            let state = world.state();
            let process = state.processes.get(&to);
            let of_copies = matches!(request, Request::Copies(..));
            let process = process.filter(|own| own.is_open || own.has_copies && of_copies);
            process.and_then(|process| process.life.clone())
        };
        let Some(life) = life else {
            return reply(&world, (to, from), Err("nobody listens there"), answer);
        };
        let (asked, own) = (Arc::clone(&world), to);
        life.spawn(async move {
            let outcome = handle(&asked, own, request).await;
            reply(&asked, (own, from), Ok(outcome), answer);
        });
    });
}

fn reply(
    world: &Arc<World>,
    (from, to): (Pid, Pid),
    outcome: Outcome,
    answer: Option<oneshot::Sender<Outcome>>,
) {
    let Some(answer) = answer else { return };
    let Some(back) = delay(world, from, to) else {
        world.state().limbo.push(answer);
        return;
    };
    world.tasks.spawn(async move {
        tokio::time::sleep(back).await;
        // The caller may have given up.
        let _ = answer.send(outcome);
    });
}

/// Handles a request in a process.
async fn handle(world: &Arc<World>, own: Pid, request: Request) -> Answer {
    match request {
        Request::Ping => Answer::Here(world.id_of(own)),
        Request::View => Answer::View(Box::new(search::view_of(world, own))),
        Request::Copies(method, message) => {
            Answer::Copies(copies::answer(world, own, method, message).await)
        }
        Request::Commit(commit) => control::commit(world, own, *commit).await,
        Request::Documents(documents) => control::documents(world, own, documents).await,
        Request::Follow(number) => control::follow(world, own, number).await,
    }
}
