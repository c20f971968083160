//! Stored events for the planner: indexes, tables, field names, metadata.

use std::collections::{BTreeSet, HashSet};
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;

use bucket::BucketReader;
use catalog::Snapshot;
use datafusion::datasource::TableProvider;
use futures::future::BoxFuture;
use knowledge::{FieldRules, Knowledge};
use model::{
    BucketEntry, BucketHeader, BucketShape, BucketSummary, ErrorKind, IndexName, TimeRange,
    ValueCount, columns,
};
use plan::{Error, EventSource, EventsRequest, FieldInfo, MetadataKind};

use crate::discovered::Fields;
use crate::hot_facts::HotFacts;
use crate::hot_rows::Met;
use crate::metadata::{Counts, merge};
use crate::quarantine::quarantined;
use crate::readers::rules_hold;
use crate::scan::{EventsTable, ScanContext, sourcetypes_of};

/// Maximum number of summaries in memory while all of them are read in turn.
const SUMMARIES: usize = 4_096;

/// Maximum number of pairs of a source type and a source or host that are remembered while field names are
/// collected: about 2 MB.
const ASKED: usize = 1 << 17;

/// The stored events that are accessible to a job.
#[derive(Debug)]
pub(crate) struct StoredEvents {
    pub(crate) context: ScanContext,
    pub(crate) indexes: Vec<IndexName>,
    pub(crate) metric_indexes: Vec<IndexName>,
    pub(crate) disabled_indexes: Vec<IndexName>,
    pub(crate) facts: Arc<HotFacts>,
}

impl StoredEvents {
    /// Calls `each` with the summaries of buckets, in their order. If a bucket has left the catalog since the
    /// snapshot, its summary is read from its object, which still exists.
    async fn summaries(
        &self,
        buckets: &[Arc<BucketHeader>],
        mut each: impl FnMut(&BucketSummary) + Send,
    ) -> Result<(), Error> {
        for some in buckets.chunks(SUMMARIES) {
            let ids: Vec<_> = some.iter().map(|bucket| bucket.id).collect();
            let found = self.context.catalog.summaries(&ids).await.map_err(|error| {
                Error::Source { message: error.to_string(), kind: error.kind() }
            })?;
            for (bucket, summary) in some.iter().zip(found) {
                match summary {
                    Some(summary) => each(&summary),
                    None => each(self.reader(bucket).await?.summary()),
                }
            }
        }
        Ok(())
    }

    /// Returns those fields of [`fields`](EventSource::fields) that may have several values, and possibly
    /// others of those asked for. Bucket headers and the current rules list them: only summaries of buckets
    /// without a shape are read. After a change of the rules, reading those of all buckets would take
    /// minutes.
    async fn with_several(
        &self,
        asked: &[&str],
        indexes: &[IndexName],
        range: &TimeRange,
    ) -> Result<Fields, Error> {
        let hot = self.context.hot.of(indexes, range).await.buckets;
        let knowledge = &self.context.knowledge;
        let mut found = self.facts.fields(&hot, knowledge).await;
        let mut shapes: Vec<Arc<BucketShape>> = Vec::new();
        // Source types of buckets whose field catalogue may lack fields of the current rules.
        let mut stale: BTreeSet<String> = BTreeSet::new();
        let has_no_shape = |bucket: &BucketHeader| {
            let Some(shape) = &bucket.shape else { return true };
            if bucket.fields_complete {
                let changed = shape.rules.iter();
                let changed = changed.filter(|(name, by)| knowledge.fingerprint(name) != *by);
                stale.extend(changed.map(|(name, _)| name.clone()));
            } else {
                stale.extend(shape.sourcetypes.iter().cloned());
            }
            shapes.push(Arc::clone(shape));
            false
        };
        let snapshot = self.context.catalog.snapshot();
        let others = snapshot.searchable_in(indexes, range, has_no_shape).left;
        let others: Vec<_> = others.into_iter().map(Arc::new).collect();
        let mut names = FieldNames::of(knowledge);
        let listed = shapes.iter().flat_map(|shape| &shape.multivalue);
        listed.for_each(|name| mark_several(name, &mut found));
        for rules in stale.iter().map(|sourcetype| knowledge.multivalue_rules(sourcetype)) {
            rules.names.iter().for_each(|name| mark_several(name, &mut found));
            if rules.dynamic {
                asked.iter().for_each(|name| mark_several(name, &mut found));
            }
            names.aliases.extend(rules.aliases.iter().cloned());
        }
        self.summaries(&others, |summary| names.add(summary, &mut found)).await?;
        let aside = hot.iter().filter_map(|bucket| bucket.stored.as_ref());
        aside.for_each(|entry| names.add(&entry.summary, &mut found));
        names.follow_aliases(&mut found);
        Ok(found)
    }

    async fn reader(&self, bucket: &BucketHeader) -> Result<Arc<BucketReader>, Error> {
        let opened = self.context.readers.open(bucket, &self.context.store).await;
        opened.map_err(|error| Error::Source {
            message: error.to_string(),
            kind: ErrorKind::Unavailable,
        })
    }
}

impl EventSource for StoredEvents {
    fn indexes(&self) -> Vec<IndexName> {
        self.indexes.clone()
    }

    fn metric_indexes(&self) -> Vec<IndexName> {
        self.metric_indexes.clone()
    }

    fn disabled_indexes(&self) -> Vec<IndexName> {
        self.disabled_indexes.clone()
    }

    fn events(&self, request: &EventsRequest) -> Result<Arc<dyn TableProvider>, Error> {
        Ok(Arc::new(EventsTable::new(self.context.clone(), request.clone())))
    }

    fn fields<'a>(
        &'a self,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<Vec<FieldInfo>, Error>> {
        Box::pin(async move {
            let Met { buckets: mut hot, catalog: stored, .. } =
                self.context.hot.of(indexes, range).await;
            // The events of each bucket count once.
            hot.retain(|bucket| !stored.contains(&bucket.index, bucket.id));
            let knowledge = &self.context.knowledge;
            let mut found = self.facts.fields(&hot, knowledge).await;
            let mut names = FieldNames::of(knowledge);
            let buckets: Vec<_> = searchable(&stored, indexes, range).map(Arc::new).collect();
            self.summaries(&buckets, |summary| names.add(summary, &mut found)).await?;
            let aside = hot.iter().filter_map(|bucket| bucket.stored.as_ref());
            aside.for_each(|entry| names.add(&entry.summary, &mut found));
            names.follow_aliases(&mut found);
            Ok(found.into_values().collect())
        })
    }

    fn several<'a>(
        &'a self,
        names: &'a [&'a str],
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<HashSet<String>, Error>> {
        Box::pin(async move {
            let found = self.with_several(names, indexes, range).await?;
            let several = found.into_values().filter(|field| field.multivalue);
            Ok(several
                .map(|field| field.name)
                .filter(|name| names.contains(&name.as_str()))
                .collect())
        })
    }

    fn has_summary_rows<'a>(
        &'a self,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<bool, Error>> {
        Box::pin(async move {
            let Met { buckets: hot, catalog, .. } = self.context.hot.of(indexes, range).await;
            let mut is_found = false;
            catalog.searchable_in(indexes, range, |one| {
                is_found |= one.summary_rows;
                false
            });
            if is_found {
                return Ok(true);
            }
            let aside = hot.iter().filter_map(|bucket| bucket.stored.as_ref());
            let is_there =
                |entry: &Arc<BucketEntry>| entry.summary.field(columns::SUMMARY_VERSION).is_some();
            Ok(aside.into_iter().any(is_there)
                || self.facts.has_summary_rows(&hot, &self.context.knowledge).await)
        })
    }

    fn sourcetypes<'a>(
        &'a self,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<Option<HashSet<String>>, Error>> {
        Box::pin(async move {
            let Met { buckets: hot, catalog: stored, .. } =
                self.context.hot.of(indexes, range).await;
            let mut found: HashSet<&str> = HashSet::new();
            for bucket in &hot {
                if let Some(elsewhere) = &bucket.elsewhere {
                    found.extend(elsewhere.sourcetypes.iter().map(String::as_str));
                }
                for batch in &bucket.batches {
                    let Some(names) = sourcetypes_of(batch) else { return Ok(None) };
                    found.extend(names.iter().flatten());
                }
            }
            for entry in hot.iter().filter_map(|bucket| bucket.stored.as_ref()) {
                found.extend(entry.summary.sourcetypes.iter().map(|known| known.value.as_str()));
            }
            let mut found: HashSet<String> = found.into_iter().map(str::to_owned).collect();
            let others = stored.searchable_in(indexes, range, |bucket| match &bucket.shape {
                Some(shape) => {
                    found.extend(shape.sourcetypes.iter().cloned());
                    false
                }
                None => true,
            });
            let others: Vec<_> = others.left.into_iter().map(Arc::new).collect();
            self.summaries(&others, |summary| {
                found.extend(summary.sourcetypes.iter().map(|known| known.value.clone()));
            })
            .await?;
            Ok(Some(found))
        })
    }

    fn metadata<'a>(
        &'a self,
        kind: MetadataKind,
        indexes: &'a [IndexName],
        range: &'a TimeRange,
    ) -> BoxFuture<'a, Result<Vec<ValueCount>, Error>> {
        Box::pin(async move {
            let mut merged = Counts::new();
            let Met { buckets: hot, catalog: stored, .. } =
                self.context.hot.of(indexes, range).await;
            let mut new = hot.clone();
            new.retain(|bucket| !stored.contains(&bucket.index, bucket.id));
            self.facts.count(kind, &new, &self.context.knowledge, &mut merged).await;
            let left_out = quarantined(&stored);
            let stored_buckets =
                searchable(&stored, indexes, range).filter(|bucket| {
                    match left_out.get(&bucket.id) {
                        Some(bucket) => {
                            self.context.report.leave_out(bucket);
                            false
                        }
                        None => true,
                    }
                });
            let stored_buckets: Vec<_> = stored_buckets.map(Arc::new).collect();
            let mut add = |summary: &BucketSummary| {
                let values = match kind {
                    MetadataKind::Hosts => &summary.hosts,
                    MetadataKind::Sources => &summary.sources,
                    MetadataKind::Sourcetypes => &summary.sourcetypes,
                };
                values.iter().for_each(|value| merge(&mut merged, value));
            };
            self.summaries(&stored_buckets, &mut add).await?;
            let aside = hot.iter().filter_map(|bucket| bucket.stored.as_ref());
            let aside = aside.filter(|entry| !stored.contains(&entry.index, entry.id));
            aside.for_each(|entry| add(&entry.summary));
            Ok(merged.into_values().filter(|v| range.overlaps(v.first_time, v.last_time)).collect())
        })
    }
}

/// Collects the fields of buckets.
struct FieldNames<'k> {
    knowledge: &'k Knowledge,
    asked: Asked,
    /// Fields with their aliases, of the current rules.
    aliases: BTreeSet<(String, String)>,
}

/// Hashes of the source types with the sources and hosts with which rules were looked up. Most buckets have
/// the same ones, and with extractions of the user's own, the rules of all buckets are others than those that
/// made them.
#[derive(Default)]
struct Asked {
    hashes: HashSet<u64>,
    state: RandomState,
}

impl Asked {
    /// Whether a source type with a source or a host is not remembered; remembers it. Of too many, all are
    /// forgotten.
    fn is_new(&mut self, sourcetype: &str, by: By<'_>) -> bool {
        let hash = self.state.hash_one((sourcetype, by));
        if self.hashes.contains(&hash) {
            return false;
        }
        if self.hashes.len() >= ASKED {
            self.hashes.clear();
        }
        self.hashes.insert(hash)
    }
}

/// The value whose stanza applies besides that of a source type.
#[derive(Hash)]
enum By<'v> {
    Source(&'v str),
    Host(&'v str),
}

impl<'k> FieldNames<'k> {
    fn of(knowledge: &'k Knowledge) -> Self {
        Self { knowledge, asked: Asked::default(), aliases: BTreeSet::new() }
    }

    /// Adds the fields of a bucket.
    fn add(&mut self, summary: &BucketSummary, found: &mut Fields) {
        // Names in the current rules that the field catalogue of the bucket, made with other rules, cannot
        // contain.
        if !rules_hold(self.knowledge, &summary.rules) || !summary.fields_complete {
            self.add_ruled(summary, found);
        }
        for field in &summary.fields {
            match found.get_mut(&field.name) {
                Some(info) => {
                    info.count += field.count;
                    info.multivalue |= field.multivalue;
                }
                None => {
                    let (name, multivalue) = (field.name.clone(), field.multivalue);
                    found.insert(name.clone(), FieldInfo { name, multivalue, count: field.count });
                }
            }
        }
    }

    /// Notes which aliases may have several values, as their fields do.
    fn follow_aliases(&self, found: &mut Fields) {
        let may = |name: &str, found: &Fields| found.get(name).is_some_and(|info| info.multivalue);
        loop {
            let new = self.aliases.iter().filter(|(field, alias)| {
                (field.contains("{}") || may(field, found)) && !may(alias, found)
            });
            let new: Vec<&String> = new.map(|(_, alias)| alias).collect();
            if new.is_empty() {
                return;
            }
            new.into_iter().for_each(|alias| mark_several(alias, found));
        }
    }

    /// Adds the field names in the rules that apply to the events of a bucket, unless they were added for
    /// another one.
    fn add_ruled(&mut self, summary: &BucketSummary, found: &mut Fields) {
        let Self { knowledge, asked, aliases } = self;
        // Stanzas of sources and hosts apply in addition.
        for ValueCount { value: sourcetype, .. } in &summary.sourcetypes {
            for ValueCount { value: source, .. } in &summary.sources {
                if asked.is_new(sourcetype, By::Source(source)) {
                    add_names(&knowledge.field_rules(sourcetype, source, ""), found, aliases);
                }
            }
            for ValueCount { value: host, .. } in &summary.hosts {
                if asked.is_new(sourcetype, By::Host(host)) {
                    add_names(&knowledge.field_rules(sourcetype, "", host), found, aliases);
                }
            }
        }
    }
}

/// Notes that a field may have several values.
fn mark_several(name: &str, found: &mut Fields) {
    match found.get_mut(name) {
        Some(info) => info.multivalue = true,
        None => {
            let name = name.to_owned();
            found.insert(name.clone(), FieldInfo { name, multivalue: true, count: 0 });
        }
    }
}

/// Adds the field names in rules, and their aliases.
fn add_names(rules: &FieldRules, found: &mut Fields, aliases: &mut BTreeSet<(String, String)>) {
    let pairs = rules.aliases().map(|(field, alias)| (field.to_owned(), alias.to_owned()));
    aliases.extend(pairs);
    let several = rules.multivalue_names();
    for name in rules.names() {
        let multivalue = several.contains(&name);
        found
            .entry(name.to_owned())
            .and_modify(|info| info.multivalue |= multivalue)
            .or_insert_with(|| FieldInfo { name: name.to_owned(), multivalue, count: 0 });
    }
}

/// Returns the buckets of the indexes that are not frozen.
fn searchable<'a>(
    snapshot: &'a Snapshot,
    indexes: &'a [IndexName],
    range: &'a TimeRange,
) -> impl Iterator<Item = BucketHeader> + use<'a> {
    // In the catalog, an empty list of indexes means all indexes.
    let all = (!indexes.is_empty()).then(|| snapshot.overlapping(indexes, range));
    all.into_iter().flatten().filter(|bucket| bucket.state.is_searchable())
}

#[cfg(test)]
mod tests {
    use conf::{Layer, Layers};
    use model::EventTime;

    use super::*;

    fn value(value: &str) -> ValueCount {
        let (value, time) = (value.to_owned(), EventTime(0));
        ValueCount { value, count: 1, first_time: time, last_time: time, recent_time: time }
    }

    #[test]
    fn rules_are_looked_up_once_for_sources_and_hosts_of_many_buckets() {
        let props = "[log]\nEXTRACT-a = (?<a>.)\n[host::h2]\nEXTRACT-b = (?<b>.)\n";
        let knowledge = Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "props", props));
        let bucket = |hosts: &[&str]| BucketSummary {
            hosts: hosts.iter().map(|host| value(host)).collect(),
            sources: vec![value("s")],
            sourcetypes: vec![value("log")],
            fields_complete: false,
            ..BucketSummary::bare(1, EventTime(0), EventTime(0))
        };
        let (mut names, mut found) = (FieldNames::of(&knowledge), Fields::new());
        names.add(&bucket(&["h1"]), &mut found);
        assert!(found.contains_key("a") && !found.contains_key("b"), "{found:?}");
        names.add(&bucket(&["h1", "h2"]), &mut found);
        assert!(found.contains_key("a") && found.contains_key("b"), "{found:?}");
        found.clear();
        names.add(&bucket(&["h2", "h1"]), &mut found);
        assert!(found.is_empty(), "nothing is looked up again: {found:?}");
    }

    #[test]
    fn the_sources_and_hosts_of_all_source_types_have_one_limit() {
        let mut asked = Asked::default();
        for number in 0..ASKED {
            assert!(asked.is_new(&number.to_string(), By::Source("s")));
        }
        assert!(!asked.is_new("0", By::Source("s")));
        assert!(asked.is_new("0", By::Host("s")), "hosts are not sources");
        assert_eq!(asked.hashes.len(), 1);
    }
}
