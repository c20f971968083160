//! `karst reload`: a server reads files again.

use std::process::ExitCode;

use anyhow::Result;

use super::client::Client;
use crate::config::{ReloadOptions, Reloadable};

pub(crate) async fn reload(options: ReloadOptions) -> Result<ExitCode> {
    let client = Client::new(&options.client)?;
    let path = match options.what {
        Reloadable::DeployServer => "/services/deployment/server/config/_reload",
    };
    let answer = client.post(path, &[("output_mode", "json")]).await?;
    let content = &answer["entry"][0]["content"];
    let messages = content["messages"].as_array().into_iter().flatten();
    messages
        .filter_map(|message| message.as_str())
        .for_each(|message| eprintln!("karst: {message}"));
    match content["disabled"].as_bool() {
        Some(false) => println!("Reloaded serverclass.conf and the apps of forwarders."),
        _ => println!(
            "Reloaded; this server is not a deployment server: it has no server classes, or no key."
        ),
    }
    Ok(ExitCode::SUCCESS)
}
