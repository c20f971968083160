//! How often fields occur together.

use spl::ast::FieldPattern;

use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::{FreeNames, Rows, Values};

/// The column with the field name of a row.
const ROW: &str = "RowField";
/// Maximum number of fields.
const MOST: usize = 1000;

/// A table of field pairs: of the rows with at least one of two fields, the share that has both.
#[derive(Debug)]
pub struct Correlate {
    /// The fields; all except internal ones if empty.
    pub fields: Vec<FieldPattern>,
}

impl Operation for Correlate {
    fn apply(&self, rows: Rows, context: &mut Context) -> Result<Rows, Error> {
        let mut fields: Vec<(String, Vec<u64>)> = Vec::new();
        for name in rows.matching(&self.fields) {
            let present = present(&rows, &name)?;
            if present.iter().any(|bits| *bits != 0) {
                fields.push((name, present));
            }
        }
        if fields.len() > MOST {
            let text = format!("correlate looks at the first {MOST} of {} fields", fields.len());
            context.warn(text);
            fields.truncate(MOST);
        }
        let mut made = Rows::blank(fields.len());
        made.set_texts(ROW, fields.iter().map(|(name, _)| Some(name)));
        let mut free = FreeNames::beside(&made);
        for (name, column) in &fields {
            let share = |(_, row): &(String, Vec<u64>)| Some(together(row, column));
            made.push_numbers(free.take(name), fields.iter().map(share));
        }
        Ok(made)
    }
}

/// Returns a bitmap of the rows that have the field.
fn present(rows: &Rows, name: &str) -> Result<Vec<u64>, Error> {
    let mut bits = vec![0; rows.count.div_ceil(64)];
    if let Some(column) = rows.column(name) {
        let values = Values::new(&column.array)?;
        for row in (0..rows.count).filter(|row| !values.get(*row).is_null()) {
            bits[row / 64] |= 1 << (row % 64);
        }
    }
    Ok(bits)
}

/// Returns the share of the rows with at least one of two fields that have both.
fn together(one: &[u64], two: &[u64]) -> f64 {
    let pairs = one.iter().zip(two);
    let count = |pick: fn((&u64, &u64)) -> u64| {
        pairs.clone().map(|pair| f64::from(pick(pair).count_ones())).sum::<f64>()
    };
    count(|(one, two)| one & two) / count(|(one, two)| one | two)
}
