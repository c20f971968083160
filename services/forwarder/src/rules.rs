//! Rules of `props.conf` and `transforms.conf` that act at the forwarder: those that drop events
//! (`DEST_KEY = queue`) and those that route them (`_TCP_ROUTING`).
//!
//! All rules of an event run, in their order, over a copy, so that each sees what it would see at an
//! indexer; of what they do only the drop and the route count here. Events travel as they came, and the
//! indexer runs its rules as if there were no forwarder: nothing is changed twice. Guarantees: an event
//! is dropped only where the same rules drop it at the indexer too; a rule whose decision the forwarder
//! cannot foresee (it depends on the event's time, its indexed fields, or an expression) leaves dropping
//! to the indexer. Streams without such rules pay nothing.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use conf::Stanza;
use foldhash::HashMap;
use inputs::InputMeta;
use knowledge::Knowledge;
use knowledge::index_time::{EventDraft, IndexTimeRules, Queue, Tally};
use model::{EventTime, Origin};
use parking_lot::Mutex;
use runtime::metrics as names;

use crate::outputs::{Group, Outputs, groups_named};
use crate::status::{RouteStatus, RuleStatus};

/// Origins whose rules are remembered; more empty the table. The same for what rules name.
const KNOWN: usize = 10_000;

/// What becomes of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It goes where its input goes.
    Keep,
    /// It goes nowhere.
    Drop,
    /// It goes to these groups, which are not those of its input.
    To(Arc<[usize]>),
}

/// What a stanza of `transforms.conf` does to the way of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Class {
    drops: bool,
    routes: bool,
    /// It may change what becomes of an event in a way that only the indexer can tell.
    unsure: bool,
}

impl Class {
    fn of(stanza: &Stanza) -> Self {
        let text = |key| stanza.get(key).map_or("", |entry| entry.value.trim());
        let (eval, stop) = (text("INGEST_EVAL"), text("STOP_PROCESSING_IF"));
        if !eval.is_empty() || !stop.is_empty() {
            let unsure = !stop.is_empty() || mentions(eval, "queue");
            return Self { drops: false, routes: mentions(eval, "_TCP_ROUTING"), unsure };
        }
        let (destination, source) = (text("DEST_KEY"), text("SOURCE_KEY"));
        let is_late = ["_time", "_meta"].contains(&source) || source.starts_with("field");
        // Clones are made by the indexer.
        let own = text("CLONE_SOURCETYPE").is_empty();
        Self {
            drops: own && destination == "queue",
            routes: own && destination == "_TCP_ROUTING",
            unsure: own && destination == "queue" && is_late,
        }
    }
}

/// The stanzas of `transforms.conf` that events go through. There are more: Splunk's own, which apps may
/// name.
fn transforms_of_events(knowledge: &Knowledge) -> HashSet<String> {
    let props = knowledge.conf("props");
    let lists = props.stanzas.iter().flat_map(|stanza| stanza.entries.iter());
    let is_list = |key: &str| key.starts_with("TRANSFORMS") || key.starts_with("RULESET");
    let lists = lists.filter(|entry| is_list(&entry.key));
    let names = lists.flat_map(|entry| entry.value.split(',')).map(|name| name.trim().to_owned());
    names.collect()
}

/// Whether a word is in an expression.
fn mentions(expression: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    expression.split(|c| !is_part(c)).any(|part| part == word)
}

/// The rules of one kind of events.
#[derive(Debug)]
struct Compiled {
    rules: Arc<IndexTimeRules>,
    drops: bool,
    routes: bool,
}

/// What the rules have done since the start.
#[derive(Debug, Default)]
struct Done {
    rules: BTreeMap<String, RuleStatus>,
    routes: BTreeMap<String, RouteStatus>,
    logged: HashSet<String>,
}

/// The rules of all streams.
#[derive(Debug)]
pub(crate) struct RuleBook {
    knowledge: Arc<Knowledge>,
    /// By stanza, those that decide anything.
    classes: HashMap<String, Class>,
    groups: Vec<Arc<Group>>,
    known: Mutex<HashMap<InputMeta, Option<Arc<Compiled>>>>,
    targets: Mutex<HashMap<String, Option<Arc<[usize]>>>>,
    done: Mutex<Done>,
}

impl RuleBook {
    pub(crate) fn new(knowledge: Arc<Knowledge>, groups: Vec<Arc<Group>>) -> Self {
        let mut classes = HashMap::default();
        if knowledge.has_index_time_rules() {
            let named = transforms_of_events(&knowledge);
            for stanza in &knowledge.conf("transforms").stanzas {
                if !named.contains(stanza.name.as_str()) {
                    continue;
                }
                let class = Class::of(stanza);
                if class != Class::default() {
                    classes.insert(stanza.name.clone(), class);
                }
            }
        }
        let decides = classes.values().any(|class| class.drops || class.routes);
        if !decides {
            classes.clear();
        }
        Self {
            knowledge,
            classes,
            groups,
            known: Mutex::default(),
            targets: Mutex::default(),
            done: Mutex::default(),
        }
    }

    /// Whether there are rules for any event at all.
    pub(crate) fn any(&self) -> bool {
        !self.classes.is_empty()
    }

    /// What decides about events of an origin, whose sourcetype is known; `None`: nothing does.
    /// `own` are the groups of their input.
    pub(crate) fn of(
        self: &Arc<Self>,
        meta: &InputMeta,
        sourcetype: &str,
        own: &Arc<[usize]>,
    ) -> Option<Ruling> {
        if !self.any() {
            return None;
        }
        let meta = InputMeta { sourcetype: Some(sourcetype.into()), ..meta.clone() };
        let known = self.known.lock().get(&meta).cloned();
        let compiled = match known {
            Some(compiled) => compiled,
            None => {
                let compiled = self.compile(&meta, sourcetype).map(Arc::new);
                let mut known = self.known.lock();
                if known.len() >= KNOWN {
                    known.clear();
                }
                known.insert(meta.clone(), compiled.clone());
                compiled
            }
        }?;
        let origin = Origin {
            index: meta.index.clone(),
            host: Arc::clone(&meta.host),
            source: Arc::clone(&meta.source),
            sourcetype: sourcetype.into(),
        };
        let tally = Tally::new(&compiled.rules);
        let counts = Counts::default();
        let (book, own) = (Arc::clone(self), Arc::clone(own));
        Some(Ruling { book, compiled, origin, own, tally, counts })
    }

    fn compile(&self, meta: &InputMeta, sourcetype: &str) -> Option<Compiled> {
        let parsing = self.knowledge.parsing_rules(sourcetype, &meta.source, &meta.host);
        let rules = Arc::clone(&parsing.index_time);
        let mut all = Class::default();
        let mut unsure = None;
        for rule in rules.rules() {
            let Some(class) = self.classes.get(&rule.name) else { continue };
            all.drops |= class.drops;
            all.routes |= class.routes;
            unsure = unsure.or(class.unsure.then_some(rule));
        }
        if let Some(rule) = unsure.filter(|_| all.drops)
            && self.done.lock().logged.insert(format!("unsure {}", rule.name))
        {
            tracing::info!(
                rule = rule.name, place = %rule.place, sourcetype,
                "what this rule does to an event's queue is known at the indexer only: events are \
                 dropped there, not here"
            );
        }
        let drops = all.drops && unsure.is_none();
        (drops || all.routes).then_some(Compiled { rules, drops, routes: all.routes })
    }

    /// The groups that a rule names; `None` if there is none of them.
    fn target(&self, text: &str) -> Option<Arc<[usize]>> {
        if let Some(known) = self.targets.lock().get(text) {
            return known.clone();
        }
        let (found, unknown) = named(&self.groups, text);
        for name in unknown {
            if self.done.lock().logged.insert(format!("unknown {name}")) {
                tracing::warn!(
                    group = name,
                    "a rule routes events to a group that outputs.conf does not have"
                );
            }
        }
        let found = (!found.is_empty()).then(|| found.into());
        let mut targets = self.targets.lock();
        if targets.len() >= KNOWN {
            targets.clear();
        }
        targets.insert(text.to_owned(), found.clone());
        found
    }

    fn count(&self, rules: &IndexTimeRules, counts: &mut Counts) {
        if counts.is_empty() {
            return;
        }
        let mut done = self.done.lock();
        for (rule, (events, bytes)) in counts.dropped.drain(..) {
            let Some(rule) = rules.rules().get(rule) else { continue };
            let labels = [("rule", rule.name.clone())];
            metrics::counter!(names::FORWARDER_RULE_DROPPED, &labels).increment(events);
            metrics::counter!(names::FORWARDER_RULE_DROPPED_BYTES, &labels).increment(bytes);
            if done.logged.insert(format!("drops {}", rule.name)) {
                tracing::info!(rule = rule.name, place = %rule.place, "a rule drops events");
            }
            let status = done.rules.entry(rule.name.clone()).or_default();
            status.dropped_events += events;
            status.dropped_bytes += bytes;
        }
        for (groups, (events, bytes)) in counts.routed.drain(..) {
            let group_names = groups.iter().map(|group| &*self.groups[*group].name);
            let group_names = group_names.collect::<Vec<_>>().join(", ");
            metrics::counter!(names::FORWARDER_ROUTED, "groups" => group_names.clone())
                .increment(events);
            let status = done.routes.entry(group_names).or_default();
            status.routed_events += events;
            status.routed_bytes += bytes;
        }
        let misrouted = std::mem::take(&mut counts.misrouted);
        metrics::counter!(names::FORWARDER_MISROUTED).increment(misrouted);
    }

    /// What the rules have done, for people.
    pub(crate) fn status(&self) -> (BTreeMap<String, RuleStatus>, BTreeMap<String, RouteStatus>) {
        let done = self.done.lock();
        (done.rules.clone(), done.routes.clone())
    }
}

/// The places of the groups in a list of names, and the names that are none; `*`: all groups.
fn named<'t>(groups: &[Arc<Group>], text: &'t str) -> (Vec<usize>, Vec<&'t str>) {
    if text.trim() == "*" {
        return ((0..groups.len()).collect(), Vec::new());
    }
    let (mut found, mut unknown) = (Vec::new(), Vec::new());
    for name in text.split(',').map(str::trim).filter(|name| !name.is_empty()) {
        match groups_named(groups, name) {
            Ok(places) => found.extend(places),
            Err(_) => unknown.push(name),
        }
    }
    found.sort_unstable();
    found.dedup();
    (found, unknown)
}

/// Routes of `transforms.conf` that lead nowhere, for the check of a configuration.
#[must_use]
pub fn rule_warnings(knowledge: &Knowledge, outputs: &Outputs) -> Vec<String> {
    let mut warnings = Vec::new();
    for stanza in &knowledge.conf("transforms").stanzas {
        let Some(format) = stanza.get("FORMAT").filter(|_| Class::of(stanza).routes) else {
            continue;
        };
        if format.value.contains('$') {
            continue;
        }
        for name in named(&outputs.groups, &format.value).1 {
            let (place, of) = (&format.place, &stanza.name);
            warnings.push(format!(
                "{place}: [{of}] routes to [tcpout:{name}], which outputs.conf does not have"
            ));
        }
    }
    warnings
}

/// Events, and their bytes.
type Amount = (u64, u64);

/// What was decided since it was counted last.
#[derive(Debug, Default)]
struct Counts {
    /// By rule.
    dropped: Vec<(usize, Amount)>,
    /// By groups.
    routed: Vec<(Arc<[usize]>, Amount)>,
    misrouted: u64,
}

impl Counts {
    fn is_empty(&self) -> bool {
        self.dropped.is_empty() && self.routed.is_empty() && self.misrouted == 0
    }
}

fn add<K: PartialEq>(all: &mut Vec<(K, Amount)>, key: K, bytes: usize) {
    let at = all.iter().position(|(known, _)| *known == key).unwrap_or_else(|| {
        all.push((key, (0, 0)));
        all.len() - 1
    });
    let (events, total) = &mut all[at].1;
    *events += 1;
    *total += bytes as u64;
}

/// Decides about the events of one origin.
#[derive(Debug)]
pub(crate) struct Ruling {
    book: Arc<RuleBook>,
    compiled: Arc<Compiled>,
    origin: Origin,
    own: Arc<[usize]>,
    tally: Tally,
    counts: Counts,
}

impl Ruling {
    /// Whether events may go to other groups than their input's.
    pub(crate) fn routes(&self) -> bool {
        self.compiled.routes
    }

    /// Decides about an event, which takes so many bytes.
    pub(crate) fn decide(&mut self, raw: &str, now: EventTime, bytes: usize) -> Fate {
        let mut draft = EventDraft::new(raw, now, &self.origin);
        let mut clones = Vec::new();
        self.compiled.rules.apply(&mut draft, now, &mut self.tally, &mut clones);
        // The indexer clones; what it is to clone has to come there.
        if let Queue::Null { rule } = draft.queue
            && self.compiled.drops
            && clones.is_empty()
        {
            add(&mut self.counts.dropped, rule, bytes);
            return Fate::Drop;
        }
        let routing = draft.tcp_routing.filter(|routing| !routing.trim().is_empty());
        let Some(routing) = routing else { return Fate::Keep };
        match self.book.target(&routing) {
            Some(groups) => {
                add(&mut self.counts.routed, Arc::clone(&groups), bytes);
                if groups == self.own { Fate::Keep } else { Fate::To(groups) }
            }
            None => {
                self.counts.misrouted += 1;
                Fate::Keep
            }
        }
    }

    /// Counts what was decided since the last time.
    pub(crate) fn count(&mut self) {
        self.book.count(&self.compiled.rules, &mut self.counts);
    }
}

#[cfg(test)]
pub(crate) mod tests;
