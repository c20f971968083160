//! A job as it is stored: the document that makes it known to all search heads, what is beside its rows in
//! its object, and the job that both are restored to.
//!
//! Guarantees: a restored job shows what the job showed, except what depends on the time (uses, lifetime) and
//! on the configuration (fields that are extracted when events are shown). Its rights have the reach of those
//! that it ran with, and nothing else. Leaves to others: where documents and objects are (`archive`).

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use access::{Reach, Rights};
use jiff::tz::TimeZone;
use knowledge::Knowledge;
use model::{EventTime, TimeRange};
use plan::{FieldFilter, Message, MessageKind, OutputColumn, ResultKind, ValueType};
use runtime::Clock;
use serde::{Deserialize, Serialize};

use super::answer::Answer;
use super::instruments::{Instruments, Restored};
use super::lifecycle::Lifecycle;
use super::retention::Retention;
use super::saving::Saving;
use super::shown::Shown;
use super::understood::Understood;
use super::uses::Uses;
use super::{Job, JobRequest, KnownFields, Results};
use crate::control::ScanControl;
use crate::ended::Ended;
use crate::inspect::Inspection;
use crate::operators::{LEVELS, OperatorReport, PartPlan};
use crate::render::Renderer;
use crate::timeline::Timeline;
use crate::traced::Traced;

/// Minimum and maximum time by which a document may lag behind the last use of its job.
const BEHIND: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(600));

/// The document of a stored job.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct SavedJob {
    /// The version of the object. Each version is written only once.
    pub(crate) version: String,
    /// Size of the object in bytes.
    pub(crate) bytes: u64,
    /// Time of the last use, as far as it has been written.
    pub(crate) touched: EventTime,
    /// Lifetime after the last use in seconds.
    pub(crate) ttl: u64,
    /// Whether a user has saved the job.
    pub(crate) is_saved: bool,
    /// Roles whose users may read it besides its owner.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) readers: Vec<String>,
    pub(crate) facts: Facts,
}

/// The list entry of a job.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Facts {
    pub(crate) owner: String,
    pub(crate) app: String,
    pub(crate) created: EventTime,
    pub(crate) label: Option<String>,
    search: String,
    earliest: Option<String>,
    latest: Option<String>,
    /// Earlier versions do not store these three.
    #[serde(default)]
    index_earliest: Option<String>,
    #[serde(default)]
    index_latest: Option<String>,
    #[serde(default)]
    now: Option<EventTime>,
    timezone: Option<String>,
    max_count: Option<usize>,
    status_buckets: usize,
    provenance: Option<String>,
    /// Headers that identify the span of the search.
    #[serde(default)]
    trace: Vec<(String, String)>,
    reach: Reach,
    started: Option<EventTime>,
    run_micros: u64,
    is_finalized: bool,
    is_incomplete: bool,
    priority: u8,
    previews: u64,
    rows: usize,
    normalized: String,
    range: TimeRange,
    finds_events: bool,
    highlight: Vec<String>,
    /// Messages of planning and of the run; true for a warning.
    planned: Vec<(bool, String)>,
    messages: Vec<(bool, String)>,
    /// The inspector's report without plans, which are in the object.
    inspection: Inspection,
}

/// The part of the object besides the rows.
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Details {
    plans: Vec<OperatorReport>,
    /// Earlier versions do not store them.
    #[serde(default)]
    part_plans: Vec<PartPlan>,
    timeline: Option<Timeline>,
    columns: Vec<Column>,
    /// Patterns of displayed fields and of hidden fields when more fields are extracted.
    keep: Option<Vec<String>>,
    drop: Vec<String>,
    /// Knowledge objects that the owner could not read.
    pub(crate) hidden: Vec<String>,
}

/// A column of the result.
#[derive(Debug, Serialize, Deserialize)]
struct Column {
    name: String,
    /// Type of its values.
    kind: Kind,
    shown: bool,
    possible: bool,
    named: bool,
}

/// The serialized form of a [`ValueType`].
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Kind {
    Text,
    Multi,
    Integer,
    Float,
    Boolean,
    Time,
    Null,
}

/// The parts of a job's object that have been read.
#[derive(Debug, Clone)]
pub(crate) struct Loaded {
    pub(crate) results: Arc<Results>,
    pub(crate) details: Arc<Details>,
}

/// Dependencies of a restored job.
#[derive(Debug)]
pub(crate) struct Restoring {
    pub(crate) clock: Arc<dyn Clock>,
    pub(crate) ended: Arc<Ended>,
    pub(crate) knowledge: Arc<Knowledge>,
    pub(crate) uses: Arc<Uses>,
    pub(crate) field_summary_values: usize,
}

impl SavedJob {
    /// Returns how far the document may lag behind: an eighth of the lifetime, within bounds. Uses in between
    /// are not written, so the job may stay that much longer.
    fn behind(&self) -> Duration {
        (Duration::from_secs(self.ttl) / 8).clamp(BEHIND.0, BEHIND.1)
    }

    /// Whether the job has expired.
    pub(crate) fn is_over(&self, now: EventTime) -> bool {
        let kept = Duration::from_secs(self.ttl).saturating_add(self.behind());
        now.0.saturating_sub(self.touched.0) > micros(kept)
    }

    /// Whether a use must be written.
    pub(crate) fn is_behind(&self, used: EventTime) -> bool {
        used.0.saturating_sub(self.touched.0) >= micros(self.behind())
    }

    /// Restores the job, with or without its rows.
    pub(crate) fn restore(&self, sid: &str, loaded: Option<&Loaded>, with: Restoring) -> Job {
        let facts = self.facts.clone();
        let details = loaded.map(|loaded| loaded.details.as_ref());
        let timezone = facts.timezone.as_deref().and_then(|name| TimeZone::get(name).ok());
        let timezone = timezone.unwrap_or(TimeZone::UTC);
        let rights = Arc::new(Rights::of_reach(&facts.reach));
        let ttl = Duration::from_secs(self.ttl);
        let request = JobRequest {
            earliest: facts.earliest,
            latest: facts.latest,
            index_earliest: facts.index_earliest,
            index_latest: facts.index_latest,
            now: facts.now,
            timezone: timezone.clone(),
            max_count: facts.max_count,
            status_buckets: facts.status_buckets,
            owner: facts.owner,
            app: facts.app,
            sid: Some(sid.to_owned()),
            ttl: Some(ttl),
            label: facts.label,
            provenance: facts.provenance,
            ..JobRequest::of(facts.search, &rights)
        };
        let kind = if facts.finds_events { ResultKind::Events } else { ResultKind::Report };
        let results = loaded.map(|loaded| Arc::clone(&loaded.results));
        let run = Duration::from_micros(facts.run_micros);
        let measured = Restored {
            inspection: facts.inspection,
            plans: details.map(|details| details.plans.clone()).unwrap_or_default(),
            part_plans: details.map(|details| details.part_plans.clone()).unwrap_or_default(),
            timeline: details.and_then(|details| details.timeline.clone()),
            is_incomplete: facts.is_incomplete,
        };
        Job {
            sid: sid.to_owned(),
            understood: Understood::without_plan(
                facts.normalized,
                facts.range,
                (kind, facts.highlight),
                details.map(Details::filter).unwrap_or_default(),
                messages(facts.planned),
            ),
            knowledge: with.knowledge,
            renderer: Renderer::new(timezone),
            control: Arc::new(ScanControl::default()),
            field_summary_values: with.field_summary_values,
            retention: Retention::restored(
                Arc::clone(&with.clock),
                (self.touched, ttl),
                (self.is_saved, facts.priority, self.readers.clone()),
                (with.uses, sid.to_owned()),
            ),
            lifecycle: Lifecycle::restored(
                with.clock,
                (facts.created, facts.started),
                run,
                facts.is_finalized,
                messages(facts.messages),
            ),
            answer: Answer::restored(results, facts.rows, facts.previews),
            instruments: Instruments::restored(measured, with.ended),
            saving: Saving::stored(self.version.clone()),
            shown: Shown::default(),
            traced: Traced::ended(&facts.trace),
            request,
        }
    }
}

impl Details {
    fn filter(&self) -> FieldFilter {
        FieldFilter { keep: self.keep.clone(), drop: self.drop.clone() }
    }

    /// Returns the result with these rows.
    pub(crate) fn results(
        &self,
        saved: &SavedJob,
        batches: Vec<arrow::array::RecordBatch>,
        knowledge: Arc<Knowledge>,
    ) -> Results {
        let timezone = saved.facts.timezone.as_deref().and_then(|name| TimeZone::get(name).ok());
        let kind = if saved.facts.finds_events { ResultKind::Events } else { ResultKind::Report };
        Results {
            kind,
            columns: self.columns.iter().map(Column::output).collect(),
            filter: self.filter(),
            batches,
            only_raw: false,
            knowledge,
            renderer: Renderer::new(timezone.unwrap_or(TimeZone::UTC)),
            known: KnownFields::default(),
            shown: OnceLock::new(),
        }
    }
}

impl Job {
    /// Whether its rows are in object storage and have not been read.
    #[must_use]
    pub fn lacks_rows(&self) -> bool {
        self.saving.now().version.is_some() && self.answer.results().is_none()
    }

    /// Returns the parts to store of a job that has ended with its result; `None` for other jobs.
    pub(crate) fn to_store(&self, version: String) -> Option<(SavedJob, Details, Arc<Results>)> {
        let results = Arc::clone(self.answer.results()?);
        let request = &self.request;
        let (plans, part_plans) = self.instruments.plans();
        let facts = Facts {
            owner: request.owner.clone(),
            app: request.app.clone(),
            created: self.created(),
            label: request.label.clone(),
            search: request.search.clone(),
            earliest: request.earliest.clone(),
            latest: request.latest.clone(),
            index_earliest: request.index_earliest.clone(),
            index_latest: request.index_latest.clone(),
            now: request.now,
            timezone: request.timezone.iana_name().map(str::to_owned),
            max_count: request.max_count,
            status_buckets: request.status_buckets,
            provenance: request.provenance.clone(),
            trace: self
                .traced
                .context()
                .headers()
                .map(|(name, text)| (name.to_owned(), text))
                .collect(),
            reach: request.rights.reach(),
            started: self.lifecycle.started(),
            run_micros: u64::try_from(self.lifecycle.run_duration().as_micros())
                .unwrap_or(u64::MAX),
            is_finalized: self.lifecycle.is_finalized(),
            is_incomplete: self.is_partial(),
            priority: self.priority(),
            previews: self.previews(),
            rows: results.rows(),
            normalized: self.understood.normalized.clone(),
            range: self.understood.range,
            finds_events: self.finds_events(),
            highlight: self.understood.highlight.clone(),
            planned: stored_messages(&self.understood.messages),
            messages: stored_messages(&self.lifecycle.messages()),
            inspection: self.measured(),
        };
        let details = Details {
            plans: plans.iter().map(|plan| plan.upper(LEVELS, &mut { usize::MAX })).collect(),
            part_plans,
            timeline: self.instruments.timeline(),
            columns: results.columns.iter().map(Column::of).collect(),
            keep: results.filter.keep.clone(),
            drop: results.filter.drop.clone(),
            hidden: request.rights.hidden(),
        };
        let saved = SavedJob {
            version,
            bytes: 0,
            touched: self.touched(),
            ttl: self.ttl().as_secs(),
            is_saved: self.is_saved(),
            readers: self.readers(),
            facts,
        };
        Some((saved, details, results))
    }
}

impl Column {
    fn of(column: &OutputColumn) -> Self {
        let kind = match column.value_type {
            ValueType::Text => Kind::Text,
            ValueType::Multi => Kind::Multi,
            ValueType::Integer => Kind::Integer,
            ValueType::Float => Kind::Float,
            ValueType::Boolean => Kind::Boolean,
            ValueType::Time => Kind::Time,
            ValueType::Null => Kind::Null,
        };
        let OutputColumn { shown, possible, named, .. } = *column;
        Self { name: column.name.clone(), kind, shown, possible, named }
    }

    fn output(&self) -> OutputColumn {
        let value_type = match self.kind {
            Kind::Text => ValueType::Text,
            Kind::Multi => ValueType::Multi,
            Kind::Integer => ValueType::Integer,
            Kind::Float => ValueType::Float,
            Kind::Boolean => ValueType::Boolean,
            Kind::Time => ValueType::Time,
            Kind::Null => ValueType::Null,
        };
        let Self { shown, possible, named, .. } = *self;
        // Results have no columns without values (`results::present`).
        OutputColumn { name: self.name.clone(), value_type, shown, possible, named, absent: false }
    }
}

fn stored_messages(messages: &[Message]) -> Vec<(bool, String)> {
    let told = |message: &Message| (message.kind == MessageKind::Warning, message.text.clone());
    messages.iter().map(told).collect()
}

fn messages(told: Vec<(bool, String)>) -> Vec<Message> {
    let message = |(is_warning, text)| {
        let kind = if is_warning { MessageKind::Warning } else { MessageKind::Info };
        Message { kind, text }
    };
    told.into_iter().map(message).collect()
}

fn micros(time: Duration) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}
