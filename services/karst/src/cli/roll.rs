//! `karst roll`: rolls hot buckets into object storage now.

use std::process::ExitCode;

use anyhow::Result;

use super::client::Client;
use crate::config::RollOptions;

pub(crate) async fn roll(options: RollOptions) -> Result<ExitCode> {
    let client = Client::new(&options.client)?;
    let path = format!("/services/data/indexes/{}/roll-hot-buckets", options.index);
    let answer = client.post(&path, &[("output_mode", "json")]).await?;
    let messages = answer["messages"].as_array().into_iter().flatten();
    let warnings: Vec<&str> = messages.filter_map(|message| message["text"].as_str()).collect();
    let at = if warnings.is_empty() { "" } else { " at this indexer" };
    println!("the hot buckets of {}{at} are in object storage", options.index);
    for warning in warnings {
        eprintln!("warning: {warning}");
    }
    Ok(ExitCode::SUCCESS)
}
