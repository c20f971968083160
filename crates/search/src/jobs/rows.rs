//! The rows of a job for its clients, in slices if there are many.

use std::sync::Arc;

use arrow::array::{AsArray, BooleanArray, RecordBatch};
use arrow::compute::filter_record_batch;
use arrow::datatypes::TimestampMicrosecondType;
use exprs::column::read;
use knowledge::time::TimeFormat;
use model::{EventTime, TimeRange, columns};
use plan::value::{Value, read_time_among_texts};

use super::results::NamesOnce;
use super::{Page, Results};
use crate::render::Renderer;
use crate::slices::{self, Slices};

/// A snapshot of the rows of a result or preview. It stays valid until it is dropped, even if the job is
/// removed earlier.
#[derive(Debug, Clone, Default)]
pub struct ResultRows {
    /// The result with its metadata; `None` if there are no rows.
    results: Option<Arc<Results>>,
    batches: Vec<RecordBatch>,
    /// The renderer, if it is not that of the result.
    renderer: Option<Renderer>,
    /// The field names, computed once for all readers.
    names: NamesOnce,
}

impl ResultRows {
    /// Returns rows `offset .. offset + count`.
    pub(crate) fn part(results: &Arc<Results>, offset: usize, count: usize) -> Self {
        let batches = results.part(offset, count);
        let rows = batches.iter().map(RecordBatch::num_rows).sum();
        let names = results.known.of(offset, rows);
        Self { results: Some(Arc::clone(results)), batches, renderer: None, names }
    }

    /// Writes `_time` in this format, if there is one, in the time zone of the search.
    #[must_use]
    pub fn with_times(self, format: Option<&TimeFormat>) -> Self {
        let renderer = self.results.as_ref().filter(|_| format.is_some());
        let renderer = renderer.map(|results| results.renderer.clone().with_times(format));
        Self { renderer, ..self }
    }

    /// Returns rows `offset .. offset + count` of those whose `_time` is in a range. A row without a time is
    /// in no range. This reads the times of all rows up to the last one returned, and copies only the rows
    /// that it returns.
    #[must_use]
    pub fn within(&self, range: TimeRange, offset: usize, count: usize) -> Self {
        let (mut skip, mut left) = (offset, count);
        let mut batches = Vec::new();
        for batch in &self.batches {
            if left == 0 {
                break;
            }
            let wanted = times_within(batch, range);
            let found = wanted.true_count();
            if found <= skip {
                skip -= found;
                continue;
            }
            let places: Vec<usize> = wanted.values().set_indices().skip(skip).take(left).collect();
            let (Some(first), Some(last)) = (places.first(), places.last()) else { break };
            let length = last - first + 1;
            let part =
                filter_record_batch(&batch.slice(*first, length), &wanted.slice(*first, length));
            batches.push(part.expect("the mask has the length of the batch"));
            (skip, left) = (0, left - places.len());
        }
        let (results, renderer) = (self.results.clone(), self.renderer.clone());
        Self { results, batches, renderer, names: Arc::default() }
    }

    /// Returns the number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.batches.iter().map(RecordBatch::num_rows).sum()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the rows should be written in slices.
    #[must_use]
    pub fn are_many(&self) -> bool {
        slices::are_many(&self.batches)
    }

    /// Returns the cached field names, or computes them with `find`. Concurrent requests for the same rows
    /// wait for a single computation.
    pub async fn fields_found_by(&self, find: impl Future<Output = Vec<String>>) -> Arc<[String]> {
        Arc::clone(self.names.get_or_init(|| async move { find.await.into() }).await)
    }

    /// Returns the field names as in [`Self::page`]. This reads the events.
    #[must_use]
    pub fn fields(&self) -> Vec<String> {
        let fields = |results: &Arc<Results>| results.fields_of(&self.batches);
        self.results.as_ref().map_or_else(Vec::new, fields)
    }

    /// Renders the rows as texts. A page of events has the fields that occur in it, in the order of their
    /// first occurrence.
    #[must_use]
    pub fn page(&self) -> Page {
        let page = |results: &Arc<Results>| {
            let renderer = self.renderer.as_ref().unwrap_or(&results.renderer);
            results.page_of(&self.batches, renderer)
        };
        self.results.as_ref().map_or_else(Page::default, page)
    }

    /// Splits the rows into slices of limited size, in order.
    pub fn slices(&self) -> impl Iterator<Item = Self> + Send + use<> {
        let (results, renderer) = (self.results.clone(), self.renderer.clone());
        Slices::of(self.batches.clone()).map(move |batches| Self {
            results: results.clone(),
            batches,
            renderer: renderer.clone(),
            names: Arc::default(),
        })
    }
}

/// Returns for each row of a batch whether its `_time` is in a range. Commands may have made it a column of
/// texts or numbers: what `isnum` accepts is a time.
fn times_within(batch: &RecordBatch, range: TimeRange) -> BooleanArray {
    let is_within =
        |time: Option<i64>| Some(time.is_some_and(|time| range.contains(EventTime(time))));
    let column = batch.column_by_name(columns::TIME);
    let times = column.and_then(|column| column.as_primitive_opt::<TimestampMicrosecondType>());
    if let Some(times) = times {
        return times.iter().map(is_within).collect();
    }
    let Some(values) = column.and_then(|column| read(column).ok()) else {
        return BooleanArray::from(vec![false; batch.num_rows()]);
    };
    (0..batch.num_rows()).map(|row| is_within(time_of(values.get(row)))).collect()
}

/// Returns a number as a time in microseconds.
#[allow(clippy::cast_possible_truncation)]
fn time_of(value: Value<'_>) -> Option<i64> {
    let exact = match value {
        Value::Text(text) => read_time_among_texts(text),
        _ => None,
    };
    let number =
        || value.number().filter(|n| n.is_finite()).map(|seconds| (seconds * 1e6).round() as i64);
    exact.or_else(number)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::OnceLock;
    use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

    use arrow::array::{
        ArrayRef, Float64Array, Int64Array, StringViewArray, TimestampMicrosecondArray,
    };
    use jiff::tz::TimeZone;
    use karst_spectest::{Memory, World};
    use knowledge::Knowledge;
    use plan::{
        EmptySource, FieldFilter, OutputColumn, ResultKind, Session, SessionSettings, ShownPlan,
        ValueType,
    };

    use super::*;
    use crate::jobs::results::{KnownFields, has_others, have_raw};

    /// A configuration with an alias and a calculated field.
    const CONFIGURED: &str = "# Configured fields.\nrows\n  sourcetype  k\n  st  1\nconf props\n  [st]\n  \
        FIELDALIAS-a = user AS account\n  EVAL-level = if(user=\"ann\", \"low\", \"high\")\n\
        search *\nexpect\n  k\n  1\n";

    /// Events in batches of 700, of which only the last event has the field `late`.
    fn events(count: usize) -> Arc<Results> {
        let raw = |at: usize| match at + 1 {
            last if last == count => format!("late=1 n={at}"),
            _ => format!("n={at} of{}=x", at / 1_000),
        };
        let batch = |rows: Vec<usize>| {
            let texts = rows.into_iter().map(raw);
            let column: ArrayRef = Arc::new(StringViewArray::from_iter_values(texts));
            RecordBatch::try_from_iter([("_raw", column)]).unwrap()
        };
        let numbers: Vec<usize> = (0..count).collect();
        let batches = numbers.chunks(700).map(|rows| batch(rows.to_vec())).collect();
        Arc::new(Results {
            kind: ResultKind::Events,
            columns: vec![OutputColumn {
                name: "_raw".to_owned(),
                value_type: ValueType::Text,
                shown: true,
                possible: false,
                named: false,
                absent: false,
            }],
            filter: FieldFilter::default(),
            batches,
            only_raw: false,
            knowledge: Arc::new(Knowledge::builtin()),
            renderer: Renderer::new(TimeZone::UTC),
            known: KnownFields::default(),
            shown: OnceLock::new(),
        })
    }

    /// Returns the cell of a field, whatever its column in the page.
    fn cell<'p>(page: &'p Page, row: usize, name: &str) -> Option<&'p crate::Value> {
        let place = page.fields.iter().position(|field| field == name)?;
        page.rows[row][place].as_ref()
    }

    #[test]
    fn slices_have_the_rows_of_the_whole_and_together_its_fields() {
        let rows = ResultRows::part(&events(3_500), 100, 3_400);
        let whole = rows.page();
        let (mut at, mut fields) = (0, Vec::new());
        for slice in rows.slices() {
            let page = slice.page();
            assert_eq!((slice.fields(), slice.len()), (page.fields.clone(), page.rows.len()));
            for row in 0..page.rows.len() {
                for name in &whole.fields {
                    assert_eq!(cell(&page, row, name), cell(&whole, at + row, name));
                }
            }
            at += page.rows.len();
            let new: Vec<_> = page.fields.into_iter().filter(|f| !fields.contains(f)).collect();
            fields.extend(new);
        }
        assert_eq!((at, &fields), (3_400, &whole.fields));
        assert_eq!(whole.fields.last().unwrap(), "late");
        assert_eq!(rows.fields(), whole.fields);
    }

    #[test]
    fn fields_that_a_filter_excludes_are_not_extracted() {
        let whole = ResultRows::part(&events(3_500), 0, usize::MAX).page();
        let filtered = |names: &[&str]| {
            let mut results = Arc::into_inner(events(3_500)).unwrap();
            let keep = names.iter().map(|name| (*name).to_owned()).collect();
            results.filter = FieldFilter { keep: Some(keep), drop: Vec::new() };
            results
        };
        for (names, has_others) in [
            (vec!["_raw"], false),
            (vec!["n", "late", "_raw"], true),
            (vec!["of1", "nothing"], true),
            (vec!["of*", "n"], true),
        ] {
            let results = filtered(&names);
            assert_eq!(results.has_others(), has_others, "{names:?}");
            let admits = |name: &String| name == "_raw" || results.filter.admits(name);
            let admitted: Vec<_> = whole.fields.iter().filter(|name| admits(name)).collect();
            let rows = ResultRows::part(&Arc::new(results), 0, usize::MAX);
            let page = rows.page();
            assert_eq!(page.fields.iter().collect::<Vec<_>>(), admitted);
            assert_eq!(rows.fields(), page.fields);
            for row in 0..whole.rows.len() {
                for name in &page.fields {
                    assert_eq!(cell(&page, row, name), cell(&whole, row, name));
                }
            }
        }
    }

    #[tokio::test]
    async fn kept_fields_may_be_indexed_fields_aliases_and_fields_of_the_configuration() {
        let world = World::of(CONFIGURED, &Memory::Whole).await.unwrap();
        let session = Session::new(&SessionSettings::default(), Vec::new()).unwrap();
        let present = ["user", "region"].map(str::to_owned).into_iter().collect();
        let mut context = world.context().clone();
        let sourcetypes = std::iter::once("st".to_owned()).collect();
        context.source = Arc::new(EmptySource::default().with_sourcetypes(sourcetypes));
        let planned = plan::shown_fields(&context, &session, Some(&present)).await.unwrap();
        let ShownPlan::Fields(shown) = planned else { panic!("the configuration adds no fields") };
        let shown = Arc::new(shown);
        let column =
            |values: [&str; 2]| -> ArrayRef { Arc::new(StringViewArray::from_iter_values(values)) };
        let batch = RecordBatch::try_from_iter([
            ("_raw", column(["user=ann", "user=bob"])),
            ("_fields", column([r#"{"region":"north"}"#, "{}"])),
            ("host", column(["h", "h"])),
            ("source", column(["s", "s"])),
            ("sourcetype", column(["st", "st"])),
        ]);
        let batch = batch.unwrap();
        let rows_of = |filter: FieldFilter| {
            let mut results = Arc::into_inner(events(0)).unwrap();
            results.filter = filter;
            results.batches = vec![batch.clone()];
            results.knowledge = Arc::clone(&world.context().knowledge);
            results.shown = OnceLock::from(Some(Arc::clone(&shown)));
            ResultRows::part(&Arc::new(results), 0, usize::MAX)
        };
        let whole = rows_of(FieldFilter::default()).page();
        let one = |text: &str| Some(crate::Value::One(text.to_owned()));
        let expected = [
            ("region", [one("north"), None]),
            ("account", [one("ann"), one("bob")]),
            ("level", [one("low"), one("high")]),
        ];
        let names = ["region", "account", "level"];
        for kept in [&names[..], &names[..1], &names[1..2], &names[2..]] {
            let keep = kept.iter().map(|name| (*name).to_owned()).collect();
            let rows = rows_of(FieldFilter { keep: Some(keep), drop: Vec::new() });
            let page = rows.page();
            assert_eq!(page.fields, [&["_raw"][..], kept].concat());
            assert_eq!(rows.fields(), page.fields);
            for (name, values) in expected.iter().filter(|(name, _)| kept.contains(name)) {
                for (row, value) in values.iter().enumerate() {
                    assert_eq!(cell(&page, row, name), value.as_ref(), "{name}");
                    assert_eq!(cell(&whole, row, name), value.as_ref(), "{name}");
                }
            }
        }
    }

    #[test]
    fn listed_fields_that_are_columns_of_the_result_leave_no_others() {
        let column = |name: &str, absent: bool| OutputColumn {
            name: name.to_owned(),
            absent,
            ..events(0).columns[0].clone()
        };
        let columns = [column("user", false), column("status", true), column("__key", false)];
        let has_others = |keep: &[&str], drop: &[&str]| {
            let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
            has_others(&FieldFilter { keep: Some(owned(keep)), drop: owned(drop) }, &columns)
        };
        assert!(!has_others(&["user"], &[]) && !has_others(&[], &[]));
        assert!(has_others(&["user", "method"], &[]) && !has_others(&["user", "method"], &["m*"]));
        assert!(has_others(&["status"], &[]), "events may have a field whose column is absent");
        assert!(has_others(&["__key"], &[]), "inner columns are not displayed");
        assert!(has_others(&["use*"], &[]), "a pattern admits any rest of a name");
    }

    #[test]
    fn only_the_text_of_events_is_read_if_each_has_one() {
        let whole = ResultRows::part(&events(3_500), 0, usize::MAX).page();
        let mut results = Arc::into_inner(events(3_500)).unwrap();
        assert!(have_raw(&results.columns, &results.batches));
        results.only_raw = true;
        assert!(!results.has_others());
        let rows = ResultRows::part(&Arc::new(results), 0, usize::MAX);
        let page = rows.page();
        assert_eq!(page.fields, ["_raw"]);
        assert_eq!(rows.fields(), page.fields);
        for row in 0..whole.rows.len() {
            assert_eq!(page.rows[row], [cell(&whole, row, "_raw").cloned()]);
        }

        let some: ArrayRef = Arc::new(StringViewArray::from(vec![Some("a"), None]));
        let numbers: ArrayRef = Arc::new(Int64Array::from(vec![1, 2]));
        let shown = events(0).columns.clone();
        for column in [some, numbers] {
            let batch = RecordBatch::try_from_iter([("_raw", column)]).unwrap();
            assert!(!have_raw(&shown, &[batch]));
        }
        assert!(!have_raw(&[], &[]));
    }

    #[test]
    fn a_page_of_a_range_has_rows_of_several_batches_also_by_times_among_texts() {
        let times = |times: Vec<Option<i64>>| -> ArrayRef {
            Arc::new(TimestampMicrosecondArray::from(times).with_timezone("UTC"))
        };
        let texts = vec!["0.000006", "Total", "0.000002", "7"];
        let texts: ArrayRef = Arc::new(StringViewArray::from(texts));
        let columns = [times(vec![Some(9), Some(8), None]), times(vec![Some(7), Some(1)]), texts];
        let batch = |column| RecordBatch::try_from_iter([("_time", column)]).unwrap();
        let mut results = Arc::into_inner(events(0)).unwrap();
        results.batches = columns.into_iter().map(batch).collect();
        let rows = ResultRows::part(&Arc::new(results), 0, usize::MAX);
        let range = TimeRange { earliest: EventTime(2), latest: EventTime(9) };
        let seconds = TimeRange { earliest: EventTime(6_500_000), latest: EventTime(7_500_000) };
        assert_eq!(rows.within(seconds, 0, 9).len(), 1, "a number is a time");
        let lengths = |offset: usize, count: usize| -> Vec<usize> {
            let page = rows.within(range, offset, count);
            page.batches.iter().map(RecordBatch::num_rows).collect()
        };
        assert_eq!(lengths(0, usize::MAX), [1, 1, 2]);
        assert_eq!(lengths(1, 2), [1, 1]);
        assert_eq!(lengths(3, 5), [1]);
        let last = rows.within(range, 3, 5);
        let last = last.batches[0].column(0).as_string_view().value(0).to_owned();
        assert_eq!(last, "0.000002");
        assert!(lengths(4, 5).is_empty() && lengths(0, 0).is_empty());
    }

    #[test]
    fn times_may_be_numbers() {
        let columns: [ArrayRef; 3] = [
            Arc::new(Float64Array::from(vec![Some(1.5), None, Some(2.5)])),
            Arc::new(Int64Array::from(vec![2, 1, 3])),
            Arc::new(StringViewArray::from(vec!["1.5", " 2e0", "1.5x"])),
        ];
        let range = TimeRange { earliest: EventTime(1_500_000), latest: EventTime(2_500_000) };
        let found = columns.map(|column| {
            let batch = RecordBatch::try_from_iter([("_time", column)]).unwrap();
            times_within(&batch, range).values().set_indices().collect::<Vec<_>>()
        });
        assert_eq!(found, [vec![0], vec![0], vec![0, 1]]);
    }

    #[test]
    fn rows_outlive_the_result_they_are_of() {
        let results = events(2_001);
        let rows = ResultRows::part(&results, 0, usize::MAX);
        drop(results);
        assert_eq!(rows.slices().map(|slice| slice.len()).sum::<usize>(), 2_001);
        assert!(ResultRows::default().page().fields.is_empty() && ResultRows::default().is_empty());
    }
    #[tokio::test]
    async fn readers_of_the_same_rows_find_their_fields_once() {
        let results = events(3_500);
        let asked = AtomicUsize::new(0);
        let fields_of = async |offset, count| {
            let rows = ResultRows::part(&results, offset, count);
            let find = async {
                asked.fetch_add(1, Relaxed);
                tokio::task::yield_now().await;
                rows.fields()
            };
            rows.fields_found_by(find).await
        };
        let (one, other) = futures::join!(fields_of(0, usize::MAX), fields_of(0, 3_500));
        assert_eq!((&one, asked.load(Relaxed)), (&other, 1));
        assert_eq!(one.last().unwrap(), "late");
        assert_eq!(fields_of(0, 10).await.len(), 3);
        for offset in 0..10 {
            fields_of(offset, 10).await;
        }
        assert_eq!((fields_of(0, usize::MAX).await, asked.load(Relaxed)), (one, 12));
    }
}
