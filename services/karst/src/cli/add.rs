//! `karst add`: decompresses files and objects and sends them in chunks, each acknowledged when
//! durable.

mod objects;
mod own;
mod preview;
mod report;

use std::fs::File;
use std::io::{Cursor, Read, stdin};
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::{Instant, UNIX_EPOCH};

use anyhow::{Context, Result, bail};
use bytes::Bytes;
use indicatif::{HumanBytes, ProgressBar, ProgressStyle};
use reqwest::Method;
use runtime::{Clock, SystemClock};

use self::objects::Unreadable;
use self::report::Report;
use super::client::{Client, Failure};
use super::plural::counted;
use crate::config::{AddOptions, AddWhat, OneshotOptions};

/// Why a file or object is not added.
const NOT_TEXT: &str = "it is not text: it has NULs and control characters; unpack archives first, or \
                        add it as it is with --no-binary-check";

/// Bytes at the start of a file that the binary check reads.
const CHECKED: u64 = 8 << 10;

/// The note about events that may be indexed twice after a chunk was sent and not acknowledged.
const IN_FLIGHT: &str = "; up to 4 MiB that were in flight may have been indexed, too, and sending them again may \
                         index them twice";

/// Chunk size in bytes: large enough to hide the round trip of the acknowledgement.
const PIECE: usize = 4 << 20;

pub(crate) async fn add(options: AddOptions) -> Result<ExitCode> {
    match options.what {
        AddWhat::Oneshot(options) => oneshot(options).await,
    }
}

async fn oneshot(options: OneshotOptions) -> Result<ExitCode> {
    let client = Client::new(&options.client)?;
    let mut files = Vec::new();
    let mut objects = Vec::new();
    for path in &options.paths {
        match path.to_str().filter(|path| path.starts_with("s3://")) {
            Some(url) => objects.extend(objects::list(url).await?),
            None => walk(path, &mut files, &mut Vec::new())?,
        }
    }
    if files.is_empty() && objects.is_empty() {
        bail!("there are no files and no objects under the given paths");
    }
    if options.preview {
        if !objects.is_empty() {
            bail!("--preview reads files, not objects: copy an object first (aws s3 cp URL -)");
        }
        for path in &files {
            preview::print(&client, path, &options).await?;
        }
        return Ok(ExitCode::SUCCESS);
    }
    if options.skip_bytes > 0 && (files.len() != 1 || !objects.is_empty()) {
        bail!("--skip-bytes can be used only with one file");
    }
    let mut taken = objects::taken(&options)?;
    let all = objects.len();
    objects.retain(|object| !taken.contains(&object.name(&options)));
    let skipped = all - objects.len();
    let size = |path: &PathBuf| path.metadata().map_or(0, |metadata| metadata.len());
    let in_objects: u64 = objects.iter().map(|object| object.size).sum();
    let bar = ProgressBar::new(files.iter().map(size).sum::<u64>() + in_objects);
    let style = "{bar:30} {bytes}/{total_bytes} {bytes_per_sec} {msg}";
    bar.set_style(ProgressStyle::with_template(style).context("the progress bar's form")?);
    let kept_since = kept_since(&client, &options.index).await;
    let started = Instant::now();
    let (mut sum, mut loaded, mut unreadable) = (Sent::default(), 0, 0);
    for path in &files {
        bar.set_message(path.display().to_string());
        let reader = match open(path, &bar, &options) {
            Ok(reader) => reader,
            // The path was found in a directory, not named by the user.
            Err(error) if !options.paths.contains(path) => {
                bar.suspend(|| eprintln!("skipped {}: {error:#}", path.display()));
                continue;
            }
            Err(error) => {
                let text = stopped(path, Sent::default(), &sum, 0, &error);
                return Err(error.context(text));
            }
        };
        let mut sent = Sent { skipped: options.skip_bytes, ..Sent::default() };
        let mut report = Report::new(path.display().to_string(), kept_since);
        let added = send_file(&client, path, reader, &options, &mut sent, &mut report).await;
        if added.is_ok() || sent.events > 0 {
            bar.suspend(|| println!("{report}"));
        }
        if let Err(error) = added {
            let text = stopped(path, sent, &sum, options.skip_bytes, &error);
            return Err(error.context(text));
        }
        sum.add(sent);
        loaded += 1;
    }
    for object in &objects {
        bar.set_message(object.url.clone());
        let (mut sent, mut report) = (Sent::default(), Report::new(object.url.clone(), kept_since));
        let added = objects::send(&client, object, &options, &bar, &mut sent, &mut report).await;
        if added.is_ok() || sent.events > 0 {
            bar.suspend(|| println!("{report}"));
        }
        // A retry of an unreadable file would fail in the same way, so it does not keep others from being
        // added.
        let is_unreadable = added.as_ref().is_err_and(|error| error.is::<Unreadable>());
        match added {
            Ok(()) => {}
            Err(error) if is_unreadable => {
                bar.suspend(|| eprintln!("skipped {}: {error:#}", object.url));
                unreadable += 1;
            }
            Err(error) => {
                let text = stopped_object(&object.url, sent, &sum, &error);
                return Err(error.context(text));
            }
        }
        sum.add(sent);
        if !is_unreadable || sent.events > 0 {
            taken.insert(&object.name(&options)).context("cannot note what was added")?;
        }
    }
    bar.finish_and_clear();
    let added = objects.len() - unreadable;
    if loaded + added + skipped > 0 {
        report(loaded, added, skipped, sum, started, &options.index);
    }
    if unreadable > 0 {
        bail!("{} skipped: the content cannot be read (see above)", counted(unreadable, "object"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The time before which the index keeps no events; `None` if the user may not read it.
async fn kept_since(client: &Client, index: &str) -> Option<i64> {
    let index =
        client.get(&format!("/services/data/indexes/{index}?output_mode=json")).await.ok()?;
    let seconds = &index["entry"][0]["content"]["frozenTimePeriodInSecs"];
    let seconds = seconds.as_i64().or_else(|| seconds.as_str()?.parse().ok())?;
    Some(SystemClock.now().0.saturating_sub(seconds.saturating_mul(1_000_000)))
}

/// The data that was sent.
#[derive(Debug, Clone, Copy, Default)]
struct Sent {
    bytes: u64,
    events: u64,
    /// Bytes skipped at the start.
    skipped: u64,
    /// Offset of the last line sent. Its event may be incomplete until the next line arrives, and
    /// is not acknowledged before.
    last_line: u64,
}

/// Whether a part of the chunk that was being sent may have been indexed: the server stores a chunk in parts,
/// and neither a broken connection nor most refusals tell how many it had stored. A server that stops takes
/// all of a chunk or nothing.
fn may_be_indexed(error: &anyhow::Error) -> bool {
    match error.downcast_ref::<Failure>() {
        Some(Failure::Unreachable(text)) => !text.contains("Connection refused"),
        Some(Failure::Server(text) | Failure::Missing(text) | Failure::Later(text)) => {
            !text.contains("shutting down")
        }
        Some(_) => false,
        // The response ended before its end.
        None => error.is::<reqwest::Error>(),
    }
}

/// Returns the message for an incomplete upload: how much was loaded, and how to resume.
fn stopped(path: &Path, sent: Sent, before: &Sent, skip: u64, error: &anyhow::Error) -> String {
    let mut text = format!("cannot add {}", path.display());
    if before.events > 0 {
        text.push_str(&format!(
            "; the files before it have been indexed ({} events)",
            before.events
        ));
    }
    let may_be_indexed = may_be_indexed(error);
    if sent.bytes > 0 {
        let at = skip + sent.last_line;
        let most = if may_be_indexed { "" } else { ", which duplicates at most its last line" };
        text.push_str(&format!(
            "; {} events ({} bytes) of it have already been indexed, and sending it again would \
             duplicate them: continue with --skip-bytes {at} and only this file{most}",
            sent.events, sent.bytes
        ));
    }
    if may_be_indexed {
        text.push_str(IN_FLIGHT);
    }
    text
}

/// The message for an object that was not added to its end.
fn stopped_object(url: &str, sent: Sent, before: &Sent, error: &anyhow::Error) -> String {
    let mut text = format!("cannot add {url}");
    if before.events > 0 {
        text.push_str(&format!(
            "; everything before it has been indexed ({} events)",
            before.events
        ));
    }
    match sent.events {
        0 => text.push_str(": run the command again"),
        events => text.push_str(&format!(
            "; {events} events ({} bytes) of it have already been indexed, and running the command \
             again duplicates them",
            sent.bytes
        )),
    }
    if may_be_indexed(error) {
        text.push_str(IN_FLIGHT);
    }
    text
}

impl Sent {
    fn add(&mut self, more: Self) {
        self.bytes += more.bytes;
        self.events += more.events;
    }
}

fn report(files: usize, objects: usize, skipped: usize, sum: Sent, started: Instant, index: &str) {
    let seconds = started.elapsed().as_secs_f64().max(1e-9);
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, clippy::cast_precision_loss)]
    let rate = HumanBytes((sum.bytes as f64 / seconds) as u64);
    let named = |count: usize, what: &str| match count {
        0 => None,
        1 => Some(format!("1 {what}")),
        count => Some(format!("{count} {what}s")),
    };
    let skipped = named(skipped, "object").map(|skipped| format!("{skipped} taken before"));
    let parts = [named(files, "file"), named(objects, "object"), skipped];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    println!(
        "{}, {}, {} in {seconds:.1} s ({rate}/s), index {index}",
        parts.join(", "),
        counted(sum.events, "event"),
        HumanBytes(sum.bytes),
    );
}

/// All files below a path, sorted by name.
fn walk(path: &Path, files: &mut Vec<PathBuf>, above: &mut Vec<PathBuf>) -> Result<()> {
    if path == Path::new("-") {
        files.push(path.to_owned());
        return Ok(());
    }
    let metadata = path.metadata().with_context(|| format!("cannot read {}", path.display()))?;
    // Below a directory that is not a server's, only a link leads to the inside of one that is.
    let is_own = match above.is_empty() || path.is_symlink() {
        true => own::holds(path),
        false => metadata.is_dir() && own::is_own(path),
    };
    if is_own {
        let at = path.display();
        eprintln!(
            "left out {at}: it belongs to a Karst server; such directories contain keys and passwords"
        );
        return Ok(());
    }
    if metadata.is_file() {
        files.push(path.to_owned());
    } else if metadata.file_type().is_fifo() && above.is_empty() {
        let pipe = path.display();
        bail!("{pipe} is a named pipe: use karst add oneshot - < {pipe}");
    } else if metadata.is_dir() {
        let real =
            path.canonicalize().with_context(|| format!("cannot read {}", path.display()))?;
        if above.contains(&real) {
            eprintln!("skipped {}: a link to a directory above it", path.display());
            return Ok(());
        }
        let listed = path.read_dir().with_context(|| format!("cannot list {}", path.display()))?;
        let mut entries = listed.map(|entry| Ok(entry?.path())).collect::<Result<Vec<_>>>()?;
        entries.sort();
        above.push(real);
        for entry in entries {
            // The link was found in a directory, not named by the user: one broken link must not stop the
            // others.
            if let Err(error) = walk(&entry, files, above) {
                eprintln!("skipped: {error:#}");
            }
        }
        above.pop();
    }
    Ok(())
}

async fn send_file(
    client: &Client,
    path: &Path,
    mut reader: Box<dyn Read>,
    options: &OneshotOptions,
    sent: &mut Sent,
    report: &mut Report,
) -> Result<()> {
    let skipped = std::io::copy(&mut reader.by_ref().take(sent.skipped), &mut std::io::sink())?;
    if skipped < sent.skipped {
        bail!("it has {skipped} bytes, fewer than --skip-bytes {}", sent.skipped);
    }
    let modified = path.metadata().and_then(|metadata| metadata.modified()).ok();
    let age = modified.and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    let stream = Stream::new(source_of(path), age.map(|age| age.as_secs()), options);
    let mut rest = Vec::new();
    loop {
        let mut piece = std::mem::take(&mut rest);
        reader.by_ref().take(PIECE as u64).read_to_end(&mut piece)?;
        let end = piece.len() < PIECE;
        if !end {
            // Whole lines, so that the loaded data ends with a complete line if the next chunk
            // fails.
            let cut =
                piece.iter().rposition(|byte| *byte == b'\n').map_or(piece.len(), |at| at + 1);
            rest = piece.split_off(cut);
        }
        let bytes = piece.len() as u64;
        let before_last = piece.iter().rev().skip(1).position(|byte| *byte == b'\n');
        let last_line = before_last.map(|after| bytes - 1 - after as u64);
        sent.events += stream.send(client, piece.into(), end, report).await?;
        if let Some(at) = last_line {
            sent.last_line = sent.bytes + at;
        }
        sent.bytes += bytes;
        if end {
            return Ok(());
        }
    }
}

/// The source of the events of a path, unless `--source` names it.
fn source_of(path: &Path) -> String {
    if path == Path::new("-") {
        return "stdin".to_owned();
    }
    let source = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    source.display().to_string()
}

/// The text of a file, decompressed; standard input as it is.
fn open(path: &Path, bar: &ProgressBar, options: &OneshotOptions) -> Result<Box<dyn Read>> {
    let mut text: Box<dyn Read> = if path == Path::new("-") {
        Box::new(stdin().lock())
    } else {
        inputs::unpack(bar.wrap_read(File::open(path)?))?
    };
    let first = first_block(&mut text)?;
    if !options.no_binary_check && inputs::is_binary(&first) {
        bail!(NOT_TEXT);
    }
    Ok(Box::new(Cursor::new(first).chain(text)))
}

/// Reads the first bytes of a text, for the binary check. One read may return only a few: for an uncompressed
/// file, it returns those that were read to detect the compression, and the first NUL bytes of images come
/// after them.
fn first_block(text: &mut impl Read) -> std::io::Result<Vec<u8>> {
    let mut block = Vec::new();
    text.take(CHECKED).read_to_end(&mut block)?;
    Ok(block)
}

/// A file or object being sent.
struct Stream {
    query: Vec<(&'static str, String)>,
}

impl Stream {
    fn new(source: String, modified: Option<u64>, options: &OneshotOptions) -> Self {
        let mut query = vec![
            ("index", options.index.clone()),
            ("source", options.source.clone().unwrap_or(source)),
            ("stream", runtime::random::uuid().to_string()),
            ("output_mode", "json".to_owned()),
            ("report", "1".to_owned()),
        ];
        query.extend(options.sourcetype.clone().map(|sourcetype| ("sourcetype", sourcetype)));
        query.extend(options.host.clone().map(|host| ("host", host)));
        query.extend(modified.map(|seconds| ("modified", seconds.to_string())));
        Self { query }
    }

    /// Sends a chunk and waits until it is durable; returns the number of completed events.
    async fn send(
        &self,
        client: &Client,
        piece: Bytes,
        end: bool,
        report: &mut Report,
    ) -> Result<u64> {
        report.begin(&piece);
        let request = client
            .request(Method::POST, "/services/receivers/simple")
            .query(&self.query)
            .query(&[("end", u8::from(end).to_string())])
            .header("Content-Type", "application/octet-stream")
            .body(piece);
        let answer = client.send(request).await?;
        report.take(&answer);
        Ok(answer["events"].as_u64().unwrap_or(0))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn told(failure: Failure) -> String {
        let sent = Sent { bytes: 5 << 20, events: 9, last_line: 5_000_000, ..Sent::default() };
        stopped(Path::new("a.log"), sent, &Sent::default(), 0, &anyhow::Error::from(failure))
    }

    #[test]
    fn a_broken_connection_leaves_open_what_of_a_chunk_is_indexed() {
        let broken = told(Failure::Unreachable("the connection broke".to_owned()));
        assert!(
            broken.contains("--skip-bytes 5000000 and only this file; up to 4 MiB"),
            "{broken}"
        );
        for exact in [
            Failure::Later("ingest is shutting down; send again when it is back".to_owned()),
            Failure::Unreachable("Connection refused (os error 111)".to_owned()),
        ] {
            let text = told(exact);
            assert!(text.ends_with("which duplicates at most its last line"), "{text}");
        }
    }

    #[test]
    fn directories_of_servers_are_left_out_whatever_leads_into_them() {
        let root = tempfile::tempdir().unwrap();
        let at = |name: &str| root.path().join(name);
        let write = |name: &str| {
            std::fs::create_dir_all(at(name).parent().unwrap()).unwrap();
            std::fs::write(at(name), "x").unwrap();
        };
        let in_data = ["server.lock", "auth/server.key", "log/karst.log", "sample/a.log"];
        in_data.iter().for_each(|name| write(&format!("data/{name}")));
        let elsewhere = ["disk/journal.owner", "disk/journal/1", "store/catalog/wal/1"];
        std::fs::create_dir_all(at("store/catalog/manifest")).unwrap();
        elsewhere.iter().for_each(|name| write(name));
        ["store/lookups/a.csv", "logs/b.log", "logs/auth/c.log"]
            .iter()
            .for_each(|name| write(name));
        std::os::unix::fs::symlink(at("data/auth"), at("logs/keys")).unwrap();
        std::os::unix::fs::symlink(at("data/auth/server.key"), at("logs/key")).unwrap();
        let found = |name: &str| {
            let mut files = Vec::new();
            walk(&at(name), &mut files, &mut Vec::new()).unwrap();
            let name =
                |path: &PathBuf| path.strip_prefix(root.path()).unwrap().display().to_string();
            files.iter().map(name).collect::<Vec<_>>()
        };
        assert_eq!(found(""), ["disk/journal.owner", "logs/auth/c.log", "logs/b.log"]);
        for own in
            ["data", "data/auth", "data/auth/server.key", "data/log", "logs/keys", "logs/key"]
        {
            assert!(found(own).is_empty(), "{own}");
        }
        assert!(found("store/lookups").is_empty() && found("disk/journal/1").is_empty());
        assert_eq!(found("data/sample/a.log"), ["data/sample/a.log"]);
        assert_eq!(found("data/sample"), ["data/sample/a.log"]);
    }

    #[test]
    fn the_binary_check_reads_behind_the_bytes_that_tell_the_packing() {
        let header: &[u8] = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x06\x40";
        let mut image = inputs::unpack(header).unwrap();
        let first = first_block(&mut image).unwrap();
        assert_eq!(first, header);
        assert!(inputs::is_binary(&first));
    }

    #[test]
    fn the_binary_check_reads_a_block_and_loses_nothing() {
        let text = "line\n".repeat(4000);
        let mut reader = inputs::unpack(text.as_bytes()).unwrap();
        let first = first_block(&mut reader).unwrap();
        assert_eq!(first.len() as u64, CHECKED);
        let mut whole = Vec::new();
        Cursor::new(first).chain(reader).read_to_end(&mut whole).unwrap();
        assert_eq!(whole, text.as_bytes());
    }
}
