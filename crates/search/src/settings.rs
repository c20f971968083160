//! Limits and sizes of searching. Names are `limits.conf`'s where Splunk has the setting.

use std::path::PathBuf;
use std::time::Duration;

use conf::{Layers, Setting, Type, Unit};

use crate::Error;

conf::settings! {
    /// Settings of searches. A limit that truncates a result adds a message to the job.
    #[derive(Debug, Clone)]
    pub struct Settings {
        "limits"["search"] {
            /// Number of bucket partitions that a search scans in parallel. More pipelines finish one
            /// search sooner, but leave fewer resources for other searches. Default: the number of
            /// processors. Splunk: 1.
            "batch_search_max_pipeline" => pub batch_search_max_pipeline: Option<usize> = "", Type::number(1), stored;
            /// Maximum number of concurrent searches (jobs, exports, SQL queries), independent of the number
            /// of processors; further searches wait, jobs as QUEUED.
            "base_max_searches" => pub base_max_searches: usize = "6", Type::number(1), stored;
            /// Additional concurrent searches per processor.
            "max_searches_per_cpu" => pub max_searches_per_cpu: usize = "1", Type::number(1), stored;
            /// Maximum number of queued searches; further searches are refused.
            "max_queued_searches" => pub max_queued_searches: usize = "1000", Type::number(1), live;
            /// Maximum number of events that an event search keeps, newest first, unless the request sets
            /// another number. Splunk: 500000.
            "max_count" => pub max_count: usize = "10000", Type::number(1), live;
            /// Time for which a finished job is kept after its last access.
            "ttl" => pub ttl: Duration = "600", Type::seconds(1), live;
            /// A finished job whose lifetime is set to at least this time (`action=setttl`) is put into
            /// object storage, as one that is saved. 0: only those that are saved.
            "remote_ttl" => pub remote_ttl: Duration = "3600", Type::seconds(0), live;
            /// Size of the result of one job in object storage; a larger one stays at the search head that
            /// ran it.
            "max_saved_result_mb" => pub saved_result_bytes: usize = "256", Type::megabytes(1), live;
            /// Jobs of all users in object storage. What lists show of each is in the memory of all
            /// processes.
            "max_saved_jobs" => pub max_saved_jobs: usize = "1000", Type::number(0), live;
            /// Maximum memory of a search for sorts, joins and groups, and the same amount for computed
            /// values and its result. Above the limit, sorts and groups spill to disk, and other operations
            /// fail. Splunk: 200.
            "max_mem_usage_mb" => pub search_memory_bytes: usize = "512", Type::megabytes(1), stored;
            /// The same limit for all running searches together. A search that needs more than its small
            /// initial share waits until memory is available.
            "total_mem_usage_mb" => pub memory_bytes: usize = "2048", Type::megabytes(1);
            /// Maximum disk space of all running searches together for sorts and groups that do not fit in
            /// memory. A search that needs more fails.
            "max_spill_mb" => pub spill_bytes: u64 = "20480", Type::megabytes(1), stored;
            /// Time between two previews of a search.
            "preview_interval_ms" => pub preview_interval: Duration = "600", Type::milliseconds(1), live;
            /// Maximum share of a search's run time spent on previews; a slow preview delays the next one.
            "preview_duty_cycle" => pub preview_duty_cycle: f64 = "0.25", Type::Fraction, live;
            /// Maximum memory of a search for previews; above it, previews stop, with a message.
            "preview_memory_mb" => pub preview_bytes: usize = "128", Type::megabytes(1), live;
            /// Price of 1,000 GET requests in dollars, for the job inspector. A search makes no other kinds
            /// of requests.
            "s3_price_get_per_1000" => pub s3_price_get_per_1000: f64 = "0.0004", PRICE, live;
            /// Maximum number of bucket summaries that are read while a search is planned, to prune buckets
            /// and to count events, newest first. Further summaries are read when the search reaches their
            /// buckets, so that planning a search over millions of buckets stays short.
            "max_plan_summaries" => pub plan_summaries: usize = "10000", Type::number(0), live;
            /// Maximum number of buckets that the estimate of a search looks up in the cache. With more
            /// buckets, an evenly chosen sample is used.
            "max_estimated_buckets" => pub estimated_buckets: usize = "500", Type::number(1), live;
            /// Whether searches skip damaged buckets and report this. If false, they fail.
            "allow_partial_results" => pub allow_partial_results: bool = "true", Type::Boolean, live;
            /// Memory for the rows of lookup files and, a fifth of it, for the indexes of large ones. Both
            /// are kept for the next searches, those of the lookups that were used last. A lookup that does
            /// not fit is read again by each search.
            "max_lookup_memory_mb" => pub lookup_bytes: usize = "512", Type::megabytes(1);
            /// Memory for the word filters of hot rows, by which searches for rare words skip most of the
            /// rows. The second such search makes them, about 7 % of the size of the texts. Rows whose
            /// filters do not fit are read by each search. 0: no filters are made.
            "max_hot_words_mb" => pub hot_word_bytes: usize = "64", Type::megabytes(0), live;
            /// Memory for the rows of stored buckets that passed costly filters, such as those on fields
            /// that add-ons set, and filters of searches whose values are remembered: one bit for each row
            /// and filter, for the next searches with the same filter. The filter that was not used for
            /// longest is dropped first. 0: each search applies its filters.
            "max_filter_memory_mb" => pub filter_bytes: usize = "32", Type::megabytes(0);
            /// Memory for the values of fields that add-ons set, as searches have computed them for the rows
            /// of stored buckets, for the next searches that read these fields. The field that was not used
            /// for longest is dropped first. 0: each search computes its values.
            "max_computed_memory_mb" => pub computed_bytes: usize = "64", Type::megabytes(0);
        }
        "limits"["searchresults"] {
            /// Maximum number of rows that a report keeps. Splunk: 50000.
            "maxresultrows" => pub max_result_rows: usize = "500000", Type::number(1), live;
        }
        fixed {
            /// Maximum size of the results of all kept jobs in bytes; above it, new searches are refused
            /// until jobs expire or are deleted.
            pub kept_result_bytes: usize = 4 << 30;
            /// Directory for spilled sorts and groups; `None` uses the system's directory for temporary
            /// files.
            pub spill_directory: Option<PathBuf> = None;
            /// The identity of this process in the ids of its jobs, if search heads forward requests about
            /// jobs.
            pub sid_owner: Option<String> = None;
            /// Rows per batch in a plan.
            pub batch_rows: usize = 8_192;
            /// Open bucket readers (footers and index directories) kept in memory.
            pub open_buckets: usize = 4_096;
            /// Maximum number of distinct values that a field summary counts exactly; above it, the count is
            /// a lower bound.
            pub field_summary_values: usize = 10_000;
            /// The number of processors, read once: finding it opens files of the system.
            pub cores: usize = cores();
        }
        nested {
            /// Limits of a single search.
            pub plan: plan::Limits;
            /// Limits of programs of apps.
            pub scripts: scripts::Settings;
            /// Settings of distributed searches.
            pub parts: PartSettings;
            /// Settings of reads ahead of searches.
            pub warming: WarmingSettings;
        }
    }
}

conf::settings! {
    /// Settings of searches whose parts other processes run, and of the bundles that plan them.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct PartSettings {
        "distsearch"["distributedSearch"] {
            /// Minimum number of stored events of a search for which the indexers of the cluster read the
            /// buckets. With fewer events, the search head reads them itself. 0: the indexers always read
            /// them.
            "min_events" => pub min_events: u64 = "1000000", Type::number(0);
            /// Time without a heartbeat after which an indexer that runs a part of a search is considered
            /// lost. Another process then restarts the part.
            "heartbeat_timeout" => pub silence: Duration = "5", Type::seconds(1);
            /// Memory for the buffered rows of one part of a search until the part ends. Rows of larger
            /// parts are used as they arrive: if the indexer is lost then, the results are incomplete.
            "buffer_mb" => pub buffer_bytes: usize = "64", Type::megabytes(1);
        }
        "distsearch"["replicationSettings"] {
            /// Time for which a search bundle (a version of the installed apps) is kept after another one has
            /// replaced it, for searches with `bundle`. At most 500 bundles are kept.
            "bundle_retention" => pub bundle_retention: Duration = "2592000", Type::seconds(1);
        }
    }
}

conf::settings! {
    /// Settings of reads ahead of the searches that other processes run at the moment.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct WarmingSettings {
        "server"["cachemanager"] {
            /// Maximum share of the part for footers and term indexes (`index_percent`) that an indexer fills
            /// with those of buckets that another indexer reads, so that it reads them from its cache if the
            /// other one is lost. 0: they are not read in advance.
            "warm_percent" => pub percent: u64 = "20", Type::of(Unit::Percent, 0, 90);
            /// Maximum size of the footers and term indexes that are read in advance per second.
            "max_warm_rate" => pub bytes_per_second: u64 = "8", Type::megabytes(1);
        }
        "server"["clustering"] {
            /// Time in which an indexer that has started with an empty cache gets its share of the stored
            /// buckets, step by step. Until it has a bucket, the indexer that had it before reads it. 0: it
            /// gets its whole share at once.
            "ramp_period" => pub ramp_period: Duration = "600", Type::seconds(0);
        }
    }
}

const PRICE: Type = Type::Decimal { least: 0.0, most: 1e6 };

/// All setting declarations of this crate.
pub const DECLARED: &[&[Setting]] = &[
    Settings::SETTINGS,
    PartSettings::SETTINGS,
    WarmingSettings::SETTINGS,
    scripts::Settings::SETTINGS,
    UNUSED,
];

/// Settings of Splunk's `limits.conf` that have no effect.
const UNUSED: &[Setting] = &conf::without_effect(
    "limits",
    [
        "approx_dc_threshold",
        "avg_extractor_time",
        "dc_digest_bits",
        "default_save_ttl",
        "extract_all",
        "extraction_cutoff",
        "indexed_kv_limit",
        "max_extractor_time",
        "max_mem_usage",
        "max_rows_per_query",
        "maxp",
        "maxvaluesize",
        "status_buckets",
        "subsearch_maxtime",
        "subsearch_timeout",
        "ttl_*",
    ],
);

impl Settings {
    /// Reads the settings, and limits each step of a plan to the memory of a search.
    ///
    /// # Errors
    /// [`Error::Setting`] names the value that does not fit.
    pub fn of(layers: &Layers) -> Result<Self, Error> {
        let mut settings = Self::read(layers)?;
        settings.plan.memory_bytes = settings.search_memory_bytes;
        Ok(settings)
    }

    /// Returns these settings with those that can be changed over REST, which `now` has. The settings that
    /// divide the memory of the process and start programs are read from files only.
    #[must_use]
    pub fn changed(&self, now: &Self) -> Self {
        Self {
            memory_bytes: self.memory_bytes,
            lookup_bytes: self.lookup_bytes,
            filter_bytes: self.filter_bytes,
            computed_bytes: self.computed_bytes,
            kept_result_bytes: self.kept_result_bytes,
            spill_directory: self.spill_directory.clone(),
            sid_owner: self.sid_owner.clone(),
            batch_rows: self.batch_rows,
            open_buckets: self.open_buckets,
            field_summary_values: self.field_summary_values,
            cores: self.cores,
            plan: plan::Limits { plan_depth: self.plan.plan_depth, ..now.plan.clone() },
            scripts: self.scripts.clone(),
            parts: self.parts.clone(),
            warming: self.warming.clone(),
            ..now.clone()
        }
    }

    /// Returns these settings with those of [`Self::changed`] that take effect immediately: the others need a
    /// new session or new semaphores.
    pub(crate) fn live(&self, now: &Self) -> Self {
        let changed = self.changed(now);
        Self {
            batch_search_max_pipeline: self.batch_search_max_pipeline,
            base_max_searches: self.base_max_searches,
            max_searches_per_cpu: self.max_searches_per_cpu,
            search_memory_bytes: self.search_memory_bytes,
            spill_bytes: self.spill_bytes,
            plan: plan::Limits { memory_bytes: self.plan.memory_bytes, ..changed.plan.clone() },
            ..changed
        }
    }

    /// Returns the number of bucket partitions that a search scans in parallel.
    pub(crate) fn pipelines(&self) -> usize {
        self.batch_search_max_pipeline.unwrap_or(self.cores).max(1)
    }

    /// Returns the maximum number of concurrent searches.
    pub(crate) fn max_searches(&self) -> usize {
        self.base_max_searches.saturating_add(self.max_searches_per_cpu.saturating_mul(self.cores))
    }
}

fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::{Effect, Layer};

    use super::*;

    fn read(conf: &str) -> Result<Settings, Error> {
        let layers = Layers::builtin().with(Layer::SystemLocal, "limits", conf);
        Settings::of(&layers)
    }

    #[test]
    fn files_set_previews_and_prices() {
        let conf = "[search]\npreview_interval_ms = 250\npreview_duty_cycle = 0.5\n\
                    preview_memory_mb = 16\ns3_price_get_per_1000 = 0.00043";
        let settings = read(conf).unwrap();
        assert_eq!(settings.preview_interval, Duration::from_millis(250));
        assert_eq!(settings.preview_bytes, 16 << 20);
        let given = (settings.preview_duty_cycle, settings.s3_price_get_per_1000);
        assert_eq!(given, (0.5, 0.000_43));
    }

    #[test]
    fn files_set_what_searches_may_hold() {
        let conf = "[subsearch]\nmaxout = 7\nmaxtime = 5\n[join]\nsubsearch_maxout = 8\n\
                    [stats]\nlist_maxsize = 0\nmaxvalues = 9\n[discretize]\nmaxbins = 10\n\
                    [search]\nmax_plan_time = 11\n";
        let limits = read(conf).unwrap().plan;
        let rows = (limits.subsearch_rows, limits.joined_rows, limits.bins);
        assert_eq!(rows, (7, 8, 10));
        assert_eq!((limits.listed_values, limits.distinct_values), (0, 9));
        let times = (limits.subsearch_time, limits.plan_time);
        assert_eq!(times, (Duration::from_secs(5), Duration::from_secs(11)));
        let error = read("[subsearch]\nmaxout = many").unwrap_err().to_string();
        assert!(error.contains("[subsearch] maxout = many"), "{error}");
    }

    /// A valid value other than the default.
    fn other(setting: &Setting) -> String {
        match setting.kind {
            Type::Boolean => (setting.default != "true").to_string(),
            Type::Number { least, .. } => (least + 17).to_string(),
            Type::Decimal { .. } | Type::Fraction => "0.5".to_owned(),
            Type::Choice(words) => {
                (*words.iter().find(|word| **word != setting.default).unwrap()).to_owned()
            }
            _ => "other".to_owned(),
        }
    }

    #[test]
    fn settings_are_changed_as_they_are_declared() {
        let start = read("").unwrap();
        let declared = DECLARED.iter().chain(&[plan::Limits::SETTINGS]).copied().flatten();
        let used: Vec<&Setting> = declared.filter(|one| one.effect != Effect::None).collect();
        assert!(used.len() > 30, "{}", used.len());
        for setting in used {
            let Setting { conf, stanza, name, effect, .. } = *setting;
            let text = format!("[{stanza}]\n{name} = {}", other(setting));
            let layers = Layers::builtin().with(Layer::SystemStored, conf, &text);
            let now = Settings::of(&layers).unwrap();
            let differs = |some: &Settings| format!("{some:?}") != format!("{start:?}");
            assert!(differs(&now), "{text}");
            let is_of_rest = matches!(effect, Effect::Live | Effect::Stored);
            assert_eq!(differs(&start.changed(&now)), is_of_rest, "{text}");
            assert_eq!(differs(&start.live(&now)), effect == Effect::Live, "{text}");
        }
    }

    #[test]
    fn a_bad_value_is_named() {
        for bad in ["preview_duty_cycle = 1", "preview_memory_mb = 0", "s3_price_get_per_1000 = x"]
        {
            let error = read(&format!("[search]\n{bad}")).unwrap_err().to_string();
            assert!(error.contains(bad), "{error}");
        }
    }
}
