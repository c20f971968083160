//! `karst inspect bucket`: prints the contents of a bucket object, without a server.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use bucket::BucketReader;
use object_store::ObjectStoreExt;
use object_store::path::Path;

use crate::config::{InspectOptions, InspectWhat, aws_variables};

pub(crate) async fn inspect(options: InspectOptions) -> Result<ExitCode> {
    let InspectWhat::Bucket(options) = options.what;
    let (base, name) = options.url.rsplit_once('/').unwrap_or((".", &options.url));
    let settings = runtime::store::Options {
        variables: aws_variables(),
        ..runtime::store::Options::default()
    };
    let store = runtime::store::open(base, &settings)?.store;
    let path = Path::from(name);
    let found = store.head(&path).await;
    let size = found.with_context(|| format!("cannot open {}", options.url))?.size;
    let reader = BucketReader::open(store, &path, size)
        .await
        .with_context(|| format!("{} is not a bucket", options.url))?;
    let description = serde_json::to_value(reader.describe())?;
    let mut out = std::io::stdout().lock();
    if options.json {
        writeln!(out, "{}", serde_json::to_string_pretty(&description)?)?;
    } else {
        print(&mut out, &description, 0)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Names and values, nested by indentation; lists of objects as one line each.
fn print(out: &mut impl Write, value: &serde_json::Value, depth: usize) -> Result<()> {
    let indent = "  ".repeat(depth);
    let serde_json::Value::Object(map) = value else {
        return Ok(writeln!(out, "{indent}{value}")?);
    };
    for (name, item) in map {
        match item {
            serde_json::Value::Object(_) => {
                writeln!(out, "{indent}{name}:")?;
                print(out, item, depth + 1)?;
            }
            serde_json::Value::Array(items) => {
                writeln!(out, "{indent}{name}: ({})", items.len())?;
                for item in items {
                    writeln!(out, "{indent}  {}", line(item))?;
                }
            }
            other => writeln!(out, "{indent}{name}: {}", line(other))?,
        }
    }
    Ok(())
}

fn line(value: &serde_json::Value) -> String {
    match value {
        serde_json::Value::Object(map) => {
            let cells = map.iter().map(|(name, item)| format!("{name}={}", line(item)));
            cells.collect::<Vec<_>>().join("  ")
        }
        serde_json::Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
