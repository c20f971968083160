//! `karst cluster offline`: decommissions an indexer.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use super::client::Client;
use crate::config::OfflineOptions;

const DECOMMISSION: &str = "/services/cluster/peer/control/control/decommission";
const STATUS: &str = "/services/cluster/manager/status?output_mode=json";
/// Interval between checks of the progress.
const LOOK: Duration = Duration::from_secs(1);
/// Number of checks without an answer after which a process counts as stopped.
const SILENT: usize = 5;
/// Number of checks for which a stopped indexer may still be in the list.
const STOPPED: usize = 30;

pub(super) async fn offline(options: &OfflineOptions) -> Result<ExitCode> {
    let client = Client::new(&options.client)?;
    let mut form = vec![("output_mode", "json"), ("peer", options.peer.as_str())];
    let flags =
        [(options.dry_run, "dry_run"), (options.force, "force"), (options.cancel, "cancel")];
    form.extend(flags.iter().filter_map(|(given, name)| given.then_some((*name, "1"))));
    let answer = client.post(DECOMMISSION, &form).await?;
    if options.cancel {
        println!("{} stays in the cluster.", options.peer);
        return Ok(ExitCode::SUCCESS);
    }
    let content = &answer["entry"][0]["content"];
    let name = content["label"].as_str().unwrap_or(&options.peer);
    let left = content["indexers_left"].as_u64().unwrap_or_default();
    let down = down(&content["indexers_down"]);
    if options.dry_run {
        println!("Would remove {name} from the cluster; {left} indexers would remain{down}.");
        if let Some(objection) = content["objection"].as_str() {
            println!("It is refused without --force: {objection}.");
            return Ok(ExitCode::FAILURE);
        }
        return Ok(ExitCode::SUCCESS);
    }
    println!("{name} leaves the cluster; {left} indexers remain{down}.");
    if options.detach {
        return Ok(ExitCode::SUCCESS);
    }
    let id = content["peer"].as_str().unwrap_or(&options.peer);
    let is_asked = content["is_this_process"] == true;
    watch(&client, (id, name), is_asked).await
}

/// Returns the number of indexers that do not answer, if there are some, as the end of a sentence about those
/// that do.
fn down(count: &Value) -> String {
    match count.as_u64().unwrap_or_default() {
        0 => String::new(),
        1 => ", and 1 does not answer".to_owned(),
        down => format!(", and {down} do not answer"),
    }
}

/// Shows the progress of the indexer until it has left. `is_asked`: the indexer is the server that answers
/// the requests.
async fn watch(client: &Client, (id, name): (&str, &str), is_asked: bool) -> Result<ExitCode> {
    let (mut said, mut silent, mut stopped) = (String::new(), 0, 0);
    loop {
        tokio::time::sleep(LOOK).await;
        let Ok(answer) = client.get(STATUS).await else {
            silent += 1;
            if is_asked && silent >= SILENT {
                println!(
                    "{name} no longer responds. karst cluster status on another process shows"
                );
                println!("whether it has left; its log says so, too.");
                return Ok(ExitCode::SUCCESS);
            }
            continue;
        };
        silent = 0;
        let content = &answer["entry"][0]["content"];
        match progress(content, id) {
            Progress::Left => {
                println!("{name} has left the cluster.");
                return Ok(ExitCode::SUCCESS);
            }
            Progress::Stays => {
                eprintln!(
                    "karst: {name} stays in the cluster: it was cancelled, or {name} was started again"
                );
                return Ok(ExitCode::FAILURE);
            }
            Progress::Stopped => {
                stopped += 1;
                if stopped >= STOPPED {
                    eprintln!(
                        "karst: {name} has stopped before everything was in object storage, and is still in the \
                         list: its log says what is missing; start it again"
                    );
                    return Ok(ExitCode::FAILURE);
                }
            }
            Progress::Leaves(text) if text != said => {
                println!("{text}");
                said = text;
            }
            Progress::Leaves(_) => {}
        }
    }
}

/// The progress of an indexer.
#[derive(Debug, PartialEq, Eq)]
enum Progress {
    /// The indexer is no longer in the list.
    Left,
    /// The indexer is in the list, and is not asked to leave.
    Stays,
    /// The indexer is in the list, and does not answer any more.
    Stopped,
    /// The data that the indexer still has.
    Leaves(String),
}

fn progress(status: &Value, id: &str) -> Progress {
    let leaving = status["decommission"].as_array();
    let Some(one) = leaving.into_iter().flatten().find(|one| one["peer"] == id) else {
        let is_listed = status["peers"].get(id).is_some();
        return if is_listed { Progress::Stays } else { Progress::Left };
    };
    if status["peers"].get(id).is_none() {
        return Progress::Left;
    }
    match one["status"].as_str() {
        Some("Stopped") => return Progress::Stopped,
        Some("ShuttingDown") => return Progress::Leaves("it stops".to_owned()),
        _ => {}
    }
    let count = |field: &str| one[field].as_u64().unwrap_or_default();
    let names = |field: &str| {
        let names = one[field].as_array().into_iter().flatten();
        names.filter_map(Value::as_str).collect::<Vec<_>>().join(", ")
    };
    let mut left = Vec::new();
    match (count("events"), count("uploads")) {
        (0, 0) => {}
        (0, uploads) => left.push(format!("{uploads} buckets are being uploaded")),
        (events, _) => left.push(format!("{events} events are not in object storage")),
    }
    for (field, what) in [("copies_of", "copies of journals of"), ("recovering", "events of")] {
        let names = names(field);
        if !names.is_empty() {
            left.push(format!("{what} {names}"));
        }
    }
    if left.is_empty() {
        return Progress::Leaves("it hands over what it has".to_owned());
    }
    Progress::Leaves(format!("it still has: {}", left.join("; ")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn at(one: &Value) -> Progress {
        progress(&json!({ "decommission": [one], "peers": { "a": {} } }), "a")
    }

    #[test]
    fn what_an_indexer_still_has_is_said() {
        let one = json!({
            "peer": "a", "status": "Decommissioning", "events": 5, "uploads": 2, "copies_of": ["b", "c"],
            "recovering": [],
        });
        let text = "it still has: 5 events are not in object storage; copies of journals of b, c";
        assert_eq!(at(&one), Progress::Leaves(text.to_owned()));
        let one = json!({ "peer": "a", "status": "ShuttingDown" });
        assert_eq!(at(&one), Progress::Leaves("it stops".to_owned()));
        assert_eq!(at(&json!({ "peer": "a", "status": "Stopped" })), Progress::Stopped);
    }

    #[test]
    fn indexers_that_do_not_answer_are_counted_apart() {
        assert_eq!(down(&json!(0)), "");
        assert_eq!(down(&json!(1)), ", and 1 does not answer");
        assert_eq!(down(&json!(2)), ", and 2 do not answer");
    }

    #[test]
    fn one_that_nobody_asks_has_left_or_stays() {
        let status = |peers: Value| json!({ "decommission": [], "peers": peers });
        assert_eq!(progress(&status(json!({ "b": {} })), "a"), Progress::Left);
        assert_eq!(progress(&status(json!({ "a": {} })), "a"), Progress::Stays);
        let gone = json!({ "decommission": [{ "peer": "a", "status": "Stopped" }], "peers": {} });
        assert_eq!(progress(&gone, "a"), Progress::Left);
    }
}
