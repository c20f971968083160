//! Starts processes, and restarts them when they end.

use std::sync::Arc;
use std::time::Duration;

use crate::process::{Life, Pid};
use crate::world::{CONTROL, SEARCH_HEAD, World};
use crate::{control, indexer, search};

impl World {
    /// Lets the process answer the others.
    pub(crate) fn open(&self, pid: Pid) {
        if let Some(process) = self.state().processes.get_mut(&pid) {
            process.is_open = true;
        }
    }
}

/// Starts a process, if it is not running.
pub(crate) fn start(world: &Arc<World>, pid: Pid) {
    let life = {
        let mut state = world.state();
        let process = state.processes.entry(pid).or_default();
        if process.life.is_some() || process.is_gone {
            return;
        }
        process.lives += 1;
        let life = Life::new(pid, process.lives, world);
        process.life = Some(life.clone());
        life
    };
    world.note(format_args!("{pid} starts, life {}", life.number));
    let (own, running) = (Arc::clone(world), life.clone());
    if CONTROL.contains(&pid) {
        life.spawn(control::run(own, running));
    } else if pid == SEARCH_HEAD {
        life.spawn(search::run(own, running));
    } else {
        life.spawn(indexer::run(own, running));
    }
}

/// Kills a process, if it runs.
pub(crate) fn kill(world: &World, pid: Pid) -> bool {
    let (life, indexer) = {
        let mut state = world.state();
        let Some(process) = state.processes.get_mut(&pid) else { return false };
        (process.is_open, process.has_copies) = (false, false);
        process.leading = None;
        (process.life.take(), process.indexer.take())
    };
    drop(indexer);
    let Some(life) = life else { return false };
    life.kill();
    true
}

/// Ends a process that exits on its own, and restarts it a moment later.
pub(crate) fn begin_again(world: &Arc<World>, pid: Pid, reason: &str) {
    world.note(format_args!("{pid} begins again: {reason}"));
    kill(world, pid);
    let wait = world.millis(100, 1000);
    start_after(world, pid, wait);
}

/// Starts a process after a delay, unless it is started before.
pub(crate) fn start_after(world: &Arc<World>, pid: Pid, wait: Duration) {
    let own = Arc::clone(world);
    world.tasks.spawn(async move {
        tokio::time::sleep(wait).await;
        start(&own, pid);
    });
}
