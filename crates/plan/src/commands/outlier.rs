//! `outlier`: numbers far from the others.
//!
//! Split: runs at the search head, over all rows.

use async_trait::async_trait;
use spl::ast::{FieldPattern, OutlierAction, OutlierCommand, OutlierOptions};

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step, sample};
use crate::frame::Frame;
use crate::pipeline::PlanningContext;
use crate::stage::{Breaker, Rows, TableOp};
use crate::value::{NumberText, parse_number};

impl CommandPlan for OutlierCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.patterns_or_all(&self.fields);
    }

    fn output_fields(&self) -> OutputFields {
        if self.fields.is_empty() { OutputFields::Unchanged } else { OutputFields::Collected }
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(&self.options, &self.fields, input.frame)
    }
}

pub(super) fn plan(
    options: &OutlierOptions,
    fields: &[FieldPattern],
    frame: Frame,
) -> Result<Step, Error> {
    let param = parse_number(&options.param);
    let param = param.ok_or_else(|| Error::invalid_anywhere("param= is a number"))?;
    let op = Outlier { options: options.clone(), param, fields: fields.to_vec() };
    Ok(Step::Materialize(frame, Breaker::table(op)))
}

#[derive(Debug)]
struct Outlier {
    options: OutlierOptions,
    param: f64,
    fields: Vec<FieldPattern>,
}

#[async_trait]
impl TableOp for Outlier {
    async fn apply(&self, mut rows: Rows, _: &PlanningContext<'_>) -> Result<Rows, Error> {
        let mut stays = vec![true; rows.count];
        for name in sample::fields(&rows, &self.fields) {
            let numbers = rows.numbers(&name)?;
            let Some((low, high)) = self.bounds(&numbers) else { continue };
            let cut = |number: f64| number.clamp(low, high);
            let outside = |number: &Option<f64>| number.is_some_and(|n| cut(n) != n);
            if !numbers.iter().any(outside) {
                continue;
            }
            if self.options.action == OutlierAction::Remove {
                let rows = stays.iter_mut().zip(&numbers);
                rows.for_each(|(stays, number)| *stays &= !outside(number));
                continue;
            }
            let mut lists = rows.lists(&name)?;
            for (list, number) in lists.iter_mut().zip(&numbers) {
                if let Some(number) = number.filter(|number| outside(&Some(*number))) {
                    let mark = if self.options.mark { "000" } else { "" };
                    *list = vec![format!("{mark}{}", &*NumberText::float(cut(number)))];
                }
            }
            rows.set_lists(&name, lists);
        }
        let kept: Vec<usize> = (0..rows.count).filter(|row| stays[*row]).collect();
        if kept.len() < rows.count { Ok(rows.take(&kept)?) } else { Ok(rows) }
    }
}

impl Outlier {
    /// Between which numbers a number is like the others.
    fn bounds(&self, numbers: &[Option<f64>]) -> Option<(f64, f64)> {
        let mut sorted: Vec<f64> = numbers.iter().flatten().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let (lower, upper) = (sample::quantile(&sorted, 0.25)?, sample::quantile(&sorted, 0.75)?);
        let reach = self.param.max(0.0) * (upper - lower);
        let low = if self.options.uselower { lower - reach } else { f64::NEG_INFINITY };
        Some((low, upper + reach))
    }
}
