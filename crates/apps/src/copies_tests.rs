//! Copies of installed apps: files that versions share, and what is read from object storage.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use object_store::ObjectStoreExt;
use object_store::path::Path as ObjectPath;

use crate::digest::sha256;
use crate::installed_tests::{Setup, package};
use crate::{Apps, Error, Package, Room};

const LOOKUP: (&str, &str) = ("lookups/a.csv", "a,b\n1,2\n");
const PROGRAM: (&str, &str) = ("bin/run.sh", "#!/bin/sh\n");
const MACROS: &str = "default/macros.conf";
const FIRST: [(&str, &str); 3] = [LOOKUP, PROGRAM, (MACROS, "[m]\ndefinition = one\n")];
const SECOND: [(&str, &str); 4] =
    [LOOKUP, PROGRAM, (MACROS, "[m]\ndefinition = two\n"), ("lookups/b.csv", "b\n")];
/// Files of an app of many.
const FILES: usize = 40;

/// The copy of the app that is in force.
fn folder(apps: &Apps) -> PathBuf {
    apps.directory_of("shop").unwrap().join("apps/shop")
}

fn inode(folder: &Path, path: &str) -> u64 {
    fs::metadata(folder.join(path)).unwrap().ino()
}

fn mode(folder: &Path, path: &str) -> u32 {
    fs::metadata(folder.join(path)).unwrap().mode()
}

fn text(folder: &Path, path: &str) -> String {
    fs::read_to_string(folder.join(path)).unwrap()
}

/// An app of many files, the first of them changed.
fn many(changed: usize) -> Package {
    let file = |n: usize| {
        let age = if n < changed { "new" } else { "old" };
        (format!("lookups/{n}.csv"), format!("n,age\n{n},{age}\n"))
    };
    let files: Vec<(String, String)> = (0..FILES).map(file).collect();
    let listed: Vec<(&str, &str)> =
        files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    package(&listed)
}

/// Checks that the copy in force has exactly these files.
fn assert_whole(apps: &Apps, package: &Package) {
    let folder = folder(apps);
    for file in &package.files {
        assert_eq!(fs::read(folder.join(&file.path)).unwrap(), file.bytes, "{:?}", file.path);
    }
    assert_eq!(fs::read_dir(folder.join("lookups")).unwrap().count(), package.files.len());
}

async fn objects(setup: &Setup) -> BTreeSet<ObjectPath> {
    setup.objects().await.into_iter().collect()
}

#[tokio::test]
async fn versions_share_unchanged_files_and_stay_without_each_other() {
    let setup = Setup::new().await;
    let (one, two) = (setup.process("one").await, setup.process("two").await);
    one.install(package(&FIRST), false, "ann").await.unwrap();
    two.apply_installed().await.unwrap();
    let before = [folder(&one), folder(&two)];
    one.install(package(&SECOND), true, "ann").await.unwrap();
    two.apply_installed().await.unwrap();
    let after = [folder(&one), folder(&two)];
    for (before, after) in before.iter().zip(&after) {
        for (path, content) in [LOOKUP, PROGRAM] {
            assert_eq!(inode(before, path), inode(after, path), "{path} is not copied again");
            assert_eq!(text(after, path), content);
            assert_eq!(mode(after, path) & 0o222, 0, "nobody writes to what versions share");
        }
        assert_eq!(text(before, MACROS), FIRST[2].1);
        assert_eq!(text(after, MACROS), SECOND[2].1);
        assert!(!before.join("lookups/b.csv").exists());
    }
    setup.clock.advance(Duration::from_secs(2 * 3600));
    one.apply_installed().await.unwrap();
    two.apply_installed().await.unwrap();
    for (before, after) in before.iter().zip(&after) {
        assert!(!before.exists());
        for (path, content) in SECOND {
            assert_eq!(text(after, path), content);
        }
    }
}

#[tokio::test]
async fn after_a_restart_a_file_is_shared_only_if_its_content_is_right() {
    let setup = Setup::new().await;
    let (one, two) = (setup.process("one").await, setup.process("two").await);
    one.install(package(&FIRST), false, "ann").await.unwrap();
    two.apply_installed().await.unwrap();
    let before = [folder(&one), folder(&two)];
    drop((one, two));
    for before in &before {
        let lookup = before.join(LOOKUP.0);
        fs::remove_file(&lookup).unwrap();
        // With the same size, so that the copy seems to be complete.
        fs::write(&lookup, "a,b\n1,9\n").unwrap();
        fs::set_permissions(&lookup, fs::Permissions::from_mode(0o444)).unwrap();
    }
    let (one, two) = (setup.process("one").await, setup.process("two").await);
    one.install(package(&SECOND), true, "ann").await.unwrap();
    two.apply_installed().await.unwrap();
    for (before, apps) in before.iter().zip([&one, &two]) {
        let after = folder(apps);
        assert_eq!(text(&after, LOOKUP.0), LOOKUP.1);
        assert_eq!(text(before, LOOKUP.0), "a,b\n1,9\n", "it is another file");
        assert_eq!(inode(before, PROGRAM.0), inode(&after, PROGRAM.0));
    }
}

#[tokio::test]
async fn a_file_that_somebody_may_write_to_is_not_shared() {
    let setup = Setup::new().await;
    let apps = setup.process("one").await;
    apps.install(package(&FIRST), false, "ann").await.unwrap();
    let before = folder(&apps);
    fs::set_permissions(before.join(LOOKUP.0), fs::Permissions::from_mode(0o644)).unwrap();
    apps.install(package(&SECOND), true, "ann").await.unwrap();
    let after = folder(&apps);
    assert_ne!(inode(&before, LOOKUP.0), inode(&after, LOOKUP.0));
    assert_eq!((mode(&after, LOOKUP.0) & 0o222, text(&after, LOOKUP.0)), (0, LOOKUP.1.to_owned()));
    assert_eq!(inode(&before, PROGRAM.0), inode(&after, PROGRAM.0));
}

#[tokio::test]
async fn a_program_and_a_file_of_the_same_content_are_not_shared() {
    let setup = Setup::new().await;
    let apps = setup.process("one").await;
    apps.install(package(&FIRST), false, "ann").await.unwrap();
    let before = folder(&apps);
    let second = [LOOKUP, ("bin/a.csv", LOOKUP.1)];
    apps.install(package(&second), true, "ann").await.unwrap();
    let after = folder(&apps);
    assert_eq!(inode(&before, LOOKUP.0), inode(&after, LOOKUP.0));
    assert_ne!(inode(&after, "bin/a.csv"), inode(&after, LOOKUP.0));
    assert_eq!((mode(&after, LOOKUP.0) & 0o100, mode(&after, "bin/a.csv") & 0o100), (0, 0o100));
}

#[tokio::test]
async fn an_app_of_more_files_than_are_read_at_once_is_whole_in_each_process() {
    let setup = Setup::new().await;
    let (one, two) = (setup.process("one").await, setup.process("two").await);
    one.install(many(0), false, "ann").await.unwrap();
    let (first, earlier) = (objects(&setup).await, one.checksum().unwrap());
    assert_eq!(first.len(), FILES + 1, "the files, the manifest");
    two.apply_installed().await.unwrap();
    assert_whole(&two, &many(0));
    one.install(many(1), true, "ann").await.unwrap();
    let second = objects(&setup).await;
    assert_eq!(second.difference(&first).count(), 2, "the file, the manifest");
    two.apply_installed().await.unwrap();
    let three = setup.process("three").await;
    for apps in [&one, &two, &three] {
        assert_whole(apps, &many(1));
    }
    assert_whole(&three.at(&earlier).await.unwrap(), &many(0));
}

#[tokio::test]
async fn a_version_that_is_copied_ahead_is_in_force_when_it_is_applied() {
    let setup = Setup::new().await;
    let (one, two) = (setup.process("one").await, setup.process("two").await);
    one.install(many(0), false, "ann").await.unwrap();
    two.apply_installed().await.unwrap();
    let before = two.checksum();
    one.install(many(3), true, "ann").await.unwrap();
    two.copy_installed().await;
    assert_eq!(two.checksum(), before);
    assert_whole(&two, &many(0));
    // Nothing is left to be read.
    for object in objects(&setup).await {
        setup.store.delete(&object).await.unwrap();
    }
    two.apply_installed().await.unwrap();
    assert_eq!(two.checksum(), one.checksum());
    assert_whole(&two, &many(3));
}

#[tokio::test]
async fn a_damaged_object_is_not_copied_and_leaves_nothing_behind() {
    let setup = Setup::new().await;
    let (one, two) = (setup.process("one").await, setup.process("two").await);
    one.install(many(0), false, "ann").await.unwrap();
    let file = many(0).files.swap_remove(7);
    let object = ObjectPath::from_iter(["installed", "shop", sha256(&file.bytes).as_str()]);
    setup.store.put(&object, vec![b'x'; file.bytes.len()].into()).await.unwrap();
    let error = two.apply_installed().await.unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    // Files that were being written come to their end.
    let copies = setup.data.path().join("two");
    let is_gone = async {
        while fs::read_dir(&copies).unwrap().next().is_some() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), is_gone).await.unwrap();
    setup.store.put(&object, file.bytes.into()).await.unwrap();
    two.apply_installed().await.unwrap();
    assert_whole(&two, &many(0));
}

#[tokio::test]
async fn files_that_will_be_links_need_no_room() {
    let setup = Setup::new().await;
    let large = "x".repeat(4_000);
    let first = [("lookups/a.csv", large.as_str()), ("lookups/b.csv", "b\n1\n")];
    let second = [("lookups/a.csv", large.as_str()), ("lookups/b.csv", "b\n2\n")];
    let third = [("lookups/a.csv", large.as_str()), ("lookups/b.csv", "b\n3\n")];
    let one = setup.process("one").await;
    let spare = Arc::new(AtomicU64::new(5_000));
    let seen = Arc::clone(&spare);
    let room = Room::new(move |_| Some(seen.load(Ordering::Relaxed)));
    let small = setup.process_with("small", room).await;
    small.install(package(&first), false, "ann").await.unwrap();
    spare.store(50, Ordering::Relaxed);
    small.install(package(&second), true, "ann").await.unwrap();
    one.install(package(&third), true, "ann").await.unwrap();
    small.apply_installed().await.unwrap();
    assert_eq!(text(&folder(&small), "lookups/b.csv"), "b\n3\n");
    let other = format!("y{large}");
    let other = package(&[("lookups/a.csv", other.as_str())]);
    let refused = small.install(other, true, "ann").await.unwrap_err().to_string();
    assert!(refused.contains("the app shop has 4001 bytes, and only 50"), "{refused}");
}
