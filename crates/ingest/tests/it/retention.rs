//! Old and surplus buckets are frozen, archived ones come back.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use catalog::Commit;
use futures::TryStreamExt;
use ingest::{Ingest, Keep, Settings, Thaw};
use inputs::SinkExt;
use model::{BucketState, EventTime, IndexerId, TimeRange};
use runtime::ManualClock;
use testkit::TestDir;

use crate::merging::{merging, objects};
use crate::setup::{Setup, cut, dated, main_index, now, start_with_indexes};

const HOUR: i64 = 3600;

#[tokio::test]
async fn buckets_older_than_the_period_are_deleted() {
    let data = TestDir::new();
    let conf = "[main]\nfrozenTimePeriodInSecs = 7200\n";
    let setup = start_with_indexes(data.path(), quiet(), conf).await;
    three_hours(&setup).await;
    setup.ingest.rotate().await.unwrap();
    assert_eq!(setup.texts().await, ["1 hours ago", "0 hours ago"]);
    setup.ingest.rotate().await.unwrap();
    assert_eq!(objects(&setup).await, 2);
}

#[tokio::test]
async fn frozen_buckets_are_kept_in_the_archive_and_come_back_by_time() {
    let data = TestDir::new();
    let elsewhere = TestDir::new();
    for archive in ["archive/cold".to_owned(), elsewhere.path().display().to_string()] {
        let data = data.join(if archive.starts_with('/') { "directory" } else { "prefix" });
        let conf = format!("[main]\nfrozenTimePeriodInSecs = 1800\ncoldToFrozenDir = {archive}\n");
        let setup = start_with_indexes(&data, quiet(), &conf).await;
        three_hours(&setup).await;
        setup.ingest.rotate().await.unwrap();
        setup.ingest.rotate().await.unwrap();
        assert_eq!((setup.texts().await, objects(&setup).await), (vec!["0 hours ago".into()], 1));

        let thawed = setup.ingest.thaw(&thaw(2)).await.unwrap();
        assert_eq!((thawed.buckets, thawed.events, thawed.present), (1, 1, 0));
        assert_eq!(setup.texts().await, ["2 hours ago", "0 hours ago"]);
        let again = setup.ingest.thaw(&thaw(2)).await.unwrap();
        assert_eq!((again.buckets, again.present), (0, 1));
        // Retention leaves it alone, and so does merging.
        setup.ingest.rotate().await.unwrap();
        let states: Vec<_> =
            setup.catalog.snapshot().buckets(&main_index()).iter().map(|b| b.state).collect();
        assert_eq!(states, [BucketState::Warm, BucketState::Thawed]);

        assert_eq!(setup.ingest.freeze_thawed(&main_index(), &TimeRange::ALL).await.unwrap(), 1);
        setup.ingest.rotate().await.unwrap();
        assert_eq!((setup.texts().await.len(), objects(&setup).await), (1, 1));
        assert_eq!(setup.ingest.thaw(&thaw(2)).await.unwrap().buckets, 1);
    }
}

#[tokio::test]
async fn buckets_stay_while_the_disk_of_their_archive_is_not_mounted() {
    let (data, disk) = (TestDir::new(), TestDir::new());
    let (archive, unmounted) = (disk.join("cold"), disk.join("unmounted"));
    let place = archive.display();
    let conf = format!("[main]\nfrozenTimePeriodInSecs = 5400\ncoldToFrozenDir = {place}\n");
    let setup = start_with_indexes(data.path(), quiet(), &conf).await;
    let not_frozen = setup.ingest.not_frozen();
    let told = || not_frozen.borrow().as_deref().map(str::to_owned);
    event(&setup, 3, "3 hours ago").await;
    setup.ingest.rotate().await.unwrap();
    assert_eq!((setup.texts().await.len(), told()), (0, None));
    let id = fs::read_to_string(archive.join("archive.id")).unwrap();

    // What is below its mount point: nothing, then an empty directory.
    fs::rename(&archive, &unmounted).unwrap();
    event(&setup, 2, "2 hours ago").await;
    for is_there in [false, true] {
        if is_there {
            fs::create_dir(&archive).unwrap();
        }
        setup.ingest.rotate().await.unwrap();
        assert_eq!(setup.texts().await, ["2 hours ago"]);
        let said = told().unwrap();
        assert!(said.starts_with("buckets of main are not frozen: archive \"/"), "{said}");
        assert!(said.contains(&place.to_string()) && said.contains("mount its disk"), "{said}");
        assert!(setup.ingest.thaw(&thaw(3)).await.is_err(), "this is not the archive");
        let left = fs::read_dir(&archive).map_or(0, Iterator::count);
        assert_eq!((archive.exists(), left), (is_there, 0), "nothing is made there");
    }
    fs::remove_dir(&archive).unwrap();
    fs::rename(&unmounted, &archive).unwrap();
    setup.ingest.rotate().await.unwrap();
    assert_eq!((setup.texts().await.len(), told()), (0, None));
    assert_eq!(setup.ingest.thaw(&thaw(3)).await.unwrap().buckets, 1);

    // Another directory, as the message says.
    fs::rename(&archive, &unmounted).unwrap();
    fs::create_dir(&archive).unwrap();
    fs::write(archive.join("archive.id"), id).unwrap();
    event(&setup, 4, "4 hours ago").await;
    setup.ingest.rotate().await.unwrap();
    assert_eq!((setup.texts().await, told()), (vec!["3 hours ago".into()], None));
    assert!(archive.join("main").exists());
}

#[tokio::test]
async fn a_bucket_that_the_archive_refuses_does_not_keep_others_from_being_frozen() {
    let (data, archive) = (TestDir::new(), TestDir::new());
    let place = archive.path().display();
    let conf = format!("[main]\nfrozenTimePeriodInSecs = 1800\ncoldToFrozenDir = {place}\n");
    let setup = start_with_indexes(data.path(), quiet(), &conf).await;
    let not_frozen = setup.ingest.not_frozen();
    let told = || not_frozen.borrow().as_deref().map(str::to_owned);
    three_hours(&setup).await;
    let snapshot = setup.catalog.snapshot();
    let oldest = snapshot.buckets(&main_index()).oldest_first().next().unwrap();
    let path = oldest.path();
    let day = path.split('/').nth(2).unwrap();
    let other = archive.path().join(format!("main/{day}/{}.parquet", oldest.id));
    fs::create_dir_all(other.parent().unwrap()).unwrap();
    fs::write(&other, "other").unwrap();
    setup.ingest.rotate().await.unwrap();
    assert_eq!(setup.texts().await, ["2 hours ago", "0 hours ago"]);
    let said = told().unwrap();
    assert!(said.contains(&oldest.id.to_string()) && said.contains("remove it"), "{said}");
    fs::remove_file(&other).unwrap();
    setup.ingest.rotate().await.unwrap();
    assert_eq!(setup.texts().await.len(), 2, "it is tried again later");
    assert_eq!(told().unwrap(), said);
    // The refusals are forgotten with the settings.
    let keep = Keep { period: Duration::from_secs(1_700), total: 0 };
    setup.ingest.set_keep(&main_index(), Some(keep));
    setup.ingest.rotate().await.unwrap();
    assert_eq!((setup.texts().await, told()), (vec!["0 hours ago".into()], None));
}

/// As over an older catalog, which names buckets that were frozen since.
#[tokio::test]
async fn buckets_whose_objects_are_missing_do_not_keep_others_from_being_frozen() {
    let (data, archive) = (TestDir::new(), TestDir::new());
    let place = archive.path().display();
    let conf = format!("[main]\nfrozenTimePeriodInSecs = 1800\ncoldToFrozenDir = {place}\n");
    let setup = start_with_indexes(data.path(), quiet(), &conf).await;
    let not_frozen = setup.ingest.not_frozen();
    for hours in [4, 3, 2, 0] {
        event(&setup, hours, &format!("{hours} hours ago")).await;
    }
    let snapshot = setup.catalog.snapshot();
    let oldest: Vec<_> = snapshot.buckets(&main_index()).oldest_first().take(2).collect();
    let paths: Vec<String> = oldest.iter().map(|bucket| bucket.path()).collect();
    let object = |at: usize| data.path().join("store").join(&paths[at]);
    let archived = |at: usize, bytes: &[u8]| {
        let path = archive.path().join(paths[at].strip_prefix("buckets/").unwrap());
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    };
    let [first, second] = [0, 1].map(|at| fs::read(object(at)).unwrap());
    [0, 1].into_iter().for_each(|at| fs::remove_file(object(at)).unwrap());
    archived(0, &first);
    setup.ingest.rotate().await.unwrap();
    let snapshot = setup.catalog.snapshot();
    assert_eq!((snapshot.len(), snapshot.contains(&main_index(), oldest[1].id)), (2, true));
    let said = not_frozen.borrow().as_deref().map(str::to_owned).unwrap();
    assert!(said.contains(&paths[1]), "{said}");
    event(&setup, 5, "5 hours ago").await;
    setup.ingest.rotate().await.unwrap();
    assert_eq!(setup.catalog.snapshot().len(), 2);

    // Its copy comes back to its own path, and what a search has noted of it goes.
    archived(1, &second);
    let (name, note) = (oldest[1].id.to_string(), serde_json::json!({}));
    setup.catalog.put_document("quarantine", &name, note.clone()).await.unwrap();
    let all = Thaw { index: main_index(), range: TimeRange::ALL, from: None };
    let thawed = setup.ingest.thaw(&all).await.unwrap();
    assert_eq!((thawed.buckets, thawed.present), (4, 0), "{thawed:?}");
    let expected = [5, 4, 3, 2, 0].map(|hours| format!("{hours} hours ago"));
    assert_eq!(setup.texts().await, expected);
    assert!(object(1).exists());
    assert!(setup.catalog.snapshot().document("quarantine", &name).is_none());
    // An object that is there is not replaced.
    setup.catalog.put_document("quarantine", &name, note).await.unwrap();
    let thawed = setup.ingest.thaw(&all).await.unwrap();
    assert_eq!((thawed.buckets, thawed.present, thawed.unreadable.len()), (0, 3, 1));
    assert!(thawed.unreadable[0].contains("is in quarantine"), "{thawed:?}");
}

#[tokio::test]
async fn an_archive_in_the_place_of_the_buckets_is_tried_with_few_of_them() {
    let data = TestDir::new();
    let place = data.path().join("store/buckets").display().to_string();
    let conf = format!("[main]\nfrozenTimePeriodInSecs = 1800\ncoldToFrozenDir = {place}\n");
    let setup = start_with_indexes(data.path(), quiet(), &conf).await;
    for number in 0..66 {
        event(&setup, 2, &format!("event {number}")).await;
    }
    for _ in 0..2 {
        setup.ingest.rotate().await.unwrap();
    }
    assert_eq!(setup.texts().await.len(), 66);
    let note = setup.catalog.snapshot().document("freezing", "main").unwrap();
    assert_eq!(note["buckets"].as_array().unwrap().len(), 64);
}

/// Copies that look like their originals, as after a restore of two S3 buckets: hard links do here.
#[tokio::test]
async fn copies_that_look_like_their_buckets_do_not_keep_others_from_being_frozen() {
    let data = TestDir::new();
    let archive = data.path().join("cold");
    let place = archive.display();
    let conf = format!("[main]\nfrozenTimePeriodInSecs = 1800\ncoldToFrozenDir = {place}\n");
    let setup = start_with_indexes(data.path(), quiet(), &conf).await;
    for number in 0..70 {
        event(&setup, 2, &format!("event {number}")).await;
    }
    let snapshot = setup.catalog.snapshot();
    for bucket in snapshot.buckets(&main_index()).oldest_first().take(66) {
        let path = bucket.path();
        let copy = archive.join(path.strip_prefix("buckets/").unwrap());
        fs::create_dir_all(copy.parent().unwrap()).unwrap();
        fs::hard_link(data.path().join("store").join(&path), copy).unwrap();
    }
    for _ in 0..2 {
        setup.ingest.rotate().await.unwrap();
        assert_eq!(setup.texts().await.len(), 66);
    }
}

#[tokio::test]
async fn a_damaged_object_of_the_archive_is_named_and_the_others_come_back() {
    let (data, archive) = (TestDir::new(), TestDir::new());
    let place = archive.path().display();
    let conf = format!("[main]\nfrozenTimePeriodInSecs = 1800\ncoldToFrozenDir = {place}\n");
    let setup = start_with_indexes(data.path(), quiet(), &conf).await;
    three_hours(&setup).await;
    setup.ingest.rotate().await.unwrap();
    setup.ingest.rotate().await.unwrap();
    let mut files = Vec::new();
    for day in fs::read_dir(archive.path().join("main")).unwrap() {
        let day = fs::read_dir(day.unwrap().path()).unwrap();
        files.extend(day.map(|file| file.unwrap().path()));
    }
    files.retain(|file| file.extension().is_some_and(|extension| extension == "parquet"));
    assert_eq!(files.len(), 2, "{files:?}");
    let bytes = fs::read(&files[0]).unwrap();
    fs::write(&files[0], &bytes[..bytes.len() / 2]).unwrap();
    let wanted = Thaw { index: main_index(), range: TimeRange::ALL, from: None };
    let thawed = setup.ingest.thaw(&wanted).await.unwrap();
    assert_eq!((thawed.buckets, thawed.unreadable.len()), (1, 1), "{thawed:?}");
    let reason = &thawed.unreadable[0];
    let name = files[0].file_name().unwrap().to_str().unwrap();
    assert!(reason.starts_with("cannot read bucket") && reason.contains(name), "{reason}");
    assert_eq!(setup.texts().await.len(), 2);
}

#[tokio::test]
async fn thawing_fails_if_the_store_of_the_deployment_cannot_be_written() {
    let data = TestDir::new();
    let conf = "[main]\nfrozenTimePeriodInSecs = 1800\ncoldToFrozenDir = archive/cold\n";
    let setup = start_with_indexes(data.path(), quiet(), conf).await;
    three_hours(&setup).await;
    setup.ingest.rotate().await.unwrap();
    let index = data.path().join("store/buckets/main");
    let days = fs::read_dir(&index).unwrap().map(|day| day.unwrap().path());
    let directories: Vec<_> = days.chain([index.clone()]).collect();
    let permit = |mode: u32| {
        for directory in &directories {
            fs::set_permissions(directory, fs::Permissions::from_mode(mode)).unwrap();
        }
    };
    permit(0o555);
    // Permissions do not hold for the root user.
    let is_root = fs::create_dir(index.join("other")).is_ok();
    if !is_root {
        assert!(setup.ingest.thaw(&thaw(2)).await.is_err(), "the archive is sound");
    }
    permit(0o755);
    assert_eq!(setup.ingest.thaw(&thaw(2)).await.unwrap().buckets, 1);
}

#[tokio::test]
async fn buckets_stay_if_their_archive_is_a_prefix_of_karst() {
    let data = TestDir::new();
    for prefix in ["buckets/archive", "installed", "lookups/nobody"] {
        let conf = format!("[main]\nfrozenTimePeriodInSecs = 1800\ncoldToFrozenDir = {prefix}\n");
        let setup = start_with_indexes(&data.join(prefix), quiet(), &conf).await;
        three_hours(&setup).await;
        setup.ingest.rotate().await.unwrap();
        assert_eq!(setup.texts().await.len(), 3, "{prefix}");
    }
}

#[tokio::test]
async fn the_oldest_go_when_the_index_is_too_large() {
    let data = TestDir::new();
    let setup = start_with_indexes(data.path(), quiet(), "[main]\nmaxTotalDataSizeMB = 1\n").await;
    // Random text does not compress: each bucket has about 600 kB.
    let noise = || {
        let word = |_| uuid::Uuid::new_v4().to_string();
        (0..25_000).map(word).collect::<Vec<_>>().join(" ")
    };
    for hours in [1, 3, 2] {
        event(&setup, hours, &format!("{hours} {}", noise())).await;
    }
    setup.ingest.rotate().await.unwrap();
    let texts = setup.texts().await;
    let kept: Vec<_> = texts.iter().map(|text| &text[..1]).collect();
    assert_eq!(kept, ["1"]);
}

#[tokio::test]
async fn nothing_comes_back_from_an_archive_that_is_not_there() {
    let data = TestDir::new();
    let setup = start_with_indexes(data.path(), quiet(), "").await;
    let error = setup.ingest.thaw(&thaw(1)).await.unwrap_err();
    assert!(error.to_string().starts_with("index main has no coldToFrozenDir: name"), "{error}");
    let missing = data.path().join("missing");
    for from in ["nowhere".to_owned(), missing.display().to_string()] {
        let wanted = Thaw { from: Some(from.clone()), ..thaw(1) };
        let error = setup.ingest.thaw(&wanted).await.unwrap_err();
        assert!(error.to_string().contains(&from), "{error}");
    }
    assert!(!missing.exists(), "thawing creates no archive");
    event(&setup, 1, "x").await;
    let own = data.path().join("store/buckets").display().to_string();
    let error = setup.ingest.thaw(&Thaw { from: Some(own), ..thaw(1) }).await.unwrap_err();
    assert!(error.to_string().contains("has the buckets of this deployment itself"), "{error}");
    let left: Vec<_> = setup.store.list(None).try_collect().await.unwrap();
    assert!(left.iter().all(|meta| !meta.location.as_ref().contains("nowhere")));
}

#[tokio::test]
async fn thawing_before_the_first_freeze_does_not_make_the_directory() {
    let data = TestDir::new();
    let archive = data.join("cold");
    let place = archive.display().to_string();
    let conf = format!("[main]\ncoldToFrozenDir = {place}\n");
    let setup = start_with_indexes(&data.join("data"), quiet(), &conf).await;
    let error = setup.ingest.thaw(&thaw(1)).await.unwrap_err().to_string();
    assert!(error.contains(&place) && error.contains("no such directory"), "{error}");
    assert!(!archive.exists());
    // An archive without buckets of the range is no mistake.
    fs::create_dir(&archive).unwrap();
    assert_eq!(setup.ingest.thaw(&thaw(1)).await.unwrap().buckets, 0);
}

#[tokio::test]
async fn events_that_the_archive_has_twice_come_back_once() {
    let data = TestDir::new();
    let conf = "[main]\ncoldToFrozenDir = archive/cold\n";
    let mut settings = merging();
    settings.lifecycle.merge_delete_grace = Duration::ZERO;
    let setup = start_with_indexes(data.path(), settings, conf).await;
    for number in 0..4 {
        event(&setup, 2, &format!("event {number}")).await;
    }
    let expected = setup.texts().await;
    // The copy of a freeze that was killed by an earlier version, and the merge after it.
    let part = setup.catalog.snapshot().buckets(&main_index()).first().unwrap();
    let path = part.path();
    let store = data.path().join("store");
    let copy = store.join("archive/cold").join(path.strip_prefix("buckets/").unwrap());
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    fs::copy(store.join(&path), copy).unwrap();
    setup.ingest.rotate().await.unwrap();
    assert_eq!(setup.catalog.snapshot().len(), 1);

    let all = Thaw { index: main_index(), range: TimeRange::ALL, from: None };
    let thawed = setup.ingest.thaw(&all).await.unwrap();
    assert_eq!((thawed.buckets, thawed.present), (0, 1));
    assert_eq!(setup.texts().await, expected);
    // Searches do not read a quarantined bucket.
    let merged = setup.catalog.snapshot().buckets(&main_index()).first().unwrap().id.to_string();
    setup.catalog.put_document("quarantine", &merged, serde_json::json!({})).await.unwrap();
    assert_eq!(setup.ingest.thaw(&all).await.unwrap().buckets, 1);
    assert_eq!(setup.ingest.freeze_thawed(&main_index(), &TimeRange::ALL).await.unwrap(), 1);
    setup.catalog.delete_document("quarantine", &merged).await.unwrap();
    // The archive gets the merged bucket, too.
    let keep = Keep { period: Duration::from_secs(HOUR.unsigned_abs()), total: 0 };
    setup.ingest.set_keep(&main_index(), Some(keep));
    setup.ingest.rotate().await.unwrap();
    assert!(setup.texts().await.is_empty());
    let thawed = setup.ingest.thaw(&all).await.unwrap();
    assert_eq!((thawed.buckets, thawed.events, thawed.present), (1, 4, 1));
    assert_eq!(setup.texts().await, expected);
}

/// Two indexers have stored events that arrived at the very same times.
#[tokio::test]
async fn events_of_another_indexer_are_not_taken_for_those_of_an_archived_bucket() {
    let (base, one, two) = (TestDir::new(), TestDir::new(), TestDir::new());
    let clock = Arc::new(ManualClock::new(EventTime(1_900_000_000_000_000)));
    let setup = start_with_indexes(base.path(), quiet(), "").await;
    let start_as = async |data: &Path, number: u128| {
        let mut parts = crate::setup::parts(data, &setup, quiet());
        parts.indexer = IndexerId(uuid::Uuid::from_u128(number));
        parts.clock = clock.clone();
        Arc::new(Ingest::start(parts).await.unwrap())
    };
    let (one, two) = (start_as(one.path(), 1).await, start_as(two.path(), 2).await);
    one.submit(cut(&["one", "two", "three"])).await.unwrap();
    two.submit(cut(&["4", "5", "6"])).await.unwrap();
    for ingest in [one, two] {
        ingest.roll_all(None).await.unwrap();
    }
    let all = setup.rows().await;
    let arrivals = |texts: &[&str]| -> Vec<i64> {
        let rows = all.iter().filter(|(_, _, text)| texts.contains(&text.as_str()));
        rows.map(|(_, arrival, _)| *arrival).collect()
    };
    assert_eq!(arrivals(&["one", "two", "three"]), arrivals(&["4", "5", "6"]), "a tie");
    let snapshot = setup.catalog.snapshot();
    let shorter = snapshot.buckets(&main_index()).iter().min_by_key(|bucket| bucket.raw_bytes);
    let (shorter, store) = (shorter.unwrap(), base.path().join("store"));
    let path = shorter.path();
    let copy = store.join("archive/cold").join(path.strip_prefix("buckets/").unwrap());
    fs::create_dir_all(copy.parent().unwrap()).unwrap();
    fs::copy(store.join(&path), copy).unwrap();
    let remove = vec![shorter.id];
    setup.catalog.commit(Commit { remove, ..Commit::default() }).await.unwrap();
    assert_eq!(setup.rows().await.len(), 3);

    let from = Some("archive/cold".to_owned());
    let wanted = Thaw { index: main_index(), range: TimeRange::ALL, from };
    let thawed = setup.ingest.thaw(&wanted).await.unwrap();
    assert_eq!((thawed.buckets, thawed.present), (1, 0));
    assert_eq!(setup.rows().await, all);
}

#[tokio::test]
async fn buckets_that_may_have_a_copy_in_the_archive_are_not_merged() {
    let data = TestDir::new();
    let mut settings = merging();
    settings.lifecycle.merge_delete_grace = Duration::ZERO;
    let setup = start_with_indexes(data.path(), settings, "").await;
    for number in 0..6 {
        event(&setup, 2, &format!("event {number}")).await;
    }
    let part = setup.catalog.snapshot().buckets(&main_index()).first().unwrap().id;
    let (gone, ids) = (uuid::Uuid::nil().to_string(), part.0.to_string());
    let note = serde_json::json!({ "buckets": [ids, gone] });
    setup.catalog.put_document("freezing", "main", note).await.unwrap();
    setup.ingest.rotate().await.unwrap();
    let snapshot = setup.catalog.snapshot();
    assert_eq!((snapshot.len(), snapshot.contains(&main_index(), part)), (2, true));
    let note = snapshot.document("freezing", "main").unwrap();
    assert_eq!(*note, serde_json::json!({ "buckets": [ids] }), "the other has left the index");
    setup.ingest.set_keep(&main_index(), Some(Keep { period: Duration::ZERO, total: 0 }));
    for _ in 0..2 {
        setup.ingest.rotate().await.unwrap();
    }
    assert!(setup.catalog.snapshot().document("freezing", "main").is_none());
}

/// No merges, and what is discarded goes at once.
fn quiet() -> Settings {
    let mut settings = merging();
    settings.lifecycle.merge_max_bytes = 0;
    settings.lifecycle.merge_delete_grace = Duration::ZERO;
    settings
}

async fn three_hours(setup: &Setup) {
    for hours in [2, 1, 0] {
        event(setup, hours, &format!("{hours} hours ago")).await;
    }
}

async fn event(setup: &Setup, hours: i64, text: &str) {
    let time = now() - hours * HOUR - 60;
    setup.ingest.submit(dated(&[(time, text)])).await.unwrap();
    setup.ingest.roll_all(None).await.unwrap();
}

/// The bucket of so many hours ago.
fn thaw(hours: i64) -> Thaw {
    let at = |seconds: i64| EventTime((now() - hours * HOUR + seconds) * 1_000_000);
    let range = TimeRange { earliest: at(-600), latest: at(600) };
    Thaw { index: main_index(), range, from: None }
}
