//! The batch numbers of channels whose events are durable, across restarts and released journal segments.
//!
//! The table is rebuilt from its file and from the notes in the journal. The file is written before a journal
//! segment is released, so that file and journal together are always complete. The table is bounded: channels
//! that have been idle for long, and the longest idle ones above the maximum number, are removed. If a sender
//! returns after that and repeats unacknowledged batches, they are stored again.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use foldhash::{HashMap, HashSet};
use inputs::BatchId;
use model::EventTime;
use parking_lot::{Mutex, MutexGuard};
use protocol::Sequences;
use runtime::OpenDirectory;
use uuid::Uuid;

use crate::Error;

/// Header of the file: magic and version.
const HEADER: [u8; 8] = *b"KARSTCH\x01";
/// Name of the file, next to the journals, and of the draft that is renamed to it.
const FILE: &str = "channels";
const DRAFT: &str = "channels.next";

/// The state of one channel.
#[derive(Debug, Default)]
struct Channel {
    safe: Sequences,
    in_flight: HashSet<u64>,
    last_used: EventTime,
}

#[derive(Debug, Default)]
struct State {
    channels: HashMap<Uuid, Channel>,
    /// Whether the state differs from the file.
    changed: bool,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct Channels {
    directory: OpenDirectory,
    most: usize,
    idle: Duration,
    state: Mutex<State>,
}

/// The decision about a batch that arrives.
#[derive(Debug)]
pub(crate) enum BatchState {
    /// Its events are already durable.
    Known,
    /// The same batch is in the pipeline.
    InFlight,
    /// The batch is new.
    New(InFlight),
}

/// A numbered batch in the pipeline. While this value exists, the same number is not accepted again.
#[derive(Debug)]
pub(crate) struct InFlight {
    pub(crate) id: BatchId,
    channels: Arc<Channels>,
}

impl Drop for InFlight {
    fn drop(&mut self) {
        let mut state = self.channels.lock();
        if let Some(channel) = state.channels.get_mut(&self.id.channel) {
            channel.in_flight.remove(&self.id.sequence);
        }
    }
}

impl Channels {
    /// Reads the table from the file next to the journals below `root`.
    ///
    /// # Errors
    /// The file cannot be read. A damaged file is moved away and logged, and the table is then empty: batches
    /// that are sent again may be stored twice, but none is lost.
    pub(crate) fn open(root: &Path, most: usize, idle: Duration) -> Result<Arc<Self>, Error> {
        let path = root.join(FILE);
        let bytes = match fs::read(&path) {
            Ok(bytes) => Some(bytes),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::journal_read(path, error)),
        };
        let mut state = State::default();
        if let Some(bytes) = bytes {
            match read(&bytes) {
                Some(channels) => state.channels = channels,
                None => {
                    let reason = "the table of forwarders' batches is not what was written";
                    let error = Error::JournalDamaged { path: path.clone(), offset: 0, reason };
                    tracing::error!(%error, "batches that forwarders send again may appear twice");
                    let aside = path.with_extension("damaged");
                    fs::rename(&path, aside).map_err(|error| Error::journal_write(&path, error))?;
                }
            }
        }
        let directory =
            OpenDirectory::open(root).map_err(|error| Error::journal_read(root, error))?;
        Ok(Arc::new(Self { directory, most, idle, state: Mutex::new(state) }))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Every change is a single step, so a panic leaves no partial state.
        self.state.lock()
    }

    /// Decides whether an input that has arrived is new.
    pub(crate) fn begin(self: &Arc<Self>, id: BatchId, now: EventTime) -> BatchState {
        let mut state = self.lock();
        if !state.channels.contains_key(&id.channel) && state.channels.len() >= self.most {
            forget_most_silent(&mut state);
        }
        let channel = state.channels.entry(id.channel).or_default();
        channel.last_used = now;
        // Checked first: a batch in the journal may still wait for a remote acknowledgement.
        if channel.in_flight.contains(&id.sequence) {
            return BatchState::InFlight;
        }
        if channel.safe.contains(id.sequence) {
            return BatchState::Known;
        }
        channel.in_flight.insert(id.sequence);
        BatchState::New(InFlight { id, channels: Arc::clone(self) })
    }

    /// Registers a batch that a restart found in the journal and that is only acknowledged once it is in
    /// object storage.
    pub(crate) fn hold(self: &Arc<Self>, id: BatchId) -> InFlight {
        let mut state = self.lock();
        state.channels.entry(id.channel).or_default().in_flight.insert(id.sequence);
        InFlight { id, channels: Arc::clone(self) }
    }

    /// Records that a batch is in the journal.
    pub(crate) fn note(&self, id: BatchId, now: EventTime) {
        let mut state = self.lock();
        state.changed = true;
        let channel = state.channels.entry(id.channel).or_default();
        channel.last_used = channel.last_used.max(now);
        channel.safe.insert(id.sequence);
        channel.safe.insert_below(id.settled);
    }

    /// Returns the durable batch numbers of a channel, without those in the pipeline.
    pub(crate) fn safe(&self, channel: Uuid) -> Sequences {
        let state = self.lock();
        let Some(known) = state.channels.get(&channel) else { return Sequences::default() };
        let mut safe = known.safe.clone();
        known.in_flight.iter().for_each(|sequence| safe.remove(*sequence));
        safe
    }

    /// Writes the table if it has changed, so that journal segments can be released.
    ///
    /// # Errors
    /// The file cannot be written; then no segment may be released.
    pub(crate) fn save(&self, now: EventTime) -> Result<(), Error> {
        let mut state = self.lock();
        if !state.changed {
            return Ok(());
        }
        let idle = i64::try_from(self.idle.as_micros()).unwrap_or(i64::MAX);
        let oldest = now.0.saturating_sub(idle);
        state
            .channels
            .retain(|_, channel| channel.last_used.0 >= oldest || !channel.in_flight.is_empty());
        let bytes = write(&state.channels);
        let replaced = self.directory.replace(FILE, DRAFT, &bytes);
        replaced.map_err(|error| Error::journal_write(self.directory.path().join(FILE), error))?;
        state.changed = false;
        Ok(())
    }
}

fn forget_most_silent(state: &mut State) {
    let idle = state.channels.iter().filter(|(_, channel)| channel.in_flight.is_empty());
    let most_silent = idle.min_by_key(|(_, channel)| channel.last_used).map(|(id, _)| *id);
    if let Some(id) = most_silent {
        tracing::warn!(channel = %id, "too many channels of forwarders; the least recently used one is removed");
        state.channels.remove(&id);
        state.changed = true;
    }
}

fn write(channels: &HashMap<Uuid, Channel>) -> Vec<u8> {
    let mut out = HEADER.to_vec();
    let mut put = |value: u64| out.extend_from_slice(&value.to_le_bytes());
    put(channels.len() as u64);
    for (id, channel) in channels {
        let (high, low) = id.as_u64_pair();
        put(high);
        put(low);
        put(channel.last_used.0.cast_unsigned());
        put(channel.safe.below());
        put(channel.safe.ranges().len() as u64);
        for (from, to) in channel.safe.ranges() {
            put(*from);
            put(*to);
        }
    }
    let crc = crc32fast::hash(&out);
    out.extend_from_slice(&crc.to_le_bytes());
    out
}

fn read(bytes: &[u8]) -> Option<HashMap<Uuid, Channel>> {
    let (body, crc) = bytes.split_last_chunk::<4>()?;
    if crc32fast::hash(body) != u32::from_le_bytes(*crc) {
        return None;
    }
    let mut rest = body.strip_prefix(&HEADER)?;
    let mut next = || {
        let (value, after) = rest.split_first_chunk::<8>()?;
        rest = after;
        Some(u64::from_le_bytes(*value))
    };
    let mut channels = HashMap::default();
    for _ in 0..next()? {
        let id = Uuid::from_u64_pair(next()?, next()?);
        let last_used = EventTime(next()?.cast_signed());
        let below = next()?;
        let mut ranges = Vec::new();
        for _ in 0..next()? {
            ranges.push((next()?, next()?));
        }
        let safe = Sequences::of(below, ranges);
        channels.insert(id, Channel { safe, in_flight: HashSet::default(), last_used });
    }
    rest.is_empty().then_some(channels)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const DAY: Duration = Duration::from_secs(86_400);

    fn id(channel: u128, sequence: u64, settled: u64) -> BatchId {
        BatchId { channel: Uuid::from_u128(channel), sequence, settled }
    }

    #[test]
    fn a_number_is_taken_in_once_and_may_be_tried_again_after_a_failure() {
        let folder = tempfile::tempdir().unwrap();
        let channels = Channels::open(folder.path(), 9, DAY).unwrap();
        let now = EventTime(1);
        let BatchState::New(first) = channels.begin(id(1, 5, 0), now) else { panic!("it is new") };
        assert!(matches!(channels.begin(id(1, 5, 0), now), BatchState::InFlight));
        assert!(matches!(channels.begin(id(2, 5, 0), now), BatchState::New(_)));
        drop(first);
        assert!(matches!(channels.begin(id(1, 5, 0), now), BatchState::New(_)));
        channels.note(id(1, 5, 3), now);
        for (sequence, known) in [(5, true), (2, true), (3, false), (6, false)] {
            let begun = channels.begin(id(1, sequence, 0), now);
            assert_eq!(matches!(begun, BatchState::Known), known, "{sequence}");
        }
    }

    #[test]
    fn the_table_survives_and_silent_channels_are_forgotten() {
        let folder = tempfile::tempdir().unwrap();
        let day = i64::try_from(DAY.as_micros()).unwrap();
        let channels = Channels::open(folder.path(), 9, DAY).unwrap();
        channels.note(id(1, 7, 2), EventTime(0));
        channels.note(id(2, 7, 2), EventTime(day));
        channels.save(EventTime(day + 1)).unwrap();
        let again = Channels::open(folder.path(), 9, DAY).unwrap();
        assert_eq!(again.safe(Uuid::from_u128(1)), Sequences::default());
        assert_eq!(again.safe(Uuid::from_u128(2)), Sequences::of(2, [(7, 8)]));
    }

    #[test]
    fn a_damaged_table_is_put_aside() {
        let folder = tempfile::tempdir().unwrap();
        let channels = Channels::open(folder.path(), 9, DAY).unwrap();
        channels.note(id(1, 7, 2), EventTime(0));
        channels.save(EventTime(0)).unwrap();
        let path = folder.path().join("channels");
        let mut bytes = fs::read(&path).unwrap();
        bytes[20] ^= 1;
        fs::write(&path, bytes).unwrap();
        let again = Channels::open(folder.path(), 9, DAY).unwrap();
        assert_eq!(again.safe(Uuid::from_u128(1)), Sequences::default());
        assert!(folder.path().join("channels.damaged").exists());
    }
}
