//! The operators of a plan that has run, with their rows, times and descriptions.

use std::fmt::{self, Write as _};
use std::sync::Arc;
use std::time::Duration;

use datafusion::physical_plan::ExecutionPlan;
use datafusion::physical_plan::display::DisplayableExecutionPlan;
use serde::{Deserialize, Serialize};

/// An operator of a plan, with its inputs.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct OperatorReport {
    /// Name of the operator.
    pub name: String,
    /// Description in one line.
    pub detail: String,
    /// Number of partitions.
    pub partitions: usize,
    /// Time in seconds, summed over partitions.
    pub seconds: f64,
    /// Number of output rows, if the operator counts them.
    pub rows: Option<usize>,
    /// Number of spilled files.
    pub spills: usize,
    /// Number of spilled bytes.
    pub spilled_bytes: usize,
    /// The operators that it reads from.
    pub inputs: Vec<OperatorReport>,
}

impl OperatorReport {
    pub(crate) fn of(plan: &Arc<dyn ExecutionPlan>) -> Self {
        let metrics = plan.metrics().unwrap_or_default();
        let mut line = Beginning::default();
        // Writing to the truncating buffer cannot fail.
        let _ = write!(line, "{}", DisplayableExecutionPlan::new(plan.as_ref()).one_line());
        let line = line.finish();
        let line = line.trim_end();
        let nanos = metrics.elapsed_compute().unwrap_or(0);
        Self {
            name: plan.name().to_owned(),
            detail: line
                .strip_prefix(plan.name())
                .unwrap_or(line)
                .trim_start_matches([':', ' '])
                .to_owned(),
            partitions: plan.properties().partitioning.partition_count(),
            seconds: Duration::from_nanos(nanos as u64).as_secs_f64(),
            rows: metrics.output_rows(),
            spills: metrics.spill_count().unwrap_or(0),
            spilled_bytes: metrics.spilled_bytes().unwrap_or(0),
            inputs: plan.children().into_iter().map(Self::of).collect(),
        }
    }

    /// Whether an operator of the tree has this name.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.name == name || self.inputs.iter().any(|input| input.has(name))
    }

    /// Returns the seconds of all operators with this name in the tree.
    pub(crate) fn seconds_of(&self, name: &str) -> f64 {
        let own = if self.name == name { self.seconds } else { 0.0 };
        own + self.inputs.iter().map(|input| input.seconds_of(name)).sum::<f64>()
    }
}

/// Maximum length of the description of an operator in bytes: an operator with thousands of columns lists
/// them all.
const DETAIL: usize = 16 << 10;

/// A text truncated to the maximum length, with the number of omitted bytes.
#[derive(Default)]
struct Beginning {
    text: String,
    left_out: usize,
}

impl Beginning {
    fn finish(mut self) -> String {
        if self.left_out > 0 {
            self.text.push_str(&format!("... ({} more bytes)", self.left_out));
        }
        self.text
    }
}

impl fmt::Write for Beginning {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let room = DETAIL.saturating_sub(self.text.len());
        let kept = if self.left_out > 0 { 0 } else { more.floor_char_boundary(room) };
        self.text.push_str(&more[..kept]);
        self.left_out += more.len() - kept;
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_ends_with_how_much_of_it_is_left_out() {
        let of = |texts: &[&str]| {
            let mut line = Beginning::default();
            texts.iter().for_each(|text| line.write_str(text).unwrap());
            line.finish()
        };
        assert_eq!(of(&["expr=[", "a, b]"]), "expr=[a, b]");
        let most = "x".repeat(DETAIL - 1);
        assert_eq!(of(&[&most, "\u{e9}", "y"]), format!("{most}... (3 more bytes)"));
    }
}
