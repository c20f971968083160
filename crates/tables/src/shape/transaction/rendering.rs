//! Creates a row for each transaction.
//!
//! Guarantees: a row has the time of the earliest event and the texts of all events. Every other field has
//! the distinct values, sorted, or the values of all events in time order.

use std::sync::Arc;

use arrow::array::{ArrayBuilder, StringViewBuilder, UInt32Array};
use arrow::compute::take;
use eval::ValueType;

use super::grouping::{Events, Group, Groups};
use crate::error::Error;
use crate::rows::{Column, Rows, Texts, Values, convert};

const RAW: &str = "_raw";
const LINES: &str = "linecount";

/// How the values of several events are combined.
#[derive(Debug)]
pub struct Rendering {
    /// The name of the transaction type.
    pub name: Option<String>,
    /// Whether all fields list the values of all events.
    pub all_lists: bool,
    /// The fields that list the values of all events.
    pub lists: Vec<String>,
    /// Whether the texts stay separate values.
    pub raw_list: bool,
    /// Represents a missing value in a list.
    pub missing: String,
    /// Whether a field marks orphans.
    pub orphans: bool,
}

impl Rendering {
    pub(super) fn rows(&self, rows: &Rows, events: &Events, groups: Groups) -> Result<Rows, Error> {
        let mut groups = groups.found;
        let oldest = |group: &Group| group.rows.last().copied().unwrap_or_default();
        groups.sort_by(|one, two| {
            let (one, two) = (oldest(one), oldest(two));
            events.times[two].cmp(&events.times[one]).then(one.cmp(&two))
        });
        let mut made = Rows::blank(groups.len());
        for column in &rows.columns {
            if column.name == RAW {
                self.raw(&mut made, column, &groups)?;
            } else if column.kind == ValueType::Time || column.name.starts_with('_') {
                let places = groups.iter().map(|group| u32::try_from(oldest(group)).ok());
                let places: UInt32Array = places.collect();
                let array = take(&column.array, &places, None)?;
                made.set(&column.name, column.kind, array);
            } else {
                self.values(&mut made, column, &groups)?;
            }
        }
        self.facts(&mut made, rows, events, &groups)?;
        Ok(made)
    }

    /// Sets the texts of the events, earliest first.
    fn raw(&self, made: &mut Rows, column: &Column, groups: &[Group]) -> Result<(), Error> {
        if self.raw_list {
            return self.listed(made, column, groups, false);
        }
        let texts = Values::new(&column.array)?;
        let mut built = StringViewBuilder::with_capacity(groups.len());
        let mut joined = String::new();
        for group in groups {
            joined.clear();
            let mut some = false;
            for row in group.rows.iter().rev() {
                if let Some(text) = texts.get(*row).text() {
                    if std::mem::replace(&mut some, true) {
                        joined.push('\n');
                    }
                    joined.push_str(&text);
                }
            }
            built.append_option(some.then_some(&joined));
        }
        made.set(&column.name, ValueType::Text, Arc::new(built.finish()));
        Ok(())
    }

    fn values(&self, made: &mut Rows, column: &Column, groups: &[Group]) -> Result<(), Error> {
        if self.all_lists || self.lists.contains(&column.name) {
            return self.listed(made, column, groups, true);
        }
        let values = Values::new(&column.array)?;
        let mut built = Texts::new(StringViewBuilder::new());
        let mut several = false;
        for group in groups {
            let mut texts: Vec<String> = Vec::new();
            for row in &group.rows {
                values.get(*row).each_text(|text| {
                    if texts.last().is_none_or(|last| last != text) {
                        texts.push(text.to_owned());
                    }
                });
            }
            texts.sort_unstable();
            texts.dedup();
            several |= texts.len() > 1;
            texts.iter().for_each(|text| built.values().append_value(text));
            built.append(!texts.is_empty());
        }
        set(made, &column.name, built, several)
    }

    /// Returns the values of all events, earliest first.
    fn listed(
        &self,
        made: &mut Rows,
        column: &Column,
        groups: &[Group],
        fill: bool,
    ) -> Result<(), Error> {
        let values = Values::new(&column.array)?;
        let mut built = Texts::new(StringViewBuilder::new());
        let mut several = false;
        for group in groups {
            let before = built.values().len();
            let any = group.rows.iter().any(|row| !values.get(*row).is_null());
            for row in group.rows.iter().rev() {
                let value = values.get(*row);
                if value.is_null() && any && fill {
                    built.values().append_value(&self.missing);
                }
                value.each_text(|text| built.values().append_value(text));
            }
            let added = built.values().len() - before;
            several |= added > 1;
            built.append(added > 0);
        }
        set(made, &column.name, built, several)
    }

    /// Sets the fields that describe transactions.
    fn facts(
        &self,
        made: &mut Rows,
        rows: &Rows,
        events: &Events,
        groups: &[Group],
    ) -> Result<(), Error> {
        let transactions = |number: fn(&Group) -> usize| {
            let number = move |group: &Group| {
                (!group.orphan).then(|| i64::try_from(number(group)).unwrap_or(i64::MAX))
            };
            groups.iter().map(number).collect::<Vec<_>>()
        };
        made.set_integers("closed_txn", transactions(|group| usize::from(group.closed)));
        made.set_numbers("duration", groups.iter().map(|group| duration(group, events)));
        made.set_integers("eventcount", transactions(|group| group.rows.len()));
        made.set_integers("field_match_sum", transactions(|group| group.matches));
        let lines = lines(rows)?;
        let sum = |group: &Group| Some(group.rows.iter().map(|row| lines[*row]).sum());
        made.set_integers(LINES, groups.iter().map(sum));
        if let Some(name) = &self.name {
            let name = |group: &Group| (!group.orphan).then_some(name.as_str());
            made.set_texts("transactiontype", groups.iter().map(name));
        }
        if self.orphans {
            let orphan = |group: &Group| group.orphan.then_some(1);
            made.set_integers("_txn_orphan", groups.iter().map(orphan));
        }
        Ok(())
    }
}

/// Returns the seconds between the first and the last event.
#[allow(clippy::cast_precision_loss)]
fn duration(group: &Group, events: &Events) -> Option<f64> {
    let (newest, oldest) = (group.rows.first()?, group.rows.last()?);
    let micros = events.times[*newest].saturating_sub(events.times[*oldest]);
    (!group.orphan).then_some(micros as f64 / 1e6)
}

/// Returns the number of lines of each event, at least one.
#[allow(clippy::cast_possible_truncation)]
fn lines(rows: &Rows) -> Result<Vec<i64>, Error> {
    let known = rows.numbers(LINES)?;
    let raw = rows.column(RAW).map(|column| Values::new(&column.array)).transpose()?;
    let count = |row: usize| {
        let text = raw.as_ref().and_then(|raw| raw.get(row).text());
        let lines = text.map_or(1, |text| text.lines().count().max(1));
        known[row].map_or(i64::try_from(lines).unwrap_or(1), |known| known as i64)
    };
    Ok((0..rows.count).map(count).collect())
}

/// Sets a column of lists; of texts if no list has several values.
fn set(made: &mut Rows, name: &str, mut built: Texts, several: bool) -> Result<(), Error> {
    let lists: arrow::array::ArrayRef = Arc::new(built.finish());
    if several {
        made.set(name, ValueType::Multi, lists);
    } else {
        made.set(name, ValueType::Text, convert(&lists, ValueType::Text)?);
    }
    Ok(())
}
