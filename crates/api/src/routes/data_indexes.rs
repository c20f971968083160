//! `/services/data/indexes`: the indexes and their contents.

use std::collections::BTreeMap;
use std::time::Duration;

use axum::response::Response;
use catalog::Snapshot;
use conf::Effective;
use ingest::{DEFAULT_INDEX, IndexDefinition, KnownIndex};
use knowledge::AckLevel;
use model::{BucketId, ErrorKind, EventTime, IndexName, TimeRange};
use search::{Met, Quarantined};
use serde_json::{Map, Value, json};

use super::feed;
use super::objects::REQUEST_PARAMETERS;
use super::resource::{About, Access, Removal, Resource};
use crate::ApiState;
use crate::atom::{Acl, Attributes, Entry};
use crate::call::Call;
use crate::error::RestError;
use crate::params::Params;
use crate::rights::Need::{May, Own};
use crate::routing::{Routes, post};
#[cfg(test)]
use crate::tests::cases::{Case, case, object_cases, removal_cases};

const PATH: &str = "/services/data/indexes";
/// The stanza of `indexes.conf` that holds for all indexes.
const FOR_ALL: &str = "default";
/// Values of `datatype`.
const EVENT: &str = "event";
const METRIC: &str = "metric";
/// Time after which buckets are looked at again that were too young to be frozen at once.
const SHORT: Duration = Duration::from_secs(60);
/// Time-out of reading the hot buckets of other processes. The hot buckets of processes that do not answer in
/// time are not counted.
const HOT_WAIT: Duration = Duration::from_secs(10);
/// Splunk's highest number of seconds and MB.
const MOST: u64 = 4_294_967_295;
/// The settings that can be changed at run time.
const EDITABLE: [&str; 5] =
    ["ackLevel", "datatype", "disabled", "frozenTimePeriodInSecs", "maxTotalDataSizeMB"];
/// Arguments of Splunk's handler that clients and Terraform providers send, and that have no effect.
/// Arguments that decide what happens to frozen events are not included.
const IGNORED: [&str; 65] = [
    "archiver.enableDataArchive",
    "archiver.maxDataArchiveRetentionPeriod",
    "assureUTF8",
    "blockSignSize",
    "bloomHomePath",
    "bucketRebuildMemoryHint",
    "coldPath",
    "coldPath.maxDataSizeMB",
    "compressRawdata",
    "defaultDatabase",
    "enableDataIntegrityControl",
    "enableOnlineBucketRepair",
    "enableRealtimeSearch",
    "enableTsidxReduction",
    "homePath",
    "homePath.maxDataSizeMB",
    "hotBucketTimeRefreshInterval",
    "indexThreads",
    "journalCompression",
    "maxBloomBackfillBucketAge",
    "maxConcurrentOptimizes",
    "maxDataSize",
    "maxGlobalDataSizeMB",
    "maxGlobalRawDataSizeMB",
    "maxHotBuckets",
    "maxHotIdleSecs",
    "maxHotSpanSecs",
    "maxMemMB",
    "maxMetaEntries",
    "maxRunningProcessGroups",
    "maxRunningProcessGroupsLowPriority",
    "maxTimeUnreplicatedNoAcks",
    "maxTimeUnreplicatedWithAcks",
    "maxWarmDBCount",
    "memPoolMB",
    "metric.enableFloatingPointCompression",
    "metric.stubOutRawdataJournal",
    "metric.timestampResolution",
    "minHotIdleSecsBeforeForceRoll",
    "minRawFileSyncSecs",
    "minStreamGroupQueueSize",
    "partialServiceMetaPeriod",
    "processTrackerServiceInterval",
    "quarantineFutureSecs",
    "quarantinePastSecs",
    "rawChunkSizeBytes",
    "remotePath",
    "repFactor",
    "rotatePeriodInSecs",
    "searchableDays",
    "serviceInactiveIndexesPeriod",
    "serviceMetaPeriod",
    "serviceOnlyAsNeeded",
    "serviceSubtaskTimingPeriod",
    "splitByIndexKeys",
    "summaryHomePath",
    "suppressBannerList",
    "suspendHotRollByDeleteQuery",
    "sync",
    "syncMeta",
    "thawedPath",
    "throttleCheckPeriod",
    "timePeriodInSecBeforeTsidxReduction",
    "tsidxWritingLevel",
    "tstatsHomePath",
];
/// Arguments of Splunk's handler that decide where frozen events go: ignored, they would be deleted.
const ARCHIVES: [&str; 3] = ["coldToFrozenDir", "coldToFrozenScript", "warmToColdScript"];

pub(super) fn routes() -> Routes {
    let (see, edit) = (Some(Own), May("indexes_edit"));
    let change = Some(edit);
    let access = Access {
        list: see,
        create: change,
        show: see,
        edit: change,
        remove: change,
        ..Access::default()
    };
    let roll = "Rolls hot buckets and waits until they are in object storage";
    Routes::default()
        .resource(PATH, &Indexes, &access)
        .at("/services/data/indexes/{name}/enable", post(edit, "Enables an index", enable))
        .at("/services/data/indexes/{name}/disable", post(edit, "Disables an index", disable))
        .at("/services/data/indexes/{name}/roll-hot-buckets", post(edit, roll, roll_hot_buckets))
}

/// The contents of an index.
pub(super) struct Held {
    pub(super) events: u64,
    /// Bytes of their text.
    pub(super) raw: u64,
    /// Bytes in object storage, including quarantined buckets.
    pub(super) size: u64,
    pub(super) first: EventTime,
    pub(super) last: EventTime,
    /// Buckets that are not in the catalog yet.
    pub(super) hot: u64,
    /// Buckets of the catalog without the quarantined ones, whose events are not counted.
    pub(super) warm: u64,
}

impl Held {
    /// Adds the events of a bucket.
    fn count(&mut self, (rows, raw_bytes): (u64, u64), (from, to): (EventTime, EventTime)) {
        self.events += rows;
        self.raw += raw_bytes;
        self.first = self.first.min(from);
        self.last = self.last.max(to);
    }
}

impl Default for Held {
    fn default() -> Self {
        let (first, last) = (EventTime::MAX, EventTime::MIN);
        Self { events: 0, raw: 0, size: 0, first, last, hot: 0, warm: 0 }
    }
}

/// Returns the hot buckets of these indexes in the processes that answer in time, and whether all have
/// answered.
async fn hot_buckets(state: &ApiState, names: &[IndexName]) -> (Met, bool) {
    if let Ok(met) = tokio::time::timeout(HOT_WAIT, state.search.hot_buckets(names)).await {
        let is_complete = met.missing.is_empty();
        return (met, is_complete);
    }
    let buckets = state.ingest.hot().snapshot(names, &TimeRange::ALL);
    (Met { buckets, missing: Vec::new(), catalog: state.catalog.snapshot() }, false)
}

/// Adds the contents of these indexes.
async fn with_contents(state: &ApiState, indexes: Vec<(IndexName, KnownIndex)>) -> Vec<Index> {
    if indexes.is_empty() {
        return Vec::new();
    }
    let names: Vec<IndexName> = indexes.iter().map(|(name, _)| name.clone()).collect();
    let first = hot_buckets(state, &names).await;
    // A control plane that does not answer has events of internal indexes only.
    let mut others = names.clone();
    others.retain(|name| !name.is_internal());
    let ask_again = !first.1 && !others.is_empty() && others.len() < names.len();
    // Its buckets, too: the first answer has none of other processes if one has hung for too long.
    let again = match ask_again {
        true => Some(hot_buckets(state, &others).await),
        false => None,
    };
    let mut all = Contents::of(&first);
    let mut of_others = again.as_ref().map(Contents::of);
    let with = |(name, known): (IndexName, KnownIndex)| {
        let contents = of_others.as_mut().filter(|_| !name.is_internal()).unwrap_or(&mut all);
        let (held, is_complete) = (contents.held(&name), contents.is_complete);
        Index { name, known, held, is_complete }
    };
    indexes.into_iter().map(with).collect()
}

/// The contents of many indexes: hot buckets and the quarantine are read once, not for each index.
struct Contents<'a> {
    stored: &'a Snapshot,
    is_complete: bool,
    /// The contents of the hot buckets that are not in the catalog.
    hot: BTreeMap<&'a IndexName, Held>,
    left_out: BTreeMap<BucketId, Quarantined>,
}

impl<'a> Contents<'a> {
    fn of((met, is_complete): &'a (Met, bool)) -> Self {
        let stored = &*met.catalog;
        let mut hot: BTreeMap<&IndexName, Held> = BTreeMap::new();
        for bucket in &met.buckets {
            if !stored.contains(&bucket.index, bucket.id) {
                let held = hot.entry(&bucket.index).or_default();
                held.count((bucket.rows, bucket.raw_bytes), (bucket.first_time, bucket.last_time));
                held.hot += 1;
            }
        }
        let left_out = search::quarantined(stored);
        Self { stored, is_complete: *is_complete, hot, left_out }
    }

    /// Returns the contents of an index, which is asked for once.
    fn held(&mut self, name: &IndexName) -> Held {
        let mut held = self.hot.remove(name).unwrap_or_default();
        for bucket in self.stored.buckets(name).iter() {
            held.size += bucket.size;
            // Searches do not count its events either, but it still uses space.
            if self.left_out.contains_key(&bucket.id) {
                continue;
            }
            held.count((bucket.rows, bucket.raw_bytes), (bucket.first_time, bucket.last_time));
            held.warm += 1;
        }
        held
    }
}

/// Whether the caller may see the number of events of an index, and their times: `srchFilter` hides some
/// events, which are not counted separately. Users who may change indexes see how much a removal deletes.
pub(super) fn may_count(call: &Call) -> bool {
    call.caller.rights.limits().filter.is_none() || call.caller.may("indexes_edit")
}

fn entry(call: &Call, conf: &Effective, index: &Index) -> Entry {
    let Index { name, known, held, is_complete } = index;
    let mut content = settings(&call.state, conf, name, known);
    let time = |at: EventTime| {
        let time = jiff::Timestamp::from_microsecond(at.0).ok().filter(|_| held.events > 0);
        time.map(|time| time.strftime("%Y-%m-%dT%H:%M:%S+0000").to_string()).unwrap_or_default()
    };
    let is_shown = may_count(call);
    for (key, value) in [
        ("totalEventCount", json!(held.events)),
        ("currentDBSizeMB", json!((held.size >> 20).to_string())),
        ("totalRawBytes", json!(held.raw)),
        ("totalStoredBytes", json!(held.size)),
        ("minTime", json!(time(held.first))),
        ("maxTime", json!(time(held.last))),
    ] {
        content.insert(key.to_owned(), if is_shown { value } else { Value::Null });
    }
    content.insert("isCountComplete".to_owned(), json!(is_complete));
    let writable = call.caller.may("indexes_edit");
    let removable = writable && known.configured.is_none();
    let disable = if known.disabled() { "enable" } else { "disable" };
    let entry = Entry::new(PATH, name.as_str(), content)
        .with_acl(Acl { removable, writable, ..Acl::system() })
        .with_attributes(Attributes::new(&[], &EDITABLE, &[]));
    match writable {
        true => entry.editable().linking(&[disable, "roll-hot-buckets"]),
        false => entry.readable(),
    }
}

/// Returns `indexes.conf` of the files in force: `state.knowledge` is that of the start. All stanzas are
/// merged, so that it is read once for all indexes.
fn indexes_conf(state: &ApiState) -> Effective {
    state.apps.rules().conf("indexes")
}

/// Returns the settings from `indexes.conf` and REST, under Splunk's names.
fn settings(
    state: &ApiState,
    conf: &Effective,
    name: &IndexName,
    known: &KnownIndex,
) -> Map<String, Value> {
    let mut content = Map::new();
    // All settings in the index's stanza and in [default].
    for entry in conf.complete(name.as_str()) {
        content.insert(entry.key.clone(), json!(entry.value));
    }
    let path = |part: &str| format!("{}/{name}/{part}", state.info.home.display());
    content.extend(feed::content(json!({
        "ackLevel": state.ingest.ack_level(name).name(),
        "assureUTF8": false,
        "coldPath": path("objects"),
        "homePath": path("journal"),
        "thawedPath": path("objects"),
        "datatype": datatype(known),
        "defaultDatabase": DEFAULT_INDEX,
        "disabled": known.disabled(),
        "enableOnlineBucketRepair": true,
        "enableRealtimeSearch": false,
        "frozenTimePeriodInSecs": known.frozen_seconds(),
        "isInternal": name.is_internal(),
        "isReady": true,
        "isVirtual": false,
        "maxTotalDataSizeMB": known.total_mb(),
        "repFactor": 0,
        "rotatePeriodInSecs": state.ingest.settings().lifecycle.rotate_period.as_secs(),
        "sync": 0,
        "syncMeta": true,
    })));
    content
}

/// `event` or `metric`: whether searches of events read the index. Every index takes both.
fn datatype(known: &KnownIndex) -> &'static str {
    if known.is_metric() { METRIC } else { EVENT }
}

pub(super) struct Indexes;

/// An index and its contents.
pub(super) struct Index {
    pub(super) name: IndexName,
    known: KnownIndex,
    pub(super) held: Held,
    /// Whether all processes that may have events of it have answered.
    is_complete: bool,
}

impl Resource for Indexes {
    type Item = Index;

    fn about(&self) -> About {
        About { title: "indexes", path: PATH, one: "an index", many: "indexes" }
    }

    fn removal(&self) -> Removal {
        Removal::Rest
    }

    fn reloads(&self) -> bool {
        true
    }

    fn template(&self, _: &Call) -> Result<Option<Attributes>, RestError> {
        Ok(Some(Attributes::new(&["name"], &EDITABLE, &[])))
    }

    fn entry(&self, call: &Call, index: &Index) -> Result<Entry, RestError> {
        Ok(entry(call, &indexes_conf(&call.state), index))
    }

    fn entries(&self, call: &Call, indexes: &[Index]) -> Result<Vec<Entry>, RestError> {
        let conf = indexes_conf(&call.state);
        Ok(indexes.iter().map(|index| entry(call, &conf, index)).collect())
    }

    /// Users see the indexes they may search; all with `indexes_list_all` or `indexes_edit`.
    fn may_see(&self, call: &Call, index: &Index) -> bool {
        may_see(call, &index.name)
    }

    async fn list(&self, call: &Call) -> Result<Vec<Index>, RestError> {
        Ok(with_contents(&call.state, listed(call)).await)
    }

    async fn page(&self, call: &Call) -> Result<Option<(Vec<Index>, usize)>, RestError> {
        if feed::needs_contents(&call.params) {
            return Ok(None);
        }
        let listed = listed(call);
        let total = listed.len();
        let wanted = feed::page_by_name(listed, |(name, _)| name.as_str(), &call.params)?;
        Ok(Some((with_contents(&call.state, wanted).await, total)))
    }

    async fn find(&self, call: &Call) -> Result<Vec<Index>, RestError> {
        let index = found(&call.state, call.name())?;
        Ok(with_contents(&call.state, vec![index]).await)
    }

    async fn create(&self, call: &Call) -> Result<Index, RestError> {
        let Call { state, params, .. } = call;
        let name = IndexName::new(params.required("name")?)
            .map_err(|error| RestError::invalid(error.to_string()))?;
        if name.is_internal() && state.indexes.get(&name).is_none() {
            let text = format!(
                "invalid index name \"{name}\": it starts with an underscore, which only internal \
                 indexes do"
            );
            return Err(RestError::invalid(text));
        }
        if name.as_str() == FOR_ALL {
            let text = format!(
                "invalid index name \"{name}\": in indexes.conf, this is the stanza for all indexes"
            );
            return Err(RestError::invalid(text));
        }
        check_arguments(params, &name, |_| false)?;
        let definition = changed(IndexDefinition::default(), params)?;
        if !state.indexes.create(name.clone()).await? {
            let text = format!("an index with name={name} already exists");
            return Err(RestError::of_kind(ErrorKind::Conflict, text));
        }
        if definition != IndexDefinition::default() {
            state.indexes.define(&name, definition, &state.ingest).await?;
        }
        let (name, known) = found(state, name.as_str())?;
        Ok(Index { name, known, held: Held::default(), is_complete: true })
    }

    /// Changes how long events are kept, which searches read them, or whether the index is on. A setting
    /// that is read at a start only is refused.
    async fn edit(&self, call: &Call, index: Index) -> Result<Index, RestError> {
        let Call { state, params, .. } = call;
        let Index { name, known, held, is_complete } = index;
        let fixed = settings(state, &indexes_conf(state), &name, &known);
        for (key, value) in params.iter() {
            let same = fixed.get(key).is_some_and(|now| crate::filter::scalar(now) == value);
            if fixed.contains_key(key) && !EDITABLE.contains(&key) && !same {
                return Err(RestError::invalid(format!(
                    "{key} is defined in indexes.conf, which is read at startup; over REST, only {} can \
                     be changed",
                    EDITABLE.join(", ")
                )));
            }
        }
        check_arguments(params, &name, |key| fixed.contains_key(key))?;
        let definition = changed(known.definition, params)?;
        state.indexes.define(&name, definition, &state.ingest).await?;
        retain_soon(state, &name);
        let (name, known) = found(state, name.as_str())?;
        Ok(Index { name, known, held, is_complete })
    }

    async fn remove(&self, call: &Call, index: Index) -> Result<(), RestError> {
        let Index { name, known, .. } = index;
        if known.configured.is_some() {
            let text = format!(
                "the index \"{name}\" is defined in indexes.conf; disable it, or remove it there"
            );
            return Err(RestError::invalid(text));
        }
        let state = &call.state;
        Ok(state.indexes.remove(&name, &state.ingest, &state.shutdown).await?)
    }
}

/// Returns the indexes of a list that the caller may see.
fn listed(call: &Call) -> Vec<(IndexName, KnownIndex)> {
    let wanted = call.params.text("datatype").unwrap_or("all");
    let mut listed = call.state.indexes.all();
    listed.retain(|(name, known)| {
        let is_wanted = wanted == "all" || wanted == datatype(known);
        is_wanted && may_see(call, name)
    });
    listed
}

fn may_see(call: &Call, name: &IndexName) -> bool {
    let all = call.caller.may("indexes_list_all") || call.caller.may("indexes_edit");
    all || call.caller.rights.may_search(name)
}

/// An index that is there, switched on or not.
fn found(state: &ApiState, name: &str) -> Result<(IndexName, KnownIndex), RestError> {
    let named = IndexName::new(name).ok();
    let known = named.and_then(|name| state.indexes.get(&name).map(|known| (name, known)));
    known.ok_or_else(|| RestError::no_object(name))
}

pub(super) fn existing(state: &ApiState, name: &str) -> Result<IndexName, RestError> {
    found(state, name).map(|(name, _)| name)
}

/// Refuses arguments that would otherwise be ignored silently. `is_shown`: the arguments that an edit has
/// compared with the settings of the index.
fn check_arguments(
    params: &Params,
    index: &IndexName,
    is_shown: impl Fn(&str) -> bool,
) -> Result<(), RestError> {
    for (key, value) in params.iter() {
        let is_known = EDITABLE.contains(&key)
            || REQUEST_PARAMETERS.contains(&key)
            || IGNORED.contains(&key)
            || key.starts_with("eai:")
            || is_shown(key);
        if is_known || (ARCHIVES.contains(&key) && value.is_empty()) {
            continue;
        }
        if ARCHIVES.contains(&key) {
            return Err(RestError::invalid(format!(
                "{key} cannot be set over REST: set coldToFrozenDir in indexes.conf [{index}]"
            )));
        }
        return Err(RestError::unknown_argument(key));
    }
    Ok(())
}

/// The definition as the request changes it.
fn changed(mut definition: IndexDefinition, params: &Params) -> Result<IndexDefinition, RestError> {
    let number = |name: &str| -> Result<Option<u64>, RestError> {
        let number = params.number(name)?.map(|value| value as u64);
        match number.filter(|value| *value > MOST) {
            Some(value) => {
                Err(RestError::invalid(format!("{name} must be at most {MOST}, not {value}")))
            }
            None => Ok(number),
        }
    };
    if let Some(seconds) = number("frozenTimePeriodInSecs")? {
        definition.frozen_seconds = Some(seconds);
    }
    if let Some(size) = number("maxTotalDataSizeMB")? {
        definition.total_mb = Some(size);
    }
    if let Some(name) = params.text("ackLevel") {
        let level = AckLevel::named(name).ok_or_else(|| {
            let levels = AckLevel::NAMES.join(", ");
            RestError::invalid(format!("ackLevel must be one of {levels}, not \"{name}\""))
        })?;
        definition.ack_level = Some(level);
    }
    if let Some(kind) = params.text("datatype") {
        if kind != EVENT && kind != METRIC {
            let text = format!("datatype must be {EVENT} or {METRIC}, not \"{kind}\"");
            return Err(RestError::invalid(text));
        }
        definition.metric = Some(kind == METRIC);
    }
    if params.text("disabled").is_some() {
        definition.disabled = Some(params.flag("disabled"));
    }
    Ok(definition)
}

/// Applies the retention of an index now, and again when younger buckets are old enough.
fn retain_soon(state: &ApiState, name: &IndexName) {
    let Some(known) = state.indexes.get(name) else { return };
    let period = Duration::from_secs(known.frozen_seconds());
    if period > SHORT {
        return;
    }
    let (ingest, name, stop) = (state.ingest.clone(), name.clone(), state.shutdown.clone());
    state.shutdown.spawn(async move {
        for wait in [Duration::ZERO, period + Duration::from_secs(1)] {
            if stop.is_stopped() || !stop.sleep(wait).await || ingest.retain(&name).await.is_err() {
                return;
            }
        }
    });
}

/// Searches do not read a disabled index, and senders are refused.
async fn enable(call: Call) -> Result<Response, RestError> {
    switch(&call, false).await
}

async fn disable(call: Call) -> Result<Response, RestError> {
    switch(&call, true).await
}

async fn switch(call: &Call, off: bool) -> Result<Response, RestError> {
    let (name, known) = found(&call.state, call.name())?;
    let mut definition = known.definition;
    definition.disabled = Some(off);
    call.state.indexes.define(&name, definition, &call.state.ingest).await?;
    respond(call).await
}

/// Rolls the hot buckets and waits until they are in object storage. An indexer rolls its own, as in Splunk;
/// another process of a cluster rolls those of all processes.
async fn roll_hot_buckets(call: Call) -> Result<Response, RestError> {
    let name = existing(&call.state, call.name())?;
    let own = call.state.ingest.roll_unless_stuck(&name, &call.state.catalog);
    let mut warnings = Vec::new();
    match &call.state.directory {
        None => own.await?,
        Some(_) if call.state.intake.is_indexer => {
            own.await?;
            let text = "only the hot buckets of this indexer were rolled; to roll those of all indexers, ask a \
                        search head or a control plane";
            warnings.push(text.to_owned());
        }
        Some(directory) => {
            let (own, failed) = tokio::join!(own, directory.roll(&name));
            own?;
            if !failed.is_empty() {
                let text = format!(
                    "the hot buckets of {name} are in object storage, except those of: {}",
                    failed.join(", ")
                );
                return Err(RestError::of_kind(ErrorKind::Unavailable, text));
            }
        }
    }
    retain_soon(&call.state, &name);
    respond_warned(&call, warnings).await
}

async fn respond(call: &Call) -> Result<Response, RestError> {
    respond_warned(call, Vec::new()).await
}

async fn respond_warned(call: &Call, warnings: Vec<String>) -> Result<Response, RestError> {
    let index = found(&call.state, call.name())?;
    let shown = with_contents(&call.state, vec![index]).await;
    let Some(index) = shown.first() else { return Err(RestError::no_object(call.name())) };
    let entry = entry(call, &indexes_conf(&call.state), index);
    feed::respond_warned("indexes", PATH, entry, warnings, &call.params)
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    let mut all = object_cases(PATH, "maxTotalDataSizeMB=5", "frozenTimePeriodInSecs=99");
    let none = "Could not find object id=none";
    all.extend([
        case(&format!("POST {PATH}"), "name=Not+valid", 400, "Not valid"),
        case(&format!("POST {PATH}"), "name=_mine", 400, "starts with an underscore"),
        case(&format!("POST {PATH}"), "name=default", 400, "the stanza for all indexes"),
        case(&format!("POST {PATH}/one"), "maxTotalDataSizeMB=much", 400, "must be a whole number"),
        case(&format!("POST {PATH}/one"), "maxTotalDataSizeMB=4294967295", 200, "4294967295"),
        case(
            &format!("POST {PATH}/one"),
            "maxTotalDataSizeMB=4294967296",
            400,
            "maxTotalDataSizeMB must be at most 4294967295, not 4294967296",
        ),
        case(
            &format!("POST {PATH}"),
            "name=no&frozenTimePeriodInSecs=8639999999913600",
            400,
            "frozenTimePeriodInSecs must be at most 4294967295",
        ),
        case(&format!("POST {PATH}/one"), "homePath=x", 400, "is defined in indexes.conf"),
        case(&format!("POST {PATH}/one"), "nonsense=1", 400, "\\\"nonsense\\\" is not supported"),
        case(&format!("GET {PATH}/one"), "", 200, "\"ackLevel\":\"local\""),
        case(&format!("POST {PATH}/one"), "ackLevel=sure", 400, "local, remote, replicated"),
        case(&format!("POST {PATH}/one"), "ackLevel=remote", 200, "\"ackLevel\":\"remote\""),
        case(&format!("POST {PATH}"), "name=no&ackLevel=sure", 400, "local, remote, replicated"),
        case(&format!("POST {PATH}"), "name=no&nonsense=1", 400, "is not supported"),
        case(&format!("POST {PATH}"), "name=no&coldToFrozenDir=%2Fa", 400, "in indexes.conf [no]"),
        case(&format!("POST {PATH}/one"), "coldToFrozenDir=%2Fa", 400, "in indexes.conf [one]"),
        case(&format!("GET {PATH}/no"), "", 404, "Could not find object id=no"),
        case(
            &format!("POST {PATH}"),
            "name=sure&ackLevel=replicated&datatype=event&homePath=%24SPLUNK_DB%2Fx&maxHotBuckets=3",
            201,
            "\"ackLevel\":\"replicated\"",
        ),
        case(&format!("POST {PATH}"), "name=p&datatype=none", 400, "must be event or metric"),
        case(&format!("POST {PATH}"), "name=points&datatype=metric", 201, "\"datatype\":\"metric\""),
        case(&format!("GET {PATH}/points"), "", 200, "\"datatype\":\"metric\""),
        case(&format!("GET {PATH}?datatype=metric"), "", 200, "\"total\":2"),
        case(&format!("GET {PATH}?datatype=event&count=0&search=points"), "", 200, "\"total\":0"),
        case(&format!("GET {PATH}?count=0&search=points"), "", 200, "\"name\":\"points\""),
        case(&format!("GET {PATH}?datatype=metric&count=1"), "", 200, "\"total\":2"),
        case(&format!("GET {PATH}?datatype=metric&count=1&offset=1"), "", 200, "\"name\":\"points\""),
        case(&format!("GET {PATH}?datatype=metric&count=x"), "", 400, "must be a whole number"),
        case(&format!("POST {PATH}/points"), "datatype=none", 400, "must be event or metric"),
        case(&format!("POST {PATH}/points"), "datatype=event", 200, "\"datatype\":\"event\""),
        case(&format!("GET {PATH}?datatype=event&count=0&search=points"), "", 200, "\"total\":1"),
        case(&format!("POST {PATH}/points"), "datatype=metric", 200, "\"datatype\":\"metric\""),
        case(&format!("POST {PATH}/one/disable"), "", 200, "\"disabled\":true"),
        case(&format!("POST {PATH}/none/disable"), "", 404, none),
        case(&format!("POST {PATH}/one/enable"), "", 200, "\"disabled\":false"),
        case(&format!("POST {PATH}/none/enable"), "", 404, none),
        case(&format!("POST {PATH}/one/roll-hot-buckets"), "", 200, "\"one\""),
        case(&format!("POST {PATH}/none/roll-hot-buckets"), "", 404, none),
        case(&format!("DELETE {PATH}/main"), "", 400, "is defined in indexes.conf"),
    ]);
    all.extend(removal_cases(PATH, 404));
    all
}
