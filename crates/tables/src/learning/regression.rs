//! Linear and logistic regression.

use std::collections::BTreeSet;

use super::inputs::{self, Input};
use super::solve::solve;
use super::{Learnt, Model};
use crate::error::Error;
use crate::operation::Stop;
use crate::rows::Rows;

/// The ridge term: keeps the equations solvable if inputs are linearly dependent.
const RIDGE: f64 = 1e-9;

/// Number of rows between two cancellation checks.
const CHUNK: usize = 64;

/// Maximum number of Newton steps of a logistic regression.
const STEPS: usize = 50;

fn nothing(algorithm: &str) -> Error {
    let message = format!("fit {algorithm}: no row has the field to predict and all others");
    Error::invalid_anywhere(message)
}

/// Returns the weights that minimize the squared error of the weighted sum of the inputs.
pub(super) fn linear(
    model: &Model,
    intercept: bool,
    rows: &Rows,
    stop: &Stop,
) -> Result<Vec<Learnt>, Error> {
    let inputs = inputs::of(model, rows)?;
    let targets = rows.numbers(model.target.as_deref().unwrap_or_default())?;
    let vectors = inputs::vectors(&inputs, &model.features, rows)?;
    let known: Vec<(Vec<f64>, f64)> = vectors
        .into_iter()
        .zip(targets)
        .filter_map(|(v, t)| Some((with_one(v?, intercept), t?)))
        .collect();
    let Some(size) = known.first().map(|(vector, _)| vector.len()) else {
        return Err(nothing("LinearRegression"));
    };
    let (mut matrix, mut right) = (vec![vec![0.0; size]; size], vec![0.0; size]);
    for (at, (vector, target)) in known.iter().enumerate() {
        if at % CHUNK == 0 {
            stop.check()?;
        }
        add(&mut matrix, &mut right, vector, 1.0, *target);
    }
    for (at, row) in matrix.iter_mut().enumerate() {
        row[at] += RIDGE * (1.0 + row[at]);
    }
    let weights = solve(matrix, right).ok_or_else(|| nothing("LinearRegression"))?;
    Ok(learnt("", &inputs, &weights, intercept))
}

/// Returns the weights of each class; for two classes, those of the second one.
pub(super) fn logistic(
    model: &Model,
    intercept: bool,
    rows: &Rows,
    stop: &Stop,
) -> Result<Vec<Learnt>, Error> {
    let inputs = inputs::of(model, rows)?;
    let targets = rows.texts(model.target.as_deref().unwrap_or_default())?;
    let vectors = inputs::vectors(&inputs, &model.features, rows)?;
    let known: Vec<(Vec<f64>, String)> = vectors
        .into_iter()
        .zip(targets)
        .filter_map(|(v, t)| Some((with_one(v?, intercept), t?)))
        .collect();
    let classes: BTreeSet<&str> = known.iter().map(|(_, class)| class.as_str()).collect();
    if classes.len() < 2 {
        let message = "fit LogisticRegression: the field to predict needs at least two values";
        return Err(Error::invalid_anywhere(message));
    }
    if classes.len() > MOST_CLASSES {
        let message = format!(
            "fit LogisticRegression: the field to predict has more than {MOST_CLASSES} values; for numbers \
             use LinearRegression"
        );
        return Err(Error::invalid_anywhere(message));
    }
    let mut found = Vec::new();
    for class in classes {
        let weights = likelihood(&known, class, intercept, stop)?;
        let weights = weights.ok_or_else(|| nothing("LogisticRegression"))?;
        found.extend(learnt(class, &inputs, &weights, intercept));
    }
    Ok(found)
}

/// Maximum number of classes.
const MOST_CLASSES: usize = 100;

/// Fits the weights of a class with Newton's method and the usual (L2) penalty of weights.
fn likelihood(
    known: &[(Vec<f64>, String)],
    class: &str,
    intercept: bool,
    stop: &Stop,
) -> Result<Option<Vec<f64>>, Error> {
    let Some(size) = known.first().map(|first| first.0.len()) else { return Ok(None) };
    let mut weights = vec![0.0; size];
    for _ in 0..STEPS {
        let (mut matrix, mut right) = (vec![vec![0.0; size]; size], vec![0.0; size]);
        for (at, (vector, of)) in known.iter().enumerate() {
            if at % CHUNK == 0 {
                stop.check()?;
            }
            let likely = sigmoid(product(vector, &weights));
            let wanted = f64::from(u8::from(of == class));
            let curve = (likely * (1.0 - likely)).max(1e-10);
            add(&mut matrix, &mut right, vector, curve, 0.0);
            for (sum, input) in right.iter_mut().zip(vector) {
                *sum += (wanted - likely) * input;
            }
        }
        for at in usize::from(intercept)..size {
            matrix[at][at] += 1.0;
            right[at] -= weights[at];
        }
        for (at, row) in matrix.iter_mut().enumerate() {
            row[at] += RIDGE;
        }
        let Some(step) = solve(matrix, right) else { return Ok(None) };
        weights.iter_mut().zip(&step).for_each(|(weight, step)| *weight += step.clamp(-10.0, 10.0));
        if step.iter().all(|step| step.abs() < 1e-8) {
            break;
        }
    }
    Ok(Some(weights))
}

/// Adds an observation to the normal equations of weighted least squares.
fn add(matrix: &mut [Vec<f64>], right: &mut [f64], vector: &[f64], weight: f64, target: f64) {
    for (row, one) in vector.iter().enumerate() {
        for (column, other) in vector.iter().enumerate() {
            matrix[row][column] += weight * one * other;
        }
        right[row] += weight * one * target;
    }
}

fn with_one(mut vector: Vec<f64>, intercept: bool) -> Vec<f64> {
    if intercept {
        vector.insert(0, 1.0);
    }
    vector
}

fn learnt(group: &str, inputs: &[Input], weights: &[f64], intercept: bool) -> Vec<Learnt> {
    let (constant, weights) = weights.split_at(usize::from(intercept));
    let constant = Learnt::new(group, "", None, constant.first().copied().unwrap_or(0.0));
    let of = |(input, weight): (&Input, &f64)| {
        Learnt::new(group, &input.field, input.category.as_deref(), *weight)
    };
    std::iter::once(constant).chain(inputs.iter().zip(weights).map(of)).collect()
}

fn product(one: &[f64], other: &[f64]) -> f64 {
    one.iter().zip(other).map(|(one, other)| one * other).sum()
}

fn sigmoid(number: f64) -> f64 {
    1.0 / (1.0 + (-number).exp())
}

/// Returns the weighted sum of each row, with the weights of a group.
fn sums(model: &Model, group: &str, rows: &Rows) -> Result<Vec<Option<f64>>, Error> {
    let learnt: Vec<&Learnt> = model.learnt.iter().filter(|learnt| learnt.group == group).collect();
    let constant = learnt.iter().find(|learnt| learnt.name.is_empty());
    let constant = constant.map_or(0.0, |learnt| learnt.value);
    let weights: Vec<f64> =
        learnt.iter().filter(|learnt| !learnt.name.is_empty()).map(|l| l.value).collect();
    let vectors = inputs::vectors(&inputs::learnt(&learnt), &model.features, rows)?;
    let sum = |vector: Option<Vec<f64>>| Some(constant + product(&vector?, &weights));
    Ok(vectors.into_iter().map(sum).collect())
}

/// Returns the prediction of a linear regression for each row.
pub(super) fn numbers(model: &Model, rows: &Rows) -> Result<Vec<Option<f64>>, Error> {
    sums(model, "", rows)
}

/// Returns the most probable class of each row.
pub(super) fn classes(model: &Model, rows: &Rows) -> Result<Vec<Option<String>>, Error> {
    let classes: BTreeSet<&str> = model.learnt.iter().map(|learnt| learnt.group.as_str()).collect();
    let mut best: Vec<Option<(f64, &str)>> = vec![None; rows.count];
    for class in classes {
        for (best, sum) in best.iter_mut().zip(sums(model, class, rows)?) {
            let Some(sum) = sum else { continue };
            if best.is_none_or(|(most, _)| sum > most) {
                *best = Some((sum, class));
            }
        }
    }
    Ok(best.into_iter().map(|best| best.map(|(_, class)| class.to_owned())).collect())
}
