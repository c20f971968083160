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
        let mut line = Beginning::within(DETAIL);
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

    /// Returns the report as an indexer sends it to the search head.
    pub(crate) fn sent(&self) -> Self {
        self.upper(LEVELS, &mut { SENT })
    }

    /// Returns the upper levels of the tree, as far as there is room for their texts. A note says where
    /// operators are left out.
    pub(crate) fn upper(&self, levels: usize, room: &mut usize) -> Self {
        let mut detail = Beginning::within(*room);
        // Writing to the truncating buffer cannot fail.
        let _ = detail.write_str(&self.detail);
        let (name, detail) = (self.name.clone(), detail.finish());
        *room = room.saturating_sub(name.len() + detail.len() + NUMBERS);
        let mut upper = Self { name, detail, inputs: Vec::new(), ..*self };
        for input in &self.inputs {
            if levels <= 1 || *room == 0 {
                upper.detail.push_str(" (operators below this one are left out)");
                break;
            }
            upper.inputs.push(input.upper(levels - 1, room));
        }
        upper
    }

    /// Returns the size of the tree in bytes, about.
    pub(crate) fn bytes(&self) -> usize {
        let own = self.name.len() + self.detail.len() + NUMBERS;
        own + self.inputs.iter().map(Self::bytes).sum::<usize>()
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

/// The plan of a part of a search in another process.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct PartPlan {
    /// The server name of the process.
    pub indexer: String,
    /// The operators of the plan, with their rows and times.
    pub plan: OperatorReport,
}

/// Maximum depth of operators that are sent or stored. Plans can be thousands of operators deep, which a JSON
/// reader refuses.
pub(crate) const LEVELS: usize = 40;

/// Maximum bytes of the texts of a plan that an indexer sends.
const SENT: usize = 64 << 10;

/// Bytes of an operator besides its texts, about.
const NUMBERS: usize = 128;

/// Maximum length of the description of an operator in bytes: an operator with thousands of columns lists
/// them all.
const DETAIL: usize = 16 << 10;

/// A text truncated to the maximum length, with the number of omitted bytes.
struct Beginning {
    text: String,
    most: usize,
    left_out: usize,
}

impl Beginning {
    fn within(most: usize) -> Self {
        Self { text: String::new(), most, left_out: 0 }
    }

    fn finish(mut self) -> String {
        if self.left_out > 0 {
            self.text.push_str(&format!("... ({} more bytes)", self.left_out));
        }
        self.text
    }
}

impl fmt::Write for Beginning {
    fn write_str(&mut self, more: &str) -> fmt::Result {
        let room = self.most.saturating_sub(self.text.len());
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
            let mut line = Beginning::within(DETAIL);
            texts.iter().for_each(|text| line.write_str(text).unwrap());
            line.finish()
        };
        assert_eq!(of(&["expr=[", "a, b]"]), "expr=[a, b]");
        let most = "x".repeat(DETAIL - 1);
        assert_eq!(of(&[&most, "\u{e9}", "y"]), format!("{most}... (3 more bytes)"));
    }

    fn tree(depth: usize, width: usize, detail: &str) -> OperatorReport {
        let leaf = OperatorReport { name: "Leaf".to_owned(), ..OperatorReport::default() };
        (0..depth).fold(leaf, |below, _| OperatorReport {
            detail: detail.to_owned(),
            inputs: vec![below; width],
            ..OperatorReport::default()
        })
    }

    fn levels(report: &OperatorReport) -> usize {
        1 + report.inputs.iter().map(levels).max().unwrap_or(0)
    }

    #[test]
    fn deep_plans_are_sent_and_stored_as_far_as_a_reader_goes() {
        let upper = tree(3_000, 1, "").upper(LEVELS, &mut { usize::MAX });
        assert_eq!(levels(&upper), LEVELS);
        let text = serde_json::to_string(&[&upper]).unwrap();
        assert!(text.contains("are left out"));
        assert!(serde_json::from_str::<Vec<OperatorReport>>(&text).is_ok());
    }

    #[test]
    fn a_plan_that_is_sent_has_a_maximum_size_and_says_what_is_left_out() {
        let long = tree(30, 1, &"x".repeat(9_000)).sent();
        let text = serde_json::to_string(&long).unwrap();
        assert!(text.len() < SENT + 8_000, "{}", text.len());
        assert!(text.contains("more bytes)") && text.contains("are left out"), "{}", text.len());
        let wide = serde_json::to_string(&tree(1, 5_000, "").sent()).unwrap();
        assert!(wide.len() < 2 * SENT && wide.contains("are left out"), "{}", wide.len());
        let small = tree(3, 2, "rows=1").sent();
        assert_eq!(levels(&small), 4);
        assert!(!serde_json::to_string(&small).unwrap().contains("left out"));
    }
}
