//! The port for probes of orchestrators (`--health-address`): plain HTTP, on a thread of its own.
//!
//! ```text
//! /livez    200 while the process makes progress, from the first second to the last
//! /readyz   200 once it is started and has joined its cluster, until it is told to stop; a control plane
//!           without other roles: while the catalog takes changes
//! /metrics  as on the other ports, once it is started
//! ```
//!
//! Neither asks object storage. It answers while all other threads are busy: a probe that times out under
//! load would restart a process that works. It opens before the journal is replayed, and closes last.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use api::{ApiState, Control};
use axum::extract::Request;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use parking_lot::Mutex;
use runtime::Shutdown;
use tokio::net::TcpListener;
use tower::ServiceExt;

use super::gateway::Progress;
use super::http_conf::HttpServer;
use super::ports::Role;
use super::roles::Roles;
use super::serving::{Port, Serving};

/// Interval at which the runtime of the server proves that it runs tasks.
const BEAT: Duration = Duration::from_secs(1);
/// Time without a heartbeat after which the process counts as stuck.
const STUCK: Duration = Duration::from_secs(60);
/// Time-out of the last responses.
const FAREWELL: Duration = Duration::from_secs(1);

/// The open port.
#[derive(Debug)]
pub(crate) struct HealthPort {
    probes: Probes,
    shutdown: Shutdown,
    thread: JoinHandle<()>,
}

impl HealthPort {
    /// Serves the port on its own thread.
    ///
    /// # Errors
    /// If the system cannot create a thread.
    pub(crate) fn start(
        listener: TcpListener,
        settings: &HttpServer,
        progress: &Progress,
    ) -> Result<Self> {
        let probes = Probes::new(progress.clone());
        let pulse = Arc::clone(&probes.pulse);
        runtime::detached(async move {
            loop {
                pulse.beat();
                tokio::time::sleep(BEAT).await;
            }
        });
        let shutdown = Shutdown::new();
        let serving = Serving::new(settings.clone(), &shutdown, &Control::default());
        let listener = listener.into_std().context("cannot serve the health port")?;
        let (asked, stop) = (probes.clone(), shutdown.clone());
        let serve = move || {
            let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
            let runtime = match runtime {
                Ok(runtime) => runtime,
                Err(error) => return tracing::error!(%error, "the health port is not served"),
            };
            runtime.block_on(async {
                let listener = match TcpListener::from_std(listener) {
                    Ok(listener) => listener,
                    Err(error) => return tracing::error!(%error, "the health port is not served"),
                };
                let port = Port { name: "health", role: Role::Health, tls: None };
                let service = tower::service_fn(move |request| asked.clone().answer(request));
                serving.accept(listener, port, service).await;
                let _ = stop.finish(FAREWELL).await;
            });
        };
        let thread = std::thread::Builder::new().name("karst-health".to_owned()).spawn(serve);
        let thread = thread.context("cannot start the thread of the health port")?;
        Ok(Self { probes, shutdown, thread })
    }

    /// The process is started, and has joined its cluster.
    pub(crate) fn open(&self, state: &ApiState, roles: Roles) {
        let metrics = api::rest_router(state.clone());
        let metrics = tower::util::BoxCloneService::new(metrics);
        let only_leads = roles.control_plane && !roles.indexer && !roles.search_head;
        *self.probes.started.lock() = Some(Started { state: state.clone(), only_leads, metrics });
    }

    /// Closes the port.
    pub(crate) fn close(self) {
        self.shutdown.stop();
        if self.thread.join().is_err() {
            tracing::warn!("the thread of the health port has panicked");
        }
    }
}

/// A process that is started.
#[derive(Clone)]
struct Started {
    state: ApiState,
    only_leads: bool,
    metrics: tower::util::BoxCloneService<Request, Response, std::convert::Infallible>,
}

/// The sources of the responses. Clones share them.
#[derive(Clone)]
struct Probes {
    progress: Progress,
    pulse: Arc<Pulse>,
    started: Arc<Mutex<Option<Started>>>,
}

impl std::fmt::Debug for Probes {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Probes").field("started", &self.started.lock().is_some()).finish()
    }
}

impl Probes {
    fn new(progress: Progress) -> Self {
        Self { progress, pulse: Arc::default(), started: Arc::default() }
    }

    async fn answer(self, request: Request) -> Result<Response, std::convert::Infallible> {
        let started = self.started.lock().clone();
        let response = match (request.uri().path(), started) {
            ("/livez", _) => self.live(),
            ("/readyz", None) => {
                unready(&format!("the server is starting: {}", self.progress.get()))
            }
            ("/readyz", Some(Started { state, only_leads, .. })) => {
                match api::unavailable(&state, only_leads) {
                    None => (StatusCode::OK, "ready\n").into_response(),
                    Some(reason) => unready(reason),
                }
            }
            ("/metrics", Some(Started { metrics, .. })) => return metrics.oneshot(request).await,
            ("/metrics", None) => unready("the server is starting"),
            _ => {
                let text = "this port has /livez, /readyz and /metrics\n";
                (StatusCode::NOT_FOUND, text).into_response()
            }
        };
        Ok(response)
    }

    fn live(&self) -> Response {
        let age = self.pulse.age();
        if age < STUCK {
            return (StatusCode::OK, "ok\n").into_response();
        }
        let text = format!("no progress for {} s\n", age.as_secs());
        (StatusCode::SERVICE_UNAVAILABLE, text).into_response()
    }
}

fn unready(reason: &str) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, format!("not ready\n{reason}\n")).into_response()
}

/// When something last showed that it runs.
#[derive(Debug)]
struct Pulse {
    begin: Instant,
    /// Milliseconds since the beginning.
    beat: AtomicU64,
}

impl Default for Pulse {
    fn default() -> Self {
        Self { begin: Instant::now(), beat: AtomicU64::new(0) }
    }
}

impl Pulse {
    fn beat(&self) {
        self.beat.store(self.now(), Ordering::Relaxed);
    }

    fn age(&self) -> Duration {
        Duration::from_millis(self.now().saturating_sub(self.beat.load(Ordering::Relaxed)))
    }

    fn now(&self) -> u64 {
        u64::try_from(self.begin.elapsed().as_millis()).unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use axum::body::Body;

    use super::*;

    async fn ask(probes: &Probes, path: &str) -> (u16, String) {
        let request = Request::get(path).body(Body::empty()).unwrap();
        let answer = probes.clone().answer(request).await.unwrap();
        let status = answer.status().as_u16();
        let body = axum::body::to_bytes(answer.into_body(), 1 << 20).await.unwrap();
        (status, String::from_utf8(body.to_vec()).unwrap())
    }

    #[tokio::test]
    async fn a_start_is_alive_and_not_ready_and_says_what_it_does() {
        let probes = Probes::new(Progress::new("recovering the journal"));
        assert_eq!(ask(&probes, "/livez").await, (200, "ok\n".to_owned()));
        let (status, text) = ask(&probes, "/readyz").await;
        assert_eq!((status, text.contains("recovering the journal")), (503, true), "{text}");
        assert_eq!(ask(&probes, "/metrics").await.0, 503);
        assert_eq!(ask(&probes, "/services").await.0, 404);
    }

    #[tokio::test]
    async fn a_process_without_a_beat_for_a_minute_is_not_alive() {
        let mut probes = Probes::new(Progress::new("opening"));
        let Some(begin) = Instant::now().checked_sub(STUCK + BEAT) else { return };
        probes.pulse = Arc::new(Pulse { begin, beat: AtomicU64::new(0) });
        let (status, text) = ask(&probes, "/livez").await;
        assert_eq!((status, text.starts_with("no progress for 6")), (503, true), "{text}");
        probes.pulse.beat();
        assert_eq!(ask(&probes, "/livez").await.0, 200);
    }
}
