//! `karst login` and `karst logout`: sessions on servers that are given by `--uri`.

use std::io::{BufRead, IsTerminal};
use std::process::ExitCode;

use anyhow::{Context, Result, ensure};
use reqwest::Method;

use super::client::Client;
use super::sessions::{Session, Sessions};
use crate::config::{LoginOptions, LogoutOptions, sessions_file};

pub(crate) async fn login(options: LoginOptions) -> Result<ExitCode> {
    let uri = options.uri.trim_end_matches('/').to_owned();
    let path = sessions_file().context("there is no location for the session file: set HOME")?;
    let client = Client::anonymous(&options.client())?;
    let password = password(&options.user)?;
    let form = [
        ("username", options.user.as_str()),
        ("password", password.as_str()),
        ("output_mode", "json"),
    ];
    let answer = client.post("/services/auth/login", &form).await?;
    let key = answer["sessionKey"].as_str().context("the server sent no session")?.to_owned();
    let mut sessions = Sessions::read_from(&path)?;
    let session = Session { key, user: options.user.clone(), insecure: options.insecure };
    sessions.put(&uri, session);
    sessions.write_to(&path)?;
    println!("logged in to {uri} as {}; commands with --uri {uri} use this session", options.user);
    Ok(ExitCode::SUCCESS)
}

pub(crate) async fn logout(options: LogoutOptions) -> Result<ExitCode> {
    let uri = options.uri.trim_end_matches('/');
    let path = sessions_file().context("there is no location for session files: set HOME")?;
    let mut sessions = Sessions::read_from(&path)?;
    if sessions.of(uri).is_none() {
        println!("there is no session on {uri}");
        return Ok(ExitCode::SUCCESS);
    }
    let client = Client::new(&options.client())?;
    let ended = client.send(client.request(Method::POST, "/services/auth/logout")).await;
    sessions.remove(uri);
    sessions.write_to(&path)?;
    if let Err(error) = ended {
        eprintln!("the session is removed here, but may still be open at the server: {error:#}");
    }
    println!("logged out of {uri}");
    Ok(ExitCode::SUCCESS)
}

/// Prompted for, or the first line of standard input.
fn password(user: &str) -> Result<String> {
    let password = if std::io::stdin().is_terminal() {
        rpassword::prompt_password(format!("Password of {user}: "))?
    } else {
        let mut line = String::new();
        std::io::stdin().lock().read_line(&mut line).context("cannot read standard input")?;
        line.trim_end_matches(['\r', '\n']).to_owned()
    };
    ensure!(!password.is_empty(), "no password given: type it, or send it to standard input");
    Ok(password)
}
