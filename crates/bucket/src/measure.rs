//! Single stages of writing, for the example that measures them.

use arrow::array::{AsArray, RecordBatch};

use crate::index::IndexBuilder;
use crate::segment::Segmenter;

/// Hands each stage to `run` with its name and what a prototype measured. `batches` are hot rows.
#[doc(hidden)]
pub fn stages(batches: &[RecordBatch], mut run: impl FnMut(&str, &str, &mut dyn FnMut())) {
    run("split and hash words", "1,160 + hash", &mut || {
        let mut segmenter = Segmenter::default();
        let mut sum = 0u64;
        for batch in batches {
            for text in batch.column(2).as_string_view().iter().flatten() {
                segmenter.words(text, |word| sum = sum.wrapping_add(word.hash));
            }
        }
        std::hint::black_box(sum);
    });
    let mut index = IndexBuilder::new(200_000);
    run("split, hash, distinct words per granule", "about 700", &mut || {
        let mut row = 0;
        for batch in batches {
            for text in batch.column(2).as_string_view().iter().flatten() {
                index.raw(row, text);
                row += 1;
                if row == 1024 {
                    index.end_granule();
                    row = 0;
                }
            }
        }
        index.end_granule();
    });
    let mut index = Some(index);
    run("sort and encode the index", "", &mut || {
        std::hint::black_box(index.take().map(IndexBuilder::finish));
    });
}
