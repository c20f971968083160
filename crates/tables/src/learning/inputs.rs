//! Fields as numeric inputs of regressions: a text field becomes one 0/1 indicator per value (one-hot
//! encoding).

use std::collections::BTreeSet;

use super::{Learnt, Model};
use crate::error::Error;
use crate::rows::Rows;

/// Maximum number of distinct texts of a field.
const CATEGORIES: usize = 100;

/// Maximum number of inputs: the work grows with the cube of this number.
const INPUTS: usize = 500;

/// A numeric input.
#[derive(Debug, Clone)]
pub(super) struct Input {
    pub(super) field: String,
    /// The text for which the indicator is 1; `None` for a numeric field.
    pub(super) category: Option<String>,
}

/// Returns the inputs of the fields.
pub(super) fn of(model: &Model, rows: &Rows) -> Result<Vec<Input>, Error> {
    let mut inputs = Vec::new();
    for field in &model.features {
        let texts: Vec<String> = rows.texts(field)?.into_iter().flatten().collect();
        let numbers = rows.numbers(field)?.into_iter().flatten().count();
        if numbers == texts.len() {
            inputs.push(Input { field: field.clone(), category: None });
            continue;
        }
        let distinct: BTreeSet<String> = texts.into_iter().collect();
        if distinct.len() > CATEGORIES {
            let message = format!(
                "fit: the field \"{field}\" has more than {CATEGORIES} different texts; leave it out or \
                 replace rare ones"
            );
            return Err(Error::invalid_anywhere(message));
        }
        // One indicator is omitted, as it follows from the others.
        inputs.extend(
            distinct
                .into_iter()
                .skip(1)
                .map(|category| Input { field: field.clone(), category: Some(category) }),
        );
    }
    if inputs.len() > INPUTS {
        let message = format!("fit: more than {INPUTS} inputs; name fewer fields");
        return Err(Error::invalid_anywhere(message));
    }
    Ok(inputs)
}

/// Returns the inputs for which a model has weights.
pub(super) fn learnt(learnt: &[&Learnt]) -> Vec<Input> {
    let inputs = learnt.iter().filter(|learnt| !learnt.name.is_empty());
    inputs
        .map(|learnt| Input { field: learnt.name.clone(), category: learnt.category.clone() })
        .collect()
}

/// Returns the inputs of each row; `None` if one of `fields` is missing.
pub(super) fn vectors(
    inputs: &[Input],
    fields: &[String],
    rows: &Rows,
) -> Result<Vec<Option<Vec<f64>>>, Error> {
    let mut columns = Vec::with_capacity(inputs.len());
    for input in inputs {
        columns.push(match &input.category {
            None => rows.numbers(&input.field)?,
            Some(category) => {
                let texts = rows.texts(&input.field)?.into_iter();
                let is_it = |text: String| f64::from(u8::from(text == *category));
                texts.map(|text| text.map(is_it)).collect()
            }
        });
    }
    // A field with only one distinct text has no inputs, but it must still be present.
    let mut there = vec![true; rows.count];
    for field in fields {
        for (there, text) in there.iter_mut().zip(rows.texts(field)?) {
            *there &= text.is_some();
        }
    }
    let row = |row: usize| {
        let vector = columns.iter().map(|column| column[row]).collect::<Option<Vec<f64>>>();
        vector.filter(|_| there[row])
    };
    Ok((0..rows.count).map(row).collect())
}
