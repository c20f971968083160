//! The differences of two rows, line by line.

use super::lines::{Style, difference};
use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::Rows;

const RAW: &str = "_raw";

/// One row with the difference of two rows; no row if one of them is missing.
#[derive(Debug)]
pub struct Diff {
    /// The field that is compared.
    pub field: String,
    /// The first row, counted from 1.
    pub first: u64,
    /// The second row.
    pub second: u64,
    /// Whether the difference is in context format; otherwise, it is in unified format.
    pub context: bool,
    /// Whether two header lines name the rows.
    pub header: bool,
    /// Maximum number of compared bytes of a row; 0 for all.
    pub most: u64,
}

impl Operation for Diff {
    fn apply(&self, rows: Rows, context: &mut Context) -> Result<Rows, Error> {
        let texts = rows.texts(&self.field)?;
        let text = |position: u64| {
            let at = usize::try_from(position - 1).ok()?;
            texts.get(at).map(|text| text.as_deref().unwrap_or_default())
        };
        let mut result = Rows::blank(0);
        let (Some(one), Some(two)) = (text(self.first), text(self.second)) else {
            let (one, two, count) = (self.first, self.second, rows.count);
            let message = format!("diff compares rows {one} and {two}, but there are only {count}");
            context.warn(message);
            return Ok(result);
        };
        let style = if self.context { Style::Context } else { Style::Unified };
        let cut = |text: &'_ str| match self.most {
            0 => text.len(),
            most => text.floor_char_boundary(usize::try_from(most).unwrap_or(usize::MAX)),
        };
        let (one_end, two_end) = (cut(one), cut(two));
        if one_end < one.len() || two_end < two.len() {
            let message = format!("diff compared the first {} bytes (maxlen)", self.most);
            context.warn(message);
        }
        let found = difference(&one[..one_end], &two[..two_end], style);
        let text = match (found, self.header) {
            (None, _) => "Results are the same".to_owned(),
            (Some(found), false) => found,
            (Some(found), true) => {
                let (first, second) = style.marks();
                let (one, two) = (self.first, self.second);
                format!("{first} result {one}\n{second} result {two}\n{found}")
            }
        };
        result.count = 1;
        result.set_texts(RAW, [Some(text)]);
        Ok(result)
    }
}
