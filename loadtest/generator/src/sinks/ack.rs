//! Acknowledgements of a HEC channel: which requests the server has not yet confirmed.
//!
//! A request's answer names an id; the server is asked about all open ids of the channel again and
//! again until it says that they are safe. One channel per connection, as forwarders have it.

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use parking_lot::Mutex;
use reqwest::{Client, StatusCode, header};
use serde_json::{Value, json};
use tokio::sync::OwnedSemaphorePermit;

use super::body::Contents;
use super::hec::{AckOptions, Shared};

/// A request that was taken and not yet acknowledged.
#[derive(Debug)]
pub(super) struct Open {
    pub(super) since: Instant,
    pub(super) contents: Contents,
    /// A place among the requests that may be open.
    pub(super) _place: OwnedSemaphorePermit,
}

/// One channel.
#[derive(Debug)]
pub(super) struct Channel {
    id: String,
    url: String,
    token: String,
    options: AckOptions,
    open: Mutex<BTreeMap<u64, Open>>,
    /// Nothing more will be sent.
    ended: AtomicBool,
}

impl Channel {
    pub(super) fn new(base: &str, token: &str, options: AckOptions) -> Self {
        let id = random_uuid();
        let url = format!("{base}/services/collector/ack?channel={id}");
        let ended = AtomicBool::new(false);
        Self { id, url, token: token.to_owned(), options, open: Mutex::default(), ended }
    }

    /// The value of `X-Splunk-Request-Channel`.
    pub(super) fn id(&self) -> &str {
        &self.id
    }

    /// Notes that a request was taken; `answer` is what the server said.
    pub(super) fn taken(&self, answer: &Value, open: Open) -> Result<()> {
        let Some(id) = answer.get("ackId").and_then(Value::as_u64) else {
            bail!("the answer names no ackId; is useACK on for this token? It says {answer}");
        };
        if self.open.lock().insert(id, open).is_some() {
            bail!("the server gave the ackId {id} to two open requests of a channel");
        }
        Ok(())
    }

    /// Nothing more will be sent: [`Self::watch`] ends when all is answered.
    pub(super) fn end(&self) {
        self.ended.store(true, Ordering::Release);
    }

    /// Asks about open requests until all are acknowledged or given up.
    pub(super) async fn watch(&self, client: &Client, shared: &Shared) -> Result<()> {
        loop {
            let ended = self.ended.load(Ordering::Acquire);
            let ids: Vec<u64> = self.open.lock().keys().copied().collect();
            if ids.is_empty() && ended {
                return Ok(());
            }
            if !ids.is_empty() {
                self.note(self.ask(client, &ids).await?, shared);
            }
            tokio::time::sleep(self.options.poll).await;
        }
    }

    /// Which of the ids are acknowledged; none if the server cannot say now.
    async fn ask(&self, client: &Client, ids: &[u64]) -> Result<Vec<u64>> {
        let request = client
            .post(&self.url)
            .header(header::AUTHORIZATION, format!("Splunk {}", self.token))
            .header("X-Splunk-Request-Channel", &self.id)
            .body(json!({ "acks": ids }).to_string());
        let Ok(response) = request.send().await else { return Ok(Vec::new()) };
        let status = response.status();
        let text = response.text().await.unwrap_or_default();
        if [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE].contains(&status) {
            return Ok(Vec::new());
        }
        if !status.is_success() {
            bail!("{} answered {status}: {text}", self.url);
        }
        acknowledged(&text).with_context(|| format!("{} answered {text:?}", self.url))
    }

    fn note(&self, ids: Vec<u64>, shared: &Shared) {
        let now = Instant::now();
        let mut open = self.open.lock();
        for id in ids {
            if let Some(one) = open.remove(&id) {
                shared.acknowledged(one.contents, now.duration_since(one.since));
            }
        }
        open.retain(|_, one| {
            let waits = now.duration_since(one.since) < self.options.patience;
            if !waits {
                shared.unacknowledged.fetch_add(one.contents.events, Ordering::Relaxed);
            }
            waits
        });
    }
}

/// The ids that `{"acks":{"0":true,"1":false}}` calls safe.
fn acknowledged(text: &str) -> Result<Vec<u64>> {
    let answer: Value = serde_json::from_str(text)?;
    let acks = answer.get("acks").and_then(Value::as_object).context("there are no acks in it")?;
    let safe = acks.iter().filter(|(_, safe)| **safe == Value::Bool(true));
    safe.map(|(id, _)| id.parse().context("an id that is no number")).collect()
}

/// A random UUID (version 4).
fn random_uuid() -> String {
    let random = || RandomState::new().hash_one(0);
    let (a, b) = (random(), random());
    format!(
        "{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}",
        a >> 32,
        (a >> 16) & 0xffff,
        a & 0xfff,
        0x8000 | ((b >> 48) & 0x3fff),
        b & 0xffff_ffff_ffff
    )
}

/// How long between two questions about open requests.
pub const POLL: Duration = Duration::from_millis(50);
