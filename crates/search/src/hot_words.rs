//! Word filters of hot rows, which searches for rare words make and share: see
//! docs/decisions/0059-filters-of-hot-words.md.
//!
//! Filters belong to a batch, which never changes: it is known by the addresses of its columns. Weak
//! references keep these addresses from being used again, so that filters are never taken for those of
//! another batch. Filters of batches that are gone are dropped by the next search of hot rows, and all
//! together take no more memory than `max_hot_words_mb`.
//!
//! A batch gets filters when a search has read all its rows and few of them have matched, and another such
//! search comes. One search makes them; others that read the batch meanwhile do not wait.

use std::sync::{Arc, Weak};

use arrow::array::{Array, RecordBatch};
use bucket::WordFilters;
use hashbrown::HashMap;
use metrics::{counter, gauge};
use parking_lot::Mutex;
use runtime::metrics as names;

/// Number of lookups (one for each bucket of a search) after which unused filters make room for others.
const UNUSED: u64 = 1_024;

/// The word filters of a process.
#[derive(Debug, Default)]
pub(crate) struct HotWords {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    /// Number of lookups.
    tick: u64,
    /// Memory of all filters.
    bytes: usize,
    /// The number of lookups before which no filters are unused.
    none_unused_until: u64,
    /// By the address of the first column.
    batches: HashMap<usize, Known>,
}

/// A batch that searches for rare words have read.
#[derive(Debug)]
struct Known {
    columns: Vec<Weak<dyn Array>>,
    filters: Option<Arc<WordFilters>>,
    step: Step,
    /// The last lookup.
    used: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Step {
    /// Nothing is due: another search that reads all rows for few of them makes filters due.
    Idle,
    /// The next search makes filters.
    Due,
    /// A search is making filters.
    Making,
    /// The filters did not fit in the memory; they take so many bytes. They are due when there is room.
    Refused(usize),
}

impl HotWords {
    /// Drops the filters of batches that are gone, and others if they take more memory than this. Called once
    /// per scan, because it looks at all batches.
    pub(crate) fn shrink(&self, most_bytes: usize) {
        let mut state = self.state.lock();
        state.drop_dead();
        state.make_room(0, most_bytes);
    }

    /// Returns the filters of each batch.
    pub(crate) fn find(&self, batches: &[RecordBatch]) -> Vec<Option<Arc<WordFilters>>> {
        let mut state = self.state.lock();
        state.tick += 1;
        let tick = state.tick;
        let mut found = Vec::with_capacity(batches.len());
        for batch in batches {
            found.push(state.known(batch).and_then(|known| {
                known.used = tick;
                known.filters.clone()
            }));
        }
        found
    }

    /// Notes that a search for words has read all rows of a batch, and few have matched.
    pub(crate) fn note(&self, batch: &RecordBatch) {
        let Some(address) = address_of(batch) else { return };
        let mut state = self.state.lock();
        let tick = state.tick;
        if let Some(known) = state.known(batch) {
            if known.step == Step::Idle {
                known.step = Step::Due;
            }
            return;
        }
        let columns = batch.columns().iter().map(Arc::downgrade).collect();
        let known = Known { columns, filters: None, step: Step::Due, used: tick };
        if let Some(other) = state.batches.insert(address, known) {
            let bytes = state.bytes - other.bytes();
            state.hold(bytes);
        }
    }

    /// Whether the caller has to make filters of a batch now. It must then call [`Self::end`].
    pub(crate) fn begin(&self, batch: &RecordBatch, most_bytes: usize) -> bool {
        let mut state = self.state.lock();
        let Some(known) = state.known(batch) else { return false };
        let needed = match known.step {
            // Nothing is known about their size.
            Step::Due => 1,
            Step::Refused(bytes) => bytes.saturating_sub(known.bytes()),
            Step::Idle | Step::Making => return false,
        };
        state.make_room(needed, most_bytes);
        if state.bytes.saturating_add(needed) > most_bytes {
            return false;
        }
        state.known(batch).is_some_and(|known| {
            known.step = Step::Making;
            true
        })
    }

    /// Keeps the filters of a batch if they fit; `None` if making them was stopped.
    pub(crate) fn end(
        &self,
        batch: &RecordBatch,
        made: Option<&Arc<WordFilters>>,
        most_bytes: usize,
    ) {
        let mut state = self.state.lock();
        let Some(known) = state.known(batch) else { return };
        let Some(made) = made else {
            known.step = Step::Due;
            return;
        };
        let needed = made.bytes().saturating_sub(known.bytes());
        state.make_room(needed, most_bytes);
        let held = state.bytes;
        let Some(known) = state.known(batch) else { return };
        let after = (held - known.bytes()).saturating_add(made.bytes());
        let outcome = if after > most_bytes {
            // The batch keeps the filters that it has, if any.
            known.step = Step::Refused(made.bytes());
            "refused"
        } else {
            (known.step, known.filters) = (Step::Idle, Some(Arc::clone(made)));
            state.hold(after);
            "made"
        };
        counter!(names::HOT_WORD_FILTERS, "outcome" => outcome).increment(1);
    }
}

impl State {
    fn known(&mut self, batch: &RecordBatch) -> Option<&mut Known> {
        let known = self.batches.get_mut(&address_of(batch)?)?;
        known.is_of(batch).then_some(known)
    }

    /// Drops what belongs to batches that are gone.
    fn drop_dead(&mut self) {
        self.keep(|known| known.columns.iter().all(|column| column.strong_count() > 0));
    }

    /// Drops filters that were not used for long, if the memory lacks room for this number of bytes. Looks at
    /// all batches only if some of the filters may be unused.
    fn make_room(&mut self, needed: usize, most_bytes: usize) {
        let is_full = self.bytes.saturating_add(needed) > most_bytes;
        // In the empty memory, there would be no room either.
        let is_possible = needed <= most_bytes;
        if is_full && is_possible && self.tick >= self.none_unused_until {
            let since = self.tick.saturating_sub(UNUSED);
            self.keep(|known| known.step == Step::Making || known.used >= since);
            let oldest = self.batches.values().map(|known| known.used).min();
            let until = oldest.unwrap_or(self.tick) + UNUSED + 1;
            self.none_unused_until = until.max(self.tick + 1);
        }
        // Only after the setting was lowered.
        if self.bytes > most_bytes {
            self.keep(|known| known.filters.is_none());
        }
    }

    fn keep(&mut self, is_kept: impl Fn(&Known) -> bool) {
        let mut bytes = self.bytes;
        self.batches.retain(|_, known| {
            let kept = is_kept(known);
            if !kept {
                bytes -= known.bytes();
            }
            kept
        });
        if bytes < self.bytes {
            self.hold(bytes);
        }
    }

    fn hold(&mut self, bytes: usize) {
        self.bytes = bytes;
        gauge!(names::HOT_WORD_BYTES).set(bytes as f64);
    }
}

impl Known {
    fn bytes(&self) -> usize {
        self.filters.as_ref().map_or(0, |filters| filters.bytes())
    }

    fn is_of(&self, batch: &RecordBatch) -> bool {
        let same = |(known, column): (&Weak<dyn Array>, &Arc<dyn Array>)| {
            std::ptr::addr_eq(known.as_ptr(), Arc::as_ptr(column))
        };
        self.columns.len() == batch.num_columns()
            && self.columns.iter().zip(batch.columns()).all(same)
    }
}

/// Returns the address of the first column of a batch.
fn address_of(batch: &RecordBatch) -> Option<usize> {
    batch.columns().first().map(|column| Arc::as_ptr(column).cast::<()>().addr())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::array::TimestampMicrosecondArray;
    use arrow::array::{ArrayRef, DictionaryArray, StringArray, StringViewArray};
    use arrow::datatypes::Int32Type;
    use bucket::hot_schema;

    use super::*;

    const MOST: usize = 1 << 20;

    fn batch(rows: usize) -> RecordBatch {
        let times = || -> ArrayRef {
            Arc::new(TimestampMicrosecondArray::from(vec![1; rows]).with_timezone("UTC"))
        };
        let name = || -> ArrayRef {
            Arc::new(vec!["x"; rows].into_iter().collect::<DictionaryArray<Int32Type>>())
        };
        let raw = StringViewArray::from_iter_values((0..rows).map(|row| format!("word{row}")));
        let fields = StringArray::from(vec![None::<&str>; rows]);
        let columns: Vec<ArrayRef> =
            vec![times(), times(), Arc::new(raw), name(), name(), name(), Arc::new(fields)];
        RecordBatch::try_new(hot_schema(), columns).unwrap()
    }

    fn filters(batch: &RecordBatch) -> Arc<WordFilters> {
        Arc::new(WordFilters::of(batch, None, &|| true).unwrap())
    }

    /// Makes filters as searches do.
    fn made(words: &HotWords, batch: &RecordBatch, most: usize) -> bool {
        words.note(batch);
        let begins = words.begin(batch, most);
        if begins {
            words.end(batch, Some(&filters(batch)), most);
        }
        words.find(std::slice::from_ref(batch))[0].is_some()
    }

    #[test]
    fn the_second_search_makes_filters_and_only_one_does() {
        let (words, batch) = (HotWords::default(), batch(3_000));
        assert!(words.find(std::slice::from_ref(&batch))[0].is_none());
        assert!(!words.begin(&batch, MOST), "nobody has read it");
        words.note(&batch);
        assert!(words.begin(&batch, MOST));
        assert!(!words.begin(&batch.clone(), MOST), "another search is at it");
        words.end(&batch, None, MOST);
        assert!(words.begin(&batch, MOST), "the first one was stopped");
        words.end(&batch, Some(&filters(&batch)), MOST);
        let found = words.find(std::slice::from_ref(&batch));
        assert_eq!(found[0].as_ref().unwrap().granules(), 3);
        assert!(!words.begin(&batch, MOST));
    }

    #[test]
    fn filters_are_dropped_with_their_batch_and_never_those_of_another_one() {
        let words = HotWords::default();
        let (one, two) = (batch(2_000), batch(2_000));
        assert!(made(&words, &one, MOST) && made(&words, &two, MOST));
        let bytes = words.state.lock().bytes;
        assert_eq!(bytes, filters(&one).bytes() + filters(&two).bytes());
        let part = one.slice(0, 2_000);
        let mut columns = one.columns().to_vec();
        columns[2] = Arc::clone(two.column(2));
        let mixed = RecordBatch::try_new(hot_schema(), columns).unwrap();
        assert!(words.find(&[part, mixed]).iter().all(Option::is_none));
        drop(one);
        words.shrink(MOST);
        assert!(words.find(std::slice::from_ref(&two))[0].is_some());
        let state = words.state.lock();
        assert_eq!((state.batches.len(), state.bytes), (1, filters(&two).bytes()));
    }

    #[test]
    fn refused_filters_are_made_when_there_is_room() {
        let words = HotWords::default();
        let (one, two) = (batch(2_000), batch(2_000));
        let most = filters(&one).bytes() + filters(&two).bytes() - 1;
        assert!(made(&words, &one, most));
        assert!(!made(&words, &two, most), "they do not fit");
        assert!(!words.begin(&two, most), "they are not made again in vain");
        drop(one);
        words.shrink(most);
        assert!(made(&words, &two, most));
    }

    #[test]
    fn unused_filters_make_room_in_a_memory_that_is_not_full_to_the_last_byte() {
        let words = HotWords::default();
        let (one, two, three) = (batch(2_000), batch(2_000), batch(2_000));
        let size = filters(&one).bytes();
        let most = 2 * size + size / 2;
        assert!(made(&words, &one, most) && made(&words, &two, most));
        assert!(!made(&words, &three, most), "there is room for two and a half");
        {
            let state = words.state.lock();
            assert!(state.none_unused_until > state.tick, "batches are looked at in vain");
        }
        for _ in 0..=UNUSED {
            words.find(&[two.clone(), three.clone()]);
        }
        // Without memory for all of them, nothing is dropped.
        assert!(!made(&words, &batch(200_000), most));
        assert!(words.find(std::slice::from_ref(&two))[0].is_some());
        assert!(made(&words, &three, most));
        assert!(words.find(std::slice::from_ref(&one))[0].is_none(), "the unused one is dropped");
        assert!(words.find(std::slice::from_ref(&two))[0].is_some());
        assert_eq!(words.state.lock().bytes, 2 * size);
    }

    #[test]
    fn memory_is_bounded_and_unused_filters_make_room() {
        let words = HotWords::default();
        let (one, two) = (batch(2_000), batch(2_000));
        let most = filters(&one).bytes();
        assert!(made(&words, &one, most));
        assert!(!made(&words, &two, most), "there is room for one");
        assert_eq!(words.state.lock().bytes, most);
        for _ in 0..=UNUSED {
            words.find(std::slice::from_ref(&two));
        }
        assert!(made(&words, &two, most));
        assert!(words.find(std::slice::from_ref(&one))[0].is_none());
        let large = batch(20_000);
        assert!(!made(&HotWords::default(), &large, most), "larger than all memory");
        assert!(!made(&HotWords::default(), &one, 0), "none are made without memory");
        words.shrink(most);
        assert_eq!(words.state.lock().bytes, most);
        words.shrink(most - 1);
        assert_eq!(words.state.lock().bytes, 0, "the setting was lowered");
    }
}
