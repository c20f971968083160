//! Estimates, compared with caches of the same sizes.
#![allow(clippy::cast_precision_loss, clippy::cast_possible_truncation, clippy::cast_sign_loss)]

use std::collections::VecDeque;

use proptest::prelude::*;

use super::*;

const BYTES: u64 = 7;

/// The lookups that a cache of this number of blocks misses if it evicts the least recently used one.
fn lru_misses(lookups: &[u64], blocks: usize) -> f64 {
    let mut cached: VecDeque<u64> = VecDeque::new();
    let mut misses = 0_u32;
    for number in lookups {
        match cached.iter().position(|other| other == number) {
            Some(at) => {
                cached.remove(at);
            }
            None => misses += 1,
        }
        cached.push_back(*number);
        if cached.len() > blocks {
            cached.pop_front();
        }
    }
    f64::from(misses)
}

fn misses(sampled: &Sampled) -> Vec<f64> {
    sampled.misses().iter().map(|missed| missed.lookups).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(128))]
    #[test]
    fn with_all_blocks_sampled_the_misses_are_those_of_lru(
        lookups in prop::collection::vec(0_u64..40, 0..400)
    ) {
        let sizes = [1_usize, 2, 5, 13, 30];
        let bytes = sizes.iter().map(|blocks| *blocks as u64 * BYTES).collect();
        let mut sampled = Sampled::new(bytes, 40, u64::MAX);
        for number in &lookups {
            sampled.record(block_hash(1, *number), BYTES);
        }
        let exact: Vec<_> = sizes.iter().map(|blocks| lru_misses(&lookups, *blocks)).collect();
        prop_assert_eq!(misses(&sampled), exact);
        let bytes: Vec<_> = sampled.misses().iter().map(|missed| missed.bytes).collect();
        let exact: Vec<_> = misses(&sampled).iter().map(|lookups| lookups * BYTES as f64).collect();
        prop_assert_eq!(bytes, exact);
    }

    #[test]
    fn distances_are_in_bytes(
        sizes in prop::collection::vec(1_u64..100, 20),
        lookups in prop::collection::vec(0_usize..20, 0..200)
    ) {
        let mut sampled = Sampled::new(vec![64, 256, 1_024], 20, u64::MAX);
        // The latest last.
        let mut order: Vec<usize> = Vec::new();
        let mut expected = [0.0; 3];
        for number in lookups {
            sampled.record(block_hash(1, number as u64), sizes[number]);
            let known = order.iter().position(|other| *other == number);
            let sum = |from: usize| order[from..].iter().map(|other| sizes[*other]).sum::<u64>();
            let distance = known.map(sum);
            for (misses, size) in expected.iter_mut().zip([64, 256, 1_024]) {
                *misses += f64::from(distance.is_none_or(|distance| distance > size));
            }
            order.retain(|other| *other != number);
            order.push(number);
        }
        prop_assert_eq!(misses(&sampled), expected.to_vec());
    }
}

/// Traces of lookups of 20,000 blocks.
#[derive(Debug, Clone, Copy)]
enum Trace {
    Random,
    /// Few blocks have most lookups.
    Skewed,
    Scans,
    /// Half of the lookups are skewed, the others are scans.
    Mixed,
}

impl Trace {
    fn lookups(self, seed: u64) -> impl Iterator<Item = u64> {
        let blocks = 20_000_u64;
        let skewed = |random: u64, blocks: f64| {
            let share = (random >> 11) as f64 / (1_u64 << 53) as f64;
            blocks.powf(share) as u64 - 1
        };
        (0..60_000).map(move |at| {
            let random = block_hash(seed, at);
            match self {
                Self::Random => random % blocks,
                Self::Skewed => skewed(random, blocks as f64),
                Self::Scans => at % blocks,
                Self::Mixed if random % 2 == 1 => skewed(random, blocks as f64 / 2.0),
                Self::Mixed => blocks / 2 + at / 2 % (blocks / 2),
            }
        })
    }
}

#[test]
fn a_sample_of_bounded_size_estimates_the_misses_of_all_lookups() {
    let sizes: Vec<u64> = (6..16).map(|power| 1_u64 << power).collect();
    for trace in [Trace::Random, Trace::Skewed, Trace::Scans, Trace::Mixed] {
        for seed in 0..3 {
            let mut exact = Sampled::new(sizes.clone(), 20_000, u64::MAX);
            let mut sampled = Sampled::new(sizes.clone(), 1_024, u64::MAX >> 2);
            for number in trace.lookups(seed) {
                exact.record(block_hash(seed + 100, number), 1);
                sampled.record(block_hash(seed + 100, number), 1);
            }
            assert!(sampled.blocks.len() <= 1_024 && sampled.samples < exact.samples / 4);
            for (size, (one, other)) in
                sizes.iter().zip(misses(&exact).iter().zip(misses(&sampled)))
            {
                let error = (one - other).abs() / exact.samples as f64;
                assert!(
                    error < 0.1,
                    "{trace:?}, seed {seed}, size {size}: {one}, estimated {other}"
                );
            }
        }
    }
}

#[test]
fn blocks_beyond_the_largest_size_are_dropped_and_the_sampled_share_stays() {
    let mut sampled = Sampled::new(vec![10, 100], 1_000, u64::MAX);
    for number in 0..10_000 {
        sampled.record(block_hash(1, number), 1);
    }
    assert_eq!((sampled.blocks.len(), sampled.threshold), (100, u64::MAX));
    assert_eq!(misses(&sampled), [10_000.0, 10_000.0]);
}

#[test]
fn sizes_are_those_of_the_tiers_and_powers_of_two_around_them() {
    let settings = |dram: usize, nvme: usize| Settings {
        dram_bytes: dram << 20,
        nvme_bytes: nvme << 20,
        ..Settings::default()
    };
    let powers: Vec<u64> = (1..=16).map(|power| 1_u64 << power).collect();
    assert_eq!(sizes(&settings(512, 4_096)), powers);
    let found = sizes(&settings(500, 5_000));
    assert_eq!(found.len(), 18);
    assert!([500, 5_000, 65_536].iter().all(|size| found.contains(size)), "{found:?}");
    assert_eq!(sizes(&settings(4, 0)), [1, 2, 4, 8, 16, 32, 64]);
}

#[test]
fn one_of_sixteen_blocks_is_sampled() {
    let sampler = ReuseSampler::new(&Settings::default(), 75);
    for _ in 0..2 {
        sampler.record("buckets/a", (0..16_000).map(|number| (number, 4_096)));
    }
    for blocks in [3, 1] {
        sampler.fetched(blocks);
    }
    let curve = sampler.curve("data");
    assert_eq!((curve.pool, curve.capacity_mb, curve.reads), ("data", 4_096, 32_000));
    assert_eq!(curve.requests_per_block, 0.5);
    assert!((1_600..2_400).contains(&curve.samples), "{}", curve.samples);
    // 16,000 blocks of 4 KB: 62.5 MB, of which a cache of 8 MB has none when they are read again.
    let at = |size: u64| {
        let point = curve.points.iter().find(|point| point.size_mb == size);
        point.map_or(0.0, |point| point.misses / 16.0 / curve.samples as f64)
    };
    assert!((at(8) - 1.0).abs() < 1e-6 && (at(256) - 0.5).abs() < 1e-6, "{curve:?}");
}
