//! Lists of terms that are alike.
//!
//! Two lists are as alike as the share of their terms that they have in common (in the same order
//! where order counts): twice the terms in common, by the terms of both. Clusters that share too
//! few terms are never looked at: a list that is alike enough has one of its rarest terms.

use std::collections::HashMap;

use crate::analysis::statistics::number;

/// Lists whose cluster is remembered.
const REMEMBERED: usize = 100_000;

/// Clusters, each by its first list.
pub(super) struct Clusters {
    threshold: f64,
    ordered: bool,
    firsts: Vec<First>,
    /// The clusters that have a term.
    with_term: HashMap<u32, Vec<usize>>,
    /// Clusters of lists seen before.
    known: HashMap<Vec<u32>, usize>,
}

struct First {
    terms: Vec<u32>,
    sorted: Vec<u32>,
}

impl Clusters {
    /// No clusters. The order of terms counts if `ordered`; else lists are sorted.
    pub(super) fn new(threshold: f64, ordered: bool) -> Self {
        Self {
            threshold,
            ordered,
            firsts: Vec::new(),
            with_term: HashMap::new(),
            known: HashMap::new(),
        }
    }

    /// The cluster of a list, counted from 0; a new one if there is none that is alike.
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
        }
        label
    }

    /// The cluster that a list is most like, the oldest of several.
    fn nearest(&self, terms: &[u32], sorted: &[u32]) -> Option<usize> {
        let mut best: Option<(f64, usize)> = None;
        for label in self.candidates(sorted) {
            let first = &self.firsts[label];
            let both = number(terms.len() + first.terms.len());
            let least = self.threshold * both / 2.0;
            if number(common(sorted, &first.sorted)) < least {
                continue;
            }
            let shared = match self.ordered {
                true => common_in_order(terms, &first.terms),
                false => common(sorted, &first.sorted),
            };
            let alike = if both > 0.0 { 2.0 * number(shared) / both } else { 1.0 };
            if alike >= self.threshold && best.is_none_or(|(found, _)| alike > found) {
                best = Some((alike, label));
            }
        }
        best.map(|(_, label)| label)
    }

    /// The clusters that may be alike enough, each once, oldest first.
    #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss)]
    fn candidates(&self, sorted: &[u32]) -> Vec<usize> {
        if sorted.is_empty() {
            let empty = |first: &First| first.terms.is_empty();
            return self.firsts.iter().position(empty).into_iter().collect();
        }
        // So many terms have to be shared with anything alike, so that so many can be left out.
        let least = self.threshold * number(sorted.len()) / (2.0 - self.threshold);
        let least = (least - 1e-9).ceil().max(1.0) as usize;
        let looked_up = sorted.len() - least.min(sorted.len()) + 1;
        let clusters = |term: &u32| self.with_term.get(term).map_or(&[][..], Vec::as_slice);
        let mut rarest: Vec<u32> = sorted.to_vec();
        rarest.sort_by_key(|term| clusters(term).len());
        rarest.truncate(looked_up);
        let mut found: Vec<usize> = rarest.iter().flat_map(clusters).copied().collect();
        found.sort_unstable();
        found.dedup();
        found
    }
}

/// How many members two sorted lists share.
fn common(one: &[u32], two: &[u32]) -> usize {
    let (mut at, mut other, mut count) = (0, 0, 0);
    while at < one.len() && other < two.len() {
        match one[at].cmp(&two[other]) {
            std::cmp::Ordering::Less => at += 1,
            std::cmp::Ordering::Greater => other += 1,
            std::cmp::Ordering::Equal => {
                (at, other, count) = (at + 1, other + 1, count + 1);
            }
        }
    }
    count
}

/// How long the longest list is that both lists hold in their order.
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
        assert_eq!(common(&[1, 1, 2], &[1, 2, 2]), 2);
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
