//! `karst roll`: rolls hot buckets into object storage now.

use std::process::ExitCode;

use anyhow::Result;

use super::client::Client;
use crate::config::RollOptions;

pub(crate) async fn roll(options: RollOptions) -> Result<ExitCode> {
    let client = Client::new(&options.client)?;
    let path = format!("/services/data/indexes/{}/roll-hot-buckets", options.index);
    client.post(&path, &[("output_mode", "json")]).await?;
    println!("the hot buckets of {} are in object storage", options.index);
    Ok(ExitCode::SUCCESS)
}
