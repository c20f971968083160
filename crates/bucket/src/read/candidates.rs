//! Evaluates a query over words: resolves wildcards, looks up all words at once, and combines their granules.

use hashbrown::HashMap;

use super::Postings;
use crate::index::Vocabulary;
use crate::query::glob;
use crate::segment::{is_breaker, lower};
use crate::{GranuleSet, TermHash, TermQuery};

/// Maximum number of words for which a wildcard may stand; beyond it, only the scan evaluates the wildcard.
const MAX_EXPANSION: usize = 1000;

/// A query that is resolved to terms of one bucket.
#[derive(Debug)]
pub(crate) enum Resolved {
    And(Vec<Resolved>),
    Or(Vec<Resolved>),
    /// A term; `counted` requires a row that has it in `_raw`.
    Term {
        hash: TermHash,
        counted: bool,
    },
    All,
    Nothing,
}

/// Whether the query cannot be resolved without the vocabulary.
pub(super) fn needs_vocabulary(query: &TermQuery) -> bool {
    match query {
        TermQuery::And(parts) | TermQuery::Or(parts) => parts.iter().any(needs_vocabulary),
        TermQuery::InRaw(inner) => needs_vocabulary(inner),
        TermQuery::Prefix(_) | TermQuery::Pattern(_) => true,
        TermQuery::Word(_) | TermQuery::All | TermQuery::Nothing => false,
    }
}

/// Resolves words and wildcards to terms. Without a vocabulary, wildcards may match everywhere.
pub(crate) fn resolve(
    query: &TermQuery,
    vocabulary: Option<&Vocabulary>,
    counted: bool,
) -> Resolved {
    let all = |parts: &[TermQuery]| {
        parts.iter().map(|part| resolve(part, vocabulary, counted)).collect::<Vec<_>>()
    };
    match query {
        TermQuery::And(parts) => Resolved::And(all(parts)),
        TermQuery::Or(parts) => Resolved::Or(all(parts)),
        TermQuery::InRaw(inner) => resolve(inner, vocabulary, true),
        TermQuery::All => Resolved::All,
        TermQuery::Nothing => Resolved::Nothing,
        TermQuery::Word(word) if !word.is_empty() && !word.bytes().any(is_breaker) => {
            Resolved::Term { hash: TermHash::of(word), counted }
        }
        TermQuery::Word(text) => resolve_text(text, counted),
        TermQuery::Prefix(prefix) => expand(prefix, &format!("{prefix}*"), vocabulary, counted),
        TermQuery::Pattern(pattern) => {
            let prefix = pattern.split('*').next().unwrap_or_default();
            expand(prefix, pattern, vocabulary, counted)
        }
    }
}

fn resolve_text(text: &str, counted: bool) -> Resolved {
    let term = |word| Resolved::Term { hash: TermHash::of(word), counted };
    Resolved::And(crate::segments(text).map(term).collect())
}

fn expand(prefix: &str, pattern: &str, vocabulary: Option<&Vocabulary>, counted: bool) -> Resolved {
    let breaks = pattern.bytes().any(|byte| byte != b'*' && is_breaker(byte));
    let (prefix, pattern) = (lower(prefix), lower(pattern));
    let Some(vocabulary) = vocabulary.filter(|_| !breaks && !prefix.is_empty()) else {
        return Resolved::All;
    };
    let matches = |word: &[u8]| glob(pattern.as_bytes(), word);
    let Some(found) = vocabulary.expand(prefix.as_bytes(), matches, MAX_EXPANSION) else {
        return Resolved::All;
    };
    let words = found
        .words
        .iter()
        .map(|word| Resolved::Term { hash: TermHash(crate::segment::hash(word)), counted });
    // A stem is never counted, because it stands for words and is not a word itself.
    let stems = found
        .stems
        .iter()
        .map(|stem| Resolved::Term { hash: TermHash::of_stem(stem), counted: false });
    Resolved::Or(words.chain(stems).collect())
}

impl Resolved {
    /// Collects all terms of the query.
    pub(crate) fn terms(&self, into: &mut Vec<TermHash>) {
        match self {
            Self::And(parts) | Self::Or(parts) => parts.iter().for_each(|part| part.terms(into)),
            Self::Term { hash, .. } => into.push(*hash),
            Self::All | Self::Nothing => {}
        }
    }

    /// Whether rows of which some have these terms may satisfy the query.
    pub(crate) fn may_hold(&self, has: &dyn Fn(TermHash) -> bool) -> bool {
        match self {
            Self::And(parts) => parts.iter().all(|part| part.may_hold(has)),
            Self::Or(parts) => parts.iter().any(|part| part.may_hold(has)),
            Self::Term { hash, .. } => has(*hash),
            Self::All => true,
            Self::Nothing => false,
        }
    }

    /// Returns the granules that satisfy the query, with an estimate of their matching rows.
    pub(super) fn evaluate(&self, known: &HashMap<TermHash, Postings>, all: &Found) -> Found {
        match self {
            Self::All => all.clone(),
            Self::Nothing => Found { granules: GranuleSet::none(all.granules.granules()), rows: 0 },
            Self::And(parts) => {
                let mut found = all.clone();
                for part in parts {
                    let part = part.evaluate(known, all);
                    found.granules.intersect(&part.granules);
                    found.rows = found.rows.min(part.rows);
                }
                found
            }
            Self::Or(parts) => {
                let granules = GranuleSet::none(all.granules.granules());
                let mut found = Found { granules, rows: 0 };
                for part in parts {
                    let part = part.evaluate(known, all);
                    found.granules.union(&part.granules);
                    found.rows = found.rows.saturating_add(part.rows);
                }
                found
            }
            Self::Term { hash, counted } => match known.get(hash) {
                Some(postings) => {
                    let granules = match counted {
                        true => postings.in_raw(),
                        false => postings.granules.clone(),
                    };
                    let rows = postings.rows.iter().map(|rows| u64::from(*rows).max(1)).sum();
                    Found { granules, rows }
                }
                None => all.clone(),
            },
        }
    }
}

/// The granules and an estimate of the rows that may satisfy a query.
#[derive(Debug, Clone)]
pub struct Found {
    /// A superset of the granules with matching rows.
    pub granules: GranuleSet,
    /// Estimated number of matching rows, for choosing a read strategy; not a bound.
    pub rows: u64,
}
