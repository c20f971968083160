//! `karst catalog`: checks the catalog against the buckets, or rebuilds it.

use crate::server::CATALOG;
use std::collections::BTreeMap;
use std::fs::{File, OpenOptions, TryLockError};
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use anyhow::{Context, Result, bail};
use ingest::restore;
use object_store::ObjectStore;

use super::plural::{counted, is_or_are, was_or_were};
use crate::config::{
    CatalogCheckOptions, CatalogOptions, CatalogWhat, StoreOptions, aws_variables,
};

/// Maximum number of printed lines per list.
const SHOWN: usize = 100;

pub(crate) async fn catalog(options: CatalogOptions) -> Result<ExitCode> {
    match options.what {
        CatalogWhat::Check(options) => check(options).await,
        CatalogWhat::Rebuild(options) => rebuild(options).await,
    }
}

async fn check(options: CatalogCheckOptions) -> Result<ExitCode> {
    let store = open(&options.store)?;
    let found = restore::check(&store, CATALOG, options.deep).await?;
    println!(
        "{}, {}, {}; {}; {}; {} to be deleted",
        counted(found.buckets, "bucket"),
        counted(found.events, "event"),
        counted(found.bytes, "byte"),
        counted(found.documents.values().sum::<usize>(), "document"),
        counted(found.positions, "journal position"),
        counted(found.discarded, "object")
    );
    print_kinds(&found.documents);
    for taken in &found.taken_over {
        let catalog::Takeover { indexer, set, epoch, owner } = taken;
        println!("set {set} of indexer {indexer} is owned by indexer {owner} (epoch {epoch})");
    }
    if !found.unknown.is_empty() {
        let unknown = found.unknown.len();
        println!(
            "{} of buckets {} not in the catalog: left by a crash, or lost to the catalog; if it was restored \
             from an older copy, stop the server and run `karst catalog rebuild`",
            counted(unknown, "object"),
            is_or_are(unknown)
        );
        print_list(&found.unknown);
    }
    if let Some(unused) = &found.unused_packs {
        println!("{unused}");
    }
    if found.problems.is_empty() {
        let how =
            if options.deep { "every checksum was compared" } else { "--deep reads all of it" };
        println!("nothing is damaged or missing ({how})");
        return Ok(ExitCode::SUCCESS);
    }
    eprintln!("{}:", counted(found.problems.len(), "problem"));
    for problem in &found.problems {
        eprintln!("  {problem}");
    }
    Ok(ExitCode::FAILURE)
}

async fn rebuild(options: StoreOptions) -> Result<ExitCode> {
    let data = &options.data.data_dir;
    let url = place(&options)?;
    let locks = lock(data)?;
    let store = open(&options)?;
    if !has_content(&store).await? && restore::journal_segment(data)?.is_none() {
        bail!(
            "{url} has neither buckets nor a catalog: it is not the object store of a server; check \
             --object-store and --data-dir, nothing was changed"
        );
    }
    // A server on another data directory may use the same object store.
    let settings = catalog::LeaseSettings::default();
    let waiting = |holder: &catalog::Holder, wait: std::time::Duration| {
        eprintln!("checking for {} s whether a server is alive: {holder}", wait.as_secs());
    };
    let holder = holder(data, locks.first());
    let lease = catalog::Lease::take(Arc::clone(&store), holder, settings, false, waiting).await?;
    let clock: Arc<dyn runtime::Clock> = Arc::new(runtime::SystemClock);
    let done = restore::rebuild(&store, CATALOG, &clock).await;
    lease.release().await;
    let done = done?;
    let (buckets, events) = (counted(done.buckets, "bucket"), counted(done.events, "event"));
    println!("in the new catalog: {buckets} with {events}");
    println!("{} of them {} missing from the old catalog", done.found, was_or_were(done.found));
    let left_out = counted(done.superseded, "object");
    println!("left out: {left_out}, parts of merged buckets or discarded");
    let documents: usize = done.documents.values().sum();
    let positions = counted(done.positions, "journal position");
    println!("kept: {} and {positions}", counted(documents, "document"));
    print_kinds(&done.documents);
    if done.documents.get("users").is_none_or(|users| *users == 0) {
        println!(
            "users, tokens, roles and what was made over REST could not be read: the next start creates \
             a new admin and a new HEC token"
        );
    }
    if let Some(aside) = &done.aside {
        println!(
            "the old catalog is at {aside} in the object store; delete it when everything works"
        );
    }
    if !done.merged.is_empty() {
        println!("without their objects, parts of merged buckets ({}):", done.merged.len());
        print_list(&done.merged);
    }
    if !done.damage.is_empty() {
        println!("not readable ({}):", done.damage.len());
        print_list(&done.damage);
    }
    if done.has_unreadable {
        println!(
            "objects are there and could not be read: mend the permissions or the disk, and run this again \
             before the next start; otherwise events may be missing, or be there twice"
        );
    }
    println!("the next start compares the journal below {} with the buckets", data.display());
    Ok(ExitCode::SUCCESS)
}

/// The lease holder entry of this command.
fn holder(data: &Path, lock: Option<&File>) -> catalog::Holder {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    let place = lock.and_then(|lock| lock.metadata().ok());
    let lock = boot.zip(place).map(|(boot, place)| {
        // The format of the server, so that its own lease after `kill -9` is recognized as free.
        format!("{}:{}:{}", boot.trim(), place.dev(), place.ino())
    });
    catalog::Holder {
        instance: "karst catalog rebuild".to_owned(),
        nonce: runtime::random::uuid().to_string(),
        lock,
        host: std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default(),
        pid: std::process::id(),
        started: crate::server::now_text(),
        management: "none".to_owned(),
        data: data.display().to_string(),
    }
}

fn print_kinds(kinds: &BTreeMap<String, usize>) {
    for (kind, count) in kinds {
        println!("  {count} {kind}");
    }
}

fn print_list(lines: &[String]) {
    for line in lines.iter().take(SHOWN) {
        println!("  {line}");
    }
    if lines.len() > SHOWN {
        println!("  and {} more", lines.len() - SHOWN);
    }
}

/// Returns the directory or URL of the object store.
///
/// # Errors
/// The directory does not exist: opening the store would create it.
fn place(options: &StoreOptions) -> Result<String> {
    let default = options.data.data_dir.join("objects");
    let url = options.object_store.clone().unwrap_or_else(|| default.display().to_string());
    let directory = match url.split_once("://") {
        Some(("file", path)) => Some(path),
        Some(_) => None,
        None => Some(&*url),
    };
    if let Some(directory) = directory.filter(|directory| !Path::new(directory).exists()) {
        bail!("{directory} does not exist; name --data-dir or --object-store");
    }
    Ok(url)
}

/// Whether an object store has buckets, a catalog or a copy of one, or journals: a new catalog in another
/// directory would only say that there are no events.
async fn has_content(store: &Arc<dyn ObjectStore>) -> Result<bool> {
    let listed = store.list_with_delimiter(None).await.context("cannot list the object store")?;
    let mut names = listed.common_prefixes.iter().map(AsRef::<str>::as_ref);
    Ok(names.any(|name| ["buckets", "journal"].contains(&name) || name.starts_with(CATALOG)))
}

fn open(options: &StoreOptions) -> Result<Arc<dyn ObjectStore>> {
    let url = place(options)?;
    let settings = runtime::store::Options {
        variables: aws_variables(),
        ..runtime::store::Options::default()
    };
    Ok(runtime::store::open(&url, &settings)?.store)
}

/// Locks the data directory; fails if a server runs on it.
fn lock(data: &Path) -> Result<Vec<File>> {
    let mut held = Vec::new();
    for path in [data.join("server.lock"), data.join("journal").join("lock")] {
        if !path.parent().is_some_and(Path::exists) {
            continue;
        }
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false);
        let file =
            options.open(&path).with_context(|| format!("cannot open {}", path.display()))?;
        match file.try_lock() {
            Ok(()) => held.push(file),
            Err(TryLockError::WouldBlock) => {
                bail!(
                    "a server is running on {}; stop it first, nothing was changed",
                    data.display()
                )
            }
            Err(TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("cannot lock {}", path.display()));
            }
        }
    }
    Ok(held)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use object_store::memory::InMemory;
    use object_store::{ObjectStoreExt, PutPayload};

    use super::*;

    #[tokio::test]
    async fn a_store_without_buckets_and_without_a_catalog_is_not_that_of_a_server() {
        let with = async |path: &str| {
            let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
            store.put(&path.into(), PutPayload::from_static(b"x")).await.unwrap();
            has_content(&store).await.unwrap()
        };
        for path in ["buckets/main/a.parquet", "catalog/manifest/1", "catalog-before-rebuild-1/a"] {
            assert!(with(path).await, "{path}");
        }
        assert!(with("journal/0/1.journal").await);
        assert!(!with("home/buckets/a").await && !with("buckets").await);
    }

    #[test]
    fn a_directory_that_does_not_exist_is_not_created() {
        let parent = tempfile::tempdir().unwrap();
        let missing = parent.path().join("typo");
        let of = |url: String| StoreOptions {
            data: crate::config::DataDir { data_dir: parent.path().to_owned() },
            object_store: Some(url),
        };
        for url in [missing.display().to_string(), format!("file://{}", missing.display())] {
            let error = open(&of(url)).unwrap_err().to_string();
            assert!(error.contains("typo does not exist"), "{error}");
        }
        assert!(!missing.exists());
        assert!(place(&of("s3://bucket/prefix".to_owned())).is_ok());
    }
}
