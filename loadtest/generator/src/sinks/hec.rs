//! Lines over HTTP to an HTTP Event Collector, over several connections at once.
//!
//! Requests are taken from one counter, so the load is even and the order of arrival is not that of
//! the events. A busy server (429, 503) is asked again when it says. With acknowledgements, an event
//! counts when the server has confirmed it; without, when its request was answered with success.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use reqwest::{Client, RequestBuilder, StatusCode, header};
use serde_json::Value;
use tokio::sync::Semaphore;

use super::ack::{Channel, Open};
use super::body::{Contents, Form};
use super::{Answers, Report, Started};
use crate::latency::Latencies;
use crate::load::Load;
use crate::pace::Pace;

pub use super::ack::POLL;

/// How to send.
#[derive(Debug, Clone)]
pub struct Hec {
    /// `http://host:8088`.
    pub url: String,
    /// The secret.
    pub token: String,
    /// Requests at the same time.
    pub connections: usize,
    /// Lines to `/raw`, not JSON objects to `/event`.
    pub raw: bool,
    /// Compress bodies.
    pub gzip: bool,
    /// Accept any certificate.
    pub insecure: bool,
    /// The sourcetype given with the events; without one the server decides.
    pub sourcetype: Option<String>,
    /// The index, if not the token's.
    pub index: Option<String>,
    /// Ask for acknowledgements.
    pub acks: Option<AckOptions>,
    /// How long a server that cannot be reached is tried again. What was under way when a connection
    /// broke is sent again and may be there twice.
    pub patience: Duration,
}

/// How acknowledgements are asked for.
#[derive(Debug, Clone, Copy)]
pub struct AckOptions {
    /// Between two questions.
    pub poll: Duration,
    /// Requests of a connection that may be unacknowledged.
    pub open: usize,
    /// What is not acknowledged by then is given up.
    pub patience: Duration,
}

/// Counters that connections share.
#[derive(Debug, Default)]
pub(super) struct Shared {
    next: AtomicU64,
    requests: AtomicU64,
    events: AtomicU64,
    bytes: AtomicU64,
    busy: AtomicU64,
    broken: AtomicU64,
    pub(super) unacknowledged: AtomicU64,
    taken: Latencies,
    acknowledged: Latencies,
}

impl Shared {
    fn count(&self, contents: Contents) {
        self.events.fetch_add(contents.events, Ordering::Relaxed);
        self.bytes.fetch_add(contents.bytes, Ordering::Relaxed);
    }

    /// Notes an acknowledged request.
    pub(super) fn acknowledged(&self, contents: Contents, took: Duration) {
        self.count(contents);
        self.acknowledged.add(took);
    }

    fn answers(&self) -> Answers {
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Answers {
            requests: value(&self.requests),
            busy: value(&self.busy),
            broken: value(&self.broken),
            unacknowledged: value(&self.unacknowledged),
            taken: self.taken.quantiles(),
            acknowledged: self.acknowledged.quantiles(),
        }
    }
}

/// What one connection works with.
struct Connection {
    hec: Arc<Hec>,
    form: Form,
    load: Arc<dyn Load>,
    pace: Arc<Pace>,
    shared: Arc<Shared>,
    client: Client,
    channel: Option<Arc<Channel>>,
    places: Arc<Semaphore>,
}

impl Hec {
    /// Sends every batch that the pace allows; returns when the last one is acknowledged.
    ///
    /// # Errors
    /// If the server cannot be reached or refuses.
    pub async fn run(self, load: Arc<dyn Load>, pace: Arc<Pace>) -> Result<Report> {
        let started = Started::now();
        let client = Client::builder()
            .no_proxy()
            .danger_accept_invalid_certs(self.insecure)
            .build()
            .context("cannot set up TLS")?;
        let hec = Arc::new(self);
        let shared = Arc::new(Shared::default());
        let mut connections = tokio::task::JoinSet::new();
        for _ in 0..hec.connections.max(1) {
            let connection = Connection {
                form: hec.form(),
                load: Arc::clone(&load),
                pace: Arc::clone(&pace),
                shared: Arc::clone(&shared),
                client: client.clone(),
                channel: hec.acks.map(|acks| Arc::new(Channel::new(hec.base(), &hec.token, acks))),
                places: Arc::new(Semaphore::new(hec.acks.map_or(1, |acks| acks.open.max(1)))),
                hec: Arc::clone(&hec),
            };
            connections.spawn(connection.run());
        }
        while let Some(ended) = connections.join_next().await {
            ended.context("a connection's task failed")??;
        }
        let value = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        let report = Report::since(&started, value(&shared.events), value(&shared.bytes));
        Ok(Report { answers: Some(shared.answers()), ..report })
    }

    fn form(&self) -> Form {
        if self.raw {
            Form::Lines
        } else {
            Form::Objects { sourcetype: self.sourcetype.clone(), index: self.index.clone() }
        }
    }

    fn base(&self) -> &str {
        self.url.trim_end_matches('/')
    }

    fn pack(&self, body: Vec<u8>) -> Result<Bytes> {
        if !self.gzip {
            return Ok(body.into());
        }
        let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
        packed.write_all(&body).context("gzip")?;
        Ok(packed.finish().context("gzip")?.into())
    }
}

impl Connection {
    async fn run(self) -> Result<()> {
        let Some(channel) = self.channel.clone() else { return self.send_all().await };
        let (client, shared) = (self.client.clone(), Arc::clone(&self.shared));
        let watcher = Arc::clone(&channel);
        let watched = tokio::spawn(async move { watcher.watch(&client, &shared).await });
        let sent = self.send_all().await;
        if sent.is_err() {
            watched.abort();
            return sent;
        }
        channel.end();
        watched.await.context("the task that asks for acknowledgements failed")?
    }

    async fn send_all(&self) -> Result<()> {
        loop {
            let batch = self.shared.next.fetch_add(1, Ordering::Relaxed);
            if batch >= self.load.batches() {
                return Ok(());
            }
            let mut body = Vec::new();
            let contents = self.form.write(&*self.load, batch, &mut body);
            if contents.events == 0 {
                continue;
            }
            let Some(wait) = self.pace.place(contents.bytes) else { return Ok(()) };
            tokio::time::sleep(wait).await;
            let source = self.load.source(batch % self.load.sources());
            let place = Arc::clone(&self.places).acquire_owned().await;
            let place = place.context("the places of a connection are closed")?;
            let since = Instant::now();
            let answer = self.post(self.hec.pack(body)?, source).await?;
            self.shared.requests.fetch_add(1, Ordering::Relaxed);
            self.shared.taken.add(since.elapsed());
            match &self.channel {
                Some(channel) => channel.taken(&answer, Open { since, contents, _place: place })?,
                None => self.shared.count(contents),
            }
        }
    }

    fn request(&self, source: &str) -> RequestBuilder {
        let endpoint = if self.hec.raw { "raw" } else { "event" };
        let url = format!("{}/services/collector/{endpoint}", self.hec.base());
        let mut request = self
            .client
            .post(url)
            .header(header::AUTHORIZATION, format!("Splunk {}", self.hec.token));
        if self.hec.raw {
            let sourcetype = self.hec.sourcetype.as_deref().map(|value| ("sourcetype", value));
            let index = self.hec.index.as_deref().map(|value| ("index", value));
            let query = [Some(("source", source)), sourcetype, index];
            request = request.query(&query.into_iter().flatten().collect::<Vec<_>>());
        }
        if self.hec.gzip {
            request = request.header(header::CONTENT_ENCODING, "gzip");
        }
        match &self.channel {
            Some(channel) => request.header("X-Splunk-Request-Channel", channel.id()),
            None => request,
        }
    }

    /// Sends a body until it is taken; gives the answer.
    async fn post(&self, body: Bytes, source: &str) -> Result<Value> {
        let mut unreachable_since = None;
        loop {
            match self.attempt(body.clone(), source).await {
                Ok(Attempt::Taken(answer)) => return Ok(answer),
                Ok(Attempt::Busy(wait)) => {
                    unreachable_since = None;
                    self.shared.busy.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(wait).await;
                }
                Ok(Attempt::Refused(status, text)) => {
                    bail!("{} answered {status}: {text}", self.hec.url);
                }
                Err(error) => {
                    let since = *unreachable_since.get_or_insert_with(Instant::now);
                    if since.elapsed() >= self.hec.patience {
                        return Err(error).context(format!("no answer from {}", self.hec.url));
                    }
                    self.shared.broken.fetch_add(1, Ordering::Relaxed);
                    tokio::time::sleep(Duration::from_millis(100)).await;
                }
            }
        }
    }

    async fn attempt(&self, body: Bytes, source: &str) -> reqwest::Result<Attempt> {
        let response = self.request(source).body(body).send().await?;
        let status = response.status();
        if [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE].contains(&status) {
            let wait = response.headers().get(header::RETRY_AFTER);
            let wait = wait.and_then(|value| value.to_str().ok()?.parse().ok()).unwrap_or(1);
            return Ok(Attempt::Busy(Duration::from_secs(wait)));
        }
        // Reading the answer to its end keeps the connection.
        let text = response.text().await?;
        Ok(if status.is_success() {
            Attempt::Taken(serde_json::from_str(&text).unwrap_or(Value::String(text)))
        } else {
            Attempt::Refused(status, text)
        })
    }
}

/// What became of an attempt that was answered.
enum Attempt {
    Taken(Value),
    Busy(Duration),
    Refused(StatusCode, String),
}
