//! The spans of searches, and what they say: who searches what, who was asked for a part, what that cost.
//!
//! ```text
//! search                          at the search head, for each search
//!   search.plan                   subsearches included; search.describe for each indexer that is asked
//!   search.queue                  until it is the search's turn
//!   search.execute                until the last row
//!     search.part                 a share of the buckets that another process reads
//!       search.part.run           there
//!         search.part.plan
//!   search.finish                 from the last row to the result
//! ```
//!
//! `docs/operations.md` has their attributes. Numbers are those of the inspector, read once at the end:
//! nothing is counted for a span that is not counted anyway.

use distributed::CallContext;
use parking_lot::Mutex;
use runtime::trace::{Span, SpanKind, TraceContext, Tracer};

use crate::Error;
use crate::reads::Reads;
use crate::report::{Outcome, ScanCounts, ScanReport};
use crate::workers::Worker;

/// Maximum length of the search text in a span, in bytes.
const MAX_TEXT: usize = 4 << 10;

/// Attributes of a search for its span.
#[derive(Debug, Clone, Copy)]
pub(crate) struct About<'a> {
    /// `job`, `export` or `sql`.
    pub(crate) kind: &'static str,
    pub(crate) sid: Option<&'a str>,
    pub(crate) user: &'a str,
    pub(crate) app: Option<&'a str>,
    pub(crate) text: &'a str,
}

/// The span of a search. It ends with [`end`](Self::end), or on drop.
#[derive(Debug)]
pub(crate) struct Traced {
    tracer: Tracer,
    context: TraceContext,
    span: Mutex<Span>,
}

impl Traced {
    /// Begins the span of a search whose request belongs to the parent span.
    pub(crate) fn begin(tracer: &Tracer, parent: &TraceContext, about: About<'_>) -> Self {
        let mut span = tracer.span("search", parent);
        if span.is_recording() {
            span.set("karst.search.type", about.kind);
            span.set("karst.user", about.user.to_owned());
            let end = about.text.floor_char_boundary(MAX_TEXT);
            span.set("karst.search.text", about.text[..end].to_owned());
            for (name, text) in [("karst.sid", about.sid), ("karst.app", about.app)] {
                if let Some(text) = text {
                    span.set(name, text.to_owned());
                }
            }
        }
        Self { tracer: tracer.clone(), context: span.context(), span: Mutex::new(span) }
    }

    /// Restores the span of an ended search from the headers that identify it.
    pub(crate) fn ended(headers: &[(String, String)]) -> Self {
        let header =
            |name: &str| headers.iter().find(|(of, _)| of == name).map(|(_, text)| text.as_str());
        let context = TraceContext::of_headers(header);
        Self { tracer: Tracer::default(), context, span: Mutex::default() }
    }

    /// Begins a child span.
    pub(crate) fn child(&self, name: &'static str) -> Span {
        self.tracer.span(name, &self.context)
    }

    /// Returns the context for child spans.
    pub(crate) fn context(&self) -> &TraceContext {
        &self.context
    }

    /// Ends the span of a search that failed before it had a report.
    pub(crate) fn fail(&self, error: &Error) {
        self.end_with(Outcome::Failed, Some(error), |_| {});
    }

    /// Ends the span with the totals of the search in all processes.
    pub(crate) fn end(
        &self,
        outcome: Outcome,
        error: Option<&Error>,
        report: &ScanReport,
        rows: Option<u64>,
    ) {
        self.end_with(outcome, error, |span| {
            let counts = report.counts();
            span.count("karst.buckets.considered", counts.buckets_considered);
            set_counts(span, &counts);
            set_reads(span, &report.all_reads());
            span.set("karst.incomplete", report.is_incomplete());
            if let Some(rows) = rows {
                span.count("karst.rows", rows);
            }
        });
    }

    fn end_with(&self, outcome: Outcome, error: Option<&Error>, say: impl FnOnce(&mut Span)) {
        let mut span = std::mem::take(&mut *self.span.lock());
        if !span.is_recording() {
            return;
        }
        say(&mut span);
        span.set("karst.outcome", outcome.word());
        if let Some(error) = error.filter(|_| outcome == Outcome::Failed) {
            span.fail(error);
        }
    }
}

/// Sets the totals of the reads of this process. A span per request would make most of a trace.
pub(crate) fn set_own_reads(span: &mut Span, report: &ScanReport) {
    if span.is_recording() {
        set_reads(span, &Reads::of(&report.reads.stats()));
    }
}

fn set_counts(span: &mut Span, counts: &ScanCounts) {
    span.count("karst.buckets.searched", counts.buckets_searched);
    span.count("karst.events.scanned", counts.events_scanned);
    span.count("karst.events.matched", counts.events_matched);
}

fn set_reads(span: &mut Span, reads: &Reads) {
    span.count("karst.store.requests", reads.store_requests);
    span.count("karst.store.bytes", reads.store.bytes);
    span.set("karst.store.seconds", reads.store.seconds);
    span.count("karst.cache.bytes", reads.dram.bytes + reads.nvme.bytes);
}

/// Returns the headers for a call within a span.
pub(crate) fn call_context(span: &Span) -> CallContext {
    span.context().headers().collect()
}

/// Returns the span from which a call was made.
pub(crate) fn caller(context: &CallContext) -> TraceContext {
    TraceContext::of_headers(|name| context.header(name))
}

/// The span of a share of the buckets at the search head, from the first request to the last row.
#[derive(Debug)]
pub(crate) struct ShareSpan {
    span: Span,
    attempts: u64,
    rows: u64,
    bytes: u64,
    outcome: &'static str,
    peer: Option<(String, String)>,
}

impl ShareSpan {
    pub(crate) fn begin(
        tracer: &Tracer,
        parent: &TraceContext,
        number: usize,
        buckets: usize,
    ) -> Self {
        let mut span = tracer.of_kind("search.part", SpanKind::Client, parent);
        span.count("karst.part.number", number as u64);
        span.count("karst.buckets", buckets as u64);
        Self { span, attempts: 0, rows: 0, bytes: 0, outcome: "cancelled", peer: None }
    }

    /// Records the request to a process and returns the headers for the call.
    pub(crate) fn ask(&mut self, worker: &Worker) -> CallContext {
        self.attempts += 1;
        if self.span.is_recording() {
            self.peer = Some((worker.id.clone(), worker.name.clone()));
        }
        call_context(&self.span)
    }

    /// Adds received rows.
    pub(crate) fn add(&mut self, rows: usize, bytes: usize) {
        self.rows += rows as u64;
        self.bytes += bytes as u64;
    }

    /// Records that a process has failed and that its rows are discarded.
    pub(crate) fn begin_again(&mut self, worker: &Worker, outcome: &'static str, reason: &str) {
        (self.rows, self.bytes) = (0, 0);
        if self.span.is_recording() {
            let about = [
                ("karst.peer.id", worker.id.clone()),
                ("karst.outcome", outcome.to_owned()),
                ("karst.reason", reason.to_owned()),
            ];
            self.span.note("attempt failed", about);
        }
    }

    /// Records that the rows are read in this process.
    pub(crate) fn is_here(&mut self) {
        (self.peer, self.outcome) = (None, "here");
    }

    /// Records that all rows have arrived.
    pub(crate) fn done(&mut self) {
        self.outcome = "done";
    }

    /// Records that the remaining rows are missing.
    pub(crate) fn break_off(&mut self, reason: &str) {
        self.outcome = "incomplete";
        self.span.fail(reason);
    }
}

impl Drop for ShareSpan {
    fn drop(&mut self) {
        if !self.span.is_recording() {
            return;
        }
        if let Some((id, name)) = self.peer.take() {
            self.span.set("karst.peer.id", id);
            self.span.set("karst.peer.name", name);
        }
        self.span.count("karst.attempts", self.attempts);
        self.span.count("karst.rows", self.rows);
        self.span.count("karst.bytes", self.bytes);
        self.span.set("karst.outcome", self.outcome);
    }
}

/// The span of a part of another process's search.
#[derive(Debug, Default)]
pub(crate) struct PartSpan {
    tracer: Tracer,
    span: Span,
    rows: u64,
    is_done: bool,
}

impl PartSpan {
    /// Begins the span of the part that a call requests.
    pub(crate) fn begin(tracer: &Tracer, context: &CallContext) -> Self {
        let span = tracer.of_kind("search.part.run", SpanKind::Server, &caller(context));
        Self { tracer: tracer.clone(), span, rows: 0, is_done: false }
    }

    /// Sets the search and the number of buckets of the part.
    pub(crate) fn is_of(&mut self, sid: &str, buckets: usize) {
        if self.span.is_recording() {
            self.span.set("karst.sid", sid.to_owned());
            self.span.count("karst.buckets", buckets as u64);
        }
    }

    /// Begins the span of the planning of the part.
    pub(crate) fn plan(&self) -> Span {
        self.tracer.span("search.part.plan", &self.span.context())
    }

    pub(crate) fn add(&mut self, rows: usize) {
        self.rows += rows as u64;
    }

    /// Records that all rows have been sent.
    pub(crate) fn done(&mut self) {
        self.is_done = true;
    }

    pub(crate) fn fail(&mut self, error: impl std::fmt::Display) {
        self.span.fail(error);
    }

    /// Ends the span with the totals of the part.
    pub(crate) fn end(&mut self, report: &ScanReport) {
        let mut span = std::mem::take(&mut self.span);
        if !span.is_recording() {
            return;
        }
        set_counts(&mut span, &report.counts());
        set_own_reads(&mut span, report);
        span.count("karst.rows", self.rows);
        span.set("karst.outcome", if self.is_done { "done" } else { "ended early" });
    }
}
