//! `karst list`: what a server has.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::Value;

use super::client::Client;
use super::table::{Rows, print_rows};
use crate::config::{ListOptions, Listing, Output};

pub(crate) async fn list(options: ListOptions) -> Result<ExitCode> {
    let client = Client::new(&options.client)?;
    let (path, fields): (&str, &[&str]) = match options.what {
        Listing::Indexes => (
            "/services/data/indexes",
            &["totalEventCount", "totalRawBytes", "totalStoredBytes", "minTime", "maxTime"],
        ),
        Listing::Jobs => (
            "/services/search/jobs",
            &["sid", "dispatchState", "eventCount", "resultCount", "runDuration"],
        ),
        Listing::Tokens => ("/services/data/inputs/http", &["index", "sourcetype", "disabled"]),
        Listing::Queues => return print_tree(&client, "/services/server/status/queues").await,
        Listing::Cache => return print_tree(&client, "/services/server/status/cache").await,
    };
    let feed = client.get(&format!("{path}?output_mode=json&count=0")).await?;
    let mut rows = Rows::default();
    rows.fields.push("name".to_owned());
    rows.fields.extend(fields.iter().map(|field| (*field).to_owned()));
    for entry in feed["entry"].as_array().into_iter().flatten() {
        let cells = fields.iter().map(|field| entry["content"][field].clone());
        rows.rows.push(std::iter::once(entry["name"].clone()).chain(cells).collect());
    }
    print_rows(&mut std::io::stdout().lock(), &rows, Output::Table, false, &[], true)?;
    Ok(ExitCode::SUCCESS)
}

/// Nested values as one line per leaf.
async fn print_tree(client: &Client, path: &str) -> Result<ExitCode> {
    let feed = client.get(&format!("{path}?output_mode=json")).await?;
    let mut rows = Rows { fields: vec!["name".to_owned(), "value".to_owned()], rows: Vec::new() };
    leaves("", &feed["entry"][0]["content"], &mut rows);
    print_rows(&mut std::io::stdout().lock(), &rows, Output::Table, false, &[], true)?;
    Ok(ExitCode::SUCCESS)
}

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
