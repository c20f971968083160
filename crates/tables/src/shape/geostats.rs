//! Aggregations on a map: bins of every zoom level as rows, series as columns or rows.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::{FreeNames, Rows};

/// The column with the name of the bin.
pub const GEOBIN: &str = "geobin";
/// The hidden column with the sum of the latitudes of the events of a bin, in degrees.
pub const LATITUDE: &str = "__latitude";
/// The hidden column with the sum of their longitudes, in degrees.
pub const LONGITUDE: &str = "__longitude";
/// The hidden column with the number of events of a bin.
pub const EVENTS: &str = "__events";
/// The series of values without a column of their own.
const OTHER: &str = "OTHER";

/// A row per bin, from aggregates by [`GEOBIN`] and the split fields, with the hidden columns.
#[derive(Debug)]
pub struct Geostats {
    /// The split fields.
    pub by: Vec<String>,
    /// The names of the aggregates.
    pub values: Vec<String>,
    /// The aggregates that are 0 without events.
    pub counts: Vec<String>,
    /// The output fields of latitude and longitude.
    pub outputs: [String; 2],
    /// Maximum number of series with a column of their own.
    pub global_limit: usize,
    /// Maximum number of series per bin.
    pub local_limit: usize,
    /// Whether the values of the split field become columns rather than rows.
    pub series: bool,
}

impl Operation for Geostats {
    fn apply(&self, rows: Rows, context: &mut Context) -> Result<Rows, Error> {
        if self.series && !self.by.is_empty() {
            self.pivot(&rows, context.limits.columns)
        } else {
            self.flat(&rows)
        }
    }
}

/// Returns level, row and column of a bin, which are its sort key.
fn place(bin: &str) -> [u64; 3] {
    let mut numbers = bin.split('_').filter_map(|part| part.parse().ok());
    std::array::from_fn(|_| numbers.next().unwrap_or_default())
}

/// The sums over the events of a bin.
#[derive(Debug, Default, Clone, Copy)]
struct Center {
    latitude: f64,
    longitude: f64,
    events: f64,
}

impl Geostats {
    /// Returns the events of each bin, over all series.
    fn centers(rows: &Rows) -> Result<BTreeMap<[u64; 3], (String, Center)>, Error> {
        let bins = rows.texts(GEOBIN)?;
        let [latitudes, longitudes, events] =
            [LATITUDE, LONGITUDE, EVENTS].map(|n| rows.numbers(n));
        let (latitudes, longitudes, events) = (latitudes?, longitudes?, events?);
        let mut centers: BTreeMap<[u64; 3], (String, Center)> = BTreeMap::new();
        for (row, bin) in bins.into_iter().enumerate() {
            let Some(bin) = bin else { continue };
            let (_, center) = centers.entry(place(&bin)).or_insert((bin, Center::default()));
            center.latitude += latitudes[row].unwrap_or_default();
            center.longitude += longitudes[row].unwrap_or_default();
            center.events += events[row].unwrap_or_default();
        }
        Ok(centers)
    }

    fn set_center(&self, made: &mut Rows, centers: &[&Center]) {
        let [latitude, longitude] = &self.outputs;
        let mean = |sum: f64, center: &Center| Some(sum / center.events);
        made.set_numbers(latitude, centers.iter().map(|center| mean(center.latitude, center)));
        made.set_numbers(longitude, centers.iter().map(|center| mean(center.longitude, center)));
    }

    /// Returns a row for each bin and combination of values of the split fields.
    fn flat(&self, rows: &Rows) -> Result<Rows, Error> {
        let centers = Self::centers(rows)?;
        let places: Vec<[u64; 3]> =
            rows.texts(GEOBIN)?.iter().map(|bin| place(bin.as_deref().unwrap_or(""))).collect();
        let mut order: Vec<usize> = (0..rows.count).collect();
        order.sort_by_key(|row| places[*row]);
        let sorted = rows.take(&order)?;
        let mut made = Rows::blank(rows.count);
        made.set_texts(GEOBIN, sorted.texts(GEOBIN)?);
        let center = |row: &usize| &centers[&places[*row]].1;
        self.set_center(&mut made, &order.iter().map(center).collect::<Vec<_>>());
        for name in self.by.iter().chain(&self.values) {
            if let Some(column) = sorted.column(name) {
                made.set(name, column.kind, column.array.clone());
            }
        }
        Ok(made)
    }

    /// Returns a row per bin and a column per series.
    fn pivot(&self, rows: &Rows, limit: usize) -> Result<Rows, Error> {
        let centers = Self::centers(rows)?;
        let bins = rows.texts(GEOBIN)?;
        let row_of: HashMap<&str, usize> =
            centers.values().enumerate().map(|(at, (bin, _))| (bin.as_str(), at)).collect();
        let names = self.series_names(rows)?;
        let scores = rows.numbers(self.values.first().map_or(EVENTS, String::as_str))?;
        let scores: Vec<f64> = scores.into_iter().map(Option::unwrap_or_default).collect();
        let kept = self.kept(&names, &bins, &scores);
        let mut columns: Vec<&str> = kept.iter().map(|row| names[*row].as_str()).collect();
        columns.sort_unstable();
        columns.dedup();
        let others = kept.len() < rows.count;
        if others && !columns.contains(&OTHER) {
            columns.push(OTHER);
        }
        if columns.len() * self.values.len() > limit {
            let message = format!("geostats makes more than {limit} series (a fixed limit)");
            return Err(Error::invalid_anywhere(message));
        }
        let column_of: HashMap<&str, usize> =
            columns.iter().enumerate().map(|(at, name)| (*name, at)).collect();
        let mut made = Rows::blank(centers.len());
        made.set_texts(GEOBIN, centers.values().map(|(bin, _)| Some(bin)));
        self.set_center(&mut made, &centers.values().map(|(_, center)| center).collect::<Vec<_>>());
        let mut free = FreeNames::beside(&made);
        for value in &self.values {
            let zero = self.counts.contains(value).then_some(0.0);
            let numbers = rows.numbers(value)?;
            let mut cells = vec![vec![zero; centers.len()]; columns.len()];
            for row in 0..rows.count {
                let series = if kept.contains(&row) { names[row].as_str() } else { OTHER };
                let bin = bins[row].as_deref().and_then(|bin| row_of.get(bin));
                let (Some(bin), Some(number)) = (bin, numbers[row]) else { continue };
                let cell = &mut cells[column_of[series]][*bin];
                *cell = Some(cell.unwrap_or_default() + number);
            }
            for (series, cells) in columns.iter().zip(cells) {
                let name = match self.values.len() {
                    1 => (*series).to_owned(),
                    _ => format!("{value}: {series}"),
                };
                made.push_numbers(free.take(&name), cells);
            }
        }
        Ok(made)
    }

    /// Returns the joined values of the split fields.
    fn series_names(&self, rows: &Rows) -> Result<Vec<String>, Error> {
        let texts: Result<Vec<_>, Error> = self.by.iter().map(|name| rows.texts(name)).collect();
        let texts = texts?;
        let name = |row: usize| {
            let parts = texts.iter().map(|texts| texts[row].as_deref().unwrap_or_default());
            parts.collect::<Vec<_>>().join(":")
        };
        Ok((0..rows.count).map(name).collect())
    }

    /// Returns the rows whose series have a column of their own: those with the greatest sums, overall and in
    /// their bin.
    fn kept(&self, names: &[String], bins: &[Option<String>], scores: &[f64]) -> HashSet<usize> {
        let mut sums: HashMap<&str, f64> = HashMap::new();
        let mut by_bin: HashMap<&str, Vec<usize>> = HashMap::new();
        for (row, name) in names.iter().enumerate() {
            *sums.entry(name).or_default() += scores[row];
            by_bin.entry(bins[row].as_deref().unwrap_or_default()).or_default().push(row);
        }
        let mut ranked: Vec<(&str, f64)> = sums.into_iter().collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(b.0)));
        ranked.truncate(self.global_limit);
        let global: HashSet<&str> = ranked.into_iter().map(|(name, _)| name).collect();
        let mut kept = HashSet::new();
        for mut rows in by_bin.into_values() {
            rows.sort_by(|a, b| scores[*b].total_cmp(&scores[*a]).then(names[*a].cmp(&names[*b])));
            rows.truncate(self.local_limit);
            kept.extend(rows.into_iter().filter(|row| global.contains(names[*row].as_str())));
        }
        kept
    }
}
