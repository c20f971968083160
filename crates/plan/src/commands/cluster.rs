//! `cluster`: events that are alike.
//!
//! Split: runs at the search head, over all rows: each is compared with the first event of each
//! cluster before it.

mod alike;

use std::collections::HashMap;

use alike::Clusters;
use async_trait::async_trait;
use spl::ast::{ClusterCommand, ClusterMatch};

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use crate::context::PlanningContext;
use crate::stage::{Breaker, Rows, TableOp};

impl CommandPlan for ClusterCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(&self.field);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        let threshold = self.t.parse::<f64>();
        let Some(threshold) = threshold.ok().filter(|t| 0.0 < *t && *t < 1.0) else {
            return Err(Error::invalid_anywhere("t= is a number between 0 and 1"));
        };
        let op = Cluster { threshold, command: self.clone() };
        Ok(Step::Materialize(frame, Breaker::table(op)))
    }
}

/// Terms of a text that count; what stands behind them does not make events different.
const MOST_TERMS: usize = 1_000;

#[derive(Debug)]
struct Cluster {
    threshold: f64,
    command: ClusterCommand,
}

#[async_trait]
impl TableOp for Cluster {
    async fn apply(&self, rows: Rows, _: &PlanningContext<'_>) -> Result<Rows, Error> {
        let texts = rows.texts(&self.command.field)?;
        let mut terms = Terms::new(self.command.matching, self.command.delims.as_deref());
        let ordered = self.command.matching == ClusterMatch::TermList;
        let mut clusters = Clusters::new(self.threshold, ordered);
        let mut labels = Vec::with_capacity(rows.count);
        let mut firsts = Vec::new();
        let mut counts: Vec<i64> = Vec::new();
        for (row, text) in texts.iter().enumerate() {
            let label = text.as_ref().map(|text| clusters.label(terms.of(text)));
            if let Some(label) = label {
                if label == counts.len() {
                    counts.push(0);
                    firsts.push(row);
                }
                counts[label] += 1;
            }
            labels.push(label);
        }
        let mut made = if self.command.labelonly { rows } else { rows.take(&firsts)? };
        if !self.command.labelonly {
            labels = (0..firsts.len()).map(Some).collect();
        }
        let number = |label: &Option<usize>| label.and_then(|at| i64::try_from(at + 1).ok());
        made.set_integers(&self.command.labelfield, labels.iter().map(number));
        if self.command.showcount {
            let count = |label: &Option<usize>| label.map(|label| counts[label]);
            made.set_integers(&self.command.countfield, labels.iter().map(count));
        }
        Ok(made)
    }
}

/// Texts as numbers of their terms.
struct Terms<'c> {
    matching: ClusterMatch,
    delimiters: Option<&'c str>,
    known: HashMap<String, u32>,
}

impl<'c> Terms<'c> {
    fn new(matching: ClusterMatch, delimiters: Option<&'c str>) -> Self {
        Self { matching, delimiters, known: HashMap::new() }
    }

    /// The terms in their order, or sorted and each once where the order does not matter.
    fn of(&mut self, text: &str) -> Vec<u32> {
        let mut found = Vec::new();
        if self.matching == ClusterMatch::NgramSet {
            let places: Vec<usize> = text.char_indices().map(|(at, _)| at).collect();
            let end = |at: usize| places.get(at).copied().unwrap_or(text.len());
            for at in 0..places.len().saturating_sub(2).max(1) {
                let (from, to) = (end(at), end(at + 3));
                found.push(self.number(&text[from..to]));
            }
        } else {
            let delimiters = self.delimiters;
            let is_delimiter = |c: char| match delimiters {
                Some(delimiters) => delimiters.contains(c),
                None => !(c.is_ascii_alphanumeric() || c == '_'),
            };
            let terms = text.split(is_delimiter).filter(|term| !term.is_empty());
            for term in terms.take(MOST_TERMS) {
                found.push(self.number(term));
            }
        }
        if self.matching != ClusterMatch::TermList {
            found.sort_unstable();
            found.dedup();
        }
        found
    }

    fn number(&mut self, term: &str) -> u32 {
        if let Some(number) = self.known.get(term) {
            return *number;
        }
        let next = u32::try_from(self.known.len()).unwrap_or(u32::MAX);
        self.known.insert(term.to_owned(), next);
        next
    }
}
