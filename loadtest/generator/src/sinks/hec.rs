//! Lines over HTTP to an HTTP Event Collector, over several connections at once.
//!
//! Requests hold consecutive events and are taken from one counter, so the load is even and the
//! order of arrival is not that of the events. A busy server (429, 503) is asked again when it says;
//! anything else but success ends the run.

use std::io::Write;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use flate2::Compression;
use flate2::write::GzEncoder;
use reqwest::{Client, StatusCode, header};

use super::{Report, Started};
use crate::event::{Event, Stream};
use crate::line::LineWriter;
use crate::produce;

/// Events of a request are taken to be this long on average.
const AVERAGE_LINE: usize = 320;

/// How to send.
#[derive(Debug, Clone)]
pub struct Hec {
    /// `http://host:8088`.
    pub url: String,
    /// The secret.
    pub token: String,
    /// Requests at the same time.
    pub connections: usize,
    /// Bytes of text per request, about.
    pub batch: usize,
    /// Lines to `/raw`, not JSON objects to `/event`.
    pub raw: bool,
    /// Compress bodies.
    pub gzip: bool,
    /// Accept any certificate.
    pub insecure: bool,
    /// The sourcetype given with the events.
    pub sourcetype: String,
    /// The source given with the events.
    pub source: String,
    /// The index, if not the token's.
    pub index: Option<String>,
}

/// Counters that connections share.
#[derive(Debug, Default)]
struct Shared {
    next: AtomicU64,
    bytes: AtomicU64,
    waits: AtomicU64,
}

impl Hec {
    /// Sends every event; returns when the last request is acknowledged.
    ///
    /// # Errors
    /// If the server cannot be reached or refuses.
    pub async fn run(self, stream: Stream) -> Result<Report> {
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
            let (hec, shared, client) = (Arc::clone(&hec), Arc::clone(&shared), client.clone());
            connections.spawn(async move { hec.connection(&stream, &shared, &client).await });
        }
        while let Some(ended) = connections.join_next().await {
            ended.context("a connection's task failed")??;
        }
        let waits = shared.waits.load(Ordering::Relaxed);
        if waits > 0 {
            eprintln!("the server was busy {waits} times; those requests were sent again");
        }
        Ok(Report::since(&started, stream.events, shared.bytes.load(Ordering::Relaxed)))
    }

    async fn connection(&self, stream: &Stream, shared: &Shared, client: &Client) -> Result<()> {
        let mut writer = LineWriter::new(stream);
        let events = (self.batch / AVERAGE_LINE).max(1) as u64;
        let numbers = stream.numbers();
        loop {
            let start = numbers.start + shared.next.fetch_add(events, Ordering::Relaxed);
            if start >= numbers.end {
                return Ok(());
            }
            let (body, bytes) =
                self.body(stream, &mut writer, start..(start + events).min(numbers.end))?;
            self.send(client, body, shared).await?;
            shared.bytes.fetch_add(bytes, Ordering::Relaxed);
        }
    }

    /// A request's body, and how many bytes of text are in it.
    fn body(
        &self,
        stream: &Stream,
        writer: &mut LineWriter,
        numbers: Range<u64>,
    ) -> Result<(Bytes, u64)> {
        let mut body = Vec::with_capacity(self.batch + (self.batch >> 1));
        let mut bytes = 0;
        if self.raw {
            produce::lines(stream, writer, numbers, &mut body);
            bytes = body.len() as u64;
        } else {
            let mut line = Vec::new();
            stream.for_each(numbers, |event| {
                line.clear();
                writer.write_bare(event, &mut line);
                bytes += line.len() as u64 + 1;
                self.object(writer.host(event), event, &line, &mut body);
            });
        }
        if self.gzip {
            let mut packed = GzEncoder::new(Vec::new(), Compression::fast());
            packed.write_all(&body).context("gzip")?;
            body = packed.finish().context("gzip")?;
        }
        Ok((body.into(), bytes))
    }

    /// `{"time":1763672400.123456,"host":...,"event":"..."}`.
    fn object(&self, host: &str, event: &Event, line: &[u8], out: &mut Vec<u8>) {
        let (seconds, micros) =
            (event.time.div_euclid(1_000_000), event.time.rem_euclid(1_000_000));
        // Cannot fail: the writer is a vector.
        let _ = write!(
            out,
            "{{\"time\":{seconds}.{micros:06},\"host\":\"{host}\",\"source\":\"{}\",\
             \"sourcetype\":\"{}\",",
            self.source, self.sourcetype
        );
        if let Some(index) = &self.index {
            let _ = write!(out, "\"index\":\"{index}\",");
        }
        out.extend_from_slice(b"\"event\":\"");
        let mut rest = line;
        while let Some(at) = memchr::memchr(b'"', rest) {
            out.extend_from_slice(&rest[..at]);
            out.extend_from_slice(b"\\\"");
            rest = &rest[at + 1..];
        }
        out.extend_from_slice(rest);
        out.extend_from_slice(b"\"}\n");
    }

    async fn send(&self, client: &Client, body: Bytes, shared: &Shared) -> Result<()> {
        let endpoint = if self.raw { "raw" } else { "event" };
        let url = format!("{}/services/collector/{endpoint}", self.url.trim_end_matches('/'));
        let mut query = vec![];
        if self.raw {
            query.push(("sourcetype", self.sourcetype.as_str()));
            query.push(("source", self.source.as_str()));
            query.extend(self.index.as_deref().map(|index| ("index", index)));
        }
        loop {
            let mut request = client
                .post(&url)
                .query(&query)
                .header(header::AUTHORIZATION, format!("Splunk {}", self.token))
                .body(body.clone());
            if self.gzip {
                request = request.header(header::CONTENT_ENCODING, "gzip");
            }
            let sent = request.send().await;
            let response = sent.with_context(|| format!("no answer from {url}"))?;
            let status = response.status();
            if status.is_success() {
                // Reading the answer to its end keeps the connection.
                response.bytes().await.context("the answer broke off")?;
                return Ok(());
            }
            let busy = [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE];
            if !busy.contains(&status) {
                bail!("{url} answered {status}: {}", response.text().await.unwrap_or_default());
            }
            shared.waits.fetch_add(1, Ordering::Relaxed);
            let wait = response.headers().get(header::RETRY_AFTER);
            let wait = wait.and_then(|value| value.to_str().ok()?.parse().ok()).unwrap_or(1);
            tokio::time::sleep(Duration::from_secs(wait)).await;
        }
    }
}
