//! `karst thaw` and `karst freeze`: makes archived buckets searchable, and removes them again.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use super::client::Client;
use super::plural::{counted, is_or_are, was_or_were};
use crate::config::{FreezeOptions, ThawOptions};

/// Default time-out: archives may be large and remote.
const TIMEOUT: Duration = Duration::from_secs(600);

pub(crate) async fn thaw(options: ThawOptions) -> Result<ExitCode> {
    let ThawOptions { wanted, from } = options;
    let content = ask(&wanted, "thaw", from.as_deref()).await?;
    let number = |name: &str| content[name].as_u64().unwrap_or(0);
    let buckets = number("buckets");
    let present = number("alreadyThere");
    println!(
        "{} of {} with {} {} searchable again; {present} {} already searchable",
        counted(buckets, "bucket"),
        wanted.index,
        counted(number("events"), "event"),
        is_or_are(buckets),
        was_or_were(present)
    );
    let unreadable = content["unreadable"].as_array().into_iter().flatten();
    let unreadable: Vec<&str> = unreadable.filter_map(Value::as_str).collect();
    for reason in &unreadable {
        eprintln!("not thawed: {reason}");
    }
    Ok(if unreadable.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

pub(crate) async fn freeze(options: FreezeOptions) -> Result<ExitCode> {
    let content = ask(&options, "freeze", None).await?;
    let buckets = content["buckets"].as_u64().unwrap_or(0);
    let (thawed, verb) = (counted(buckets, "thawed bucket"), is_or_are(buckets));
    println!("{thawed} of {} {verb} in the archive only", options.index);
    Ok(ExitCode::SUCCESS)
}

async fn ask(options: &FreezeOptions, action: &str, from: Option<&str>) -> Result<Value> {
    let client = Client::with_timeout(&options.client, TIMEOUT)?;
    let zone = jiff::tz::TimeZone::system();
    let mut form = vec![("output_mode", "json")];
    form.extend(options.earliest.as_deref().map(|time| ("earliest_time", time)));
    form.extend(options.latest.as_deref().map(|time| ("latest_time", time)));
    form.extend(from.map(|from| ("from", from)));
    form.extend(zone.iana_name().map(|zone| ("timezone", zone)));
    let path = format!("/services/data/indexes/{}/{action}", options.index);
    let answer = client.post(&path, &form).await?;
    Ok(answer["entry"][0]["content"].clone())
}
