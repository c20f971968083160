//! Range reads of one object, with what went wrong named after it.

use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};
use parquet::errors::ParquetError;

use crate::Error;

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

    pub(super) fn size(&self) -> u64 {
        self.size
    }

    pub(super) fn path(&self) -> String {
        self.path.to_string()
    }

    pub(super) async fn read(&self, range: Range<u64>) -> Result<Bytes, Error> {
        let ranges = std::slice::from_ref(&range);
        self.check(ranges)?;
        let bytes = self.store.get_range(&self.path, range.clone()).await;
        let bytes = bytes.map_err(|source| self.failed(source))?;
        self.complete(ranges, std::slice::from_ref(&bytes))?;
        Ok(bytes)
    }

    /// Several ranges in one round.
    pub(super) async fn read_many(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>, Error> {
        if ranges.is_empty() {
            return Ok(Vec::new());
        }
        self.check(ranges)?;
        let parts = self.store.get_ranges(&self.path, ranges).await;
        let parts = parts.map_err(|source| self.failed(source))?;
        self.complete(ranges, &parts)?;
        Ok(parts)
    }

    /// Offsets come from stored bytes, so they may point anywhere.
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
