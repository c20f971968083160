//! The single phases of writing, for the example that times them.

use arrow::array::RecordBatch;
use model::BucketId;

use super::encode::row_groups;
use super::{Encoder, Origins, Rows, Shredder, WriteOptions};
use crate::index::IndexBuilder;
use crate::segment::Segmenter;
use crate::{Error, FieldSource};

/// Passes each phase to `run` with its name; a phase returns the bytes that it has produced.
///
/// # Errors
/// As [`write_bucket`](crate::write_bucket).
pub fn phases(
    id: BucketId,
    batches: &[RecordBatch],
    fields: &dyn FieldSource,
    options: &WriteOptions,
    run: &mut dyn FnMut(&str, &mut dyn FnMut() -> usize),
) -> Result<(), Error> {
    let mut gathered = None;
    run("gather and sort rows", &mut || {
        gathered = Some(Rows::gather(id, batches));
        0
    });
    let Some(rows) = gathered.transpose()? else { return Ok(()) };
    index_phases(&rows, options, run);
    run("extract fields", &mut || {
        let mut origins = Origins::new(fields);
        let mut bytes = 0;
        for row in 0..rows.len() {
            let extractor = origins.extractor(&rows, row);
            extractor.extract(rows.text(row), &mut |name, value| bytes += name.len() + value.len());
        }
        std::hint::black_box(bytes);
        0
    });
    let mut shredder = Some(Shredder::new(rows.len(), options));
    run("extract fields and shred", &mut || {
        let Some(shredder) = &mut shredder else { return 0 };
        let mut origins = Origins::new(fields);
        for row in 0..rows.len() {
            shredder.start_row(rows.sourcetype.keys[row], rows.text(row));
            let extractor = origins.extractor(&rows, row);
            extractor.extract(rows.text(row), &mut |name, value| {
                shredder.extracted(row as u32, name, value);
            });
        }
        0
    });
    let Some(shredder) = shredder else { return Ok(()) };
    let shredded = shredder.finish(rows.len() as u64, options);
    let failed = |source| Error::Encode { id, source };
    let mut encoder = Encoder::new(&shredded, options, 0).map_err(failed)?;
    let mut texts = vec![0; shredded.columns.len()];
    for number in 0..encoder.columns() {
        let name = format!("encode {}", encoder.name(number));
        let mut result = Ok(());
        run(&name, &mut || {
            let mut bytes = 0;
            for range in row_groups(&rows, options) {
                match encoder.chunk(number, &range, &rows, &shredded, &mut texts, options) {
                    Ok((chunk, _)) => bytes += chunk.len(),
                    Err(error) => result = Err(failed(error)),
                }
            }
            bytes
        });
        result?;
    }
    Ok(())
}

fn index_phases(
    rows: &Rows,
    options: &WriteOptions,
    run: &mut dyn FnMut(&str, &mut dyn FnMut() -> usize),
) {
    run("split and hash words", &mut || {
        let mut segmenter = Segmenter::default();
        let mut sum = 0u64;
        for row in 0..rows.len() {
            segmenter.words(rows.text(row), |word| sum = sum.wrapping_add(word.hash));
        }
        std::hint::black_box(sum);
        0
    });
    let granules = rows.len().div_ceil(options.granule_rows);
    let mut index = Some(IndexBuilder::new(options.max_vocabulary, granules));
    run("split, hash, distinct words per granule", &mut || {
        let Some(index) = &mut index else { return 0 };
        for row in 0..rows.len() {
            let within = row % options.granule_rows;
            if within == 0 && row > 0 {
                index.end_granule();
            }
            index.raw(within as u32, rows.text(row));
        }
        index.end_granule();
        0
    });
    run("sort and encode the term index", &mut || {
        index.take().map_or(0, |index| index.finish().bytes.len())
    });
}
