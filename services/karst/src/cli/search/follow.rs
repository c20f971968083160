//! `karst search --follow`: prints events as they arrive, until a signal.
//!
//! Every two seconds, a job of its own searches for the events that have arrived since the previous poll, by
//! their index time and the server's clock. Polls overlap, because events become searchable some time after
//! their index time.
//!
//! Guarantees: an event is printed once, although polls overlap; the memory is limited by the events of some
//! polls; events that are skipped are reported; after a lost connection, events of the meantime are printed.
//! Leaves to the server: events that become searchable later than the overlap are not found.

use std::collections::HashMap;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use jiff::Timestamp;
use serde_json::Value;
use spl::CommandKind;

use super::super::client::{Client, Failure};
use super::super::table::{Rows, print_rows};
use super::{Signals, messages, path, remove, write_out, zone};
use crate::config::{Output, SearchOptions};

/// Time between two polls, and between the attempts to reach a server.
const EVERY: Duration = Duration::from_secs(2);
/// Seconds by which polls overlap.
const OVERLAP: i64 = 5;
/// Maximum number of events of a poll; if there are more, the newest are printed.
const MOST: u64 = 10_000;
/// Range of the events' own times, as in the live tail of the console.
const EARLIEST: &str = "-24h";
const LATEST: &str = "+24h";
/// Number of times that a server in succession may refuse the credentials: one that was started again has a
/// new session for its own user.
const REFUSALS: u32 = 3;

pub(super) async fn follow(options: &SearchOptions) -> Result<ExitCode> {
    let mut signals = Signals::listen()?;
    tokio::select! {
        ended = run(options) => ended,
        _ = signals.interrupt.recv() => Ok(ExitCode::SUCCESS),
        _ = signals.terminate.recv() => Ok(ExitCode::from(143)),
    }
}

/// Polls until there is an error that another poll would have, too.
async fn run(options: &SearchOptions) -> Result<ExitCode> {
    let output = options.output.unwrap_or(Output::Raw);
    if output == Output::Csv {
        let text = "--follow has the formats raw, json and table: the columns of csv are not known in advance";
        return Err(Failure::Usage(text.to_owned()).into());
    }
    let mut client = Client::new(&options.client)?;
    let search = spl::with_search(&options.search);
    check(&client, &search, options).await?;
    let mut tail = Tail::default();
    let (mut is_lost, mut refusals) = (false, 0_u32);
    loop {
        let polled = poll(&client, &search, options, tail.since).await;
        match polled {
            Ok(found) => {
                if is_lost {
                    eprintln!("karst: the server answers again");
                }
                (is_lost, refusals) = (false, 0);
                tail.print(found, output).await?;
            }
            Err(error) => {
                let is_refused =
                    matches!(error.downcast_ref::<Failure>(), Some(Failure::Unauthorized(_)));
                refusals += u32::from(is_refused);
                if tail.since.is_none() || !may_pass(&error) || refusals > REFUSALS {
                    return Err(error);
                }
                if !is_lost {
                    eprintln!("karst: {error:#}; trying again every {} s", EVERY.as_secs());
                }
                is_lost = true;
                // A server that was started again has another session, and perhaps another address.
                if let Ok(renewed) = Client::new(&options.client) {
                    client = renewed;
                }
            }
        }
        tokio::time::sleep(EVERY).await;
    }
}

/// Whether another poll may succeed.
fn may_pass(error: &anyhow::Error) -> bool {
    let failure = error.downcast_ref::<Failure>();
    !matches!(failure, Some(Failure::Usage(_) | Failure::Search(_) | Failure::Forbidden(_)))
}

/// Refuses searches that need more than one event, or would change something at each poll.
async fn check(client: &Client, search: &str, options: &SearchOptions) -> Result<()> {
    let earliest = options.earliest.as_deref().unwrap_or(EARLIEST);
    let form = [
        ("search", search),
        ("output_mode", "json"),
        ("earliest_time", earliest),
        ("latest_time", LATEST),
    ];
    let explained = client.post("/api/v1/explain", &form).await;
    match refusal(&explained.map_err(of_search)?) {
        Some(text) => Err(Failure::Search(text).into()),
        None => Ok(()),
    }
}

/// The error of an explanation as that of the search: its path is not one of searches.
fn of_search(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<Failure>() {
        Ok(Failure::Usage(text)) => Failure::Search(text).into(),
        Ok(failure) => failure.into(),
        Err(error) => error,
    }
}

/// The reason why an explained search cannot be followed.
fn refusal(explained: &Value) -> Option<String> {
    let Some(commands) = explained["commands"].as_array() else {
        return Some("the server did not list the commands of the search".to_owned());
    };
    for (at, command) in commands.iter().enumerate() {
        let name = command["name"].as_str().unwrap_or_default();
        let is_streaming = spl::commands::find(name).is_some_and(|definition| {
            definition.kind == CommandKind::Streaming && !definition.right.writes
        });
        let text = command["text"].as_str().unwrap_or_default();
        let is_whole = needs_all_rows(name, text, command["runs"].as_str().unwrap_or_default());
        if !is_streaming || is_whole || (at == 0 && name != "search") {
            return Some(format!(
                "--follow prints events as they arrive, so every command has to process each event on its \
                 own, such as where, eval and rex: \"{name}\" does not"
            ));
        }
        // The brackets of foreach have commands for each event.
        if name != "foreach" && has_brackets(text) {
            let text = "--follow takes no subsearches: they would run again at each poll";
            return Some(text.to_owned());
        }
    }
    None
}

/// Whether a command needs all rows because of its arguments, although its type is streaming. The bins of
/// `bin` without a span change from poll to poll, and with them `_time`: events would be printed again.
fn needs_all_rows(name: &str, text: &str, runs: &str) -> bool {
    match name {
        "bin" => !text.contains(" span="),
        "addtotals" => text.contains(" col="),
        // It runs on the search head if a command of its template does.
        "foreach" => runs != "where the events are",
        _ => false,
    }
}

/// Whether a command has a bracket outside of quotes.
fn has_brackets(text: &str) -> bool {
    let (mut is_quoted, mut is_escaped) = (false, false);
    for letter in text.chars() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            '"' => is_quoted = !is_quoted,
            '[' if !is_quoted => return true,
            _ => {}
        }
    }
    false
}

/// The result of a poll.
struct Found {
    /// Newest first.
    rows: Rows,
    /// The number of events that match, if there are more than rows.
    cut_from: Option<u64>,
    /// A second, by the clock of the server, before which all visible events were found.
    began: i64,
    messages: Vec<String>,
}

/// Searches for the events that have arrived in or after the second `since`; without it, for the last ones.
async fn poll(
    client: &Client,
    search: &str,
    options: &SearchOptions,
    since: Option<i64>,
) -> Result<Found> {
    let last = options.last.filter(|last| since.is_none() && *last > 0);
    let count = last.unwrap_or(MOST).to_string();
    let arrived = since.map_or_else(|| "now".to_owned(), |since| since.to_string());
    let timezone = zone(options);
    let mut form = vec![
        ("search", search),
        ("output_mode", "json"),
        ("exec_mode", "blocking"),
        ("max_count", count.as_str()),
        // The job of a poll whose connection was lost is not needed.
        ("timeout", "30"),
        ("earliest_time", options.earliest.as_deref().unwrap_or(EARLIEST)),
        ("latest_time", LATEST),
    ];
    if last.is_none() {
        form.push(("index_earliest", arrived.as_str()));
    }
    form.extend(timezone.as_deref().map(|zone| ("timezone", zone)));
    let asked = Instant::now();
    let created = client.post("/services/search/v2/jobs", &form).await?;
    // The time of a job is that of the end of its planning, which may have waited for an indexer after the
    // others had listed their events.
    let waited = i64::try_from(asked.elapsed().as_secs()).unwrap_or(i64::MAX);
    let sid = created["sid"].as_str().context("the server did not name the job")?;
    let mut found = read(client, sid, &count, since.is_none()).await;
    if let Ok(found) = &mut found {
        found.began = found.began.saturating_sub(waited);
        // If this fails, the job ends on its own.
        let _ = remove(client, sid).await;
    }
    found
}

/// Reads the job of a poll, which has ended.
async fn read(client: &Client, sid: &str, count: &str, is_first: bool) -> Result<Found> {
    let job = client.get(&path(sid, "?output_mode=json")).await?;
    let content = &job["entry"][0]["content"];
    if content["isFailed"] == Value::Bool(true) {
        let text = content["messages"][0]["text"].as_str().unwrap_or("the search failed");
        // A search that has run before may run again, once a part of the cluster is back.
        let failure = if is_first { Failure::Search } else { Failure::Later };
        return Err(failure(text.to_owned()).into());
    }
    let published = content["published"].as_str().context("the job has no time")?;
    let began = published.parse::<Timestamp>().context("the time of the job")?.as_second();
    let page = format!("/results?output_mode=json_rows&offset=0&count={count}");
    let rows = Rows::of(&client.get(&path(sid, &page)).await?);
    // The first poll is for the last events only, or for none.
    let is_cut = !is_first && content["eventIsTruncated"] == Value::Bool(true);
    let cut_from = content["eventCount"].as_u64().filter(|_| is_cut);
    let mut told = messages(content);
    // Said of the events that were not printed.
    told.retain(|message| !message.ends_with("(max_count)"));
    Ok(Found { rows, cut_from, began, messages: told })
}

/// What was printed.
#[derive(Debug, Default)]
struct Tail {
    /// The next poll is for events with this index time, in seconds, and later ones; `None` before the first.
    since: Option<i64>,
    /// The number of printed events by index time, in seconds, and hash of the event, from `since` on. Equal
    /// events can arrive in the same second.
    printed: HashMap<(i64, u64), usize>,
    /// Messages of the last poll.
    messages: Vec<String>,
}

impl Tail {
    async fn print(&mut self, found: Found, output: Output) -> Result<()> {
        for message in found.messages.iter().filter(|message| !self.messages.contains(message)) {
            eprintln!("{message}");
        }
        self.messages = found.messages;
        let before: usize = self.printed.values().sum();
        let fresh = self.take(found.rows, found.began)?;
        let known = u64::try_from(before + fresh.rows.len()).unwrap_or(u64::MAX);
        if found.cut_from.is_some_and(|count| count > known) {
            eprintln!(
                "karst: events were skipped: more than {MOST} arrived since the previous poll; the newest are \
                 printed"
            );
        }
        if fresh.rows.is_empty() {
            return Ok(());
        }
        let mut text = Vec::new();
        print_rows(&mut text, &fresh, output, true, &[], false)?;
        write_out(&text).await
    }

    /// Takes the rows of a poll that began in the second `began`. Returns those that were not printed, oldest
    /// first.
    fn take(&mut self, rows: Rows, began: i64) -> Result<Rows> {
        let next = self.since.map_or(began, |since| since.max(began - OVERLAP));
        let time = rows.column("_indextime");
        if time.is_none() && !rows.rows.is_empty() {
            let text = "--follow needs the field _indextime of events: do not remove or rename it";
            return Err(Failure::Search(text.to_owned()).into());
        }
        let named = ["_time", "host", "source", "index", "_raw"].map(|name| rows.column(name));
        let mut counts: HashMap<(i64, u64), usize> = HashMap::new();
        let mut fresh = Vec::new();
        for row in rows.rows {
            let arrived = time.and_then(|at| row.get(at)).and_then(index_time).unwrap_or(0);
            // The search may have a range of index times itself.
            if self.since.is_some_and(|since| arrived < since) {
                continue;
            }
            let mut hasher = DefaultHasher::new();
            for column in named {
                let cell = column.and_then(|at| row.get(at));
                cell.unwrap_or(&Value::Null).to_string().hash(&mut hasher);
            }
            let key = (arrived, hasher.finish());
            let count = counts.entry(key).or_default();
            *count += 1;
            if *count > self.printed.get(&key).copied().unwrap_or(0) {
                fresh.push(row);
            }
        }
        for (key, count) in counts {
            let printed = self.printed.entry(key).or_default();
            *printed = count.max(*printed);
        }
        self.printed.retain(|(arrived, _), _| *arrived >= next);
        self.since = Some(next);
        fresh.reverse();
        Ok(Rows { fields: rows.fields, rows: fresh })
    }
}

/// An index time in a row, in seconds.
fn index_time(value: &Value) -> Option<i64> {
    value.as_str().and_then(|text| text.parse().ok()).or_else(|| value.as_i64())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn rows(events: &[(i64, &str)]) -> Rows {
        let fields = ["_indextime", "_raw"].map(str::to_owned).to_vec();
        let row = |(time, text): &(i64, &str)| vec![json!(time.to_string()), json!(text)];
        Rows { fields, rows: events.iter().map(row).collect() }
    }

    fn taken(tail: &mut Tail, events: &[(i64, &str)], began: i64) -> Vec<String> {
        let fresh = tail.take(rows(events), began).expect("rows with _indextime");
        fresh.rows.iter().map(|row| row[1].as_str().unwrap_or_default().to_owned()).collect()
    }

    #[test]
    fn an_event_of_two_polls_is_printed_once_and_one_that_is_there_twice_twice() {
        let mut tail = Tail::default();
        assert!(taken(&mut tail, &[], 100).is_empty());
        assert_eq!(taken(&mut tail, &[(101, "b"), (100, "a")], 102), ["a", "b"]);
        assert_eq!(taken(&mut tail, &[(102, "c"), (101, "b"), (101, "b")], 104), ["b", "c"]);
        let same = [(102, "c"), (101, "b"), (101, "b"), (100, "a")];
        assert!(taken(&mut tail, &same, 105).is_empty());
    }

    #[test]
    fn polls_overlap_and_never_go_back() {
        let mut tail = Tail::default();
        let mut since = |began| {
            assert!(taken(&mut tail, &[(90, "before")], began).len() < 2);
            tail.since
        };
        assert_eq!(since(100), Some(100));
        assert_eq!(since(102), Some(100));
        assert_eq!(since(110), Some(105));
        assert_eq!(since(50), Some(105), "the clock of the server was set back");
    }

    #[test]
    fn an_event_that_a_full_poll_lacks_is_not_printed_again() {
        let mut tail = Tail::default();
        taken(&mut tail, &[], 100);
        assert_eq!(taken(&mut tail, &[(101, "a")], 102), ["a"]);
        assert_eq!(taken(&mut tail, &[(103, "b")], 104), ["b"]);
        assert!(taken(&mut tail, &[(103, "b"), (101, "a")], 106).is_empty());
        assert_eq!(tail.printed.len(), 2);
        assert!(taken(&mut tail, &[], 120).is_empty());
        assert!(tail.printed.is_empty(), "the memory is limited");
    }

    #[test]
    fn rows_without_an_index_time_are_refused() {
        let rows = Rows { fields: vec!["host".to_owned()], rows: vec![vec![json!("h")]] };
        let error = Tail::default().take(rows, 100).expect_err("no _indextime");
        assert!(error.to_string().contains("_indextime"), "{error}");
    }

    #[test]
    fn only_commands_that_process_each_event_on_its_own_are_followed() {
        let refused = |commands: &[(&str, &str)]| {
            let command = |(name, text): &(&str, &str)| {
                let is_local = text.contains("outputlookup");
                let runs = if is_local { "on the search head" } else { "where the events are" };
                json!({"name": name, "text": text, "runs": runs})
            };
            let commands: Vec<Value> = commands.iter().map(command).collect();
            refusal(&json!({ "commands": commands }))
        };
        let search = ("search", "search index=web \"a[b\"");
        for command in [
            ("where", "where status > 499"),
            ("rex", "rex \"(?<word>[a-z\\\"]+)\""),
            ("foreach", "foreach a* [eval b = 1]"),
            ("bin", "bin span=5m _time"),
            ("addtotals", "addtotals a*"),
        ] {
            assert_eq!(refused(&[search, command]), None, "{command:?}");
        }
        for command in [
            ("stats", "stats count"),
            ("head", "head 5"),
            ("delete", "delete"),
            ("outputlookup", "outputlookup a.csv"),
            ("script", "script python a"),
            ("search", "search [search a]"),
            ("bin", "bin minspan=1d _time"),
            ("addtotals", "addtotals col=t a*"),
            ("foreach", "foreach a* [outputlookup a.csv]"),
        ] {
            assert!(refused(&[search, command]).is_some(), "{command:?}");
        }
        assert!(refused(&[("makeresults", "makeresults")]).is_some());
        assert!(refusal(&Value::Null).is_some());
        let told = refused(&[search, ("stats", "stats count")]).unwrap_or_default();
        assert!(told.contains("\"stats\" does not"), "{told}");
    }
}
