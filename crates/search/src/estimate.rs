//! What a search reads at most, before it runs: as much as catalog and cache know without reading anything.
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

/// What a search reads at most.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Estimate {
    /// Buckets in object storage.
    pub buckets: EstimatedBuckets,
    /// Events in the buckets to read and in hot buckets.
    pub rows: u64,
    /// Bytes of the objects to read, packed as they are.
    pub bytes: u64,
    /// Where those bytes are; `None` where the caches of other processes have them.
    pub tiers: Option<EstimatedTiers>,
    /// Events that are in no object yet; `None` where other processes have them, which are not asked.
    pub hot: Option<EstimatedHot>,
    /// Whether stages follow the first one; what they read is not counted.
    pub further_stages: bool,
    /// How to read the numbers.
    pub notes: Vec<&'static str>,
}

/// Stored buckets of a search.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct EstimatedBuckets {
    /// Those of its indexes.
    pub considered: u64,
    /// Those outside of its time range.
    pub pruned_by_time: u64,
    /// Those that the catalog excludes otherwise, by their source types.
    pub pruned_by_header: u64,
    /// Those that are left out because they are damaged.
    pub quarantined: u64,
    /// Those that are left.
    pub to_read: u64,
}

/// Where the bytes of the objects are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct EstimatedTiers {
    /// Bytes in memory, at least.
    pub memory: u64,
    /// Bytes on the local disk: in the cache, or on their way to object storage.
    pub disk: u64,
    /// Bytes that only object storage has, at most.
    pub store: u64,
    /// Requests that reading those would take.
    pub requests: u64,
    /// Buckets that were looked up. If fewer than there are, they stand for all.
    pub buckets_looked_up: u64,
}

/// Events in hot buckets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct EstimatedHot {
    /// Hot buckets.
    pub buckets: u64,
    /// Their events.
    pub rows: u64,
    /// Bytes of the text of those in memory.
    pub memory: u64,
    /// Bytes of the files of those that wait for their upload.
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
    /// What a search that is planned reads at most; `None` if its first stage reads no stored events.
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
        // Who reads is decided when the search runs.
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

/// Where the bytes of objects are, of which at most so many are looked up; `None` if that is not known.
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

/// Visits the tables of a plan, each with the conditions that its rows have to meet.
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
        // What stands above something else is no condition of stored events.
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
