//! Searches over hot and stored buckets: jobs, the bucket scan, results as clients see them, SQL.
//!
//! Not here: what SPL means (`plan`), how a bucket is laid out (`bucket`), which buckets exist
//! (`catalog`), how HTTP says it (`api`).
//!
//! ```text
//! JobRequest -> plan -> Job (QUEUED -> RUNNING -> DONE) -> Page of texts
//!                        | DataFusion plan, leaf = scan: hot rows + objects through the cache
//! ```
//!
//! Invariants: a search meets every event once, wherever it lies; a result that was cut or is
//! partial says so in its messages; a mistake in a search is an error before there is a job.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod archive;
mod control;
mod cpu;
mod current_settings;
mod custom_commands;
mod dependencies;
mod discovered;
mod ended;
mod engine;
mod error;
mod estimate;
mod explain;
mod external_lookups;
mod handover;
mod hints;
mod hot_facts;
mod hot_rows;
mod hot_words;
mod inspect;
mod jobs;
mod lookup_files;
mod memory;
mod metadata;
mod operators;
mod outside;
mod panics;
mod part_report;
mod parts;
mod preview;
mod quarantine;
mod queries;
mod readers;
mod reads;
mod recipes;
mod render;
mod report;
mod run;
mod runner;
mod saved;
mod scan;
mod search_host;
mod service;
mod settings;
mod shown;
mod slices;
mod source;
mod sql;
mod sql_columns;
mod sql_depth;
mod sql_errors;
mod sql_misread;
mod sql_names;
mod sql_plan;
mod sql_size;
mod stream;
mod summary_rows;
mod threads;
mod timeline;
mod times;
mod traced;
mod warming;
mod workers;

pub use archive::is_saved_job;
pub use dependencies::{Dependencies, Objects};
pub use ended::Ended;
pub use error::Error;
pub use estimate::{Estimate, EstimatedBuckets, EstimatedHot, EstimatedTiers};
pub use explain::{ExplainedCommand, ExplainedSql, Explanation};
pub use hot_rows::Met;
pub use inspect::{Inspection, PhaseReport};
pub use jobs::{
    DispatchState, FieldCounts, Job, JobRequest, JobStatus, Mode, Page, ReservedId, ResultRows,
};
pub use operators::{OperatorReport, PartPlan};
pub use outside::SharedEvents;
pub use plan::{
    AggregateCall, Arguments, CommandKind, CommandPlace, Message, MessageKind, Outline,
    OutlinedCommand, Suggestion, fill_placeholders, with_implied_search, without_leading_comments,
};
pub use quarantine::{Quarantine, Quarantined, quarantined};
pub use reads::{Reads, TierReads};
pub use render::Value;
pub use report::{PartCounts, PartPhase, ScanCounts};
pub use saved::Keeping;
pub use service::{SearchLoad, SearchService, range_of};
pub use settings::{DECLARED, PartSettings, Settings, WarmingSettings};
pub use sql::{SQL_CATALOG, SQL_SCHEMA, SqlRequest, SqlResult, SqlRows, SqlStream, sql_app};
pub use stream::{Export, ExportRun};
pub use threads::SearchThreads;
pub use timeline::Timeline;
pub use workers::{Worker, Workers};
