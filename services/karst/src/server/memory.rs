//! `--memory-limit`: one limit for the process, divided among the parts that have settings of their own.
//!
//! A setting of a file or flag keeps its value. Without the limit nothing is derived, and every setting has
//! its default. A fifth of the limit is not divided: it is reserved for the program, the catalog and all
//! parts without a limit.

use std::fmt::Write;

use anyhow::{Context, Result, bail};
use api::{FlagSetting, MemoryLimits, MemoryShare};
use conf::{Layer, Layers};
use runtime::memory::{Consumer, divide, shown};

use super::roles::Roles;
use super::setup::Setup;
use super::{ingest_conf, request_conf, store_conf};
use crate::config::{MemoryLimit, ServerOptions};

const MIB: u64 = 1 << 20;
/// Limit below which no process works.
const LEAST: u64 = 512 * MIB;
/// Part of the memory of machine or container that `auto` takes.
const AUTO_PERCENT: u64 = 80;
/// Part of the limit that is not divided.
const REST_PERCENT: u64 = 20;
/// Memory of hot rows per byte of their text, at most (`HotRows::weight` in `ingest`).
const HOT: u64 = 2;
/// Memory of a bucket that is encoded per byte of its text (`encodeConcurrency`).
const ENCODED: u64 = 3;
/// Queues of a pipeline set.
const QUEUES: u64 = 5;
/// A search may take this part of the memory of all.
const SEARCH: u64 = 4;
/// The place of derived settings.
const FLAG: &str = "--memory-limit (KARST_MEMORY_LIMIT)";

/// The unit in which a setting is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Unit {
    Bytes,
    Megabytes,
}

/// A setting with the memory of a part.
#[derive(Debug)]
struct Part {
    name: &'static str,
    /// File, stanza, name; `None` for a limit without a setting.
    setting: Option<(&'static str, &'static str, &'static str)>,
    unit: Unit,
    /// Bytes of memory per byte of the setting.
    factor: u64,
    weight: u32,
    /// Bounds of the setting, in bytes.
    bounds: (u64, u64),
    /// The value in force without the limit, in bytes.
    value: u64,
    is_set: bool,
}

/// The settings that hold memory, as they are in force. The default limits nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Memory {
    limit: Option<u64>,
    parts: Vec<Derived>,
    search: Option<u64>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Derived {
    name: &'static str,
    setting: Option<(&'static str, &'static str, &'static str)>,
    unit: Unit,
    factor: u64,
    /// Bytes of the setting.
    value: u64,
    source: &'static str,
}

impl Memory {
    /// Divides the limit of the options.
    ///
    /// # Errors
    /// If a setting is invalid, the memory of the machine is unknown, or the parts need more than the limit.
    pub(crate) fn read(setup: &Setup, options: &ServerOptions, roles: Roles) -> Result<Self> {
        let limit = match options.memory_limit {
            None => None,
            Some(MemoryLimit::Bytes(bytes)) => Some(bytes),
            Some(MemoryLimit::Auto) => {
                let memory = runtime::process::memory().context(
                    "--memory-limit auto: the memory of this machine is unknown; give a number of bytes",
                )?;
                Some(memory / 100 * AUTO_PERCENT)
            }
        };
        let search_is_set = is_set(&setup.layers, "limits", "search", EACH);
        Self::divided(parts(setup, options, roles)?, limit, search_is_set)
    }

    fn divided(parts: Vec<Part>, limit: Option<u64>, search_is_set: bool) -> Result<Self> {
        let derived = |part: &Part, value, source| Derived {
            name: part.name,
            setting: part.setting,
            unit: part.unit,
            factor: part.factor,
            value,
            source,
        };
        let word = |part: &Part| if part.is_set { "set" } else { "default" };
        let Some(limit) = limit else {
            let parts = parts.iter().map(|part| derived(part, part.value, word(part))).collect();
            return Ok(Self { limit, parts, search: None });
        };
        if limit < LEAST {
            bail!(
                "--memory-limit: {} is too little for a server; give at least 512MB",
                shown(limit)
            );
        }
        let consumers: Vec<Consumer> = parts
            .iter()
            .map(|part| Consumer {
                name: part.name,
                weight: part.weight,
                least: part.bounds.0.saturating_mul(part.factor),
                most: part.bounds.1.saturating_mul(part.factor),
                set: part.is_set.then(|| part.value.saturating_mul(part.factor)),
            })
            .collect();
        let available = limit - limit / 100 * REST_PERCENT;
        let shares =
            divide(available, &consumers).map_err(|error| too_little(&error, limit, &parts))?;
        let parts: Vec<Derived> = parts
            .iter()
            .zip(shares)
            .map(|(part, share)| match share.is_set {
                true => derived(part, part.value, "set"),
                false => derived(part, rounded(share.bytes / part.factor, part.unit), "derived"),
            })
            .collect();
        let searches = parts.iter().find(|part| part.name == SEARCHES).map(|part| part.value);
        let search =
            searches.filter(|_| !search_is_set).map(|all| rounded(all / SEARCH, Unit::Megabytes));
        Ok(Self { limit: Some(limit), parts, search: search.map(|bytes| bytes.max(MIB)) })
    }

    /// Returns the bytes that are derived for a setting; `None` if it keeps its own value.
    fn derived(&self, name: &str) -> Option<u64> {
        let part = self.parts.iter().find(|part| part.name == name && part.source == "derived");
        part.map(|part| part.value)
    }

    fn derived_size(&self, name: &str) -> Option<usize> {
        self.derived(name).map(|bytes| usize::try_from(bytes).unwrap_or(usize::MAX))
    }

    pub(crate) fn limit_ingest(&self, settings: &mut ingest::Settings) {
        settings.max_hot_memory = self.derived(HOT_BUCKETS).unwrap_or(settings.max_hot_memory);
        settings.max_data_size = self.derived(ENCODING).unwrap_or(settings.max_data_size);
        settings.queue_size = self.derived(QUEUE).unwrap_or(settings.queue_size);
    }

    pub(crate) fn limit_search(&self, settings: &mut search::Settings) {
        if let Some(bytes) = self.derived_size(SEARCHES) {
            settings.memory_bytes = bytes;
        }
        if let Some(bytes) = self.search.and_then(|bytes| usize::try_from(bytes).ok()) {
            settings.search_memory_bytes = bytes;
            settings.plan.memory_bytes = bytes;
        }
        if let Some(bytes) = self.derived_size(RESULTS) {
            settings.kept_result_bytes = bytes;
        }
        settings.lookup_bytes = self.derived_size(LOOKUPS).unwrap_or(settings.lookup_bytes);
    }

    pub(crate) fn limit_cache(&self, settings: &mut cache::Settings) {
        settings.dram_bytes = self.derived_size(CACHE).unwrap_or(settings.dram_bytes);
    }

    pub(crate) fn limit_catalog(&self, settings: &mut catalog::Settings) {
        settings.summary_bytes = self.derived_size(SUMMARIES).unwrap_or(settings.summary_bytes);
    }

    pub(crate) fn limit_peers(&self, settings: &mut peers::Settings) {
        settings.held_bytes = self.derived_size(PEER_ROWS).unwrap_or(settings.held_bytes);
    }

    /// Bytes for requests, in place of the default.
    pub(crate) fn requests(&self) -> Option<usize> {
        self.derived_size(REQUESTS)
    }

    /// Returns the settings that the limit sets, for the list of effective settings.
    pub(crate) fn flags(&self) -> Vec<FlagSetting> {
        let of = |(conf, stanza, name), unit, bytes: u64| FlagSetting {
            conf,
            stanza,
            name,
            value: match unit {
                Unit::Bytes => bytes.to_string(),
                Unit::Megabytes => (bytes / MIB).to_string(),
            },
            flag: FLAG,
        };
        let derived = self.parts.iter().filter(|part| part.source == "derived");
        let flags = derived.filter_map(|part| Some(of(part.setting?, part.unit, part.value)));
        let search =
            self.search.map(|bytes| of(("limits", "search", EACH), Unit::Megabytes, bytes));
        flags.chain(search).collect()
    }

    /// Returns the limits as administrators see them.
    pub(crate) fn view(&self) -> MemoryLimits {
        let share = |part: &Derived| MemoryShare {
            name: part.name,
            setting: part
                .setting
                .map(|(conf, stanza, name)| format!("{conf}.conf [{stanza}] {name}")),
            setting_bytes: part.value,
            bytes: part.value.saturating_mul(part.factor),
            source: part.source,
        };
        MemoryLimits {
            limit: self.limit,
            available: runtime::process::memory(),
            shares: self.parts.iter().map(share).collect(),
        }
    }

    /// Says at the start how the limit is divided; without one, whether the defaults are more than there is.
    pub(crate) fn tell(&self) {
        let view = self.view();
        let mut text = String::new();
        for share in &view.shares {
            let _ = write!(text, ", {} {} ({})", share.name, shown(share.bytes), share.source);
        }
        let text = text.trim_start_matches(", ");
        let sum: u64 = view.shares.iter().map(|share| share.bytes).sum();
        if let Some(limit) = view.limit {
            tracing::info!("memory limit {}: {text}", shown(limit));
        } else if let Some(available) = view.available.filter(|available| sum > *available) {
            tracing::info!(
                "the memory limits add up to {}, and only {} are available: --memory-limit divides the \
                 available memory ({text})",
                shown(sum),
                shown(available)
            );
        }
    }
}

fn too_little(error: &runtime::memory::TooLittle, limit: u64, parts: &[Part]) -> anyhow::Error {
    let set: Vec<&str> = parts
        .iter()
        .filter(|part| part.is_set)
        .filter_map(|part| part.setting.map(|(_, _, name)| name))
        .collect();
    let remedy = match set.is_empty() {
        true => "raise the limit".to_owned(),
        false => format!("raise the limit, or set less or nothing for {}", set.join(", ")),
    };
    anyhow::anyhow!(
        "--memory-limit {} (a fifth of it is for the program itself): {error}: {remedy}",
        shown(limit)
    )
}

/// Rounds to whole units of the setting.
fn rounded(bytes: u64, unit: Unit) -> u64 {
    match unit {
        Unit::Bytes => bytes,
        Unit::Megabytes => bytes / MIB * MIB,
    }
}

const HOT_BUCKETS: &str = "hot buckets";
const ENCODING: &str = "encoding of buckets";
const QUEUE: &str = "queues";
const SEARCHES: &str = "searches";
const LOOKUPS: &str = "lookups";
const RESULTS: &str = "results of jobs";
const PEER_ROWS: &str = "hot rows of other indexers";
const CACHE: &str = "cache";
const REQUESTS: &str = "requests";
const SUMMARIES: &str = "summaries of buckets";
/// The memory of one search.
const EACH: &str = "max_mem_usage_mb";

/// Whether a file sets it.
fn is_set(layers: &Layers, conf: &str, stanza: &str, name: &str) -> bool {
    layers.stanzas(conf).any(|(layer, written)| {
        *layer != Layer::SystemDefault
            && written.name == stanza
            && written.entries.iter().any(|entry| entry.key == name)
    })
}

/// The parts of a process with these roles.
#[expect(clippy::too_many_lines, reason = "a list of parts")]
fn parts(setup: &Setup, options: &ServerOptions, roles: Roles) -> Result<Vec<Part>> {
    let Setup { layers, search, .. } = setup;
    let ingest = ingest_conf::settings(layers, options)?;
    let cache = store_conf::cache(layers, options)?;
    let catalog = catalog::Settings::read(layers)?;
    let peers = peers::Settings::read(layers)?;
    let requests = request_conf::budget(layers, None)?.capacity();
    let sets = u64::from(ingest.parallel_ingestion_pipelines.max(1));
    let encoded = ENCODED * ingest.encode_concurrency.max(1) as u64;
    let size = |bytes: usize| bytes as u64;
    let part = |name, setting: (&'static str, &'static str, &'static str), unit| Part {
        name,
        setting: Some(setting),
        unit,
        factor: 1,
        weight: 0,
        bounds: (0, u64::MAX),
        value: 0,
        is_set: is_set(layers, setting.0, setting.1, setting.2),
    };
    let searches = roles.indexer || roles.search_head;
    let mut parts = Vec::new();
    if roles.indexer {
        let setting = ("server", "ingest", "maxHotMemory");
        parts.push(Part {
            factor: HOT,
            weight: 20,
            bounds: (32 * MIB, 2_048 * MIB),
            value: ingest.max_hot_memory,
            ..part(HOT_BUCKETS, setting, Unit::Bytes)
        });
        let bucket = part(ENCODING, ("server", "ingest", "maxBucketSize"), Unit::Bytes);
        parts.push(Part {
            factor: encoded,
            weight: 15,
            bounds: (8 * MIB, 1_024 * MIB),
            value: ingest.max_data_size,
            is_set: bucket.is_set || options.max_data_size_mib.is_some(),
            ..bucket
        });
        parts.push(Part {
            factor: QUEUES * sets,
            weight: 2,
            bounds: (MIB, 16 * MIB),
            value: ingest.queue_size,
            ..part(QUEUE, ("server", "queue", "maxSize"), Unit::Bytes)
        });
    }
    if searches {
        let setting = ("limits", "search", "total_mem_usage_mb");
        // Its own searches, and parts of the searches of others, have the same limit each.
        let has_both = roles.indexer && roles.search_head && options.cluster_address.is_some();
        parts.push(Part {
            factor: if has_both { 2 } else { 1 },
            weight: 22,
            bounds: (64 * MIB, u64::MAX),
            value: size(search.memory_bytes),
            ..part(SEARCHES, setting, Unit::Megabytes)
        });
        let setting = ("limits", "search", "max_lookup_memory_mb");
        parts.push(Part {
            weight: 3,
            bounds: (16 * MIB, 512 * MIB),
            value: size(search.lookup_bytes),
            ..part(LOOKUPS, setting, Unit::Megabytes)
        });
    }
    if roles.search_head {
        parts.push(Part {
            name: RESULTS,
            setting: None,
            unit: Unit::Bytes,
            factor: 1,
            weight: 6,
            bounds: (16 * MIB, 4_096 * MIB),
            value: size(search.kept_result_bytes),
            is_set: false,
        });
        if options.cluster_address.is_some() {
            let setting = ("limits", "search", "max_peer_rows_mb");
            parts.push(Part {
                weight: 6,
                bounds: (16 * MIB, 1_024 * MIB),
                value: size(peers.held_bytes),
                ..part(PEER_ROWS, setting, Unit::Megabytes)
            });
        }
    }
    let dram = part(CACHE, ("server", "cachemanager", "dram_size"), Unit::Megabytes);
    parts.push(Part {
        weight: 16,
        // A control plane reads only the buckets that it merges.
        bounds: (32 * MIB, if searches { u64::MAX } else { 64 * MIB }),
        value: size(cache.dram_bytes),
        is_set: dram.is_set || options.cache_dram_mib.is_some(),
        ..dram
    });
    parts.push(Part {
        weight: 6,
        bounds: (16 * MIB, 1_024 * MIB),
        value: size(requests),
        ..part(REQUESTS, ("server", "httpServer", "maxRequestMemory"), Unit::Bytes)
    });
    parts.push(Part {
        weight: 3,
        bounds: (16 * MIB, 256 * MIB),
        value: size(catalog.summary_bytes),
        ..part(SUMMARIES, ("server", "general", "catalogSummaryCacheMB"), Unit::Megabytes)
    });
    Ok(parts)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::config::{Arguments, Command};

    const ALL: Roles = Roles { control_plane: true, indexer: true, search_head: true };

    fn memory(conf: &[(&str, &str)], flags: &[&str], roles: Roles) -> Result<Memory> {
        let arguments = Arguments::parse_from([&["karst", "server"], flags].concat());
        let Command::Server(options) = arguments.command else { unreachable!("it is server") };
        let (mut setup, _) = Setup::read(&options)?;
        for (file, text) in conf {
            setup.layers = setup.layers.with(Layer::SystemLocal, file, text);
        }
        setup.search = search::Settings::of(&setup.layers)?;
        Memory::read(&setup, &options, roles)
    }

    #[test]
    fn without_a_limit_every_setting_keeps_its_value() {
        let memory = memory(&[], &[], ALL).unwrap();
        let mut settings = ingest::Settings::default();
        memory.limit_ingest(&mut settings);
        assert_eq!(settings.max_hot_memory, ingest::Settings::default().max_hot_memory);
        assert_eq!((memory.requests(), memory.flags()), (None, Vec::new()));
        assert!(memory.view().shares.iter().all(|share| share.source == "default"));
    }

    #[test]
    fn shares_are_less_than_the_limit_for_every_role_and_size() {
        let only =
            |control_plane, indexer, search_head| Roles { control_plane, indexer, search_head };
        for roles in
            [ALL, only(true, false, false), only(false, true, false), only(false, false, true)]
        {
            for limit in [512, 1_024, 4_096, 8_192, 112_640] {
                let flag = format!("--memory-limit={limit}MB");
                let view = memory(&[], &[&flag], roles).unwrap().view();
                let sum: u64 = view.shares.iter().map(|share| share.bytes).sum();
                assert!(sum <= limit * MIB / 100 * 80 + 100, "{limit} {roles:?}: {view:?}");
            }
        }
    }

    #[test]
    fn what_is_set_stays_and_the_others_share_the_rest() {
        let set = [("server", "[ingest]\nmaxHotMemory = 256MB\n")];
        let memory = memory(&set, &["--memory-limit=4GiB", "--cache-dram-mib=1024"], ALL).unwrap();
        let (mut ingest, mut cache) = (ingest::Settings::default(), cache::Settings::default());
        ingest.max_hot_memory = 256 * MIB;
        cache.dram_bytes = 1 << 30;
        memory.limit_ingest(&mut ingest);
        memory.limit_cache(&mut cache);
        assert_eq!((ingest.max_hot_memory, cache.dram_bytes), (256 * MIB, 1 << 30));
        assert!(ingest.max_data_size < ingest::Settings::default().max_data_size);
        let flags = memory.flags();
        assert!(flags.iter().all(|flag| flag.name != "maxHotMemory" && flag.name != "dram_size"));
        let search = flags.iter().find(|flag| flag.name == EACH).unwrap();
        let all = flags.iter().find(|flag| flag.name == "total_mem_usage_mb").unwrap();
        assert_eq!(
            search.value.parse::<u64>().unwrap(),
            all.value.parse::<u64>().unwrap() / SEARCH
        );
    }

    #[test]
    fn lookups_have_a_share_wherever_there_are_searches() {
        let mut search = search::Settings::default();
        memory(&[], &["--memory-limit=4GiB"], ALL).unwrap().limit_search(&mut search);
        assert_eq!(search.lookup_bytes, 105 << 20);
        let leads = Roles { control_plane: true, indexer: false, search_head: false };
        let view = memory(&[], &["--memory-limit=4GiB"], leads).unwrap().view();
        assert!(view.shares.iter().all(|share| share.name != LOOKUPS));
    }

    #[test]
    fn settings_that_need_more_than_the_limit_are_refused_with_what_helps() {
        let refused = memory(&[], &["--memory-limit=1GiB", "--cache-dram-mib=1024"], ALL);
        let text = refused.unwrap_err().to_string();
        assert!(text.contains("cache 1024 MiB (set)"), "{text}");
        assert!(text.contains("raise the limit, or set less or nothing for dram_size"), "{text}");
        let refused = memory(&[], &["--memory-limit=100MB"], ALL).unwrap_err().to_string();
        assert!(refused.contains("at least 512MB"), "{refused}");
    }

    #[test]
    fn the_sizes_of_the_manifests_fit_in_the_limits_of_their_pods() {
        let base = [include_str!("../../../../k8s/base/common/conf/server.conf"), LIMITS];
        let local = [
            include_str!("../../../../k8s/overlays/local/server.conf"),
            include_str!("../../../../k8s/overlays/local/limits.conf"),
        ];
        let prod = [
            include_str!("../../../../k8s/overlays/aws-prod/server.conf"),
            include_str!("../../../../k8s/overlays/aws-prod/limits.conf"),
        ];
        let only = |indexer| Roles { control_plane: false, indexer, search_head: !indexer };
        let leads = Roles { control_plane: true, indexer: false, search_head: false };
        for (confs, roles, gibibytes, dram) in [
            (base, only(true), 4, "1024"),
            (base, only(false), 4, "1024"),
            (base, leads, 1, "64"),
            (base, ALL, 4, "512"),
            (local, only(true), 1, "128"),
            (local, only(false), 1, "128"),
            (local, leads, 1, "128"),
            (prod, only(true), 110, "32768"),
            (prod, only(false), 28, "4096"),
        ] {
            let flags =
                [format!("--memory-limit={gibibytes}GiB"), format!("--cache-dram-mib={dram}")];
            let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
            let confs = [("server", confs[0]), ("limits", confs[1])];
            memory(&confs, &flags, roles).unwrap();
        }
    }

    const LIMITS: &str = include_str!("../../../../k8s/base/common/conf/limits.conf");
}
