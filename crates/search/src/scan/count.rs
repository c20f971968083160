//! Counts matching rows of granules from the term index, without reading rows.

use bucket::{BucketReader, GranuleSet, TermHash};
use model::{EventTime, TimeRange};

use super::prune::Countable;
use crate::timeline::Timeline;

/// The granules of a bucket, split into counted and remaining ones.
#[derive(Debug)]
pub(super) struct Counted {
    /// For each counted granule: first and last `_time`, and the number of matching rows.
    pub(super) granules: Vec<(EventTime, EventTime, u64)>,
    /// Granules whose rows must be read.
    pub(super) rest: GranuleSet,
}

/// Counts the matching rows of a bucket. With a timeline, only granules that fit into one of its bins are
/// counted, so that it stays exact.
///
/// # Errors
/// The term index cannot be read.
pub(super) async fn count(
    reader: &BucketReader,
    range: &TimeRange,
    countable: &Countable,
    timeline: Option<&Timeline>,
) -> Result<Counted, bucket::Error> {
    let granules = reader.granules_in(range);
    let rows = match &countable.word {
        None => granules.iter().map(|granule| reader.granule_rows(granule) as u64).collect(),
        Some(word) => match rows_with(reader, word).await? {
            Counts::Exact(rows) => granules.iter().map(|granule| rows[granule]).collect(),
            Counts::Candidates(mut rest) => {
                rest.intersect(&granules);
                return Ok(Counted { granules: Vec::new(), rest });
            }
        },
    };
    let rows: Vec<u64> = rows;
    let mut counted = Counted { granules: Vec::new(), rest: GranuleSet::none(reader.granules()) };
    for (granule, rows) in granules.iter().zip(rows).filter(|(_, rows)| *rows > 0) {
        let (first, last) = reader.granule_times()[granule];
        let inside = range.earliest <= first && last < range.latest;
        if inside && timeline.is_none_or(|timeline| timeline.is_one_bin(first, last)) {
            counted.granules.push((first, last, rows));
        } else {
            counted.rest.insert(granule);
        }
    }
    Ok(counted)
}

enum Counts {
    /// Number of matching rows per granule.
    Exact(Vec<u64>),
    /// Granules that may have matching rows.
    Candidates(GranuleSet),
}

async fn rows_with(reader: &BucketReader, word: &str) -> Result<Counts, bucket::Error> {
    let found = reader.lookup(&[TermHash::of(word)]).await?;
    let Some(postings) = found.first() else {
        return Ok(Counts::Candidates(GranuleSet::all(reader.granules())));
    };
    if !postings.exact {
        return Ok(Counts::Candidates(postings.in_raw()));
    }
    let mut rows = vec![0; reader.granules()];
    for (granule, count) in postings.granules.iter().zip(&postings.rows) {
        rows[granule] = u64::from(*count);
    }
    Ok(Counts::Exact(rows))
}
