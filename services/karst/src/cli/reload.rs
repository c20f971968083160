//! `karst reload`: a server reads files again.

use std::process::ExitCode;

use anyhow::{Result, ensure};
use serde_json::Value;

use super::client::Client;
use crate::config::{ReloadOptions, Reloadable};

const APPS: &str = "/services/apps/local/_reload";
const DEPLOY_SERVER: &str = "/services/deployment/server/config/_reload";

pub(crate) async fn reload(options: ReloadOptions) -> Result<ExitCode> {
    let is_of_apps = matches!(options.what, Reloadable::Apps);
    ensure!(
        is_of_apps || !options.force,
        "--force concerns the files of apps: `karst reload apps`"
    );
    let client = Client::new(&options.client)?;
    match options.what {
        Reloadable::Apps => apps(&client, options.force).await?,
        Reloadable::DeployServer => deploy_server(&client).await?,
    }
    Ok(ExitCode::SUCCESS)
}

async fn apps(client: &Client, force: bool) -> Result<()> {
    let force = if force { "1" } else { "0" };
    let answer = client.post(APPS, &[("output_mode", "json"), ("force", force)]).await?;
    let messages = answer["messages"].as_array().into_iter().flatten();
    for text in messages.filter_map(|message| message["text"].as_str()) {
        eprintln!("karst: {text}");
    }
    let content = &answer["entry"][0]["content"];
    let changed = texts(&content["changed"]);
    // Without a directory, a message says so.
    if changed.is_empty()
        && let Some(directory) = content["directory"].as_str()
    {
        println!("No file below {directory} has changed.");
    }
    let restart = texts(&content["restart_required"]);
    for file in changed {
        let effect = if restart.contains(&file) { "changed, needs a restart" } else { "in effect" };
        println!("{file}: {effect}");
    }
    Ok(())
}

async fn deploy_server(client: &Client) -> Result<()> {
    let answer = client.post(DEPLOY_SERVER, &[("output_mode", "json")]).await?;
    let content = &answer["entry"][0]["content"];
    for text in texts(&content["messages"]) {
        eprintln!("karst: {text}");
    }
    match content["disabled"].as_bool() {
        Some(false) => println!("Reloaded serverclass.conf and the apps of forwarders."),
        _ => println!(
            "Reloaded; this server is not a deployment server: it has no server classes, or no key."
        ),
    }
    Ok(())
}

fn texts(array: &Value) -> Vec<&str> {
    array.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}
