//! Estimates the cost of a search before it runs, from the catalog and the cache alone.
//!
//! Guarantees: bytes, events and buckets are upper bounds of what the first stage reads. A search reads less
//! where the term index, bounds of granules, columns that it does not need, or a sort that has enough rows
//! spare it something: only objects tell. Requests are those that reading all of it would take.

use bucket::HotBucket;
use cache::Residency;
use datafusion::datasource::source_as_provider;
use datafusion::logical_expr::{Expr, LogicalPlan, TableScan};
use plan::PlannedSearch;
use serde::Serialize;

use crate::SearchService;
use crate::scan::{Ahead, EventsTable};

/// The estimated cost of a search.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// Stored buckets.
    pub buckets: EstimatedBuckets,
    /// Events in the buckets to read and in hot buckets.
    pub rows: u64,
    /// Compressed bytes of the objects to read.
    pub bytes: u64,
    /// Location of those bytes; `None` if the caches of other processes hold them.
    pub tiers: Option<EstimatedTiers>,
    /// Events of hot buckets; `None` if other processes have them, which are not asked.
    pub hot: Option<EstimatedHot>,
    /// Whether further stages follow the first one; their reads are not included.
    pub further_stages: bool,
    /// Hints for reading the numbers.
    pub notes: Vec<&'static str>,
}

/// Stored buckets of a search, by how planning treats them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct EstimatedBuckets {
    /// Buckets of its indexes.
    pub considered: u64,
    /// Buckets outside its time range.
    pub pruned_by_time: u64,
    /// Buckets that the catalog excludes by their source types.
    pub pruned_by_header: u64,
    /// Quarantined buckets, which are skipped.
    pub quarantined: u64,
    /// Remaining buckets, which are read.
    pub to_read: u64,
}

/// Location of the bytes of the objects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct EstimatedTiers {
    /// Bytes in memory (lower bound).
    pub memory: u64,
    /// Bytes on the local disk: in the cache or in the spool.
    pub disk: u64,
    /// Bytes that are only in object storage (upper bound).
    pub store: u64,
    /// Number of requests to read those bytes.
    pub requests: u64,
    /// Number of buckets looked up in the cache. If there are more buckets, the numbers are extrapolated from
    /// this sample.
    pub buckets_looked_up: u64,
}

/// Events in hot buckets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct EstimatedHot {
    /// Number of hot buckets.
    pub buckets: u64,
    /// Number of their events.
    pub rows: u64,
    /// Bytes of the text of events in memory.
    pub memory: u64,
    /// Bytes of the files that wait for their upload.
    pub disk: u64,
}

const AT_MOST: &str = "buckets, rows and bytes are upper limits: terms, bounds and unneeded columns \
                       reduce what is read";
const ELSEWHERE: &str =
    "indexers read the buckets; the content of their caches and memory is not known here";
const SAMPLED: &str = "the tiers are extrapolated from an evenly chosen sample of buckets";
const FURTHER: &str =
    "what later stages read, such as subsearches of append and join, is not counted";

impl SearchService {
    /// Estimates the cost of a planned search; `None` if its first stage reads no stored events.
    pub(crate) async fn estimate(&self, planned: &PlannedSearch) -> Option<Estimate> {
        let mut scans = Vec::new();
        each_scan(&planned.plan, &[], &mut |scan, filters| {
            if let Ok(provider) = source_as_provider(&scan.source)
                && provider.downcast_ref::<EventsTable>().is_some()
            {
                scans.push((provider, filters));
            }
        });
        let mut estimate = Estimate { notes: vec![AT_MOST], ..Estimate::default() };
        let mut objects = Vec::new();
        let mut hot = Some(EstimatedHot::default());
        for (provider, filters) in &scans {
            let Some(table) = provider.downcast_ref::<EventsTable>() else { continue };
            let ahead = table.ahead(filters).await;
            estimate.add(&ahead);
            hot = hot.zip(ahead.hot.as_deref()).map(|(sum, hot)| sum.with(hot));
            objects.extend(ahead.stored.iter().map(|header| (header.path(), header.size)));
        }
        if scans.is_empty() {
            return None;
        }
        estimate.hot = hot;
        estimate.rows += hot.map_or(0, |hot| hot.rows);
        let deps = &self.engine().deps;
        // Which process reads is decided when the search runs.
        let is_local = deps.workers.is_none();
        let most = self.settings().estimated_buckets;
        let look_up = |path: &str, size: u64| deps.objects.residency(path, size);
        estimate.tiers = if is_local { tiers(&objects, most, look_up) } else { None };
        if estimate.tiers.is_none() || hot.is_none() {
            estimate.notes.push(ELSEWHERE);
        }
        let looked_up = estimate.tiers.map_or(u64::MAX, |tiers| tiers.buckets_looked_up);
        if looked_up < estimate.buckets.to_read {
            estimate.notes.push(SAMPLED);
        }
        estimate.further_stages = planned.rest.is_some();
        if estimate.further_stages {
            estimate.notes.push(FURTHER);
        }
        Some(estimate)
    }
}

impl Estimate {
    fn add(&mut self, ahead: &Ahead) {
        let buckets = &mut self.buckets;
        buckets.considered += ahead.considered;
        buckets.pruned_by_time += ahead.pruned_by_time;
        buckets.pruned_by_header += ahead.pruned_by_header;
        buckets.quarantined += ahead.quarantined;
        buckets.to_read += ahead.stored.len() as u64;
        self.rows += ahead.stored.iter().map(|header| header.rows).sum::<u64>();
        self.bytes += ahead.stored.iter().map(|header| header.size).sum::<u64>();
    }
}

impl EstimatedHot {
    fn with(mut self, hot: &[HotBucket]) -> Self {
        for bucket in hot {
            self.buckets += 1;
            self.rows += bucket.rows;
            match &bucket.stored {
                Some(entry) => self.disk += entry.size,
                None => self.memory += bucket.raw_bytes,
            }
        }
        self
    }
}

/// Returns the location of the bytes of objects, from a sample of limited size; `None` if it is unknown.
fn tiers(
    objects: &[(String, u64)],
    most: usize,
    look_up: impl Fn(&str, u64) -> Option<Residency>,
) -> Option<EstimatedTiers> {
    let step = objects.len().div_ceil(most.max(1)).max(1);
    let chosen = || objects.iter().step_by(step);
    let mut sum = Residency::default();
    for (path, size) in chosen() {
        sum.add(look_up(path, *size)?);
    }
    let bytes = |(_, size): &(String, u64)| u128::from(*size);
    let (part, all) = (chosen().map(bytes).sum::<u128>(), objects.iter().map(bytes).sum::<u128>());
    let scaled = |value: u64| match part {
        0 => value,
        part => u64::try_from(u128::from(value) * all / part).unwrap_or(u64::MAX),
    };
    Some(EstimatedTiers {
        memory: scaled(sum.memory),
        disk: scaled(sum.disk),
        store: scaled(sum.store),
        requests: scaled(sum.requests),
        buckets_looked_up: chosen().count() as u64,
    })
}

/// Visits the tables of a plan, each with the conditions on its rows.
fn each_scan(plan: &LogicalPlan, above: &[Expr], visit: &mut impl FnMut(&TableScan, Vec<Expr>)) {
    match plan {
        LogicalPlan::TableScan(scan) => {
            visit(scan, above.iter().chain(&scan.filters).cloned().collect());
        }
        LogicalPlan::Filter(filter) => {
            let mut conditions = above.to_vec();
            conditions.push(filter.predicate.clone());
            each_scan(&filter.input, &conditions, visit);
        }
        // A condition above another operator is not a condition on stored events.
        other => other.inputs().into_iter().for_each(|input| each_scan(input, &[], visit)),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_part_of_many_buckets_stands_for_all() {
        let objects: Vec<_> = (0..10).map(|number| (number.to_string(), 10)).collect();
        let look_up = |path: &str, size: u64| {
            let even = path.parse::<u64>().unwrap() % 2 == 0;
            let (memory, store) = if even { (size, 0) } else { (0, size) };
            Some(Residency { memory, disk: 0, store, requests: u64::from(!even) })
        };
        let all = tiers(&objects, 10, look_up).unwrap();
        assert_eq!((all.memory, all.store, all.requests, all.buckets_looked_up), (50, 50, 5, 10));
        let some = tiers(&objects, 4, look_up).unwrap();
        // Those of the numbers 0, 3, 6, 9.
        assert_eq!((some.memory, some.store, some.requests), (50, 50, 5));
        assert_eq!(some.buckets_looked_up, 4);
        assert_eq!(tiers(&objects, 4, |_, _| None), None);
        assert_eq!(tiers(&[], 4, look_up), Some(EstimatedTiers::default()));
    }
}
