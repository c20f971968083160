//! Streams of rows: measured, limited, or only counted.

use std::time::Instant;

use arrow::array::RecordBatch;
use datafusion::error::Result;
use datafusion::physical_plan::metrics::BaselineMetrics;
use futures::stream::{self, BoxStream, StreamExt, TryStreamExt};

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
