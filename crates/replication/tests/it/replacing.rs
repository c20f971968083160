//! What becomes of the copies when the indexers that have them stop, and who may write them.

use object_store::Error;

use crate::support::{Cluster, Log, OWNER, id};

fn numbered(texts: &[(u64, &str)]) -> Vec<(u64, String)> {
    texts.iter().map(|(number, text)| (*number, (*text).to_owned())).collect()
}

async fn objects(log: &Log) -> Vec<(u64, String)> {
    log.objects().await.unwrap().into_iter().collect()
}

#[tokio::test]
async fn one_copy_of_each_is_enough() {
    let mut cluster = Cluster::start(2, 3).await;
    let owner = cluster.seen_by(OWNER);
    owner.put(0, "zero").await.unwrap();
    owner.put(1, "one").await.unwrap();
    owner.delete(&[0]).await;
    assert_eq!(cluster.members().len(), 2);
    for stopped in cluster.running() {
        cluster.stop(stopped).await;
        let other = cluster.seen_by(id(9));
        // After a restart, a copy may have objects that were let go of.
        assert_eq!(objects(&other).await.last(), numbered(&[(1, "one")]).last());
        cluster.run(stopped).await;
    }
}

#[tokio::test]
async fn a_copy_that_does_not_confirm_is_replaced_by_one_with_everything() {
    let mut cluster = Cluster::start(3, 3).await;
    let owner = cluster.seen_by(OWNER);
    owner.replicas.note_needed(true);
    for number in 0..20 {
        owner.put(number, &format!("text {number}")).await.unwrap();
    }
    let [lost, kept] = cluster.members()[..] else { panic!("{:?}", cluster.members()) };
    cluster.stop(lost).await;
    assert!(owner.put(20, "text 20").await.is_err(), "one of two has not confirmed");
    owner.put_again(20, "text 20").await;
    assert!(!owner.replicas.is_stalled());
    let now = cluster.members();
    assert!(now.contains(&kept) && !now.contains(&lost) && now.len() == 2, "{now:?}");
    // The new one alone.
    cluster.stop(kept).await;
    let other = cluster.seen_by(id(9));
    assert_eq!(objects(&other).await.len(), 21);
}

#[tokio::test]
async fn an_indexer_that_has_lost_its_disk_gets_everything_again_at_once() {
    let mut cluster = Cluster::start(2, 3).await;
    let owner = cluster.seen_by(OWNER);
    owner.replicas.note_needed(true);
    owner.put(0, "zero").await.unwrap();
    let [lost, kept] = cluster.members()[..] else { panic!() };
    cluster.lose_disk(lost).await;
    cluster.run(lost).await;
    owner.put_again(1, "one").await;
    cluster.stop(kept).await;
    let other = cluster.seen_by(id(9));
    assert_eq!(objects(&other).await, numbered(&[(0, "zero"), (1, "one")]));
}

/// Whatever the list of the cluster says: the process that is asked knows who it is.
#[tokio::test]
async fn no_copy_is_at_another_process_that_has_the_address_of_a_lost_indexer() {
    for other in [OWNER, id(4)] {
        let mut cluster = Cluster::start(3, 3).await;
        let owner = cluster.seen_by(OWNER);
        owner.replicas.note_needed(true);
        owner.put(0, "zero").await.unwrap();
        let [lost, kept] = cluster.members()[..] else { panic!("{:?}", cluster.members()) };
        cluster.lose_disk(lost).await;
        cluster.run_in_place_of(lost, other).await;
        // The lost one is the first that the owner asks.
        let owner = cluster.seen_by(OWNER);
        owner.replicas.note_needed(true);
        owner.put_again(1, "one").await;
        let mut members = cluster.members();
        assert!(members.contains(&kept) && !members.contains(&lost), "{members:?}");
        members.sort();
        assert_eq!(members, cluster.holders());
        assert!(members.len() == 2 && !members.contains(&OWNER), "{members:?}");
        assert_eq!(objects(&cluster.seen_by(id(9))).await.len(), 2);
    }
}

#[tokio::test]
async fn an_indexer_whose_address_another_process_has_is_asked_last_for_a_copy() {
    let cluster = Cluster::start(3, 3).await;
    cluster.replaced.lock().insert(id(2));
    cluster.seen_by(OWNER).put(0, "zero").await.unwrap();
    let mut members = cluster.members();
    members.sort();
    assert_eq!((members.as_slice(), cluster.holders()), (&[id(1), id(3)][..], vec![id(1), id(3)]));
    // It was started later than the other one, by a clock that is behind.
    let cluster = Cluster::start(2, 3).await;
    cluster.replaced.lock().insert(id(2));
    cluster.seen_by(OWNER).put(0, "zero").await.unwrap();
    assert_eq!(cluster.holders(), [id(1), id(2)]);
}

#[tokio::test]
async fn a_sealed_journal_takes_nothing_more() {
    let mut cluster = Cluster::start(2, 3).await;
    let owner = cluster.seen_by(OWNER);
    owner.put(0, "zero").await.unwrap();
    // It reaches one of both only.
    let [away, _] = cluster.members()[..] else { panic!() };
    cluster.stop(away).await;
    let other = cluster.seen_by(id(9));
    other.put(1, "").await.unwrap();
    assert_eq!(objects(&other).await, numbered(&[(0, "zero"), (1, "")]));
    cluster.run(away).await;
    let refused = owner.put(1, "one").await;
    assert!(matches!(refused, Err(Error::AlreadyExists { .. })), "{refused:?}");
    assert!(other.put(2, "two").await.is_err(), "it is not the owner");
    // The owner, started again after its events were stored.
    let again = cluster.seen_by(OWNER);
    again.put_again(2, "two").await;
    assert_eq!(objects(&other).await.last().unwrap(), &(2, "two".to_owned()));
}

#[tokio::test]
async fn an_owner_whose_sets_are_taken_over_gets_no_new_copies() {
    let mut cluster = Cluster::start(3, 3).await;
    let owner = cluster.seen_by(OWNER);
    owner.replicas.note_needed(true);
    owner.put(0, "zero").await.unwrap();
    cluster.take_over().await;
    let lost = cluster.members()[0];
    cluster.stop(lost).await;
    let mut refused = owner.put(1, "one").await;
    for _ in 0..100 {
        if matches!(refused, Err(Error::AlreadyExists { .. })) {
            return;
        }
        refused = owner.put(1, "one").await;
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    panic!("{refused:?}");
}

#[tokio::test]
async fn without_any_copy_it_goes_on_once_everything_is_in_buckets() {
    let mut cluster = Cluster::start(2, 2).await;
    let owner = cluster.seen_by(OWNER);
    owner.put(0, "zero").await.unwrap();
    owner.replicas.note_needed(true);
    let [only] = cluster.members()[..] else { panic!() };
    cluster.lose_disk(only).await;
    let until = tokio::time::Instant::now() + std::time::Duration::from_millis(1200);
    while tokio::time::Instant::now() < until {
        assert!(owner.put(1, "one").await.is_err(), "the first object would be nowhere");
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert!(owner.replicas.is_stalled());
    let other = cluster.seen_by(id(9));
    assert!(other.objects().await.is_err() && other.replicas.has_copies(OWNER));
    owner.replicas.note_needed(false);
    // Nobody need wait for the copy if the owner is lost now, nor while nobody can have another one.
    let [last] = cluster.running()[..] else { panic!() };
    cluster.stop(last).await;
    owner.replicas.probe().await;
    assert!(other.objects().await.unwrap().is_empty() && !other.replicas.has_copies(OWNER));
    cluster.run(last).await;
    owner.put_again(1, "one").await;
    assert_eq!(objects(&cluster.seen_by(id(9))).await, numbered(&[(1, "one")]));
}

#[tokio::test]
async fn an_indexer_recovers_from_the_copy_that_it_has_itself() {
    let mut cluster = Cluster::start(2, 3).await;
    let owner = cluster.seen_by(OWNER);
    owner.put(0, "zero").await.unwrap();
    let [holder, other] = cluster.members()[..] else { panic!() };
    cluster.stop(other).await;
    cluster.stop(holder).await;
    let found = cluster.seen_by_holder(holder);
    found.put(1, "").await.unwrap();
    assert_eq!(objects(&found).await, numbered(&[(0, "zero"), (1, "")]));
}

#[tokio::test]
async fn what_has_stalled_is_tried_again() {
    let mut cluster = Cluster::start(2, 3).await;
    let owner = cluster.seen_by(OWNER);
    owner.put(0, "zero").await.unwrap();
    owner.replicas.note_needed(true);
    let away = cluster.members()[0];
    cluster.stop(away).await;
    while !owner.replicas.is_stalled() {
        assert!(owner.put(1, "one").await.is_err());
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    owner.replicas.probe().await;
    assert!(owner.replicas.is_stalled(), "nobody else can have a copy");
    cluster.run(away).await;
    for _ in 0..100 {
        owner.replicas.probe().await;
        if !owner.replicas.is_stalled() {
            return owner.put(1, "another one").await.unwrap();
        }
        tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    }
    panic!("it is still stalled");
}

#[tokio::test]
async fn too_few_indexers_are_named_in_the_reason() {
    let mut cluster = Cluster::start(1, 3).await;
    let owner = cluster.seen_by(OWNER);
    let refused = owner.put(0, "zero").await.unwrap_err().to_string();
    assert!(
        refused.contains("2 of 3 indexers (replication_factor) can have the journal"),
        "{refused}"
    );
    assert!(cluster.members().is_empty());
    cluster.run(id(2)).await;
    owner.put_again(0, "zero").await;
}

#[tokio::test]
async fn a_journal_that_is_not_needed_is_forgotten() {
    let cluster = Cluster::start(2, 3).await;
    let owner = cluster.seen_by(OWNER);
    owner.put(0, "zero").await.unwrap();
    let other = cluster.seen_by(id(9));
    assert!(other.replicas.has_copies(OWNER));
    other.replicas.forget(&other.replicas.named(OWNER)).await.unwrap();
    assert!(!other.replicas.has_copies(OWNER) && other.objects().await.unwrap().is_empty());
    // It begins anew.
    owner.put_again(1, "one").await;
    assert_eq!(objects(&other).await, numbered(&[(1, "one")]));
}

#[tokio::test]
async fn copies_are_in_the_sites_that_are_wanted() {
    let mut cluster = Cluster::in_sites("origin:2,total:3", &["a", "a", "a", "b", "b"]).await;
    let owner = cluster.seen_by(OWNER);
    owner.replicas.note_needed(true);
    owner.put(0, "zero").await.unwrap();
    let in_b = |members: &[model::IndexerId]| members.iter().filter(|peer| **peer > id(2)).count();
    let before = cluster.members();
    assert_eq!((before.len(), in_b(&before)), (2, 1), "{before:?}");
    // Another indexer of the same site takes the place of one that is lost.
    let lost = *before.iter().find(|peer| **peer > id(2)).unwrap();
    cluster.stop(lost).await;
    owner.put_again(1, "one").await;
    let after = cluster.members();
    assert_eq!((after.len(), in_b(&after)), (2, 1), "{after:?}");
    assert!(!after.contains(&lost));
}

#[tokio::test]
async fn without_another_site_it_is_said_what_is_lacking() {
    let mut cluster = Cluster::in_sites("origin:2,total:3", &["a", "a", "a", "b"]).await;
    let owner = cluster.seen_by(OWNER);
    cluster.stop(id(3)).await;
    let refused = owner.put(0, "zero").await.unwrap_err().to_string();
    assert!(refused.contains("lacks 1 more in other sites than a"), "{refused}");
    while !owner.replicas.is_stalled() {
        assert!(owner.put(0, "zero").await.is_err());
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    owner.replicas.probe().await;
    let said = owner.replicas.lacking().borrow().clone().unwrap();
    assert!(said.contains("site_replication_factor = origin:2,total:3"), "{said}");
    cluster.run(id(3)).await;
    owner.put_again(0, "zero").await;
    assert_eq!(*owner.replicas.lacking().borrow(), None);
}

#[tokio::test]
async fn copies_leave_an_indexer_that_is_taken_out() {
    let mut cluster = Cluster::start(3, 3).await;
    let owner = cluster.seen_by(OWNER);
    owner.replicas.note_needed(true);
    for number in 0..5 {
        owner.put(number, &format!("text {number}")).await.unwrap();
    }
    owner.replicas.move_copies().await.unwrap();
    let [leaves, kept] = cluster.members()[..] else { panic!("{:?}", cluster.members()) };
    cluster.leaving.lock().insert(leaves);
    owner.replicas.move_copies().await.unwrap();
    let now = cluster.members();
    assert!(now.contains(&kept) && !now.contains(&leaves) && now.len() == 2, "{now:?}");
    let snapshot = cluster.catalog.snapshot();
    assert!(karst_replication::held_at(&snapshot, leaves).is_empty());
    assert_eq!(karst_replication::held_at(&snapshot, kept), [OWNER]);
    // The new one alone has everything, and the owner goes on.
    owner.put(5, "text 5").await.unwrap();
    cluster.stop(kept).await;
    assert_eq!(objects(&cluster.seen_by(id(9))).await.len(), 6);
}

#[tokio::test]
async fn copies_leave_an_indexer_that_was_removed_from_the_cluster() {
    let mut cluster = Cluster::start(3, 3).await;
    let owner = cluster.seen_by(OWNER);
    owner.replicas.note_needed(true);
    owner.put(0, "zero").await.unwrap();
    let [removed, kept] = cluster.members()[..] else { panic!("{:?}", cluster.members()) };
    cluster.stop(removed).await;
    owner.replicas.move_copies().await.unwrap();
    assert_eq!(cluster.members(), [removed, kept], "it may come back");
    cluster.unlisted.lock().insert(removed);
    cluster.removed.lock().insert(removed);
    owner.replicas.move_copies().await.unwrap();
    assert_eq!(cluster.members(), [removed, kept], "it may have to restore its journal");
    owner.replicas.note_resumed();
    // It is waited for as long as for a confirmation. The owner puts nothing meanwhile.
    while owner.replicas.move_copies().await.is_err() {
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    let now = cluster.members();
    assert!(now.contains(&kept) && !now.contains(&removed) && now.len() == 2, "{now:?}");
}

#[tokio::test]
async fn without_others_a_copy_stays_at_an_indexer_that_is_to_leave() {
    let cluster = Cluster::start(2, 3).await;
    let owner = cluster.seen_by(OWNER);
    owner.replicas.note_needed(true);
    owner.put(0, "zero").await.unwrap();
    let before = cluster.members();
    cluster.leaving.lock().insert(before[0]);
    let reason = owner.replicas.move_copies().await.unwrap_err();
    assert!(reason.contains("2 of 3 indexers (replication_factor)"), "{reason}");
    assert_eq!(cluster.members(), before);
    owner.put(1, "one").await.unwrap();
}

#[tokio::test]
async fn in_maintenance_mode_a_copy_that_is_lost_is_not_replaced() {
    let mut cluster = Cluster::start(3, 3).await;
    let owner = cluster.seen_by(OWNER);
    owner.replicas.note_needed(true);
    owner.put(0, "zero").await.unwrap();
    let before = cluster.members();
    cluster.pauses.store(true, std::sync::atomic::Ordering::Relaxed);
    cluster.stop(before[0]).await;
    while !owner.replicas.is_stalled() {
        assert!(owner.put(1, "one").await.is_err());
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert!(owner.put(1, "one").await.is_err());
    owner.replicas.probe().await;
    assert_eq!(cluster.members(), before);
    let said = owner.replicas.lacking().borrow().clone().unwrap();
    assert!(said.contains("maintenance mode"), "{said}");
    // It is replaced as soon as maintenance is over.
    cluster.pauses.store(false, std::sync::atomic::Ordering::Relaxed);
    owner.put_again(1, "one").await;
    assert!(!cluster.members().contains(&before[0]));
}

#[tokio::test]
async fn a_late_change_of_a_former_process_does_not_name_other_copies() {
    let cluster = Cluster::start(3, 3).await;
    let before = cluster.seen_by(OWNER);
    before.put(0, "zero").await.unwrap();
    // It replaces a copy, and is killed while its request is under way.
    let known = cluster.document();
    let copies = serde_json::json!({ "members": [known["members"][0]], "version": 2 });
    let named = |json| vec![("replicas".to_owned(), OWNER.0.to_string(), Some(json))];
    let owner = cluster.seen_by(OWNER);
    owner.put_again(1, "one").await;
    let late = cluster.catalog.replace_documents(named(known), named(copies)).await;
    assert!(matches!(late, Err(catalog::Error::Changed { .. })), "{late:?}");
    owner.put(2, "two").await.unwrap();
    assert_eq!(cluster.members().len(), 2);
}

#[tokio::test]
async fn what_another_has_written_of_the_copies_is_looked_at_before_anything_is_acknowledged() {
    let mut cluster = Cluster::start(3, 3).await;
    let owner = cluster.seen_by(OWNER);
    owner.replicas.note_needed(true);
    owner.put(0, "zero").await.unwrap();
    // As if a change of this process whose answer was lost had taken effect: it names another copy.
    let mut document = cluster.document();
    let copy = uuid::Uuid::from_u128(7).to_string();
    let free = cluster.running().into_iter().find(|peer| !cluster.members().contains(peer));
    document["members"][1] =
        serde_json::json!({ "peer": free.unwrap().0.to_string(), "copy": copy });
    cluster.catalog.put_document("replicas", &OWNER.0.to_string(), document).await.unwrap();
    owner.put_again(1, "one").await;
    let [first, second] = cluster.members()[..] else { panic!("{:?}", cluster.members()) };
    for (stopped, left) in [(first, second), (second, first)] {
        cluster.stop(stopped).await;
        let found = cluster.seen_by(id(9));
        assert_eq!(objects(&found).await, numbered(&[(0, "zero"), (1, "one")]), "at {left}");
        cluster.run(stopped).await;
    }
}

#[tokio::test]
async fn a_former_process_of_the_owner_puts_nothing_more() {
    let cluster = Cluster::start(2, 3).await;
    let former = cluster.seen_by(OWNER);
    former.replicas.note_epoch(1);
    former.put(0, "zero").await.unwrap();
    let owner = cluster.seen_by(OWNER);
    owner.replicas.note_epoch(2);
    owner.put(1, "one").await.unwrap();
    let refused = former.put_again_or_refused(1, "another one").await;
    assert!(matches!(refused, Err(Error::AlreadyExists { .. })), "{refused:?}");
    let found = cluster.seen_by(id(9));
    assert_eq!(objects(&found).await, numbered(&[(0, "zero"), (1, "one")]));
}

#[tokio::test]
async fn a_copy_whose_indexer_is_not_in_the_list_is_waited_for() {
    let cluster = Cluster::start(3, 3).await;
    let before = cluster.seen_by(OWNER);
    before.replicas.note_needed(true);
    before.put(0, "zero").await.unwrap();
    let members = cluster.members();
    // Both are started again; the other one is in the list a moment later.
    cluster.unlisted.lock().insert(members[0]);
    let owner = cluster.seen_by(OWNER);
    owner.replicas.note_needed(true);
    assert!(owner.put(1, "one").await.is_err());
    cluster.unlisted.lock().clear();
    owner.put(1, "one").await.unwrap();
    assert_eq!(cluster.members(), members);
    // One that stays away is replaced.
    cluster.unlisted.lock().insert(members[0]);
    owner.put_again(2, "two").await;
    assert!(!cluster.members().contains(&members[0]));
}

#[tokio::test]
async fn copies_are_lost_when_all_say_so_or_were_removed() {
    let mut cluster = Cluster::start(2, 3).await;
    let owner = cluster.seen_by(OWNER);
    owner.put(0, "zero").await.unwrap();
    let members = cluster.members();
    let [first, second] = members[..] else { panic!() };
    cluster.lose_disk(first).await;
    cluster.run(first).await;
    cluster.stop(second).await;
    // Who recovers must not wait for long: its requests are refused.
    assert_eq!(cluster.seen_by(id(9)).replicas.lost(OWNER).await, None, "one may come back");
    cluster.removed.lock().insert(second);
    let mut lost = cluster.seen_by(id(9)).replicas.lost(OWNER).await.unwrap();
    lost.sort();
    let mut all = members.clone();
    all.sort();
    assert_eq!(lost, all);
}
