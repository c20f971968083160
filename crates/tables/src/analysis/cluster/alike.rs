//! Clusters similar lists of terms.
//!
//! The similarity of two lists is twice the number of common terms (in the same order, if order matters),
//! divided by the number of terms of both. Clusters with too few common terms are never compared: a similar
//! list must contain some of the rarest terms.

use std::cmp::Ordering;
use std::collections::HashMap;

use crate::analysis::statistics::number;

/// Maximum number of lists whose cluster is cached.
const REMEMBERED: usize = 100_000;

/// Comparing a cluster with a list takes as long as counting a term for about this many clusters.
const COMPARED: usize = 8;

/// The clusters, each represented by its first list.
pub(super) struct Clusters {
    threshold: f64,
    ordered: bool,
    firsts: Vec<First>,
    /// The clusters that contain a term.
    with_term: HashMap<u32, Vec<usize>>,
    /// The number of terms of the current list that each cluster contains, while candidates are searched;
    /// otherwise 0.
    hits: Vec<usize>,
    /// The clusters of previous lists.
    known: HashMap<Vec<u32>, usize>,
}

struct First {
    terms: Vec<u32>,
    sorted: Vec<u32>,
}

impl Clusters {
    /// Creates an empty set of clusters. If `ordered`, the order of terms matters; otherwise, lists must be
    /// sorted.
    pub(super) fn new(threshold: f64, ordered: bool) -> Self {
        Self {
            threshold,
            ordered,
            firsts: Vec::new(),
            with_term: HashMap::new(),
            hits: Vec::new(),
            known: HashMap::new(),
        }
    }

    /// Returns the cluster of a list, counted from 0; creates one if no cluster is similar.
    pub(super) fn label(&mut self, terms: Vec<u32>) -> usize {
        if let Some(label) = self.known.get(&terms) {
            return *label;
        }
        let mut sorted = terms.clone();
        sorted.sort_unstable();
        let label = self.nearest(&terms, &sorted).unwrap_or(self.firsts.len());
        if self.known.len() < REMEMBERED {
            self.known.insert(terms.clone(), label);
        }
        if label == self.firsts.len() {
            let mut distinct = sorted.clone();
            distinct.dedup();
            for term in distinct {
                self.with_term.entry(term).or_default().push(label);
            }
            self.firsts.push(First { terms, sorted });
            self.hits.push(0);
        }
        label
    }

    /// Returns the most similar cluster; of equally similar ones, the oldest.
    fn nearest(&mut self, terms: &[u32], sorted: &[u32]) -> Option<usize> {
        let mut best: Option<(f64, usize)> = None;
        for label in self.candidates(sorted) {
            let first = &self.firsts[label];
            let both = number(terms.len() + first.terms.len());
            let least = self.threshold * both / 2.0;
            let Some(common) = common(sorted, &first.sorted, least) else { continue };
            let shared = match self.ordered {
                true => common_in_order(terms, &first.terms),
                false => common,
            };
            let alike = if both > 0.0 { 2.0 * number(shared) / both } else { 1.0 };
            if alike >= self.threshold && best.is_none_or(|(found, _)| alike > found) {
                best = Some((alike, label));
            }
        }
        best.map(|(_, label)| label)
    }

    /// Returns the distinct clusters that may be similar enough, oldest first.
    ///
    /// A similar cluster lacks at most a certain number of terms of the list. So it contains at least one of
    /// the rarest terms if one more than this number are examined, at least two if two more are examined, and
    /// so on.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn candidates(&mut self, sorted: &[u32]) -> Vec<usize> {
        if sorted.is_empty() {
            let empty = |first: &First| first.terms.is_empty();
            return self.firsts.iter().position(empty).into_iter().collect();
        }
        let least = self.threshold * number(sorted.len()) / (2.0 - self.threshold);
        let least = (least - 1e-9).ceil().max(1.0) as usize;
        let may_lack = sorted.len() - least.min(sorted.len());
        let (with_term, hits) = (&self.with_term, &mut self.hits);
        // Each distinct term, with its count in the list.
        let same = sorted.chunk_by(|one, two| one == two);
        let clusters = |term: &u32| with_term.get(term).map_or(&[][..], Vec::as_slice);
        let mut rarest: Vec<(&[usize], usize)> =
            same.map(|terms| (terms.first().map_or(&[][..], clusters), terms.len())).collect();
        rarest.sort_by_key(|(clusters, _)| clusters.len());
        let (mut found, mut counted) = (Vec::new(), 0);
        for (clusters, times) in rarest {
            let is_complete = counted > may_lack;
            if is_complete && clusters.len() > found.len().saturating_mul(COMPARED) {
                break;
            }
            for label in clusters {
                let hits = &mut hits[*label];
                if *hits > 0 {
                    *hits += times;
                } else if !is_complete {
                    *hits = times;
                    found.push(*label);
                }
            }
            counted += times;
            let needed = counted.saturating_sub(may_lack);
            if needed > 1 {
                found.retain(|label| {
                    let is_kept = hits[*label] >= needed;
                    if !is_kept {
                        hits[*label] = 0;
                    }
                    is_kept
                });
            }
        }
        for label in &found {
            hits[*label] = 0;
        }
        found.sort_unstable();
        found
    }
}

/// Returns the number of common elements of two sorted lists, if it is at least `least`. Compares from the
/// end: terms that were first seen late are rare, so that dissimilar lists are rejected soon.
fn common(mut one: &[u32], mut two: &[u32], least: f64) -> Option<usize> {
    let mut count = 0;
    while let ([rest_of_one @ .., a], [rest_of_two @ .., b]) = (one, two) {
        if number(count + one.len().min(two.len())) < least {
            return None;
        }
        match a.cmp(b) {
            Ordering::Less => two = rest_of_two,
            Ordering::Greater => one = rest_of_one,
            Ordering::Equal => (one, two, count) = (rest_of_one, rest_of_two, count + 1),
        }
    }
    (number(count) >= least).then_some(count)
}

/// Returns the length of the longest common subsequence.
fn common_in_order(mut one: &[u32], mut two: &[u32]) -> usize {
    let mut count = 0;
    while let ([a, rest_of_one @ ..], [b, rest_of_two @ ..]) = (one, two)
        && a == b
    {
        (one, two, count) = (rest_of_one, rest_of_two, count + 1);
    }
    while let ([rest_of_one @ .., a], [rest_of_two @ .., b]) = (one, two)
        && a == b
    {
        (one, two, count) = (rest_of_one, rest_of_two, count + 1);
    }
    let mut longest = vec![0_usize; two.len() + 1];
    for a in one {
        let mut before = 0;
        for (at, b) in two.iter().enumerate() {
            let above = longest[at + 1];
            longest[at + 1] = if a == b { before + 1 } else { above.max(longest[at]) };
            before = above;
        }
    }
    count + longest[two.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_counts_where_it_should() {
        assert_eq!(common_in_order(&[1, 2, 3, 4], &[1, 3, 2, 4]), 3);
        assert_eq!(common_in_order(&[1, 2], &[3, 4]), 0);
        assert_eq!(common_in_order(&[], &[3, 4]), 0);
        assert_eq!(common(&[1, 1, 2], &[1, 2, 2], 2.0), Some(2));
        assert_eq!(common(&[1, 1, 2], &[1, 2, 2], 2.1), None);
        assert_eq!(common(&[], &[], 0.0), Some(0));
    }

    /// Returns the labels of lists, each computed by comparing with the first list of every cluster. A
    /// repeated list keeps its label, even if a newer cluster is more similar.
    fn compared(lists: &[Vec<u32>], threshold: f64, ordered: bool) -> Vec<usize> {
        let sorted = |list: &[u32]| {
            let mut sorted = list.to_vec();
            sorted.sort_unstable();
            sorted
        };
        let mut firsts: Vec<&[u32]> = Vec::new();
        let mut labels: Vec<usize> = Vec::new();
        for list in lists {
            if let Some(before) = lists[..labels.len()].iter().position(|before| before == list) {
                labels.push(labels[before]);
                continue;
            }
            let mut best: Option<(f64, usize)> = None;
            for (label, first) in firsts.iter().enumerate() {
                let shared = match ordered {
                    true => common_in_order(list, first),
                    false => common(&sorted(list), &sorted(first), 0.0).unwrap_or(0),
                };
                let both = number(list.len() + first.len());
                let alike = if both > 0.0 { 2.0 * number(shared) / both } else { 1.0 };
                if alike >= threshold && best.is_none_or(|(found, _)| alike > found) {
                    best = Some((alike, label));
                }
            }
            let label = best.map_or(firsts.len(), |(_, label)| label);
            if label == firsts.len() {
                firsts.push(list);
            }
            labels.push(label);
        }
        labels
    }

    #[test]
    fn candidates_leave_out_nothing_that_is_alike() {
        let mut state = 7_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 33) % below
        };
        let mut next = 100_000_u64;
        // Common terms, some with few different values, and one unique term.
        let mut lists: Vec<Vec<u64>> = Vec::new();
        for _ in 0..200 {
            let mut list: Vec<u64> = (0..random(9)).collect();
            list.extend((0..random(6)).map(|_| 100 + random(12)));
            if random(3) == 0 {
                next += 1;
                list.push(next);
            }
            lists.push(list);
        }
        let small = |term: &u64| u32::try_from(*term).unwrap_or_default();
        let lists: Vec<Vec<u32>> =
            lists.iter().map(|list| list.iter().map(small).collect()).collect();
        let sets: Vec<Vec<u32>> = lists
            .iter()
            .map(|list| {
                let mut set = list.clone();
                set.sort_unstable();
                set.dedup();
                set
            })
            .collect();
        for threshold in [0.3, 0.5, 0.8, 0.95, 1.0] {
            for (lists, ordered) in [(&lists, true), (&sets, false)] {
                let mut clusters = Clusters::new(threshold, ordered);
                let found: Vec<usize> =
                    lists.iter().map(|list| clusters.label(list.clone())).collect();
                assert_eq!(found, compared(lists, threshold, ordered), "{threshold} {ordered}");
                assert!(clusters.hits.iter().all(|hits| *hits == 0));
            }
        }
    }

    #[test]
    fn lists_that_are_alike_share_a_label() {
        let mut clusters = Clusters::new(0.8, true);
        assert_eq!(clusters.label(vec![1, 2, 3, 4, 5]), 0);
        assert_eq!(clusters.label(vec![1, 2, 9, 4, 5]), 0);
        assert_eq!(clusters.label(vec![1, 8, 9, 4, 5]), 1);
        assert_eq!(clusters.label(vec![5, 4, 3, 2, 1]), 2);
        assert_eq!(clusters.label(vec![]), 3);
        assert_eq!(clusters.label(vec![]), 3);
    }
}
