//! Clusters similar texts: each text is compared with the first text of each existing cluster.

mod alike;

use std::collections::HashMap;

use alike::Clusters;
use spl::ast::ClusterMatch;

use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::Rows;

/// Maximum number of compared terms of a text; the terms after these do not distinguish events.
const MOST_TERMS: usize = 1_000;

/// The first row of each cluster, or all rows with their cluster numbers.
#[derive(Debug)]
pub struct Cluster {
    /// Minimum similarity of the texts of a cluster, between 0 and 1.
    pub threshold: f64,
    /// The field whose texts are compared.
    pub field: String,
    /// How texts are compared.
    pub matching: ClusterMatch,
    /// The delimiters of terms; all characters except letters, digits and `_` if absent.
    pub delimiters: Option<String>,
    /// Whether all rows are kept; otherwise, only the first of each cluster.
    pub label_only: bool,
    /// The output field of the cluster number, counted from 1.
    pub label_field: String,
    /// The output field of the cluster size; no output if absent.
    pub count_field: Option<String>,
}

impl Operation for Cluster {
    fn apply(&self, rows: Rows, context: &mut Context) -> Result<Rows, Error> {
        let texts = rows.texts(&self.field)?;
        let mut terms = Terms::new(self.matching, self.delimiters.as_deref());
        let ordered = self.matching == ClusterMatch::TermList;
        let mut clusters = Clusters::new(self.threshold, ordered);
        let mut labels = Vec::with_capacity(rows.count);
        let mut firsts = Vec::new();
        let mut counts: Vec<i64> = Vec::new();
        for (row, text) in texts.iter().enumerate() {
            context.stop.check()?;
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
        let mut made = if self.label_only { rows } else { rows.take(&firsts)? };
        if !self.label_only {
            labels = (0..firsts.len()).map(Some).collect();
        }
        let number = |label: &Option<usize>| label.and_then(|at| i64::try_from(at + 1).ok());
        made.set_integers(&self.label_field, labels.iter().map(number));
        if let Some(field) = &self.count_field {
            let count = |label: &Option<usize>| label.map(|label| counts[label]);
            made.set_integers(field, labels.iter().map(count));
        }
        Ok(made)
    }
}

/// A mapping of the terms of texts to integers.
struct Terms<'c> {
    matching: ClusterMatch,
    delimiters: Option<&'c str>,
    known: HashMap<String, u32>,
}

impl<'c> Terms<'c> {
    fn new(matching: ClusterMatch, delimiters: Option<&'c str>) -> Self {
        Self { matching, delimiters, known: HashMap::new() }
    }

    /// Returns the terms in order; if order does not matter, sorted and without duplicates.
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
