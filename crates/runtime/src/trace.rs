//! Traces: sampled spans of searches and requests, in a queue for the exporter that sends them to a
//! collector.
//!
//! ```text
//! Tracer::span(name, parent) -> Span -> ends when it is dropped -> queue -> Spans::next -> exporter
//!              TraceContext::of_headers <- traceparent <- TraceContext::headers
//! ```
//!
//! Guarantees: each span of a disabled [`Tracer`] costs one comparison. A span never waits when it ends: if
//! the queue is full, it is dropped and counted. Trace IDs, sampling and the headers of W3C Trace Context are
//! those of the OpenTelemetry SDK. There is no implicit current span: the parent is always an argument.
//!
//! Leaves to `services`: which variables enable it, and how spans are sent.

use std::fmt;
use std::mem;
use std::time::Duration;

use opentelemetry::propagation::{Extractor, Injector, TextMapPropagator};
use opentelemetry::trace::{
    Span as _, SpanBuilder, SpanContext, Status, TraceContextExt, Tracer as _, TracerProvider,
};
use opentelemetry::{Context, KeyValue, Value};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider, Span as SdkSpan, SpanProcessor};
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout_at};

pub use opentelemetry::trace::SpanKind;
pub use opentelemetry_sdk::trace::{Sampler, SpanData};

use crate::metrics as names;

/// The headers of W3C Trace Context, in HTTP and in gRPC.
pub const HEADERS: [&str; 2] = ["traceparent", "tracestate"];

/// The limits of the queue of spans.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct QueueSettings {
    /// Maximum number of queued spans; further ones are dropped.
    pub spans: usize,
    /// Maximum number of spans that are sent at a time.
    pub batch: usize,
    /// How long the first span of a batch waits for others.
    pub delay: Duration,
}

impl Default for QueueSettings {
    /// Returns the defaults of OpenTelemetry (`OTEL_BSP_*`).
    fn default() -> Self {
        Self { spans: 2048, batch: 512, delay: Duration::from_secs(5) }
    }
}

/// Creates spans, or none if it is disabled. Clones create spans for the same queue.
#[derive(Debug, Clone, Default)]
pub struct Tracer {
    sdk: Option<SdkTracer>,
}

impl Tracer {
    /// Creates a tracer with this sampler, and the queue of its spans.
    #[must_use]
    pub fn new(sampler: Sampler, settings: &QueueSettings) -> (Self, Spans) {
        let (sender, receiver) = mpsc::channel(settings.spans.max(1));
        let provider = SdkTracerProvider::builder()
            .with_sampler(sampler)
            .with_span_processor(Queue(sender))
            .build();
        let (batch, delay) = (settings.batch.max(1), settings.delay);
        let tracer = Self { sdk: Some(provider.tracer("karst")) };
        (tracer, Spans { receiver, batch, delay, held: Vec::new() })
    }

    /// Whether it is disabled and creates no spans.
    #[must_use]
    pub fn is_off(&self) -> bool {
        self.sdk.is_none()
    }

    /// Begins a span of work within this process. Without a parent it begins a trace.
    #[must_use]
    pub fn span(&self, name: &'static str, parent: &TraceContext) -> Span {
        self.of_kind(name, SpanKind::Internal, parent)
    }

    /// Begins a span: [`SpanKind::Client`] waits for another process, [`SpanKind::Server`] is the work of
    /// that process.
    #[must_use]
    pub fn of_kind(&self, name: &'static str, kind: SpanKind, parent: &TraceContext) -> Span {
        let Some(sdk) = &self.sdk else { return Span::default() };
        // An invalid parent would count as a parent that is not sampled.
        let context = match parent.0.is_valid() {
            true => Context::new().with_remote_span_context(parent.0.clone()),
            false => Context::new(),
        };
        let span = SpanBuilder::from_name(name).with_kind(kind);
        Span { sdk: Some(Box::new(sdk.build_with_context(span, &context))) }
    }
}

/// A span, which ends when it is dropped.
#[derive(Debug, Default)]
pub struct Span {
    sdk: Option<Box<SdkSpan>>,
}

impl Span {
    /// Whether the span is sampled and records attributes. Otherwise the caller need not compute them.
    #[must_use]
    pub fn is_recording(&self) -> bool {
        self.sdk.as_ref().is_some_and(|span| span.is_recording())
    }

    /// Sets an attribute. Call it once per name: repeated attributes are duplicated.
    pub fn set(&mut self, name: &'static str, value: impl Into<Value>) {
        if let Some(span) = self.recording() {
            span.set_attribute(KeyValue::new(name, value));
        }
    }

    /// Sets an attribute to a count.
    pub fn count(&mut self, name: &'static str, count: u64) {
        self.set(name, i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Adds an event to the span, with attributes.
    pub fn note(
        &mut self,
        event: &'static str,
        about: impl IntoIterator<Item = (&'static str, String)>,
    ) {
        if let Some(span) = self.recording() {
            let about = about.into_iter().map(|(name, text)| KeyValue::new(name, text));
            span.add_event(event, about.collect());
        }
    }

    /// Renames the span, for names that are only known later.
    pub fn rename(&mut self, name: String) {
        if let Some(span) = self.recording() {
            span.update_name(name);
        }
    }

    /// Marks the span as failed.
    pub fn fail(&mut self, error: impl fmt::Display) {
        if let Some(span) = self.recording() {
            span.set_status(Status::error(error.to_string()));
        }
    }

    /// Returns the context for child spans.
    #[must_use]
    pub fn context(&self) -> TraceContext {
        self.sdk
            .as_ref()
            .map_or_else(TraceContext::default, |span| TraceContext(span.span_context().clone()))
    }

    fn recording(&mut self) -> Option<&mut SdkSpan> {
        self.sdk.as_deref_mut().filter(|span| span.is_recording())
    }
}

/// The identity of a span in this or another process, for its children: the IDs of trace and span, and
/// whether the trace is sampled. The default is no span.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceContext(SpanContext);

impl Default for TraceContext {
    fn default() -> Self {
        Self(SpanContext::NONE)
    }
}

impl TraceContext {
    /// Reads the context from headers. Without a valid `traceparent` there is no span, so that a new trace
    /// begins, as W3C Trace Context requires.
    #[must_use]
    pub fn of_headers<'a>(header: impl Fn(&str) -> Option<&'a str>) -> Self {
        let found = Carrier(HEADERS.map(|name| header(name).map(str::to_owned)));
        if found.0[0].is_none() {
            return Self::default();
        }
        let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &found);
        Self(context.span().span_context().clone())
    }

    /// Returns the headers that pass the context to another process; none if there is no span.
    pub fn headers(&self) -> impl Iterator<Item = (&'static str, String)> {
        let mut carrier = Carrier::default();
        if self.0.is_valid() {
            let context = Context::new().with_remote_span_context(self.0.clone());
            TraceContextPropagator::new().inject_context(&context, &mut carrier);
        }
        let named = HEADERS.into_iter().zip(carrier.0);
        named.filter_map(|(name, text)| Some((name, text.filter(|text| !text.is_empty())?)))
    }

    /// Whether its trace is sampled.
    #[must_use]
    pub fn is_sampled(&self) -> bool {
        self.0.is_valid() && self.0.is_sampled()
    }

    /// Returns the ID by which its trace is found, 32 hexadecimal digits; `None` if it is not sampled.
    #[must_use]
    pub fn trace_id(&self) -> Option<String> {
        self.is_sampled().then(|| self.0.trace_id().to_string())
    }
}

/// The values of [`HEADERS`].
#[derive(Default)]
struct Carrier([Option<String>; 2]);

impl Extractor for Carrier {
    fn get(&self, key: &str) -> Option<&str> {
        self.0[HEADERS.iter().position(|name| *name == key)?].as_deref()
    }

    fn keys(&self) -> Vec<&str> {
        HEADERS.to_vec()
    }
}

impl Injector for Carrier {
    fn set(&mut self, key: &str, value: String) {
        if let Some(at) = HEADERS.iter().position(|name| *name == key) {
            self.0[at] = Some(value);
        }
    }
}

/// A span processor that puts ended spans into the queue.
#[derive(Debug)]
struct Queue(mpsc::Sender<SpanData>);

impl SpanProcessor for Queue {
    fn on_start(&self, _: &mut SdkSpan, _: &Context) {}

    fn on_end(&self, span: SpanData) {
        if span.span_context.is_sampled() && self.0.try_send(span).is_err() {
            dropped("queue", 1);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        Ok(())
    }

    fn shutdown_with_timeout(&self, _: Duration) -> OTelSdkResult {
        Ok(())
    }
}

/// Counts spans that do not reach a collector: the queue was full, or they could not be sent.
pub fn dropped(reason: &'static str, spans: usize) {
    metrics::counter!(names::TRACE_SPANS_DROPPED, "reason" => reason).increment(spans as u64);
}

/// The ended spans, in batches.
#[derive(Debug)]
pub struct Spans {
    receiver: mpsc::Receiver<SpanData>,
    batch: usize,
    delay: Duration,
    /// The incomplete next batch.
    held: Vec<SpanData>,
}

impl Spans {
    /// Returns the next batch; `None` once every tracer is dropped. Cancel-safe.
    pub async fn next(&mut self) -> Option<Vec<SpanData>> {
        if self.held.is_empty() {
            self.held.push(self.receiver.recv().await?);
        }
        let until = Instant::now() + self.delay;
        while self.held.len() < self.batch {
            match timeout_at(until, self.receiver.recv()).await {
                Ok(Some(span)) => self.held.push(span),
                Ok(None) | Err(_) => break,
            }
        }
        Some(mem::take(&mut self.held))
    }

    /// Returns a batch of the spans that wait now; empty if there are none.
    pub fn now(&mut self) -> Vec<SpanData> {
        while self.held.len() < self.batch
            && let Ok(span) = self.receiver.try_recv()
        {
            self.held.push(span);
        }
        mem::take(&mut self.held)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    fn always(spans: usize) -> (Tracer, Spans) {
        let settings = QueueSettings { spans, ..QueueSettings::default() };
        Tracer::new(Sampler::ParentBased(Box::new(Sampler::AlwaysOn)), &settings)
    }

    fn of(traceparent: &'static str) -> TraceContext {
        TraceContext::of_headers(|name| (name == "traceparent").then_some(traceparent))
    }

    #[test]
    fn a_trace_goes_on_in_another_process() {
        let ((head, mut here), (worker, mut there)) = (always(8), always(8));
        let search = head.span("search", &TraceContext::default());
        let part = head.of_kind("part", SpanKind::Client, &search.context());
        let sent: Vec<_> = part.context().headers().collect();
        let received = TraceContext::of_headers(|name| {
            sent.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str())
        });
        drop(worker.of_kind("run", SpanKind::Server, &received));
        drop((part, search));
        let (here, there) = (here.now(), there.now());
        let [part, search] = &here[..] else { panic!("{here:?}") };
        let [run] = &there[..] else { panic!("{there:?}") };
        let trace = search.span_context.trace_id();
        assert!([part, run].iter().all(|span| span.span_context.trace_id() == trace));
        assert_eq!(part.parent_span_id, search.span_context.span_id());
        assert_eq!(run.parent_span_id, part.span_context.span_id());
        assert!(run.parent_span_is_remote);
    }

    #[test]
    fn headers_are_those_of_w3c_trace_context() {
        let headers: Vec<_> = of(PARENT).headers().collect();
        assert_eq!(headers, [("traceparent", PARENT.to_owned())]);
        assert_eq!(of(PARENT).trace_id().as_deref(), Some("0af7651916cd43dd8448eb211c80319c"));
        for text in ["", "00", "nonsense", "00-0-0-01", "ff-0af7651916cd43dd8448eb211c80319c-0-01"]
        {
            let context = TraceContext::of_headers(|_| Some(text));
            assert_eq!((context.headers().count(), context.trace_id()), (0, None), "{text}");
        }
    }

    #[test]
    fn a_trace_that_is_not_sampled_elsewhere_is_not_sampled_here() {
        let (tracer, mut spans) = always(8);
        let unsampled = of("00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00");
        let span = tracer.span("search", &unsampled);
        assert!(!span.is_recording());
        assert_eq!(span.context().trace_id(), None);
        let sent: Vec<_> = span.context().headers().collect();
        assert!(sent[0].1.ends_with("-00"), "the next process is told, too: {sent:?}");
        drop(span);
        assert!(spans.now().is_empty());
    }

    #[test]
    fn a_ratio_samples_whole_traces() {
        let ratio = Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(0.5)));
        let (tracer, mut spans) =
            Tracer::new(ratio, &QueueSettings { batch: 4096, ..QueueSettings::default() });
        for _ in 0..500 {
            let search = tracer.span("search", &TraceContext::default());
            drop(tracer.span("plan", &search.context()));
        }
        let spans = spans.now();
        let count = |name: &str| spans.iter().filter(|span| span.name == name).count();
        assert_eq!(count("search"), count("plan"));
        assert!((100..400).contains(&count("search")), "{}", count("search"));
    }

    #[test]
    fn spans_beyond_the_queue_are_dropped_and_counted() {
        let recorder = metrics_exporter_prometheus::PrometheusBuilder::new().build_recorder();
        let (tracer, mut spans) = always(2);
        metrics::with_local_recorder(&recorder, || {
            (0..5).for_each(|_| drop(tracer.span("search", &TraceContext::default())));
        });
        assert_eq!(spans.now().len(), 2);
        let text = recorder.handle().render();
        assert!(text.contains("karst_trace_spans_dropped_total{reason=\"queue\"} 3"), "{text}");
    }

    #[test]
    fn a_tracer_that_is_off_makes_no_spans() {
        let mut span = Tracer::default().span("search", &of(PARENT));
        span.set("karst.sid", "1");
        assert!(!span.is_recording());
        assert_eq!(span.context(), TraceContext::default());
    }

    #[tokio::test(start_paused = true)]
    async fn a_batch_waits_for_others_and_survives_whoever_stops_waiting() {
        let (tracer, mut spans) = always(8);
        drop(tracer.span("one", &TraceContext::default()));
        let waited = tokio::time::timeout(Duration::from_secs(1), spans.next()).await;
        assert!(waited.is_err(), "a batch waits for its delay: {waited:?}");
        drop(tracer.span("two", &TraceContext::default()));
        assert_eq!(spans.next().await.unwrap().len(), 2);
        drop(tracer);
        assert!(spans.next().await.is_none());
    }
}
