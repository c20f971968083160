//! Apps that are installed at run time, in two processes over one catalog and one store.
#![allow(clippy::unwrap_used)]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use catalog::Catalog;
use futures::TryStreamExt;
use knowledge::Knowledge;
use object_store::memory::InMemory;
use object_store::path::Path as ObjectPath;
use object_store::{ObjectStore, ObjectStoreExt};
use runtime::ManualClock;
use tempfile::TempDir;

use crate::{AppFiles, Apps, Error, InstalledApps, Namespace, Package, PackedFile, Parts, Room};

pub(crate) struct Setup {
    pub(crate) store: Arc<dyn ObjectStore>,
    pub(crate) catalog: Catalog,
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) data: TempDir,
}

impl Setup {
    pub(crate) async fn new() -> Self {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let now = i64::try_from(now().as_micros()).unwrap();
        let clock = Arc::new(ManualClock::new(model::EventTime(now)));
        let settings = catalog::Settings::default();
        let catalog =
            Catalog::open(Arc::clone(&store), "catalog", settings, clock.clone()).await.unwrap();
        Self { store, catalog, clock, data: tempfile::tempdir().unwrap() }
    }

    /// A process with the apps in force.
    pub(crate) async fn process(&self, name: &str) -> Apps {
        self.process_with(name, Room::default()).await
    }

    /// The same, with a disk of some size.
    pub(crate) async fn process_with(&self, name: &str, room: Room) -> Apps {
        let directory = self.data.path().join(name);
        let (catalog, store) = (self.catalog.clone(), Arc::clone(&self.store));
        let installed = InstalledApps::new(catalog, store, directory, self.clock.clone());
        let installed = installed.with_room(room);
        assert!(installed.copy().await.is_empty());
        Apps::open(Parts {
            catalog: self.catalog.clone(),
            store: Arc::clone(&self.store),
            knowledge: Arc::new(Knowledge::builtin()),
            directory: None,
            shared: true,
            installed: Some(Arc::new(installed)),
            ignored: Vec::new(),
            tolerate: |_| Vec::new(),
        })
        .unwrap()
    }

    pub(crate) async fn objects(&self) -> Vec<ObjectPath> {
        let root = ObjectPath::from("installed");
        let listed: Vec<_> = self.store.list(Some(&root)).try_collect().await.unwrap();
        let paths = listed.into_iter().map(|object| object.location);
        // Those of apps, and the identity of the object store.
        let is_bundle = |name: &str| name.starts_with("bundle-");
        paths.filter(|path| !path.filename().is_some_and(is_bundle)).collect()
    }
}

#[expect(clippy::disallowed_methods, reason = "objects in memory have the time of the system")]
fn now() -> Duration {
    std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap()
}

pub(crate) fn package(files: &[(&str, &str)]) -> Package {
    let file = |(path, text): &(&str, &str)| PackedFile {
        path: PathBuf::from(path),
        bytes: text.as_bytes().to_vec(),
        executable: path.starts_with("bin/"),
    };
    let files = files.iter().map(file).collect();
    Package { app: "shop".to_owned(), files, kept: Vec::new(), links: Vec::new() }
}

pub(crate) fn definition(apps: &Apps, name: &str) -> Option<String> {
    let conf = apps.knowledge().conf("macros");
    conf.get(name, "definition").map(|entry| entry.value.clone())
}

const FIRST: [(&str, &str); 4] = [
    ("bin/run.sh", "#!/bin/sh\n"),
    ("default/macros.conf", "[m]\ndefinition = one\n"),
    ("local/macros.conf", "[own]\ndefinition = mine\n"),
    ("lookups/a.csv", "a,b\n1,2\n"),
];

#[tokio::test]
async fn an_app_is_in_force_in_all_processes_and_after_a_restart() {
    let setup = Setup::new().await;
    let (one, two) = (setup.process("one").await, setup.process("two").await);
    one.install(package(&FIRST), false, "ann").await.unwrap();
    assert_eq!(definition(&one, "m").as_deref(), Some("one"));
    assert_eq!(definition(&two, "m"), None);
    two.apply_installed().await.unwrap();
    let again = setup.process("one").await;
    for apps in [&one, &two, &again] {
        assert_eq!(definition(apps, "m").as_deref(), Some("one"));
        let directory = apps.directory_of("shop").unwrap().join("apps/shop");
        assert_eq!(std::fs::read(directory.join("lookups/a.csv")).unwrap(), b"a,b\n1,2\n");
        let mode = std::os::unix::fs::PermissionsExt::mode(
            &std::fs::metadata(directory.join("bin/run.sh")).unwrap().permissions(),
        );
        assert_eq!(mode & 0o100, 0o100);
        let info = apps.apps().into_iter().find(|app| app.name == "shop").unwrap();
        assert!(info.installed && info.removable);
    }
    let twice = one.install(package(&FIRST), false, "ann").await;
    assert!(matches!(twice, Err(Error::Exists(app)) if app == "shop"));
}

#[tokio::test]
async fn apps_that_the_disk_has_no_room_for_are_refused_with_their_names_and_the_place() {
    let setup = Setup::new().await;
    let one = setup.process("one").await;
    let small = setup.process_with("small", Room::new(|_| Some(5))).await;
    let refused = [
        small.install(package(&FIRST), false, "ann").await.unwrap_err(),
        small.validate_bundle(&[package(&FIRST)]).await.unwrap_err(),
    ];
    assert!(setup.objects().await.is_empty());
    one.install(package(&FIRST), false, "ann").await.unwrap();
    let not_copied = small.apply_installed().await.unwrap_err();
    let what = ["the app shop", "the bundle", "the app shop"];
    for (error, what) in refused.iter().chain([&not_copied]).zip(what) {
        let text = error.to_string();
        assert!(text.contains("/small: no space left on device"), "{text}");
        assert!(text.contains(&format!("{what} has ")) && text.contains("only 5"), "{text}");
    }
    assert_eq!(definition(&small, "m"), None);
}

#[tokio::test]
async fn an_update_keeps_the_files_of_users_and_a_removal_takes_all_away() {
    let setup = Setup::new().await;
    let (one, two) = (setup.process("one").await, setup.process("two").await);
    one.install(package(&FIRST), false, "ann").await.unwrap();
    two.apply_installed().await.unwrap();
    let before = two.directory_of("shop").unwrap();
    let second = [
        ("default/macros.conf", "[m]\ndefinition = two\n"),
        ("local/macros.conf", "[own]\ndefinition = theirs\n"),
    ];
    one.install(package(&second), true, "ann").await.unwrap();
    two.apply_installed().await.unwrap();
    for apps in [&one, &two] {
        assert_eq!(definition(apps, "m").as_deref(), Some("two"));
        assert_eq!(definition(apps, "own").as_deref(), Some("mine"));
        let directory = apps.directory_of("shop").unwrap();
        assert!(!directory.join("apps/shop/bin/run.sh").exists());
    }
    // A search that runs a program of the version before still finds it.
    assert!(before.join("apps/shop/bin/run.sh").exists());
    setup.clock.advance(Duration::from_secs(2 * 3600));
    two.remove_app("shop").await.unwrap();
    assert!(!before.exists());
    one.apply_installed().await.unwrap();
    for apps in [&one, &two] {
        assert_eq!(definition(apps, "m"), None);
        assert!(apps.apps().iter().all(|app| app.name != "shop"));
    }
}

#[tokio::test]
async fn a_search_finds_the_lookups_of_the_version_that_it_is_planned_by() {
    let setup = Setup::new().await;
    let apps = setup.process("one").await;
    apps.install(package(&FIRST), false, "ann").await.unwrap();
    let namespace = Namespace::new("ann", "shop");
    let (_, planned) = apps.view_with_files(&namespace, &[]);
    let second = [("default/macros.conf", ""), ("lookups/a.csv", "a,b\n3,4\n")];
    apps.install(package(&second), true, "ann").await.unwrap();
    let read = |files: AppFiles| {
        let (apps, namespace) = (&apps, &namespace);
        async move {
            let found = apps.read_lookup_at(&files, "a.csv", namespace, |_| true).await;
            found.unwrap().unwrap().bytes
        }
    };
    assert_eq!(read(planned.clone()).await, "a,b\n1,2\n");
    assert_eq!(read(apps.files()).await, "a,b\n3,4\n");
    // Copies of a version that was replaced are not kept for good.
    setup.clock.advance(Duration::from_secs(2 * 3600));
    apps.apply_installed().await.unwrap();
    assert_eq!(read(planned).await, "a,b\n3,4\n");
}

#[tokio::test]
async fn inputs_and_settings_of_processes_do_not_count() {
    let setup = Setup::new().await;
    let apps = setup.process("one").await;
    let files = [
        ("default/inputs.conf", "[monitor:///var/log]\n"),
        ("default/limits.conf", "[search]\nmax_mem_usage_mb = 1\n"),
        ("default/props.conf", "[st]\nTRUNCATE = 7\n"),
    ];
    apps.install(package(&files), false, "ann").await.unwrap();
    let rules = apps.rules();
    assert!(rules.conf("inputs").stanza("monitor:///var/log").is_none());
    let limits = rules.conf("limits");
    assert!(limits.get("search", "max_mem_usage_mb").is_none_or(|entry| entry.value != "1"));
    assert_eq!(rules.conf("props").get("st", "TRUNCATE").unwrap().value, "7");
}

#[tokio::test]
async fn what_cannot_be_copied_is_not_in_force() {
    let setup = Setup::new().await;
    let apps = setup.process("one").await;
    let clash = [("default/macros.conf", ""), ("lookups", ""), ("lookups/a.csv", "")];
    let refused = apps.install(package(&clash), false, "ann").await;
    assert!(matches!(refused, Err(Error::File { .. })), "{refused:?}");
    assert!(setup.catalog.snapshot().documents("installed_app").is_empty());
    assert!(apps.apps().iter().all(|app| app.name != "shop"));
}

#[tokio::test]
async fn a_damaged_object_leaves_the_version_before_in_force() {
    let setup = Setup::new().await;
    let (one, two) = (setup.process("one").await, setup.process("two").await);
    one.install(package(&FIRST), false, "ann").await.unwrap();
    two.apply_installed().await.unwrap();
    let known = setup.objects().await;
    let second = [("default/macros.conf", "[m]\ndefinition = two\n")];
    one.install(package(&second), true, "ann").await.unwrap();
    let new = setup.objects().await.into_iter().filter(|object| !known.contains(object));
    let mut held = Vec::new();
    for object in new {
        held.push((object.clone(), setup.store.get(&object).await.unwrap().bytes().await.unwrap()));
        setup.store.put(&object, "other".into()).await.unwrap();
    }
    let error = two.apply_installed().await.unwrap_err();
    assert!(matches!(error, Error::Damaged { .. }), "{error}");
    assert_eq!(definition(&two, "m").as_deref(), Some("one"));
    for (object, bytes) in held {
        setup.store.put(&object, bytes.into()).await.unwrap();
    }
    two.apply_installed().await.unwrap();
    assert_eq!(definition(&two, "m").as_deref(), Some("two"));
}

#[tokio::test]
async fn objects_of_a_replaced_version_are_deleted_when_its_bundle_is_not_kept_any_more() {
    let setup = Setup::new().await;
    let store_id = setup.catalog.identify(setup.store.as_ref()).await.unwrap();
    let apps = setup.process("one").await;
    apps.install(package(&FIRST), false, "ann").await.unwrap();
    let first = apps.checksum().unwrap();
    let second = [("default/macros.conf", "[m]\ndefinition = two\n")];
    apps.install(package(&second), true, "ann").await.unwrap();
    let in_force = apps.checksum().unwrap();
    let installed = setup.catalog.clone();
    let directory = setup.data.path().join("cleaner");
    let cleaner =
        InstalledApps::new(installed, Arc::clone(&setup.store), directory, setup.clock.clone());
    let before = setup.objects().await;
    cleaner.collect_garbage().await.unwrap();
    assert_eq!(setup.objects().await, before);
    setup.clock.advance(Duration::from_secs(25 * 3600));
    cleaner.collect_garbage().await.unwrap();
    assert_eq!(setup.objects().await, before);
    let earlier = setup.process("two").await.at(&first).await.unwrap();
    assert_eq!(definition(&earlier, "m").as_deref(), Some("one"));
    setup.clock.advance(Duration::from_secs(30 * 24 * 3600));
    cleaner.collect_garbage().await.unwrap();
    let refused = setup.process("three").await.at(&first).await.unwrap_err();
    assert_eq!(refused.kind(), model::ErrorKind::Invalid);
    let text = refused.to_string();
    assert!(text.contains("bundle_retention in distsearch.conf [replicationSettings]"), "{text}");
    assert!(text.ends_with(&format!("the newest first: {in_force}")), "{text}");
    // Two files (one is the users' own), the manifest, and the identity of the object store.
    assert_eq!(setup.objects().await.len(), 4);
    assert_eq!(setup.catalog.identify(setup.store.as_ref()).await.unwrap(), store_id);
    assert!(cleaner.copy().await.is_empty());
}

#[tokio::test]
async fn an_update_writes_only_new_files_and_old_objects() {
    let setup = Setup::new().await;
    let apps = setup.process("one").await;
    apps.install(package(&FIRST), false, "ann").await.unwrap();
    let first = setup.objects().await;
    let written = || async {
        let mut times = Vec::new();
        for object in &first {
            times.push(setup.store.head(object).await.unwrap().last_modified);
        }
        times
    };
    let before = written().await;
    let mut second = FIRST;
    second[1].1 = "[m]\ndefinition = two\n";
    apps.install(package(&second), true, "ann").await.unwrap();
    assert_eq!(written().await, before);
    // Garbage collection of another process may remove them soon.
    setup.clock.advance(Duration::from_secs(13 * 3600));
    apps.install(package(&FIRST), true, "ann").await.unwrap();
    let after = written().await;
    assert!(after.iter().zip(&before).all(|(after, before)| after > before));
}

#[tokio::test]
async fn apps_of_the_active_bundle_are_not_garbage_after_they_were_replaced() {
    let setup = Setup::new().await;
    let apps = setup.process("one").await;
    apps.apply_bundle(vec![package(&FIRST)], "ann").await.unwrap();
    let first = definition(&apps, "m");
    let mut other = FIRST;
    other[1].1 = "[m]\ndefinition = two\n";
    apps.install(package(&other), true, "ann").await.unwrap();
    // Longer than the apps of a former bundle are kept for searches.
    setup.clock.advance(Duration::from_secs(40 * 24 * 3600));
    let (catalog, store) = (setup.catalog.clone(), Arc::clone(&setup.store));
    let directory = setup.data.path().join("cleaner");
    let cleaner = InstalledApps::new(catalog, store, directory, setup.clock.clone());
    cleaner.collect_garbage().await.unwrap();
    other[1].1 = "[m]\ndefinition = three\n";
    apps.apply_bundle(vec![package(&other)], "ann").await.unwrap();
    cleaner.collect_garbage().await.unwrap();
    apps.roll_back_bundle("ann").await.unwrap();
    assert_eq!(definition(&apps, "m"), first);
    let two = setup.process("two").await;
    assert_eq!(definition(&two, "m"), first, "the other process reads them from object storage");
}

#[tokio::test]
async fn old_files_of_an_update_are_not_garbage() {
    let setup = Setup::new().await;
    let apps = setup.process("one").await;
    apps.install(package(&FIRST), false, "ann").await.unwrap();
    setup.clock.advance(Duration::from_secs(13 * 3600));
    let mut second = FIRST;
    second[1].1 = "[m]\ndefinition = two\n";
    apps.install(package(&second), true, "ann").await.unwrap();
    let (catalog, store) = (setup.catalog.clone(), Arc::clone(&setup.store));
    let directory = setup.data.path().join("cleaner");
    let cleaner = InstalledApps::new(catalog, store, directory, setup.clock.clone());
    setup.clock.advance(Duration::from_secs(12 * 3600));
    cleaner.collect_garbage().await.unwrap();
    assert!(cleaner.copy().await.is_empty());
    assert_eq!(definition(&setup.process("two").await, "m").as_deref(), Some("two"));
}

#[tokio::test]
async fn a_copy_that_is_incomplete_is_made_again() {
    let setup = Setup::new().await;
    let apps = setup.process("one").await;
    apps.install(package(&FIRST), false, "ann").await.unwrap();
    let lookup = apps.directory_of("shop").unwrap().join("apps/shop/lookups/a.csv");
    std::fs::remove_file(&lookup).unwrap();
    std::fs::write(&lookup, "").unwrap();
    drop(apps);
    setup.process("one").await;
    assert_eq!(std::fs::read(&lookup).unwrap(), b"a,b\n1,2\n");
}

#[tokio::test]
async fn what_namespaces_saw_of_the_apps_before_is_forgotten() {
    let setup = Setup::new().await;
    let apps = setup.process("one").await;
    let seen = |user: &str| apps.view(&Namespace::new(user, "search"));
    let before = Arc::downgrade(&seen("ann"));
    assert!(before.upgrade().is_some());
    apps.install(package(&FIRST), false, "ann").await.unwrap();
    // Nobody has asked for it again, and nobody may for a long time.
    assert!(before.upgrade().is_none());
    let after = Arc::downgrade(&seen("ann"));
    assert!(after.upgrade().is_some());
}
