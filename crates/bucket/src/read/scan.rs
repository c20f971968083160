//! Streams rows: fetches the pages the decoder asks for, and decodes them.

use std::ops::Range;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::Schema;
use bytes::Bytes;
use futures::{StreamExt, stream};
use parquet::DecodeResult;
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ArrowReaderMetadata, RowSelection};
use parquet::arrow::push_decoder::{ParquetPushDecoder, ParquetPushDecoderBuilder};

use super::object::Object;
use super::{BucketReader, EventStream};
use crate::checksums::Checksums;
use crate::{Error, GranuleSet};

struct Scan {
    object: Object,
    decoder: ParquetPushDecoder,
    checksums: Arc<Checksums>,
    /// Position of each requested column among the decoded ones, which are in file order.
    positions: Vec<usize>,
    /// What the decoder has said and nobody has asked for yet.
    ahead: Option<DecodeResult<RecordBatch>>,
}

impl BucketReader {
    /// Streams the rows of the granules with the columns in the order asked for, at most
    /// `batch_rows` rows a batch. Reads only the pages of those granules (and, once per reader, the
    /// page index, unless all granules are asked for); those of the first row group are there when this
    /// returns, so that they can be read ahead. No columns give batches with a row count.
    ///
    /// # Errors
    /// [`Error::NoColumn`]; [`Error::Corrupt`] or [`Error::Store`] here or in the stream.
    pub async fn read(
        &self,
        columns: &[&str],
        granules: &GranuleSet,
        batch_rows: usize,
    ) -> Result<EventStream, Error> {
        let wanted = self.positions_of(columns)?;
        if granules.is_empty() {
            return Ok(stream::empty().boxed());
        }
        let pages =
            if granules.is_all() { self.whole_chunks() } else { self.single_pages().await? };
        let mut roots = wanted.clone();
        roots.sort_unstable();
        roots.dedup();
        let place = |column: &usize| roots.partition_point(|root| root < column);
        let positions = wanted.iter().map(place).collect();
        let decoder = self
            .decoder(pages.metadata.clone(), &roots, granules, batch_rows)
            .map_err(|error| self.object().undecodable("footer", &error))?;
        let checksums = pages.checksums.clone();
        let object = self.object().clone();
        let mut scan = Scan { object, decoder, checksums, positions, ahead: None };
        scan.read_ahead().await?;
        Ok(stream::try_unfold(scan, Scan::next).boxed())
    }

    fn positions_of(&self, columns: &[&str]) -> Result<Vec<usize>, Error> {
        let position = |name: &&str| {
            self.schema().index_of(name).map_err(|_| Error::NoColumn {
                path: self.object().path(),
                column: (*name).to_owned(),
            })
        };
        columns.iter().map(position).collect()
    }

    fn decoder(
        &self,
        metadata: ArrowReaderMetadata,
        roots: &[usize],
        granules: &GranuleSet,
        batch_rows: usize,
    ) -> parquet::errors::Result<ParquetPushDecoder> {
        let mask = ProjectionMask::roots(metadata.parquet_schema(), roots.iter().copied());
        let (groups, selection) = self.select(&metadata, granules);
        let mut builder = ParquetPushDecoderBuilder::new_with_metadata(metadata)
            .with_projection(mask)
            .with_batch_size(batch_rows.max(1));
        if let Some(selection) = selection {
            builder = builder.with_row_groups(groups).with_row_selection(selection);
        }
        builder.build()
    }

    /// The row groups that have some of the granules, and which of their rows; no selection where
    /// every granule is asked for.
    fn select(
        &self,
        metadata: &ArrowReaderMetadata,
        granules: &GranuleSet,
    ) -> (Vec<usize>, Option<RowSelection>) {
        if granules.is_all() {
            return (Vec::new(), None);
        }
        let per_granule = self.granule_rows(0).max(1);
        let mut groups = Vec::new();
        let mut ranges: Vec<Range<usize>> = Vec::new();
        let mut chosen_rows = 0;
        let mut first_row = 0;
        for (group, description) in metadata.metadata().row_groups().iter().enumerate() {
            let rows = usize::try_from(description.num_rows()).unwrap_or(0);
            let first = first_row / per_granule;
            let end = (first_row + rows).div_ceil(per_granule);
            let before = ranges.len();
            for granule in (first..end).filter(|granule| granules.contains(*granule)) {
                let start = granule * per_granule - first_row;
                let stop = (start + per_granule).min(rows);
                ranges.push(chosen_rows + start..chosen_rows + stop);
            }
            if ranges.len() > before {
                groups.push(group);
                chosen_rows += rows;
            }
            first_row += rows;
        }
        let selection = RowSelection::from_consecutive_ranges(ranges.into_iter(), chosen_rows);
        (groups, Some(selection))
    }
}

impl Scan {
    async fn next(mut self) -> Result<Option<(RecordBatch, Self)>, Error> {
        loop {
            match self.step()? {
                DecodeResult::Finished => return Ok(None),
                DecodeResult::Data(batch) => {
                    let batch = self.arrange(&batch)?;
                    return Ok(Some((batch, self)));
                }
                DecodeResult::NeedsData(ranges) => self.fetch(ranges).await?,
            }
        }
    }

    fn step(&mut self) -> Result<DecodeResult<RecordBatch>, Error> {
        match self.ahead.take() {
            Some(step) => Ok(step),
            None => {
                let step = self.decoder.try_decode();
                step.map_err(|error| self.object.undecodable("pages", &error))
            }
        }
    }

    /// The first pages, not decoded.
    async fn read_ahead(&mut self) -> Result<(), Error> {
        match self.step()? {
            DecodeResult::NeedsData(ranges) => self.fetch(ranges).await?,
            other => self.ahead = Some(other),
        }
        Ok(())
    }

    async fn fetch(&mut self, ranges: Vec<Range<u64>>) -> Result<(), Error> {
        let parts = self.object.read_rows(&ranges).await?;
        self.verify(&ranges, &parts)?;
        let pushed = self.decoder.push_ranges(ranges, parts);
        pushed.map_err(|error| self.object.undecodable("pages", &error))
    }

    fn verify(&self, ranges: &[Range<u64>], parts: &[Bytes]) -> Result<(), Error> {
        for (range, part) in ranges.iter().zip(parts) {
            if !self.checksums.verify(range, part) {
                let reason = format!("the checksum of bytes {range:?} does not match");
                return Err(self.object.corrupt("pages", reason));
            }
        }
        Ok(())
    }

    /// The columns in the order asked for.
    fn arrange(&self, batch: &RecordBatch) -> Result<RecordBatch, Error> {
        let in_order = self.positions.iter().enumerate().all(|(at, position)| at == *position);
        if in_order && self.positions.len() == batch.num_columns() {
            // The bucket's own schema metadata means nothing to a query.
            let schema = Arc::new(Schema::new(batch.schema().fields().clone()));
            return batch.clone().with_schema(schema).map_err(|error| self.unordered(&error));
        }
        batch.project(&self.positions).map_err(|error| self.unordered(&error))
    }

    fn unordered(&self, error: &arrow::error::ArrowError) -> Error {
        self.object.corrupt("pages", error.to_string())
    }
}
