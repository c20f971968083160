//! Searches for a time, from many clients at once: how many a server answers, and how fast.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::{Value, json};

use crate::latency::{Latencies, Quantiles};

/// Who searches what.
#[derive(Debug, Clone)]
pub struct Searches {
    /// The management API: `http://host:8089`.
    pub url: String,
    /// User and password.
    pub login: (String, String),
    /// The search; `{A..B}` in it is another number each time.
    pub search: String,
    /// The time range, as the API takes it.
    pub earliest: Option<String>,
    /// Its end.
    pub latest: Option<String>,
    /// Clients, each with one search at a time.
    pub clients: usize,
    /// For how long.
    pub length: Duration,
    /// Another seed gives other numbers.
    pub seed: u64,
}

/// What came of it.
#[derive(Debug, Clone, Copy)]
pub struct Found {
    /// Clients.
    pub clients: usize,
    /// Searches answered.
    pub searches: u64,
    /// Rows in all answers.
    pub rows: u64,
    /// How long it took.
    pub took: Duration,
    /// Times of single searches.
    pub times: Quantiles,
}

impl Found {
    /// Searches per minute.
    #[must_use]
    #[allow(clippy::cast_precision_loss)]
    pub fn per_minute(&self) -> f64 {
        self.searches as f64 * 60.0 / self.took.as_secs_f64()
    }

    /// For programs.
    #[must_use]
    pub fn json(&self) -> Value {
        let ms = |time: Duration| time.as_secs_f64() * 1e3;
        json!({
            "clients": self.clients,
            "searches": self.searches,
            "rows": self.rows,
            "seconds": self.took.as_secs_f64(),
            "per_minute": self.per_minute(),
            "p50_ms": ms(self.times.p50),
            "p99_ms": ms(self.times.p99),
        })
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} searches by {} clients in {:.1} s: {:.0} a minute, p50 {:.1} ms, p99 {:.1} ms, {} rows",
            self.searches,
            self.clients,
            self.took.as_secs_f64(),
            self.per_minute(),
            self.times.p50.as_secs_f64() * 1e3,
            self.times.p99.as_secs_f64() * 1e3,
            self.rows
        )
    }
}

/// A search with numbers in it that differ each time.
#[derive(Debug, Clone)]
struct Template {
    before: String,
    numbers: Option<(u64, u64)>,
    after: String,
}

impl Template {
    fn new(text: &str) -> Result<Self> {
        let Some((before, rest)) = text.split_once('{') else {
            return Ok(Self { before: text.to_owned(), numbers: None, after: String::new() });
        };
        let bounds = rest.split_once('}').and_then(|(bounds, after)| {
            let (low, high) = bounds.split_once("..")?;
            Some(((low.parse().ok()?, high.parse().ok()?), after))
        });
        let Some((numbers, after)) = bounds.filter(|((low, high), _)| low < high) else {
            bail!("{{...}} in a search must be two numbers: {{1..1000000}}");
        };
        let (before, after) = (before.to_owned(), after.to_owned());
        Ok(Self { before, numbers: Some(numbers), after })
    }

    /// The search with the number that a draw gives.
    fn fill(&self, draw: u64) -> String {
        match self.numbers {
            None => self.before.clone(),
            Some((low, high)) => {
                let number = low + draw % (high - low);
                format!("{}{number}{}", self.before, self.after)
            }
        }
    }
}

/// A number that looks random, by its place in a sequence (splitmix64).
fn draw(seed: u64, place: u64) -> u64 {
    let mixed = seed.wrapping_add(place.wrapping_mul(0x9E37_79B9_7F4A_7C15));
    let mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    mixed ^ (mixed >> 31)
}

#[derive(Debug, Default)]
struct Counts {
    asked: AtomicU64,
    rows: AtomicU64,
    times: Latencies,
}

impl Searches {
    /// Searches until the time is over; the first error ends it.
    ///
    /// # Errors
    /// If the server cannot be reached, refuses, or a search fails.
    pub async fn run(&self) -> Result<Found> {
        let client = reqwest::Client::builder().build().context("cannot make a client")?;
        let session = self.log_in(&client).await?;
        let template = Arc::new(Template::new(&self.search)?);
        let counts = Arc::new(Counts::default());
        let begun = Instant::now();
        let clients = (0..self.clients.max(1)).map(|_| {
            let (searches, session) = (self.clone(), session.clone());
            let (template, counts) = (Arc::clone(&template), Arc::clone(&counts));
            tokio::spawn(async move {
                // A connection of its own, kept alive.
                let client = reqwest::Client::builder().build().context("cannot make a client")?;
                while begun.elapsed() < searches.length {
                    let place = counts.asked.fetch_add(1, Relaxed);
                    let search = template.fill(draw(searches.seed, place));
                    let asked = Instant::now();
                    let rows = searches.ask(&client, &session, &search).await?;
                    counts.times.add(asked.elapsed());
                    counts.rows.fetch_add(rows, Relaxed);
                }
                anyhow::Ok(())
            })
        });
        for client in clients.collect::<Vec<_>>() {
            client.await.context("a client ended early")??;
        }
        let took = begun.elapsed();
        let times = counts.times.quantiles().context("no search was answered in that time")?;
        let (searches, rows) = (times.count as u64, counts.rows.load(Relaxed));
        Ok(Found { clients: self.clients.max(1), searches, rows, took, times })
    }

    async fn log_in(&self, client: &reqwest::Client) -> Result<String> {
        let (user, password) = &self.login;
        let form =
            [("username", user), ("password", password), ("output_mode", &"json".to_owned())];
        let address = format!("{}/services/auth/login", self.url);
        let answer = client.post(&address).form(&form).send().await;
        let answer = answer.with_context(|| format!("cannot reach {address}"))?;
        let status = answer.status();
        let answer: Value = answer.json().await.context("the login is not answered in JSON")?;
        match answer["sessionKey"].as_str() {
            Some(session) => Ok(session.to_owned()),
            None => bail!("the login was refused: {status} {answer}"),
        }
    }

    /// Asks and counts the rows of the answer.
    async fn ask(&self, client: &reqwest::Client, session: &str, search: &str) -> Result<u64> {
        let mut form = vec![
            ("search", search),
            ("exec_mode", "oneshot"),
            ("output_mode", "json"),
            ("count", "0"),
        ];
        form.extend(self.earliest.as_deref().map(|time| ("earliest_time", time)));
        form.extend(self.latest.as_deref().map(|time| ("latest_time", time)));
        let answer = client
            .post(format!("{}/services/search/jobs", self.url))
            .header("authorization", format!("Splunk {session}"))
            .form(&form)
            .send()
            .await
            .context("the server went away")?;
        let status = answer.status();
        let body = answer.bytes().await.context("an answer was cut")?;
        let answer: Value = serde_json::from_slice(&body).context("an answer is not JSON")?;
        match answer["results"].as_array() {
            Some(rows) if status.is_success() => Ok(rows.len() as u64),
            _ => bail!("\"{search}\" failed: {status} {answer}"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_a_search_differ_and_stay_within_their_bounds() {
        let template = Template::new("user_id={5..9} | head").unwrap();
        let searches: std::collections::BTreeSet<_> =
            (0..100).map(|place| template.fill(draw(1, place))).collect();
        let expected = [5, 6, 7, 8].map(|number| format!("user_id={number} | head"));
        assert_eq!(searches.into_iter().collect::<Vec<_>>(), expected);
        assert_eq!(Template::new("plain").unwrap().fill(7), "plain");
        assert!(Template::new("{9..5}").is_err());
        assert!(Template::new("{x}").is_err());
    }
}
