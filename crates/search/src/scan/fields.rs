//! Fields of events as columns: extracted from `_raw` by the current rules, for the rows and the
//! fields that are needed and no others.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, DictionaryArray, ListBuilder, RecordBatch, StringArray,
    StringViewArray, StringViewBuilder, new_null_array,
};
use arrow::compute::cast;
use arrow::datatypes::{DataType, Int32Type};
use hashbrown::HashMap;
use knowledge::{ExtractionLimit, FieldRules, Knowledge, Wanted};
use model::columns;
use plan::{ArrowType, FieldInfo, ShownFields, ValueType};

/// A field to extract.
#[derive(Debug, Clone)]
pub(super) struct WantedField {
    pub(super) name: String,
    pub(super) multivalue: bool,
}

/// The columns that every extraction reads.
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

/// Number of origins whose rules are cached, in batches where every row has a different origin.
const KEPT: usize = 1_024;

/// Calls `visit(raw, rules, wanted, indexed)` for every row; rules are looked up once for each origin.
/// `names` gives the wanted fields of a source type.
fn each_row<'a, 'n>(
    origins: &Origins<'a>,
    knowledge: &Knowledge,
    names: &dyn Fn(&str) -> Vec<&'n str>,
    mut visit: impl FnMut(&'a str, &FieldRules, &Wanted, Option<&'a str>),
) {
    let mut known: HashMap<[Option<usize>; 3], (Arc<FieldRules>, Wanted)> = HashMap::new();
    // Each host of a source type is a different origin.
    let mut of_types: HashMap<Option<usize>, Vec<&'n str>> = HashMap::new();
    for row in 0..origins.raw.len() {
        let keys = origins.keys(row);
        if known.len() >= KEPT && !known.contains_key(&keys) {
            known.clear();
            of_types.clear();
        }
        let (rules, wanted) = known.entry(keys).or_insert_with(|| {
            let rules = origins.rules(knowledge, row);
            let of_type = of_types.entry(keys[0]).or_insert_with(|| {
                names(dictionary_value(origins.sourcetype, row).unwrap_or_default())
            });
            let wanted = rules.wanted(of_type.iter().copied());
            (rules, wanted)
        });
        let indexed = origins.indexed.filter(|column| column.is_valid(row));
        visit(origins.raw.value(row), rules, wanted, indexed.map(|column| column.value(row)));
    }
}

/// One column per wanted field, in their order, and the limit that kept values back, if one did.
/// `rows` has `_raw`, `host`, `source`, `sourcetype`, and `_fields` where there are indexed fields.
/// From texts of a source type (the second argument) of which `may_be_in_texts` is false, a field is not
/// extracted.
pub(super) fn extract(
    rows: &RecordBatch,
    wanted: &[WantedField],
    knowledge: &Knowledge,
    may_be_in_texts: &dyn Fn(&str, &str) -> bool,
) -> Option<(Vec<ArrayRef>, Option<ExtractionLimit>)> {
    let origins = Origins::of(rows)?;
    let names = |sourcetype: &str| -> Vec<&str> {
        let names = wanted.iter().map(|field| field.name.as_str());
        names.filter(|name| may_be_in_texts(name, sourcetype)).collect()
    };
    let mut cut: Option<ExtractionLimit> = None;
    let mut fields = Fields::of(wanted);
    each_row(&origins, knowledge, &names, |raw, rules, prepared, indexed| {
        if let Some(indexed) = indexed {
            each_sent(indexed, &mut |name, value| {
                if let Some(field) = fields.named(name) {
                    field.values.push(Cow::Owned(value.to_owned()));
                }
            });
        }
        // An indexed field takes precedence over an extracted one of the same name.
        fields.settle();
        let extraction = rules.extract_wanted(raw, prepared, &mut |name, value| {
            if let Some(field) = fields.named(name).filter(|field| !field.settled) {
                field.values.push(value);
            }
        });
        cut = cut.or(extraction.cut);
        fields.end_row();
    });
    Some((fields.finish(), cut))
}

/// The values of `_fields`: a JSON object of texts and lists of texts.
pub(crate) fn each_sent(json: &str, emit: &mut dyn FnMut(&str, &str)) {
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

/// Returns the columns that the configuration adds to events of a result; none if the events have lost the
/// columns that extraction reads.
pub(crate) fn added_to(
    events: &RecordBatch,
    shown: &ShownFields,
    knowledge: &Knowledge,
) -> Option<RecordBatch> {
    let stored = as_stored(events)?;
    let fixed = |name: &str| columns::ALL.contains(&name);
    let reads = shown.reads().fields().iter();
    let wanted: Vec<WantedField> = reads
        .filter(|field| !fixed(field.name()))
        .map(|field| WantedField { name: field.name().clone(), multivalue: true })
        .collect();
    let (extracted, _) = extract(&stored, &wanted, knowledge, &|_, _| true)?;
    let known = columns::ALL
        .into_iter()
        .filter_map(|name| Some((name, Arc::clone(events.column_by_name(name)?), true)));
    let extracted = wanted.iter().zip(extracted).map(|(field, c)| (field.name.as_str(), c, true));
    let rows = RecordBatch::try_from_iter_with_nullable(known.chain(extracted)).ok()?;
    let added = shown.of_rows(&rows);
    added.inspect_err(|error| tracing::debug!(%error, "the fields of shown events")).ok()
}

/// Returns the names of the fields that are extracted from events of a result or are indexed fields.
pub(crate) fn present_in(batches: &[RecordBatch], knowledge: &Knowledge) -> HashSet<String> {
    let mut found = HashSet::new();
    let mut note = |name: &str| {
        if !found.contains(name) {
            found.insert(name.to_owned());
        }
    };
    for stored in batches.iter().filter_map(as_stored) {
        let Some(origins) = Origins::of(&stored) else { continue };
        each_row(&origins, knowledge, &|_| Vec::new(), |raw, rules, _, sent| {
            sent.iter().for_each(|sent| each_sent(sent, &mut |name, _| note(name)));
            let _ = rules.extract(raw, &mut |name, _| note(name));
        });
    }
    found
}

/// Returns the columns of a result that extraction reads, in the form of a stored batch.
fn as_stored(events: &RecordBatch) -> Option<RecordBatch> {
    let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let names = columns::ORIGIN.map(|name| (name, &dictionary));
    let sent = events.column_by_name(columns::FIELDS).map(|_| (columns::FIELDS, &DataType::Utf8));
    let mut stored = vec![(columns::RAW, Arc::clone(events.column_by_name(columns::RAW)?))];
    for (name, data_type) in names.into_iter().chain(sent) {
        let column = events.column_by_name(name)?;
        column.as_string_view_opt()?;
        stored.push((name, cast(column, data_type).ok()?));
    }
    let stored = stored.into_iter().map(|(name, column)| (name, column, true));
    RecordBatch::try_from_iter_with_nullable(stored).ok()
}

/// Collects the values of all fields, row by row. The cost of a row depends on the fields that it has, not on
/// the number of wanted fields: of thousands of fields, an event has a few.
struct Fields<'w, 'a> {
    columns: Vec<FieldColumn<'a>>,
    places: HashMap<&'w str, usize>,
    /// The columns with values in the current row.
    touched: Vec<usize>,
    rows: usize,
}

impl<'w, 'a> Fields<'w, 'a> {
    fn of(wanted: &'w [WantedField]) -> Self {
        let places = wanted.iter().enumerate().map(|(at, field)| (field.name.as_str(), at));
        Self {
            places: places.collect(),
            columns: wanted.iter().map(FieldColumn::new).collect(),
            touched: Vec::new(),
            rows: 0,
        }
    }

    fn named(&mut self, name: &str) -> Option<&mut FieldColumn<'a>> {
        let at = *self.places.get(name)?;
        let column = &mut self.columns[at];
        if column.values.is_empty() {
            self.touched.push(at);
        }
        Some(column)
    }

    fn settle(&mut self) {
        self.touched.iter().for_each(|at| self.columns[*at].settled = true);
    }

    fn end_row(&mut self) {
        for at in self.touched.drain(..) {
            self.columns[at].end_row(self.rows);
        }
        self.rows += 1;
    }

    fn finish(self) -> Vec<ArrayRef> {
        let rows = self.rows;
        // Columns without values share one null array per type.
        let mut nothing: HashMap<DataType, ArrayRef> = HashMap::new();
        let column = |column: FieldColumn<'_>| {
            let data_type = match column.multivalue {
                true => ValueType::Multi.data_type(),
                false => ValueType::Text.data_type(),
            };
            column.finish(rows).unwrap_or_else(|| {
                let none = || new_null_array(&data_type, rows);
                Arc::clone(nothing.entry(data_type.clone()).or_insert_with(none))
            })
        };
        self.columns.into_iter().map(column).collect()
    }
}

enum Column {
    Text(StringViewBuilder),
    List(ListBuilder<StringViewBuilder>),
}

/// The values of one field.
struct FieldColumn<'a> {
    multivalue: bool,
    /// Created with the first value.
    column: Option<Column>,
    /// Number of rows in `column`; later rows have no value.
    rows: usize,
    /// The values in the current row.
    values: Vec<Cow<'a, str>>,
    settled: bool,
}

impl FieldColumn<'_> {
    fn new(field: &WantedField) -> Self {
        let (multivalue, values) = (field.multivalue, Vec::new());
        Self { multivalue, column: None, rows: 0, values, settled: false }
    }

    fn end_row(&mut self, row: usize) {
        self.settled = false;
        if self.values.is_empty() {
            return;
        }
        self.pad(row);
        match &mut self.column {
            Some(Column::Text(builder)) => builder.append_option(self.values.first()),
            Some(Column::List(builder)) => {
                for value in &self.values {
                    builder.values().append_value(value);
                }
                builder.append(true);
            }
            None => {}
        }
        self.rows += 1;
        self.values.clear();
    }

    /// Appends nulls up to this number of rows.
    fn pad(&mut self, rows: usize) {
        let missing = rows - self.rows;
        let column = self.column.get_or_insert_with(|| match self.multivalue {
            true => Column::List(ListBuilder::new(StringViewBuilder::new())),
            false => Column::Text(StringViewBuilder::new()),
        });
        match column {
            Column::Text(builder) => (0..missing).for_each(|_| builder.append_null()),
            Column::List(builder) => (0..missing).for_each(|_| builder.append_null()),
        }
        self.rows = rows;
    }

    /// Returns the column; `None` if it has no values.
    fn finish(mut self, rows: usize) -> Option<ArrayRef> {
        self.column.as_ref()?;
        self.pad(rows);
        Some(match self.column? {
            Column::Text(mut builder) => Arc::new(builder.finish()),
            Column::List(mut builder) => Arc::new(builder.finish()),
        })
    }
}

/// Returns the distinct source types of hot rows, possibly with some that no row has.
pub(crate) fn sourcetypes_of(batch: &RecordBatch) -> Option<&StringArray> {
    let column = batch.column_by_name(columns::SOURCETYPE)?;
    column.as_dictionary_opt::<Int32Type>()?.values().as_string_opt::<i32>()
}

/// Finds the field names in rows, for wildcards over events that are not in a field catalogue yet.
pub(crate) fn discover(
    rows: &RecordBatch,
    knowledge: &Knowledge,
    found: &mut BTreeMap<String, FieldInfo>,
) {
    let Some(origins) = Origins::of(rows) else { return };
    let mut row_number = 0_u64;
    let mut last_row: HashMap<String, u64> = HashMap::new();
    let mut sent: Vec<String> = Vec::new();
    each_row(&origins, knowledge, &|_| Vec::new(), |raw, rules, _, indexed| {
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
            each_sent(indexed, &mut |name, _| {
                note(name);
                sent.push(name.to_owned());
            });
        }
        let _ = rules.extract(raw, &mut |name, _| {
            // An indexed field hides an extracted one of the same name.
            if !sent.iter().any(|known| known == name) {
                note(name);
            }
        });
    });
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use arrow::array::StringDictionaryBuilder;

    use super::*;

    #[test]
    fn which_fields_a_source_type_may_have_is_asked_once() {
        let dictionary = |values: [&str; 4]| -> ArrayRef {
            let mut column = StringDictionaryBuilder::<Int32Type>::new();
            values.iter().for_each(|value| column.append_value(value));
            Arc::new(column.finish())
        };
        let raw: ArrayRef =
            Arc::new(StringViewArray::from_iter_values(["a=1", "a=2", "a=3", "a=4"]));
        let columns = [
            (columns::RAW, raw, true),
            (columns::HOST, dictionary(["h1", "h2", "h3", "h4"]), true),
            (columns::SOURCE, dictionary(["s", "s", "s", "s"]), true),
            (columns::SOURCETYPE, dictionary(["one", "two", "one", "two"]), true),
        ];
        let rows = RecordBatch::try_from_iter_with_nullable(columns).expect("of one length");
        let asked = Cell::new(0);
        let may_be_in_texts = |_: &str, sourcetype: &str| {
            asked.set(asked.get() + 1);
            sourcetype == "one"
        };
        let wanted = [WantedField { name: "a".to_owned(), multivalue: false }];
        let found = extract(&rows, &wanted, &Knowledge::builtin(), &may_be_in_texts);
        let (fields, _) = found.expect("the columns are there");
        let texts: Vec<_> = fields[0].as_string_view().iter().collect();
        assert_eq!(texts, [Some("1"), None, Some("3"), None]);
        assert_eq!(asked.get(), 2);
    }
}
