//! Consistency checks at the start: catalog, buckets, journal, identity. Unambiguous problems are
//! repaired with a warning; for others the start fails with instructions, before anything is
//! changed.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use catalog::{Catalog, Snapshot};
use ingest::restore;
use model::IndexerId;
use object_store::ObjectStore;
use serde_json::json;
use uuid::Uuid;

use super::identity::write_once;
use super::ownership::now_text;

/// Fails if the catalog is empty although buckets or a journal exist, or if a rebuild was
/// interrupted: searches would find nothing, and a first start would create a new administrator.
pub(crate) async fn refuse_if_lost(
    store: &Arc<dyn ObjectStore>,
    snapshot: &Snapshot,
    data: &Path,
) -> Result<()> {
    if restore::interrupted(store).await? {
        bail!(
            "a rebuild of the catalog was started and did not finish; run `karst catalog rebuild` again \
             (with the same --data-dir and --object-store)"
        );
    }
    let Some(lost) = restore::lost(store, snapshot, data).await? else { return Ok(()) };
    let object = lost.object.map(|path| format!("buckets are in the object store ({path})"));
    let segment = lost.segment.map(|path| format!("the journal has events ({})", path.display()));
    let there: Vec<String> = object.into_iter().chain(segment).collect();
    bail!(
        "the catalog is empty, but {}: the catalog was lost, or --data-dir and --object-store do not \
         belong together. `karst catalog rebuild` rebuilds the catalog from the buckets; to start \
         empty, use another data directory and another object store",
        there.join(", and ")
    );
}

/// The error for a damaged catalog, with instructions.
pub(crate) fn way_out(error: anyhow::Error) -> anyhow::Error {
    let damaged = error.downcast_ref::<catalog::Error>();
    if damaged.is_some_and(|error| error.kind() == model::ErrorKind::Corrupt) {
        return error.context(
            "the catalog is damaged: `karst catalog check` shows where; `karst catalog rebuild` \
             rebuilds it from the buckets and from its readable parts",
        );
    }
    error
}

/// The id in `<data>/instance.id`. A lost one is restored from the journal or the catalog, so that
/// the journal is not treated as foreign.
pub(crate) fn indexer_id(
    data: &Path,
    snapshot: &Snapshot,
    new_instance: bool,
) -> Result<IndexerId> {
    let path = data.join("instance.id");
    let owners = restore::journal_owners(data);
    let segment = restore::journal_segment(data)?;
    if let Some(id) = read(&path)? {
        let Some(owner) = owners.iter().find(|owner| **owner != id) else { return Ok(id) };
        if segment.is_some() && !new_instance {
            bail!(
                "{} says {id}, but the journal was written by {owner}: put {} back into the file, or take \
                 the journal over with --new-instance",
                path.display(),
                owner.0
            );
        }
        return Ok(id);
    }
    let known: Vec<IndexerId> = snapshot.indexers().into_iter().collect();
    let found = match (owners.as_slice(), known.as_slice(), &segment) {
        ([owner], _, _) => Some((*owner, "journal")),
        ([], [indexer], Some(_)) => Some((*indexer, "catalog")),
        _ => None,
    };
    let id = found.map_or_else(|| IndexerId(runtime::random::uuid()), |(id, _)| id);
    match (found, &segment) {
        (Some((_, place)), _) => tracing::warn!(
            path = %path.display(), %id, "instance.id was lost; it is taken from the {place}"
        ),
        (None, Some(segment)) => tracing::warn!(
            path = %path.display(), %id, journal = %segment.display(),
            "instance.id was lost and cannot be determined; the journal is compared with the buckets"
        ),
        (None, None) => {}
    }
    write_once(&path, id.0.to_string().as_bytes(), 0o600)?;
    Ok(id)
}

/// Writes that this server has begun into an empty catalog, before there is a journal: a first start that
/// ends in the middle is not mistaken for a lost catalog.
pub(crate) async fn begin(catalog: &Catalog, indexer: IndexerId) -> Result<()> {
    if !catalog.snapshot().is_blank() {
        return Ok(());
    }
    let begun = json!({ "begun": now_text() });
    let written = catalog.put_document("instances", &indexer.0.to_string(), begun).await;
    written.context("cannot write to the catalog")
}

/// The ID in the file; `None` if the file is missing or invalid.
fn read(path: &Path) -> Result<Option<IndexerId>> {
    match fs::read(path) {
        Ok(bytes) => {
            let text = String::from_utf8_lossy(&bytes);
            if let Ok(id) = Uuid::parse_str(text.trim()) {
                return Ok(Some(IndexerId(id)));
            }
            let aside = path.with_extension("damaged");
            fs::rename(path, &aside)
                .with_context(|| format!("cannot put the damaged {} aside", path.display()))?;
            tracing::warn!(path = %path.display(), aside = %aside.display(), "instance.id is damaged");
            Ok(None)
        }
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(error).with_context(|| format!("cannot read {}", path.display())),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_first_start_makes_an_id_and_keeps_it() {
        let data = tempfile::tempdir().unwrap();
        let snapshot = Snapshot::default();
        let id = indexer_id(data.path(), &snapshot, false).unwrap();
        assert_eq!(indexer_id(data.path(), &snapshot, false).unwrap(), id);
    }

    #[test]
    fn a_damaged_id_is_put_aside() {
        let data = tempfile::tempdir().unwrap();
        fs::write(data.path().join("instance.id"), b"\xff\x00").unwrap();
        indexer_id(data.path(), &Snapshot::default(), false).unwrap();
        assert!(data.path().join("instance.damaged").exists());
    }
}
