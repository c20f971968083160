//! Fields as numbers that regressions compute with: a text is a number for each of its values, 1 or 0.

use std::collections::BTreeSet;

use super::{Learnt, Model};
use crate::error::Error;
use crate::rows::Rows;

/// Maximum number of different texts of a field.
const CATEGORIES: usize = 100;

/// Maximum number of inputs: the work grows with its third power.
const INPUTS: usize = 500;

/// A number of each row.
#[derive(Debug, Clone)]
pub(super) struct Input {
    pub(super) field: String,
    /// The text for which it is 1.
    pub(super) category: Option<String>,
}

/// The inputs of fields.
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
        // One of them follows from the others.
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

/// The inputs that a model has weights for.
pub(super) fn learnt(learnt: &[&Learnt]) -> Vec<Input> {
    let inputs = learnt.iter().filter(|learnt| !learnt.name.is_empty());
    inputs
        .map(|learnt| Input { field: learnt.name.clone(), category: learnt.category.clone() })
        .collect()
}

/// The inputs of each row; none where a field is missing. `fields` are those that have to be there.
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
    // A field of one text has no inputs, and has to be there all the same.
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
