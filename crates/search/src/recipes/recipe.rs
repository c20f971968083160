//! The recipe that is sent to an indexer: a normalized search, and the buckets of a share.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Duration;

use apps::Apps;
use arrow::datatypes::Schema;
use knowledge::Knowledge;
use model::{BucketHeader, BucketId, BucketShape, EventTime, IndexName, TimeRange};
use plan::{InnerSearch, PlanContext};
use serde::{Deserialize, Serialize};

use super::recording::Answers;
use crate::jobs::JobRequest;

/// Configuration files that planning does not read, because they are about processes.
const OF_PROCESSES: [&str; 12] = [
    "app",
    "authentication",
    "authorize",
    "deploymentclient",
    "distsearch",
    "indexes",
    "inputs",
    "limits",
    "outputs",
    "server",
    "serverclass",
    "web",
];

/// Settings of `props.conf` that planning reads from all apps, including those that the user cannot see.
const OF_ALL_APPS: [&str; 2] = ["TZ", "rename"];

/// Commands whose rows depend on local resources of a process, such as a geolocation database or a program.
const AT_THE_HEAD: [&str; 1] = ["iplocation"];

/// The position of a search within another one.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Inner {
    /// The commands after the inner search, as search text.
    pub(crate) tail: Option<String>,
}

/// A search, as the search head plans it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Search {
    version: String,
    /// Fingerprint of the configuration and of the limits.
    pub(crate) knowledge: u64,
    pub(crate) text: String,
    /// Set for an inner search.
    pub(crate) inner: Option<Inner>,
    pub(crate) owner: String,
    pub(crate) app: String,
    /// The bundle by whose apps the search is planned; `None` for the apps in force.
    #[serde(default)]
    pub(crate) bundle: Option<String>,
    pub(crate) hidden: Vec<String>,
    pub(crate) filter: Option<String>,
    pub(crate) restricted: Option<EventTime>,
    pub(crate) window: Option<Duration>,
    pub(crate) default_indexes: Vec<IndexName>,
    pub(crate) range: TimeRange,
    /// Earlier versions do not send it. Their recipes must be readable all the same, so that they are refused
    /// because of their version.
    #[serde(default = "all_times")]
    pub(crate) index_range: TimeRange,
    pub(crate) now: EventTime,
    pub(crate) timezone: String,
    pub(crate) sid: String,
    pub(crate) read_only: bool,
    pub(crate) server_name: String,
}

impl Search {
    /// Creates the recipe of a request in this context; `None` if other processes cannot plan it.
    pub(crate) fn of(request: &JobRequest, context: &PlanContext) -> Option<Self> {
        let timezone = context.timezone.iana_name()?.to_owned();
        Some(Self {
            version: version(),
            knowledge: fingerprint_with_rules(&context.knowledge, &context.rules, &context.limits),
            text: String::new(),
            inner: None,
            owner: request.owner.clone(),
            app: request.app.clone(),
            bundle: request.bundle.as_ref().and_then(Apps::checksum),
            hidden: request.rights.hidden(),
            filter: request.rights.limits().filter.clone(),
            restricted: context.restriction.earliest,
            window: context.restriction.window,
            default_indexes: context.default_indexes.clone(),
            range: context.range,
            index_range: context.index_range,
            now: context.now,
            timezone,
            sid: context.sid.clone(),
            read_only: request.read_only,
            server_name: context.host.server_name(),
        })
    }

    /// Replaces the text by the one with the results of subsearches; `None` if it has commands that other
    /// processes do not run.
    pub(crate) fn understood(self, text: &str) -> Option<Self> {
        let stays = AT_THE_HEAD.iter().any(|command| text.contains(command));
        (!stays).then(|| Self { text: text.to_owned(), ..self })
    }

    /// Creates the recipe of an inner search; `None` if it has commands that other processes do not run.
    pub(crate) fn around(self, inner: &InnerSearch<'_>) -> Option<Self> {
        let context = inner.context;
        let within = Self {
            inner: Some(Inner { tail: inner.tail.map(str::to_owned) }),
            restricted: context.restriction.earliest,
            window: context.restriction.window,
            default_indexes: context.default_indexes.clone(),
            range: context.range,
            index_range: context.index_range,
            ..self
        };
        within.understood(inner.text)
    }

    /// Checks that this process, with this version and configuration, would plan the search in the same way.
    ///
    /// # Errors
    /// What differs.
    pub(crate) fn check(&self, knowledge: u64) -> Result<(), String> {
        let own = version();
        if self.version != own {
            return Err(format!("it has version {own}, the search head {}", self.version));
        }
        if self.knowledge != knowledge {
            return Err("its apps or limits.conf differ from those of the search head".to_owned());
        }
        Ok(())
    }
}

fn all_times() -> TimeRange {
    TimeRange::ALL
}

/// Returns the version that both sides of a part must have: that of the program, and the fingerprint of the
/// code that plans and runs searches (`build.rs`). Two builds of one version may plan a search differently,
/// and give other rows in the same columns.
pub(crate) fn version() -> String {
    concat!(env!("CARGO_PKG_VERSION"), " (search code ", env!("KARST_SEARCH_CODE"), ")").to_owned()
}

/// Returns a fingerprint of the knowledge objects and limits on which the plan of a search depends.
pub(crate) fn fingerprint(knowledge: &Knowledge, limits: &plan::Limits) -> u64 {
    // Memory and planning time of a process do not change the plan.
    let limits = plan::Limits { memory_bytes: 0, plan_time: Duration::ZERO, ..limits.clone() };
    let mut hasher = DefaultHasher::new();
    (configuration(knowledge), format!("{limits:?}")).hash(&mut hasher);
    hasher.finish()
}

/// Returns the same fingerprint, including what planning reads from the rules of all apps. The views of users
/// do not contain all of these rules, and differ in what they contain.
pub(crate) fn fingerprint_with_rules(
    knowledge: &Knowledge,
    rules: &Knowledge,
    limits: &plan::Limits,
) -> u64 {
    struct Fingerprint(u64);
    let of_rules = rules.compiled_of(&["props"], |rules| {
        let mut hasher = DefaultHasher::new();
        for (layer, stanza) in rules.layers().stanzas("props") {
            for name in OF_ALL_APPS {
                if let Some(entry) = stanza.get(name) {
                    (layer, &stanza.name, name, &entry.value).hash(&mut hasher);
                }
            }
        }
        Fingerprint(hasher.finish())
    });
    let mut hasher = DefaultHasher::new();
    (fingerprint(knowledge, limits), of_rules.0).hash(&mut hasher);
    hasher.finish()
}

/// Returns a fingerprint of the configuration with which searches are planned. It is the same for all users
/// without private objects.
pub(crate) fn configuration(knowledge: &Knowledge) -> u64 {
    struct Fingerprint(u64);
    let layers = knowledge.compiled(|knowledge| {
        Fingerprint(knowledge.layers().fingerprint(|conf| !OF_PROCESSES.contains(&conf)))
    });
    layers.0
}

/// A part of a search.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Recipe {
    pub(crate) search: Search,
    pub(crate) answers: Answers,
    /// The branch of the plan.
    pub(crate) branch: usize,
    /// Names and types of the columns of the branch.
    pub(crate) columns: Vec<(String, String)>,
    /// Maximum number of events, newest first.
    pub(crate) events: Option<usize>,
    /// Whether all matching events must be counted.
    pub(crate) counts_all: bool,
    pub(crate) timeline: bool,
    pub(crate) previews: bool,
    /// Whether damaged buckets may be skipped.
    pub(crate) allow_partial: bool,
    /// The hot buckets of the share, if it has any.
    pub(crate) hot: Option<HotShare>,
    buckets: Vec<BucketHeader>,
    /// The distinct shapes of buckets, by index.
    shapes: Vec<BucketShape>,
    shape_of: Vec<Option<usize>>,
}

impl Recipe {
    /// Returns the same part over other stored buckets.
    pub(crate) fn over(mut self, buckets: &[Arc<BucketHeader>]) -> Self {
        let mut places: HashMap<&BucketShape, usize> = HashMap::new();
        let mut shapes = Vec::new();
        self.shape_of = Vec::with_capacity(buckets.len());
        for shape in buckets.iter().map(|bucket| bucket.shape.as_deref()) {
            self.shape_of.push(shape.map(|shape| {
                *places.entry(shape).or_insert_with(|| {
                    shapes.push(shape.clone());
                    shapes.len() - 1
                })
            }));
        }
        self.shapes = shapes;
        self.buckets = buckets.iter().map(|bucket| (**bucket).clone()).collect();
        self
    }

    /// Returns the same part over hot buckets.
    pub(crate) fn over_hot(self, hot: HotShare) -> Self {
        Self { hot: Some(hot), ..self }
    }

    /// Returns the stored buckets of the share.
    pub(crate) fn buckets(&mut self) -> Arc<[Arc<BucketHeader>]> {
        let shapes: Vec<_> = std::mem::take(&mut self.shapes).into_iter().map(Arc::new).collect();
        let buckets = std::mem::take(&mut self.buckets).into_iter().zip(&self.shape_of);
        let with_shape = |(header, shape): (BucketHeader, &Option<usize>)| {
            let shape = shape.and_then(|at| shapes.get(at)).cloned();
            Arc::new(BucketHeader { shape, ..header })
        };
        buckets.map(with_shape).collect()
    }

    /// Returns the number of buckets.
    pub(crate) fn count(&self) -> usize {
        self.buckets.len() + self.hot.as_ref().map_or(0, |hot| hot.buckets.len())
    }

    pub(crate) fn new(search: Search, answers: Answers, part: PartOf<'_>) -> Self {
        Self {
            search,
            answers,
            branch: part.branch,
            columns: columns(part.schema),
            events: part.events,
            counts_all: part.counts_all,
            timeline: part.timeline,
            previews: part.previews,
            allow_partial: part.allow_partial,
            hot: None,
            buckets: Vec::new(),
            shapes: Vec::new(),
            shape_of: Vec::new(),
        }
    }
}

/// Hot buckets in an open view of the process that reads them.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct HotShare {
    pub(crate) view: u64,
    pub(crate) buckets: Vec<BucketId>,
}

/// The part of the search, and the options with which it runs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct PartOf<'a> {
    pub(crate) branch: usize,
    pub(crate) schema: &'a Schema,
    pub(crate) events: Option<usize>,
    pub(crate) counts_all: bool,
    pub(crate) timeline: bool,
    pub(crate) previews: bool,
    pub(crate) allow_partial: bool,
}

/// Serializes the columns of a schema for comparison.
pub(crate) fn columns(schema: &Schema) -> Vec<(String, String)> {
    let fields = schema.fields().iter();
    fields.map(|field| (field.name().clone(), field.data_type().to_string())).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use serde_json::json;

    use super::*;

    /// Returns a search without `index_range`, as earlier versions send it.
    fn search(version: &str) -> Search {
        serde_json::from_value(json!({
            "version": version, "knowledge": 7, "text": "", "inner": null, "owner": "me", "app": "search",
            "hidden": [], "filter": null, "restricted": null, "window": null, "default_indexes": [],
            "range": {"earliest": 0, "latest": 1}, "now": 0, "timezone": "UTC", "sid": "1",
            "read_only": false, "server_name": "sh1",
        }))
        .unwrap()
    }

    #[test]
    fn a_search_of_another_version_or_of_another_build_of_it_is_refused() {
        let own = version();
        search(&own).check(7).unwrap();
        let (number, code) = own.split_once(" (search code ").unwrap();
        assert_eq!(number, env!("CARGO_PKG_VERSION"));
        assert!(code.len() == 17 && code != "0000000000000000)", "{code}");
        let other = format!("{number} (search code 0000000000000000)");
        for version in ["0.0.1", number, other.as_str()] {
            let refusal = search(version).check(7).unwrap_err();
            assert!(refusal.starts_with("it has version ") && refusal.contains(&own), "{refusal}");
            assert!(refusal.ends_with(version), "{refusal}");
        }
        assert!(search(&own).check(8).unwrap_err().contains("limits.conf differ"));
    }
}
