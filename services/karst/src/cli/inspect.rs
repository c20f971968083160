//! `karst inspect bucket`: prints the contents of a bucket object, without a server.

use std::io::Write;
use std::process::ExitCode;

use anyhow::{Context, Result};
use bucket::BucketReader;
use object_store::ObjectStoreExt;
use object_store::path::Path;
use serde_json::Value;

use super::table::{Rows, plain};
use crate::config::{Description, InspectOptions, InspectWhat, aws_variables};

pub(crate) async fn inspect(options: InspectOptions) -> Result<ExitCode> {
    let InspectWhat::Bucket(options) = options.what;
    let (base, name) = match options.url.rsplit_once('/') {
        None => (".", options.url.as_str()),
        Some(("", name)) => ("/", name),
        Some(parts) => parts,
    };
    // The error of an object store does not tell whether a file is missing.
    if !options.url.contains("://") {
        std::fs::metadata(&options.url).with_context(|| format!("cannot read {}", options.url))?;
    }
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
    if options.json || options.output == Description::Json {
        writeln!(out, "{}", serde_json::to_string_pretty(&description)?)?;
    } else {
        print(&mut out, &description, 0)?;
    }
    Ok(ExitCode::SUCCESS)
}

/// Names and values, nested by indentation; lists of objects as aligned columns.
fn print(out: &mut impl Write, value: &Value, depth: usize) -> Result<()> {
    let indent = "  ".repeat(depth);
    let Value::Object(map) = value else {
        return Ok(writeln!(out, "{indent}{value}")?);
    };
    for (name, item) in map {
        match item {
            Value::Object(_) => {
                writeln!(out, "{indent}{name}:")?;
                print(out, item, depth + 1)?;
            }
            Value::Array(items) => {
                writeln!(out, "{indent}{name}: ({})", items.len())?;
                print_items(out, items, &format!("{indent}  "))?;
            }
            other => writeln!(out, "{indent}{name}: {}", line(other))?,
        }
    }
    Ok(())
}

/// A list: objects as a table of all their names, other items as one line each.
fn print_items(out: &mut impl Write, items: &[Value], indent: &str) -> Result<()> {
    let mut rows = Rows::default();
    for name in items.iter().filter_map(Value::as_object).flat_map(|item| item.keys()) {
        if !rows.fields.contains(name) {
            rows.fields.push(name.clone());
        }
    }
    if rows.fields.is_empty() {
        for item in items {
            writeln!(out, "{indent}{}", line(item))?;
        }
        return Ok(());
    }
    for item in items {
        let cells = rows.fields.iter().map(|name| match &item[name] {
            Value::Null => Value::Null,
            other => line(other).into(),
        });
        rows.rows.push(cells.collect());
    }
    let mut table = Vec::new();
    plain(&mut table, &rows, true)?;
    for row in String::from_utf8_lossy(&table).lines() {
        writeln!(out, "{indent}{row}")?;
    }
    Ok(())
}

fn line(value: &Value) -> String {
    match value {
        Value::Object(map) => {
            let cells = map.iter().map(|(name, item)| format!("{name}={}", line(item)));
            cells.collect::<Vec<_>>().join("  ")
        }
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
