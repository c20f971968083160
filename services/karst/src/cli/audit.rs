//! `karst audit`: verifies and exports the audit trail.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use audit::{Anchor, Digest, Finding, Key, Reader, Summary, Verifier};
use serde_json::Value;

use super::client::Client;
use crate::config::{AuditExportOptions, AuditOptions, AuditVerifyOptions, AuditWhat};
use crate::server::audit as trail;

/// The search for indexed records, sorted by number.
const INDEXED: &str = "search index=_audit sourcetype=audittrail source=audittrail | sort 0 num(seq) \
                       | fields _raw";
/// Default time-out of that search, which may wait in the queue for its turn.
const TIMEOUT: Duration = Duration::from_secs(600);
/// Entries per batch.
const BATCH: usize = 1_000;

pub(crate) async fn audit(options: AuditOptions) -> Result<ExitCode> {
    match options.what {
        AuditWhat::Verify(options) => verify(options).await,
        AuditWhat::Export(options) => export(&options),
    }
}

async fn verify(options: AuditVerifyOptions) -> Result<ExitCode> {
    let data = &options.client.data.data_dir;
    let key = key(data, options.key.as_deref())?;
    let mut anchors: Vec<Anchor> =
        trail::read_anchor(&trail::head_path(data))?.into_iter().collect();
    anchors.extend(options.head.as_deref().map(given_head).transpose()?);
    anchors.retain(|anchor| anchor.seq >= options.from);
    let checked = if options.from_index {
        verify_index(&options, key, anchors).await?
    } else {
        let directory = trail::directory(data);
        if !directory.is_dir() {
            bail!("there is no audit trail in {}; give --data-dir", directory.display());
        }
        audit::verify_directory(&directory, &key, anchors, options.from)?
    };
    say(&checked)
}

fn say(checked: &Result<Summary, Finding>) -> Result<ExitCode> {
    let mut out = std::io::stdout().lock();
    match checked {
        Ok(Summary { records: 0, head, .. }) => {
            writeln!(out, "nothing was verified: the audit trail ends at record {}", head.seq)?;
            Ok(ExitCode::FAILURE)
        }
        Ok(summary) => {
            let Summary { records, first, head, torn } = summary;
            writeln!(out, "the audit trail is intact: {records} records, {first} to {}", head.seq)?;
            writeln!(out, "  head {}:{}", head.seq, head.hash)?;
            if *torn > 0 {
                writeln!(
                    out,
                    "  {torn} bytes after it are of a record that was never acknowledged"
                )?;
            }
            Ok(ExitCode::SUCCESS)
        }
        Err(finding) => {
            writeln!(out, "the audit trail has been modified or damaged: {finding}")?;
            Ok(ExitCode::FAILURE)
        }
    }
}

/// Verifies the indexed records, which may begin later than the files.
async fn verify_index(
    options: &AuditVerifyOptions,
    key: Key,
    anchors: Vec<Anchor>,
) -> Result<Result<Summary, Finding>> {
    let client = Client::with_timeout(&options.client, TIMEOUT)?;
    let form = [("search", INDEXED), ("output_mode", "json")];
    let path = "/services/search/jobs/export";
    let request = client.request(reqwest::Method::POST, path).form(&form);
    let answer = client.send(request).await?;
    let mut verifier = Verifier::new(key, anchors, options.from);
    for (at, text) in raws(&answer)?.iter().enumerate() {
        verifier.line(&format_args!("row {}", at + 1), text.as_bytes(), true);
    }
    Ok(verifier.finish())
}

/// The event texts of an export: JSON objects, one per line; the last one may report a failure.
fn raws(answer: &Value) -> Result<Vec<String>> {
    let lines: Vec<Value> = match answer {
        Value::String(text) => {
            let lines = text.lines().filter(|line| !line.trim().is_empty());
            lines.map(serde_json::from_str).collect::<Result<_, _>>()?
        }
        one => vec![one.clone()],
    };
    let mut texts = Vec::new();
    for line in lines {
        if let Some(message) = line["messages"][0]["text"].as_str() {
            bail!("the index cannot be read: {message}");
        }
        texts.extend(line["result"]["_raw"].as_str().map(str::to_owned));
    }
    Ok(texts)
}

fn export(options: &AuditExportOptions) -> Result<ExitCode> {
    let directory = trail::directory(&options.data.data_dir);
    let mut reader = Reader::new(&directory, options.from);
    let mut out = std::io::BufWriter::new(std::io::stdout().lock());
    loop {
        let entries = reader.read(options.to.unwrap_or(u64::MAX), BATCH)?;
        if entries.is_empty() {
            break;
        }
        for entry in entries {
            writeln!(out, "{}", entry.text)?;
        }
    }
    out.flush()?;
    Ok(ExitCode::SUCCESS)
}

fn key(data: &Path, given: Option<&Path>) -> Result<Key> {
    let path = given.map_or_else(|| trail::key_path(data), Path::to_owned);
    let bytes = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let bytes = bytes.try_into().ok().with_context(|| format!("{} is damaged", path.display()))?;
    Ok(Key::new(&bytes))
}

/// Parses `SEQ:HASH`, as printed by an earlier verification.
fn given_head(text: &str) -> Result<Anchor> {
    let parts = text.split_once(':');
    let head =
        parts.and_then(|(seq, hash)| Some((seq.parse().ok()?, hash.parse::<Digest>().ok()?)));
    let (seq, hash) = head.context("--head must be NUMBER:HASH, as verify prints it")?;
    Ok(Anchor { seq, hash: Some(hash), noted: "--head" })
}
