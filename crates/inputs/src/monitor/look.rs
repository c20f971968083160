//! Lists the files: existing, changed, new and deleted ones.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use foldhash::{HashMap, HashSet};

use super::checkpoints::{Checkpoints, Record};
use super::examine::{
    COMPARED, Candidate, Decision, Start, examine, examine_opened, family, is_copy,
};
use super::fingerprint::Fingerprint;
use super::packed::{self, PackedFile};
use super::paths::{Link, Walk};
use super::place::{FileId, Located, Seen, locate};
use super::status::FileState;
use super::tail::{Beginning, Goal, Tail};
use super::target::MonitorTarget;
use super::work::Done;
use super::{Monitor, ParkReason, Parked, Slot};
use crate::StreamKey;

/// Number of new files that are examined in one batch.
const TOGETHER: usize = 256;
/// Pause after a scan of all files, as a multiple of its duration, while no change of names is known.
const SHARE: u32 = 50;
/// Maximum of that pause, unless the poll interval is longer.
const SELDOM: Duration = Duration::from_secs(30);
/// Time after which an unreadable file is tried again.
const RETRY: Duration = Duration::from_secs(10);

type Found = (PathBuf, Seen, usize);

impl Monitor {
    pub(super) fn is_scan_due(&self) -> bool {
        let Some((end, cost)) = self.scanned else { return true };
        let pause = if self.stale { cost * 5 } else { (cost * SHARE).min(SELDOM) };
        end.elapsed() >= pause.max(self.settings.poll.min(Duration::from_millis(100)))
            && (self.stale || end.elapsed() >= self.settings.poll)
    }

    /// Walks all targets.
    pub(super) async fn look_at_all(&mut self) {
        let begin = Instant::now();
        self.stale = false;
        self.generation += 1;
        let (targets, own) = (self.targets.clone(), self.own.clone());
        let walk = tokio::task::spawn_blocking(move || {
            let mut walk = Walk::without(own);
            for (number, target) in targets.iter().enumerate() {
                walk.target(number, target);
            }
            walk.directories.sort_unstable();
            walk.directories.dedup();
            walk
        });
        let Ok(walk) = walk.await else { return };
        self.directories = walk.directories;
        self.note_links(walk.links);
        for directory in walk.left_out {
            if !self.left_out.contains(&directory) {
                tracing::warn!(directory = %directory.display(),
                    "a directory of this program is not monitored, because it contains keys");
                self.left_out.insert(directory);
            }
        }
        let mut new = Vec::new();
        let mut met = HashSet::default();
        for found in walk.files {
            // A file with a second name, or of a second target, is the same file.
            if met.insert(found.1.id) {
                self.look(found, &mut new);
            }
        }
        self.judge(new).await;
        self.rewritten.retain(|id| met.contains(id));
        self.look_for_gone().await;
        let generation = self.generation;
        let status = &self.status;
        self.parked.retain(|path, parked| {
            let there = parked.generation == generation || parked.why == ParkReason::Unpacking;
            if !there {
                status.remove(path);
            }
            there
        });
        self.scanned = Some((Instant::now(), begin.elapsed()));
    }

    fn note_links(&mut self, links: HashMap<PathBuf, Link>) {
        let tails = &self.tails;
        self.homes.retain(|id, _| tails.contains_key(id));
        self.homes.extend(links.iter().map(|(real, link)| (link.id, real.clone())));
        self.links = links;
    }

    /// Looks at files that are said to have changed.
    pub(super) async fn look_at_some(&mut self, paths: Vec<PathBuf>) {
        let mut new = Vec::new();
        for path in paths {
            // Last, since it asks the system for each part of the path.
            let is_own = || self.own.holding(&path).is_some();
            let takes = |target: &Arc<MonitorTarget>| {
                target.takes(&path) && (target.of_program || !is_own())
            };
            let number = self.targets.iter().position(takes);
            let (name, number) = match (number, self.links.get(&path)) {
                (Some(number), _) => (path.clone(), number),
                (None, Some(link)) => (link.path.clone(), link.number),
                (None, None) => continue,
            };
            let Ok(metadata) = fs::metadata(&path) else { continue };
            if metadata.is_file() {
                let seen = Seen::of(&metadata);
                if name != path {
                    self.homes.insert(seen.id, path);
                }
                self.look((name, seen, number), &mut new);
            }
        }
        self.judge(new).await;
    }

    fn look(&mut self, found: Found, new: &mut Vec<Found>) {
        let (path, seen, number) = found;
        let generation = self.generation;
        match self.tails.get_mut(&seen.id) {
            Some(Slot::Busy { generation: met }) => {
                *met = generation;
                self.again.insert(seen.id);
            }
            Some(Slot::Here(tail)) => {
                tail.generation = generation;
                tail.gone = false;
                if tail.path != path && Seen::at(&tail.path).map(|old| old.id).ok() != Some(seen.id)
                {
                    self.status.remove(&tail.path);
                    tail.path.clone_from(&path);
                    self.book.lock().put(tail.record());
                }
                if tail.seen != seen {
                    // Its turn may wait for the sink.
                    self.status.set(&tail.path, tail.safe(), seen.size, FileState::Open);
                    self.request(seen.id, Goal::Read);
                }
            }
            None => self.look_at_unknown((path, seen, number), new),
        }
    }

    fn look_at_unknown(&mut self, (path, seen, number): Found, new: &mut Vec<Found>) {
        let target = Arc::clone(&self.targets[number]);
        let patience = self.patience(&target);
        let generation = self.generation;
        let Some(parked) = self.parked.get_mut(&path) else {
            if seen.size > 0 && !is_too_old(&target, seen) {
                new.push((path, seen, number));
            }
            return;
        };
        parked.generation = generation;
        let changed = parked.seen != seen;
        match parked.why {
            ParkReason::Unpacking => {}
            ParkReason::Settling(_) if changed => new.push((path, seen, number)),
            ParkReason::Settling(signature) if parked.since.elapsed() >= patience => {
                parked.why = ParkReason::Unpacking;
                self.unpack(PackedFile { path, seen, signature, target, instance: self.instance });
            }
            ParkReason::Settling(_) => {}
            ParkReason::CopyOf(key) if !changed && self.book.lock().is_live(key) => {}
            ParkReason::CopyOfUnread(key) if !changed && is_unread(&self.book.lock(), key) => {}
            ParkReason::Ignored | ParkReason::Blank if !changed => {}
            ParkReason::Failed if !changed && parked.since.elapsed() < RETRY => {}
            _ if seen.size > 0 => new.push((path, seen, number)),
            _ => {}
        }
    }

    fn unpack(&mut self, file: PackedFile) {
        let Some(shared) = self.shared.clone() else { return };
        let book = Arc::clone(&self.book);
        self.active.spawn(async move {
            let taken = packed::take(&shared, &book, &file).await;
            Done::Packed(Box::new(file), taken)
        });
    }

    pub(super) fn patience(&self, target: &MonitorTarget) -> Duration {
        let usual = || self.shared.as_ref().map(|shared| shared.sink.limits().stream_idle);
        target.time_before_close.or_else(usual).unwrap_or(Duration::from_secs(3))
    }

    /// Judges files that are not followed.
    async fn judge(&mut self, mut new: Vec<Found>) {
        let first_look = self.scanned.is_none();
        while !new.is_empty() {
            let with_home = |found: Found| {
                let home = self.homes.get(&found.1.id).cloned();
                let is_text = self.rewritten.contains(&found.1.id);
                (found, home, is_text)
            };
            let some: Vec<_> = new.drain(..new.len().min(TOGETHER)).map(with_home).collect();
            let (book, targets) = (Arc::clone(&self.book), self.targets.clone());
            let (shared, own) = (self.shared.clone(), self.own.clone());
            let mut begun = Begun::default();
            let work = tokio::task::spawn_blocking(move || {
                let judge = |(found, home, is_text): (Found, Option<PathBuf>, bool)| {
                    let (path, seen, number) = found;
                    let target = &*targets[number];
                    let from_end = target.follow_tail && first_look;
                    let utf16 = shared.as_ref().and_then(|shared| target.utf16(&path, shared));
                    let outside = (!target.of_program).then_some(&own);
                    let candidate =
                        Candidate { path: &path, seen, target, from_end, utf16, is_text, outside };
                    let decision = match examine(&book, candidate) {
                        Ok(Decision::Moved) => {
                            let moved = moved_away(&path, home.as_deref(), seen.id, &targets);
                            moved.map_or(Ok(Decision::Moved), |file| {
                                examine_opened(&book, candidate, &file)
                            })
                        }
                        decision => decision,
                    };
                    let decision =
                        decision.map(|decision| begun.compared(&path, seen, target, decision));
                    (path, seen, number, decision)
                };
                some.into_iter().map(judge).collect::<Vec<_>>()
            });
            let Ok(judged) = work.await else { return };
            for (path, seen, number, decision) in judged {
                self.decide(path, seen, number, decision);
            }
        }
    }

    fn decide(&mut self, path: PathBuf, seen: Seen, number: usize, decision: io::Result<Decision>) {
        if self.tails.contains_key(&seen.id) {
            return;
        }
        match decision {
            Ok(Decision::Empty) => {}
            Ok(Decision::Moved) => self.stale = true,
            Ok(Decision::Follow(start)) => self.follow(path, seen, number, start),
            Ok(Decision::CopyOf(key)) => self.park(path, seen, ParkReason::CopyOf(key)),
            Ok(Decision::CopyOfUnread(key)) => self.wait_for(path, seen, key),
            Ok(Decision::CopyOfNew(id)) => {
                let key = self.book.lock().of_file(id).map(|record| record.key);
                match key {
                    Some(key) => self.wait_for(path, seen, key),
                    None => self.stale = true,
                }
            }
            Ok(Decision::Packed(signature)) => {
                self.park(path, seen, ParkReason::Settling(signature))
            }
            Ok(Decision::Done(key)) => {
                self.park(path.clone(), seen, ParkReason::Ignored);
                if self.targets[number].delete_when_read && !self.book.lock().is_dirty(key) {
                    self.delete(&path, seen, key);
                }
            }
            Ok(Decision::Blank) => self.park(path, seen, ParkReason::Blank),
            Ok(Decision::Ignore(reason)) => self.ignore(path, seen, reason),
            Err(error) => {
                tracing::warn!(path = %path.display(), %error, "cannot read a monitored file");
                self.park(path, seen, ParkReason::Failed);
            }
        }
    }

    /// Waits until something of a file is read, which has its turn before the next look.
    fn wait_for(&mut self, path: PathBuf, seen: Seen, key: u64) {
        self.park(path, seen, ParkReason::CopyOfUnread(key));
        self.stale = true;
    }

    fn ignore(&mut self, path: PathBuf, seen: Seen, reason: String) {
        let was_followed =
            self.rewritten.contains(&seen.id) || self.book.lock().of_file(seen.id).is_some();
        if was_followed {
            tracing::warn!(path = %path.display(), reason, "a file is no longer monitored");
        } else {
            tracing::info!(path = %path.display(), reason, "a file is not monitored");
        }
        self.park(path.clone(), seen, ParkReason::Ignored);
        self.status.explain(&path, reason);
    }

    pub(super) fn park(&mut self, path: PathBuf, seen: Seen, why: ParkReason) {
        let (state, position) = match why {
            ParkReason::Ignored | ParkReason::Failed => (FileState::Ignored, 0),
            ParkReason::CopyOf(_)
            | ParkReason::CopyOfUnread(_)
            | ParkReason::Blank
            | ParkReason::Settling(_)
            | ParkReason::Unpacking => (FileState::Waiting, 0),
        };
        self.status.set(&path, position, seen.size, state);
        let parked = Parked { seen, since: Instant::now(), generation: self.generation, why };
        self.parked.insert(path, parked);
    }

    fn follow(&mut self, path: PathBuf, seen: Seen, number: usize, start: Start) {
        let Some(shared) = self.shared.clone() else { return };
        self.parked.remove(&path);
        self.rewritten.remove(&seen.id);
        let target = Arc::clone(&self.targets[number]);
        let key = start.key.unwrap_or_else(|| self.book.lock().new_key());
        let stream = format!("monitor:{}:{key}", self.instance);
        let mut tail = Tail::new(Beginning {
            key,
            target: number,
            seen,
            patience: self.patience(&target),
            origin: target.meta(&path, &start.sample, &shared),
            stream: StreamKey(stream.into()),
            salt: target.salted(&path),
            begin: start.begin,
            start: start.start,
            start_len: start.start_len,
            start_limit: target.init_crc_length,
            offset: start.offset,
            seek: start.seek,
            utf16: start.utf16,
            path,
        });
        tail.generation = self.generation;
        // Its first turn may wait for the sink.
        let state = match tail.safe() < seen.size {
            true => FileState::Open,
            false => FileState::Finished,
        };
        self.status.set(&tail.path, tail.safe(), seen.size, state);
        {
            let mut book = self.book.lock();
            book.put(tail.record());
            book.set_live(key, true);
        }
        self.tails.insert(seen.id, Slot::Here(Box::new(tail)));
        self.request(seen.id, Goal::Read);
    }

    /// Searches for files that are no longer found by name: closed files may have been renamed to directories
    /// that are not monitored.
    async fn look_for_gone(&mut self) {
        let mut lost: BTreeMap<PathBuf, HashSet<FileId>> = BTreeMap::new();
        let (mut closed, mut read_on) = (Vec::new(), Vec::new());
        for (id, slot) in &mut self.tails {
            let Slot::Here(tail) = slot else { continue };
            if tail.generation >= self.generation || tail.gone {
                continue;
            }
            tail.gone = true;
            self.status.remove(&tail.path);
            if tail.is_open() {
                read_on.push(*id);
                continue;
            }
            closed.push(*id);
            for directory in directories_of(&tail.path, self.homes.get(id).map(PathBuf::as_path)) {
                lost.entry(directory.to_owned()).or_default().insert(*id);
            }
        }
        for id in read_on {
            self.request(id, Goal::Read);
        }
        if closed.is_empty() {
            return;
        }
        let search = move || {
            let mut found = HashMap::default();
            for (directory, wanted) in lost {
                locate(&directory, &wanted, &mut found);
            }
            found
        };
        let mut found = tokio::task::spawn_blocking(search).await.unwrap_or_default();
        for id in closed {
            let Some(Slot::Here(tail)) = self.tails.get_mut(&id) else { continue };
            match found.remove(&id) {
                Some(Located { path, file }) => {
                    tail.go_on_at(path, file);
                    self.request(id, Goal::Read);
                }
                None => self.request(id, Goal::Close { with_held: true }),
            }
        }
    }

    /// Forgets a followed file; its record stays, and is found by content from now on.
    pub(super) fn leave(&mut self, tail: &Tail, written_anew: bool) {
        self.status.remove(&tail.path);
        if written_anew {
            self.rewritten.insert(tail.seen.id);
        }
        let mut book = self.book.lock();
        let id = if written_anew { None } else { Some(tail.seen.id) };
        book.put(Record { id, ..tail.record() });
        book.set_live(tail.key, false);
    }
}

#[expect(clippy::disallowed_methods, reason = "the times of files are the machine's")]
fn is_too_old(target: &MonitorTarget, seen: Seen) -> bool {
    let Some(limit) = target.ignore_older_than else { return false };
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let written = Duration::from_micros(u64::try_from(seen.modified).unwrap_or(0));
    now.saturating_sub(written) > limit
}

/// Whether a file is followed and nothing of it is read yet.
fn is_unread(book: &Checkpoints, key: u64) -> bool {
    book.is_live(key) && book.get(key).is_some_and(|record| record.offset == 0)
}

/// The start of a file: its checksum and, if it is short, the family of the name.
type NewStart = (Fingerprint, Option<(PathBuf, String)>);

/// The new files of a batch, by their starts.
#[derive(Debug, Default)]
struct Begun(HashMap<NewStart, Vec<(PathBuf, FileId)>>);

impl Begun {
    /// Returns the decision about a file; if it has no record, after it was compared with those before it.
    fn compared(
        &mut self,
        path: &Path,
        seen: Seen,
        target: &MonitorTarget,
        decision: Decision,
    ) -> Decision {
        let Decision::Follow(start) = &decision else { return decision };
        if start.key.is_some() || !target.knows_content() {
            return decision;
        }
        let is_short = start.start_len < target.init_crc_length;
        let names = is_short.then(|| {
            let (directory, name) = family(path);
            (directory.unwrap_or(path).to_owned(), name)
        });
        let alike = self.0.entry((start.start, names)).or_default();
        let original = alike.iter().take(COMPARED).find(|(other, _)| is_copy(path, other));
        if let Some((_, id)) = original {
            return Decision::CopyOfNew(*id);
        }
        alike.push((path.to_owned(), seen.id));
        decision
    }
}

/// Returns the directories in which a renamed file is searched: that of its name, and that of the link's
/// target.
fn directories_of<'p>(path: &'p Path, home: Option<&'p Path>) -> impl Iterator<Item = &'p Path> {
    [Some(path), home].into_iter().flatten().filter_map(Path::parent)
}

/// A file that was renamed since it was met, if no target would meet it again under its new name.
fn moved_away(
    path: &Path,
    home: Option<&Path>,
    id: FileId,
    targets: &[Arc<MonitorTarget>],
) -> Option<fs::File> {
    let wanted = HashSet::from_iter([id]);
    let mut found = HashMap::default();
    for directory in directories_of(path, home) {
        locate(directory, &wanted, &mut found);
    }
    let located = found.remove(&id)?;
    located.file.filter(|_| !targets.iter().any(|target| target.takes(&located.path)))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    #[test]
    fn a_file_that_is_renamed_before_it_is_judged_is_found_unless_its_new_name_is_monitored() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        let target = |name: &str| {
            let index = model::IndexName::new("main").unwrap();
            let text = path(name).to_string_lossy().into_owned();
            Arc::new(MonitorTarget::new(&text, index, "me".into()).unwrap())
        };
        for name in ["links", "pods"] {
            fs::create_dir(path(name)).unwrap();
        }
        fs::write(path("pods/0.log"), "one\n").unwrap();
        let id = Seen::at(&path("pods/0.log")).unwrap().id;
        fs::rename(path("pods/0.log"), path("pods/0.log.1")).unwrap();
        let (link, home) = (path("links/app.log"), path("pods/0.log"));
        let links = [target("links/*.log")];
        assert!(moved_away(&link, None, id, &links).is_none());
        assert!(moved_away(&link, Some(&home), id, &links).is_some());
        assert!(moved_away(&home, None, id, &[target("pods/0.log")]).is_some());
        assert!(moved_away(&home, None, id, &[target("pods")]).is_none());
    }
}
