//! Rules of `props.conf` and `transforms.conf` that take effect at the forwarder: those that drop events
//! (`DEST_KEY = queue`) and those that route them (`_TCP_ROUTING`).
//!
//! All rules of an event run in order over a copy, so that each sees the same as at an indexer; only drops
//! and routes take effect here. Events are sent unchanged, and the indexer applies its rules as without a
//! forwarder, so that nothing is changed twice. Guarantees: an event is dropped only if the same rules
//! would drop it at the indexer; if the forwarder cannot predict the decision of a rule (it depends on the
//! event's time, its indexed fields, or an expression), the indexer drops the event. Streams without such
//! rules have no overhead.

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

/// Maximum number of origins with cached rules; above it, the table is cleared. Also the maximum for rule
/// targets.
const KNOWN: usize = 10_000;

/// The destination of an event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum RoutingDecision {
    /// The groups of its input.
    Keep,
    /// None: it is dropped.
    Drop,
    /// These groups, other than those of its input.
    To(Arc<[usize]>),
}

/// The effect of a stanza of `transforms.conf` on the destination of events.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Class {
    drops: bool,
    routes: bool,
    /// Whether it may change the destination in a way that only the indexer can predict.
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
        // Clones are made by the indexer, so that rules for them do not apply here.
        let own = text("CLONE_SOURCETYPE").is_empty();
        Self {
            drops: own && destination == "queue",
            routes: own && destination == "_TCP_ROUTING",
            unsure: own && destination == "queue" && is_late,
        }
    }
}

/// The stanzas of `transforms.conf` that are applied to events. There are more stanzas: those of Splunk,
/// which apps may name.
fn transforms_of_events(knowledge: &Knowledge) -> HashSet<String> {
    let props = knowledge.conf("props");
    let lists = props.stanzas.iter().flat_map(|stanza| stanza.entries.iter());
    let is_list = |key: &str| key.starts_with("TRANSFORMS") || key.starts_with("RULESET");
    let lists = lists.filter(|entry| is_list(&entry.key));
    let names = lists.flat_map(|entry| entry.value.split(',')).map(|name| name.trim().to_owned());
    names.collect()
}

/// Whether an expression contains a word.
fn mentions(expression: &str, word: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    expression.split(|c| !is_part(c)).any(|part| part == word)
}

/// The compiled rules of one origin.
#[derive(Debug)]
struct Compiled {
    rules: Arc<IndexTimeRules>,
    drops: bool,
    routes: bool,
}

/// The effects of the rules since the start.
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
    /// By stanza, those with an effect on the destination.
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

    /// Whether there are any rules.
    pub(crate) fn any(&self) -> bool {
        !self.classes.is_empty()
    }

    /// The rules for events of an origin with a known source type; `None` if there are none. `own` are the
    /// groups of their input.
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

    /// The groups named by a rule; `None` if none of them exists.
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

    /// The effects of the rules, for display.
    pub(crate) fn status(&self) -> (BTreeMap<String, RuleStatus>, BTreeMap<String, RouteStatus>) {
        let done = self.done.lock();
        (done.rules.clone(), done.routes.clone())
    }
}

/// The positions of the groups in a list of names, and the unknown names; `*` means all groups.
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

/// Warnings about unknown groups in routes of `transforms.conf`, for the check of a configuration.
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

/// A number of events, and their bytes.
type Amount = (u64, u64);

/// The decisions since the last count.
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

/// Decides the destination of the events of one origin.
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
    /// Whether events may be sent to other groups than those of their input.
    pub(crate) fn routes(&self) -> bool {
        self.compiled.routes
    }

    /// Decides about an event with `bytes` bytes.
    pub(crate) fn decide(&mut self, raw: &str, now: EventTime, bytes: usize) -> RoutingDecision {
        let mut draft = EventDraft::new(raw, now, &self.origin);
        let mut clones = Vec::new();
        self.compiled.rules.apply(&mut draft, now, &mut self.tally, &mut clones);
        // An event to be cloned must reach the indexer, which makes the clones.
        if let Queue::Null { rule } = draft.queue
            && self.compiled.drops
            && clones.is_empty()
        {
            add(&mut self.counts.dropped, rule, bytes);
            return RoutingDecision::Drop;
        }
        let routing = draft.tcp_routing.filter(|routing| !routing.trim().is_empty());
        let Some(routing) = routing else { return RoutingDecision::Keep };
        match self.book.target(&routing) {
            Some(groups) => {
                add(&mut self.counts.routed, Arc::clone(&groups), bytes);
                if groups == self.own { RoutingDecision::Keep } else { RoutingDecision::To(groups) }
            }
            None => {
                self.counts.misrouted += 1;
                RoutingDecision::Keep
            }
        }
    }

    /// Reports the decisions since the last call to the counters.
    pub(crate) fn count(&mut self) {
        self.book.count(&self.compiled.rules, &mut self.counts);
    }
}

#[cfg(test)]
pub(crate) mod tests;
