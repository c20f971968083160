//! The output of a job: its previews, then its result.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

use super::Results;
use crate::preview::PreviewState;
use crate::times::Published;

#[derive(Debug, Default)]
pub(super) struct Answer {
    results: OnceLock<Arc<Results>>,
    /// The current preview.
    preview: Published<Option<Arc<Results>>>,
    previews: AtomicU64,
    /// Number of rows of a result in object storage that has not been read.
    stored_rows: usize,
    /// The state from which previews are computed.
    kept: Published<Option<Arc<PreviewState>>>,
}

impl Answer {
    /// Restores the output of a stored job: its result if it has been read, otherwise the number of rows.
    pub(super) fn restored(results: Option<Arc<Results>>, rows: usize, previews: u64) -> Self {
        Self {
            results: results.map(OnceLock::from).unwrap_or_default(),
            previews: previews.into(),
            stored_rows: rows,
            ..Self::default()
        }
    }

    /// Returns the number of rows of the result; 0 before the end.
    pub(super) fn rows(&self) -> usize {
        self.results.get().map_or(self.stored_rows, |results| results.rows())
    }

    /// Returns the number of rows of the result, or of the last preview before the end.
    pub(super) fn shown_rows(&self) -> usize {
        self.shown().map_or(self.stored_rows, |results| results.rows())
    }

    /// Returns the result; `None` before the end.
    pub(super) fn results(&self) -> Option<&Arc<Results>> {
        self.results.get()
    }

    pub(super) fn preview(&self) -> Option<Arc<Results>> {
        self.preview.now()
    }

    /// Returns the result, or the last preview before the end.
    pub(super) fn shown(&self) -> Option<Arc<Results>> {
        self.results.get().cloned().or_else(|| self.preview.now())
    }

    /// Returns the number of previews so far.
    pub(super) fn previews(&self) -> u64 {
        self.previews.load(Relaxed)
    }

    /// Returns why previews ended before the search, if they did.
    pub(super) fn why_previews_ended(&self) -> Option<String> {
        self.kept.now().and_then(|kept| kept.why_ended())
    }

    /// Publishes the state from which previews are computed.
    pub(super) fn keeps(&self, kept: &Arc<PreviewState>) {
        self.kept.change(|known| *known = Some(Arc::clone(kept)));
    }

    /// Publishes a preview if it is still wanted.
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

    /// Sets the result. Only the first call has an effect.
    pub(super) fn set(&self, results: Results) {
        let _ = self.results.set(Arc::new(results));
    }

    /// Frees the memory of previews.
    pub(super) fn end_previews(&self) {
        self.preview.change(|preview| *preview = None);
        self.kept.now().iter().for_each(|kept| kept.clear());
    }
}
