//! `karst list`: lists objects and state of a server.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use super::cache;
use super::client::Client;
use super::table::{Rows, print_listing};
use super::token::time;
use crate::config::{ListOptions, Listing, Output};

pub(crate) async fn list(options: ListOptions) -> Result<ExitCode> {
    let client = Client::new(&options.client)?;
    if options.interval.is_some() && options.what != Listing::Cache {
        anyhow::bail!("--interval goes with `karst list cache`");
    }
    let output = options.format.output;
    let (path, fields): (&str, &[&str]) = match options.what {
        Listing::Indexes => (
            "/services/data/indexes",
            &["totalEventCount", "totalRawBytes", "totalStoredBytes", "minTime", "maxTime"],
        ),
        Listing::Buckets => (
            "/services/data/buckets",
            &["index", "state", "eventCount", "rawSize", "size", "startTime", "endTime"],
        ),
        Listing::Jobs => (
            "/services/search/jobs",
            &["sid", "dispatchState", "eventCount", "resultCount", "runDuration"],
        ),
        Listing::DeployClients => (
            "/services/deployment/server/clients",
            &["clientName", "hostname", "ip", "utsname", "lastPhoneHomeTime", "build"],
        ),
        Listing::Tokens => ("/services/data/inputs/http", &["index", "sourcetype", "disabled"]),
        Listing::Queues => return print_queues(&client, output).await,
        Listing::Inputstatus => return print_files(&client, output).await,
        Listing::Cache => return cache::print(&client, options.interval, output).await,
    };
    let feed = client.get(&format!("{path}?output_mode=json&count=0")).await?;
    let mut rows = Rows::default();
    rows.fields.push("name".to_owned());
    rows.fields.extend(fields.iter().map(|field| (*field).to_owned()));
    for entry in feed["entry"].as_array().into_iter().flatten() {
        let cells = fields.iter().map(|field| cell(field, &entry["content"][field], output));
        rows.rows.push(std::iter::once(entry["name"].clone()).chain(cells).collect());
    }
    print_listing(&rows, output)?;
    Ok(ExitCode::SUCCESS)
}

/// A value of an object; a time as people read it, but for programs.
fn cell(field: &str, value: &Value, output: Option<Output>) -> Value {
    match field {
        "lastPhoneHomeTime" if output != Some(Output::Json) => time(value, "never"),
        _ => value.clone(),
    }
}

/// Measurement interval of the throughput.
const LOOK: Duration = Duration::from_secs(1);

/// Prints one line per queue: fill level, throughput, time writers waited; then other values.
async fn print_queues(client: &Client, output: Option<Output>) -> Result<ExitCode> {
    let path = "/services/server/status/queues?output_mode=json";
    let before = client.get(path).await?["entry"][0]["content"].take();
    tokio::time::sleep(LOOK).await;
    let mut after = client.get(path).await?["entry"][0]["content"].take();
    let queues = after["queues"].take();
    let number = |value: &Value| value.as_f64().unwrap_or(0.0);
    let fields = [
        "set",
        "stage",
        "fill_percent",
        "bytes",
        "items",
        "mb_per_second",
        "passed_mb",
        "blocked_seconds",
    ];
    let mut rows =
        Rows { fields: fields.iter().map(|field| (*field).to_owned()).collect(), rows: Vec::new() };
    for (at, queue) in queues.as_array().into_iter().flatten().enumerate() {
        let passed = number(&queue["passed_bytes"]);
        let rate = (passed - number(&before["queues"][at]["passed_bytes"])) / LOOK.as_secs_f64();
        let fill = 100.0 * number(&queue["bytes"]) / number(&queue["capacity"]).max(1.0);
        rows.rows.push(vec![
            queue["set"].clone(),
            queue["stage"].clone(),
            format!("{fill:.1}").into(),
            queue["bytes"].clone(),
            queue["items"].clone(),
            format!("{:.2}", rate / 1e6).into(),
            format!("{:.1}", passed / 1e6).into(),
            format!("{:.3}", number(&queue["blocked_seconds"])).into(),
        ]);
    }
    print_listing(&rows, output)?;
    if output != Some(Output::Json) {
        println!();
    }
    let mut rest = Rows { fields: vec!["name".to_owned(), "value".to_owned()], rows: Vec::new() };
    if let Some(map) = after.as_object_mut() {
        map.remove("queues");
    }
    leaves("", &after, &mut rest);
    print_listing(&rest, output)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints one line per monitored file.
async fn print_files(client: &Client, output: Option<Output>) -> Result<ExitCode> {
    let path = "/services/admin/inputstatus/TailingProcessor:FileStatus?output_mode=json";
    let feed = client.get(path).await?;
    let fields = ["file position", "file size", "percent", "type"];
    let mut rows = Rows::default();
    rows.fields.push("file".to_owned());
    rows.fields.extend(fields.map(str::to_owned));
    for (path, status) in feed["entry"][0]["content"]["inputs"].as_object().into_iter().flatten() {
        let cells = fields.iter().map(|field| status[field].clone());
        rows.rows.push(std::iter::once(path.as_str().into()).chain(cells).collect());
    }
    print_listing(&rows, output)?;
    Ok(ExitCode::SUCCESS)
}

/// Flattens nested values to one row per leaf.
fn leaves(prefix: &str, value: &Value, rows: &mut Rows) {
    let name = |key: &str| {
        if prefix.is_empty() { key.to_owned() } else { format!("{prefix}.{key}") }
    };
    match value {
        Value::Object(map) => map.iter().for_each(|(key, item)| leaves(&name(key), item, rows)),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                leaves(&name(&at.to_string()), item, rows);
            }
        }
        leaf => rows.rows.push(vec![prefix.into(), leaf.clone()]),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_last_phone_home_is_a_time_except_in_json() {
        let of = |output| cell("lastPhoneHomeTime", &json!(1_700_000_000), output);
        assert_eq!(of(None), "2023-11-14T22:13:20Z");
        assert_eq!(of(Some(Output::Csv)), "2023-11-14T22:13:20Z");
        assert_eq!(of(Some(Output::Json)), 1_700_000_000);
        assert_eq!(cell("ip", &json!("10.0.0.1"), None), "10.0.0.1");
    }
}
