//! `karst add s3://bucket/prefix`: loads the objects below a prefix. Objects already loaded with
//! the same content into the same index are skipped, so that an interrupted run can be resumed.

use std::fmt;
use std::io;

use anyhow::{Context, Result, anyhow};
use bytes::Bytes;
use futures::{StreamExt, TryStreamExt};
use indicatif::ProgressBar;
use inputs::s3::{Taken, chunks};
use object_store::ObjectStoreExt;
use object_store::path::Path;
use runtime::store::{OpenStore, Options};

use super::{PIECE, Report, Sent, Stream};
use crate::cli::client::Client;
use crate::config::{OneshotOptions, aws_variables};

/// Maximum number of recorded objects.
const REMEMBERED: usize = 1_000_000;

/// An object to load.
#[derive(Debug)]
pub(super) struct Object {
    pub(super) url: String,
    pub(super) size: u64,
    e_tag: String,
    path: Path,
    modified: i64,
    store: OpenStore,
}

impl Object {
    /// Its key in the list of loaded objects.
    pub(super) fn name(&self, options: &OneshotOptions) -> String {
        format!("{} {} {}", options.index, self.e_tag, self.url)
    }
}

/// The list of loaded objects.
pub(super) fn taken(options: &OneshotOptions) -> Result<Taken> {
    let path = options.client.data.data_dir.join("added-objects");
    Taken::open(&path, REMEMBERED).with_context(|| format!("cannot use {}", path.display()))
}

/// The objects below a URL, sorted by name, or the one object that it names.
pub(super) async fn list(url: &str) -> Result<Vec<Object>> {
    let place = url.trim_start_matches("s3://");
    let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
    let options = Options { variables: aws_variables(), ..Options::default() };
    let opened = runtime::store::open(&format!("s3://{bucket}"), &options)?;
    let prefix = Path::parse(prefix.trim_matches('/')).context("the prefix is not a path")?;
    let mut found: Vec<_> = opened.store.list(Some(&prefix)).try_collect().await?;
    if found.is_empty() && !prefix.as_ref().is_empty() {
        // A listing shows objects below a prefix, not the object of that name.
        found.extend(opened.store.head(&prefix).await.ok());
    }
    found.retain(|object| object.size > 0);
    found.sort_by(|a, b| a.location.cmp(&b.location));
    let object = |meta: object_store::ObjectMeta| Object {
        url: format!("s3://{bucket}/{}", meta.location),
        size: meta.size,
        e_tag: meta.e_tag.unwrap_or_default(),
        path: meta.location,
        modified: meta.last_modified.timestamp(),
        store: opened.clone(),
    };
    Ok(found.into_iter().map(object).collect())
}

/// The content of an object is invalid: other objects can still be added.
#[derive(Debug)]
pub(super) struct Unreadable;

impl fmt::Display for Unreadable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("its content cannot be read")
    }
}

/// Converts an error of reading an object.
fn unreadable(error: io::Error) -> anyhow::Error {
    let of_store = error.get_ref().is_some_and(|inner| inner.is::<object_store::Error>());
    let error = anyhow::Error::from(error);
    if of_store { error } else { error.context(Unreadable) }
}

/// Sends an object's text.
pub(super) async fn send(
    client: &Client,
    object: &Object,
    options: &OneshotOptions,
    bar: &ProgressBar,
    sent: &mut Sent,
    report: &mut Report,
) -> Result<()> {
    let got = object.store.store.get(&object.path).await?;
    let progress = bar.clone();
    let counted = got.into_stream().inspect_ok(move |chunk| progress.inc(chunk.len() as u64));
    let mut text = chunks(counted.boxed(), PIECE);
    let modified = u64::try_from(object.modified).ok();
    let stream = Stream::new(object.url.clone(), modified, options);
    let mut waiting: Option<Bytes> = None;
    loop {
        let next = text.recv().await.transpose().map_err(unreadable)?;
        let is_first = waiting.is_none() && sent.bytes == 0;
        if let Some(piece) = next.as_ref().filter(|_| is_first && !options.no_binary_check)
            && inputs::is_binary(piece)
        {
            return Err(anyhow!(super::NOT_TEXT).context(Unreadable));
        }
        let end = next.is_none();
        if let Some(piece) = waiting.take() {
            let bytes = piece.len() as u64;
            sent.events += stream.send(client, piece, end, report).await?;
            sent.bytes += bytes;
        }
        if end {
            return Ok(());
        }
        waiting = next;
    }
}
