//! What a job has found: its previews, then its result.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

use super::Results;
use crate::preview::Kept;
use crate::times::Published;

#[derive(Debug, Default)]
pub(super) struct Answer {
    results: OnceLock<Arc<Results>>,
    /// The result as it was a moment ago.
    preview: Published<Option<Arc<Results>>>,
    previews: AtomicU64,
    /// Rows of a result that is in object storage and has not been read.
    stored_rows: usize,
    /// What previews are made of.
    kept: Published<Option<Arc<Kept>>>,
}

impl Answer {
    /// Of a job in object storage: its result if it has been read, or how many rows that has.
    pub(super) fn restored(results: Option<Arc<Results>>, rows: usize, previews: u64) -> Self {
        Self {
            results: results.map(OnceLock::from).unwrap_or_default(),
            previews: previews.into(),
            stored_rows: rows,
            ..Self::default()
        }
    }

    /// Rows of the result; 0 before the end.
    pub(super) fn rows(&self) -> usize {
        self.results.get().map_or(self.stored_rows, |results| results.rows())
    }

    /// Rows of the result, or of its last preview.
    pub(super) fn shown_rows(&self) -> usize {
        self.shown().map_or(self.stored_rows, |results| results.rows())
    }

    /// The result; `None` before the end.
    pub(super) fn results(&self) -> Option<&Arc<Results>> {
        self.results.get()
    }

    pub(super) fn preview(&self) -> Option<Arc<Results>> {
        self.preview.now()
    }

    /// The result, or its last preview until it is there.
    pub(super) fn shown(&self) -> Option<Arc<Results>> {
        self.results.get().cloned().or_else(|| self.preview.now())
    }

    /// Previews made so far.
    pub(super) fn previews(&self) -> u64 {
        self.previews.load(Relaxed)
    }

    /// Why no more previews are made, if they ended before the search.
    pub(super) fn why_previews_ended(&self) -> Option<String> {
        self.kept.now().and_then(|kept| kept.why_ended())
    }

    /// Publishes what previews are made of.
    pub(super) fn keeps(&self, kept: &Arc<Kept>) {
        self.kept.change(|known| *known = Some(Arc::clone(kept)));
    }

    /// Shows a preview, if it is still wanted.
    pub(super) fn show(&self, preview: Arc<Results>, is_wanted: impl FnOnce() -> bool) {
        let is_shown = self.preview.change(|known| {
            let is_shown = is_wanted();
            if is_shown {
                *known = Some(preview);
            }
            is_shown
        });
        self.previews.fetch_add(u64::from(is_shown), Relaxed);
    }

    /// Sets the result, once.
    pub(super) fn set(&self, results: Results) {
        let _ = self.results.set(Arc::new(results));
    }

    /// Frees what previews take.
    pub(super) fn end_previews(&self) {
        self.preview.change(|preview| *preview = None);
        self.kept.now().iter().for_each(|kept| kept.clear());
    }
}
