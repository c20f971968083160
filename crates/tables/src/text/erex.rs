//! Extracts values similar to given examples: a regular expression is learned from the rows that contain an
//! example (`learning`), then applied to all rows.

mod learning;

use spl::ast::Field;

use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::Rows;

/// The rows with values similar to the examples.
#[derive(Debug)]
pub struct Erex {
    /// The output field.
    pub field: Field,
    /// The field with the texts.
    pub from: String,
    /// Example values; at least one.
    pub examples: Vec<String>,
    /// Values that must not be extracted.
    pub counterexamples: Vec<String>,
    /// Maximum number of rows with examples, and of rows without, from which the expression is learned.
    pub trainers: usize,
}

impl Operation for Erex {
    fn apply(&self, mut rows: Rows, context: &mut Context) -> Result<Rows, Error> {
        let texts = rows.texts(&self.from)?;
        let most = self.trainers;
        let texts_with =
            |text: &&str| self.examples.iter().any(|example| text.contains(example.as_str()));
        let trainers: Vec<&str> = texts.iter().flatten().map(String::as_str).collect();
        let with: Vec<&str> = trainers.iter().copied().filter(texts_with).take(most).collect();
        if with.is_empty() && rows.count > 0 {
            let message =
                format!("no value of \"{}\" contains one of the examples of erex", self.from);
            return Err(Error::at(message, self.field.span));
        }
        let others: Vec<&str> =
            trainers.iter().copied().filter(|text| !texts_with(text)).take(most).collect();
        let found = learning::learn(&with, &others, &self.examples, &self.counterexamples);
        let Some(pattern) = found else {
            if rows.count == 0 {
                return Ok(rows);
            }
            let message = "erex found no regular expression for these examples; try others";
            return Err(Error::at(message, self.field.span));
        };
        let from = match self.from.as_str() {
            "_raw" => String::new(),
            other => format!("field={other} "),
        };
        let named =
            pattern.as_str().replacen("(?P<value>", &format!("(?<{}>", name(&self.field)), 1);
        context.inform(format!("erex learned: | rex {from}\"{named}\""));
        let value = |text: &Option<String>| {
            let found = pattern.captures(text.as_ref()?)?;
            Some(found.name("value")?.as_str().to_owned())
        };
        rows.set_texts(&self.field.node, texts.iter().map(value).collect::<Vec<_>>());
        Ok(rows)
    }
}

/// Returns the field as the name of a capture group.
fn name(field: &Field) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    field.node.chars().map(plain).collect()
}
