//! Traces of this process: enabled if a collector is configured; sent in the background, in batches.
//!
//! Searches do not wait for traces. Spans that end while the queue is full are dropped, and so is a batch
//! that the collector does not accept in time: both are counted (`karst_trace_spans_dropped_total`), and an
//! outage is logged once.

mod exporter;
mod settings;

use std::time::Duration;

use anyhow::Result;
use parking_lot::Mutex;
use runtime::Shutdown;
use runtime::trace::{Spans, Tracer};

use self::exporter::Exporter;
pub(crate) use self::settings::Settings;

/// Time for the last spans when the process ends.
const LAST_SPANS: Duration = Duration::from_secs(5);

/// The traces of this process.
#[derive(Debug, Default)]
pub(crate) struct Traces {
    tracer: Tracer,
    /// The spans before sending begins.
    waiting: Mutex<Option<(Settings, Spans)>>,
    sending: Shutdown,
}

impl Traces {
    /// Creates the traces from the variables of OpenTelemetry; without an endpoint there are none.
    pub(crate) fn new(settings: Option<Settings>) -> Self {
        let Some(settings) = settings else { return Self::default() };
        let (tracer, spans) = Tracer::new(settings.sampler.clone(), &settings.queue);
        let waiting = Mutex::new(Some((settings, spans)));
        Self { tracer, waiting, sending: Shutdown::new() }
    }

    /// Makes the spans.
    pub(crate) fn tracer(&self) -> Tracer {
        self.tracer.clone()
    }

    /// Starts to send spans, as those of a process with these attributes.
    ///
    /// # Errors
    /// If the connection to the collector cannot be set up, for example for its certificate.
    pub(crate) fn send(&self, own: &[(&'static str, String)]) -> Result<()> {
        let Some((settings, spans)) = self.waiting.lock().take() else { return Ok(()) };
        let exporter = Exporter::new(settings, own)?;
        self.sending.spawn(exporter.run(spans, self.sending.clone()));
        Ok(())
    }

    /// Sends the waiting spans, and ends.
    pub(crate) async fn close(&self) {
        if self.sending.finish(LAST_SPANS).await.is_err() {
            tracing::warn!("the last spans of traces could not be sent in time");
        }
    }
}
