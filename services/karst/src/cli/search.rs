//! `karst search`: runs a search, shows its progress, prints its results.
//!
//! The job is removed when the command ends: with the results, with an error, because the reader of its
//! output has ended, or by a signal. Only after `kill -9` or a lost connection is its removal left to the
//! server. `--follow` runs one job after the other ([`follow`]).

mod follow;

use std::io::IsTerminal;
use std::pin::pin;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use indicatif::{HumanCount, ProgressBar, ProgressStyle};
use reqwest::Method;
use serde_json::Value;
use tokio::io::AsyncWriteExt;
use tokio::signal::unix::{Signal, SignalKind, signal};

use super::client::{Client, Failure};
use super::inspection;
use super::table::{Rows, print_rows};
use crate::config::{Output, SearchOptions};

/// Rows fetched per request.
const PAGE: usize = 10_000;
/// Time for removing the job of a search that has failed or was interrupted.
const REMOVAL: Duration = Duration::from_secs(5);

pub(crate) async fn search(options: SearchOptions) -> Result<ExitCode> {
    if options.search.trim().is_empty() {
        let text = "the search is empty: give one, for example karst search 'index=main error'";
        return Err(Failure::Search(text.to_owned()).into());
    }
    if options.search.trim() == "-" {
        let text = "searches are not read from standard input: use karst search \"$(cat FILE)\"";
        return Err(Failure::Usage(text.to_owned()).into());
    }
    if options.follow {
        return follow::follow(&options).await;
    }
    let client = Client::new(&options.client)?;
    let mut signals = Signals::listen()?;
    let mut dispatched = pin!(dispatch(&client, &options));
    let sid = tokio::select! {
        sid = &mut dispatched => sid?,
        code = signals.received() => {
            // The server may have created the job already.
            if let Ok(Ok(sid)) = tokio::time::timeout(REMOVAL, dispatched).await {
                give_up(&client, &sid, &mut signals).await;
            }
            return Ok(code);
        }
    };
    let ended = tokio::select! {
        shown = show(&client, &sid, &options) => shown.map(|()| None),
        code = signals.received() => Ok(Some(code)),
    };
    match ended {
        Ok(None) => {
            // The results are printed, so the job is no longer needed.
            remove(&client, &sid).await?;
            Ok(ExitCode::SUCCESS)
        }
        Ok(Some(code)) => {
            give_up(&client, &sid, &mut signals).await;
            Ok(code)
        }
        Err(error) => {
            // This error is more specific than that of the removal, which often has the same cause.
            let _ = tokio::time::timeout(REMOVAL, remove(&client, &sid)).await;
            Err(error)
        }
    }
}

/// Waits for the results and prints them.
async fn show(client: &Client, sid: &str, options: &SearchOptions) -> Result<()> {
    let job = wait(client, sid).await?;
    let content = &job["entry"][0]["content"];
    if content["isFailed"] == Value::Bool(true) {
        let text = content["messages"][0]["text"].as_str().unwrap_or("the search failed");
        return Err(Failure::Search(text.to_owned()).into());
    }
    messages(content).iter().for_each(|message| eprintln!("{message}"));
    if options.explain {
        let inspected = client.get(&path(sid, "/inspector")).await?;
        let mut text = Vec::new();
        inspection::print_plans(&mut text, &inspected["inspection"])?;
        write_out(&text).await?;
    } else {
        let printed = print_results(client, sid, content, options).await?;
        let total = content["resultCount"].as_u64().unwrap_or(0);
        if total > printed as u64 {
            eprintln!("{printed} of {total} rows are shown; --limit 0 shows all");
        }
    }
    if options.stats {
        let inspected = client.get(&path(sid, "/inspector")).await?;
        inspection::print_stats(&mut std::io::stderr().lock(), &inspected["inspection"])?;
    }
    Ok(())
}

/// Cancels and removes the job of a search that was interrupted. A second signal ends the wait.
async fn give_up(client: &Client, sid: &str, signals: &mut Signals) {
    let removed = tokio::select! {
        removed = tokio::time::timeout(REMOVAL, remove(client, sid)) => removed,
        _ = signals.received() => return,
    };
    let reason = match removed {
        Ok(Ok(())) => return,
        Ok(Err(error)) => format!("{error:#}"),
        Err(_) => "the server does not answer".to_owned(),
    };
    eprintln!("the search job {sid} was not removed and may still run: {reason}");
}

/// Removes the job, which cancels it if it still runs.
async fn remove(client: &Client, sid: &str) -> Result<()> {
    let request = client.request(Method::DELETE, &path(sid, "?output_mode=json"));
    client.send(request).await.map(drop)
}

/// The signals that end a command.
struct Signals {
    interrupt: Signal,
    terminate: Signal,
}

impl Signals {
    fn listen() -> Result<Self> {
        let listen = |kind| signal(kind).context("cannot listen for signals");
        Ok(Self {
            interrupt: listen(SignalKind::interrupt())?,
            terminate: listen(SignalKind::terminate())?,
        })
    }

    /// Waits for a signal. Returns the exit code of a process that it ended: 128 and its number.
    async fn received(&mut self) -> ExitCode {
        tokio::select! {
            _ = self.interrupt.recv() => ExitCode::from(130),
            _ = self.terminate.recv() => ExitCode::from(143),
        }
    }
}

/// Writes to standard output without blocking the wait for signals, while the reader of a pipe is slow.
async fn write_out(text: &[u8]) -> Result<()> {
    let mut out = tokio::io::stdout();
    out.write_all(text).await?;
    out.flush().await?;
    Ok(())
}

fn path(sid: &str, rest: &str) -> String {
    format!("/services/search/v2/jobs/{sid}{rest}")
}

async fn dispatch(client: &Client, options: &SearchOptions) -> Result<String> {
    let limit = match options.limit {
        0 => 500_000,
        limit => limit.max(10_000),
    };
    let limit = limit.to_string();
    let timezone = zone(options);
    let search = spl::with_search(&options.search);
    let mut form = vec![
        ("search", &*search),
        ("output_mode", "json"),
        ("max_count", limit.as_str()),
        // Previews are not displayed.
        ("preview", "0"),
    ];
    form.extend(options.earliest.as_deref().map(|time| ("earliest_time", time)));
    form.extend(options.latest.as_deref().map(|time| ("latest_time", time)));
    form.extend(timezone.as_deref().map(|zone| ("timezone", zone)));
    let created = client.post("/services/search/v2/jobs", &form).await?;
    created["sid"].as_str().map(str::to_owned).context("the server did not name the job")
}

/// The time zone of the options, or that of this machine.
fn zone(options: &SearchOptions) -> Option<String> {
    let local = || jiff::tz::TimeZone::system().iana_name().map(str::to_owned);
    options.timezone.clone().filter(|zone| !zone.is_empty()).or_else(local)
}

async fn wait(client: &Client, sid: &str) -> Result<Value> {
    let bar = ProgressBar::new(100);
    let style = ProgressStyle::with_template("{spinner} {msg} {bar:30} {percent}% {elapsed}");
    bar.set_style(style.context("the progress bar's form")?);
    // Fast searches end before a progress bar would be visible.
    let mut pause = Duration::from_millis(2);
    loop {
        let job = client.get(&path(sid, "?output_mode=json")).await?;
        let content = &job["entry"][0]["content"];
        if content["isDone"] == Value::Bool(true) {
            bar.finish_and_clear();
            return Ok(job);
        }
        let state = content["dispatchState"].as_str().unwrap_or("RUNNING");
        let count = |name: &str| HumanCount(content[name].as_u64().unwrap_or(0));
        let (scanned, found) = (count("scanCount"), count("eventCount"));
        bar.set_message(format!("{state} {scanned} events scanned, {found} match"));
        #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
        bar.set_position((content["doneProgress"].as_f64().unwrap_or(0.0) * 100.0) as u64);
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(200));
    }
}

/// What the server says about a job, with the severity of each message.
fn messages(content: &Value) -> Vec<String> {
    let told = content["messages"].as_array().into_iter().flatten().map(|message| {
        let severity = message["type"].as_str().unwrap_or("INFO").to_lowercase();
        format!("{severity}: {}", message["text"].as_str().unwrap_or_default())
    });
    told.collect()
}

async fn print_results(
    client: &Client,
    sid: &str,
    content: &Value,
    options: &SearchOptions,
) -> Result<usize> {
    let terminal = std::io::stdout().is_terminal();
    let output = options.output.unwrap_or(if terminal { Output::Table } else { Output::Csv });
    let is_events = content["reportSearch"].is_null();
    let highlight: Vec<String> =
        serde_json::from_value(content["highlight"].clone()).unwrap_or_default();
    let mut printed = 0;
    let wanted = if options.limit == 0 { usize::MAX } else { options.limit };
    loop {
        let count = PAGE.min(wanted - printed);
        let page =
            path(sid, &format!("/results?output_mode=json_rows&offset={printed}&count={count}"));
        let body = client.get(&page).await?;
        let rows = Rows::of(&body);
        let got = rows.rows.len();
        let marked = if terminal && is_events { highlight.as_slice() } else { &[] };
        let mut text = Vec::new();
        print_rows(&mut text, &rows, output, is_events, marked, printed == 0)?;
        write_out(&text).await?;
        printed += got;
        if got < count || printed >= wanted {
            break;
        }
    }
    Ok(printed)
}
