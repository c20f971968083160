//! Objects, lookups, collections and apps over a catalog in memory.
#![allow(clippy::unwrap_used)]

use conf::Registry;
use std::sync::Arc;

use catalog::Catalog;
use futures::future::BoxFuture;
use knowledge::Knowledge;
use object_store::memory::InMemory;
use object_store::{ObjectStore, ObjectStoreExt};
use serde_json::json;

use crate::{
    Apps, Error, Install, NOBODY, Namespace, Package, PackedFile, Parts, Remark, Sharing,
    Suppressions, Target, install, report,
};

pub(crate) async fn open(
    store: &Arc<dyn ObjectStore>,
    directory: Option<&std::path::Path>,
) -> (Apps, Catalog) {
    let clock = Arc::new(runtime::SystemClock);
    let settings = catalog::Settings::default();
    let catalog = Catalog::open(Arc::clone(store), "catalog", settings, clock).await.unwrap();
    let files = match directory {
        Some(directory) => conf::Layers::read(directory).unwrap(),
        None => conf::Layers::builtin(),
    };
    let parts = Parts {
        knowledge: Arc::new(Knowledge::new(files)),
        catalog: catalog.clone(),
        store: Arc::clone(store),
        directory: directory.map(ToOwned::to_owned),
        shared: false,
        installed: None,
        ignored: Vec::new(),
        tolerate: |_| Vec::new(),
    };
    (Apps::open(parts).unwrap(), catalog)
}

pub(crate) fn memory() -> Arc<dyn ObjectStore> {
    Arc::new(InMemory::new())
}

pub(crate) fn settings(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect()
}

#[tokio::test]
async fn an_object_is_seen_by_its_owner_until_it_is_shared() {
    let store = memory();
    let (apps, _) = open(&store, None).await;
    let ann = Namespace::new("ann", "search");
    let bob = Namespace::new("bob", "search");
    let definition = settings(&[("definition", "index=web")]);
    apps.create("macros", "web", &ann, definition.clone()).await.unwrap();
    let sees = |namespace: &Namespace| {
        apps.view(namespace).conf("macros").get("web", "definition").map(|e| e.value.clone())
    };
    assert_eq!(sees(&ann).as_deref(), Some("index=web"));
    assert_eq!(sees(&bob), None);
    assert_eq!(sees(&Namespace::new("ann", "other")), None);
    assert!(apps.knowledge().conf("macros").stanza("web").is_none());
    apps.share("macros", "web", &ann, "ann", Sharing::App).await.unwrap();
    assert_eq!(sees(&bob).as_deref(), Some("index=web"));
    assert_eq!(sees(&Namespace::new("bob", "other")), None);
    apps.share("macros", "web", &bob, "ann", Sharing::Global).await.unwrap();
    assert_eq!(sees(&Namespace::new("bob", "other")).as_deref(), Some("index=web"));
    let again = apps.create("macros", "web", &Namespace::default(), definition).await;
    assert!(again.is_ok() || matches!(again, Err(Error::Exists(_))));
}

#[tokio::test]
async fn a_private_object_beside_a_shared_one_of_its_name_is_its_owners() {
    let (apps, _) = open(&memory(), None).await;
    let (all, ann) = (Namespace::default(), Namespace::new("ann", "search"));
    apps.create("macros", "web", &all, settings(&[("definition", "shared")])).await.unwrap();
    apps.create("macros", "web", &ann, settings(&[("definition", "own")])).await.unwrap();
    let found = |namespace: &Namespace| apps.get("macros", "web", namespace).unwrap();
    assert_eq!((found(&ann).sharing, found(&all).sharing), (Sharing::User, Sharing::App));
    assert_eq!(apps.private("macros").len(), 1);
    apps.update("macros", "web", &ann, &settings(&[("definition", "changed")])).await.unwrap();
    assert_eq!(found(&all).get("definition"), Some("shared"));
    apps.remove("macros", "web", &ann).await.unwrap();
    assert_eq!(found(&ann).get("definition"), Some("shared"));
}

#[tokio::test]
async fn objects_outlive_the_process_and_can_be_removed() {
    let store = memory();
    let ns = Namespace::default();
    {
        let (apps, catalog) = open(&store, None).await;
        apps.create("eventtypes", "bad", &ns, settings(&[("search", "error")])).await.unwrap();
        apps.update("eventtypes", "bad", &ns, &settings(&[("priority", "2")])).await.unwrap();
        catalog.close().await.unwrap();
    }
    let (apps, _) = open(&store, None).await;
    let found = apps.get("eventtypes", "bad", &ns).unwrap();
    assert_eq!(found.settings, settings(&[("search", "error"), ("priority", "2")]));
    apps.remove("eventtypes", "bad", &ns).await.unwrap();
    assert!(matches!(apps.get("eventtypes", "bad", &ns), Err(Error::NotFound(_))));
}

#[tokio::test]
async fn what_stands_in_files_is_overridden_not_removed() {
    let folder = tempfile::tempdir().unwrap();
    let app = folder.path().join("apps/ta/default");
    std::fs::create_dir_all(&app).unwrap();
    std::fs::write(app.join("macros.conf"), "[m]\ndefinition = a\ndescription = d\n").unwrap();
    let (apps, _) = open(&memory(), Some(folder.path())).await;
    let ns = Namespace::new(NOBODY, "ta");
    let error = apps.remove("macros", "m", &ns).await.unwrap_err();
    assert!(matches!(error, Error::Builtin(_)), "{error}");
    apps.update("macros", "m", &ns, &settings(&[("definition", "b")])).await.unwrap();
    let found = apps.get("macros", "m", &ns).unwrap();
    assert_eq!((found.get("definition"), found.get("description")), (Some("b"), Some("d")));
    apps.remove("macros", "m", &ns).await.unwrap();
    assert_eq!(apps.get("macros", "m", &ns).unwrap().get("definition"), Some("a"));
}

#[tokio::test]
async fn a_stored_setting_of_the_system_precedes_files_until_it_is_removed() {
    let folder = tempfile::tempdir().unwrap();
    let local = folder.path().join("system/local");
    std::fs::create_dir_all(&local).unwrap();
    std::fs::write(local.join("limits.conf"), "[search]\nttl = 5\nmax_count = 6\n").unwrap();
    let store = memory();
    {
        let (apps, catalog) = open(&store, Some(folder.path())).await;
        let both = settings(&[("ttl", "7"), ("max_count", "8")]);
        apps.store_in_system("limits", "search", &both).await.unwrap();
        catalog.close().await.unwrap();
    }
    let (apps, _) = open(&store, Some(folder.path())).await;
    let value = |key: &str| {
        let limits = apps.knowledge().conf("limits");
        limits.get("search", key).map(|entry| entry.value.clone())
    };
    assert_eq!((value("ttl").as_deref(), value("max_count").as_deref()), (Some("7"), Some("8")));
    apps.store_in_system("limits", "search", &settings(&[("ttl", "")])).await.unwrap();
    assert_eq!((value("ttl").as_deref(), value("max_count").as_deref()), (Some("5"), Some("8")));
    assert_eq!(apps.stored_in_system("limits", "search"), settings(&[("max_count", "8")]));
    apps.store_in_system("limits", "search", &settings(&[("max_count", "")])).await.unwrap();
    assert_eq!(value("max_count").as_deref(), Some("6"));
    assert!(apps.stored_in_system("limits", "search").is_empty());
    assert!(apps.get("limits", "search", &Namespace::default()).is_ok_and(|one| !one.removable));
}

#[tokio::test]
async fn processes_that_do_not_see_each_others_changes_lose_no_setting_of_the_system() {
    let store = memory();
    let (one, catalog) = open(&store, None).await;
    let another = || {
        let parts = Parts {
            knowledge: Arc::new(Knowledge::builtin()),
            catalog: catalog.clone(),
            store: Arc::clone(&store),
            directory: None,
            shared: true,
            installed: None,
            ignored: Vec::new(),
            tolerate: |_| Vec::new(),
        };
        Apps::open(parts).unwrap()
    };
    // As clients of `nobody/system` stored it before.
    let (home, both) = (Namespace::new(NOBODY, "system"), settings(&[("ttl", "5"), ("maxp", "6")]));
    one.create("limits", "search", &home, both).await.unwrap();
    let two = another();
    one.store_in_system("limits", "search", &settings(&[("ttl", "9")])).await.unwrap();
    let three = another();
    assert!(two.stored_in_system("limits", "search").contains(&("ttl".into(), "5".into())));
    one.store_in_system("limits", "search", &settings(&[("max_count", "7")])).await.unwrap();
    three.store_in_system("limits", "search", &settings(&[("maxp", "")])).await.unwrap();
    let all = settings(&[("max_count", "7"), ("ttl", "9")]);
    assert_eq!(another().stored_in_system("limits", "search"), all);
    let planned = another().system_with("limits", "search", &settings(&[("ttl", "8")]));
    assert_eq!(planned.effective("limits").get("search", "ttl").unwrap().value, "8");
    assert_eq!(another().stored_in_system("limits", "search"), all);
}

#[tokio::test]
async fn settings_that_cannot_hold_are_refused() {
    let (apps, _) = open(&memory(), None).await;
    let bad = settings(&[("EXTRACT-a", "(?<b>")]);
    let error = apps.create("props", "st", &Namespace::default(), bad).await.unwrap_err();
    assert!(error.to_string().contains("EXTRACT-a"), "{error}");
    assert!(apps.get("props", "st", &Namespace::default()).is_err());
}

#[tokio::test]
async fn lookup_files_are_found_in_the_order_of_namespaces() {
    let folder = tempfile::tempdir().unwrap();
    let lookups = folder.path().join("apps/ta/lookups");
    std::fs::create_dir_all(&lookups).unwrap();
    std::fs::write(lookups.join("hosts.csv"), "host\nfile\n").unwrap();
    let (apps, _) = open(&memory(), Some(folder.path())).await;
    let read = async |ns: &Namespace| {
        let found = apps.read_lookup("hosts.csv", ns).await.unwrap();
        found.map(|found| String::from_utf8(found.bytes.to_vec()).unwrap())
    };
    let shared = Namespace::default();
    assert_eq!(read(&shared).await.as_deref(), Some("host\nfile\n"));
    apps.write_lookup("hosts.csv", &shared, "host\nshared\n".into()).await.unwrap();
    assert_eq!(read(&Namespace::new("ann", "search")).await.as_deref(), Some("host\nshared\n"));
    assert_eq!(read(&Namespace::new("ann", "ta")).await.as_deref(), Some("host\nfile\n"));
    let names: Vec<String> =
        apps.list_lookups(&shared).await.unwrap().into_iter().map(|file| file.app).collect();
    assert_eq!(names, ["search", "ta"]);
    apps.remove_lookup("hosts.csv", &shared).await.unwrap();
    std::fs::write(lookups.join("hosts.csv.default"), "host\nshipped\n").unwrap();
    std::fs::write(lookups.join("other.csv.default"), "host\nshipped\n").unwrap();
    let other = apps.read_lookup("other.csv", &shared).await.unwrap().unwrap();
    assert_eq!(&other.bytes[..], b"host\nshipped\n");
    let names: Vec<String> =
        apps.list_lookups(&shared).await.unwrap().into_iter().map(|file| file.name).collect();
    assert_eq!(names, ["hosts.csv", "other.csv"]);
    assert_eq!(read(&shared).await.as_deref(), Some("host\nfile\n"));
    for name in ["../x.csv", "", ".hidden", "a/b.csv"] {
        assert!(apps.read_lookup(name, &shared).await.is_err(), "{name}");
    }
}

#[tokio::test]
async fn lookup_files_keep_names_of_any_characters() {
    let store = memory();
    let (apps, _) = open(&store, None).await;
    let own = Namespace::new("zoë~", "search");
    let names = ["a b&<i>.csv", "a\"b.csv", "a#b.csv", "a%20b.csv", "a~b*.csv", "größe.csv"];
    for name in names {
        apps.write_lookup(name, &own, "k\n1\n".into()).await.unwrap();
    }
    // Put there by other programs: not as this one encodes names.
    let path = object_store::path::Path::parse("lookups/nobody/search/é.csv").unwrap();
    store.put(&path, "k\n".into()).await.unwrap();
    let (apps, _) = open(&store, None).await;
    let listed = apps.list_lookups(&own).await.unwrap();
    let listed: Vec<&str> = listed
        .iter()
        .filter(|file| file.owner == own.owner)
        .map(|file| file.name.as_str())
        .collect();
    assert_eq!(listed, names);
    for name in names {
        assert!(apps.read_lookup(name, &own).await.unwrap().is_some(), "{name}");
        apps.remove_lookup(name, &own).await.unwrap();
        assert!(apps.read_lookup(name, &own).await.unwrap().is_none(), "{name}");
    }
    let left = apps.list_lookups(&own).await.unwrap();
    assert_eq!(left.iter().map(|file| file.name.as_str()).collect::<Vec<_>>(), ["é.csv"]);
}

#[tokio::test]
async fn lookup_files_whose_names_end_in_gz_are_compressed_once() {
    let (apps, _) = open(&memory(), None).await;
    let shared = Namespace::default();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut encoder, b"host\na\n").unwrap();
    let compressed = encoder.finish().unwrap();
    for bytes in [b"host\na\n".to_vec(), compressed] {
        apps.write_lookup("hosts.csv.gz", &shared, bytes.into()).await.unwrap();
        let found = apps.read_lookup("hosts.csv.gz", &shared).await.unwrap().unwrap();
        assert_eq!(&found.bytes[..], b"host\na\n");
    }
}

#[tokio::test]
async fn collections_keep_their_documents_over_restarts_and_folding() {
    let store = memory();
    let ns = Namespace::default();
    {
        let (apps, catalog) = open(&store, None).await;
        for number in 0..200 {
            let document = json!({"_key": format!("k{}", number % 50), "n": number});
            let document = document.as_object().unwrap().clone();
            apps.put_documents(&ns, "c", vec![document]).await.unwrap();
        }
        apps.delete_documents(&ns, "c", vec!["k7".to_owned()]).await.unwrap();
        catalog.close().await.unwrap();
    }
    let (apps, _) = open(&store, None).await;
    let documents = apps.documents(&ns, "c").await.unwrap();
    assert_eq!(documents.len(), 49);
    assert_eq!(documents["k3"]["n"], 153);
    let keys = apps.put_documents(&ns, "c", vec![serde_json::Map::new()]).await.unwrap();
    assert_eq!(keys[0].len(), 32);
}

#[tokio::test]
async fn two_processes_do_not_lose_each_others_changes() {
    let store = memory();
    let ns = Namespace::default();
    let (one, _) = open(&store, None).await;
    let (two, _) = open(&store, None).await;
    for (number, apps) in [&one, &two, &one, &two].into_iter().enumerate() {
        let document = json!({"_key": number.to_string()});
        apps.put_documents(&ns, "c", vec![document.as_object().unwrap().clone()]).await.unwrap();
    }
    assert_eq!(two.documents(&ns, "c").await.unwrap().len(), 4);
}

/// Two processes that follow one catalog, or one that leads and one that follows.
async fn sharing(store: &Arc<dyn ObjectStore>, catalog: &Catalog) -> Apps {
    let (files, directory) = (conf::Layers::builtin(), None);
    let (catalog, store) = (catalog.clone(), Arc::clone(store));
    let knowledge = Arc::new(Knowledge::new(files));
    let (installed, tolerate) = (None, (|_| Vec::new()) as crate::Tolerate);
    let (shared, ignored) = (true, Vec::new());
    Apps::open(Parts { catalog, store, knowledge, ignored, directory, shared, installed, tolerate })
        .unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_process_sees_what_another_one_changes_and_nothing_is_lost() {
    let store = memory();
    let ns = Namespace::default();
    let (_, catalog) = open(&store, None).await;
    let apps = [sharing(&store, &catalog).await, sharing(&store, &catalog).await];
    let document = |key: String| json!({ "_key": key }).as_object().unwrap().clone();
    for number in 0..200 {
        let (writer, reader) = (&apps[number % 2], &apps[(number + 1) % 2]);
        writer.put_documents(&ns, "c", vec![document(number.to_string())]).await.unwrap();
        assert_eq!(reader.documents(&ns, "c").await.unwrap().len(), number + 1);
    }
    // And side by side.
    let mut writing = tokio::task::JoinSet::new();
    for writer in 0..8 {
        let (apps, ns) = (apps[writer % 2].clone(), ns.clone());
        writing.spawn(async move {
            for number in 0..40 {
                let key = format!("{writer}-{number}");
                let document = json!({ "_key": key }).as_object().unwrap().clone();
                apps.put_documents(&ns, "c", vec![document]).await.unwrap();
            }
        });
    }
    writing.join_all().await;
    for apps in &apps {
        assert_eq!(apps.documents(&ns, "c").await.unwrap().len(), 520);
    }
    let late = sharing(&store, &catalog).await;
    assert_eq!(late.documents(&ns, "c").await.unwrap().len(), 520);
    late.delete_documents(&ns, "c", vec!["7".to_owned()]).await.unwrap();
    assert!(!apps[0].documents(&ns, "c").await.unwrap().contains_key("7"));
}

#[tokio::test]
async fn apps_without_files_come_and_go() {
    let (apps, _) = open(&memory(), None).await;
    apps.create_app("mine", &settings(&[("ui.label", "Mine")])).await.unwrap();
    let find = || apps.apps().into_iter().find(|app| app.name == "mine");
    assert_eq!(find().unwrap().get("ui.label"), Some("Mine"));
    assert!(matches!(apps.create_app("mine", &[]).await, Err(Error::Exists(_))));
    apps.update_app("mine", &settings(&[("ui.label", "New")])).await.unwrap();
    assert_eq!(find().unwrap().get("ui.label"), Some("New"));
    apps.remove_app("mine").await.unwrap();
    assert!(find().is_none());
    assert!(matches!(apps.remove_app("search").await, Err(Error::Builtin(_))));
    assert!(apps.create_app("../x", &[]).await.is_err());
}

fn packed(files: &[(&str, &str)]) -> Vec<u8> {
    let encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    let mut archive = tar::Builder::new(encoder);
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path, text.as_bytes()).unwrap();
    }
    archive.into_inner().unwrap().finish().unwrap()
}

#[test]
fn a_packed_app_is_installed_with_a_report() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ta.tgz");
    let bytes = packed(&[
        ("ta_web/default/props.conf", "[st]\nEXTRACT-a = (?<a>x)\nNOT_A_SETTING = 1\n"),
        ("ta_web/default/macros.conf", "[m]\ndefinition = x\n"),
        ("ta_web/default/transforms.conf", "[t]\nREGEX = .\nDEST_KEY = _SYSLOG_ROUTING\n"),
        ("ta_web/default/inputs.conf", "[snow://x]\ntable = y\ndisabled = 1\n[fifo:///x]\n"),
        ("ta_web/bin/run.py", "print()"),
        ("ta_web/lookups/a.csv", "a\n1\n"),
    ]);
    std::fs::write(&file, bytes).unwrap();
    let to = folder.path().join("etc");
    let request = Install { from: file, to: to.clone(), update: false };
    const INPUTS: &[conf::Setting] = &conf::notes("inputs", ["index"]);
    let settings = Registry::new(&[knowledge::settings::DECLARED, &[INPUTS]]);
    let report = install(&request, &settings).unwrap();
    assert_eq!((report.app.as_str(), report.files), ("ta_web", 6));
    let used = [("inputs", 1), ("macros", 1), ("props", 1), ("transforms", 1)];
    assert_eq!(report.used, used.map(|(name, count)| (name.to_owned(), count)));
    let gains: Vec<String> =
        report.gains.iter().map(|g| format!("{} {}", g.what, g.text)).collect();
    let fields = "fields 1 rule for 1 stanza of props.conf";
    assert_eq!(gains, [fields, "macros 1", "inputs 1", "modular inputs 1, which are not run"]);
    let remarks: Vec<String> =
        report.remarks.iter().map(|r| format!("{}: {}", r.place, r.text)).collect();
    assert!(remarks[0].starts_with("bin/run.py: of the programs of an app"), "{remarks:?}");
    assert_eq!(remarks[1], "default/inputs.conf:1: modular inputs of apps are not run");
    assert!(
        remarks[2].contains("default/props.conf:3: unknown setting NOT_A_SETTING"),
        "{remarks:?}"
    );
    let unused = "default/transforms.conf:3: setting DEST_KEY = _SYSLOG_ROUTING has no effect";
    assert!(remarks.iter().any(|remark| remark.contains(unused)), "{remarks:?}");
    assert!(!remarks[2].contains("[st]"), "remarks about several stanzas are equal: {remarks:?}");
    assert!(to.join("apps/ta_web/lookups/a.csv").exists());
    assert!(matches!(install(&request, &settings), Err(Error::Exists(_))));
    std::fs::create_dir_all(to.join("apps/ta_web/local")).unwrap();
    std::fs::write(to.join("apps/ta_web/local/props.conf"), "[st]\n").unwrap();
    install(&Install { update: true, ..request }, &settings).unwrap();
    assert!(to.join("apps/ta_web/local/props.conf").exists());
}

#[test]
fn settings_in_other_folders_of_an_app_are_not_counted() {
    let bytes = packed(&[
        ("kit/default/macros.conf", "[m]\ndefinition = x\n"),
        ("kit/src/other/default/macros.conf", "[n]\ndefinition = x\n"),
        ("kit/samples/props.conf", "[st]\nEXTRACT-a = (?<a>x)\n"),
    ]);
    let package = Package::unpack(bytes.as_slice(), "kit.tgz").unwrap();
    let settings = Registry::new(&[knowledge::settings::DECLARED]);
    let told = report(&package, Target::Server, &settings);
    assert_eq!(told.used, [("macros".to_owned(), 1)]);
    let gains: Vec<String> = told.gains.iter().map(|g| format!("{} {}", g.what, g.text)).collect();
    assert_eq!(gains, ["macros 1"]);
    let places: Vec<&str> = told.remarks.iter().map(|remark| remark.place.as_str()).collect();
    assert_eq!(places, ["samples/props.conf", "src/other/default/macros.conf"]);
    assert!(told.remarks[0].text.contains("only those in default and local"), "{told:?}");
}

#[test]
fn remarks_about_lines_that_cannot_be_read_are_few() {
    let garbage = [b"\xff\x00\x1b[31m\n".as_slice(); 1_000].concat();
    let bytes = [b"[a]\n".as_slice(), &garbage].concat();
    let told = remarks_about("default/savedsearches.conf", bytes);
    // The encoding, 100 lines, and the number of the others.
    assert_eq!(told.len(), 102, "{:?}", told.last());
    assert!(told.iter().any(|remark| remark.text.contains("is not UTF-8")), "{told:?}");
    let others = Remark {
        place: "default/savedsearches.conf:102".to_owned(),
        text: "900 further lines cannot be read".to_owned(),
    };
    assert!(told.contains(&others), "{told:?}");
    assert!(told.iter().all(|remark| remark.place.contains(".conf:")), "{told:?}");
}

#[test]
fn every_setting_that_is_not_used_is_reported() {
    let settings: Vec<String> = (0..300).map(|number| format!("unused_{number} = 1\n")).collect();
    let bytes = format!("[st]\n{}", settings.concat()).into_bytes();
    let told = remarks_about("default/props.conf", bytes);
    assert_eq!(told.len(), 300, "{:?}", told.last());
}

/// Returns the remarks about an app with one file.
fn remarks_about(path: &str, bytes: Vec<u8>) -> Vec<Remark> {
    let files = vec![PackedFile { path: path.into(), bytes, executable: false }];
    let package = Package { app: "ta".to_owned(), files, kept: Vec::new(), links: Vec::new() };
    let settings = Registry::new(&[knowledge::settings::DECLARED]);
    report(&package, Target::Server, &settings).remarks
}

#[test]
fn what_is_no_app_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.tgz");
    let to = folder.path().join("etc");
    for bytes in [b"not packed".to_vec(), packed(&[("a/readme.txt", "x")])] {
        std::fs::write(&file, bytes).unwrap();
        let request = Install { from: file.clone(), to: to.clone(), update: false };
        let error = install(&request, &Registry::new(&[])).unwrap_err();
        assert!(matches!(error, Error::Invalid(_)), "{error}");
    }
}

#[test]
fn an_archive_has_one_app_and_may_have_other_files_beside_it() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("x.tgz");
    let request = Install { from: file.clone(), to: folder.path().join("etc"), update: false };
    let one = [("._ta", "x"), ("ta/default/app.conf", "[ui]\n"), ("zz.txt", "x")];
    std::fs::write(&file, packed(&one)).unwrap();
    assert_eq!(install(&request, &Registry::new(&[])).unwrap().app, "ta");
    let two = [("ta/default/app.conf", "[ui]\n"), ("tb/lookups/a.csv", "a\n")];
    std::fs::write(&file, packed(&two)).unwrap();
    let error = install(&request, &Registry::new(&[])).unwrap_err().to_string();
    assert!(error.contains("has several apps: ta, tb"), "{error}");
}

#[test]
fn a_file_that_is_no_archive_is_named_as_what_it_is() {
    let one = packed(&[("ta/default/app.conf", "[ui]\n")]);
    let refused = |bytes: &[u8]| Package::unpack(bytes, "x.tgz").unwrap_err().to_string();
    let other = refused(&[0xf0; 2_000]);
    assert!(
        other.ends_with("(.tgz, .tar.gz, .spl): it is neither a gzip nor a tar file"),
        "{other}"
    );
    assert!(
        refused(&one[..30]).contains("not a tar file or is damaged"),
        "{}",
        refused(&one[..30])
    );
    assert!(refused(b"PK\x03\x04\x14").starts_with("x.tgz is a zip file: pack the app as .tgz"));
}

#[cfg(unix)]
#[test]
fn links_to_directories_and_sockets_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let from = folder.path().join("ta");
    std::fs::create_dir_all(from.join("default")).unwrap();
    std::fs::write(from.join("default/app.conf"), "[ui]\n").unwrap();
    let request = Install { from: from.clone(), to: folder.path().join("etc"), update: true };
    let refused = || install(&request, &Registry::new(&[])).unwrap_err().to_string();
    std::os::unix::fs::symlink(&from, from.join("loop")).unwrap();
    assert!(refused().contains("loop is a link to a directory"), "{}", refused());
    std::fs::remove_file(from.join("loop")).unwrap();
    let socket = std::os::unix::net::UnixListener::bind(from.join("socket")).unwrap();
    assert!(refused().contains("socket is not a regular file"), "{}", refused());
    drop(socket);
    std::fs::remove_file(from.join("socket")).unwrap();
    std::os::unix::fs::symlink(from.join("default/app.conf"), from.join("linked")).unwrap();
    assert_eq!(install(&request, &Registry::new(&[])).unwrap().files, 2);
}

#[test]
fn links_in_an_archive_are_left_out_and_named() {
    let mut archive = tar::Builder::new(Vec::new());
    let mut header = tar::Header::new_gnu();
    header.set_size(5);
    header.set_mode(0o644);
    archive.append_data(&mut header, "ta/default/app.conf", &b"[ui]\n"[..]).unwrap();
    let mut header = tar::Header::new_gnu();
    header.set_size(0);
    header.set_entry_type(tar::EntryType::Symlink);
    archive.append_link(&mut header, "ta/default/props.conf", "/etc/passwd").unwrap();
    let package = Package::unpack(&archive.into_inner().unwrap()[..], "ta.tgz").unwrap();
    let told = report(&package, Target::Server, &Registry::new(&[]));
    assert_eq!(told.files, 1);
    let [link] = &told.remarks[..] else { panic!("{:?}", told.remarks) };
    assert_eq!(link.place, "default/props.conf");
    assert!(link.text.starts_with("a link in an archive is left out"), "{}", link.text);
}

#[tokio::test]
async fn metadata_of_an_app_says_what_other_apps_and_users_see() {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join("apps/shop").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("default/macros.conf", "[own]\ndefinition = a\n[shown]\ndefinition = b\n");
    write("default/props.conf", "[web]\nEXTRACT-a = (?<a>.)\nEXTRACT-b = (?<b>.)\n");
    write("lookups/own.csv", "a\n1\n");
    write("lookups/shown.csv", "a\n1\n");
    let meta = "[]\nexport = none\n[macros/shown]\nexport = system\n[lookups/shown.csv]\n\
                export = system\n[props/web/EXTRACT-a]\nexport = system\n";
    write("metadata/default.meta", meta);
    let (apps, _) = open(&memory(), Some(root.path())).await;
    let (there, elsewhere) = (Namespace::new("ann", "shop"), Namespace::new("ann", "search"));
    let has = |view: &Knowledge, conf: &str, stanza: &str, key: &str| {
        view.conf(conf).get(stanza, key).is_some()
    };
    let (here, other) = (apps.view(&there), apps.view(&elsewhere));
    assert!(has(&here, "macros", "own", "definition"));
    assert!(!has(&other, "macros", "own", "definition"));
    assert!(has(&other, "macros", "shown", "definition"));
    assert!(has(&other, "props", "web", "EXTRACT-a") && !has(&other, "props", "web", "EXTRACT-b"));
    let shared = apps.get("macros", "shown", &elsewhere).unwrap().sharing;
    assert_eq!(shared, Sharing::Global);
    let files = |found: Vec<crate::LookupFile>| found.into_iter().map(|file| file.name).collect();
    let seen: Vec<String> = files(apps.list_lookups(&elsewhere).await.unwrap());
    assert_eq!(seen, ["shown.csv"]);
    assert!(apps.read_lookup("own.csv", &elsewhere).await.unwrap().is_none());
    assert!(apps.read_lookup("own.csv", &there).await.unwrap().is_some());
    // The objects that a user may not read: all macros of the app, and one setting.
    let hidden = ["nobody/shop/macros", "nobody/shop/props/web/EXTRACT-a"].map(str::to_owned);
    let less = apps.view_without(&there, &hidden);
    assert!(!has(&less, "macros", "own", "definition") && !has(&less, "props", "web", "EXTRACT-a"));
    assert!(has(&less, "props", "web", "EXTRACT-b"));
    let none = apps.view_without(&there, &["nobody/shop".to_owned()]);
    assert!(!has(&none, "props", "web", "EXTRACT-b"));
}

#[tokio::test]
async fn the_objects_of_all_apps_are_those_that_each_of_them_sees() {
    let root = tempfile::tempdir().unwrap();
    let write = |path: &str, text: &str| {
        let path = root.path().join("apps").join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    };
    write("a/default/macros.conf", "[m]\ndefinition = a\n[only_a]\ndefinition = a\n");
    write("a/default/props.conf", "[web]\nEXTRACT-a = (?<a>.)\nEXTRACT-b = (?<b>.)\n");
    write("a/metadata/default.meta", "[props/web/EXTRACT-a]\nexport = system\n");
    write("b/default/macros.conf", "[m]\ndefinition = b\ndescription = b\n[shown]\nargs = x\n");
    write("b/local/macros.conf", "[shown]\ndefinition = b\n");
    write("b/metadata/default.meta", "[macros]\nexport = system\n");
    write("c/default/macros.conf", "[m]\ndefinition = c\n[shown]\ndefinition = c\n");
    let (apps, _) = open(&memory(), Some(root.path())).await;
    let definition = settings(&[("definition", "stored")]);
    for (name, owner, app) in [("m", "ann", "a"), ("new", NOBODY, "b")] {
        apps.create("macros", name, &Namespace::new(owner, app), definition.clone()).await.unwrap();
    }
    apps.update("macros", "m", &Namespace::new(NOBODY, "c"), &definition).await.unwrap();
    let shared = Namespace::new(NOBODY, "b");
    apps.share("macros", "new", &shared, "ann", Sharing::Global).await.unwrap();
    for (conf, owner) in [("macros", NOBODY), ("macros", "ann"), ("props", NOBODY)] {
        let mut expected = std::collections::BTreeMap::new();
        for app in apps.apps() {
            let there = Namespace::new(owner, &app.name);
            let view = apps.view(&there).conf(conf);
            for object in apps.list(conf, &there) {
                for (key, value) in &object.settings {
                    let seen = view.get(&object.name, key).map(|entry| &entry.value);
                    assert_eq!(seen, Some(value), "{there} {} {key}", object.name);
                }
                let place = (object.name.clone(), object.app.clone());
                expected.entry(place).or_insert(object);
            }
        }
        let found = apps.list(conf, &Namespace::new(owner, "-"));
        assert_eq!(found, expected.into_values().collect::<Vec<_>>(), "{conf} {owner}");
    }
    let found = apps.list("macros", &Namespace::new("ann", "-"));
    let is_new = |object: &&crate::ConfObject| object.name == "new";
    let new = found.iter().find(is_new).unwrap();
    let facts = (new.app.as_str(), new.owner.as_str(), new.sharing, new.removable);
    assert_eq!(facts, ("b", "ann", Sharing::Global, true));
    assert_eq!(apps.private("macros").len(), 1);
}

#[tokio::test]
async fn a_suppression_holds_until_its_time_over_a_restart_and_until_it_is_removed() {
    let store = memory();
    let (apps, catalog) = open(&store, None).await;
    let ann = Namespace::new("ann", "search");
    let make = apps.create("savedsearches", "one", &ann, settings(&[("search", "a")]));
    let search = make.await.unwrap();
    let suppressions = Suppressions::load(catalog.clone()).unwrap();
    assert_eq!(suppressions.left(&search, 100), 0);
    suppressions.put(&search, 160).await.unwrap();
    assert_eq!((suppressions.left(&search, 100), suppressions.left(&search, 170)), (60, 0));
    let mut shared = search.clone();
    shared.sharing = Sharing::App;
    assert_eq!(suppressions.left(&shared, 100), 0);
    let again = Suppressions::load(catalog).unwrap();
    assert_eq!(again.left(&search, 100), 60);
    again.remove(&search).await.unwrap();
    assert_eq!(again.left(&search, 100), 0);
}

/// A directory with an app that has pages and files for browsers.
fn gallery() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let app = dir.path().join("apps/gallery");
    let files = [
        ("default/data/ui/views/both.xml", "<dashboard><label>default</label></dashboard>"),
        ("local/data/ui/views/both.xml", "<dashboard><label>local</label></dashboard>"),
        ("default/data/ui/views/shipped.xml", "<form/>"),
        ("default/data/ui/nav/default.xml", "<nav/>"),
        ("appserver/static/look.css", "a {}"),
        ("appserver/static/run.js", "go()"),
        ("default/secret.css", "a {}"),
        ("metadata/default.meta", "[]\nexport = none\n"),
    ];
    for (name, text) in files {
        let path = app.join(name);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    dir
}

#[tokio::test]
async fn pages_of_apps_are_objects_that_others_hide() {
    let (store, dir) = (memory(), gallery());
    let (apps, _) = open(&store, Some(dir.path())).await;
    let everybody = Namespace::new(NOBODY, "gallery");
    let text = |name: &str, namespace: &Namespace| {
        let found = apps.get("views", name, namespace).ok();
        found.and_then(|object| object.get(crate::TEXT).map(str::to_owned))
    };
    assert!(text("both", &everybody).unwrap().contains("local"));
    assert_eq!(text("shipped", &everybody).as_deref(), Some("<form/>"));
    assert_eq!(text("shipped", &Namespace::new(NOBODY, "search")), None);
    assert!(apps.get("nav", "default", &everybody).is_ok());
    let own = Namespace::new("ann", "gallery");
    let changed = settings(&[(crate::TEXT, "<form>mine</form>")]);
    apps.create("views", "shipped", &own, changed).await.unwrap();
    assert_eq!(text("shipped", &own).as_deref(), Some("<form>mine</form>"));
    assert_eq!(text("shipped", &everybody).as_deref(), Some("<form/>"));
    let removed = apps.remove("views", "shipped", &everybody).await;
    assert!(matches!(removed, Err(Error::Builtin(_))));
}

#[tokio::test]
async fn files_for_browsers_stay_in_their_folder() {
    let (store, dir) = (memory(), gallery());
    let folder = dir.path().join("apps/gallery/appserver/static");
    std::os::unix::fs::symlink("../../default/secret.css", folder.join("link.css")).unwrap();
    std::os::unix::fs::symlink("../../default", folder.join("linked")).unwrap();
    let (apps, _) = open(&store, Some(dir.path())).await;
    assert_eq!(
        apps.static_file("gallery", "look.css").unwrap().media_type,
        "text/css; charset=utf-8"
    );
    for path in [
        "run.js",
        "none.css",
        "../../default/secret.css",
        "/etc/secret.css",
        "link.css",
        "linked/secret.css",
        "a\\..\\look.css",
        "",
    ] {
        let found = apps.static_file("gallery", path);
        assert!(matches!(found, Err(Error::NotFound(_))), "{path}: {found:?}");
    }
    for app in ["..", "gallery/appserver", "", "."] {
        assert!(apps.static_file(app, "look.css").is_err(), "{app}");
    }
}

/// Records the `TRUNCATE` of a source type in the rules of each notification.
#[derive(Debug, Default)]
struct Told(parking_lot::Mutex<Vec<Option<usize>>>);

impl crate::Applied for Told {
    fn apply<'a>(&'a self, rules: &'a Arc<Knowledge>, _: &'a [conf::Warning]) -> BoxFuture<'a, ()> {
        Box::pin(async move {
            self.0.lock().push(rules.parsing_rules("st", "", "").truncate);
        })
    }
}

#[tokio::test]
async fn shared_objects_are_rules_for_events_that_arrive() {
    let store = memory();
    let (apps, catalog) = open(&store, None).await;
    let told = Arc::new(Told::default());
    apps.tell(Arc::clone(&told) as Arc<dyn crate::Applied>);
    let shared = Namespace::new(NOBODY, "search");
    let ann = Namespace::new("ann", "search");
    let truncate = |bytes| settings(&[("TRUNCATE", bytes)]);
    apps.create("props", "st", &shared, truncate("7")).await.unwrap();
    apps.create("props", "st", &ann, truncate("8")).await.unwrap();
    apps.create("macros", "m", &shared, settings(&[("definition", "x")])).await.unwrap();
    apps.update("props", "st", &shared, &truncate("9")).await.unwrap();
    assert_eq!(*told.0.lock(), [Some(7), Some(9)]);
    // Objects of another process, and those that existed at the start.
    let again = Apps::open(Parts {
        knowledge: Arc::new(Knowledge::builtin()),
        catalog: catalog.clone(),
        store,
        directory: None,
        shared: false,
        installed: None,
        ignored: Vec::new(),
        tolerate: |_| Vec::new(),
    });
    let again = again.unwrap();
    assert_eq!(again.rules().parsing_rules("st", "", "").truncate, Some(9));
    apps.remove("props", "st", &shared).await.unwrap();
    catalog::Followed::reload(&again).unwrap();
    again.changed().await;
    assert_eq!(again.rules().parsing_rules("st", "", "").truncate, Some(10_000));
    assert_eq!(told.0.lock().last(), Some(&Some(10_000)));
    for (conf, key, value) in [
        ("props", "LINE_BREAKER", "("),
        ("props", "TIME_FORMAT", "%10"),
        ("props", "TIME_FORMAT", "YYYY"),
        ("transforms", "REGEX", "("),
    ] {
        for namespace in [&shared, &ann] {
            let refused = apps.create(conf, "x", namespace, settings(&[(key, value)])).await;
            let is_named = matches!(&refused, Err(Error::Invalid(text)) if text.contains(key));
            assert!(is_named, "{key} = {value}: {refused:?}");
        }
    }
    apps.create("transforms", "x", &shared, settings(&[("REGEX", "(a)")])).await.unwrap();
    let refused = apps.update("transforms", "x", &shared, &settings(&[("REGEX", "(")])).await;
    assert!(matches!(refused, Err(Error::Invalid(_))), "{refused:?}");
}
