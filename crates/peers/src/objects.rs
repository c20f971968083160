//! Objects that wait for their upload, read from their indexers.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::StreamExt;
use futures::future::try_join_all;
use futures::stream::{self, BoxStream};
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, RenameOptions, Result,
};
use tonic::{Code, Status};

use crate::directory::Directory;

/// See [`Directory::readable`].
#[derive(Debug)]
struct PeerFirst {
    directory: Directory,
    inner: Arc<dyn ObjectStore>,
}

impl Directory {
    /// Returns a store that reads the objects of buckets that wait for their upload from their indexers, and
    /// all others from `inner`; also those of a lost indexer, which may have uploaded them before.
    #[must_use]
    pub fn readable(&self, inner: Arc<dyn ObjectStore>) -> Arc<dyn ObjectStore> {
        Arc::new(PeerFirst { directory: self.clone(), inner })
    }
}

impl PeerFirst {
    /// `None`: no indexer has it, or it has been uploaded since.
    async fn ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Option<Result<Vec<Bytes>>> {
        let (peer, _) = self.directory.owner(location.as_ref())?;
        let deadlines = self.directory.deadlines();
        let reads =
            ranges.iter().map(|range| peer.read(location.as_ref(), range.clone(), deadlines));
        match try_join_all(reads).await {
            Ok(data) => Some(Ok(data)),
            Err(status) if status.code() == Code::NotFound => None,
            Err(status) => Some(Err(failed(status))),
        }
    }
}

fn failed(status: Status) -> Error {
    Error::Generic { store: "indexer", source: Box::new(status) }
}

/// Returns the object from object storage if its indexer does not answer; if it has not been uploaded, the
/// error is that of the indexer.
fn stored<T>(read: Result<T>, lost: Error) -> Result<T> {
    match read {
        Err(Error::NotFound { .. }) => Err(lost),
        read => read,
    }
}

impl fmt::Display for PeerFirst {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "indexers, {}", self.inner)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl ObjectStore for PeerFirst {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        self.inner.put_opts(location, payload, options).await
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(location, options).await
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let Some((_, entry)) = self.directory.owner(location.as_ref()) else {
            return self.inner.get_opts(location, options).await;
        };
        let range = match &options.range {
            Some(range) => range
                .as_range(entry.size)
                .map_err(|error| Error::Generic { store: "indexer", source: Box::new(error) })?,
            None => 0..entry.size,
        };
        let data = if options.head || range.is_empty() {
            Bytes::new()
        } else {
            match self.ranges(location, std::slice::from_ref(&range)).await {
                Some(Ok(read)) => read.into_iter().next().unwrap_or_default(),
                Some(Err(lost)) => {
                    return stored(self.inner.get_opts(location, options).await, lost);
                }
                None => return self.inner.get_opts(location, options).await,
            }
        };
        let meta = ObjectMeta {
            location: location.clone(),
            last_modified: Default::default(),
            size: entry.size,
            e_tag: None,
            version: None,
        };
        let payload = GetResultPayload::Stream(stream::once(async { Ok(data) }).boxed());
        Ok(GetResult { payload, meta, range, attributes: Attributes::new() })
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        match self.ranges(location, ranges).await {
            Some(Ok(read)) => Ok(read),
            Some(Err(lost)) => stored(self.inner.get_ranges(location, ranges).await, lost),
            None => self.inner.get_ranges(location, ranges).await,
        }
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(locations)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list_with_offset(prefix, offset)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.inner.rename_opts(from, to, options).await
    }
}
