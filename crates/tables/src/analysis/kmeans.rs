//! Rows with similar numbers. The starting points are chosen at random, but by the same numbers each time, so
//! that the same rows give the same clusters.

use eval::value::NumberText;
use spl::ast::{FieldPattern, KmeansDistance};

use super::statistics;
use crate::error::Error;
use crate::operation::{Context, Operation, Stop};
use crate::rows::{Record, Rows};

/// Points between two questions whether anybody waits.
const CHUNK: usize = 1024;

/// The rows by cluster, or a row for each number of clusters.
#[derive(Debug)]
pub struct Kmeans {
    /// The fields; all with a number in every row if empty.
    pub fields: Vec<FieldPattern>,
    /// The least number of clusters.
    pub least: usize,
    /// The greatest number of clusters; if it is greater than the least one, each number is tried.
    pub greatest: usize,
    /// What distance is.
    pub distance: KmeansDistance,
    /// How often clusters are looked for from other starting points.
    pub tries: u64,
    /// Maximum number of steps of a try.
    pub steps: u64,
    /// A try ends when a step improves the mean distance by no more than this.
    pub tolerance: f64,
    /// Where the number of the cluster goes, counted from 1.
    pub label_field: String,
    /// Whether the centres of the clusters are shown.
    pub show_centers: bool,
}

impl Operation for Kmeans {
    fn apply(&self, rows: Rows, context: &mut Context) -> Result<Rows, Error> {
        let (names, columns) = self.columns(&rows)?;
        let complete = |row: &usize| columns.iter().all(|column| column[*row].is_some());
        let places: Vec<usize> = (0..rows.count).filter(complete).collect();
        let point = |row: &usize| columns.iter().filter_map(|column| column[*row]).collect();
        let mut points: Vec<Vec<f64>> = places.iter().map(point).collect();
        if self.distance == KmeansDistance::Cosine {
            points.iter_mut().for_each(|point| normalise(point));
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

/// Clusters of points.
struct Clusters {
    /// The cluster of each point.
    labels: Vec<usize>,
    centers: Vec<Vec<f64>>,
    /// The mean distance of a point from the centre of its cluster.
    distortion: f64,
}

impl Kmeans {
    /// The fields with their numbers: those named, or those with a number in every row.
    #[allow(clippy::type_complexity, reason = "names, and the numbers of each")]
    fn columns(&self, rows: &Rows) -> Result<(Vec<String>, Vec<Vec<Option<f64>>>), Error> {
        let (mut names, mut columns) = (Vec::new(), Vec::new());
        for name in rows.matching(&self.fields) {
            let numbers = rows.numbers(&name)?;
            if !self.fields.is_empty() || numbers.iter().all(Option::is_some) {
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

    fn record(&self, points: &[Vec<f64>], count: usize, stop: &Stop) -> Result<Record, Error> {
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

    /// The rows by cluster, those without numbers last.
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
                let center = |label: &Option<usize>| label.map(|at| found.centers[at][field]);
                made.set_numbers(&format!("centroid_{name}"), labels.iter().map(center));
            }
        }
        Ok(made)
    }

    /// The best clusters of several tries, numbered by the first row of each.
    fn best(&self, points: &[Vec<f64>], count: usize, stop: &Stop) -> Result<Clusters, Error> {
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
        best.centers = order.into_iter().map(|old| best.centers[old].clone()).collect();
        Ok(best)
    }

    /// One try.
    fn clusters(
        &self,
        points: &[Vec<f64>],
        count: usize,
        random: &mut Random,
        stop: &Stop,
    ) -> Result<Clusters, Error> {
        let mut centers = self.seeds(points, count.min(points.len()), random, stop)?;
        let mut labels = vec![0; points.len()];
        let mut distortion = f64::INFINITY;
        for _ in 0..self.steps {
            let mut sum = 0.0;
            for (at, (label, point)) in labels.iter_mut().zip(points).enumerate() {
                if at % CHUNK == 0 {
                    stop.check()?;
                }
                let (nearest, distance) = self.nearest(point, &centers);
                *label = nearest;
                sum += distance;
            }
            let before =
                std::mem::replace(&mut distortion, sum / statistics::number(points.len().max(1)));
            if before - distortion <= self.tolerance {
                break;
            }
            move_centers(&mut centers, points, &labels);
        }
        let distortion = if points.is_empty() { 0.0 } else { distortion };
        Ok(Clusters { labels, centers, distortion })
    }

    /// Points far from each other: each is chosen by its distance from those before.
    fn seeds(
        &self,
        points: &[Vec<f64>],
        count: usize,
        random: &mut Random,
        stop: &Stop,
    ) -> Result<Vec<Vec<f64>>, Error> {
        let mut centers: Vec<Vec<f64>> = Vec::with_capacity(count);
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
            let center = points[chosen].clone();
            for (distance, point) in distances.iter_mut().zip(points) {
                *distance = distance.min(self.distance(point, &center));
            }
            centers.push(center);
        }
        Ok(centers)
    }

    fn nearest(&self, point: &[f64], centers: &[Vec<f64>]) -> (usize, f64) {
        let mut best = (0, f64::INFINITY);
        for (at, center) in centers.iter().enumerate() {
            let distance = self.distance(point, center);
            if distance < best.1 {
                best = (at, distance);
            }
        }
        best
    }

    fn distance(&self, one: &[f64], two: &[f64]) -> f64 {
        let pairs = one.iter().zip(two);
        match self.distance {
            KmeansDistance::Cityblock => pairs.map(|(a, b)| (a - b).abs()).sum(),
            KmeansDistance::Squared => pairs.map(|(a, b)| (a - b) * (a - b)).sum(),
            KmeansDistance::Cosine => {
                let length = |point: &[f64]| point.iter().map(|x| x * x).sum::<f64>().sqrt();
                let product: f64 = pairs.map(|(a, b)| a * b).sum();
                let lengths = length(one) * length(two);
                if lengths > 0.0 { 1.0 - product / lengths } else { 1.0 }
            }
        }
    }
}

fn normalise(point: &mut [f64]) {
    let length = point.iter().map(|x| x * x).sum::<f64>().sqrt();
    if length > 0.0 {
        point.iter_mut().for_each(|x| *x /= length);
    }
}

/// Moves each centre into the middle of its points; one without points stays.
fn move_centers(centers: &mut [Vec<f64>], points: &[Vec<f64>], labels: &[usize]) {
    let mut sums: Vec<(Vec<f64>, f64)> =
        centers.iter().map(|center| (vec![0.0; center.len()], 0.0)).collect();
    for (point, label) in points.iter().zip(labels) {
        let (sum, count) = &mut sums[*label];
        sum.iter_mut().zip(point).for_each(|(sum, x)| *sum += x);
        *count += 1.0;
    }
    for (center, (sum, count)) in centers.iter_mut().zip(sums) {
        if count > 0.0 {
            center.iter_mut().zip(sum).for_each(|(x, sum)| *x = sum / count);
        }
    }
}

/// Numbers that look random and are the same each time (xorshift).
struct Random(u64);

impl Random {
    fn step(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// From 0 to 1, without 1.
    #[allow(clippy::cast_precision_loss)]
    fn next(&mut self) -> f64 {
        (self.step() >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound.max(1)).unwrap_or(u64::MAX);
        usize::try_from(self.step() % bound).unwrap_or_default()
    }
}
