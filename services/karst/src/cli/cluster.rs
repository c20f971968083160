//! `karst cluster`: credentials for a new cluster, and the processes of a running one.

use std::process::ExitCode;

use anyhow::Result;
use runtime::SystemClock;
use serde_json::{Value, json};
use transport::Credentials;

use super::client::Client;
use super::table::{Rows, print_listing};
use crate::config::{ClusterInitOptions, ClusterOptions, ClusterWhat, StatusOptions};

pub(crate) async fn cluster(options: ClusterOptions) -> Result<ExitCode> {
    match options.what {
        ClusterWhat::Init(options) => init(&options),
        ClusterWhat::Status(options) => status(options).await,
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
const FIELDS: [&str; 8] = [
    "label",
    "roles",
    "host_port_pair",
    "status",
    "leads_since",
    "catalog_write",
    "splunk_version",
    "status_reason",
];

async fn status(options: StatusOptions) -> Result<ExitCode> {
    let client = Client::new(&options.client)?;
    let feed = client.get("/services/cluster/manager/peers?output_mode=json&count=0").await?;
    let mut rows = Rows::default();
    let names =
        ["name", "roles", "address", "status", "leads since", "catalog write", "version", "reason"];
    rows.fields.extend(names.map(str::to_owned));
    let entries = feed["entry"].as_array().map(Vec::as_slice).unwrap_or_default();
    let mut all_up = true;
    for entry in entries {
        let content = &entry["content"];
        all_up &= content["status"] == "Up";
        rows.rows.push(FIELDS.iter().map(|field| cell(&content[*field])).collect());
    }
    if entries.is_empty() {
        println!("This server is not part of a cluster (--cluster-address).");
        return Ok(ExitCode::SUCCESS);
    }
    print_listing(&rows, options.format.output)?;
    Ok(if all_up { ExitCode::SUCCESS } else { ExitCode::FAILURE })
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
