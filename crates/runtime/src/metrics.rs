//! The names of all metrics, and the recorder that renders them for Prometheus.
//!
//! A crate that has a metric declares its name here (with kind, unit and help of [`Metric`]), so
//! that names are unique and in one list. Values go through the `metrics` facade; without an
//! installed [`Recorder`] they cost almost nothing.
//!
//! Names are `karst_<part>_<what>_<unit>`, counters end in `_total`, times are seconds. The facade's
//! counters are integers: one of short times counts microseconds under a name that ends in
//! `_microseconds_total`, and is rendered in seconds as `_seconds_total`.

mod births;
mod process;

use std::fmt::Write;

pub use births::Program;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::Error;

/// The type of a metric.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Only grows.
    Counter,
    /// Goes up and down.
    Gauge,
    /// A distribution.
    Histogram,
}

/// A metric's entry in [`ALL`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    /// Its name.
    pub name: &'static str,
    /// Its kind.
    pub kind: Kind,
    /// Its help text.
    pub help: &'static str,
}

/// Declares the constants and the list [`ALL`].
macro_rules! metrics {
    ($($constant:ident $kind:ident $name:literal $help:literal;)*) => {
        $(#[doc = $help] pub const $constant: &str = $name;)*
        /// Every metric, in the order of the parts.
        pub const ALL: &[Metric] = &[
            $(Metric { name: $name, kind: Kind::$kind, help: $help },)*
        ];
    };
}

metrics! {
    INGEST_EVENTS Counter "karst_ingest_events_total" "Events accepted, by index.";
    INGEST_BYTES Counter "karst_ingest_bytes_total" "Bytes of raw text accepted, by index.";
    INGEST_REQUESTS Counter "karst_ingest_requests_total" "Requests to inputs, by input and outcome.";
    INGEST_REFUSED Counter "karst_ingest_refused_total" "Requests refused, by reason.";
    INGEST_LOST_DATAGRAMS Counter "karst_ingest_lost_datagrams_total"
        "Datagrams that the kernel dropped because they were not read in time, by input.";
    INGEST_DUPLICATES Counter "karst_ingest_duplicates_total" "Batches recognised as sent before.";
    INGEST_TRUNCATED Counter "karst_ingest_truncated_events_total"
        "Events and lines truncated at a length limit.";
    INGEST_FIELDS_DROPPED Counter "karst_ingest_fields_dropped_total"
        "Indexed fields dropped because their event has too many or too large fields.";
    INGEST_SET_ASIDE Counter "karst_ingest_set_aside_total"
        "Events stored in data/rejected because no bucket could store them, by reason.";
    INGEST_QUARANTINED Counter "karst_ingest_quarantined_total"
        "Events stored in quarantine buckets because their time is far from now.";
    INGEST_INVALID_UTF8 Counter "karst_ingest_invalid_utf8_total"
        "Events with bytes that are not valid in their character set.";
    INGEST_TIMESTAMP_FALLBACKS Counter "karst_ingest_timestamp_fallbacks_total"
        "Events without a readable time of their own.";
    HEC_ACK_CHANNELS Gauge "karst_hec_ack_channels" "Channels of senders that use acknowledgements.";
    HEC_ACKS_PENDING Gauge "karst_hec_acks_pending"
        "Requests whose acknowledgement has not been queried yet.";
    HOST_LOOKUPS Counter "karst_host_lookups_total"
        "Lookups of senders' names (connection_host = dns), by outcome.";
    SCRIPT_RUNS Counter "karst_script_runs_total" "Runs of scripted inputs, by outcome.";
    S3_OBJECTS Counter "karst_s3_objects_total"
        "Objects announced by queues, by outcome (taken, duplicate, failed).";
    SQS_MESSAGES Counter "karst_sqs_messages_total"
        "Messages of queues, by outcome (done, undeleted, poison, failed).";
    INGEST_TIMESTAMP_JUMPS Counter "karst_ingest_timestamp_jumps_total"
        "Timestamps in an unusual format that are far from the previous one (MAX_DIFF_SECS_*).";
    INGEST_MAX_EVENTS Counter "karst_ingest_max_events_total"
        "Events that were split because they reached MAX_EVENTS lines.";
    INGEST_CHANGED Counter "karst_ingest_changed_events_total"
        "Events whose text an index-time rule changed, by rule.";
    INGEST_DROPPED Counter "karst_ingest_dropped_events_total"
        "Events that an index-time rule sent to the nullQueue, by rule.";
    INGEST_CLONED Counter "karst_ingest_cloned_events_total"
        "Events that an index-time rule cloned, by rule.";
    INGEST_MISROUTED Counter "karst_ingest_misrouted_events_total"
        "Events that stayed in their index because the index named by a rule does not exist.";
    QUEUE_BYTES Gauge "karst_queue_bytes" "Bytes waiting in a queue, by queue.";
    QUEUE_CAPACITY Gauge "karst_queue_capacity_bytes" "Maximum number of bytes in a queue, by queue.";
    QUEUE_PASSED_BYTES Counter "karst_queue_passed_bytes_total"
        "Bytes that have passed a queue, by queue.";
    QUEUE_PASSED_ITEMS Counter "karst_queue_passed_items_total"
        "Items that have passed a queue, by queue.";
    QUEUE_BLOCKED Counter "karst_queue_blocked_seconds_total"
        "Time a stage waited because the next queue was full, by queue.";
    INTAKE_STOPPED Counter "karst_intake_stopped_seconds_total"
        "Time during which no events were accepted because the disk has no space for waiting buckets.";
    FORWARDER_BATCHES Counter "karst_forwarder_acknowledged_batches_total"
        "Batches that indexers have acknowledged to this forwarder.";
    FORWARDER_BYTES Counter "karst_forwarder_acknowledged_bytes_total"
        "Bytes of events that indexers have acknowledged to this forwarder.";
    FORWARDER_QUEUE_BYTES Gauge "karst_forwarder_queue_bytes" "Bytes of a queue on disk, by queue.";
    FORWARDER_BLOCKED Counter "karst_forwarder_queue_full_total"
        "Half-second intervals in which a queue on disk was full and inputs waited, by queue.";
    FORWARDER_DROPPED Counter "karst_forwarder_dropped_batches_total"
        "Batches dropped because a queue was full (dropEventsOnQueueFull), by queue.";
    FORWARDER_FILTERED Counter "karst_forwarder_filtered_bytes_total"
        "Bytes that are not sent to any output, by reason.";
    FORWARDER_RULE_DROPPED Counter "karst_forwarder_dropped_events_total"
        "Events that a rule sent to the nullQueue at this forwarder, by rule.";
    FORWARDER_RULE_DROPPED_BYTES Counter "karst_forwarder_dropped_bytes_total"
        "Bytes of events that a rule sent to the nullQueue at this forwarder, by rule.";
    FORWARDER_ROUTED Counter "karst_forwarder_routed_events_total"
        "Events that a rule routed (_TCP_ROUTING), by groups.";
    FORWARDER_MISROUTED Counter "karst_forwarder_misrouted_events_total"
        "Events sent to the groups of their input because no group named by a rule exists.";
    FORWARDER_RESENT Counter "karst_forwarder_resent_batches_total"
        "Batches resent to an indexer after it returned.";
    FORWARDER_REASSIGNED Counter "karst_forwarder_reassigned_batches_total"
        "Batches sent to another indexer because their indexer did not return.";
    FORWARDER_DEAD_LETTERS Counter "karst_forwarder_dead_letters_total"
        "Batches that an indexer refused permanently.";
    FORWARDER_DISCOVERED Gauge "karst_forwarder_discovered_indexers"
        "Indexers in use of a group that asks for them (indexerDiscovery), by group.";
    FORWARDER_DISCOVERY_FAILURES Counter "karst_forwarder_discovery_failures_total"
        "Requests for indexers that brought none, by group.";
    FORWARDER_DAMAGED Counter "karst_forwarder_damaged_records_total"
        "Parts of a queue that could not be read.";
    FORWARDER_WRITE_FAILURES Counter "karst_forwarder_write_failures_total"
        "Failed attempts to write a queue, which are retried.";
    JOURNAL_BYTES Gauge "karst_journal_bytes" "Bytes in the journal that are not in object storage.";
    JOURNAL_SYNC Histogram "karst_journal_sync_seconds" "Duration of one group-committed fsync.";
    JOURNAL_REMOTE Histogram "karst_journal_remote_seconds"
        "Duration of one write of journal records to object storage.";
    JOURNAL_REMOTE_OBJECTS Counter "karst_journal_remote_objects_total"
        "Objects of journal records written to object storage.";
    JOURNAL_REMOTE_BYTES Counter "karst_journal_remote_bytes_total"
        "Bytes of journal records written to object storage.";
    JOURNAL_REMOTE_FAILURES Counter "karst_journal_remote_failures_total"
        "Failed attempts to write journal records to object storage, which are retried.";
    JOURNAL_REPLAYED Counter "karst_journal_replayed_records_total" "Records replayed at startup.";
    ADOPTED_EVENTS Counter "karst_adopted_events_total"
        "Events recovered from the journals of other indexers in object storage.";
    JOURNAL_LOST Counter "karst_journal_lost_events_total"
        "Maximum number of acknowledged events that are missing from the journal.";
    HOT_BYTES Gauge "karst_hot_bytes" "Memory used by hot buckets.";
    SPOOL_BUCKETS Gauge "karst_spool_buckets"
        "Rolled buckets that wait on disk for object storage.";
    SPOOL_BYTES Gauge "karst_spool_bytes" "Bytes of rolled buckets that wait on disk.";
    DISK_SIZE Gauge "karst_disk_size_bytes" "Size of the data directory's file system.";
    DISK_FREE Gauge "karst_disk_free_bytes" "Free bytes of the data directory's file system.";
    ROLLS Counter "karst_rolls_total" "Hot buckets rolled, by reason.";
    ROLL_SECONDS Histogram "karst_roll_seconds" "Time from the roll to the catalog's commit.";
    ROLL_FAILURES Counter "karst_roll_failures_total" "Roll attempts that failed and are retried.";
    BUCKET_BYTES Counter "karst_bucket_bytes_total" "Bytes of bucket objects written.";
    MERGES Counter "karst_merges_total" "Merges of small buckets, by outcome.";
    MERGED_BUCKETS Counter "karst_merged_buckets_total" "Buckets that were merged into larger ones.";
    MERGE_SECONDS Histogram "karst_merge_seconds" "Duration of one merge.";
    FROZEN_BUCKETS Counter "karst_frozen_buckets_total" "Buckets frozen, by index and reason.";
    FROZEN_FAILURES Counter "karst_frozen_failures_total"
        "Buckets that could not be archived and are kept, by index.";
    THAWED_BUCKETS Counter "karst_thawed_buckets_total" "Buckets thawed from archives, by index.";
    INDEX_BYTES Gauge "karst_index_stored_bytes" "Bytes of an index in object storage, by index.";
    INDEX_BUCKETS Gauge "karst_index_buckets" "Buckets of an index in the catalog, by index.";
    GARBAGE_OBJECTS Gauge "karst_garbage_objects"
        "Objects that no longer belong to a bucket and wait for deletion.";
    CATALOG_BUCKETS Gauge "karst_catalog_buckets" "Buckets in the catalog.";
    CATALOG_COMMITS Counter "karst_catalog_commits_total" "Catalog commits, by outcome.";
    CATALOG_WRITES Counter "karst_catalog_writes_total"
        "Writes of the catalog to the object store; commits that wait at the same time share one write.";
    CATALOG_COMMIT_SECONDS Histogram "karst_catalog_commit_seconds" "Duration of a durable commit.";
    CATALOG_LEADS Gauge "karst_catalog_leads" "1 while this process has the catalog open.";
    CATALOG_TAKEOVERS Counter "karst_catalog_takeovers_total"
        "Takeovers in which this standby became the leader.";
    CATALOG_FOLLOWS Gauge "karst_catalog_follows" "1 while this process receives the feed of a leader.";
    CATALOG_STATES Counter "karst_catalog_states_total"
        "Updates of the catalog received from the leader, by kind (whole states and single writes).";
    CATALOG_SUMMARIES Counter "karst_catalog_summaries_total"
        "Summaries of buckets that searches read from the catalog, by origin (memory, store).";
    CATALOG_SUMMARY_BYTES Gauge "karst_catalog_summary_bytes"
        "Bytes of the summaries that the catalog keeps in memory.";
    TRANSPORT_CONNECTIONS Gauge "karst_transport_connections"
        "Open connections from other processes of the cluster.";
    TRANSPORT_REFUSED Counter "karst_transport_refused_total"
        "Connections to the cluster port that were refused, by reason.";
    STORE_REQUESTS Counter "karst_store_requests_total"
        "Requests sent to S3, including retries, by operation.";
    STORE_ERRORS Counter "karst_store_errors_total"
        "Requests to S3 that failed, were throttled or received no response, by operation and reason.";
    STORE_SECONDS Histogram "karst_store_request_seconds"
        "Time from sending a request to S3 to the header of its response, by operation.";
    STORE_BYTES Counter "karst_store_bytes_total" "Bytes received from and sent to S3, by operation.";
    PEERS_VIEWS Counter "karst_peers_views_total"
        "Requests of searches to indexers for their hot buckets, by outcome (ok, error).";
    PEERS_RECEIVED_BYTES Counter "karst_peers_received_bytes_total"
        "Bytes of hot rows received from other indexers.";
    PEERS_HELD_BYTES Gauge "karst_peers_held_bytes"
        "Memory used by hot rows of other indexers.";
    REPLICAS_OBJECTS Counter "karst_replicas_objects_total"
        "Groups of journal records that all copies have confirmed.";
    REPLICAS_BYTES Counter "karst_replicas_bytes_total"
        "Bytes of journal records that all copies have confirmed.";
    REPLICAS_SECONDS Histogram "karst_replicas_seconds"
        "Time until all copies have confirmed a group of journal records.";
    REPLICAS_FAILURES Counter "karst_replicas_failures_total"
        "Groups of journal records that a copy has not confirmed and that are resent.";
    REPLICAS_COPIES Gauge "karst_replicas_copies" "Other indexers that have a copy of the journal of this one.";
    REPLICAS_HELD_BYTES Gauge "karst_replicas_held_bytes"
        "Disk space of copies of the journals of other indexers.";
    HOT_OPEN_VIEWS Gauge "karst_hot_open_views"
        "Views of the hot rows of this process that searches of other processes read.";
    CACHE_BYTES Counter "karst_cache_read_bytes_total" "Bytes served, by tier (dram, nvme, store).";
    CACHE_READS Counter "karst_cache_reads_total" "Blocks served, by tier (dram, nvme, store).";
    CACHE_MICROS Counter "karst_cache_read_microseconds_total"
        "Time spent reading blocks, by tier (dram, nvme, store).";
    CACHE_USED Gauge "karst_cache_used_bytes" "Memory used by cached blocks, by kind (index, data).";
    CACHE_SKIPPED Counter "karst_cache_skipped_total"
        "Blocks kept in DRAM only because the file system of the cache has no free space.";
    CACHE_RETRIES Counter "karst_cache_retries_total"
        "Reads of blocks that were retried because the store failed.";
    CACHE_WARM_HINTS Counter "karst_cache_warm_hints_total"
        "Buckets of hints from or for other indexers, by outcome (read, skipped, dropped, failed).";
    CACHE_WARMED_BLOCKS Counter "karst_cache_warmed_blocks_total"
        "Blocks of index data read in advance, of buckets that other indexers read.";
    CACHE_WARMED_BYTES Counter "karst_cache_warmed_bytes_total"
        "Bytes of index data read in advance, of buckets that other indexers read.";
    CACHE_HEDGES Counter "karst_cache_hedges_total"
        "Hedged requests (second requests for slow reads of blocks), by outcome (first, second, failed).";
    SEARCHES Counter "karst_searches_total"
        "Finished searches, exports and SQL queries, by outcome (done, failed, cancelled).";
    SEARCHES_INCOMPLETE Counter "karst_searches_incomplete_total"
        "Searches and exports that ended with incomplete results.";
    SEARCHES_RUNNING Gauge "karst_searches_running" "Running searches.";
    SEARCHES_QUEUED Gauge "karst_searches_queued" "Queued searches.";
    SAVED_JOBS Gauge "karst_saved_jobs" "Jobs whose results are in object storage; each process reports all.";
    SAVED_JOB_BYTES Gauge "karst_saved_job_bytes"
        "Object storage that the results of saved jobs take; each process reports all.";
    SAVED_JOB_WRITES Counter "karst_saved_job_writes_total"
        "Attempts to put the results of a job into object storage, by outcome (stored, refused, failed).";
    SAVED_JOB_READS Counter "karst_saved_job_reads_total"
        "Results of jobs read from object storage, by outcome (read, missing, failed).";
    SAVED_JOBS_REMOVED Counter "karst_saved_jobs_removed_total"
        "Saved jobs and leftover objects removed, by reason (expired, deleted, orphan).";
    SEARCH_MEMORY_WAITS Counter "karst_search_memory_waits_total"
        "Number of times a search waited for memory held by other searches (total_mem_usage_mb).";
    LOOKUP_BYTES Gauge "karst_lookup_bytes"
        "Memory used by lookups that are kept for the next searches (max_lookup_memory_mb), by kind (rows, index).";
    HOT_WORD_BYTES Gauge "karst_hot_word_filters_bytes"
        "Memory used by word filters of hot rows (max_hot_words_mb).";
    HOT_WORD_FILTERS Counter "karst_hot_word_filters_total"
        "Word filters of batches of hot rows, by outcome (made; refused: max_hot_words_mb is used up).";
    FILTER_BYTES Gauge "karst_filter_bytes"
        "Memory used by the rows that passed the filters of earlier searches (max_filter_memory_mb).";
    FILTER_GRANULES Counter "karst_filter_granules_total"
        "Granules of searches with filters that are costly, or before values that are remembered, by kind (known: the rows that pass are remembered; tested).";
    COMPUTED_BYTES Gauge "karst_computed_bytes"
        "Memory used by the values of fields that earlier searches have computed (max_computed_memory_mb).";
    COMPUTED_GRANULES Counter "karst_computed_granules_total"
        "Granules whose values of a computed field were wanted, counted for each field, by kind (known: the values of all events that pass are remembered; computed: those of some are new).";
    SEARCH_PARTS Counter "karst_search_parts_total"
        "Parts of searches that indexers were asked to run, by outcome (done, refused, failed, lost).";
    PARTS_RUN Counter "karst_parts_run_total"
        "Parts of searches that this process was asked to run, by outcome (started, refused).";
    SEARCH_SECONDS Histogram "karst_search_seconds"
        "Duration of a search, an export or an SQL query, without its time in the queue.";
    SEARCH_EVENTS Counter "karst_search_scanned_events_total"
        "Events scanned by finished searches.";
    SEARCH_BUCKETS Counter "karst_search_buckets_total"
        "Buckets of finished searches: searched, counted without reading, pruned.";
    QUARANTINED Counter "karst_buckets_quarantined_total"
        "Damaged buckets that were quarantined.";
    REQUEST_MEMORY Gauge "karst_request_memory_bytes"
        "Memory currently used by request bodies: compressed, decompressed and decoded.";
    REQUEST_MEMORY_REFUSED Counter "karst_request_memory_refused_total"
        "Requests refused for lack of memory for requests (maxRequestMemory), by reason.";
    HTTP_REQUESTS Counter "karst_http_requests_total"
        "HTTP requests, by port, kind of route and status.";
    HTTP_SECONDS Histogram "karst_http_request_duration_seconds"
        "Time from the header of an HTTP request to the header of its response, by port and kind of route.";
    HTTP_CONNECTIONS Gauge "karst_http_connections" "Open HTTP connections.";
    HTTP_REFUSED Counter "karst_http_refused_total"
        "Connections and requests refused, by the limit reached.";
    HTTP_TIMEOUTS Counter "karst_http_timeouts_total"
        "Connections and bodies aborted because the client took too long, by setting.";
    STATUS_STREAMS Gauge "karst_status_streams" "Open streams of job statuses.";
    STATUS_STREAMS_REFUSED Counter "karst_status_streams_refused_total"
        "Streams of job statuses refused because the user had too many (maxStatusStreams).";
    STATUS_EVENTS Counter "karst_status_events_total"
        "Events sent on streams of job statuses, by kind (status, gone, end).";
    AUDIT_RECORDS Counter "karst_audit_records_total" "Records written to the audit trail.";
    AUDIT_SYNC_SECONDS Histogram "karst_audit_sync_seconds"
        "Time to write and sync a group of audit records.";
    AUDIT_WRITE_ERRORS Counter "karst_audit_write_errors_total"
        "Failed writes to the audit trail.";
    AUDIT_LOST Counter "karst_audit_lost_total"
        "Records that are missing in the audit trail (onFailure = continue, or a full queue).";
    AUDIT_SUPPRESSED Counter "karst_audit_suppressed_total"
        "Denials that were counted in another audit record instead of being recorded separately.";
    AUDIT_INDEXED Gauge "karst_audit_indexed_record" "Number of the last record in the index _audit.";
    LOG_LOST Counter "karst_log_lines_lost_total" "Lines of karst.log that could not be written.";
    ACCESS_DROPPED Counter "karst_access_lines_dropped_total"
        "Requests that are missing in splunkd_access.log, because there were too many in an interval.";
    TRACE_SPANS_SENT Counter "karst_trace_spans_sent_total" "Spans of traces that a collector has taken.";
    TRACE_SPANS_DROPPED Counter "karst_trace_spans_dropped_total"
        "Spans of traces that reach no collector, by reason (queue, export).";
    HEALTH Gauge "karst_health" "1 while a health condition is active, by condition.";
    CERTIFICATE_END Gauge "karst_certificate_end_timestamp_seconds"
        "Earliest expiry time of the certificates of the TLS ports, epoch seconds.";
    CATALOG_FENCED Gauge "karst_catalog_fenced" "1 after another server has taken over the catalog.";
    BUILD Gauge "karst_build_info" "1, with the version of the program as a label.";
    SCRIPTS_RESTRICTED Gauge "karst_scripts_restricted"
        "1 if programs of apps that searches start run in a complete sandbox.";
    SESSIONS Gauge "karst_sessions" "Open sessions of users.";
    PASSWORD_CHECKS Counter "karst_password_checks_total"
        "Passwords checked, by outcome (right, wrong, remembered, refused).";
}

/// Bounds of time histograms, from half a millisecond to five minutes.
const SECONDS: &[f64] = &[
    0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0,
    60.0, 300.0,
];

/// Collects the metrics of this process and renders them.
#[derive(Clone)]
pub struct Recorder(PrometheusHandle);

impl std::fmt::Debug for Recorder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Recorder")
    }
}

impl Recorder {
    /// Installs the recorder for the process; the counters and histograms of the program start at zero.
    ///
    /// # Errors
    /// [`Error::AlreadyInstalled`] if it is already installed.
    pub fn install(program: Program, version: &'static str) -> Result<Self, Error> {
        let recorder = builder().build_recorder();
        let handle = recorder.handle();
        ::metrics::set_global_recorder(recorder)
            .map_err(|_| Error::AlreadyInstalled { what: "the metrics recorder" })?;
        describe();
        births::begin(program);
        ::metrics::gauge!(BUILD, "version" => version).set(1.0);
        Ok(Self(handle))
    }

    /// Returns the metrics in the Prometheus text format.
    #[must_use]
    pub fn render(&self) -> String {
        // Rendering also aggregates recent histogram samples, so `upkeep` is needed only if nothing
        // scrapes; the server calls it for that case.
        let mut text = in_seconds(&self.0.render());
        process::append(&mut text);
        text
    }

    /// Aggregates histogram samples to bound memory; call it every few seconds.
    pub fn upkeep(&self) {
        self.0.run_upkeep();
    }
}

/// Returns the name under which a metric is rendered.
fn rendered_name(name: &str) -> String {
    name.replace(MICROSECONDS, "_seconds_total")
}

const MICROSECONDS: &str = "_microseconds_total";

/// Converts counters of microseconds in the text to counters of seconds.
fn in_seconds(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let is_value = !line.starts_with('#');
        match line.rsplit_once(' ') {
            Some((series, value)) if is_value && series.contains(MICROSECONDS) => {
                #[allow(clippy::cast_precision_loss)]
                let seconds = value.parse::<u64>().unwrap_or(0) as f64 / 1e6;
                let _ = writeln!(out, "{} {seconds}", rendered_name(series));
            }
            _ if line.contains(MICROSECONDS) => {
                let _ = writeln!(out, "{}", rendered_name(line));
            }
            _ => {
                out.push_str(line);
                out.push('\n');
            }
        }
    }
    out
}

fn builder() -> PrometheusBuilder {
    PrometheusBuilder::new()
        .set_buckets_for_metric(Matcher::Suffix("_seconds".to_owned()), SECONDS)
        .expect("the list of bounds is not empty")
}

fn describe() {
    for metric in ALL {
        match metric.kind {
            Kind::Counter => ::metrics::describe_counter!(metric.name, metric.help),
            Kind::Gauge => ::metrics::describe_gauge!(metric.name, metric.help),
            Kind::Histogram => ::metrics::describe_histogram!(metric.name, metric.help),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn names_are_unique_and_follow_the_rules() {
        let mut seen = HashSet::new();
        for metric in ALL {
            assert!(seen.insert(metric.name), "{} is declared twice", metric.name);
            assert!(metric.name.starts_with("karst_"), "{}", metric.name);
            let counts = metric.kind == Kind::Counter;
            assert_eq!(counts, metric.name.ends_with("_total"), "{}", metric.name);
        }
    }

    #[test]
    fn a_counter_and_a_histogram_render_in_the_text_format() {
        let recorder = builder().build_recorder();
        let handle = recorder.handle();
        ::metrics::with_local_recorder(&recorder, || {
            ::metrics::counter!(SEARCHES, "outcome" => "done").increment(3);
            ::metrics::histogram!(SEARCH_SECONDS).record(0.2);
        });
        let text = Recorder(handle).render();
        assert!(text.contains("process_resident_memory_bytes "), "{text}");
        assert!(text.contains("karst_searches_total{outcome=\"done\"} 3"), "{text}");
        assert!(text.contains("karst_search_seconds_bucket{le=\"0.25\"} 1"), "{text}");
    }

    #[test]
    fn microseconds_are_rendered_as_seconds() {
        let text =
            "# HELP a_microseconds_total Time.\na_microseconds_total{tier=\"x y\"} 1500000\nb 2\n";
        let expected = "# HELP a_seconds_total Time.\na_seconds_total{tier=\"x y\"} 1.5\nb 2\n";
        assert_eq!(in_seconds(text), expected);
    }
}
