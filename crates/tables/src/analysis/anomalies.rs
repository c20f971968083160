//! Scores the unexpectedness of texts. The information of a set of texts is measured by its number of
//! distinct character trigrams; the unexpectedness of a text is the share of trigrams that it adds to those
//! of the preceding texts.

use std::collections::{HashMap, HashSet, VecDeque};

use spl::ast::FieldPattern;

use super::statistics;
use crate::error::Error;
use crate::operation::{Steps, Stop};
use crate::rows::Rows;

/// The output field of the score.
const SCORE: &str = "unexpectedness";

/// The rows with their unexpectedness, from 0 to 1.
#[derive(Debug)]
pub struct Anomalies {
    /// The field whose texts are compared.
    pub field: String,
    /// Rows are compared only with rows that have equal values of these fields; with all rows if empty.
    pub by: Vec<FieldPattern>,
    /// Number of preceding rows with which a row is compared.
    pub window: usize,
    /// Whether all digits are treated as equal.
    pub normalize: bool,
    /// The score above which a row is unexpected.
    pub threshold: f64,
    /// The maximum score, relative to an expected text, at which a text counts as expected.
    pub alike: f64,
    /// Whether all rows are kept; otherwise, only unexpected ones.
    pub label_only: bool,
}

/// The distinct trigrams of a text.
type Runs = HashSet<[char; 3]>;

impl Anomalies {
    /// Adds scores to rows; texts similar to one of `expected` have the score 0.
    ///
    /// # Errors
    /// If SPL has no values of the type of a column; [`Error::Cancelled`] if the search was cancelled.
    pub fn scored(
        &self,
        mut rows: Rows,
        expected: &[Option<String>],
        stop: &Stop,
    ) -> Result<Rows, Error> {
        let mut steps = Steps::new(stop.clone());
        let expected: Vec<Runs> = expected.iter().flatten().map(|text| self.runs(text)).collect();
        let texts = rows.texts(&self.field)?;
        let groups = self.groups(&rows)?;
        let mut windows: HashMap<&str, Window> = HashMap::new();
        let mut scores = Vec::with_capacity(rows.count);
        for (text, group) in texts.iter().zip(&groups) {
            // Comparing two texts takes about a microsecond per character.
            let length = text.as_ref().map_or(1, String::len);
            steps.take(length.saturating_mul(1 + expected.len()))?;
            let score = text.as_ref().map(|text| {
                let runs = self.runs(text);
                let boring = expected.iter().any(|known| unexpected(known, &runs) <= self.alike);
                let window = windows.entry(group).or_default();
                let score = window.take(runs, self.window);
                if boring { 0.0 } else { score }
            });
            scores.push(score);
        }
        rows.set_numbers(SCORE, scores.iter().copied());
        if self.label_only {
            return Ok(rows);
        }
        let above = |row: &usize| scores[*row].is_some_and(|score| score > self.threshold);
        let kept: Vec<usize> = (0..rows.count).filter(above).collect();
        rows.take(&kept)
    }

    fn runs(&self, text: &str) -> Runs {
        let same = |c: char| if self.normalize && c.is_ascii_digit() { '0' } else { c };
        let characters: Vec<char> = text.chars().map(same).collect();
        characters.windows(3).map(|run| [run[0], run[1], run[2]]).collect()
    }

    /// Returns the joined values of the `by` fields.
    fn groups(&self, rows: &Rows) -> Result<Vec<String>, Error> {
        let mut groups = vec![String::new(); rows.count];
        if self.by.is_empty() {
            return Ok(groups);
        }
        for name in rows.matching(&self.by) {
            for (group, text) in groups.iter_mut().zip(rows.texts(&name)?) {
                group.push_str(text.as_deref().unwrap_or_default());
                group.push('\u{1f}');
            }
        }
        Ok(groups)
    }
}

/// The last events, with the number of events that contain each trigram.
#[derive(Default)]
struct Window {
    events: VecDeque<Runs>,
    counts: HashMap<[char; 3], usize>,
}

impl Window {
    /// Returns the unexpectedness of an event, and adds the event to the window.
    fn take(&mut self, runs: Runs, size: usize) -> f64 {
        let new = runs.iter().filter(|run| !self.counts.contains_key(*run)).count();
        let score = score(new, self.counts.len(), runs.len());
        if self.events.len() >= size
            && let Some(oldest) = self.events.pop_front()
        {
            for run in oldest {
                if let Some(count) = self.counts.get_mut(&run) {
                    *count -= 1;
                    if *count == 0 {
                        self.counts.remove(&run);
                    }
                }
            }
        }
        runs.iter().for_each(|run| *self.counts.entry(*run).or_default() += 1);
        self.events.push_back(runs);
        score
    }
}

/// Returns the unexpectedness of a text after another one.
fn unexpected(before: &Runs, text: &Runs) -> f64 {
    score(text.difference(before).count(), before.len(), text.len())
}

/// The share of new trigrams among all.
fn score(new: usize, before: usize, own: usize) -> f64 {
    let all = before + own;
    if all == 0 { 0.0 } else { statistics::number(new) / statistics::number(all) }
}
