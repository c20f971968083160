//! Clusters rows with similar numbers. The starting points are random with a fixed seed, so that the same
//! rows give the same clusters.

use eval::value::NumberText;
use spl::ast::{FieldPattern, KmeansDistance};

use super::statistics;
use crate::error::Error;
use crate::operation::{Context, Operation, Stop};
use crate::rows::{Record, Rows, Values};

/// Number of points between two cancellation checks.
const CHUNK: usize = 1024;

/// The rows ordered by cluster, or a row for each tried number of clusters.
#[derive(Debug)]
pub struct Kmeans {
    /// The fields; if empty, all fields that have a number in every row.
    pub fields: Vec<FieldPattern>,
    /// The minimum number of clusters.
    pub least: usize,
    /// The maximum number of clusters; if it exceeds the minimum, each number in between is tried.
    pub greatest: usize,
    /// The distance measure.
    pub distance: KmeansDistance,
    /// Number of tries with different starting points.
    pub tries: u64,
    /// Maximum number of steps per try.
    pub steps: u64,
    /// A try ends when a step improves the mean distance by at most this amount.
    pub tolerance: f64,
    /// The output field of the cluster number, counted from 1.
    pub label_field: String,
    /// Whether the centres of the clusters are added to the rows.
    pub show_centers: bool,
}

impl Operation for Kmeans {
    fn apply(&self, rows: Rows, context: &mut Context) -> Result<Rows, Error> {
        let (names, columns) = self.columns(&rows)?;
        let complete = |row: &usize| columns.iter().all(|column| column[*row].is_some());
        let places: Vec<usize> = (0..rows.count).filter(complete).collect();
        let mut points = Points::new(columns.len(), places.len());
        for place in &places {
            points.values.extend(columns.iter().filter_map(|column| column[*place]));
        }
        if self.distance == KmeansDistance::Cosine {
            points.values.chunks_exact_mut(points.width).for_each(normalise);
        }
        if self.least < self.greatest {
            let counts = self.least..=self.greatest;
            let records = counts.map(|count| self.record(&points, count, &context.stop));
            return Ok(Rows::of_records(records.collect::<Result<_, _>>()?));
        }
        let found = self.best(&points, self.least, &context.stop)?;
        self.labelled(rows, &names, &places, &found)
    }
}

/// Points in one contiguous buffer, as each step reads all of them (possibly hundreds of thousands).
struct Points {
    values: Vec<f64>,
    /// Number of dimensions of a point; at least one.
    width: usize,
}

impl Points {
    /// Creates an empty list with capacity for this many points.
    fn new(width: usize, count: usize) -> Self {
        let width = width.max(1);
        Self { values: Vec::with_capacity(width.saturating_mul(count)), width }
    }

    fn len(&self) -> usize {
        self.values.len() / self.width
    }

    fn get(&self, at: usize) -> &[f64] {
        &self.values[at * self.width..][..self.width]
    }

    fn iter(&self) -> impl Iterator<Item = &[f64]> {
        self.values.chunks_exact(self.width)
    }
}

/// Clusters of points.
struct Clusters {
    /// The cluster of each point.
    labels: Vec<usize>,
    centers: Points,
    /// The mean distance between a point and the centre of its cluster.
    distortion: f64,
}

impl Kmeans {
    /// Returns the named fields, or the fields with a number in every row, with their numbers.
    #[allow(clippy::type_complexity, reason = "names, and the numbers of each")]
    fn columns(&self, rows: &Rows) -> Result<(Vec<String>, Vec<Vec<Option<f64>>>), Error> {
        let (mut names, mut columns) = (Vec::new(), Vec::new());
        for name in rows.matching(&self.fields) {
            let Some(column) = rows.column(&name) else { continue };
            let values = Values::new(&column.array)?;
            // Most fields are texts: the check stops at the first value that is not a number.
            let numbers = (0..rows.count).map(|row| values.get(row).number());
            let is_used = |number: &Option<f64>| !self.fields.is_empty() || number.is_some();
            let numbers: Vec<Option<f64>> = numbers.take_while(is_used).collect();
            if numbers.len() == rows.count {
                names.push(name);
                columns.push(numbers);
            }
        }
        if names.is_empty() && rows.count > 0 {
            let message = "kmeans needs fields with numbers";
            return Err(Error::invalid_anywhere(message));
        }
        Ok((names, columns))
    }

    fn record(&self, points: &Points, count: usize, stop: &Stop) -> Result<Record, Error> {
        let found = self.best(points, count, stop)?;
        let mut sizes = vec![0; found.centers.len()];
        found.labels.iter().for_each(|label| sizes[*label] += 1);
        let mut record = vec![
            ("k".to_owned(), vec![count.to_string()]),
            ("distortion".to_owned(), vec![NumberText::float(found.distortion).to_string()]),
        ];
        for (at, size) in sizes.into_iter().enumerate() {
            record.push((format!("size_{}", at + 1), vec![i32::to_string(&size)]));
        }
        Ok(record)
    }

    /// Returns the rows ordered by cluster; rows without numbers come last.
    fn labelled(
        &self,
        rows: Rows,
        names: &[String],
        places: &[usize],
        found: &Clusters,
    ) -> Result<Rows, Error> {
        let mut label_of = vec![None; rows.count];
        for (place, label) in places.iter().zip(&found.labels) {
            label_of[*place] = Some(*label);
        }
        let mut order: Vec<usize> = (0..rows.count).collect();
        order.sort_by_key(|row| (label_of[*row].is_none(), label_of[*row]));
        let mut made = rows.take(&order)?;
        let labels: Vec<Option<usize>> = order.iter().map(|row| label_of[*row]).collect();
        let numbers = labels.iter().map(|label| label.and_then(|at| i64::try_from(at + 1).ok()));
        made.set_integers(&self.label_field, numbers);
        if self.show_centers {
            for (field, name) in names.iter().enumerate() {
                let center = |label: &Option<usize>| label.map(|at| found.centers.get(at)[field]);
                made.set_numbers(&format!("centroid_{name}"), labels.iter().map(center));
            }
        }
        Ok(made)
    }

    /// Returns the best clusters of several tries, numbered by their first row.
    fn best(&self, points: &Points, count: usize, stop: &Stop) -> Result<Clusters, Error> {
        let mut random = Random(0x9E37_79B9_7F4A_7C15);
        let mut best = self.clusters(points, count, &mut random, stop)?;
        for _ in 1..self.tries {
            let other = self.clusters(points, count, &mut random, stop)?;
            if other.distortion < best.distortion {
                best = other;
            }
        }
        let mut number = vec![None; best.centers.len()];
        let mut next = 0;
        for label in &mut best.labels {
            let new = *number[*label].get_or_insert_with(|| {
                next += 1;
                next - 1
            });
            *label = new;
        }
        let mut order: Vec<usize> = (0..best.centers.len()).collect();
        order.sort_by_key(|old| number[*old].unwrap_or(usize::MAX));
        let mut centers = Points::new(points.width, order.len());
        for old in order {
            centers.values.extend_from_slice(best.centers.get(old));
        }
        best.centers = centers;
        Ok(best)
    }

    /// Computes the clusters of one try.
    fn clusters(
        &self,
        points: &Points,
        count: usize,
        random: &mut Random,
        stop: &Stop,
    ) -> Result<Clusters, Error> {
        let mut centers = self.seeds(points, count.min(points.len()), random, stop)?;
        let mut labels = vec![0; points.len()];
        let mut distortion = f64::INFINITY;
        for step in 0..self.steps {
            let mut sum = 0.0;
            let mut is_changed = step == 0;
            let lengths = self.lengths(&centers);
            for (at, (label, point)) in labels.iter_mut().zip(points.iter()).enumerate() {
                if at % CHUNK == 0 {
                    stop.check()?;
                }
                let (nearest, distance) = self.nearest(point, &centers, &lengths);
                is_changed |= *label != nearest;
                *label = nearest;
                sum += distance;
            }
            let before =
                std::mem::replace(&mut distortion, sum / statistics::number(points.len().max(1)));
            // Unchanged clusters have unchanged centres, so further steps would change nothing.
            if before - distortion <= self.tolerance || !is_changed {
                break;
            }
            move_centers(&mut centers, points, &labels);
        }
        let distortion = if points.len() == 0 { 0.0 } else { distortion };
        Ok(Clusters { labels, centers, distortion })
    }

    /// Chooses starting points far from each other: the probability of a point depends on its distance from
    /// the previously chosen ones.
    fn seeds(
        &self,
        points: &Points,
        count: usize,
        random: &mut Random,
        stop: &Stop,
    ) -> Result<Points, Error> {
        let mut centers = Points::new(points.width, count);
        let mut distances = vec![f64::INFINITY; points.len()];
        while centers.len() < count {
            stop.check()?;
            let total: f64 = distances.iter().sum();
            let chosen = if total.is_finite() && total > 0.0 {
                let mut left = random.next() * total;
                let found = distances.iter().position(|distance| {
                    left -= distance;
                    left < 0.0
                });
                found.unwrap_or(points.len() - 1)
            } else {
                random.below(points.len())
            };
            let center = points.get(chosen);
            for (distance, point) in distances.iter_mut().zip(points.iter()) {
                *distance = distance.min(self.distance(point, center));
            }
            centers.values.extend_from_slice(center);
        }
        Ok(centers)
    }

    /// Returns the lengths of the centre vectors, if the distance measure needs them.
    fn lengths(&self, centers: &Points) -> Vec<f64> {
        match self.distance {
            KmeansDistance::Cosine => centers.iter().map(length).collect(),
            KmeansDistance::Cityblock | KmeansDistance::Squared => Vec::new(),
        }
    }

    /// Returns the nearest centre of a point and its distance.
    fn nearest(&self, point: &[f64], centers: &Points, lengths: &[f64]) -> (usize, f64) {
        // The distance measure is selected once for all centres.
        match self.distance {
            KmeansDistance::Cityblock => least(centers.iter().map(|c| cityblock(point, c))),
            KmeansDistance::Squared => least(centers.iter().map(|c| squared(point, c))),
            KmeansDistance::Cosine => {
                let own = length(point);
                let centers = centers.iter().zip(lengths);
                least(centers.map(|(center, length)| cosine(point, center, own * length)))
            }
        }
    }

    fn distance(&self, one: &[f64], two: &[f64]) -> f64 {
        match self.distance {
            KmeansDistance::Cityblock => cityblock(one, two),
            KmeansDistance::Squared => squared(one, two),
            KmeansDistance::Cosine => cosine(one, two, length(one) * length(two)),
        }
    }
}

/// Returns the index of the minimum distance, and that distance.
fn least(distances: impl Iterator<Item = f64>) -> (usize, f64) {
    let mut best = (0, f64::INFINITY);
    for (at, distance) in distances.enumerate() {
        if distance < best.1 {
            best = (at, distance);
        }
    }
    best
}

fn cityblock(one: &[f64], two: &[f64]) -> f64 {
    one.iter().zip(two).map(|(a, b)| (a - b).abs()).sum()
}

fn squared(one: &[f64], two: &[f64]) -> f64 {
    one.iter().zip(two).map(|(a, b)| (a - b) * (a - b)).sum()
}

/// Returns the cosine distance; `lengths` is the product of both vector lengths.
fn cosine(one: &[f64], two: &[f64], lengths: f64) -> f64 {
    let product: f64 = one.iter().zip(two).map(|(a, b)| a * b).sum();
    if lengths > 0.0 { 1.0 - product / lengths } else { 1.0 }
}

fn length(point: &[f64]) -> f64 {
    point.iter().map(|x| x * x).sum::<f64>().sqrt()
}

fn normalise(point: &mut [f64]) {
    let length = length(point);
    if length > 0.0 {
        point.iter_mut().for_each(|x| *x /= length);
    }
}

/// Moves each centre to the mean of its points; a centre without points stays.
fn move_centers(centers: &mut Points, points: &Points, labels: &[usize]) {
    let width = centers.width;
    let mut sums = vec![0.0; centers.values.len()];
    let mut counts = vec![0.0; centers.len()];
    for (point, label) in points.iter().zip(labels) {
        let sum = &mut sums[label * width..][..width];
        sum.iter_mut().zip(point).for_each(|(sum, x)| *sum += x);
        counts[*label] += 1.0;
    }
    let middles = sums.chunks_exact(width).zip(counts);
    for (center, (sum, count)) in centers.values.chunks_exact_mut(width).zip(middles) {
        if count > 0.0 {
            center.iter_mut().zip(sum).for_each(|(x, sum)| *x = sum / count);
        }
    }
}

/// A pseudo-random generator with a fixed seed (xorshift).
struct Random(u64);

impl Random {
    fn step(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Returns a number from 0 (inclusive) to 1 (exclusive).
    #[allow(clippy::cast_precision_loss)]
    fn next(&mut self) -> f64 {
        (self.step() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.step() % bound).unwrap_or_default()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use super::*;
    use crate::operation::Limits;

    fn two_clusters(distance: KmeansDistance) -> Kmeans {
        Kmeans {
            fields: Vec::new(),
            least: 2,
            greatest: 2,
            distance,
            tries: 1,
            steps: 100,
            tolerance: 0.0,
            label_field: "cluster".to_owned(),
            show_centers: true,
        }
    }

    /// Returns points in two groups, and a text.
    fn rows() -> Rows {
        let mut rows = Rows::blank(6);
        let numbers = [1.0, 101.0, 2.0, 102.0, 3.0, 103.0].map(Some);
        rows.set_numbers("x", numbers);
        rows.set_numbers("y", numbers.map(|x| x.map(|x| 200.0 - x)));
        rows.set_texts("host", [Some("a"); 6]);
        rows
    }

    /// Returns the result, and the number of cancellation checks.
    fn made(kmeans: &Kmeans) -> (Rows, usize) {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let stop = Stop::when(move || {
            count.fetch_add(1, Relaxed);
            false
        });
        let limits = Limits { rows: 10, columns: 10, bins: 10, bytes: 1 << 20 };
        let made = kmeans.apply(rows(), &mut Context::new(limits).until(stop)).unwrap();
        (made, asked.load(Relaxed))
    }

    #[test]
    fn clusters_have_centres_for_every_distance() {
        for distance in [KmeansDistance::Squared, KmeansDistance::Cityblock, KmeansDistance::Cosine]
        {
            let (made, _) = made(&two_clusters(distance));
            let numbers = |name: &str| -> Vec<f64> {
                made.numbers(name).unwrap().into_iter().flatten().collect()
            };
            assert_eq!(numbers("x"), [1.0, 2.0, 3.0, 101.0, 102.0, 103.0], "{distance:?}");
            assert_eq!(numbers("cluster"), [1.0, 1.0, 1.0, 2.0, 2.0, 2.0], "{distance:?}");
            if distance == KmeansDistance::Squared {
                assert_eq!(numbers("centroid_x"), [2.0, 2.0, 2.0, 102.0, 102.0, 102.0]);
                assert_eq!(numbers("centroid_y")[5], 98.0);
            }
            assert!(made.column("centroid_host").is_none());
        }
    }

    #[test]
    fn a_try_ends_with_the_step_that_changes_no_cluster() {
        let (_, asked) = made(&two_clusters(KmeansDistance::Squared));
        // One check per starting point and per step: the first step finds the clusters, the second one moves
        // no point.
        assert_eq!(asked, 4);
    }
}
