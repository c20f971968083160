//! Bundles of apps, in two processes over one catalog and one store.
#![allow(clippy::unwrap_used)]

use std::cell::Cell;
use std::collections::BTreeSet;
use std::path::Path;

use tokio::time::Instant;

use crate::bundle::released;
use crate::installed_tests::{Setup, definition, package};
use crate::transfer_tests::in_effect;
use crate::{
    Applier, Applying, Apps, Error, NOBODY, Namespace, Package, pack_changes, read_bundle,
};

fn app(name: &str, files: &[(&str, &str)]) -> Package {
    Package { app: name.to_owned(), ..package(files) }
}

fn first() -> Vec<Package> {
    let shop = [("default/macros.conf", "[m]\ndefinition = one\n"), ("lookups/a.csv", "a\n1\n")];
    let till = [("default/macros.conf", "[t]\ndefinition = two\n"), ("bin/run.sh", "#!/bin/sh\n")];
    vec![app("shop", &shop), app("till", &till)]
}

/// A bundle with another value of `m` and a further file of one app; the other app is removed.
fn second() -> Vec<Package> {
    let shop = [
        ("default/macros.conf", "[m]\ndefinition = three\n"),
        ("lookups/a.csv", "a\n1\n"),
        ("lookups/b.csv", "b\n"),
    ];
    vec![app("shop", &shop)]
}

/// Packs a bundle as a client that knows the bundle in force, and sends it.
async fn sent(apps: &Apps, packages: Vec<Package>) -> (Vec<Package>, usize) {
    let changes = pack_changes(&packages, &in_effect(apps).await).unwrap();
    (apps.unpack_bundle(&changes.archive[..]).await.unwrap(), changes.sent)
}

#[tokio::test]
async fn a_bundle_is_in_force_as_one_change_and_is_taken_back_as_one() {
    let setup = Setup::new().await;
    let (one, two) = (setup.process("one").await, setup.process("two").await);
    assert_eq!(one.checksum(), two.checksum());
    one.apply_bundle(first(), "ann").await.unwrap();
    assert_eq!(definition(&one, "m").as_deref(), Some("one"));
    assert_eq!(definition(&one, "t").as_deref(), Some("two"));
    assert_ne!(one.checksum(), two.checksum(), "the other one does not know yet");
    two.apply_installed().await.unwrap();
    assert_eq!(definition(&two, "t").as_deref(), Some("two"));
    let active = one.bundles().unwrap().active.unwrap();
    assert_eq!(one.checksum(), two.checksum());
    assert_eq!(one.checksum().unwrap(), active.checksum());
    assert_eq!(active.by, "ann");
    assert_eq!(one.latest_checksum(), two.checksum());

    two.apply_bundle(second(), "bob").await.unwrap();
    one.apply_installed().await.unwrap();
    for apps in [&one, &two] {
        assert_eq!(definition(apps, "m").as_deref(), Some("three"));
        assert_eq!(definition(apps, "t"), None, "the app is not in the bundle any more");
    }
    one.roll_back_bundle("ann").await.unwrap();
    two.apply_installed().await.unwrap();
    for apps in [&one, &two] {
        assert_eq!(definition(apps, "m").as_deref(), Some("one"));
        assert_eq!(definition(apps, "t").as_deref(), Some("two"));
    }
    let again = setup.process("one").await;
    assert_eq!(again.checksum(), two.checksum());
    // A second rollback restores the newer bundle.
    one.roll_back_bundle("ann").await.unwrap();
    assert_eq!(definition(&one, "m").as_deref(), Some("three"));
}

#[tokio::test]
async fn apps_of_an_earlier_bundle_are_as_they_were_in_each_process() {
    let setup = Setup::new().await;
    let (one, two) = (setup.process("one").await, setup.process("two").await);
    let none = one.checksum().unwrap();
    one.apply_bundle(first(), "ann").await.unwrap();
    let earlier = one.checksum().unwrap();
    one.apply_bundle(second(), "ann").await.unwrap();
    two.apply_installed().await.unwrap();
    let shared = Namespace::new(NOBODY, "shop");
    let settings = vec![("definition".to_owned(), "today".to_owned())];
    for apps in [&one, &two] {
        let past = apps.at(&earlier).await.unwrap();
        assert_eq!(past.checksum().as_ref(), Some(&earlier));
        assert_eq!(definition(&past, "m").as_deref(), Some("one"));
        assert_eq!(definition(&past, "t").as_deref(), Some("two"), "the app is not in force now");
        let lookup = past.read_lookup("b.csv", &Namespace::new("ann", "shop")).await.unwrap();
        assert!(lookup.is_none(), "the file is in the later bundle only");
        assert_eq!(definition(apps, "m").as_deref(), Some("three"));
    }
    // Objects of users are those of now.
    one.create("macros", "own", &shared, settings).await.unwrap();
    let past = one.at(&earlier).await.unwrap();
    assert!(past.get("macros", "own", &shared).is_ok());
    assert_eq!(definition(&past, "m").as_deref(), Some("one"));
    let empty = one.at(&none).await.unwrap();
    assert_eq!(definition(&empty, "m"), None);
    // The apps of the bundle in force stay the same when another one is applied.
    let now = one.at(&one.checksum().unwrap()).await.unwrap();
    one.apply_bundle(first(), "ann").await.unwrap();
    assert_eq!(definition(&now, "m").as_deref(), Some("three"));
    let unknown = one.at("0123").await.unwrap_err().to_string();
    assert!(unknown.contains("\"0123\" is unknown") && unknown.contains(&earlier), "{unknown}");
}

#[tokio::test]
async fn apps_that_were_installed_one_by_one_stay() {
    let setup = Setup::new().await;
    let one = setup.process("one").await;
    let other = app("other", &[("default/macros.conf", "[o]\ndefinition = mine\n")]);
    one.install(other, false, "ann").await.unwrap();
    let shop = app("shop", &[("default/macros.conf", "[m]\ndefinition = before\n")]);
    one.install(shop, false, "ann").await.unwrap();
    one.apply_bundle(first(), "ann").await.unwrap();
    assert_eq!(definition(&one, "o").as_deref(), Some("mine"));
    assert_eq!(definition(&one, "m").as_deref(), Some("one"));
    // Before the first bundle there was the app as it had been installed.
    one.roll_back_bundle("ann").await.unwrap();
    assert_eq!(definition(&one, "m").as_deref(), Some("before"));
    assert_eq!((definition(&one, "t"), definition(&one, "o").as_deref()), (None, Some("mine")));
}

#[tokio::test]
async fn only_what_changes_is_sent_and_written() {
    let setup = Setup::new().await;
    let one = setup.process("one").await;
    let (packages, files) = sent(&one, first()).await;
    assert_eq!((files, &packages), (4, &sorted(first())));
    one.apply_bundle(packages, "ann").await.unwrap();
    let before: BTreeSet<_> = setup.objects().await.into_iter().collect();
    let (packages, files) = sent(&one, second()).await;
    let [shop] = &packages[..] else { panic!("{packages:?}") };
    let not_sent: Vec<&str> = shop.kept.iter().map(|file| file.path.as_str()).collect();
    assert_eq!((files, shop.files.len(), not_sent), (2, 2, vec!["lookups/a.csv"]));
    one.apply_bundle(packages, "ann").await.unwrap();
    let after: BTreeSet<_> = setup.objects().await.into_iter().collect();
    assert_eq!(after.difference(&before).count(), 3, "two files and the manifest");
    // The same again changes nothing.
    let in_force = one.bundles().unwrap().active.unwrap().checksum();
    one.apply_bundle(second(), "bob").await.unwrap();
    assert_eq!(one.bundles().unwrap().active.unwrap().checksum(), in_force);
}

/// Sorts the packages in the order of an archive.
fn sorted(mut packages: Vec<Package>) -> Vec<Package> {
    for package in &mut packages {
        package.files.sort();
    }
    packages
}

#[tokio::test]
async fn a_file_that_is_not_in_force_any_more_has_to_be_sent() {
    let setup = Setup::new().await;
    let one = setup.process("one").await;
    one.apply_bundle(first(), "ann").await.unwrap();
    let archive = pack_changes(&first(), &in_effect(&one).await).unwrap().archive;
    one.apply_bundle(second(), "bob").await.unwrap();
    let refused = one.unpack_bundle(&archive[..]).await;
    assert!(
        matches!(&refused, Err(Error::Changed(text)) if text.contains("send all files")),
        "{refused:?}"
    );
}

#[tokio::test]
async fn what_a_bundle_would_change_is_known_before() {
    let setup = Setup::new().await;
    let one = setup.process("one").await;
    one.apply_bundle(first(), "ann").await.unwrap();
    let validated = one.validate_bundle(&second()).await.unwrap();
    let [shop, till] = &validated.changes[..] else { panic!("{:?}", validated.changes) };
    assert_eq!((shop.app.as_str(), &shop.added[..]), ("shop", &["lookups/b.csv".to_owned()][..]));
    assert_eq!(shop.changed, ["default/macros.conf"]);
    assert_eq!((till.app.as_str(), till.removed.len()), ("till", 2));
    let rules = validated.rules.conf("macros");
    assert_eq!(rules.get("m", "definition").map(|entry| entry.value.as_str()), Some("three"));
    let place = rules.get("m", "definition").unwrap().place.to_string();
    assert!(validated.shown(&place).starts_with("apps/shop/default/macros.conf"), "{place}");
    // No part of it is in force, and the validation leaves nothing behind.
    assert_eq!(definition(&one, "m").as_deref(), Some("one"));
    let left = std::fs::read_dir(setup.data.path().join("one")).unwrap();
    assert!(
        left.filter_map(Result::ok)
            .all(|entry| !entry.file_name().to_string_lossy().contains("validate"))
    );
    assert!(one.validate_bundle(&first()).await.unwrap().changes.is_empty());
}

#[tokio::test]
async fn what_a_rollback_would_change_is_known_before() {
    let setup = Setup::new().await;
    let one = setup.process("one").await;
    one.apply_bundle(first(), "ann").await.unwrap();
    assert!(one.previous_bundle().await.unwrap().is_empty(), "before the first there was none");
    one.apply_bundle(second(), "bob").await.unwrap();
    let previous = one.previous_bundle().await.unwrap();
    assert_eq!(sorted(previous.clone()), sorted(first()));
    let changes = one.validate_bundle(&previous).await.unwrap().changes;
    let [shop, till] = &changes[..] else { panic!("{changes:?}") };
    assert_eq!(shop.changed, ["default/macros.conf"]);
    assert_eq!((&shop.removed[..], till.added.len()), (&["lookups/b.csv".to_owned()][..], 2));
    assert_eq!(definition(&one, "m").as_deref(), Some("three"), "nothing is changed");
    one.roll_back_bundle("ann").await.unwrap();
    assert!(one.validate_bundle(&previous).await.unwrap().changes.is_empty());
}

#[tokio::test]
async fn one_bundle_at_a_time_is_applied() {
    let setup = Setup::new().await;
    let one = setup.process("one").await;
    let since = runtime::Clock::now(&*setup.clock).0;
    let lock =
        |since: i64| serde_json::json!({ "token": "of another", "by": "bob", "since": since });
    setup.catalog.put_document("bundle", "applying", lock(since)).await.unwrap();
    let refused = one.apply_bundle(first(), "ann").await;
    assert!(matches!(&refused, Err(Error::Changed(text)) if text.contains("bob")), "{refused:?}");
    assert!(format!("{refused:?}").contains("expires in 600 s"), "{refused:?}");
    assert_eq!(definition(&one, "m"), None);
    // The lock of a process that was killed expires.
    setup.catalog.put_document("bundle", "applying", lock(since - 700_000_000)).await.unwrap();
    one.apply_bundle(first(), "ann").await.unwrap();
    assert_eq!(definition(&one, "m").as_deref(), Some("one"));
    assert!(setup.catalog.snapshot().document("bundle", "applying").is_none());
    let refused = setup.process("two").await.roll_back_bundle("ann").await;
    assert!(refused.is_ok(), "before the first bundle there was nothing: {refused:?}");
}

#[tokio::test]
async fn the_lock_of_a_process_that_is_gone_is_released() {
    let setup = Setup::new().await;
    let one = setup.process("one").await;
    assert_eq!(one.bundle_lock().unwrap(), None);
    let since = runtime::Clock::now(&*setup.clock).0;
    let process = Applying { id: "two".to_owned(), started: "2026-11-23T00:00:00Z".to_owned() };
    let lock = serde_json::json!({ "token": "t", "by": "bob", "since": since, "process": process });
    setup.catalog.put_document("bundle", "applying", lock).await.unwrap();
    assert!(one.apply_bundle(first(), "ann").await.is_err());
    let held = one.bundle_lock().unwrap().unwrap();
    assert_eq!(held.process, process);
    one.release_bundle_lock(&held).await.unwrap();
    one.release_bundle_lock(&held).await.unwrap();
    let own = Applying { id: "one".to_owned(), ..process };
    let applier = Applier { by: "ann".to_owned(), process: Some(own) };
    one.apply_bundle(first(), applier).await.unwrap();
    assert_eq!(definition(&one, "m").as_deref(), Some("one"));
    assert_eq!(one.bundle_lock().unwrap(), None);
}

#[tokio::test(start_paused = true)]
async fn a_lock_that_was_taken_late_is_released_when_the_catalog_answers() {
    let tries = Cell::new(0);
    let seconds = async |answers: &[Result<(), catalog::Error>]| {
        tries.set(0);
        let start = Instant::now();
        released(|| {
            let answer = answers[tries.get().min(answers.len() - 1)].clone();
            tries.set(tries.get() + 1);
            async move { answer }
        })
        .await;
        start.elapsed().as_secs()
    };
    let (leader, reason) = ("control:8090".to_owned(), "it is away".to_owned());
    let away = Err(catalog::Error::Unreachable { leader, seconds: 60, reason });
    let (path, kind, name) = ("catalog".to_owned(), "bundle".to_owned(), "applying".to_owned());
    let changed = Err(catalog::Error::Changed { path, kind, name });
    assert_eq!((seconds(&[away.clone(), away.clone(), Ok(())]).await, tries.get()), (10, 3));
    assert_eq!((seconds(&[away.clone(), changed]).await, tries.get()), (5, 2));
    assert_eq!(seconds(&[away]).await, 600, "then the lock is ignored");
}

#[tokio::test]
async fn of_two_bundles_at_the_same_moment_one_is_applied() {
    let setup = Setup::new().await;
    let (one, two) = (setup.process("one").await, setup.process("two").await);
    let (ann, bob) =
        tokio::join!(one.apply_bundle(first(), "ann"), two.apply_bundle(second(), "bob"));
    ann.unwrap();
    assert!(matches!(&bob, Err(Error::Changed(text)) if text.contains("being applied")), "{bob:?}");
    assert!(setup.catalog.snapshot().document("bundle", "applying").is_none());
    assert_eq!(definition(&one, "m").as_deref(), Some("one"));
    two.apply_bundle(second(), "bob").await.unwrap();
}

#[tokio::test]
async fn without_a_bundle_there_is_nothing_to_go_back_to() {
    let setup = Setup::new().await;
    let refused = setup.process("one").await.roll_back_bundle("ann").await;
    assert!(
        matches!(&refused, Err(Error::Changed(text)) if text.contains("no previous bundle")),
        "{refused:?}"
    );
}

#[test]
fn a_directory_of_apps_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = directory.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    let read = || read_bundle(directory.path());
    let refused = read().unwrap_err().to_string();
    assert!(refused.contains("has no apps"), "{refused}");
    write("shop/default/macros.conf", "[m]\n");
    write("till/local/macros.conf", "[t]\n");
    write(".git/config", "");
    let names: Vec<String> = read().unwrap().into_iter().map(|package| package.app).collect();
    assert_eq!(names, ["shop", "till"]);
    write("README", "");
    let refused = read().unwrap_err().to_string();
    assert!(refused.contains("README is not an app"), "{refused}");
    let refused = read_bundle(&directory.path().join("shop")).unwrap_err().to_string();
    assert!(refused.contains("manager-apps"), "{refused}");
    assert!(read_bundle(Path::new("/nowhere")).is_err());
}
