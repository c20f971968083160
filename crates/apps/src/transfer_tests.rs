//! Apps of which only the changed files are sent.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use conf::Registry;
use object_store::ObjectStoreExt;
use object_store::path::Path as ObjectPath;
use serde_json::{Value, json};

use crate::digest::sha256;
use crate::installed_tests::{Setup, definition, package};
use crate::package::{append, packer};
use crate::{
    Apps, Changes, Error, InEffect, Listed, Package, PackedFile, Target, pack_changes, report,
};

const LOOKUP: (&str, &str) = ("lookups/a.csv", "a,b\n1,2\n");
const SECRET: (&str, &str) = ("local/passwords.conf", "[credential::a:]\npassword = hunter2\n");
const MACROS: &str = "default/macros.conf";
const FIRST: [(&str, &str); 4] = [LOOKUP, SECRET, (MACROS, "[m]\ndefinition = one\n"), RUN];
const SECOND: [(&str, &str); 4] = [LOOKUP, SECRET, (MACROS, "[m]\ndefinition = two\n"), RUN];
const RUN: (&str, &str) = ("bin/run.sh", "#!/bin/sh\n");

/// The files that a client learns from the server.
pub(crate) async fn in_effect(apps: &Apps) -> InEffect {
    let all = apps.bundle_files().await.unwrap().into_iter();
    let digests =
        |files: Vec<Listed>| files.into_iter().map(|file| (file.path, file.sha256)).collect();
    all.map(|(app, files)| (app, digests(files))).collect()
}

/// What a client sends of an app.
async fn packed(apps: &Apps, package: &Package) -> Changes {
    pack_changes(std::slice::from_ref(package), &in_effect(apps).await).unwrap()
}

/// An archive of files, with a list of others.
fn archive(files: &[(&str, &str)], list: &Value) -> Vec<u8> {
    let list = list.to_string();
    let mut archive = tar::Builder::new(packer());
    for (path, text) in files.iter().chain([&("bundle.json", list.as_str())]) {
        let bytes = text.as_bytes().to_vec();
        let file = PackedFile { path: PathBuf::from(path), bytes, executable: false };
        append(&mut archive, &file, Path::new("")).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

/// An entry of the list.
fn kept(app: &str, path: &str, text: &str) -> Value {
    json!({ "app": app, "path": path, "sha256": sha256(text.as_bytes()), "executable": false })
}

async fn unpacked(apps: &Apps, archive: &[u8]) -> Result<Package, Error> {
    let mut packages = apps.unpack_bundle(archive).await?;
    assert_eq!(packages.len(), 1);
    Ok(packages.remove(0))
}

/// Checks that the copy in force has these files.
fn assert_files(apps: &Apps, files: &[(&str, &str)]) {
    let folder = apps.directory_of("shop").unwrap().join("apps/shop");
    for (path, text) in files {
        assert_eq!(fs::read_to_string(folder.join(path)).unwrap(), *text, "{path}");
    }
}

#[tokio::test]
async fn the_changed_file_is_sent_and_the_version_is_whole_in_all_processes() {
    let setup = Setup::new().await;
    let (one, two) = (setup.process("one").await, setup.process("two").await);
    one.install(package(&FIRST), false, "ann").await.unwrap();
    two.apply_installed().await.unwrap();
    let before: BTreeSet<ObjectPath> = setup.objects().await.into_iter().collect();
    let changes = packed(&two, &package(&SECOND)).await;
    assert_eq!((changes.sent, changes.kept), (1, 3));
    let change = unpacked(&two, &changes.archive).await.unwrap();
    let not_read: Vec<&str> = change.kept.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(not_read, [RUN.0, LOOKUP.0], "no rule and no report needs their contents");
    two.install(change, true, "ann").await.unwrap();
    one.apply_installed().await.unwrap();
    for apps in [&one, &two, &setup.process("three").await] {
        assert_files(apps, &SECOND);
        assert_eq!(definition(apps, "m").as_deref(), Some("two"));
    }
    let after: BTreeSet<ObjectPath> = setup.objects().await.into_iter().collect();
    assert_eq!(after.difference(&before).count(), 2, "the file, the manifest");
}

#[tokio::test]
async fn only_the_file_of_the_same_path_of_the_same_app_is_left_out() {
    let setup = Setup::new().await;
    let one = setup.process("one").await;
    let changes = packed(&one, &package(&FIRST)).await;
    assert_eq!((changes.sent, changes.kept), (4, 0), "no version is in effect");
    one.install(package(&FIRST), false, "ann").await.unwrap();
    let secret = SECRET.1;
    let unknown = [
        kept("shop", "lookups/a.csv", "another content"),
        // A client cannot make a lookup of a file that an export leaves secrets out of.
        kept("shop", "lookups/b.csv", secret),
        kept("shop", LOOKUP.0, secret),
        kept("other", SECRET.0, secret),
        kept("shop", "../shop/local/passwords.conf", secret),
        kept("shop", "local/./passwords.conf", secret),
        json!({ "app": "shop", "path": LOOKUP.0, "sha256": "", "executable": false }),
    ];
    for list in unknown {
        let archive = archive(&[("shop/default/app.conf", "")], &json!([list]));
        let refused = one.unpack_bundle(&archive[..]).await;
        let is_asked_for =
            matches!(&refused, Err(Error::Changed(text)) if text.contains("send all files"));
        assert!(is_asked_for, "{list}: {refused:?}");
    }
    let invalid =
        [json!([kept("..", "a", "a")]), json!([kept("", "a", "a")]), json!([1]), json!({})];
    for list in invalid {
        let refused = one.unpack_bundle(&archive(&[], &list)[..]).await;
        assert!(matches!(refused, Err(Error::Invalid(_))), "{list}: {refused:?}");
    }
    // What is sent takes precedence over what is named.
    let list = json!([kept("shop", LOOKUP.0, LOOKUP.1)]);
    let both = archive(&[("shop/lookups/a.csv", "new\n")], &list);
    let package = unpacked(&one, &both).await.unwrap();
    assert_eq!((package.files[0].bytes.as_slice(), package.kept.len()), (&b"new\n"[..], 0));
}

#[tokio::test]
async fn an_installer_that_another_one_overtakes_installs_the_whole_version() {
    let setup = Setup::new().await;
    let (one, two) = (setup.process("one").await, setup.process("two").await);
    one.install(package(&FIRST), false, "ann").await.unwrap();
    two.apply_installed().await.unwrap();
    let changes = packed(&one, &package(&SECOND)).await;
    let change = unpacked(&one, &changes.archive).await.unwrap();
    let other = [(MACROS, "[m]\ndefinition = other\n"), ("lookups/c.csv", "c\n")];
    for apps in [&two, &one] {
        apps.install(package(&other), true, "bob").await.unwrap();
    }
    one.install(change, true, "ann").await.unwrap();
    two.apply_installed().await.unwrap();
    for apps in [&one, &two] {
        assert_files(apps, &SECOND);
        let folder = apps.directory_of("shop").unwrap().join("apps/shop");
        assert!(!folder.join("lookups/c.csv").exists());
    }
    // The list is not that of the version in effect any more.
    one.install(package(&other), true, "bob").await.unwrap();
    let refused = unpacked(&one, &changes.archive).await;
    assert!(matches!(refused, Err(Error::Changed(_))), "{refused:?}");
}

#[tokio::test]
async fn a_file_that_object_storage_may_not_have_much_longer_is_written_again_from_the_copy() {
    let setup = Setup::new().await;
    let (one, two) = (setup.process("one").await, setup.process("two").await);
    one.install(package(&FIRST), false, "ann").await.unwrap();
    let object =
        |text: &str| ObjectPath::from_iter(["installed", "shop", sha256(text.as_bytes()).as_str()]);
    setup.clock.advance(Duration::from_secs(13 * 3600));
    for text in [LOOKUP.1, RUN.1] {
        setup.store.delete(&object(text)).await.unwrap();
    }
    let changes = packed(&one, &package(&SECOND)).await;
    let change = unpacked(&one, &changes.archive).await.unwrap();
    one.install(change, true, "ann").await.unwrap();
    two.apply_installed().await.unwrap();
    assert_files(&two, &SECOND);
}

#[tokio::test]
async fn a_file_that_changes_while_it_is_sent_is_as_it_was_read() {
    let setup = Setup::new().await;
    let one = setup.process("one").await;
    one.install(package(&FIRST), false, "ann").await.unwrap();
    let root = tempfile::tempdir().unwrap();
    let folder = root.path().join("shop");
    for (path, text) in FIRST {
        fs::create_dir_all(folder.join(path).parent().unwrap()).unwrap();
        fs::write(folder.join(path), text).unwrap();
    }
    let read = Package::read(&folder).unwrap();
    fs::write(folder.join(LOOKUP.0), "a,b\n3,4\n").unwrap();
    fs::write(folder.join(MACROS), "[m]\ndefinition = three\n").unwrap();
    let changes = packed(&one, &read).await;
    assert_eq!((changes.sent, changes.kept), (0, 4));
    let change = unpacked(&one, &changes.archive).await.unwrap();
    one.install(change, true, "ann").await.unwrap();
    assert_files(&one, &FIRST);
    let changes = packed(&one, &Package::read(&folder).unwrap()).await;
    assert_eq!((changes.sent, changes.kept), (2, 2));
}

#[tokio::test]
async fn the_report_is_that_of_the_whole_app() {
    let files = [
        ("README/inputs.conf.spec", "[snow://<name>]\n"),
        ("appserver/static/page.js", "x"),
        ("bin/other.sh", "#!/bin/sh\n"),
        ("bin/run.py", "import splunk.rest\n"),
        ("default/commands.conf", "[run]\n"),
        ("default/data/ui/views/all.xml", "<dashboard/>"),
        ("default/data/ui/html/all.html", "x"),
        ("default/transforms.conf", "[a]\nfilename = a.csv\n"),
        LOOKUP,
        ("static/appIcon.txt", "x"),
    ];
    let setup = Setup::new().await;
    let one = setup.process("one").await;
    one.install(package(&files), false, "ann").await.unwrap();
    let changes = packed(&one, &package(&files)).await;
    assert_eq!(changes.sent, 0);
    let change = unpacked(&one, &changes.archive).await.unwrap();
    assert_eq!(change.kept.len(), 5);
    let settings = Registry::new(&[knowledge::settings::DECLARED]);
    let told = |package: &Package| report(package, Target::Server, &settings);
    assert_eq!(told(&change), told(&package(&files)));
    let validated = one.validate_bundle(&[change]).await.unwrap();
    assert!(validated.changes.is_empty(), "{:?}", validated.changes);
}

#[test]
fn an_app_has_no_more_bytes_than_if_all_of_them_had_been_sent() {
    let mut app = package(&FIRST);
    let of = |bytes: u64| Listed {
        path: "lookups/b.csv".to_owned(),
        sha256: String::new(),
        bytes,
        executable: false,
    };
    app.kept = vec![of(256 << 20)];
    app.check_size().unwrap();
    app.kept.push(of(256 << 20));
    let refused = app.check_size().unwrap_err().to_string();
    assert!(refused.contains("shop has more than 512 MiB"), "{refused}");
}
