//! Limits and sizes of searching. Names are `limits.conf`'s where Splunk has the setting.

use std::time::Duration;

use knowledge::layers::Effective;

use crate::Error;

/// What an operator can set about searching; every limit that cuts something says so in the job.
#[derive(Debug, Clone)]
pub struct Settings {
    /// `batch_search_max_pipeline`: partitions of buckets scanned side by side per search. More
    /// pipelines finish one search sooner and leave less for the others. Default: the cores.
    pub batch_search_max_pipeline: usize,
    /// `base_max_searches` + cores x `max_searches_per_cpu`: searches that run at once; further
    /// ones wait in QUEUED.
    pub max_searches: usize,
    /// Searches that may wait; one more is refused.
    pub max_queued_searches: usize,
    /// `max_count`: newest events an event search keeps, unless the request asks for another number.
    pub max_count: usize,
    /// `maxresultrows`: rows a reporting search keeps.
    pub max_result_rows: usize,
    /// `ttl`: how long a finished job is kept after its last access.
    pub ttl: Duration,
    /// Bytes that the results of all kept jobs may take together; over it new searches are refused
    /// until jobs expire or are deleted (`[search] dispatch_memory`).
    pub kept_result_bytes: usize,
    /// Rows per batch in a plan.
    pub batch_rows: usize,
    /// Open bucket readers (footers and index directories) kept in memory.
    pub open_buckets: usize,
    /// Bytes a search may hold for sorts, joins and groups (`max_mem_usage_mb`), and as many for values that
    /// it computes and for its result; over it sorts and groups spill to disk, and others fail.
    pub search_memory_bytes: usize,
    /// The same of all running searches together (`total_mem_usage_mb`): a search that needs more than the
    /// small part it starts with waits until there is room for it.
    pub memory_bytes: usize,
    /// Hot rows looked at to find field names that no catalogue lists yet.
    pub field_discovery_rows: usize,
    /// `preview_interval_ms`: time between two previews of a search.
    pub preview_interval: Duration,
    /// `preview_duty_cycle`: part of a search's time that making previews may take, 0 to 1; where one
    /// takes long, the next is later.
    pub preview_duty_cycle: f64,
    /// `preview_memory_mb`: bytes that one search may keep to make previews of; over it there are no more,
    /// and a message says so.
    pub preview_bytes: usize,
    /// `s3_price_get_per_1000`: dollars of 1,000 GET requests, for the job inspector. A search makes no
    /// requests of other kinds.
    pub s3_price_get_per_1000: f64,
    /// What one search may hold and make: `[subsearch]`, `[join]`, `[stats]`, `[discretize]`,
    /// `[streamstats]`.
    pub plan: plan::Limits,
    /// `allow_partial_results`: whether searches go on without damaged buckets, and say so; else they fail.
    pub allow_partial_results: bool,
    /// Distinct values a field summary counts exactly before it says "at least".
    pub field_summary_values: usize,
}

impl Settings {
    /// Reads `[search]` and `[searchresults]` of `limits.conf`.
    ///
    /// # Errors
    /// [`Error::Setting`] names the value that does not fit.
    pub fn read(limits: &Effective) -> Result<Self, Error> {
        let mut settings = Self::default();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let number = |name| number(limits, "search", name);
        if let Some(pipelines) = number("batch_search_max_pipeline")? {
            settings.batch_search_max_pipeline = pipelines;
        }
        let (base, per_core) = (number("base_max_searches")?, number("max_searches_per_cpu")?);
        settings.max_searches = base.unwrap_or(6) + per_core.unwrap_or(1) * cores;
        if let Some(queued) = number("max_queued_searches")? {
            settings.max_queued_searches = queued;
        }
        if let Some(count) = number("max_count")? {
            settings.max_count = count;
        }
        if let Some(seconds) = number("ttl")? {
            settings.ttl = Duration::from_secs(seconds as u64);
        }
        if let Some(mebibytes) = number("max_mem_usage_mb")? {
            settings.search_memory_bytes = mebibytes << 20;
        }
        if let Some(mebibytes) = number("total_mem_usage_mb")? {
            settings.memory_bytes = mebibytes << 20;
        }
        if let Some(milliseconds) = number("preview_interval_ms")? {
            settings.preview_interval = Duration::from_millis(milliseconds as u64);
        }
        if let Some(mebibytes) = number("preview_memory_mb")? {
            settings.preview_bytes = mebibytes << 20;
        }
        let part = |part: f64| part > 0.0 && part < 1.0;
        if let Some(part) = decimal(limits, "preview_duty_cycle", "above 0 and below 1", part)? {
            settings.preview_duty_cycle = part;
        }
        let price = |dollars: f64| (0.0..1e6).contains(&dollars);
        if let Some(dollars) =
            decimal(limits, "s3_price_get_per_1000", "of dollars, 0 or more", price)?
        {
            settings.s3_price_get_per_1000 = dollars;
        }
        if let Some(rows) = self::number(limits, "searchresults", "maxresultrows")? {
            settings.max_result_rows = rows;
        }
        if let Some(allow) = truth(limits, "allow_partial_results")? {
            settings.allow_partial_results = allow;
        }
        settings.plan = plan_limits(limits)?;
        settings.plan.memory_bytes = settings.search_memory_bytes;
        Ok(settings)
    }
}

fn plan_limits(limits: &Effective) -> Result<plan::Limits, Error> {
    let mut found = plan::Limits::default();
    let sizes = [
        ("subsearch", "maxout", &mut found.subsearch_rows),
        ("join", "subsearch_maxout", &mut found.joined_rows),
        ("search", "max_plan_depth", &mut found.plan_depth),
        ("discretize", "maxbins", &mut found.bins),
        ("streamstats", "max_stream_window", &mut found.stream_window),
    ];
    for (stanza, name, size) in sizes {
        if let Some(given) = number(limits, stanza, name)? {
            *size = given;
        }
    }
    if let Some(seconds) = number(limits, "search", "max_plan_time")? {
        found.plan_time = Duration::from_secs(seconds as u64);
    }
    if let Some(seconds) = number(limits, "subsearch", "maxtime")? {
        found.subsearch_time = Duration::from_secs(seconds as u64);
    }
    let values =
        [("list_maxsize", &mut found.listed_values), ("maxvalues", &mut found.distinct_values)];
    for (name, size) in values {
        if let Some(given) = number_or_none(limits, "stats", name)? {
            *size = given;
        }
    }
    Ok(found)
}

/// As [`number`], where 0 takes the limit away.
fn number_or_none(limits: &Effective, stanza: &str, name: &str) -> Result<Option<usize>, Error> {
    match limits.get(stanza, name) {
        Some(entry) if entry.value.trim() == "0" => Ok(Some(0)),
        _ => number(limits, stanza, name),
    }
}

fn number(limits: &Effective, stanza: &str, name: &str) -> Result<Option<usize>, Error> {
    let Some(entry) = limits.get(stanza, name) else { return Ok(None) };
    let text = entry.value.trim();
    match text.parse() {
        _ if text.is_empty() => Ok(None),
        Ok(number) if number > 0 => Ok(Some(number)),
        _ => Err(Error::Setting(format!(
            "limits.conf [{stanza}] {name} = {text}: it must be a whole number of 1 or more"
        ))),
    }
}

fn truth(limits: &Effective, name: &str) -> Result<Option<bool>, Error> {
    let Some(entry) = limits.get("search", name) else { return Ok(None) };
    match entry.value.trim().to_ascii_lowercase().as_str() {
        "" => Ok(None),
        "1" | "true" | "t" | "yes" => Ok(Some(true)),
        "0" | "false" | "f" | "no" => Ok(Some(false)),
        text => Err(Error::Setting(format!(
            "limits.conf [search] {name} = {text}: it must be true or false"
        ))),
    }
}

fn decimal(
    limits: &Effective,
    name: &str,
    range: &str,
    fits: impl Fn(f64) -> bool,
) -> Result<Option<f64>, Error> {
    let Some(entry) = limits.get("search", name) else { return Ok(None) };
    let text = entry.value.trim();
    match text.parse() {
        _ if text.is_empty() => Ok(None),
        Ok(number) if fits(number) => Ok(Some(number)),
        _ => Err(Error::Setting(format!(
            "limits.conf [search] {name} = {text}: it must be a number {range}"
        ))),
    }
}

impl Default for Settings {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            batch_search_max_pipeline: cores,
            max_searches: 6 + cores,
            max_queued_searches: 1_000,
            max_count: 10_000,
            max_result_rows: 500_000,
            ttl: Duration::from_secs(600),
            kept_result_bytes: 4 << 30,
            batch_rows: 8_192,
            open_buckets: 4_096,
            search_memory_bytes: 512 << 20,
            memory_bytes: 2 << 30,
            field_discovery_rows: 20_000,
            preview_interval: Duration::from_millis(600),
            preview_duty_cycle: 0.25,
            preview_bytes: 128 << 20,
            s3_price_get_per_1000: 0.000_4,
            plan: plan::Limits::default(),
            allow_partial_results: true,
            field_summary_values: 10_000,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use knowledge::layers::{Layer, Layers};

    use super::*;

    fn read(conf: &str) -> Result<Settings, Error> {
        let layers = Layers::builtin().with(Layer::SystemLocal, "limits", conf);
        Settings::read(&layers.effective("limits"))
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

    #[test]
    fn a_bad_value_is_named() {
        for bad in ["preview_duty_cycle = 1", "preview_memory_mb = 0", "s3_price_get_per_1000 = x"]
        {
            let error = read(&format!("[search]\n{bad}")).unwrap_err().to_string();
            assert!(error.contains(bad), "{error}");
        }
    }
}
