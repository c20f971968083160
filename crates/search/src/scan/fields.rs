//! Fields of events as columns: extracted from `_raw` by the current rules, for the rows and the
//! fields that are needed and no others.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, ListBuilder, RecordBatch, StringArray, StringViewArray, StringViewBuilder,
};
use arrow::array::{AsArray, DictionaryArray};
use arrow::datatypes::Int32Type;
use knowledge::{ExtractionLimit, FieldRules, Knowledge, Wanted};
use model::columns;
use plan::FieldInfo;

/// A field to extract.
#[derive(Debug, Clone)]
pub(super) struct WantedField {
    pub(super) name: String,
    pub(super) multivalue: bool,
}

/// The columns every extraction needs.
struct Origins<'a> {
    raw: &'a StringViewArray,
    host: &'a DictionaryArray<Int32Type>,
    source: &'a DictionaryArray<Int32Type>,
    sourcetype: &'a DictionaryArray<Int32Type>,
    indexed: Option<&'a StringArray>,
}

impl<'a> Origins<'a> {
    fn of(rows: &'a RecordBatch) -> Option<Self> {
        let dictionary = |name: &str| rows.column_by_name(name)?.as_dictionary_opt::<Int32Type>();
        Some(Self {
            raw: rows.column_by_name(columns::RAW)?.as_string_view_opt()?,
            host: dictionary(columns::HOST)?,
            source: dictionary(columns::SOURCE)?,
            sourcetype: dictionary(columns::SOURCETYPE)?,
            indexed: rows.column_by_name(bucket::FIELDS).and_then(|c| c.as_string_opt()),
        })
    }

    fn keys(&self, row: usize) -> [Option<usize>; 3] {
        [self.sourcetype.key(row), self.source.key(row), self.host.key(row)]
    }

    fn rules(&self, knowledge: &Knowledge, row: usize) -> Arc<FieldRules> {
        let [sourcetype, source, host] = [self.sourcetype, self.source, self.host]
            .map(|column| dictionary_value(column, row).unwrap_or_default());
        knowledge.field_rules(sourcetype, source, host)
    }
}

fn dictionary_value(column: &DictionaryArray<Int32Type>, row: usize) -> Option<&str> {
    let key = column.key(row)?;
    Some(column.values().as_string_opt::<i32>()?.value(key))
}

/// Calls `visit(row, raw, rules, indexed)` for every row; rules are looked up when the origin
/// changes, which it rarely does from one row to the next.
fn each_row<'a>(
    origins: &Origins<'a>,
    knowledge: &Knowledge,
    names: &[&str],
    mut visit: impl FnMut(&'a str, &FieldRules, &Wanted, Option<&'a str>),
) {
    let mut current: Option<([Option<usize>; 3], Arc<FieldRules>, Wanted)> = None;
    for row in 0..origins.raw.len() {
        let keys = origins.keys(row);
        if current.as_ref().is_none_or(|(known, ..)| *known != keys) {
            let rules = origins.rules(knowledge, row);
            let wanted = rules.wanted(names.iter().copied());
            current = Some((keys, rules, wanted));
        }
        let Some((_, rules, wanted)) = &current else { continue };
        let indexed = origins.indexed.filter(|column| column.is_valid(row));
        visit(origins.raw.value(row), rules, wanted, indexed.map(|column| column.value(row)));
    }
}

/// One column per wanted field, in their order, and the limit that kept values back, if one did.
/// `rows` has `_raw`, `host`, `source`, `sourcetype`, and `_fields` where there are indexed fields.
pub(super) fn extract(
    rows: &RecordBatch,
    wanted: &[WantedField],
    knowledge: &Knowledge,
) -> Option<(Vec<ArrayRef>, Option<ExtractionLimit>)> {
    let origins = Origins::of(rows)?;
    let names: Vec<&str> = wanted.iter().map(|field| field.name.as_str()).collect();
    let mut cut: Option<ExtractionLimit> = None;
    let mut builders: Vec<FieldBuilder<'_>> = wanted.iter().map(FieldBuilder::new).collect();
    each_row(&origins, knowledge, &names, |raw, rules, prepared, indexed| {
        if let Some(indexed) = indexed {
            each_indexed(indexed, &mut |name, value| {
                if let Some(at) = wanted.iter().position(|field| field.name == name) {
                    builders[at].add(Cow::Owned(value.to_owned()));
                }
            });
        }
        // A field sent along with the event wins over one of the same name in its text.
        builders.iter_mut().for_each(FieldBuilder::settle);
        let extraction = rules.extract_wanted(raw, prepared, &mut |name, value| {
            if let Some(at) = wanted.iter().position(|field| field.name == name) {
                builders[at].add_unless_settled(value);
            }
        });
        cut = cut.or(extraction.cut);
        builders.iter_mut().for_each(FieldBuilder::end_row);
    });
    Some((builders.into_iter().map(FieldBuilder::finish).collect(), cut))
}

/// The values of `_fields`: a JSON object of texts and lists of texts.
fn each_indexed(json: &str, emit: &mut dyn FnMut(&str, &str)) {
    let Ok(fields) = serde_json::from_str::<BTreeMap<String, serde_json::Value>>(json) else {
        return;
    };
    for (name, value) in &fields {
        match value {
            serde_json::Value::String(text) => emit(name, text),
            serde_json::Value::Array(items) => {
                items.iter().filter_map(|item| item.as_str()).for_each(|text| emit(name, text));
            }
            other => emit(name, &other.to_string()),
        }
    }
}

enum Column {
    Text(StringViewBuilder),
    List(ListBuilder<StringViewBuilder>),
}

/// Collects the values of one field, row by row.
struct FieldBuilder<'a> {
    column: Column,
    row: Vec<Cow<'a, str>>,
    settled: bool,
}

impl<'a> FieldBuilder<'a> {
    fn new(field: &WantedField) -> Self {
        let column = if field.multivalue {
            Column::List(ListBuilder::new(StringViewBuilder::new()))
        } else {
            Column::Text(StringViewBuilder::new())
        };
        Self { column, row: Vec::new(), settled: false }
    }

    fn add(&mut self, value: Cow<'a, str>) {
        self.row.push(value);
    }

    fn settle(&mut self) {
        self.settled = !self.row.is_empty();
    }

    fn add_unless_settled(&mut self, value: Cow<'a, str>) {
        if !self.settled {
            self.row.push(value);
        }
    }

    fn end_row(&mut self) {
        match &mut self.column {
            Column::Text(builder) => builder.append_option(self.row.first()),
            Column::List(builder) => {
                for value in &self.row {
                    builder.values().append_value(value);
                }
                builder.append(!self.row.is_empty());
            }
        }
        self.row.clear();
    }

    fn finish(self) -> ArrayRef {
        match self.column {
            Column::Text(mut builder) => Arc::new(builder.finish()),
            Column::List(mut builder) => Arc::new(builder.finish()),
        }
    }
}

/// The source types of hot rows, perhaps with some that none of these has.
pub(crate) fn sourcetypes_of(batch: &RecordBatch) -> Option<&StringArray> {
    let column = batch.column_by_name(columns::SOURCETYPE)?;
    column.as_dictionary_opt::<Int32Type>()?.values().as_string_opt::<i32>()
}

/// The field names that occur in rows, for wildcards over events that no catalogue describes yet.
pub(crate) fn discover(
    rows: &RecordBatch,
    knowledge: &Knowledge,
    found: &mut BTreeMap<String, FieldInfo>,
) {
    let Some(origins) = Origins::of(rows) else { return };
    let mut row_number = 0_u64;
    let mut last_row: HashMap<String, u64> = HashMap::new();
    let mut sent: Vec<String> = Vec::new();
    each_row(&origins, knowledge, &[], |raw, rules, _, indexed| {
        row_number += 1;
        let mut note = |name: &str| {
            if !found.contains_key(name) {
                let info = FieldInfo { name: name.to_owned(), multivalue: false, count: 0 };
                found.insert(name.to_owned(), info);
            }
            let Some(info) = found.get_mut(name) else { return };
            match last_row.get_mut(name) {
                Some(last) if *last == row_number => info.multivalue = true,
                Some(last) => {
                    *last = row_number;
                    info.count += 1;
                }
                None => {
                    last_row.insert(name.to_owned(), row_number);
                    info.count += 1;
                }
            }
        };
        sent.clear();
        if let Some(indexed) = indexed {
            each_indexed(indexed, &mut |name, _| {
                note(name);
                sent.push(name.to_owned());
            });
        }
        let _ = rules.extract(raw, &mut |name, _| {
            // A field sent along hides one of the same name in the text.
            if !sent.iter().any(|known| known == name) {
                note(name);
            }
        });
    });
}
