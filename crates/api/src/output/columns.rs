//! Maps the fields of a response to the cells of a page.

use std::collections::{HashMap, HashSet};

use search::{Page, Value};

/// The fields of a response in one of its pages. A page of events has only the fields of its own rows, and a
/// response may omit fields.
pub(crate) struct Columns<'a> {
    /// For every field of the response, its position in a row of the page.
    places: Vec<Option<usize>>,
    /// The fields that the page has.
    present: Vec<(&'a str, usize)>,
    /// Whether several fields have one name, as in SQL's `SELECT a.x, b.x`.
    is_ambiguous: bool,
}

impl<'a> Columns<'a> {
    pub(crate) fn of(fields: &'a [String], page: &Page) -> Self {
        let places: Vec<Option<usize>> = if fields == page.fields {
            (0..fields.len()).map(Some).collect()
        } else {
            let names = page.fields.iter().enumerate();
            let known: HashMap<&str, usize> = names.map(|(at, name)| (name.as_str(), at)).collect();
            fields.iter().map(|name| known.get(name.as_str()).copied()).collect()
        };
        let found = fields.iter().zip(&places);
        let present: Vec<_> =
            found.filter_map(|(name, place)| place.map(|place| (name.as_str(), place))).collect();
        let names: HashSet<&str> = present.iter().map(|(name, _)| *name).collect();
        let is_ambiguous = names.len() < present.len();
        Self { places, present, is_ambiguous }
    }

    /// A cell for every field.
    pub(crate) fn cells<'r>(
        &self,
        row: &'r [Option<Value>],
    ) -> impl ExactSizeIterator<Item = Option<&'r Value>> {
        self.places.iter().map(|place| place.and_then(|at| row[at].as_ref()))
    }

    /// The fields that have a value, each name once: of several, the last value counts.
    pub(crate) fn values<'r>(
        &self,
        row: &'r [Option<Value>],
    ) -> impl Iterator<Item = (&'a str, &'r Value)> {
        let value = |(name, at): (&'a str, usize)| row[at].as_ref().map(|value| (name, value));
        let comes_again = move |at: usize, name: &str| {
            let mut later = self.present[at + 1..].iter();
            later.any(|(other, place)| *other == name && row[*place].is_some())
        };
        self.present.iter().enumerate().filter_map(move |(at, field)| {
            value(*field).filter(|(name, _)| !self.is_ambiguous || !comes_again(at, name))
        })
    }
}
