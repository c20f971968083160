//! `karst add oneshot`: files, unpacked here and sent in pieces, each acknowledged when it is safe.

use std::fs::File;
use std::io::{BufReader, Read, stdin};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Instant, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use reqwest::Method;

use super::client::Client;
use crate::config::{AddOptions, AddWhat, OneshotOptions};

/// Bytes of a piece: large enough that the acknowledgement's round trip does not show.
const PIECE: usize = 4 << 20;

pub(crate) async fn add(options: AddOptions) -> Result<ExitCode> {
    match options.what {
        AddWhat::Oneshot(options) => oneshot(options).await,
    }
}

async fn oneshot(options: OneshotOptions) -> Result<ExitCode> {
    let client = Client::new(&options.client)?;
    let mut files = Vec::new();
    for path in &options.paths {
        walk(path, &mut files)?;
    }
    if files.is_empty() {
        bail!("there is no file in what was named");
    }
    let size = |path: &PathBuf| path.metadata().map_or(0, |metadata| metadata.len());
    let bar = ProgressBar::new(files.iter().map(size).sum());
    let style = "{bar:30} {bytes}/{total_bytes} {bytes_per_sec} {msg}";
    bar.set_style(ProgressStyle::with_template(style).context("the progress bar's form")?);
    let started = Instant::now();
    let mut sent = 0;
    let mut events = 0;
    for path in &files {
        bar.set_message(path.display().to_string());
        let added = send_file(&client, path, &options, &bar).await;
        let (bytes, count) = added.with_context(|| format!("cannot add {}", path.display()))?;
        sent += bytes;
        events += count;
    }
    bar.finish_and_clear();
    let seconds = started.elapsed().as_secs_f64().max(1e-9);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    let rate = HumanBytes((sent as f64 / seconds) as u64);
    println!(
        "{} file{}, {events} events, {} in {seconds:.1} s ({rate}/s), index {}",
        files.len(),
        if files.len() == 1 { "" } else { "s" },
        HumanBytes(sent),
        options.index
    );
    Ok(ExitCode::SUCCESS)
}

/// All files of a path, in the order of their names.
fn walk(path: &Path, files: &mut Vec<PathBuf>) -> Result<()> {
    if path == Path::new("-") {
        files.push(path.to_owned());
        return Ok(());
    }
    let metadata = path.metadata().with_context(|| format!("cannot read {}", path.display()))?;
    if metadata.is_file() {
        files.push(path.to_owned());
    } else if metadata.is_dir() {
        let listed = path.read_dir().with_context(|| format!("cannot list {}", path.display()))?;
        let mut entries = listed.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        entries.sort();
        for entry in entries {
            walk(&entry, files)?;
        }
    }
    Ok(())
}

async fn send_file(
    client: &Client,
    path: &Path,
    options: &OneshotOptions,
    bar: &ProgressBar,
) -> Result<(u64, u64)> {
    let mut reader = open(path, bar)?;
    let stream = uuid::Uuid::new_v4().to_string();
    let mut total = 0;
    let mut events = 0;
    loop {
        let mut piece = Vec::with_capacity(PIECE);
        reader.by_ref().take(PIECE as u64).read_to_end(&mut piece)?;
        let end = piece.len() < PIECE;
        total += piece.len() as u64;
        events += send_piece(client, path, options, &stream, piece.into(), end).await?;
        if end {
            return Ok((total, events));
        }
    }
}

fn open(path: &Path, bar: &ProgressBar) -> Result<Box<dyn Read>> {
    if path == Path::new("-") {
        return Ok(Box::new(stdin().lock()));
    }
    let file = bar.wrap_read(File::open(path)?);
    Ok(match path.extension().and_then(|extension| extension.to_str()) {
        Some("gz") => Box::new(flate2::read::MultiGzDecoder::new(BufReader::new(file))),
        Some("zst") => Box::new(zstd::stream::read::Decoder::new(file)?),
        _ => Box::new(file),
    })
}

async fn send_piece(
    client: &Client,
    path: &Path,
    options: &OneshotOptions,
    stream: &str,
    piece: Bytes,
    end: bool,
) -> Result<u64> {
    let source = options.source.clone().unwrap_or_else(|| {
        std::path::absolute(path).unwrap_or_else(|_| path.to_owned()).display().to_string()
    });
    let mut query = vec![
        ("index", options.index.clone()),
        ("source", source),
        ("stream", stream.to_owned()),
        ("end", u8::from(end).to_string()),
        ("output_mode", "json".to_owned()),
    ];
    query.extend(options.sourcetype.clone().map(|sourcetype| ("sourcetype", sourcetype)));
    query.extend(options.host.clone().map(|host| ("host", host)));
    let modified = path.metadata().and_then(|metadata| metadata.modified()).ok();
    if let Some(age) = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok()) {
        query.push(("modified", age.as_secs().to_string()));
    }
    let request = client
        .request(Method::POST, "/services/receivers/simple")
        .query(&query)
        .header("Content-Type", "application/octet-stream")
        .body(piece);
    let answer = client.send(request).await?;
    Ok(answer["events"].as_u64().unwrap_or(0))
}
