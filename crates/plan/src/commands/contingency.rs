//! `contingency`: how often values of two fields occur together.
//!
//! Split: runs at the search head, over all rows.

use std::collections::HashMap;

use async_trait::async_trait;
use spl::ast::ContingencyCommand;

use super::{CommandPlan, Input, OutputFields, Place, RequiredFields, Step, sample};
use crate::context::PlanningContext;
use crate::stage::{Breaker, Rows, TableOp};
use crate::value::parse_number;
use crate::{Error, MessageKind};

impl CommandPlan for ContingencyCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(&self.row.node);
        fields.name(&self.column.node);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        Ok(Step::Materialize(frame, Breaker::table(Contingency(self.clone()))))
    }
}

/// What stands for the empty text.
const EMPTY: &str = "EMPTY_STR";

#[derive(Debug)]
struct Contingency(ContingencyCommand);

#[async_trait]
impl TableOp for Contingency {
    async fn apply(&self, rows: Rows, env: &PlanningContext<'_>) -> Result<Rows, Error> {
        let command = &self.0;
        let (ones, twos) = (rows.lists(&command.row.node)?, rows.lists(&command.column.node)?);
        let mut cells: HashMap<(&str, &str), i64> = HashMap::new();
        let (mut by_row, mut by_column) = (Counts::default(), Counts::default());
        for (one, two) in ones.iter().zip(&twos) {
            for (one, two) in one.iter().flat_map(|one| two.iter().map(move |two| (one, two))) {
                let (one, two) = (shown(one), shown(two));
                *cells.entry((one, two)).or_default() += 1;
                by_row.add(one);
                by_column.add(two);
            }
        }
        let row_names = by_row.most(command.maxrows, &command.minrowcover);
        let column_names = by_column.most(command.maxcols, &command.mincolcover);
        for (names, all, option) in
            [(&row_names, &by_row, "maxrows"), (&column_names, &by_column, "maxcols")]
        {
            if names.len() < all.known.len() && names.len() >= 1000 {
                let text = format!("contingency shows the {} most common values only", names.len());
                env.log.add(MessageKind::Warning, format!("{text} ({option})"));
            }
        }
        let count = |row: &str, column: &str| cells.get(&(row, column)).copied().unwrap_or(0);
        let total = usize::from(command.usetotal);
        let mut made = Rows::blank(row_names.len() + total);
        let names =
            row_names.iter().copied().chain(command.usetotal.then_some(command.totalstr.as_str()));
        made.set_texts(&command.row.node, names.map(Some));
        let mut sums = vec![0; made.count];
        for column in &column_names {
            let mut numbers: Vec<i64> = row_names.iter().map(|row| count(row, column)).collect();
            if command.usetotal {
                numbers.push(numbers.iter().sum());
            }
            sums.iter_mut().zip(&numbers).for_each(|(sum, number)| *sum += number);
            let name = sample::distinct(&made, column);
            made.set_integers(&name, numbers.into_iter().map(Some));
        }
        if command.usetotal {
            let name = sample::distinct(&made, &command.totalstr);
            made.set_integers(&name, sums.into_iter().map(Some));
        }
        Ok(made)
    }
}

fn shown(value: &str) -> &str {
    if value.is_empty() { EMPTY } else { value }
}

/// How often values occur, in the order they first do.
#[derive(Debug, Default)]
struct Counts<'v> {
    known: HashMap<&'v str, usize>,
    counts: Vec<(&'v str, i64)>,
}

impl<'v> Counts<'v> {
    fn add(&mut self, value: &'v str) {
        let next = self.counts.len();
        let at = *self.known.entry(value).or_insert(next);
        if at == next {
            self.counts.push((value, 0));
        }
        self.counts[at].1 += 1;
    }

    /// The most common values: as many as are allowed and needed to cover a share of all.
    #[allow(clippy::cast_precision_loss)]
    fn most(&self, limit: u64, share: &str) -> Vec<&'v str> {
        let mut sorted = self.counts.clone();
        sorted.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let all: i64 = sorted.iter().map(|(_, count)| count).sum();
        let wanted = parse_number(share).unwrap_or(1.0) * all as f64;
        let mut covered = 0;
        let mut names = Vec::new();
        for (name, count) in sorted.into_iter().take(usize::try_from(limit).unwrap_or(usize::MAX)) {
            if covered as f64 >= wanted {
                break;
            }
            covered += count;
            names.push(name);
        }
        names
    }
}
