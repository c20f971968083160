//! A condition on stored fields, with the special cases "always" and "never".

use spl::ast::{PatternPart, SearchExpr, SearchPattern, Span, Term};

/// An upper bound of the events for which something holds.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Bound {
    Nothing,
    Anything,
    Where(SearchExpr),
}

impl Bound {
    /// The bound of a conjunction.
    pub(super) fn all(parts: impl Iterator<Item = Self>) -> Self {
        let mut wheres = Vec::new();
        for part in parts {
            match part {
                Self::Nothing => return Self::Nothing,
                Self::Anything => {}
                Self::Where(filter) => wheres.push(filter),
            }
        }
        match wheres.len() {
            0 => Self::Anything,
            1 => Self::Where(wheres.remove(0)),
            _ => Self::Where(SearchExpr::And(wheres)),
        }
    }

    /// The bound of a disjunction.
    pub(super) fn any(parts: impl Iterator<Item = Self>) -> Self {
        let mut wheres = Vec::new();
        for part in parts {
            match part {
                Self::Nothing => {}
                Self::Anything => return Self::Anything,
                // Many stanzas have the same condition.
                Self::Where(filter) if wheres.contains(&filter) => {}
                Self::Where(filter) => wheres.push(filter),
            }
        }
        match wheres.len() {
            0 => Self::Nothing,
            1 => Self::Where(wheres.remove(0)),
            _ => Self::Where(SearchExpr::Or(wheres)),
        }
    }

    /// Returns the bound as a filter; `None` if it excludes nothing.
    pub(super) fn into_filter(self) -> Option<SearchExpr> {
        let span = Span::default();
        match self {
            Self::Anything => None,
            Self::Where(filter) => Some(filter),
            Self::Nothing => {
                let pattern = SearchPattern { parts: vec![PatternPart::Any] };
                let everything = SearchExpr::Term(Term { pattern, quoted: false, span });
                Some(SearchExpr::Not(Box::new(everything), span))
            }
        }
    }
}
