//! Range reads of one object, whose errors name the object.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use model::IndexRead;
use object_store::path::Path;
use object_store::{GetOptions, GetRange, ObjectStore, coalesce_ranges};
use parquet::errors::ParquetError;

use crate::Error;

/// Maximum distance in bytes of parts of the index that are read together.
const NEAR: u64 = 64 << 10;

/// An object of known size.
#[derive(Debug, Clone)]
pub(super) struct Object {
    store: Arc<dyn ObjectStore>,
    path: Path,
    size: u64,
}

impl Object {
    pub(super) fn new(store: Arc<dyn ObjectStore>, path: Path, size: u64) -> Self {
        Self { store, path, size }
    }

    pub(super) fn through(&self, store: Arc<dyn ObjectStore>) -> Self {
        Self { store, path: self.path.clone(), size: self.size }
    }

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn path(&self) -> String {
        self.path.to_string()
    }

    /// Reads a part of the index data: footer, directory, index.
    pub(super) async fn read_index(&self, range: Range<u64>) -> Result<Bytes, Error> {
        let ranges = std::slice::from_ref(&range);
        Ok(self.read_index_parts(ranges).await?.pop().unwrap_or_default())
    }

    /// Reads several parts of the index data in one round.
    pub(super) async fn read_index_parts(
        &self,
        ranges: &[Range<u64>],
    ) -> Result<Vec<Bytes>, Error> {
        self.check(ranges)?;
        coalesce_ranges(ranges, |range| self.get_index(range), NEAR).await
    }

    async fn get_index(&self, range: Range<u64>) -> Result<Bytes, Error> {
        if range.is_empty() {
            return Ok(Bytes::new());
        }
        let bounded = Some(GetRange::Bounded(range.clone()));
        let mut options = GetOptions { range: bounded, ..GetOptions::default() };
        options.extensions.insert(IndexRead);
        let read = async { self.store.get_opts(&self.path, options).await?.bytes().await };
        let bytes = read.await.map_err(|source| self.failed(source))?;
        self.complete(&[range], std::slice::from_ref(&bytes))?;
        Ok(bytes)
    }

    /// Reads several ranges of row data in one round.
    pub(super) async fn read_rows(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, Error> {
        if ranges.is_empty() {
            return Ok(Vec::new());
        }
        self.check(ranges)?;
        let parts = self.store.get_ranges(&self.path, ranges).await;
        let parts = parts.map_err(|source| self.failed(source))?;
        self.complete(ranges, &parts)?;
        Ok(parts)
    }

    /// Checks ranges against the size of the object: offsets come from stored bytes, so they may be invalid.
    fn check(&self, ranges: &[Range<u64>]) -> Result<(), Error> {
        match ranges.iter().find(|range| range.start > range.end || range.end > self.size) {
            None => Ok(()),
            Some(range) => {
                let reason = format!("bytes {range:?} are outside of its {} bytes", self.size);
                Err(self.corrupt("offsets", reason))
            }
        }
    }

    fn complete(&self, ranges: &[Range<u64>], parts: &[Bytes]) -> Result<(), Error> {
        let matches =
            |(range, part): (&Range<u64>, &Bytes)| part.len() as u64 == range.end - range.start;
        if ranges.len() == parts.len() && ranges.iter().zip(parts).all(matches) {
            return Ok(());
        }
        Err(self.corrupt("object", format!("it ends before byte {}", self.size)))
    }

    fn failed(&self, source: object_store::Error) -> Error {
        Error::Store { path: self.path(), source }
    }

    pub(super) fn corrupt(&self, section: &'static str, reason: String) -> Error {
        Error::Corrupt { path: self.path(), section, reason }
    }

    pub(super) fn undecodable(&self, section: &'static str, error: &ParquetError) -> Error {
        self.corrupt(section, error.to_string())
    }
}
