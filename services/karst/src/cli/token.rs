//! `karst token`: creates, lists and revokes API tokens.

use std::process::ExitCode;

use anyhow::{Context, Result};
use reqwest::Method;
use serde_json::Value;

use super::client::Client;
use super::table::{Rows, print_listing};
use crate::config::{CreateTokenOptions, Output, TokenOptions, TokenWhat};

const PATH: &str = "/services/authorization/tokens";

pub(crate) async fn token(options: TokenOptions) -> Result<ExitCode> {
    match options.what {
        TokenWhat::Create(options) => create(options).await?,
        TokenWhat::List(options) => {
            list(&Client::new(&options.client)?, options.format.output).await?
        }
        TokenWhat::Revoke(options) => {
            let client = Client::new(&options.client)?;
            let path = format!("{PATH}/{}?output_mode=json", options.id);
            client.send(client.request(Method::DELETE, &path)).await?;
            println!("token {} is revoked", options.id);
        }
    }
    Ok(ExitCode::SUCCESS)
}

async fn create(options: CreateTokenOptions) -> Result<()> {
    let client = Client::new(&options.client)?;
    let kind = if options.ephemeral { "ephemeral" } else { "static" };
    // The default applies to stored tokens.
    let is_default = options.ephemeral && options.expires == "+30d";
    let expires = if is_default { "" } else { options.expires.as_str() };
    let mut form: Vec<(&str, &str)> = vec![
        ("output_mode", "json"),
        ("audience", &options.audience),
        ("type", kind),
        ("expires_on", expires),
    ];
    form.extend(options.user.as_deref().map(|user| ("name", user)));
    form.extend(options.not_before.as_deref().map(|time| ("not_before", time)));
    form.extend(options.capabilities.iter().map(|name| ("capabilities", name.as_str())));
    form.extend(options.indexes.iter().map(|name| ("srchIndexesAllowed", name.as_str())));
    let made = client.post(PATH, &form).await?;
    let content = &made["entry"][0]["content"];
    let text = content["token"].as_str().context("the server sent no token")?;
    eprintln!("token {}; it is not shown again:", content["id"].as_str().unwrap_or_default());
    println!("{text}");
    Ok(())
}

async fn list(client: &Client, output: Option<Output>) -> Result<()> {
    let feed = client.get(&format!("{PATH}?output_mode=json&count=0")).await?;
    let fields = ["id", "user", "audience", "status", "expires", "last used", "from"];
    let mut rows = Rows::default();
    rows.fields.extend(fields.map(str::to_owned));
    for entry in feed["entry"].as_array().into_iter().flatten() {
        let content = &entry["content"];
        let claims = &content["claims"];
        rows.rows.push(vec![
            entry["name"].clone(),
            claims["sub"].clone(),
            claims["aud"].clone(),
            content["status"].clone(),
            time(&claims["exp"], "never"),
            time(&content["lastUsed"], "not since the server started"),
            content["lastUsedIp"].clone(),
        ]);
    }
    print_listing(&rows, output)
}

/// Formats epoch seconds.
pub(super) fn time(seconds: &Value, zero: &str) -> Value {
    let seconds = seconds.as_i64().filter(|seconds| *seconds != 0);
    let time = seconds.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    time.map_or_else(|| zero.to_owned(), |time| time.to_string()).into()
}
