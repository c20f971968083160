//! K-means clustering for `fit`.

use super::{Learnt, Model};
use crate::error::Error;
use crate::operation::Stop;
use crate::rows::Rows;

/// Number of points between two cancellation checks.
const CHUNK: usize = 1024;
/// Maximum number of steps until the centres no longer move.
const STEPS: usize = 300;

/// Returns the numbers of each row; `None` if one is missing.
fn points(model: &Model, rows: &Rows) -> Result<Vec<Option<Vec<f64>>>, Error> {
    let columns: Vec<Vec<Option<f64>>> =
        model.features.iter().map(|field| rows.numbers(field)).collect::<Result<_, _>>()?;
    let point = |row: usize| columns.iter().map(|column| column[row]).collect();
    Ok((0..rows.count).map(point).collect())
}

pub(super) fn fit(
    model: &Model,
    count: usize,
    rows: &Rows,
    stop: &Stop,
) -> Result<Vec<Learnt>, Error> {
    let points: Vec<Vec<f64>> = points(model, rows)?.into_iter().flatten().collect();
    if points.len() < count || count == 0 {
        let message = format!(
            "fit KMeans: {count} clusters (k=) need as many rows with numbers in all fields, {} have them",
            points.len()
        );
        return Err(Error::invalid_anywhere(message));
    }
    let mut centres = starts(&points, count, stop)?;
    for _ in 0..STEPS {
        let moved = means(&points, &centres, stop)?;
        if moved == centres {
            break;
        }
        centres = moved;
    }
    let mut learnt = Vec::new();
    for (at, centre) in centres.iter().enumerate() {
        let numbers = model.features.iter().zip(centre);
        learnt.extend(numbers.map(|(field, x)| Learnt::new(&at.to_string(), field, None, *x)));
    }
    Ok(learnt)
}

/// Returns the initial centres: the first point, then repeatedly the point that is farthest from the chosen
/// ones.
fn starts(points: &[Vec<f64>], count: usize, stop: &Stop) -> Result<Vec<Vec<f64>>, Error> {
    let mut centres = vec![points[0].clone()];
    // The distance of each point from the nearest centre so far.
    let mut distances = vec![f64::INFINITY; points.len()];
    while centres.len() < count {
        stop.check()?;
        let last = &centres[centres.len() - 1..];
        for (distance, point) in distances.iter_mut().zip(points) {
            *distance = distance.min(nearest(point, last).1);
        }
        let farthest = points.iter().zip(&distances).max_by(|a, b| a.1.total_cmp(b.1));
        let farthest = farthest.expect("there are as many points as centres").0.clone();
        centres.push(farthest);
    }
    Ok(centres)
}

/// Returns the means of the points that are nearest to each centre; a centre without points stays.
#[allow(clippy::cast_precision_loss)]
fn means(points: &[Vec<f64>], centres: &[Vec<f64>], stop: &Stop) -> Result<Vec<Vec<f64>>, Error> {
    let mut sums: Vec<(usize, Vec<f64>)> =
        centres.iter().map(|centre| (0, vec![0.0; centre.len()])).collect();
    for (at, point) in points.iter().enumerate() {
        if at % CHUNK == 0 {
            stop.check()?;
        }
        let (count, sum) = &mut sums[nearest(point, centres).0];
        *count += 1;
        sum.iter_mut().zip(point).for_each(|(sum, number)| *sum += number);
    }
    let mean = |((count, sum), centre): ((usize, Vec<f64>), &Vec<f64>)| match count {
        0 => centre.clone(),
        count => sum.into_iter().map(|sum| sum / count as f64).collect(),
    };
    Ok(sums.into_iter().zip(centres).map(mean).collect())
}

/// Returns the nearest centre and its distance.
fn nearest(point: &[f64], centres: &[Vec<f64>]) -> (usize, f64) {
    let distance = |centre: &Vec<f64>| {
        point.iter().zip(centre).map(|(a, b)| (a - b).powi(2)).sum::<f64>().sqrt()
    };
    let distances = centres.iter().map(distance).enumerate();
    distances.min_by(|(_, a), (_, b)| a.total_cmp(b)).unwrap_or((0, 0.0))
}

pub(super) fn apply(model: &Model, output: Option<&str>, rows: &mut Rows) -> Result<(), Error> {
    let count = model.learnt.len() / model.features.len().max(1);
    let centre = |at: usize| {
        let width = model.features.len();
        model.learnt[at * width..(at + 1) * width].iter().map(|learnt| learnt.value).collect()
    };
    let centres: Vec<Vec<f64>> = (0..count).map(centre).collect();
    let points = points(model, rows)?;
    let found: Vec<_> =
        points.into_iter().map(|point| point.map(|point| nearest(&point, &centres))).collect();
    let cluster = found.iter().map(|found| i64::try_from(found.as_ref()?.0).ok());
    rows.set_integers(output.unwrap_or("cluster"), cluster.collect::<Vec<_>>());
    rows.set_numbers("cluster_distance", found.iter().map(|found| Some(found.as_ref()?.1)));
    Ok(())
}
