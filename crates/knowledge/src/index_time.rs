//! What happens to events as they arrive, before they are kept: `SEDCMD-*`, `TRANSFORMS-*` and
//! `RULESET-*` with their stanzas of `transforms.conf`, and `ANNOTATE_PUNCT`.
//!
//! Order, for one event: all SEDCMD by class name, all TRANSFORMS by class name and place in the
//! list, all RULESETs, then `punct`. An event keeps the rules of the stanzas it came in with, also
//! when a rule changes its sourcetype; a clone begins anew with the rules of its own.
//!
//! Guarantees: pure; every change of `_raw`, every drop and every clone is counted for the rule that
//! did it ([`Tally`]); rules that do not compile are errors with their place and are left out.
//! Leaves to others: where dropped, cloned and moved events go.

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

/// What one rule did.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct RuleTally {
    /// Events whose `_raw` it changed.
    pub changed: u64,
    /// Events it dropped.
    pub dropped: u64,
    /// Events it cloned.
    pub cloned: u64,
}

/// What each rule did, by the rule's number.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Tally {
    /// In the order of [`IndexTimeRules::rules`].
    pub rules: Vec<RuleTally>,
}

impl Tally {
    /// A tally of nothing yet.
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

/// The rules of one combination of `props.conf` stanzas, compiled.
#[derive(Debug, Default)]
pub struct IndexTimeRules {
    steps: Vec<Step>,
    annotate_punct: bool,
    rules: Vec<RuleName>,
}

#[derive(Debug)]
struct Step {
    /// Its number in `rules`.
    rule: usize,
    /// Steps of one number stop together.
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
    /// Whether there is nothing to do: events may pass untouched.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.steps.is_empty() && !self.annotate_punct
    }

    /// Whether rules may change, drop, move or clone events. Without, only `punct` may be added.
    #[must_use]
    pub fn has_transforms(&self) -> bool {
        !self.steps.is_empty()
    }

    /// The rules in the order in which they run.
    #[must_use]
    pub fn rules(&self) -> &[RuleName] {
        &self.rules
    }

    /// Runs the rules on an event. Clones are appended to `clones`, with the sourcetype whose rules
    /// they are to go through next.
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

/// Edits `_raw`; tells whether anything changed.
fn edit(sed: &Sed, draft: &mut EventDraft<'_>) -> bool {
    match sed.apply(&draft.raw, usize::MAX) {
        Some(text) if text != draft.raw => {
            draft.raw = Cow::Owned(text);
            true
        }
        _ => false,
    }
}
