//! Random orders of everything that happens to copies, from a seed that a failure names.

use std::collections::BTreeMap;

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{Rng, SeedableRng};

use crate::support::{Cluster, OWNER};

const SEEDS: std::ops::Range<u64> = 0..12;
const STEPS: usize = 30;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whatever_is_confirmed_is_in_every_copy_that_the_catalog_names() {
    for seed in SEEDS {
        run(seed).await;
    }
}

/// One indexer at a time is away or has lost its disk; the owner is started again at any moment.
async fn run(seed: u64) {
    let mut chance = StdRng::seed_from_u64(seed);
    let mut cluster = Cluster::start(3, 3).await;
    let mut owner = cluster.seen_by(OWNER);
    owner.replicas.note_needed(true);
    let mut away = None;
    let mut confirmed: BTreeMap<u64, String> = BTreeMap::new();
    let mut next = 0;
    for step in 0..STEPS {
        let at = format!("seed {seed}, step {step}");
        match chance.random_range(0..10) {
            0 if away.is_none() => {
                let peer = *cluster.running().choose(&mut chance).unwrap();
                if chance.random_bool(0.5) {
                    cluster.lose_disk(peer).await;
                } else {
                    cluster.stop(peer).await;
                }
                away = Some(peer);
            }
            // Only once everything is in enough copies without it.
            1 | 2 if away.is_some() => {
                owner.put_again(next, "before its return").await;
                confirmed.insert(next, "before its return".to_owned());
                next += 1;
                cluster.run(away.take().unwrap()).await;
            }
            3 => {
                owner = cluster.seen_by(OWNER);
                owner.replicas.note_needed(true);
            }
            4 if !confirmed.is_empty() => {
                let gone = *confirmed.keys().next().unwrap();
                confirmed.remove(&gone);
                owner.delete(&[gone]).await;
            }
            _ => {
                let text = format!("{next} {}", "x".repeat(chance.random_range(0..3000)));
                if owner.put(next, &text).await.is_ok() {
                    confirmed.insert(next, text);
                    next += 1;
                } else {
                    // Sent again as it is, or with more.
                    continue;
                }
            }
        }
        let members = cluster.members();
        for member in members.iter().filter(|member| Some(**member) != away) {
            let found = cluster.found_at(*member).await;
            for (number, text) in &confirmed {
                assert_eq!(found.get(number), Some(text), "{at}: object {number} at {member}");
            }
        }
    }
}
