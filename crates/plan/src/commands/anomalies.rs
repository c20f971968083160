//! `anomalies`: how unexpected events are.
//!
//! Split: runs at the search head, over all rows in order. How much a set of texts says is measured
//! by its distinct runs of three characters; an event is unexpected by the part of them that it adds
//! to those of the events before it.

use std::collections::{HashMap, HashSet, VecDeque};

use async_trait::async_trait;
use spl::ast::AnomaliesCommand;

use super::{CommandPlan, Input, OutputFields, Place, RequiredFields, Step, sample};
use crate::pipeline::PlanningContext;
use crate::stage::{Breaker, Rows, TableOp};
use crate::value::parse_number;
use crate::{Error, LookupSource};

impl CommandPlan for AnomaliesCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(&self.field);
        fields.patterns(&self.by);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        Ok(Step::Materialize(frame, Breaker::table(Anomalies(self.clone()))))
    }
}

/// Where the score goes.
const SCORE: &str = "unexpectedness";

#[derive(Debug)]
struct Anomalies(AnomaliesCommand);

/// Runs of three characters, each once.
type Runs = HashSet<[char; 3]>;

#[async_trait]
impl TableOp for Anomalies {
    async fn apply(&self, mut rows: Rows, env: &PlanningContext<'_>) -> Result<Rows, Error> {
        let command = &self.0;
        let number = |text: &str| parse_number(text).unwrap_or_default();
        let (threshold, alike) = (number(&command.threshold), number(&command.denylistthreshold));
        let expected = self.expected(env).await?;
        let texts = rows.texts(&command.field)?;
        let groups = self.groups(&rows)?;
        let size = usize::try_from(command.maxvalues).unwrap_or(usize::MAX);
        let mut windows: HashMap<&str, Window> = HashMap::new();
        let mut scores = Vec::with_capacity(rows.count);
        for (text, group) in texts.iter().zip(&groups) {
            let score = text.as_ref().map(|text| {
                let runs = self.runs(text);
                let boring = expected.iter().any(|known| unexpected(known, &runs) <= alike);
                let window = windows.entry(group).or_default();
                let score = window.take(runs, size);
                if boring { 0.0 } else { score }
            });
            scores.push(score);
        }
        rows.set_numbers(SCORE, scores.iter().copied());
        if command.labelonly {
            return Ok(rows);
        }
        let above = |row: &usize| scores[*row].is_some_and(|score| score > threshold);
        let kept: Vec<usize> = (0..rows.count).filter(above).collect();
        Ok(rows.take(&kept)?)
    }
}

impl Anomalies {
    fn runs(&self, text: &str) -> Runs {
        let same = |c: char| if self.0.normalize && c.is_ascii_digit() { '0' } else { c };
        let characters: Vec<char> = text.chars().map(same).collect();
        characters.windows(3).map(|run| [run[0], run[1], run[2]]).collect()
    }

    /// The texts of the deny list.
    async fn expected(&self, env: &PlanningContext<'_>) -> Result<Vec<Runs>, Error> {
        let Some(name) = &self.0.denylist else { return Ok(Vec::new()) };
        for file in [name.node.clone(), format!("{}.csv", name.node)] {
            let source = LookupSource::File(file);
            let Some(rows) = env.context.host.read_lookup(&source).await? else { continue };
            let names = rows.names();
            let column = names.iter().find(|column| **column == self.0.field).or(names.first());
            let texts = column.map(|column| rows.texts(column)).transpose()?.unwrap_or_default();
            return Ok(texts.iter().flatten().map(|text| self.runs(text)).collect());
        }
        let message = format!("there is no lookup \"{}\" (denylist)", name.node);
        Err(Error::at(message, name.span))
    }

    /// The values that separate events, joined.
    fn groups(&self, rows: &Rows) -> Result<Vec<String>, Error> {
        let mut groups = vec![String::new(); rows.count];
        if self.0.by.is_empty() {
            return Ok(groups);
        }
        for name in sample::fields(rows, &self.0.by) {
            for (group, text) in groups.iter_mut().zip(rows.texts(&name)?) {
                group.push_str(text.as_deref().unwrap_or_default());
                group.push('\u{1f}');
            }
        }
        Ok(groups)
    }
}

/// The last events and how many of them have each run.
#[derive(Default)]
struct Window {
    events: VecDeque<Runs>,
    counts: HashMap<[char; 3], usize>,
}

impl Window {
    /// How unexpected an event is, which becomes the last one.
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

/// How unexpected a text is after another one.
fn unexpected(before: &Runs, text: &Runs) -> f64 {
    score(text.difference(before).count(), before.len(), text.len())
}

/// What is new, by all there is.
fn score(new: usize, before: usize, own: usize) -> f64 {
    let all = before + own;
    if all == 0 { 0.0 } else { sample::number(new) / sample::number(all) }
}
