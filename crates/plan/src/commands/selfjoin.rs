//! `selfjoin`: rows joined with other rows of the same result.
//!
//! Split: runs at the search head, over all rows.
//!
//! Of rows with equal values each is joined with those after it in time, as many as `max` says; the later
//! one's values win, and its place is that of the result. Rows of one time are taken from the last one on,
//! as if the result were newest first.

use std::collections::HashMap;

use async_trait::async_trait;
use spl::ast::SelfjoinCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use crate::pipeline::PlanningContext;
use crate::stage::{Breaker, Rows, TableOp};
use tables::{check_count, places};

impl CommandPlan for SelfjoinCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.fields(&self.fields);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        Ok(Step::Materialize(frame, Breaker::table(Selfjoin(self.clone()))))
    }
}

#[derive(Debug)]
struct Selfjoin(SelfjoinCommand);

#[async_trait]
impl TableOp for Selfjoin {
    async fn apply(&self, rows: Rows, env: &PlanningContext<'_>) -> Result<Rows, Error> {
        let fields: Vec<String> = self.0.fields.iter().map(|field| field.node.clone()).collect();
        let keys = rows.keys(&fields)?;
        let times = rows.numbers("_time")?;
        let mut groups: HashMap<&str, Vec<usize>> = HashMap::new();
        for (place, key) in keys.iter().enumerate().rev() {
            if let Some(key) = key {
                groups.entry(key).or_default().push(place);
            }
        }
        let most = match usize::try_from(self.0.max).unwrap_or(usize::MAX) {
            0 => usize::MAX,
            max => max,
        };
        // The row whose place the result takes, and the row it is joined with.
        let mut pairs: Vec<(usize, Option<usize>)> = Vec::new();
        for group in groups.values_mut() {
            let time = |place: usize| times[place].unwrap_or(f64::INFINITY);
            group.sort_by(|a, b| time(*a).total_cmp(&time(*b)));
            if let ([single], true) = (group.as_slice(), self.0.keepsingle) {
                pairs.push((*single, None));
            }
            for (at, main) in group.iter().enumerate() {
                let others = group[at + 1..].iter().take(most);
                pairs.extend(others.map(|other| (*other, Some(*main))));
                check_count(pairs.len(), env.context.limits.stage_rows)?;
            }
        }
        pairs.sort_unstable();
        let later = places(pairs.iter().map(|(later, _)| Some(*later)));
        let earlier = places(pairs.iter().map(|(_, earlier)| *earlier));
        Ok(rows.beside(&later, &rows, &earlier, |_| !self.0.overwrite)?)
    }
}
