//! `karst bucket`: quarantines and releases damaged buckets.

use std::process::ExitCode;

use anyhow::Result;
use serde_json::Value;

use super::client::Client;
use crate::config::{BucketOptions, BucketWhat, QuarantineOptions};

pub(crate) async fn bucket(options: BucketOptions) -> Result<ExitCode> {
    match options.what {
        BucketWhat::Quarantine(options) => {
            let content = ask(&options, "quarantine").await?;
            let events = content["eventCount"].as_u64().unwrap_or(0);
            println!("searches skip bucket {} with {events} events and report this", options.id);
        }
        BucketWhat::Release(options) => {
            ask(&options, "release").await?;
            println!("searches read bucket {} again", options.id);
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn ask(options: &QuarantineOptions, action: &str) -> Result<Value> {
    let client = Client::new(&options.client)?;
    let mut form = vec![("output_mode", "json")];
    form.extend(options.reason.as_deref().map(|reason| ("reason", reason)));
    let path = format!("/services/data/buckets/{}/{action}", options.id);
    let answer = client.post(&path, &form).await?;
    Ok(answer["entry"][0]["content"].clone())
}
