//! Numbers far from the others.

use eval::value::NumberText;
use spl::ast::{FieldPattern, OutlierAction};

use super::statistics;
use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::Rows;

/// The rows without outliers, or with outliers replaced by the nearest bound.
#[derive(Debug)]
pub struct Outlier {
    /// Whether outliers are removed or replaced.
    pub action: OutlierAction,
    /// Whether replaced numbers get the prefix `000`.
    pub mark: bool,
    /// Whether low numbers are outliers, too.
    pub lower: bool,
    /// Number of interquartile ranges beyond which a number is an outlier.
    pub reach: f64,
    /// The fields; all except internal ones if empty.
    pub fields: Vec<FieldPattern>,
}

impl Operation for Outlier {
    fn apply(&self, mut rows: Rows, _: &mut Context) -> Result<Rows, Error> {
        let mut stays = vec![true; rows.count];
        for name in rows.matching(&self.fields) {
            let numbers = rows.numbers(&name)?;
            let Some((low, high)) = self.bounds(&numbers) else { continue };
            let cut = |number: f64| number.clamp(low, high);
            let outside = |number: &Option<f64>| number.is_some_and(|n| cut(n) != n);
            if !numbers.iter().any(outside) {
                continue;
            }
            if self.action == OutlierAction::Remove {
                let rows = stays.iter_mut().zip(&numbers);
                rows.for_each(|(stays, number)| *stays &= !outside(number));
                continue;
            }
            let mut lists = rows.lists(&name)?;
            for (list, number) in lists.iter_mut().zip(&numbers) {
                if let Some(number) = number.filter(|number| outside(&Some(*number))) {
                    let mark = if self.mark { "000" } else { "" };
                    *list = vec![format!("{mark}{}", &*NumberText::float(cut(number)))];
                }
            }
            rows.set_lists(&name, lists);
        }
        let kept: Vec<usize> = (0..rows.count).filter(|row| stays[*row]).collect();
        if kept.len() < rows.count { rows.take(&kept) } else { Ok(rows) }
    }
}

impl Outlier {
    /// Returns the range of numbers that are not outliers.
    fn bounds(&self, numbers: &[Option<f64>]) -> Option<(f64, f64)> {
        let mut sorted: Vec<f64> = numbers.iter().flatten().copied().collect();
        sorted.sort_by(f64::total_cmp);
        let (lower, upper) =
            (statistics::quantile(&sorted, 0.25)?, statistics::quantile(&sorted, 0.75)?);
        let reach = self.reach.max(0.0) * (upper - lower);
        let low = if self.lower { lower - reach } else { f64::NEG_INFINITY };
        Some((low, upper + reach))
    }
}
