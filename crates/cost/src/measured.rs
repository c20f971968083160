//! Counts of a server, as inputs of the model.
//!
//! If no input is changed, the requests of the bill are the counted ones: requests not explained by buckets
//! are in `other_puts_per_second`, including those of journals, which are not counted separately. If volume
//! or retention are changed, the requests of buckets follow the volume, and all others stay the same.

use std::collections::BTreeMap;

use crate::GB;
use crate::bill::bucket_puts;
use crate::inputs::{Input, Inputs, Source};

/// Sums over a time span, for all processes.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Counted {
    /// Length of the span.
    pub seconds: f64,
    /// Number of counting processes.
    pub processes: u32,
    /// Bytes of the text of all events, including internal indexes.
    pub raw_bytes: f64,
    /// Uploaded and committed buckets.
    pub buckets: f64,
    /// Requests to S3 by operation (`get`, `list`, `head`, `put`, `post`, `delete`); empty if the object
    /// store is not S3.
    pub requests: BTreeMap<String, f64>,
    /// GET requests that searches made for uncached data.
    pub searches: f64,
}

/// The search over own events that returns the rows for [`Counted::of`], with the fields `key`, `n`,
/// `started`, `last` and `processes`. `started` is the time at which the oldest process began counting
/// within the range of the search.
pub const OWN_EVENTS: &str = concat!(
    "index=_internal source=*metrics.log* (group=store OR group=instance OR group=thruput OR \
     group=per_index_thruput OR group=uploads OR (group=cache tier=store)) | addinfo ",
    "| eval key=case(group=\"store\",\"store:\".op, group=\"per_index_thruput\",\"index:\".series, \
     true(),group), n=case(group=\"store\" OR group=\"cache\",requests, group=\"uploads\",committed, \
     group=\"instance\",0, true(),kb*1024), \
     started=if(group=\"instance\",max(_time-uptime_s,info_min_time),null()) ",
    "| stats sum(n) AS n min(started) AS started max(_time) AS last dc(guid) AS processes BY key",
);

/// A row of [`OWN_EVENTS`].
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Row {
    /// The name of the count.
    pub key: String,
    /// The count, or the number of bytes.
    pub n: f64,
    /// Start of counting in epoch seconds; only of `instance`.
    pub started: Option<f64>,
    /// Time of the last own event in epoch seconds.
    pub last: f64,
    /// Number of processes; only of `instance`.
    pub processes: f64,
}

/// The volume, stored size and retention of an index.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Index {
    /// Bytes of text received within the span.
    pub raw_bytes: f64,
    /// Bytes of its buckets in object storage.
    pub stored_bytes: f64,
    /// Bytes of the text of these buckets.
    pub stored_raw_bytes: f64,
    /// `frozenTimePeriodInSecs`.
    pub keep_seconds: f64,
    /// `maxTotalDataSizeMB` in bytes; 0 for no limit.
    pub keep_bytes: f64,
}

/// The measured values of a server.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Measured {
    /// From own events; `None` if there are none.
    pub counted: Option<Counted>,
    /// From own events, catalog and configuration.
    pub indexes: Vec<Index>,
    /// Number of indexers of the cluster.
    pub indexers: u32,
}

impl Counted {
    /// Sums up the rows of [`OWN_EVENTS`], with bytes of text by index.
    ///
    /// # Errors
    /// The reason why nothing is measured: there are no own events, or they cover less than a minute.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    pub fn of(rows: &[Row]) -> Result<(Self, BTreeMap<String, f64>), String> {
        let sum = |key: &str| rows.iter().find(|row| row.key == key).map_or(0.0, |row| row.n);
        let after = |prefix: &str| {
            let named = rows.iter().filter_map(|row| Some((row.key.strip_prefix(prefix)?, row.n)));
            named.map(|(name, n)| (name.to_owned(), n)).collect::<BTreeMap<_, _>>()
        };
        let instance = rows.iter().find(|row| row.key == "instance");
        let Some((instance, started)) = instance.and_then(|row| Some((row, row.started?))) else {
            return Err("the index _internal has no events of metrics.log that the caller may search; the \
                        server writes them every 30 seconds, unless limits.conf [metrics] disables them"
                .to_owned());
        };
        let seconds = (instance.last - started).max(0.0);
        if seconds < SHORTEST {
            return Err(format!(
                "the events of metrics.log cover only {seconds:.0} seconds so far; rates are measured over at \
                 least {SHORTEST:.0} seconds"
            ));
        }
        let counted = Self {
            seconds,
            processes: instance.processes as u32,
            raw_bytes: sum("thruput"),
            buckets: sum("uploads"),
            requests: after("store:"),
            searches: sum("cache"),
        };
        Ok((counted, after("index:")))
    }
}

/// Minimum span in seconds: shorter ones cannot be extrapolated to a day.
const SHORTEST: f64 = 60.0;

impl Measured {
    /// The inputs; unknown values keep their defaults.
    #[must_use]
    pub fn inputs(&self) -> Inputs {
        let mut inputs = Inputs::default();
        if self.indexers > 0 {
            let registered = "processes with this role".to_owned();
            inputs.put(Input::Indexers, f64::from(self.indexers), Source::Measured, registered);
        }
        let counted = self.counted.as_ref();
        let volume = counted.filter(|counted| counted.raw_bytes > 0.0);
        if let Some(counted) = volume {
            let how =
                format!("text of all events, own events included, over {}", span(counted.seconds));
            let days = counted.seconds / 86_400.0;
            let volume = counted.raw_bytes / GB / days;
            inputs.put(Input::RawGbPerDay, volume, Source::Measured, how);
        }
        self.stored(volume, &mut inputs);
        if let Some(counted) = counted {
            requests(counted, &mut inputs);
        }
        inputs
    }

    /// Computes the bytes in object storage per byte of text and the retention. Both are weighted by
    /// volume, so that their product with the volume is the stored size.
    fn stored(&self, counted: Option<&Counted>, inputs: &mut Inputs) {
        let sum = |of: fn(&Index) -> f64| self.indexes.iter().map(of).sum::<f64>();
        let (stored, raw) = (sum(|index| index.stored_bytes), sum(|index| index.stored_raw_bytes));
        let usual = if raw > 0.0 { stored / raw } else { inputs.number(Input::StoredPerRaw) };
        let ratio = |index: &Index| {
            if index.stored_raw_bytes > 0.0 {
                index.stored_bytes / index.stored_raw_bytes
            } else {
                usual
            }
        };
        let coming = sum(|index| index.raw_bytes);
        if raw > 0.0 {
            let weighted: f64 =
                self.indexes.iter().map(|index| index.raw_bytes * ratio(index)).sum();
            let number = if coming > 0.0 { weighted / coming } else { usual };
            let how =
                format!("{:.2} GB in object storage, {:.2} GB of text", stored / GB, raw / GB);
            inputs.put(Input::StoredPerRaw, number, Source::Measured, how);
        }
        let Some(counted) = counted.filter(|_| coming > 0.0) else { return };
        let mut kept = 0.0;
        let mut weights = 0.0;
        let mut is_sized = false;
        for index in self.indexes.iter().filter(|index| index.raw_bytes > 0.0) {
            let weight = index.raw_bytes * ratio(index);
            let per_second = weight / counted.seconds;
            let by_size = match index.keep_bytes {
                limit if limit > 0.0 && per_second > 0.0 => limit / per_second,
                _ => f64::INFINITY,
            };
            is_sized |= by_size < index.keep_seconds;
            kept += weight * index.keep_seconds.min(by_size);
            weights += weight;
        }
        if weights > 0.0 {
            let settings = match is_sized {
                true => {
                    "frozenTimePeriodInSecs and maxTotalDataSizeMB of the indexes, by their bytes"
                }
                false => "frozenTimePeriodInSecs of the indexes, by their bytes",
            };
            let days = kept / weights / 86_400.0;
            inputs.put(Input::RetentionDays, days, Source::Configured, settings.to_owned());
        }
    }
}

/// Computes the requests: those of buckets by the model, all others as counted.
fn requests(counted: &Counted, inputs: &mut Inputs) {
    if counted.buckets >= 1.0 && counted.raw_bytes > 0.0 {
        let how = format!("{:.0} buckets were uploaded", counted.buckets);
        let size = counted.raw_bytes / GB / counted.buckets;
        inputs.put(Input::BucketGb, size, Source::Measured, how);
    }
    if counted.requests.is_empty() {
        return;
    }
    let of = |operations: &[&str]| {
        let number = |operation: &&str| counted.requests.get(*operation).copied().unwrap_or(0.0);
        operations.iter().map(number).sum::<f64>()
    };
    let (puts, gets) = (of(&["put", "post", "list"]), of(&["get", "head"]));
    let searches = counted.searches.min(gets);
    let span = span(counted.seconds);
    let mut put =
        |input, number: f64, how: String| inputs.put(input, number, Source::Measured, how);
    put(
        Input::SearchedBucketsPerDay,
        searches / counted.seconds * 86_400.0,
        format!("{searches:.0} requests of searches in {span}"),
    );
    put(
        Input::OtherGetsPerSecond,
        (gets - searches) / counted.seconds,
        format!("{gets:.0} GET and HEAD in {span}, without those of searches"),
    );
    put(Input::JournalPutsPerSecond, 0.0, "counted in other_puts_per_second".to_owned());
    put(Input::OtherPutsPerSecond, 0.0, String::new());
    let rate = puts / counted.seconds;
    let of_buckets = bucket_puts(inputs);
    let how = format!("{puts:.0} PUT, POST and LIST in {span}, without those of buckets");
    if of_buckets > rate {
        // Fewer requests than the model expects: some uploads have not been made yet.
        let parts = inputs.number(Input::PartsPerBucket) * rate / of_buckets;
        let all = format!("{puts:.0} PUT, POST and LIST in {span}, all for buckets");
        inputs.put(Input::PartsPerBucket, parts, Source::Measured, all);
    }
    let others = (rate - of_buckets).max(0.0);
    inputs.put(Input::OtherPutsPerSecond, others, Source::Measured, how);
}

/// Formats a duration for the reader.
fn span(seconds: f64) -> String {
    match seconds {
        _ if seconds >= 172_800.0 => format!("{:.1} days", seconds / 86_400.0),
        _ if seconds >= 7_200.0 => format!("{:.1} hours", seconds / 3_600.0),
        _ => format!("{:.1} minutes", seconds / 60.0),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{Bill, MONTH_DAYS, PriceList};

    /// The run of docs/benchmarks.md: 666 MB of text in 300 s, requests as counted at the S3 server.
    fn run() -> Measured {
        let requests = [("put", 2_592.0), ("list", 30.0), ("get", 290.0), ("head", 6.0)];
        let requests = requests.map(|(name, number)| (name.to_owned(), number)).into();
        let counted = Counted {
            seconds: 300.0,
            processes: 5,
            raw_bytes: 666e6,
            buckets: 4.0,
            requests,
            searches: 10.0,
        };
        let index = Index {
            raw_bytes: 666e6,
            stored_bytes: 46e6,
            stored_raw_bytes: 200e6,
            keep_seconds: 90.0 * 86_400.0,
            keep_bytes: 0.0,
        };
        Measured { counted: Some(counted), indexes: vec![index], indexers: 2 }
    }

    fn bill(inputs: &Inputs) -> Bill {
        Bill::of(inputs, &PriceList::built_in().unwrap()).unwrap()
    }

    #[test]
    fn the_bill_of_a_run_has_the_requests_that_were_counted() {
        let inputs = run().inputs();
        let month = MONTH_DAYS * 86_400.0 / 300.0;
        let by_hand = month * (2_622.0 * 0.000_005 + 296.0 * 0.000_000_4);
        let bill = bill(&inputs);
        assert!((bill.dollars("requests").unwrap() - by_hand).abs() < 1e-6, "{bill:?}");
        let stored = 666e6 / GB / (300.0 / 86_400.0) * 0.23 * 90.0;
        assert!((bill.stored_gb - stored).abs() < 1e-6, "{bill:?}");
        let sources: Vec<_> = [Input::RawGbPerDay, Input::RetentionDays, Input::KmsKeys]
            .map(|input| inputs.get(input).unwrap().source.name())
            .into();
        assert_eq!(sources, ["measured", "configured", "default"]);
    }

    /// Own events of one server over MinIO (2026-11-27, ackLevel = remote, 29.5 MB of text in 390 s); MinIO
    /// itself had counted 1,338 PUT, 9 LIST, 40 GET and 9 HEAD.
    #[test]
    fn the_bill_of_own_events_is_the_one_of_the_requests_that_the_store_has_counted() {
        let row = |(key, n): (&str, f64)| Row { key: key.to_owned(), n, ..Row::default() };
        let rows = [
            ("cache", 0.0),
            ("index:_internal", 87_945.0),
            ("index:main", 29_483_663.0),
            ("store:delete", 3.0),
            ("store:get", 40.0),
            ("store:head", 9.0),
            ("store:list", 9.0),
            ("store:put", 1_336.0),
            ("thruput", 29_589_055.0),
            ("uploads", 3.0),
        ];
        let instance = Row {
            started: Some(1_795_755_396.753),
            last: 1_795_755_786.756,
            processes: 1.0,
            ..row(("instance", 0.0))
        };
        let rows = rows.map(row).into_iter().chain([instance]).collect::<Vec<_>>();
        let (counted, _) = Counted::of(&rows).unwrap();
        let measured = Measured { counted: Some(counted), indexes: Vec::new(), indexers: 1 };
        let month = MONTH_DAYS * 86_400.0 / 390.0;
        let by_hand = month * (1_347.0 * 0.000_005 + 49.0 * 0.000_000_4);
        let requests = bill(&measured.inputs()).dollars("requests").unwrap();
        assert!((requests / by_hand - 1.0).abs() < 0.05, "{requests}, by hand {by_hand}");
    }

    #[test]
    fn another_volume_changes_the_requests_of_buckets_only() {
        let measured = run().inputs();
        let mut more = measured.clone();
        let volume = measured.number(Input::RawGbPerDay);
        more.set("raw_gb_per_day", &(10.0 * volume).to_string()).unwrap();
        let (before, after) = (bill(&measured), bill(&more));
        let buckets = MONTH_DAYS * volume / measured.number(Input::BucketGb) * 3.0;
        assert!((after.puts - before.puts - 9.0 * buckets).abs() < 1.0, "{before:?} {after:?}");
        assert!((after.stored_gb / before.stored_gb - 10.0).abs() < 1e-9);
        assert!((after.gets - before.gets).abs() < 1e-6);
    }

    #[test]
    fn fewer_requests_than_the_model_expects_are_still_those_that_were_counted() {
        let mut measured = run();
        let counted = measured.counted.as_mut().unwrap();
        counted.requests = BTreeMap::from([("put".to_owned(), 5.0)]);
        let bill = bill(&measured.inputs());
        assert!((bill.puts - 5.0 * MONTH_DAYS * 86_400.0 / 300.0).abs() < 1e-3, "{bill:?}");
        assert!(bill.gets.abs() < 1e-9);
    }

    #[test]
    fn retention_is_what_comes_first_of_time_and_size_and_weighted_by_bytes() {
        let mut measured = run();
        let index = measured.indexes[0].clone();
        // An index with the same volume and a size limit of ten days: 153.18 MB of buckets per 300 s.
        let limit = Index { keep_bytes: 153.18e6 * 288.0 * 10.0, ..index.clone() };
        measured.indexes = vec![index, limit];
        let value = measured.inputs().get(Input::RetentionDays).unwrap();
        assert!((value.number - 50.0).abs() < 0.01, "{value:?}");
        assert!(value.how.contains("maxTotalDataSizeMB"), "{value:?}");
    }

    #[test]
    fn rows_of_own_events_are_sums_of_a_span() {
        let row = |key: &str, n: f64| Row { key: key.to_owned(), n, ..Row::default() };
        let instance =
            Row { started: Some(1_000.0), last: 1_090.0, processes: 2.0, ..row("instance", 0.0) };
        let rows = [
            row("cache", 3.0),
            row("index:main", 50.0),
            row("store:put", 9.0),
            row("thruput", 60.0),
        ];
        assert!(Counted::of(&rows).unwrap_err().contains("no events of metrics.log"));
        let short = Row { last: 1_059.0, ..instance.clone() };
        assert!(Counted::of(&[short]).unwrap_err().contains("cover only 59 seconds"));
        let (counted, indexes) = Counted::of(&[&rows[..], &[instance]].concat()).unwrap();
        assert_eq!((counted.seconds, counted.processes, counted.raw_bytes), (90.0, 2, 60.0));
        assert_eq!((counted.searches, counted.buckets), (3.0, 0.0));
        assert_eq!(counted.requests, BTreeMap::from([("put".to_owned(), 9.0)]));
        assert_eq!(indexes, BTreeMap::from([("main".to_owned(), 50.0)]));
    }

    #[test]
    fn nothing_is_measured_where_nothing_was_counted() {
        let inputs = Measured::default().inputs();
        assert_eq!(inputs, Inputs::default());
        let mut directory = run();
        directory.counted.as_mut().unwrap().requests.clear();
        let value = directory.inputs().get(Input::OtherPutsPerSecond).unwrap();
        assert_eq!(value.source, Source::Default);
    }
}
