//! The rules for breaking events: the forwarder's own `props.conf` over the settings of its indexers.
//!
//! In a deployment of Splunk, only the indexers have these settings. An indexer sends them when a connection
//! opens and when they change; the last ones are kept on disk, so that a start without an indexer cuts by
//! them. Each group of indexers has its own. Guarantees: until rules are known or an indexer has answered
//! without any, no file is cut before [`FILES_WAIT`] has passed; rules that are not taken over are logged
//! with the reason.

use std::collections::{HashSet, VecDeque};
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use knowledge::{EventBreaking, FROM_INDEXER, Knowledge};
use parking_lot::{Mutex, RwLock};
use prost::Message;
use protocol::{ParsingRules, Stanza};
use tokio::sync::watch;

/// The file in the directory of a group with the last rules of an indexer.
const FILE: &str = "parsing-rules";
/// Time after the start for which inputs other than files wait for the first answer of an indexer.
const PATIENCE: Duration = Duration::from_secs(30);
/// Time after the first failed attempt to connect after which files are cut without rules of an indexer: a
/// torn event is better than a file that is removed before it is read.
pub(crate) const FILES_WAIT: Duration = Duration::from_secs(600);
/// Time after the start after which it is reported that files wait, if no attempt to connect has failed.
const LATE: Duration = Duration::from_secs(5);
/// Maximum number of remembered checksums.
const REMEMBERED: usize = 1000;
/// Maximum number of configurations that are kept for rules that may be in force again.
const LATELY: usize = 4;

/// The own configuration over rules of indexers. Indexers with different rules take turns, and groups may
/// have the same rules, so that the last configurations are kept.
#[derive(Debug)]
pub(crate) struct Compiler {
    own: Arc<Knowledge>,
    lately: Mutex<VecDeque<(Vec<Stanza>, Arc<Knowledge>)>>,
}

impl Compiler {
    pub(crate) fn new(own: Arc<Knowledge>) -> Self {
        Self { own, lately: Mutex::default() }
    }

    /// The own configuration over the rules of an indexer, and whether it is new. May take seconds.
    fn over(&self, rules: &ParsingRules) -> (Arc<Knowledge>, bool) {
        if rules.stanzas.is_empty() {
            return (Arc::clone(&self.own), false);
        }
        let mut lately = self.lately.lock();
        // Compared by their text: a checksum is only what an indexer says.
        if let Some((_, known)) = lately.iter().find(|(of, _)| *of == rules.stanzas) {
            return (Arc::clone(known), false);
        }
        let mut all = EventBreaking::new();
        for stanza in &rules.stanzas {
            let settings = stanza.settings.iter().map(|one| (one.key.clone(), one.value.clone()));
            all.insert(stanza.name.clone(), settings.collect());
        }
        let knowledge = Arc::new(self.own.over_event_breaking(&all));
        if lately.len() >= LATELY {
            lately.pop_front();
        }
        lately.push_back((rules.stanzas.clone(), Arc::clone(&knowledge)));
        (knowledge, true)
    }
}

/// The rules for one group; see the module.
#[derive(Debug)]
pub(crate) struct IndexerRules {
    group: Arc<str>,
    compiler: Arc<Compiler>,
    path: PathBuf,
    /// Locked only to be read or set: tasks of the runtime wait for it.
    current: RwLock<InForce>,
    /// Locked while rules are compiled and written, so that they are taken one after the other; only threads
    /// for blocking work wait for it.
    heard: Mutex<Heard>,
    /// Whether rules are known, an indexer has answered without any, or the wait for that has ended.
    known: watch::Sender<bool>,
    /// The failed attempts to connect before that.
    failed: Mutex<Failed>,
    /// Whether it was logged that an input does not wait for rules.
    waited: AtomicBool,
    started: Instant,
}

/// The rules in force.
#[derive(Debug)]
struct InForce {
    knowledge: Arc<Knowledge>,
    /// Empty without rules of an indexer.
    checksum: Bytes,
}

#[derive(Debug, Default)]
struct Failed {
    first: Option<Instant>,
    /// Address of the indexer and reason of the last one.
    last: (String, String),
}

#[derive(Debug, Default)]
struct Heard {
    /// The checksums of all rules so far, in force or not.
    all: HashSet<Bytes>,
    /// The indexer that sent or confirmed those in force last; empty if they were read from disk.
    by: String,
    /// Whether it was logged that indexers have different rules.
    differ: bool,
}

impl IndexerRules {
    /// Reads the rules of the last indexer of a group from its directory.
    pub(crate) fn open(compiler: Arc<Compiler>, group: &Arc<str>, directory: &Path) -> Self {
        let path = directory.join(FILE);
        let kept = read(&path);
        let mut heard = Heard::default();
        let mut current = InForce { knowledge: Arc::clone(&compiler.own), checksum: Bytes::new() };
        if let Some(rules) = &kept {
            heard.all.insert(rules.checksum.clone());
            let (knowledge, _) = compiler.over(rules);
            current = InForce { knowledge, checksum: rules.checksum.clone() };
        }
        Self {
            group: Arc::clone(group),
            compiler,
            path,
            current: RwLock::new(current),
            heard: Mutex::new(heard),
            known: watch::channel(kept.is_some()).0,
            failed: Mutex::default(),
            waited: AtomicBool::new(false),
            started: Instant::now(),
        }
    }

    /// The name of the group.
    pub(crate) fn group(&self) -> &str {
        &self.group
    }

    /// Whether the indexers of another group are known to have other rules.
    pub(crate) fn differs(&self, other: &Self) -> bool {
        let (one, other) = (self.checksum(), other.checksum());
        !one.is_empty() && !other.is_empty() && one != other
    }

    /// The rules in force.
    pub(crate) fn knowledge(&self) -> Arc<Knowledge> {
        Arc::clone(&self.current.read().knowledge)
    }

    /// The checksum of the indexer's rules; empty without any.
    pub(crate) fn checksum(&self) -> Bytes {
        self.current.read().checksum.clone()
    }

    pub(crate) fn are_known(&self) -> bool {
        *self.known.borrow()
    }

    /// Resolves when rules are known, an indexer has answered without any, or the wait for that has ended.
    pub(crate) async fn known(&self) {
        let mut known = self.known.subscribe();
        while !*known.borrow_and_update() {
            // The sender lives as long as `self`.
            if known.changed().await.is_err() {
                return;
            }
        }
    }

    /// The time for which inputs other than files still wait for rules.
    pub(crate) fn patience(&self) -> Duration {
        PATIENCE.saturating_sub(self.started.elapsed())
    }

    /// Logs, once, that an input does not wait any longer.
    pub(crate) fn give_up(&self) {
        if !self.waited.swap(true, Ordering::Relaxed) {
            tracing::warn!(
                group = self.group(),
                "no indexer has answered yet, so that its rules for breaking events are unknown: data of \
                 inputs other than files is cut by this forwarder's own props.conf"
            );
        }
    }

    /// Records that an attempt to connect failed.
    pub(crate) fn failed(&self, indexer: &str, reason: &str, now: Instant) {
        if self.are_known() {
            return;
        }
        let mut failed = self.failed.lock();
        failed.first.get_or_insert(now);
        failed.last = (indexer.to_owned(), reason.to_owned());
    }

    /// Whether the first answer takes longer than usual.
    pub(crate) fn is_late(&self, now: Instant) -> bool {
        self.failed.lock().first.is_some() || now.duration_since(self.started) >= LATE
    }

    /// Whether files have waited for the first answer as long as they may.
    pub(crate) fn is_overdue(&self, now: Instant) -> bool {
        let first = self.failed.lock().first;
        first.is_some_and(|first| now.duration_since(first) >= FILES_WAIT)
    }

    /// Logs a warning about the wait of files for the first answer, with the number of unread ones.
    pub(crate) fn warn(&self, files: usize, text: &str) {
        let (indexer, reason) = self.failed.lock().last.clone();
        tracing::warn!(
            group = self.group(),
            files = (files > 0).then_some(files),
            indexer,
            reason,
            limit = ?FILES_WAIT,
            "{text}"
        );
    }

    /// Ends the wait for the first answer.
    pub(crate) fn end_wait(&self) {
        self.known.send_replace(true);
    }

    /// Takes the answer of an indexer; `None` if its version has no rules to send. May take seconds, because
    /// patterns are compiled.
    pub(crate) fn hear(&self, indexer: &str, rules: Option<ParsingRules>) {
        let are_here = |rules: &ParsingRules| !is_short(rules) || rules.checksum == self.checksum();
        let is_complete = rules.as_ref().is_none_or(are_here);
        if let Some(rules) = rules {
            self.take(indexer, &rules);
        }
        if is_complete {
            self.known.send_replace(true);
        }
    }

    fn take(&self, indexer: &str, rules: &ParsingRules) {
        let mut heard = self.heard.lock();
        if rules.checksum == self.checksum() {
            indexer.clone_into(&mut heard.by);
            return;
        }
        // Rules that are left out follow, or are those of the Hello, which may be in force no longer: another
        // connection has brought others since.
        if is_short(rules) {
            return;
        }
        if heard.all.len() >= REMEMBERED {
            heard.all.clear();
        }
        let is_new = heard.all.insert(rules.checksum.clone());
        if rules.size > rules.limit {
            if is_new {
                tracing::warn!(
                    group = self.group(),
                    indexer,
                    bytes = rules.size,
                    limit = rules.limit,
                    "the indexer's rules for breaking events exceed the limit and are not sent: those of \
                     before apply; without any, events of several lines are only kept whole if this \
                     forwarder's props.conf has their settings"
                );
            }
            return;
        }
        let (knowledge, is_compiled) = self.compiler.over(rules);
        // Another release may have another checksum for the same rules.
        let is_same = Arc::ptr_eq(&knowledge, &self.current.read().knowledge);
        // Rules of before from the same indexer are a change that was taken back.
        let is_other = !is_new && !is_same && heard.by != indexer;
        if is_other && !std::mem::replace(&mut heard.differ, true) {
            tracing::warn!(
                group = self.group(),
                indexer,
                other = heard.by,
                "indexers of a group differ in their rules for breaking events: the last answer applies"
            );
        }
        let of_indexer = |error: &&knowledge::Error| {
            error.place().is_some_and(|place| *place.file == *FROM_INDEXER)
        };
        for error in knowledge.errors().iter().filter(of_indexer).filter(|_| is_compiled) {
            tracing::warn!(indexer, "{error}; the setting is ignored");
        }
        if let Err(error) = keep(&self.path, rules) {
            tracing::warn!(
                %error, path = %self.path.display(),
                "the indexer's rules for breaking events are not kept: they are sent again after a restart"
            );
        }
        if !is_other && !is_same {
            tracing::info!(
                group = self.group(),
                indexer,
                stanzas = rules.stanzas.len(),
                "events are cut by the rules of the indexer"
            );
        }
        indexer.clone_into(&mut heard.by);
        *self.current.write() = InForce { knowledge, checksum: rules.checksum.clone() };
    }
}

/// Whether an indexer has left out its rules, because the Hello had their checksum or because they follow.
fn is_short(rules: &ParsingRules) -> bool {
    rules.stanzas.is_empty() && rules.size > 0 && rules.size <= rules.limit
}

/// Reads the rules that are kept; `None` without any.
fn read(path: &Path) -> Option<ParsingRules> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return None,
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "the indexer's rules cannot be read");
            return None;
        }
    };
    match ParsingRules::decode(&*bytes) {
        Ok(rules) => (!is_short(&rules)).then_some(rules),
        Err(error) => {
            tracing::warn!(path = %path.display(), %error, "the indexer's rules are damaged");
            None
        }
    }
}

fn keep(path: &Path, rules: &ParsingRules) -> io::Result<()> {
    let draft = path.with_extension("next");
    let mut file = File::create(&draft)?;
    file.write_all(&rules.encode_to_vec())?;
    file.sync_all()?;
    fs::rename(&draft, path)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::{Layer, Layers};
    use protocol::Setting;

    use super::*;

    fn own(props: &str) -> Arc<Knowledge> {
        Arc::new(Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "props", props)))
    }

    fn rules(checksum: &'static str, max_events: u32) -> ParsingRules {
        let setting = Setting { key: "MAX_EVENTS".to_owned(), value: max_events.to_string() };
        let stanza = Stanza { name: "a".to_owned(), settings: vec![setting] };
        let checksum = Bytes::from_static(checksum.as_bytes());
        ParsingRules { checksum, stanzas: vec![stanza], size: 12, limit: 100 }
    }

    fn open(own: &Arc<Knowledge>, directory: &Path) -> IndexerRules {
        let compiler = Arc::new(Compiler::new(Arc::clone(own)));
        IndexerRules::open(compiler, &"g".into(), directory)
    }

    fn max_events(rules: &IndexerRules) -> usize {
        rules.knowledge().parsing_rules("a", "s", "h").max_events
    }

    #[test]
    fn the_last_rules_apply_and_outlive_a_restart() {
        let data = tempfile::tempdir().unwrap();
        let own = own("[a]\nTRUNCATE = 5");
        let known = open(&own, data.path());
        assert!(!known.are_known() && known.checksum().is_empty());
        assert_eq!(max_events(&known), 256);
        known.hear("i:1", Some(rules("x", 7)));
        assert!(known.are_known());
        assert_eq!((max_events(&known), &*known.checksum()), (7, &b"x"[..]));
        known.hear("i:2", Some(rules("y", 8)));
        let truncate = known.knowledge().parsing_rules("a", "s", "h").truncate;
        assert_eq!((max_events(&known), truncate), (8, Some(5)));
        let known = open(&own, data.path());
        assert!(known.are_known());
        assert_eq!((max_events(&known), &*known.checksum()), (8, &b"y"[..]));
    }

    #[test]
    fn groups_have_rules_of_their_own() {
        let data = tempfile::tempdir().unwrap();
        let own = own("");
        let (prod, lab) = (data.path().join("prod"), data.path().join("lab"));
        [&prod, &lab].into_iter().for_each(|directory| fs::create_dir(directory).unwrap());
        let (one, other) = (open(&own, &prod), open(&own, &lab));
        one.hear("prod:1", Some(rules("x", 7)));
        assert!(!other.are_known() && !one.differs(&other));
        let none = ParsingRules { stanzas: Vec::new(), size: 0, ..rules("z", 0) };
        other.hear("lab:1", Some(none));
        assert!(one.differs(&other) && other.differs(&one));
        assert_eq!((max_events(&one), max_events(&other)), (7, 256));
        assert_eq!((max_events(&open(&own, &prod)), max_events(&open(&own, &lab))), (7, 256));
        other.hear("lab:1", Some(rules("x", 7)));
        assert!(!one.differs(&other));
    }

    #[test]
    fn rules_that_were_in_force_lately_are_not_compiled_again() {
        let data = tempfile::tempdir().unwrap();
        let compiler = Arc::new(Compiler::new(own("")));
        let open = |group: &str| {
            let directory = data.path().join(group);
            fs::create_dir(&directory).unwrap();
            IndexerRules::open(Arc::clone(&compiler), &group.into(), &directory)
        };
        let (one, other) = (open("one"), open("other"));
        one.hear("i:1", Some(rules("x", 7)));
        let first = one.knowledge();
        one.hear("i:2", Some(rules("y", 8)));
        assert!(!Arc::ptr_eq(&first, &one.knowledge()));
        one.hear("i:1", Some(rules("x", 7)));
        other.hear("i:3", Some(rules("z", 7)));
        assert!(Arc::ptr_eq(&first, &one.knowledge()));
        assert!(Arc::ptr_eq(&first, &other.knowledge()));
        for lines in 10..20 {
            one.hear("i:1", Some(rules("many", lines)));
            one.hear("i:1", Some(rules("others", lines)));
        }
        assert!(compiler.lately.lock().len() <= LATELY);
    }

    #[test]
    fn indexers_differ_when_rules_return_from_another_one() {
        let data = tempfile::tempdir().unwrap();
        let known = open(&own(""), data.path());
        let answers = [
            ("i:1", "x", 7, false),
            ("i:1", "y", 8, false),
            // A change that was taken back, also at an indexer that had confirmed it.
            ("i:1", "x", 7, false),
            ("i:1", "y", 8, false),
            ("i:2", "y", 8, false),
            ("i:2", "x", 7, false),
            // The same rules from an indexer of another release.
            ("i:1", "z", 7, false),
            ("i:2", "x", 7, false),
            ("i:1", "y", 8, true),
        ];
        for (indexer, checksum, max_events, differ) in answers {
            known.hear(indexer, Some(rules(checksum, max_events)));
            assert_eq!(known.heard.lock().differ, differ, "{indexer} {checksum}");
            assert_eq!(&*known.checksum(), checksum.as_bytes());
        }
    }

    #[test]
    fn own_settings_have_precedence() {
        let data = tempfile::tempdir().unwrap();
        let known = open(&own("[a]\nMAX_EVENTS = 5"), data.path());
        known.hear("i:1", Some(rules("x", 7)));
        assert_eq!(max_events(&known), 5);
    }

    #[test]
    fn what_is_too_large_or_not_sent_changes_nothing() {
        let data = tempfile::tempdir().unwrap();
        let known = open(&own(""), data.path());
        known.hear("i:1", Some(rules("x", 7)));
        let large = ParsingRules { stanzas: Vec::new(), size: 101, ..rules("y", 8) };
        known.hear("i:1", Some(large));
        let same = ParsingRules { stanzas: Vec::new(), ..rules("x", 7) };
        known.hear("i:1", Some(same));
        known.hear("i:1", None);
        assert_eq!((max_events(&known), &*known.checksum()), (7, &b"x"[..]));
    }

    #[test]
    fn rules_that_are_left_out_do_not_replace_others_that_came_meanwhile() {
        let data = tempfile::tempdir().unwrap();
        let known = open(&own(""), data.path());
        known.hear("i:1", Some(rules("x", 7)));
        known.hear("i:2", Some(rules("y", 8)));
        // The answer to a Hello with the checksum x.
        known.hear("i:1", Some(ParsingRules { stanzas: Vec::new(), ..rules("x", 7) }));
        assert_eq!((max_events(&known), &*known.checksum()), (8, &b"y"[..]));
        let known = open(&own(""), data.path());
        assert_eq!((max_events(&known), &*known.checksum()), (8, &b"y"[..]));
        // An indexer without any settings.
        let none = ParsingRules { stanzas: Vec::new(), size: 0, ..rules("z", 0) };
        known.hear("i:1", Some(none));
        assert_eq!((max_events(&known), &*known.checksum()), (256, &b"z"[..]));
        let short = ParsingRules { stanzas: Vec::new(), ..rules("x", 7) };
        keep(&data.path().join(FILE), &short).unwrap();
        assert!(!open(&own(""), data.path()).are_known());
    }

    #[test]
    fn the_wait_ends_when_rules_that_follow_have_arrived() {
        let data = tempfile::tempdir().unwrap();
        let known = open(&own(""), data.path());
        known.hear("i:1", Some(ParsingRules { stanzas: Vec::new(), ..rules("x", 7) }));
        assert!(!known.are_known() && known.checksum().is_empty());
        known.hear("i:1", Some(rules("x", 7)));
        assert!(known.are_known());
        assert_eq!(max_events(&known), 7);
    }

    #[test]
    fn an_answer_without_rules_and_a_damaged_file_are_no_rules() {
        let data = tempfile::tempdir().unwrap();
        fs::write(data.path().join(FILE), b"\xff\xff").unwrap();
        let known = open(&own(""), data.path());
        assert!(!known.are_known());
        known.hear("i:1", None);
        assert!(known.are_known());
        assert_eq!(max_events(&known), 256);
    }

    #[tokio::test]
    async fn whoever_waits_goes_on_when_an_indexer_answers() {
        let data = tempfile::tempdir().unwrap();
        let known = open(&own(""), data.path());
        let wait = async {
            known.known().await;
            max_events(&known)
        };
        let hear = async { known.hear("i:1", Some(rules("x", 7))) };
        assert_eq!(tokio::join!(wait, hear).0, 7);
    }
}
