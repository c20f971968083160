//! Index-time rules, applied to events on arrival, before they are stored: `SEDCMD-*`, `TRANSFORMS-*` and
//! `RULESET-*` with their stanzas of `transforms.conf`, and `ANNOTATE_PUNCT`.
//!
//! Order, for one event: all SEDCMD by class name, all TRANSFORMS by class name and position in the list, all
//! RULESETs, then `punct`. An event keeps the rules of its original stanzas, even if a rule changes its
//! sourcetype; a clone starts with the rules of its own sourcetype.
//!
//! Guarantees: pure; every change of `_raw`, every drop and every clone is counted for its rule ([`Tally`]);
//! a rule that does not compile gives an error with its place and is left out. Leaves to others: the
//! destination of dropped, cloned and moved events.

mod draft;
mod ingest_eval;
mod punct;
mod read;
#[cfg(test)]
mod tests;
mod transform;

use std::borrow::Cow;

use eval::Sed;
use model::EventTime;

pub use draft::{EventDraft, Queue};
pub use punct::punct;
pub use read::without_effect;
pub(crate) use read::{check_all, read};

use self::ingest_eval::IngestEval;
use self::transform::RegexTransform;
use conf::Place;

/// A rule that can change, drop or clone events.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RuleName {
    /// The class of a SEDCMD (`SEDCMD-mask`), or the stanza of `transforms.conf`.
    pub name: String,
    /// File and line of the setting.
    pub place: Place,
}

/// Counters of one rule.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RuleTally {
    /// Number of events whose `_raw` the rule changed.
    pub changed: u64,
    /// Number of events that the rule dropped.
    pub dropped: u64,
    /// Number of events that the rule cloned.
    pub cloned: u64,
}

/// Counters of all rules, by rule number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// One entry per rule, in the order of [`IndexTimeRules::rules`].
    pub rules: Vec<RuleTally>,
}

impl Tally {
    /// Creates a tally with all counters at zero.
    #[must_use]
    pub fn new(rules: &IndexTimeRules) -> Self {
        Self { rules: vec![RuleTally::default(); rules.rules().len()] }
    }

    fn of(&mut self, rule: usize) -> &mut RuleTally {
        if self.rules.len() <= rule {
            self.rules.resize(rule + 1, RuleTally::default());
        }
        &mut self.rules[rule]
    }
}

/// The compiled rules of one combination of `props.conf` stanzas.
#[derive(Debug, Default)]
pub struct IndexTimeRules {
    steps: Vec<Step>,
    annotate_punct: bool,
    rules: Vec<RuleName>,
}

#[derive(Debug)]
struct Step {
    /// The index of its rule in `rules`.
    rule: usize,
    /// The group of steps that `STOP_PROCESSING_IF` ends together.
    group: usize,
    action: Action,
}

#[derive(Debug)]
enum Action {
    Sed(Sed),
    Regex(Box<RegexTransform>),
    Eval(Box<IngestEval>),
}

impl IndexTimeRules {
    /// Returns whether there are no rules, so that events pass unchanged.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && !self.annotate_punct
    }

    /// Returns whether rules may change, drop, move or clone events. If not, at most `punct` is added.
    #[must_use]
    pub fn has_transforms(&self) -> bool {
        !self.steps.is_empty()
    }

    /// Returns the rules in the order in which they run.
    #[must_use]
    pub fn rules(&self) -> &[RuleName] {
        &self.rules
    }

    /// Runs the rules on an event. Clones are appended to `clones`, with the sourcetype whose rules apply to
    /// them next.
    pub fn apply<'e>(
        &self,
        draft: &mut EventDraft<'e>,
        now: EventTime,
        tally: &mut Tally,
        clones: &mut Vec<EventDraft<'e>>,
    ) {
        let mut stopped = None;
        for step in &self.steps {
            if stopped == Some(step.group) {
                continue;
            }
            let rule = step.rule;
            let changed = match &step.action {
                Action::Sed(sed) => edit(sed, draft),
                Action::Eval(eval) => {
                    let (changed, stop) = eval.run(draft, rule, now);
                    stopped = stop.then_some(step.group).or(stopped);
                    changed
                }
                Action::Regex(transform) => transform.run(draft, rule, tally, clones),
            };
            tally.of(rule).changed += u64::from(changed);
        }
        if self.annotate_punct {
            draft.fields.push(("punct".into(), punct(&draft.raw).into()));
        }
        if let Queue::Null { rule } = draft.queue {
            tally.of(rule).dropped += 1;
        }
    }
}

/// Edits `_raw`; returns whether it changed.
fn edit(sed: &Sed, draft: &mut EventDraft<'_>) -> bool {
    match sed.apply(&draft.raw, usize::MAX) {
        Some(text) if text != draft.raw => {
            draft.raw = Cow::Owned(text);
            true
        }
        _ => false,
    }
}
