//! `karst cluster`: credentials for a new cluster, and the processes of a running one.

use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use runtime::SystemClock;
use serde_json::{Value, json};
use transport::Credentials;

use super::bundle::bundle;
use super::client::Client;
use super::cluster_offline::offline;
use super::table::{Rows, print_listing};
use crate::config::{
    ClusterInitOptions, ClusterOptions, ClusterRemoveOptions, ClusterWhat, MaintenanceOptions,
    MaintenanceWhat, RollingRestartOptions, StatusOptions,
};

pub(crate) async fn cluster(options: ClusterOptions) -> Result<ExitCode> {
    match options.what {
        ClusterWhat::Init(options) => init(&options),
        ClusterWhat::Status(options) => status(options).await,
        ClusterWhat::Remove(options) => remove(&options).await,
        ClusterWhat::RollingRestart(options) => rolling_restart(&options).await,
        ClusterWhat::Offline(options) => offline(&options).await,
        ClusterWhat::Bundle(options) => bundle(options).await,
        ClusterWhat::MaintenanceMode(options) => maintenance_mode(&options).await,
    }
}

fn init(options: &ClusterInitOptions) -> Result<ExitCode> {
    let directory = &options.directory;
    let credentials = Credentials::create(directory, &SystemClock)?;
    let at = std::path::absolute(directory).unwrap_or_else(|_| directory.clone());
    let at = at.display();
    println!("Wrote the credentials of cluster {} into {at}.", credentials.cluster());
    println!(
        "Whoever has them can join the cluster. Copy the directory to every machine, then start:"
    );
    println!();
    println!(
        "  karst server --role control-plane --cluster-dir {at} --cluster-address HOST:9887 \\"
    );
    println!("      --object-store s3://BUCKET/PREFIX");
    println!(
        "  karst server --role indexer       --cluster-dir {at} --cluster-address HOST:9887 \\"
    );
    println!("      --object-store s3://BUCKET/PREFIX --manager-uri CONTROL-PLANE:9887");
    println!("  karst server --role search-head   (the same flags as an indexer)");
    Ok(ExitCode::SUCCESS)
}

/// The columns of the list.
const FIELDS: [&str; 12] = [
    "label",
    "roles",
    "host_port_pair",
    "site",
    "status",
    "leads_since",
    "catalog_write",
    "catalog_lag",
    "epoch",
    "stored_share",
    "splunk_version",
    "status_reason",
];

async fn status(options: StatusOptions) -> Result<ExitCode> {
    let client = Client::new(&options.client)?;
    let feed = client.get("/services/cluster/manager/peers?output_mode=json&count=0").await?;
    let mut rows = Rows::default();
    let names = [
        "name",
        "roles",
        "address",
        "site",
        "status",
        "leads since",
        "catalog write",
        "lag",
        "epoch",
        "share",
        "version",
        "reason",
        "id",
    ];
    rows.fields.extend(names.map(str::to_owned));
    let entries = feed["entry"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut all_up = true;
    for entry in entries {
        let content = &entry["content"];
        // A process that is being decommissioned works until it stops.
        all_up &= content["status"] == "Up" || content["status"] == "Decommissioning";
        let cells = FIELDS.iter().map(|field| cell(&content[*field]));
        rows.rows.push(cells.chain([entry["name"].clone()]).collect());
    }
    if entries.is_empty() {
        println!("This server is not part of a cluster (--cluster-address).");
        return Ok(ExitCode::SUCCESS);
    }
    print_listing(&rows, options.format.output)?;
    // A process that answers may be unable to do its work, for example without object storage.
    let health = client.get("/services/cluster/manager/health?output_mode=json").await?;
    let health = &health["entry"][0]["content"];
    for message in health["messages"].as_array().into_iter().flatten().filter_map(Value::as_str) {
        eprintln!("karst: {message}");
    }
    all_up &= health["all_data_is_searchable"] != false;
    Ok(if all_up { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

async fn remove(options: &ClusterRemoveOptions) -> Result<ExitCode> {
    let client = Client::new(&options.client)?;
    let path = "/services/cluster/manager/control/control/remove_peers";
    let mut form = vec![("output_mode", "json"), ("peers", options.peer.as_str())];
    form.extend(options.force.then_some(("force", "1")));
    client.post(path, &form).await?;
    println!("Removed {} from the list of the cluster.", options.peer);
    Ok(ExitCode::SUCCESS)
}

async fn maintenance_mode(options: &MaintenanceOptions) -> Result<ExitCode> {
    let client = Client::new(&options.client)?;
    let on = match options.what {
        MaintenanceWhat::Show => {
            let info = client.get("/services/cluster/manager/info?output_mode=json").await?;
            info["entry"][0]["content"]["maintenance_mode"] == true
        }
        what => {
            let mode = if what == MaintenanceWhat::Enable { "true" } else { "false" };
            let path = "/services/cluster/manager/control/default/maintenance";
            client.post(path, &[("output_mode", "json"), ("mode", mode)]).await?;
            what == MaintenanceWhat::Enable
        }
    };
    println!("Maintenance mode is {}.", if on { "on" } else { "off" });
    Ok(ExitCode::SUCCESS)
}

/// Interval between checks of a rolling restart.
const LOOK: Duration = Duration::from_secs(1);
/// Number of checks without a change after which the processes are named that the restart waits for.
const QUIET: usize = 15;
/// The processes of the cluster, and the progress of a rolling restart.
const STATUS: &str = "/services/cluster/manager/status?output_mode=json";

async fn rolling_restart(options: &RollingRestartOptions) -> Result<ExitCode> {
    let client = Client::new(&options.client)?;
    let control = "/services/cluster/manager/control/control";
    if options.cancel {
        client.post(&format!("{control}/cancel_restart"), &[("output_mode", "json")]).await?;
        println!("The rolling restart is cancelled.");
        return Ok(ExitCode::SUCCESS);
    }
    let percent = options.percent.map(|percent| percent.to_string());
    let mut form = vec![("output_mode", "json"), ("role", options.role.as_str())];
    form.extend(percent.as_deref().map(|percent| ("percent_peers_to_restart", percent)));
    form.extend(options.dry_run.then_some(("dry_run", "1")));
    form.extend(options.force.then_some(("force", "1")));
    let answer = client.post(&format!("{control}/restart"), &form).await?;
    let plan = &answer["entry"][0]["content"]["restart_progress"]["to_be_restarted"];
    let plan: Vec<&str> = plan.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    if options.dry_run {
        let answer = client.get(STATUS).await?;
        let order = named(&plan, &answer["entry"][0]["content"]["peers"]);
        println!("Would restart, in this order: {}", order.join(", "));
        if !options.force {
            println!(
                "Would stop if searches become incomplete or slow (restart_max_incomplete, restart_max_slowdown)."
            );
        }
        return Ok(ExitCode::SUCCESS);
    }
    println!("Restarts {} processes.", plan.len());
    if options.detach {
        return Ok(ExitCode::SUCCESS);
    }
    watch(&client, plan.len()).await
}

/// Prints the progress of a rolling restart of so many processes until it is over.
async fn watch(client: &Client, all: usize) -> Result<ExitCode> {
    let (mut said, mut quiet, mut waits) = (0, 0, Vec::new());
    loop {
        tokio::time::sleep(LOOK).await;
        // The restart may include the process that answers.
        let Ok(answer) = client.get(STATUS).await else { continue };
        let content = &answer["entry"][0]["content"];
        let progress = &content["restart_progress"];
        let done = progress["done"].as_array().map_or(0, Vec::len);
        if done != said {
            println!("{done} of {all} are back");
            said = done;
        }
        let awaited = waited_for(content);
        quiet = if awaited == waits { quiet + 1 } else { 0 };
        waits = awaited;
        if quiet == QUIET && !waits.is_empty() {
            println!("waits for {}", waits.join("; "));
        }
        if let Some(reason) = progress["failed"].as_str() {
            eprintln!("karst: the rolling restart has stopped: {reason}");
            return Ok(ExitCode::FAILURE);
        }
        if content["rolling_restart_flag"] == false {
            return Ok(ExitCode::SUCCESS);
        }
    }
}

/// The processes that a rolling restart waits for, with the reasons.
fn waited_for(status: &Value) -> Vec<String> {
    let ids = status["restart_progress"]["waits_for"].as_array();
    let describe = |id: &str| {
        let is_up = status["peers"][id]["status"] == "Up";
        let why = if is_up { "has not restarted yet" } else { "does not answer" };
        format!("{}, which {why}", named(&[id], &status["peers"]).concat())
    };
    ids.into_iter().flatten().filter_map(Value::as_str).map(describe).collect()
}

/// Processes as `name (id)`. A process that has left the list since the request has its id only.
fn named(ids: &[&str], peers: &Value) -> Vec<String> {
    let name = |id: &&str| {
        let label = peers[*id]["label"].as_str();
        label.map_or_else(|| (*id).to_owned(), |label| format!("{label} ({id})"))
    };
    ids.iter().map(name).collect()
}

/// A list as one text.
fn cell(value: &Value) -> Value {
    match value {
        Value::Array(items) => {
            let texts: Vec<&str> = items.iter().filter_map(Value::as_str).collect();
            json!(texts.join(", "))
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_plan_has_the_names_of_the_processes_in_its_order() {
        let peers = json!({
            "1f": { "label": "karst-indexer-1", "status": "Up" },
            "9a": { "label": "karst-indexer-0", "status": "Up" },
        });
        let plan = named(&["9a", "1f", "77"], &peers);
        assert_eq!(plan, ["karst-indexer-0 (9a)", "karst-indexer-1 (1f)", "77"]);
    }

    #[test]
    fn processes_that_a_rolling_restart_waits_for_have_names_and_reasons() {
        let status = json!({
            "peers": {
                "1f": { "label": "i1", "status": "Up" },
                "9a": { "label": "manager", "status": "Down" },
            },
            "restart_progress": { "waits_for": ["1f", "77", "9a"] },
        });
        let expected = [
            "i1 (1f), which has not restarted yet",
            "77, which does not answer",
            "manager (9a), which does not answer",
        ];
        assert_eq!(waited_for(&status), expected);
        assert!(waited_for(&json!({ "restart_progress": {} })).is_empty());
    }
}
