//! Adapts our object store to the newer `object_store` release that the database uses.
//!
//! The database depends on `object_store` 0.14; Karst and DataFusion use 0.13. Only one client is
//! configured: this adapter translates calls and results between the releases, one to one.
//! Conditions, errors and metadata keep their meaning, because fencing relies on them. Nothing is
//! cached, retried or counted here.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::BoxStream;
use futures::{FutureExt, StreamExt, TryStreamExt};
use object_store as ours;
use object_store::ObjectStore as _;
use object_store_slatedb as theirs;
use ours::ObjectStoreExt as _;
use parking_lot::Mutex;
use theirs::Result;

use crate::error::chain;

/// Our store behind the trait of the newer release.
#[derive(Debug, Clone)]
pub(crate) struct Adapter {
    inner: Arc<dyn ours::ObjectStore>,
    failure: LastFailure,
}

/// The last error of a failed put, which is retried without being reported.
#[derive(Debug, Clone, Default)]
pub(crate) struct LastFailure(Arc<Mutex<Option<String>>>);

impl LastFailure {
    pub(crate) fn set(&self, failure: Option<String>) {
        *self.0.lock() = failure;
    }

    /// The last error, as the reason for a delay.
    pub(crate) fn reason(&self) -> String {
        let failure = self.0.lock().clone();
        failure.unwrap_or_else(|| "the object store does not answer".to_owned())
    }
}

impl Adapter {
    pub(crate) fn new(inner: Arc<dyn ours::ObjectStore>, failure: LastFailure) -> Self {
        Self { inner, failure }
    }
}

impl fmt::Display for Adapter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.inner)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl theirs::ObjectStore for Adapter {
    async fn put_opts(
        &self,
        location: &theirs::path::Path,
        payload: theirs::PutPayload,
        options: theirs::PutOptions,
    ) -> Result<theirs::PutResult> {
        let mode = match options.mode {
            theirs::PutMode::Overwrite => ours::PutMode::Overwrite,
            theirs::PutMode::Create => ours::PutMode::Create,
            theirs::PutMode::Update(version) => ours::PutMode::Update(ours::UpdateVersion {
                e_tag: version.e_tag,
                version: version.version,
            }),
        };
        let options = ours::PutOptions {
            mode,
            tags: to_tags(&options.tags)?,
            attributes: to_attributes(&options.attributes)?,
            extensions: options.extensions,
        };
        let put = self.inner.put_opts(&to_path(location)?, to_payload(payload), options).await;
        self.failure.set(put.as_ref().err().map(reason_of));
        Ok(from_put(put.map_err(from_error)?))
    }

    async fn put_multipart_opts(
        &self,
        location: &theirs::path::Path,
        options: theirs::PutMultipartOptions,
    ) -> Result<Box<dyn theirs::MultipartUpload>> {
        let options = ours::PutMultipartOptions {
            tags: to_tags(&options.tags)?,
            attributes: to_attributes(&options.attributes)?,
            extensions: options.extensions,
        };
        let upload = self.inner.put_multipart_opts(&to_path(location)?, options).await;
        Ok(Box::new(Upload(upload.map_err(from_error)?)))
    }

    async fn get_opts(
        &self,
        location: &theirs::path::Path,
        options: theirs::GetOptions,
    ) -> Result<theirs::GetResult> {
        let options = ours::GetOptions {
            if_match: options.if_match,
            if_none_match: options.if_none_match,
            if_modified_since: options.if_modified_since,
            if_unmodified_since: options.if_unmodified_since,
            range: options.range.map(to_range),
            version: options.version,
            head: options.head,
            extensions: options.extensions,
        };
        let head = options.head;
        let got = self.inner.get_opts(&to_path(location)?, options).await.map_err(from_error)?;
        from_get(got, head).await
    }

    async fn get_ranges(
        &self,
        location: &theirs::path::Path,
        ranges: &[Range<u64>],
    ) -> Result<Vec<Bytes>> {
        self.inner.get_ranges(&to_path(location)?, ranges).await.map_err(from_error)
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<theirs::path::Path>>,
    ) -> BoxStream<'static, Result<theirs::path::Path>> {
        let inner = Arc::clone(&self.inner);
        // Sequentially, so that an error of the incoming stream keeps its position.
        let delete = move |location: theirs::path::Path| {
            let inner = Arc::clone(&inner);
            async move {
                inner.delete(&to_path(&location)?).await.map_err(from_error)?;
                Ok(location)
            }
        };
        locations.map_ok(delete).try_buffered(8).boxed()
    }

    fn list(
        &self,
        prefix: Option<&theirs::path::Path>,
    ) -> BoxStream<'static, Result<theirs::ObjectMeta>> {
        match prefix.map(to_path).transpose() {
            Ok(prefix) => from_list(self.inner.list(prefix.as_ref())),
            Err(error) => futures::stream::once(async { Err(error) }).boxed(),
        }
    }

    fn list_with_offset(
        &self,
        prefix: Option<&theirs::path::Path>,
        offset: &theirs::path::Path,
    ) -> BoxStream<'static, Result<theirs::ObjectMeta>> {
        let paths =
            prefix.map(to_path).transpose().and_then(|prefix| Ok((prefix, to_path(offset)?)));
        match paths {
            Ok((prefix, offset)) => {
                from_list(self.inner.list_with_offset(prefix.as_ref(), &offset))
            }
            Err(error) => futures::stream::once(async { Err(error) }).boxed(),
        }
    }

    async fn list_with_delimiter(
        &self,
        prefix: Option<&theirs::path::Path>,
    ) -> Result<theirs::ListResult> {
        let prefix = prefix.map(to_path).transpose()?;
        let listed = self.inner.list_with_delimiter(prefix.as_ref()).await.map_err(from_error)?;
        let common_prefixes =
            listed.common_prefixes.iter().map(from_path).collect::<Result<_>>()?;
        let objects = listed.objects.into_iter().map(from_meta).collect::<Result<_>>()?;
        Ok(theirs::ListResult {
            common_prefixes,
            objects,
            extensions: theirs::Extensions::default(),
        })
    }

    async fn copy_opts(
        &self,
        from: &theirs::path::Path,
        to: &theirs::path::Path,
        options: theirs::CopyOptions,
    ) -> Result<()> {
        let mode = match options.mode {
            theirs::CopyMode::Overwrite => ours::CopyMode::Overwrite,
            theirs::CopyMode::Create => ours::CopyMode::Create,
        };
        let options = ours::CopyOptions { mode, extensions: options.extensions };
        self.inner.copy_opts(&to_path(from)?, &to_path(to)?, options).await.map_err(from_error)
    }

    async fn rename_opts(
        &self,
        from: &theirs::path::Path,
        to: &theirs::path::Path,
        options: theirs::RenameOptions,
    ) -> Result<()> {
        let target_mode = match options.target_mode {
            theirs::RenameTargetMode::Overwrite => ours::RenameTargetMode::Overwrite,
            theirs::RenameTargetMode::Create => ours::RenameTargetMode::Create,
        };
        let options = ours::RenameOptions { target_mode, extensions: options.extensions };
        self.inner.rename_opts(&to_path(from)?, &to_path(to)?, options).await.map_err(from_error)
    }
}

/// Why a put failed; a full disk is named as such.
fn reason_of(error: &ours::Error) -> String {
    if runtime::store::is_full(error) {
        return format!("no space left on device: {}", chain(error));
    }
    chain(error)
}

#[derive(Debug)]
struct Upload(Box<dyn ours::MultipartUpload>);

#[async_trait]
impl theirs::MultipartUpload for Upload {
    fn put_part(&mut self, data: theirs::PutPayload) -> theirs::UploadPart {
        let part = self.0.put_part(to_payload(data));
        async move { part.await.map_err(from_error) }.boxed()
    }

    async fn complete(&mut self) -> Result<theirs::PutResult> {
        Ok(from_put(self.0.complete().await.map_err(from_error)?))
    }

    async fn abort(&mut self) -> Result<()> {
        self.0.abort().await.map_err(from_error)
    }
}

fn to_path(path: &theirs::path::Path) -> Result<ours::path::Path> {
    ours::path::Path::parse(path.as_ref()).map_err(|error| generic(error.into()))
}

fn from_path(path: &ours::path::Path) -> Result<theirs::path::Path> {
    Ok(theirs::path::Path::parse(path.as_ref())?)
}

fn to_payload(payload: theirs::PutPayload) -> ours::PutPayload {
    payload.into_iter().collect()
}

fn to_range(range: theirs::GetRange) -> ours::GetRange {
    match range {
        theirs::GetRange::Bounded(range) => ours::GetRange::Bounded(range),
        theirs::GetRange::Offset(offset) => ours::GetRange::Offset(offset),
        theirs::GetRange::Suffix(length) => ours::GetRange::Suffix(length),
    }
}

fn to_tags(tags: &theirs::TagSet) -> Result<ours::TagSet> {
    if tags.encoded().is_empty() {
        return Ok(ours::TagSet::default());
    }
    // The database sets no tags; the encoded form cannot be converted.
    Err(not_implemented("object tags"))
}

fn to_attributes(attributes: &theirs::Attributes) -> Result<ours::Attributes> {
    let mut converted = ours::Attributes::new();
    for (name, value) in attributes {
        let name = match name {
            theirs::Attribute::ContentDisposition => ours::Attribute::ContentDisposition,
            theirs::Attribute::ContentEncoding => ours::Attribute::ContentEncoding,
            theirs::Attribute::ContentLanguage => ours::Attribute::ContentLanguage,
            theirs::Attribute::ContentType => ours::Attribute::ContentType,
            theirs::Attribute::CacheControl => ours::Attribute::CacheControl,
            theirs::Attribute::StorageClass => ours::Attribute::StorageClass,
            theirs::Attribute::Metadata(name) => ours::Attribute::Metadata(name.clone()),
            _ => return Err(not_implemented("an attribute of a newer release")),
        };
        converted.insert(name, ours::AttributeValue::from(value.to_string()));
    }
    Ok(converted)
}

/// Drops attributes that only the newer release knows: they are informational.
fn from_attributes(attributes: &ours::Attributes) -> theirs::Attributes {
    let mut converted = theirs::Attributes::new();
    for (name, value) in attributes {
        let name = match name {
            ours::Attribute::ContentDisposition => theirs::Attribute::ContentDisposition,
            ours::Attribute::ContentEncoding => theirs::Attribute::ContentEncoding,
            ours::Attribute::ContentLanguage => theirs::Attribute::ContentLanguage,
            ours::Attribute::ContentType => theirs::Attribute::ContentType,
            ours::Attribute::CacheControl => theirs::Attribute::CacheControl,
            ours::Attribute::StorageClass => theirs::Attribute::StorageClass,
            ours::Attribute::Metadata(name) => theirs::Attribute::Metadata(name.clone()),
            _ => continue,
        };
        converted.insert(name, theirs::AttributeValue::from(value.to_string()));
    }
    converted
}

fn from_put(put: ours::PutResult) -> theirs::PutResult {
    let extensions = theirs::Extensions::default();
    theirs::PutResult { e_tag: put.e_tag, version: put.version, extensions }
}

fn from_meta(meta: ours::ObjectMeta) -> Result<theirs::ObjectMeta> {
    Ok(theirs::ObjectMeta {
        location: from_path(&meta.location)?,
        last_modified: meta.last_modified,
        size: meta.size,
        e_tag: meta.e_tag,
        version: meta.version,
    })
}

fn from_list(
    listed: BoxStream<'static, ours::Result<ours::ObjectMeta>>,
) -> BoxStream<'static, Result<theirs::ObjectMeta>> {
    listed.map(|meta| from_meta(meta.map_err(from_error)?)).boxed()
}

async fn from_get(got: ours::GetResult, head: bool) -> Result<theirs::GetResult> {
    let meta = from_meta(got.meta.clone())?;
    let (range, attributes) = (got.range.clone(), from_attributes(&got.attributes));
    let stream = if head {
        futures::stream::empty().boxed()
    } else if matches!(got.payload, ours::GetResultPayload::File(..)) {
        // The stream of a local file has 8 KiB chunks, each a task; the database reads small
        // ranges.
        let bytes = got.bytes().await.map_err(from_error)?;
        futures::stream::once(async move { Ok(bytes) }).boxed()
    } else {
        got.into_stream().map_err(from_error).boxed()
    };
    let payload = theirs::GetResultPayload::Stream(stream);
    let extensions = theirs::Extensions::default();
    Ok(theirs::GetResult { payload, meta, range, attributes, extensions })
}

fn generic(source: Box<dyn std::error::Error + Send + Sync>) -> theirs::Error {
    theirs::Error::Generic { store: "karst", source }
}

fn not_implemented(operation: &str) -> theirs::Error {
    let (operation, implementer) = (operation.to_owned(), "Adapter".to_owned());
    theirs::Error::NotImplemented { operation, implementer }
}

fn from_error(error: ours::Error) -> theirs::Error {
    match error {
        ours::Error::Generic { store, source } => theirs::Error::Generic { store, source },
        ours::Error::NotFound { path, source } => theirs::Error::NotFound { path, source },
        ours::Error::NotSupported { source } => theirs::Error::NotSupported { source },
        ours::Error::AlreadyExists { path, source } => {
            theirs::Error::AlreadyExists { path, source }
        }
        ours::Error::Precondition { path, source } => theirs::Error::Precondition { path, source },
        ours::Error::NotModified { path, source } => theirs::Error::NotModified { path, source },
        ours::Error::NotImplemented { operation, implementer } => {
            theirs::Error::NotImplemented { operation, implementer }
        }
        ours::Error::PermissionDenied { path, source } => {
            theirs::Error::PermissionDenied { path, source }
        }
        ours::Error::Unauthenticated { path, source } => {
            theirs::Error::Unauthenticated { path, source }
        }
        ours::Error::UnknownConfigurationKey { store, key } => {
            theirs::Error::UnknownConfigurationKey { store, key }
        }
        other => generic(Box::new(other)),
    }
}
