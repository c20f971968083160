//! `karst status` and `karst stop`.

use std::io::{Error, ErrorKind};
use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use serde_json::Value;

use super::client::{Client, Failure};
use super::table::{Rows, print_listing};
use crate::config::{ClientOptions, Output, StatusOptions, StopOptions};
use crate::server::Owner;

/// Interval of looking whether a server has ended.
const LOOK: Duration = Duration::from_millis(100);

/// Exit codes: 0 it is ready, 1 it runs and is not ready, 4 it cannot be reached.
pub(crate) async fn status(options: StatusOptions) -> Result<ExitCode> {
    let data = &options.client.data.data_dir;
    let local = options.client.uri.is_none();
    let owner = if local { owner_of(data)? } else { None };
    if local && owner.is_none() && !super::LocalSession::path(data).exists() {
        let text = format!(
            "no server is running on {}: start one with karst server --data-dir {}, or give --data-dir or \
             --uri of the one you mean",
            data.display(),
            data.display()
        );
        return Err(Failure::Unreachable(text).into());
    }
    let mut facts: Vec<(&str, Value)> = Vec::new();
    if let Some(owner) = &owner {
        facts.push(("pid", owner.pid.into()));
        facts.push(("started", owner.started.as_str().into()));
        facts.push(("management", owner.management.as_str().into()));
        let ports = [("web", &owner.web), ("hec", &owner.hec)];
        let open = ports.into_iter().filter_map(|(name, url)| Some((name, url.as_deref()?)));
        facts.extend(open.map(|(name, url)| (name, url.into())));
        let data = std::path::absolute(data).unwrap_or_else(|_| data.to_owned());
        facts.push(("data directory", data.display().to_string().into()));
    }
    let (ready, kinds) = readiness(&options.client).await?;
    let conditions = with_reasons(&options.client, kinds).await;
    facts.insert(0, ("state", if ready { "ready" } else { "not ready" }.into()));
    let code = if ready { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    if options.format.output.is_some_and(|output| output != Output::Table) {
        facts.push(("conditions", conditions));
        let (fields, row) = facts.into_iter().map(|(name, value)| (name.to_owned(), value)).unzip();
        print_listing(&Rows { fields, rows: vec![row] }, options.format.output)?;
        return Ok(code);
    }
    for (name, value) in facts {
        println!("{name:<15} {}", value.as_str().map_or_else(|| value.to_string(), str::to_owned));
    }
    for condition in conditions.as_array().into_iter().flatten() {
        let text = |name: &str| condition[name].as_str().unwrap_or_default();
        println!("{:<15} {}: {}", text("severity"), text("name"), text("text"));
    }
    Ok(code)
}

/// Returns the server on a data directory; `None` if there is none, or no data directory either.
fn owner_of(data: &Path) -> Result<Option<Owner>, Failure> {
    match Owner::find(data) {
        Err(error) if error.kind() == ErrorKind::PermissionDenied => Err(unknown(data, &error)),
        found => Ok(found.unwrap_or_default()),
    }
}

/// Returns the failure of a command that cannot tell whether a server is running on a data directory.
fn unknown(data: &Path, error: &Error) -> Failure {
    let data = data.display();
    let text = match error.kind() {
        ErrorKind::PermissionDenied => format!(
            "cannot tell whether a server is running on {data}: permission denied; run the command as the user \
             of the server"
        ),
        ErrorKind::NotFound => {
            format!("{data} is not the data directory of a server: it has no server.lock")
        }
        _ => format!("cannot tell whether a server is running on {data}: server.lock: {error}"),
    };
    Failure::Unreachable(text)
}

/// Whether the server is ready, and its conditions, each with its kind only.
async fn readiness(options: &ClientOptions) -> Result<(bool, Value)> {
    let client = Client::anonymous(options)?;
    let mut body = client.body("/readyz?output_mode=json").await?;
    // A server that starts answers in text.
    if let Some(text) = body.as_str().filter(|text| text.starts_with("not ready")) {
        let text = text.lines().last().unwrap_or_default().trim_start_matches("error starting: ");
        let name = "starting";
        let condition = serde_json::json!([{"severity": "error", "name": name, "text": text}]);
        return Ok((false, condition));
    }
    if !body["ready"].is_boolean() {
        let text = format!("what answers at this address is not a Karst server: {body}");
        return Err(Failure::Server(text).into());
    }
    Ok((body["ready"] == Value::Bool(true), body["conditions"].take()))
}

/// Time-out of reading the reasons: a server whose catalog hangs answers late, and its kinds are known.
const REASONS: Duration = Duration::from_secs(5);

/// Returns the conditions with their reasons, or the given kinds if the server does not show the reasons:
/// the user of the command is not logged in or does not have `list_health`, or the server is starting.
async fn with_reasons(options: &ClientOptions, kinds: Value) -> Value {
    let listed = kinds.as_array().map(Vec::as_slice).unwrap_or_default();
    // A request to a server that is starting is repeated until the server has started.
    if listed.is_empty() || listed.iter().any(|kind| kind["name"] == "starting") {
        return kinds;
    }
    let Ok(client) = Client::new(options) else { return kinds };
    let asked = client.get("/services/server/health?output_mode=json");
    let Ok(answer) = tokio::time::timeout(REASONS, asked).await else { return kinds };
    let answer = answer.unwrap_or_default();
    let conditions = &answer["entry"][0]["content"]["conditions"];
    if conditions.is_array() { conditions.clone() } else { kinds }
}

/// Exit codes: 0 no server runs, 1 it runs still, 4 it is not known whether one runs.
pub(crate) async fn stop(options: StopOptions) -> Result<ExitCode> {
    let data = &options.data.data_dir;
    let Some(owner) = Owner::find(data).map_err(|error| unknown(data, &error))? else {
        println!("no server is running on {}", data.display());
        return Ok(ExitCode::SUCCESS);
    };
    let pid = owner.pid;
    match runtime::process::terminate(pid) {
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        ended => ended.with_context(|| format!("cannot stop the server (pid {pid})"))?,
    }
    if options.wait == 0 {
        println!("the server (pid {pid}) was told to stop");
        return Ok(ExitCode::SUCCESS);
    }
    let begin = Instant::now();
    while Owner::running(data).is_some_and(|owner| owner.pid == pid) {
        if begin.elapsed() >= Duration::from_secs(options.wait) {
            bail!(
                "the server (pid {pid}) was told to stop and has not ended within {} s: it finishes \
                 requests and uploads; --wait gives it more time, and {} shows its progress",
                options.wait,
                data.join("log/karst.log").display()
            );
        }
        tokio::time::sleep(LOOK).await;
    }
    println!("the server (pid {pid}) has stopped after {:.1} s", begin.elapsed().as_secs_f64());
    Ok(ExitCode::SUCCESS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_who_may_not_look_is_not_told_that_no_server_runs() {
        let told = |kind: ErrorKind| {
            let failure = unknown(Path::new("/data"), &Error::from(kind));
            (failure.code(), failure.to_string())
        };
        let (code, text) = told(ErrorKind::PermissionDenied);
        assert!(code == 4 && text.contains("/data: permission denied"), "{text}");
        let (code, text) = told(ErrorKind::NotFound);
        assert!(code == 4 && text.contains("/data is not the data directory"), "{text}");
    }
}
