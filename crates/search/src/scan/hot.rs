//! Hot rows in a scan: the batches and granules that may have matching rows, and the rows that pass.
//!
//! Hot rows have no term index. Searches for rare words make word filters of the batches that they read
//! (`hot_words` says which and when, docs/decisions/0059 why); later searches skip granules by them, as
//! those of stored buckets by the term index.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow::array::RecordBatch;
use bucket::{
    Elsewhere, FieldExtractor, FieldSource, GranuleSet, HotBucket, MissingIndexer, TermQuery,
    WordFilters, WordTest,
};
use datafusion::error::{DataFusionError, Result};
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};
use knowledge::{FieldRules, Knowledge};
use model::{BucketId, EventTime, IndexName};

use super::exec::Scan;
use super::prune::Pruning;
use super::stale::Stale;
use super::unit::{FieldPlace, HotPart, Opened, span_of};
use super::work::Origin;
use crate::hot_words::HotWords;
use crate::readers::rules_hold;
use crate::times::Phase;

/// A batch gets filters if at most one in this number of its rows has matched: with more, most granules of
/// 1,024 rows have the words.
const FEW: usize = 256;

/// The word filters of hot rows, and what a scan asks them.
#[derive(Debug)]
pub(super) struct HotFilters {
    words: Arc<HotWords>,
    /// Maximum memory of all filters of the process.
    most_bytes: usize,
    /// The words that matching rows have; `None` if no granule can be skipped by words.
    test: Option<WordTest>,
    /// Whether filters that include extracted values are needed.
    needs_values: bool,
    /// Whether it pays to make filters. It does not for host, source and source type alone, which are tested
    /// once for each distinct value of a batch.
    makes: bool,
}

impl HotFilters {
    /// Without memory, and so if there are no hot rows, no filters are made or used.
    pub(super) fn of(pruning: &Pruning, words: Arc<HotWords>, most_bytes: usize) -> Self {
        let terms = match most_bytes {
            0 => TermQuery::All,
            _ => pruning.terms(&Stale::Nothing),
        };
        let Some(test) = WordTest::of(&terms) else {
            return Self { words, most_bytes, test: None, needs_values: false, makes: false };
        };
        // Of all terms, names included: in `code=7 OR host=a`, the value decides only together with the name.
        let needs_values = terms != pruning.terms(&Stale::Everything);
        let makes = WordTest::of(&pruning.text_terms(&Stale::Nothing)).is_some();
        Self { words, most_bytes, test: Some(test), needs_values, makes }
    }

    fn find(&self, batches: &[RecordBatch]) -> Vec<Option<Arc<WordFilters>>> {
        match &self.test {
            Some(_) => self.words.find(batches),
            None => vec![None; batches.len()],
        }
    }

    /// Returns the granules that may have matching rows; `None` if the filters have not the words that this
    /// scan asks for.
    fn candidates(&self, filters: &WordFilters, knowledge: &Knowledge) -> Option<GranuleSet> {
        let holds = |rules: &[(String, u64)]| rules_hold(knowledge, rules);
        let knows = !self.needs_values || filters.rules().is_some_and(holds);
        Some(filters.candidates(self.test.as_ref().filter(|_| knows)?))
    }
}

/// The current extraction rules, for the words of extracted values.
struct CurrentRules<'k>(&'k Knowledge);

struct Rules {
    rules: Arc<FieldRules>,
    fingerprint: u64,
}

impl FieldSource for CurrentRules<'_> {
    fn extractor(&self, sourcetype: &str, source: &str, host: &str) -> Arc<dyn FieldExtractor> {
        let rules = self.0.field_rules(sourcetype, source, host);
        Arc::new(Rules { rules, fingerprint: self.0.fingerprint(sourcetype) })
    }
}

impl FieldExtractor for Rules {
    fn fingerprint(&self) -> u64 {
        self.fingerprint
    }

    fn extract(&self, raw: &str, emit: &mut dyn FnMut(&str, &str)) -> bool {
        !self.rules.extract(raw, &mut |name, value| emit(name, &value)).lacks_columns
    }
}

impl Scan {
    /// Returns the parts of a hot bucket that may have matching rows, in the direction of the scan.
    pub(super) async fn open_hot(&self, hot: HotBucket) -> Result<Vec<Opened>> {
        let mut batches = match &hot.elsewhere {
            Some(elsewhere) => self.moved(elsewhere, hot.id).await?,
            None => hot.batches,
        };
        // Rows of a hot bucket are in order of arrival, so the newest rows are usually in the last batch.
        if !self.oldest_first {
            batches.reverse();
        }
        let timer = self.hot.test.as_ref().map(|_| self.report.times.during(Phase::Terms));
        let mut parts = Vec::new();
        let mut is_pruned = false;
        for (rows, filters) in batches.iter().zip(self.hot.find(&batches)) {
            if let Some(filters) = filters
                && let Some(candidates) = self.hot.candidates(&filters, self.work.knowledge())
            {
                is_pruned |= !candidates.is_all();
                parts.extend(self.granules(&hot.index, rows, &filters, candidates));
                continue;
            }
            let span = span_of(rows);
            if span.is_some_and(|(first, last)| self.range.overlaps(first, last)) {
                let (index, rows) = (hot.index.clone(), rows.clone());
                parts.push(HotPart { index, rows, span, is_unfiltered: true });
            }
        }
        drop(timer);
        if parts.is_empty() && is_pruned {
            self.report.buckets_pruned_by_terms.fetch_add(1, Relaxed);
        }
        Ok(parts.into_iter().map(Opened::Hot).collect())
    }

    /// Fetches the rows of a bucket from its indexer; none if it does not answer and incomplete results are
    /// allowed.
    async fn moved(&self, elsewhere: &Elsewhere, id: BucketId) -> Result<Vec<RecordBatch>> {
        let missing = match elsewhere.view.rows(id).await {
            Ok(batches) => return Ok(batches),
            Err(missing) => missing,
        };
        if !self.allow_partial {
            let MissingIndexer { name, reason } = missing;
            let text = format!("{name}: {reason}, and the results may not be incomplete");
            return Err(DataFusionError::External(Box::new(crate::Error::Unavailable(text))));
        }
        self.report.miss(&missing);
        Ok(Vec::new())
    }

    /// Returns runs of candidate granules of a batch within the range, in the direction of the scan. If these
    /// are most of its rows, they are one part: many small ones would cost more than they save.
    fn granules(
        &self,
        index: &IndexName,
        rows: &RecordBatch,
        filters: &WordFilters,
        mut candidates: GranuleSet,
    ) -> Vec<HotPart> {
        for granule in 0..filters.granules() {
            let (first, last) = filters.times(granule);
            if !self.range.overlaps(first, last) {
                candidates.remove(granule);
            }
        }
        if candidates.len() * 2 > filters.granules() {
            candidates = GranuleSet::all(filters.granules());
        }
        self.report.granules_considered.fetch_add(filters.granules() as u64, Relaxed);
        self.report.granules_read.fetch_add(candidates.len() as u64, Relaxed);
        let mut parts: Vec<HotPart> = Vec::new();
        let mut run: Option<(usize, usize, (EventTime, EventTime))> = None;
        let part = |(from, upto, span): (usize, usize, (EventTime, EventTime))| {
            let (start, end) = (filters.rows(from).start, filters.rows(upto).end);
            let (index, rows) = (index.clone(), rows.slice(start, end - start));
            HotPart { index, rows, span: Some(span), is_unfiltered: false }
        };
        for granule in candidates.iter() {
            let times = filters.times(granule);
            run = Some(match run {
                Some((from, upto, (first, last))) if upto + 1 == granule => {
                    (from, granule, (first.min(times.0), last.max(times.1)))
                }
                before => {
                    parts.extend(before.map(part));
                    (granule, granule, times)
                }
            });
        }
        parts.extend(run.map(part));
        if !self.oldest_first {
            parts.reverse();
        }
        parts
    }

    /// Returns the rows of a part that pass.
    pub(super) fn hot_rows(
        self: Arc<Self>,
        part: HotPart,
    ) -> BoxStream<'static, Result<RecordBatch>> {
        let read = async move {
            let passed = self.read_hot(&part)?.into_iter().map(Ok::<_, DataFusionError>);
            Ok::<_, DataFusionError>(stream::iter(passed))
        };
        stream::once(read).try_flatten().boxed()
    }

    /// Filters the rows of a part; first makes word filters of its batch if another search would have gained
    /// by them, and skips granules by them.
    fn read_hot(&self, part: &HotPart) -> Result<Vec<RecordBatch>> {
        let rows = part.rows.num_rows();
        let gains = part.is_unfiltered && self.hot.makes && rows > WordFilters::GRANULE_ROWS;
        if gains
            && let Some(filters) = self.make_filters(&part.rows)
            && let Some(candidates) = self.hot.candidates(&filters, self.work.knowledge())
        {
            let parts = self.granules(&part.index, &part.rows, &filters, candidates);
            let passed = parts.iter().map(|part| self.passed(part));
            return passed.filter_map(Result::transpose).collect();
        }
        let passed = self.passed(part)?;
        let found = passed.as_ref().map_or(0, RecordBatch::num_rows);
        // A sort above may have dropped rows that have matched: then few rows say nothing about the words.
        let all_count = || part.span.is_some_and(|span| self.wanted.needs_all(span));
        if gains && found.saturating_mul(FEW) <= rows && all_count() {
            self.hot.words.note(&part.rows);
        }
        Ok(passed.into_iter().collect())
    }

    fn make_filters(&self, rows: &RecordBatch) -> Option<Arc<WordFilters>> {
        let HotFilters { words, most_bytes, needs_values, .. } = &*self.hot;
        if !words.begin(rows, *most_bytes) {
            return None;
        }
        let _timer = self.report.times.during(Phase::Terms);
        let rules = CurrentRules(self.work.knowledge());
        let fields: Option<&dyn FieldSource> = if *needs_values { Some(&rules) } else { None };
        let made = WordFilters::of(rows, fields, &|| !self.control.is_closed()).map(Arc::new);
        words.end(rows, made.as_ref(), *most_bytes);
        made
    }

    /// Filters the rows of a part; `None` if no row passes.
    fn passed(&self, part: &HotPart) -> Result<Option<RecordBatch>> {
        // Hot rows have no columns of fields; indexed fields are in `_fields`.
        let place = |_: &str| FieldPlace::Raw { indexed: None };
        let inside = part.span.is_some_and(|span| self.is_inside(span));
        let Some(residual) = self.work.residual(&part.index, None, inside) else {
            return Ok(None);
        };
        // Nothing is known of the fields in texts of hot rows, so that every field may be in each of them.
        let (may_be_in_texts, stale) = (&|_: &str, _: &str| true, &Stale::Everything);
        let (index, place, sent, residual) = (&part.index, &place, &[], &residual);
        let origin = Origin { index, place, stale, may_be_in_texts, sent, residual };
        self.process(part.rows.clone(), &origin)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::{
        ArrayRef, DictionaryArray, StringArray, StringViewArray, TimestampMicrosecondArray,
    };
    use arrow::datatypes::Int32Type;
    use bucket::hot_schema;
    use conf::{Layer, Layers};

    use super::*;

    fn batch() -> RecordBatch {
        let times = || -> ArrayRef {
            Arc::new(TimestampMicrosecondArray::from(vec![1; 2_000]).with_timezone("UTC"))
        };
        let name = |name: &'static str| -> ArrayRef {
            Arc::new(vec![name; 2_000].into_iter().collect::<DictionaryArray<Int32Type>>())
        };
        let raw = StringViewArray::from_iter_values(vec!["code:7x"; 2_000]);
        let fields = StringArray::from(vec![None::<&str>; 2_000]);
        let columns: Vec<ArrayRef> = vec![
            times(),
            times(),
            Arc::new(raw),
            name("h"),
            name("s"),
            name("odd"),
            Arc::new(fields),
        ];
        RecordBatch::try_new(hot_schema(), columns).unwrap()
    }

    fn rules(props: &str) -> Knowledge {
        Knowledge::new(Layers::builtin().with(Layer::SystemLocal, "props", props))
    }

    #[test]
    fn words_of_values_are_asked_only_if_the_rules_are_those_of_the_filters() {
        let filters = |word: &str, needs_values| HotFilters {
            words: Arc::default(),
            most_bytes: 1,
            test: WordTest::of(&TermQuery::for_text(word)),
            needs_values,
            makes: true,
        };
        let (then, now) =
            (rules("[odd]\nEXTRACT-c = code:(?<c>\\d+)\n"), rules("[odd]\nEXTRACT-c = (?<c>x)\n"));
        let rows = batch();
        let with_values = WordFilters::of(&rows, Some(&CurrentRules(&then)), &|| true).unwrap();
        let of_texts = WordFilters::of(&rows, None, &|| true).unwrap();
        let found = |word, needs_values, words: &WordFilters, rules| {
            filters(word, needs_values).candidates(words, rules).map(|found| found.len())
        };
        assert_eq!(found("7", true, &with_values, &then), Some(2));
        assert_eq!(found("absent", true, &with_values, &then), Some(0));
        assert_eq!(found("7", true, &with_values, &now), None, "other rules");
        assert_eq!(found("7", true, &of_texts, &then), None, "values are not in them");
        // Words of texts do not depend on the rules.
        assert_eq!(found("7x", false, &with_values, &now), Some(2));
        assert_eq!(found("absent", false, &of_texts, &now), Some(0));
    }
}
