//! `karst cluster bundle`: a directory of apps (`manager-apps`) as one change in all processes.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result};
use apps::{Changes, InEffect, Package, pack_changes, read_bundle};
use reqwest::{Method, header};
use serde_json::Value;

use super::client::{Client, Failure};
use super::plural::counted;
use super::printable::printable;
use super::table::{Rows, print_listing};
use crate::config::{BundleOptions, BundleWhat, StatusOptions};

const CONTROL: &str = "/services/cluster/manager/control/default";
/// The files of the apps that are in effect.
pub(super) const FILES: &str = "/services/cluster/manager/bundle?output_mode=json&count=0";
const INFO: &str = "/services/cluster/manager/info?output_mode=json";
const PEERS: &str = "/services/cluster/manager/peers?output_mode=json&count=0";
/// Time-out of a request: the server copies files to object storage.
const SLOW: Duration = Duration::from_secs(600);
/// First and longest pause between checks of which processes use the bundle: most do a moment later.
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_secs(1);
/// Sum of the pauses after which the command does not wait any longer.
const WAIT: Duration = Duration::from_secs(60);
/// The fields of an answer with mistakes, and the word for each of them.
const MISTAKES: [(&str, &str); 3] =
    [("ignored", "ignored"), ("breaks", "breaks"), ("warnings", "warning")];

pub(super) async fn bundle(options: BundleOptions) -> Result<ExitCode> {
    match options.what {
        BundleWhat::Show(options) => show(&options).await,
        BundleWhat::Validate(options) => {
            let client = Client::with_timeout(&options.bundle.client, SLOW)?;
            let path = format!("{CONTROL}/validate_bundle?output_mode=json");
            let packages = read_bundle(&options.bundle.directory)?;
            let known = client.get(FILES).await?;
            let (answer, sent) = send(&client, &path, &packages, &there(&known)).await?;
            let content = &answer["content"];
            print(content);
            println!("{}", shown(&sent));
            println!("Nothing has been changed.");
            let fails = options.strict && has_mistakes(content);
            Ok(if fails { ExitCode::FAILURE } else { ExitCode::SUCCESS })
        }
        BundleWhat::Apply(options) => {
            let client = Client::with_timeout(&options.bundle.client, SLOW)?;
            let force = if options.force { "&force=1" } else { "" };
            let path = format!("{CONTROL}/apply?output_mode=json{force}");
            let packages = read_bundle(&options.bundle.directory)?;
            let known = client.get(FILES).await?;
            let sent = send(&client, &path, &packages, &there(&known)).await;
            let (answer, sent) = sent.map_err(unsure)?;
            print(&answer["content"]);
            println!("{}", shown(&sent));
            in_force(&client).await.map_err(unobserved)
        }
        BundleWhat::Rollback(options) => {
            let client = Client::with_timeout(&options.client, SLOW)?;
            let path = format!("{CONTROL}/rollback");
            // A server that does not run has not changed anything.
            client.get(INFO).await?;
            if options.dry_run {
                let form = [("output_mode", "json"), ("dry_run", "1")];
                print(&client.post(&path, &form).await?["entry"][0]["content"]);
                println!("Nothing has been changed.");
                return Ok(ExitCode::SUCCESS);
            }
            let answer = client.post(&path, &[("output_mode", "json")]).await.map_err(unsure)?;
            let apps = &answer["entry"][0]["content"]["active_bundle"]["apps"];
            println!("The previous bundle is in effect again: {}", listed(apps));
            in_force(&client).await.map_err(unobserved)
        }
    }
}

/// Adds to an error after the change that it is made.
fn unobserved(error: anyhow::Error) -> anyhow::Error {
    error.context("the change is in effect; it is not known which processes use it")
}

/// Adds to an error without an answer how to find out whether the change was made nevertheless.
fn unsure(error: anyhow::Error) -> anyhow::Error {
    match error.downcast::<Failure>() {
        Ok(Failure::Unreachable(text)) => {
            let advice = "the change may be in effect: see karst cluster bundle show";
            Failure::Unreachable(format!("{text}; {advice}")).into()
        }
        Ok(other) => other.into(),
        Err(other) => other,
    }
}

/// Sends apps, but for the files that the server has. Returns the answer, and what was sent.
pub(super) async fn send(
    client: &Client,
    path: &str,
    packages: &[Package],
    there: &InEffect,
) -> Result<(Value, Sent)> {
    match post(client, path, packages, there).await {
        // Another version came into force in between.
        Err(error) if !there.is_empty() && error.to_string().contains("send all files") => {
            post(client, path, packages, &InEffect::new()).await
        }
        sent => sent,
    }
}

async fn post(
    client: &Client,
    path: &str,
    packages: &[Package],
    there: &InEffect,
) -> Result<(Value, Sent)> {
    let Changes { archive, sent: files, kept } =
        pack_changes(packages, there).context("cannot pack the apps")?;
    let sent = Sent { files, kept, bytes: archive.len() };
    let request = client.request(Method::POST, path).body(archive);
    let mut answer = client.send(request.header(header::CONTENT_TYPE, "application/gzip")).await?;
    Ok((answer["entry"][0].take(), sent))
}

/// What was sent of apps.
#[derive(Debug)]
pub(super) struct Sent {
    /// Number of files.
    files: usize,
    /// Number of files that the server has.
    kept: usize,
    /// Size of the archive.
    bytes: usize,
}

/// Returns the line about what was sent.
pub(super) fn shown(Sent { files, kept, bytes }: &Sent) -> String {
    let sent = format!("Sent {} in {}", counted(*files, "file"), counted(*bytes, "byte"));
    match kept {
        0 => format!("{sent}."),
        kept => format!("{sent}; the server has the content of {}.", counted(*kept, "other")),
    }
}

/// The digests of the files that are in effect, by app and path.
pub(super) fn there(feed: &Value) -> InEffect {
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let mut there = InEffect::new();
    for entry in feed["entry"].as_array().into_iter().flatten() {
        let Some(app) = text(&entry["name"]) else { continue };
        let files = entry["content"]["files"].as_array().into_iter().flatten();
        let digests = files.filter_map(|file| Some((text(&file["path"])?, text(&file["sha256"])?)));
        there.insert(app, digests.collect());
    }
    there
}

/// Whether a bundle has mistakes. Settings without effect in Karst are not mistakes.
fn has_mistakes(content: &Value) -> bool {
    MISTAKES.iter().any(|(field, _)| content[*field].as_array().is_some_and(|all| !all.is_empty()))
}

fn print(content: &Value) {
    for line in report(content) {
        println!("{}", printable(&line));
    }
}

/// Returns the changes and mistakes of a bundle, as lines.
fn report(content: &Value) -> Vec<String> {
    let texts = |value: &Value| -> Vec<String> {
        let texts = value.as_array().into_iter().flatten();
        texts.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let mut lines = Vec::new();
    let changes = content["changes"].as_array().map(Vec::as_slice).unwrap_or_default();
    if changes.is_empty() {
        lines.push("No file is changed.".to_owned());
    }
    for change in changes {
        let app = change["app"].as_str().unwrap_or_default();
        for (field, sign) in [("added", '+'), ("changed", '~'), ("removed", '-')] {
            lines.extend(texts(&change[field]).iter().map(|file| format!("  {sign} {app}/{file}")));
        }
    }
    for (field, word) in MISTAKES {
        lines.extend(texts(&content[field]).iter().map(|text| format!("  {word:<9} {text}")));
    }
    for remark in content["not_used"].as_array().into_iter().flatten() {
        let part = |field: &str| remark[field].as_str().unwrap_or_default().to_owned();
        lines.push(format!("  not used  {}/{}: {}", part("app"), part("place"), part("text")));
    }
    lines
}

/// Waits until all processes that answer work by the same apps as the catalog has.
async fn in_force(client: &Client) -> Result<ExitCode> {
    let (mut pause, mut waited) = (FIRST_PAUSE, Duration::ZERO);
    let behind = loop {
        let (info, peers) = (client.get(INFO).await?, client.get(PEERS).await?);
        let latest = &info["entry"][0]["content"]["latest_bundle"]["checksum"];
        let all = processes(&peers, latest);
        let lacking = all.iter().filter(|one| one.is_up && !one.has_it);
        let behind: Vec<String> = lacking.map(Process::shown).collect();
        if behind.is_empty() {
            println!("{}", in_effect(&all));
            return Ok(ExitCode::SUCCESS);
        }
        if waited >= WAIT {
            break behind;
        }
        tokio::time::sleep(pause).await;
        waited += pause;
        pause = (pause * 2).min(LONGEST_PAUSE);
    };
    eprintln!(
        "karst: it is in effect, but after {} s not in {}: see their health",
        WAIT.as_secs(),
        behind.join(", ")
    );
    Ok(ExitCode::FAILURE)
}

/// A process, and whether it works by the apps that the catalog has.
struct Process {
    name: String,
    address: String,
    is_up: bool,
    has_it: bool,
}

impl Process {
    /// Its name with its address: processes of one machine have the same name.
    fn shown(&self) -> String {
        format!("{} ({})", self.name, self.address)
    }
}

/// Returns the message that all processes that answer use a bundle, with the ones that do not answer.
fn in_effect(all: &[Process]) -> String {
    let down: Vec<String> = all.iter().filter(|one| !one.is_up).map(Process::shown).collect();
    match (all.len(), down.len()) {
        (0, _) => "It is in effect.".to_owned(),
        (all, 0) => format!("It is in effect in all processes ({all})."),
        (all, away) => format!(
            "It is in effect in all processes that answer ({} of {all}). No answer from {}: a process uses it when it \
             starts.",
            all - away,
            down.join(", ")
        ),
    }
}

/// Returns the processes of the cluster.
fn processes(peers: &Value, latest: &Value) -> Vec<Process> {
    let entries = peers["entry"].as_array().into_iter().flatten();
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let process = |content: &Value| Process {
        name: text(&content["label"]),
        address: text(&content["host_port_pair"]),
        is_up: content["status"] != "Down",
        has_it: content["active_bundle_id"] == *latest,
    };
    entries.map(|entry| process(&entry["content"])).collect()
}

async fn show(options: &StatusOptions) -> Result<ExitCode> {
    let client = Client::new(&options.client)?;
    let (info, peers) = (client.get(INFO).await?, client.get(PEERS).await?);
    let content = &info["entry"][0]["content"];
    for (field, what) in [("active_bundle", "in effect"), ("previous_active_bundle", "before it")] {
        let bundle = &content[field];
        match bundle.is_null() {
            true => eprintln!("{what}: no bundle"),
            false => eprintln!("{what}: {}", described(bundle)),
        }
    }
    let mut rows = Rows::default();
    rows.fields.extend(["name", "roles", "status", "active bundle", "id"].map(str::to_owned));
    for entry in peers["entry"].as_array().into_iter().flatten() {
        let content = &entry["content"];
        let roles = listed(&content["roles"]);
        rows.rows.push(vec![
            content["label"].clone(),
            roles.into(),
            content["status"].clone(),
            content["active_bundle_id"].clone(),
            entry["name"].clone(),
        ]);
    }
    print_listing(&rows, options.format.output)?;
    let latest = &content["latest_bundle"]["checksum"];
    let all_have_it = processes(&peers, latest).iter().all(|one| one.has_it || !one.is_up);
    Ok(if all_have_it { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The apps of a bundle, and what distinguishes it from others with the same apps.
fn described(bundle: &Value) -> String {
    let checksum = bundle["checksum"].as_str().unwrap_or_default();
    let short = checksum.get(..12).unwrap_or(checksum);
    let by = bundle["by"].as_str().unwrap_or_default();
    // What was installed before the first bundle has no time.
    let applied = bundle["timestamp"].as_i64().filter(|seconds| *seconds > 0);
    let applied = applied.and_then(|seconds| jiff::Timestamp::from_second(seconds).ok());
    let applied = applied.map(|at| format!(", applied {at} by {by}")).unwrap_or_default();
    format!("{} (checksum {short}{applied})", listed(&bundle["apps"]))
}

/// Names as one text.
fn listed(names: &Value) -> String {
    let names: Vec<&str> =
        names.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if names.is_empty() { "no apps".to_owned() } else { names.join(", ") }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_report_lists_files_and_what_is_wrong() {
        let content = json!({
            "changes": [{ "app": "shop", "added": ["a"], "changed": ["b"], "removed": ["c"] }],
            "ignored": ["apps/shop/b:1: wrong"], "breaks": [], "warnings": ["shop/c:1: no file"],
            "not_used": [{ "app": "shop", "place": "d", "text": "means nothing" }],
        });
        let lines = [
            "  + shop/a",
            "  ~ shop/b",
            "  - shop/c",
            "  ignored   apps/shop/b:1: wrong",
            "  warning   shop/c:1: no file",
            "  not used  shop/d: means nothing",
        ];
        assert_eq!(report(&content), lines);
        assert!(has_mistakes(&content));
        assert!(!has_mistakes(&json!({ "ignored": [], "not_used": content["not_used"] })));
        assert_eq!(report(&json!({ "changes": [] })), ["No file is changed."]);
    }

    #[test]
    fn the_line_about_what_was_sent_counts_files_and_bytes() {
        let sent = |files, kept| shown(&Sent { files, kept, bytes: 10_240 });
        assert_eq!(sent(1, 0), "Sent 1 file in 10240 bytes.");
        let text = "Sent 2 files in 10240 bytes; the server has the content of 999 others.";
        assert_eq!(sent(2, 999), text);
    }

    #[test]
    fn files_in_effect_have_the_digests_of_their_paths() {
        let feed = json!({ "entry": [
            { "name": "shop", "content": { "files": [
                { "path": "default/app.conf", "sha256": "0123", "bytes": 1, "executable": false },
                { "path": "lookups/a.csv" },
            ] } },
            { "content": {} },
        ] });
        let there = there(&feed);
        assert_eq!(there.len(), 1);
        let files: Vec<_> = there["shop"].iter().collect();
        assert_eq!(files, [(&"default/app.conf".to_owned(), &"0123".to_owned())]);
    }

    #[test]
    fn without_an_answer_the_change_may_be_made_nevertheless() {
        let error = unsure(Failure::Unreachable("no answer".to_owned()).into());
        assert!(error.to_string().starts_with("no answer; the change may be in effect"), "{error}");
        assert_eq!(error.downcast_ref::<Failure>().map(Failure::code), Some(4));
        let refused = unsure(Failure::Server("it is damaged".to_owned()).into());
        assert_eq!(refused.to_string(), "it is damaged");
        let made = unobserved(Failure::Unreachable("no answer".to_owned()).into());
        assert!(format!("{made:#}").starts_with("the change is in effect"), "{made:#}");
        assert_eq!(made.downcast_ref::<Failure>().map(Failure::code), Some(4));
    }

    #[test]
    fn bundles_with_the_same_apps_are_told_apart() {
        let bundle = json!({
            "apps": ["a", "b"], "checksum": "0123456789abcdef", "timestamp": 1_800_000_000, "by": "ann",
        });
        let text = "a, b (checksum 0123456789ab, applied 2027-01-15T08:00:00Z by ann)";
        assert_eq!(described(&bundle), text);
        let before = json!({ "apps": [], "checksum": "0123", "timestamp": 0, "by": "" });
        assert_eq!(described(&before), "no apps (checksum 0123)");
    }

    #[test]
    fn processes_are_compared_with_the_catalog_and_named_with_their_addresses() {
        let peer = |port: u16, status: &str, id: &str| json!({ "content": { "label": "vm", "host_port_pair": format!("vm:{port}"), "status": status, "active_bundle_id": id } });
        let peers =
            json!({ "entry": [peer(1, "Up", "1"), peer(2, "Down", "0"), peer(3, "Up", "0")] });
        let found = processes(&peers, &json!("1"));
        let lacking = found.iter().filter(|one| one.is_up && !one.has_it);
        assert_eq!(lacking.map(Process::shown).collect::<Vec<_>>(), ["vm (vm:3)"]);
        let said = in_effect(&found);
        assert!(said.contains("(2 of 3). No answer from vm (vm:2): "), "{said}");
        assert_eq!(in_effect(&found[..1]), "It is in effect in all processes (1).");
    }
}
