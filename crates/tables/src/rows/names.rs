//! Names for newly created columns: unique ones, and those of series.

use std::collections::{HashMap, HashSet};

use super::Rows;

/// A generator of unique names for many columns, in time linear in their number.
#[derive(Debug, Default)]
pub struct FreeNames {
    taken: HashSet<String>,
    /// For each repeated name, the first number that may be unused as its suffix.
    next: HashMap<String, usize>,
}

impl FreeNames {
    /// Avoids the names of the existing columns.
    #[must_use]
    pub fn beside(rows: &Rows) -> Self {
        let taken = rows.columns.iter().map(|column| column.name.clone()).collect();
        Self { taken, next: HashMap::new() }
    }

    /// Returns the name unchanged, or with the first unused number appended, like [`Rows::free_name`].
    ///
    /// [`Rows::free_name`]: super::Rows::free_name
    pub fn take(&mut self, name: &str) -> String {
        if self.taken.insert(name.to_owned()) {
            return name.to_owned();
        }
        let number = self.next.entry(name.to_owned()).or_insert(2);
        loop {
            let candidate = format!("{name} {number}");
            *number += 1;
            if self.taken.insert(candidate.clone()) {
                return candidate;
            }
        }
    }
}

/// The naming of columns after series and values.
#[derive(Debug, Clone)]
pub struct NameFormat {
    /// The separator between value and series.
    pub separator: String,
    /// The name of a column, with `$AGG$` for the value and `$VAL$` for the series.
    pub template: Option<String>,
}

impl NameFormat {
    /// Returns the name of the column with a value of a series; `values` is the number of values that each
    /// series has. A name that would begin with `_` has `VALUE` before it, because fields that begin with `_`
    /// are internal and not shown.
    #[must_use]
    pub fn name(&self, series: &str, value: &str, values: usize) -> String {
        let name = match &self.template {
            Some(template) => template.replace("$AGG$", value).replace("$VAL$", series),
            None if values == 1 => series.to_owned(),
            None => format!("{value}{}{series}", self.separator),
        };
        if name.starts_with('_') { format!("VALUE{name}") } else { name }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow::array::StringViewArray;
    use eval::ValueType;

    use super::*;

    #[test]
    fn series_that_begin_with_an_underscore_are_named_as_values() {
        let mut names = NameFormat { separator: ": ".to_owned(), template: None };
        assert_eq!(names.name("web", "count", 1), "web");
        assert_eq!(names.name("_internal", "count", 1), "VALUE_internal");
        assert_eq!(names.name("_internal", "count", 2), "count: _internal");
        names.template = Some("$VAL$ ($AGG$)".to_owned());
        assert_eq!(names.name("_internal", "count", 1), "VALUE_internal (count)");
        names.template = Some("$AGG$ of $VAL$".to_owned());
        assert_eq!(names.name("_internal", "count", 1), "count of _internal");
    }

    #[test]
    fn names_are_those_that_are_free_among_columns() {
        let mut free = FreeNames::default();
        let mut rows = Rows::blank(0);
        for name in ["a", "a 3", "a", "b", "a", "a 2", "a", "a 3", "b", "a 2", ""] {
            let expected = rows.free_name(name);
            assert_eq!(free.take(name), expected);
            let empty = StringViewArray::from(Vec::<Option<&str>>::new());
            rows.push(expected, ValueType::Text, Arc::new(empty));
        }
        assert_eq!(rows.names()[..7], ["a", "a 3", "a 2", "b", "a 4", "a 2 2", "a 5"]);
        let mut beside = FreeNames::beside(&rows);
        for name in ["a", "c", "a", "c"] {
            let expected = rows.free_name(name);
            assert_eq!(beside.take(name), expected);
            rows.push_integers(expected, []);
        }
    }
}
