//! A condition on stored fields, with those that always and never hold.

use spl::ast::{PatternPart, SearchExpr, SearchPattern, Span, Term};

/// Where something may hold.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Bound {
    Nothing,
    Anything,
    Where(SearchExpr),
}

impl Bound {
    /// Where all of them may hold.
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

    /// Where any of them may hold.
    pub(super) fn any(parts: impl Iterator<Item = Self>) -> Self {
        let mut wheres = Vec::new();
        for part in parts {
            match part {
                Self::Nothing => {}
                Self::Anything => return Self::Anything,
                // Many stanzas ask the same.
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

    /// It as a filter; `None` if it leaves nothing out.
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
