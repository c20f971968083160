//! Streams of rows: begun or not, measured, limited.

use std::time::Instant;

use arrow::array::RecordBatch;
use datafusion::error::Result;
use datafusion::physical_plan::metrics::BaselineMetrics;
use futures::future::BoxFuture;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};

use super::Rows;

/// The rows of a part of a bucket. The first pages have arrived.
pub(super) enum PartRows {
    /// The rows are being read.
    Reading(Rows),
    /// Which rows are read, or with which values, depends on these pages: the rest waits until the rows are
    /// requested.
    Later(BoxFuture<'static, Result<Rows>>),
}

impl PartRows {
    /// Waits until the rows are being read.
    pub(super) async fn begun(self) -> Result<Rows> {
        match self {
            Self::Reading(rows) => Ok(rows),
            Self::Later(rows) => rows.await,
        }
    }
}

/// Records the rows, and the time of each poll: until there is a batch, or the stream has to wait.
pub(super) fn measured(
    mut rows: BoxStream<'static, Result<RecordBatch>>,
    metrics: BaselineMetrics,
) -> impl stream::Stream<Item = Result<RecordBatch>> + Send {
    stream::poll_fn(move |context| {
        let start = Instant::now();
        let polled = rows.poll_next_unpin(context);
        metrics.elapsed_compute().add_elapsed(start);
        metrics.record_poll(polled)
    })
}

pub(super) fn take_rows(
    rows: BoxStream<'static, Result<RecordBatch>>,
    limit: usize,
) -> BoxStream<'static, Result<RecordBatch>> {
    stream::try_unfold((rows, limit), |(mut rows, left)| async move {
        if left == 0 {
            return Ok(None);
        }
        let Some(batch) = rows.try_next().await? else { return Ok(None) };
        let batch = batch.slice(0, batch.num_rows().min(left));
        let left = left - batch.num_rows();
        Ok(Some((batch, (rows, left))))
    })
    .boxed()
}
