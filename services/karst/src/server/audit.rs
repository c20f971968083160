//! The audit trail of this server: its files, the saved heads, and indexing in `_audit`.
//!
//! Records are indexed from the files, by number: ingest stores a numbered batch once, however
//! often it is sent. The head of the chain is saved in the catalog and next to the key.

use std::collections::BTreeSet;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result};
use api::{Audit, Proxies};
use audit::{Anchor, AuditLog, Entry, Head, Info, Key, Reader, Record, Settings};
use catalog::Catalog;
use conf::{Layers, Type};
use ingest::Ingest;
use inputs::{BatchId, CutEvents, Input, MissingTime, OriginRef, StreamKey};
use model::{IndexName, IndexerId};
use runtime::health::{self, Health, Severity};
use runtime::{Clock, Shutdown};
use serde_json::{Value, json};
use uuid::Uuid;

use super::identity::write_once;

/// The channel of the records' numbers in earlier releases, which was the same in all processes: an indexer
/// that recovered the journal of another one mistook the numbers of its records for its own.
const EARLIER: Uuid = Uuid::from_u128(0x6b61_7273_7400_4175_8469_7400_0000_0001);
/// The document kind of the saved head.
const KIND: &str = "audit";
const NAME: &str = "head";
/// Maximum number of records that are sent to the index together.
const BATCH: usize = 256;
const RETRY: Duration = Duration::from_secs(1);
/// How long further records are waited for after some have been indexed: on a busy server, the records of
/// many requests are one batch, with one write to the journal and one of the position. The first record
/// after a pause is indexed at once.
const GATHER: Duration = Duration::from_millis(50);
/// Time-out of indexing the last records at a stop; the next start indexes the rest.
const END: Duration = Duration::from_secs(3);

/// The directory of the files below a data directory.
pub(crate) fn directory(data: &Path) -> PathBuf {
    data.join("audit")
}

/// The file of the key.
pub(crate) fn key_path(data: &Path) -> PathBuf {
    data.join("auth").join("audit.key")
}

/// The file of the saved head.
pub(crate) fn head_path(data: &Path) -> PathBuf {
    data.join("auth").join("audit-head.json")
}

conf::settings! {
    /// The settings of the trail.
    #[derive(Debug)]
    pub(super) struct Configured {
        "server"["audit"] {
            /// Addresses and networks of proxies whose X-Forwarded-For is trusted. Default: none.
            "trustedProxies" => proxies: Option<String> = "", PROXIES;
            /// Maximum number of recorded refusals of unknown senders, per address and second.
            "denialsPerSecond" => denials_per_second: u32 = "10", Type::number(0);
        }
        nested {
            /// Settings of the trail.
            settings: Settings;
        }
    }
}

const PROXIES: Type = Type::Form {
    expected: "addresses and networks such as 10.0.0.5, 192.168.0.0/16",
    fits: |text| Proxies::parse(text).is_some(),
};

/// The parameters for opening the trail.
pub(crate) struct Parts<'a> {
    pub(crate) data: &'a Path,
    pub(crate) layers: &'a Layers,
    pub(crate) catalog: &'a Catalog,
    /// The identity of this process.
    pub(crate) indexer: IndexerId,
    pub(crate) ingest: &'a Arc<Ingest>,
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) host: String,
    pub(crate) health: Health,
}

/// The trail, and its tasks.
#[derive(Debug)]
pub(crate) struct Trail {
    pub(crate) audit: Arc<Audit>,
    notes: Notes,
    tasks: Shutdown,
    fed: tokio::sync::watch::Receiver<u64>,
}

/// Opens the trail, records the start, and begins to index.
pub(crate) async fn open(parts: Parts<'_>) -> Result<Trail> {
    let configured = Configured::read(parts.layers)?;
    let proxies = configured.proxies.as_deref().and_then(Proxies::parse).unwrap_or_default();
    let channel = channel_of(parts.indexer);
    let delivered = parts.ingest.delivered(channel).below();
    let (catalog, path) = (parts.catalog.clone(), head_path(parts.data));
    let notes = Notes { catalog, path, id: parts.indexer.to_string() };
    let mut anchors = notes.read()?;
    if delivered > 1 {
        anchors.push(Anchor { seq: delivered - 1, hash: None, noted: "the index _audit" });
    }
    let folder = directory(parts.data);
    make_private(&folder)?;
    let chain_key = Key::new(&read_key(parts.data)?);
    let clock = Arc::clone(&parts.clock);
    let opened =
        AuditLog::open(folder.clone(), chain_key, configured.settings, clock, anchors).await;
    let opened = opened.context("cannot open the audit trail")?;
    let log = opened.log;
    for remark in opened.remarks {
        tracing::error!(remark, "the audit trail has been modified or damaged");
        parts.health.set(health::AUDIT_TRAIL, Severity::Warning, remark);
    }
    let head = log.head().borrow().seq;
    let start = Record::of_server("server_start", Info::Succeeded)
        .with("version", env!("CARGO_PKG_VERSION"))
        .with("pid", std::process::id());
    log.append(start).await.context("cannot record the start in the audit trail")?;
    let checkpoint = folder.join("indexed");
    let before = parts.ingest.delivered(EARLIER);
    let noted = read_checkpoint(&checkpoint)
        .or_else(|| before.below().checked_sub(1).filter(|last| *last <= head))
        .unwrap_or(0);
    let earlier = indexed_earlier(|seq| before.contains(seq), noted, head);
    let from = noted.saturating_add(1).max(delivered);
    let (told, fed) = tokio::sync::watch::channel(from - 1);
    let tasks = Shutdown::new();
    let feeder = Feeder {
        log: log.clone(),
        ingest: Arc::clone(parts.ingest),
        channel,
        earlier,
        index: IndexName::new(IndexName::AUDIT)?,
        host: parts.host,
        checkpoint,
        told,
    };
    tasks.spawn(feeder.run(from, tasks.clone()));
    let audit = Arc::new(Audit::new(log, proxies, configured.denials_per_second));
    tasks.spawn(watch(Arc::clone(&audit), notes.clone(), tasks.clone()));
    tasks.spawn(tell_failures(audit.log.clone(), parts.health, tasks.clone()));
    Ok(Trail { audit, notes, tasks, fed })
}

impl Trail {
    /// Records the user whom nobody made.
    pub(crate) async fn record_first_start(&self) -> Result<()> {
        let record = Record::of_server("create_user", Info::Succeeded)
            .with("object", "admin")
            .with("reason", "the first start");
        let recorded = self.audit.log.append(record).await;
        recorded.map(drop).context("cannot record the first start in the audit trail")
    }

    /// Records the stop, waits until it is indexed, notes the head.
    pub(crate) async fn close(mut self) {
        let log = &self.audit.log;
        let stop = Record::of_server("server_stop", Info::Succeeded);
        if let Err(error) = log.append(stop).await {
            tracing::error!(%error, "the stop is not in the audit trail");
        }
        let head = *log.head().borrow();
        let indexed = self.fed.wait_for(|fed| *fed >= head.seq);
        if !matches!(tokio::time::timeout(END, indexed).await, Ok(Ok(_))) {
            tracing::warn!("not all audit records are indexed; the next start goes on");
        }
        if let Err(error) = self.tasks.finish(END).await {
            tracing::warn!(%error, "the audit trail is still being indexed");
        }
        self.notes.note(head).await;
        self.audit.log.close().await;
    }
}

/// The channel of the records' numbers: a process has one trail. Others that recover its journal keep its
/// numbers apart from theirs.
fn channel_of(indexer: IndexerId) -> Uuid {
    Uuid::from_u128(EARLIER.as_u128() ^ indexer.0.as_u128())
}

/// Returns the records after the noted position that an earlier release has indexed: at most one batch was
/// unfinished when it ended. `known`: the numbers of its channel.
fn indexed_earlier(known: impl Fn(u64) -> bool, noted: u64, head: u64) -> BTreeSet<u64> {
    let last = head.min(noted.saturating_add(BATCH as u64));
    // The numbers are those of other processes: these records may not be in any index.
    if known(last.saturating_add(1)) {
        return BTreeSet::new();
    }
    (noted.saturating_add(1)..=last).filter(|seq| known(*seq)).collect()
}

fn make_private(folder: &Path) -> Result<()> {
    use std::os::unix::fs::{DirBuilderExt, PermissionsExt};
    let made = fs::DirBuilder::new().recursive(true).mode(0o700).create(folder);
    let made = made.and_then(|()| fs::set_permissions(folder, fs::Permissions::from_mode(0o700)));
    made.with_context(|| format!("cannot create {}", folder.display()))
}

/// The key in `<data>/auth/audit.key`, created at the first start.
fn read_key(data: &Path) -> Result<[u8; Key::BYTES]> {
    let path = key_path(data);
    match fs::read(&path) {
        Ok(bytes) => {
            bytes.try_into().ok().with_context(|| format!("{} is damaged", path.display()))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let folder = data.join("auth");
            fs::create_dir_all(&folder)
                .with_context(|| format!("cannot create {}", folder.display()))?;
            let key = Key::generate().context("the system gives no random numbers")?;
            write_once(&path, &key, 0o600)?;
            Ok(key)
        }
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

/// The storage of the head's position, outside the directory of the audited files.
#[derive(Debug, Clone)]
struct Notes {
    catalog: Catalog,
    /// Beside the key.
    path: PathBuf,
    /// The identity of this process, which is the name of its document: each process of a cluster has its own
    /// trail.
    id: String,
}

impl Notes {
    fn read(&self) -> Result<Vec<Anchor>> {
        let snapshot = self.catalog.snapshot();
        // Earlier releases, which had one process, used one name.
        let earlier = || snapshot.document(KIND, NAME).filter(|_| !self.catalog.follows());
        let kept = snapshot.document(KIND, &self.id).or_else(earlier);
        let kept =
            kept.map(|json| anchor(&json, "the catalog").context("the catalog's audit head"));
        Ok(kept.transpose()?.into_iter().chain(read_anchor(&self.path)?).collect())
    }

    async fn note(&self, head: Head) {
        if head.seq == 0 {
            return;
        }
        let json = json!(head);
        if let Err(error) = write_once(&self.path, json.to_string().as_bytes(), 0o600) {
            tracing::warn!(%error, "the head of the audit trail is not noted");
        }
        let noting = async {
            self.catalog.put_document(KIND, &self.id, json).await?;
            if self.catalog.snapshot().document(KIND, NAME).is_some() && !self.catalog.follows() {
                self.catalog.delete_document(KIND, NAME).await?;
            }
            Ok::<_, catalog::Error>(())
        };
        match tokio::time::timeout(END, noting).await {
            Ok(Ok(())) => {}
            Ok(Err(error)) => tracing::warn!(%error, "the catalog does not note the audit head"),
            Err(_) => tracing::warn!("the catalog did not note the audit head in time"),
        }
    }
}

/// The head saved next to the key.
pub(crate) fn read_anchor(path: &Path) -> Result<Option<Anchor>> {
    match fs::read(path) {
        Ok(bytes) => {
            let json = serde_json::from_slice(&bytes).unwrap_or(Value::Null);
            let anchor = anchor(&json, "auth/audit-head.json");
            anchor.map(Some).with_context(|| format!("{} is damaged", path.display()))
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

fn anchor(json: &Value, noted: &'static str) -> Result<Anchor> {
    let head: Head = serde_json::from_value(json.clone())?;
    Ok(Anchor { seq: head.seq, hash: Some(head.hash), noted })
}

/// Notes the head now and then while it moves, and the ends of floods of refusals.
async fn watch(audit: Arc<Audit>, notes: Notes, tasks: Shutdown) {
    let mut heads = audit.log.head();
    let interval = audit.log.settings().anchor_interval;
    let mut noted = 0;
    while tasks.sleep(interval).await {
        audit.flush_suppressed().await;
        let head = *heads.borrow_and_update();
        if head.seq != noted {
            notes.note(head).await;
            noted = head.seq;
        }
    }
}

/// Sets a health condition while nothing can be recorded.
async fn tell_failures(log: AuditLog, conditions: Health, tasks: Shutdown) {
    let mut failures = log.failures();
    loop {
        let failed = failures.borrow_and_update().as_ref().map(ToString::to_string);
        match failed {
            Some(text) => conditions.set(health::AUDIT_UNWRITABLE, Severity::Warning, text),
            None => conditions.clear(health::AUDIT_UNWRITABLE),
        }
        tokio::select! {
            () = tasks.stopped() => return,
            changed = failures.changed() => if changed.is_err() { return },
        }
    }
}

fn read_checkpoint(path: &Path) -> Option<u64> {
    fs::read_to_string(path).ok()?.trim().parse().ok()
}

/// Indexes records.
struct Feeder {
    log: AuditLog,
    ingest: Arc<Ingest>,
    /// The channel of the records' numbers.
    channel: Uuid,
    /// Records that need not be indexed any more.
    earlier: BTreeSet<u64>,
    index: IndexName,
    host: String,
    checkpoint: PathBuf,
    told: tokio::sync::watch::Sender<u64>,
}

impl Feeder {
    async fn run(self, from: u64, tasks: Shutdown) {
        let mut heads = self.log.head();
        let mut reader = Reader::new(self.log.directory(), from);
        loop {
            let synced = heads.borrow_and_update().seq;
            let read = tokio::task::spawn_blocking(move || {
                let entries = reader.read(synced, BATCH);
                (reader, entries)
            });
            let Ok((back, entries)) = read.await else { return };
            reader = back;
            let entries = entries.unwrap_or_else(|error| {
                tracing::error!(%error, "audit records are not indexed");
                Vec::new()
            });
            let Some(last) = entries.last().map(|entry| entry.seq) else {
                tokio::select! {
                    moved = heads.changed() => if moved.is_err() { return },
                    () = tasks.stopped() => return,
                }
                continue;
            };
            while let Err(error) = self.index(&entries).await {
                tracing::warn!(%error, "audit records wait to be indexed");
                if !tasks.sleep(RETRY).await {
                    return;
                }
            }
            self.keep(last);
            if entries.len() < BATCH {
                tasks.sleep(GATHER).await;
            }
        }
    }

    /// Submits records with their numbers, and waits until they are durable.
    async fn index(&self, entries: &[Entry]) -> Result<(), inputs::Error> {
        let settled = entries.first().map_or(0, |entry| entry.seq);
        let mut outcomes = Vec::with_capacity(entries.len());
        for entry in entries.iter().filter(|entry| !self.earlier.contains(&entry.seq)) {
            let id = BatchId { channel: self.channel, sequence: entry.seq, settled };
            outcomes.push(self.ingest.deliver_records(id, self.input(entry), RETRY).await?);
        }
        for outcome in outcomes {
            outcome.wait().await?;
        }
        Ok(())
    }

    fn input(&self, entry: &Entry) -> Input {
        let origin = OriginRef {
            index: &self.index,
            host: &self.host,
            source: "audittrail",
            sourcetype: Some("audittrail"),
        };
        let mut events = CutEvents::new(MissingTime::Now);
        // A record is far smaller than the limit of an input.
        let _ = events.push(origin, entry.time, entry.text.as_bytes());
        Input::Events { stream: StreamKey("audittrail".into()), events }
    }

    fn keep(&self, seq: u64) {
        self.log.set_indexed(seq);
        metrics::gauge!(runtime::metrics::AUDIT_INDEXED).set(seq as f64);
        self.told.send_replace(seq);
        // Needed only if the journal with its table of numbers is lost.
        if let Err(error) = write_once(&self.checkpoint, seq.to_string().as_bytes(), 0o600) {
            tracing::warn!(%error, "the place in the audit trail is not noted");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processes_number_their_records_in_channels_of_their_own() {
        let [first, second] = [1, 2].map(|id| channel_of(IndexerId(Uuid::from_u128(id))));
        assert_ne!(first, second);
        assert!(first != EARLIER && second != EARLIER);
        assert_eq!(first, channel_of(IndexerId(Uuid::from_u128(1))));
    }

    #[test]
    fn what_an_earlier_release_has_indexed_behind_the_noted_place_is_not_indexed_again() {
        let found = |known: &[u64], noted, head| -> Vec<u64> {
            indexed_earlier(|seq| known.contains(&seq), noted, head).into_iter().collect()
        };
        assert_eq!(found(&[1, 2, 3], 3, 3), [0; 0]);
        assert_eq!(found(&[1, 2, 3, 4, 6], 3, 7), [4, 6]);
        // The files end before them, or there is more than one batch: they are from another process.
        assert_eq!(found(&[4, 5, 6], 3, 5), [0; 0]);
        let many: Vec<u64> = (1..=600).collect();
        assert_eq!(found(&many, 3, 700), [0; 0]);
        assert_eq!(found(&[], 9, 3), [0; 0], "files that were cut off");
    }
}
