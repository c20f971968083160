//! Only the owner of a hot set commits its buckets.

use std::sync::Arc;

use karst_catalog::{Catalog, Commit, Error, Settings, Takeover};
use model::IndexerId;
use object_store::ObjectStore;
use object_store::memory::InMemory;
use proptest::prelude::*;

use super::support::{bucket, id, ids, indexer, open, records, stream};

fn other(number: u128) -> IndexerId {
    IndexerId(uuid::Uuid::from_u128(number))
}

fn taking_over(epoch: u64, owner: IndexerId) -> Commit {
    let set = stream().set;
    let take_over = vec![Takeover { indexer: indexer(), set, epoch, owner }];
    Commit { take_over, ..Commit::default() }
}

/// A bucket of records, committed in an epoch.
fn add(number: u128, from: u64, upto: u64, epoch: u64) -> Commit {
    let mut ranges = records(from, upto);
    ranges[0].epoch = epoch;
    Commit { add: vec![bucket(number, 0, 9)], ranges, ..Commit::default() }
}

async fn refused(catalog: &Catalog, commit: Commit) -> String {
    let number = catalog.snapshot().number();
    let error = catalog.commit(commit).await.unwrap_err();
    assert!(matches!(error, Error::OldEpoch { .. }), "{error:?}");
    assert_eq!(catalog.snapshot().number(), number, "nothing is written");
    error.to_string()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn buckets_of_a_former_owner_are_refused() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let catalog = open(Arc::clone(&store), Settings::default()).await.unwrap();
    catalog.commit(add(1, 1, 5, 0)).await.unwrap();
    let (first, second) = (other(1), other(2));
    catalog.commit(taking_over(1, first)).await.unwrap();
    let text = refused(&catalog, add(2, 6, 9, 0)).await;
    assert!(text.contains("refuses epoch 0") && text.contains("in epoch 1"), "{text}");
    // Not even what it has committed before: it must learn that it is not the owner.
    refused(&catalog, add(1, 1, 5, 0)).await;
    refused(&catalog, add(2, 6, 9, 2)).await;
    catalog.commit(add(3, 6, 9, 1)).await.unwrap();

    // The same takeover again changes nothing; another one needs a later epoch.
    let number = catalog.snapshot().number();
    catalog.commit(taking_over(1, first)).await.unwrap();
    assert_eq!(catalog.snapshot().number(), number);
    refused(&catalog, taking_over(1, second)).await;
    refused(&catalog, taking_over(0, second)).await;
    catalog.close().await.unwrap();

    let catalog = open(store, Settings::default()).await.unwrap();
    assert_eq!(catalog.snapshot().owner(indexer(), stream().set), (1, first));
    refused(&catalog, add(2, 10, 12, 0)).await;
    // A takeover and the first bucket of the new owner in one commit.
    let both = Commit { take_over: taking_over(2, second).take_over, ..add(4, 10, 12, 2) };
    catalog.commit(both).await.unwrap();
    refused(&catalog, add(5, 13, 14, 1)).await;
    assert_eq!(ids(&catalog), [1, 3, 4]);
    // Other sets are not concerned.
    let mut elsewhere = add(6, 1, 2, 0);
    elsewhere.ranges[0].stream.set += 1;
    catalog.commit(elsewhere).await.unwrap();
    assert!(catalog.snapshot().bucket(id(6)).is_some());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn of_two_successors_one_is_the_owner() {
    let catalog = open(Arc::new(InMemory::new()), Settings::default()).await.unwrap();
    let takers = (1..=8).map(|number| {
        let catalog = catalog.clone();
        async move { catalog.commit(taking_over(1, other(number))).await.is_ok() }
    });
    let won = futures::future::join_all(takers).await;
    assert_eq!(won.iter().filter(|won| **won).count(), 1);
    let owner = won.iter().position(|won| *won).unwrap() as u128 + 1;
    assert_eq!(catalog.snapshot().owner(indexer(), stream().set), (1, other(owner)));
}

/// What one of several processes does that each believe to own the set.
#[derive(Debug, Clone)]
enum Step {
    /// It takes the set over.
    Take(u128),
    /// It commits the next records, in the epoch in which it took the set over.
    Commit(u128),
    /// It repeats its last commit.
    Repeat(u128),
    /// The catalog is opened again.
    Reopen,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let who = 1_u128..4;
    let step = prop_oneof![
        2 => who.clone().prop_map(Step::Take),
        5 => who.clone().prop_map(Step::Commit),
        2 => who.prop_map(Step::Repeat),
        1 => Just(Step::Reopen),
    ];
    prop::collection::vec(step, 1..40)
}

/// Runs steps beside a model: who took the set over last is the only one whose commits are accepted, and
/// every record is in one bucket.
async fn run(steps: Vec<Step>) {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let mut catalog = open(Arc::clone(&store), Settings::default()).await.unwrap();
    let mut owner = (0, indexer());
    let (mut position, mut number) = (0, 0);
    // The epoch and the last commit of each process.
    let mut epochs = [0_u64; 4];
    let mut last: [Option<Commit>; 4] = [const { None }; 4];
    let mut expected = Vec::new();
    for step in steps {
        match step {
            Step::Take(who) => {
                owner = (owner.0 + 1, other(who));
                epochs[who as usize] = owner.0;
                catalog.commit(taking_over(owner.0, owner.1)).await.unwrap();
            }
            Step::Commit(who) => {
                number += 1;
                let epoch = epochs[who as usize];
                let commit = add(number, position + 1, position + 3, epoch);
                if epoch == owner.0 {
                    catalog.commit(commit.clone()).await.unwrap();
                    position += 3;
                    expected.push(number);
                    last[who as usize] = Some(commit);
                } else {
                    refused(&catalog, commit).await;
                }
            }
            Step::Repeat(who) => {
                let Some(commit) = last[who as usize].clone() else { continue };
                let known = catalog.snapshot().number();
                if commit.ranges[0].epoch == owner.0 {
                    catalog.commit(commit).await.unwrap();
                    assert_eq!(catalog.snapshot().number(), known, "nothing is written");
                } else {
                    refused(&catalog, commit).await;
                }
            }
            Step::Reopen => {
                catalog.close().await.unwrap();
                catalog = open(Arc::clone(&store), Settings::default()).await.unwrap();
            }
        }
        assert_eq!(catalog.snapshot().owner(indexer(), stream().set), owner);
        assert_eq!(ids(&catalog), expected);
    }
    catalog.close().await.unwrap();
    let salvaged = karst_catalog::salvage(&store, "catalog").await.unwrap();
    let owners: Vec<_> = salvaged.owners.iter().map(|taken| (taken.epoch, taken.owner)).collect();
    assert_eq!(owners, if owner.0 == 0 { vec![] } else { vec![owner] });
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn in_any_order_only_the_owner_commits(steps in steps()) {
        tokio::runtime::Builder::new_multi_thread()
            .worker_threads(2)
            .enable_all()
            .build()
            .unwrap()
            .block_on(run(steps));
    }
}
