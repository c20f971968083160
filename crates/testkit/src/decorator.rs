//! Stores that pass everything on, and count, fail, wait or crash on the way.
//!
//! [`Decorated`] is the one implementation of the trait; what happens at an operation is a [`Hooks`].

use std::fmt::{self, Debug};
use std::ops::Range;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::future::BoxFuture;
use futures::stream::{BoxStream, once};
use futures::{FutureExt, StreamExt};
use object_store::path::Path;
use object_store::{
    CopyOptions, Error, GetOptions, GetResult, ListResult, MultipartUpload,
    OBJECT_STORE_COALESCE_DEFAULT, ObjectMeta, ObjectStore, ObjectStoreExt, PutMultipartOptions,
    PutOptions, PutPayload, PutResult, RenameOptions, Result, UploadPart, coalesce_ranges,
};
use parking_lot::Mutex;

/// What is asked of a store. One operation is at least one request to S3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// A whole object written.
    Put,
    /// A part of an object, or the begin or end of an upload in parts.
    Multipart,
    /// Bytes read.
    Get,
    /// Metadata read.
    Head,
    /// Names listed.
    List,
    /// One object deleted.
    Delete,
    /// A copy or rename.
    Copy,
}

/// What a decorator does around an operation; an error replaces the operation's result.
pub trait Hooks: Debug + Send + Sync + 'static {
    /// Runs before the store is asked.
    fn before<'a>(&'a self, operation: Operation, path: &'a str) -> BoxFuture<'a, Result<()>>;
    /// Runs after the store has answered well, with the bytes that moved.
    fn after<'a>(
        &'a self,
        operation: Operation,
        path: &'a str,
        bytes: u64,
    ) -> BoxFuture<'a, Result<()>>;
}

/// A store with hooks around each operation.
#[derive(Debug, Clone)]
pub struct Decorated<H> {
    inner: Arc<dyn ObjectStore>,
    hooks: Arc<H>,
}

impl<H: Hooks> Decorated<H> {
    fn wrap(inner: Arc<dyn ObjectStore>, hooks: H) -> Self {
        Self { inner, hooks: Arc::new(hooks) }
    }

    /// The hooks, to read or set them.
    #[must_use]
    pub fn hooks(&self) -> &H {
        &self.hooks
    }

    /// Runs a hook before the first item of a stream and after the last.
    fn around<T: Send + 'static>(
        &self,
        operation: Operation,
        prefix: Option<&Path>,
        inner: BoxStream<'static, Result<T>>,
    ) -> BoxStream<'static, Result<T>> {
        let path = prefix.map_or(String::new(), ToString::to_string);
        let (hooks, last) = (Arc::clone(&self.hooks), Arc::clone(&self.hooks));
        let first_path = path.clone();
        let before = async move { hooks.before(operation, &first_path).await };
        let after = async move { last.after(operation, &path, 0).await };
        let end = once(after).filter_map(|hook| async move { hook.err().map(Err) });
        let begun = before.map(move |hook| match hook {
            Ok(()) => inner.chain(end).boxed(),
            Err(error) => once(async { Err(error) }).boxed(),
        });
        begun.flatten_stream().boxed()
    }
}

impl<H> fmt::Display for Decorated<H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Decorated({})", self.inner)
    }
}

#[async_trait]
#[deny(clippy::missing_trait_methods)]
impl<H: Hooks> ObjectStore for Decorated<H> {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let bytes = payload.content_length() as u64;
        self.hooks.before(Operation::Put, location.as_ref()).await?;
        let put = self.inner.put_opts(location, payload, options).await?;
        self.hooks.after(Operation::Put, location.as_ref(), bytes).await?;
        Ok(put)
    }

    async fn put_multipart_opts(
        &self,
        location: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.hooks.before(Operation::Multipart, location.as_ref()).await?;
        let inner = self.inner.put_multipart_opts(location, options).await?;
        self.hooks.after(Operation::Multipart, location.as_ref(), 0).await?;
        let (hooks, path) = (Arc::clone(&self.hooks), location.to_string());
        Ok(Box::new(DecoratedUpload { inner, hooks, path }))
    }

    async fn get_opts(&self, location: &Path, options: GetOptions) -> Result<GetResult> {
        let operation = if options.head { Operation::Head } else { Operation::Get };
        self.hooks.before(operation, location.as_ref()).await?;
        let got = self.inner.get_opts(location, options).await?;
        let bytes = if operation == Operation::Head { 0 } else { got.range.end - got.range.start };
        self.hooks.after(operation, location.as_ref(), bytes).await?;
        Ok(got)
    }

    async fn get_ranges(&self, location: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        // As S3 does it, so that the hooks see each request.
        let fetch = |range| self.get_range(location, range);
        coalesce_ranges(ranges, fetch, OBJECT_STORE_COALESCE_DEFAULT).await
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let (hooks, last) = (Arc::clone(&self.hooks), Arc::clone(&self.hooks));
        let checked = locations.then(move |location| {
            let hooks = Arc::clone(&hooks);
            async move {
                let location = location?;
                hooks.before(Operation::Delete, location.as_ref()).await?;
                Ok(location)
            }
        });
        let deleted = self.inner.delete_stream(checked.boxed());
        let confirmed = deleted.then(move |location| {
            let hooks = Arc::clone(&last);
            async move {
                let location = location?;
                hooks.after(Operation::Delete, location.as_ref(), 0).await?;
                Ok(location)
            }
        });
        confirmed.boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.around(Operation::List, prefix, self.inner.list(prefix))
    }

    fn list_with_offset(
        &self,
        prefix: Option<&Path>,
        offset: &Path,
    ) -> BoxStream<'static, Result<ObjectMeta>> {
        self.around(Operation::List, prefix, self.inner.list_with_offset(prefix, offset))
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        let path = prefix.map_or(String::new(), ToString::to_string);
        self.hooks.before(Operation::List, &path).await?;
        let listed = self.inner.list_with_delimiter(prefix).await?;
        self.hooks.after(Operation::List, &path, 0).await?;
        Ok(listed)
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.hooks.before(Operation::Copy, to.as_ref()).await?;
        self.inner.copy_opts(from, to, options).await?;
        self.hooks.after(Operation::Copy, to.as_ref(), 0).await
    }

    async fn rename_opts(&self, from: &Path, to: &Path, options: RenameOptions) -> Result<()> {
        self.hooks.before(Operation::Copy, to.as_ref()).await?;
        self.inner.rename_opts(from, to, options).await?;
        self.hooks.after(Operation::Copy, to.as_ref(), 0).await
    }
}

#[derive(Debug)]
struct DecoratedUpload<H> {
    inner: Box<dyn MultipartUpload>,
    hooks: Arc<H>,
    path: String,
}

#[async_trait]
impl<H: Hooks> MultipartUpload for DecoratedUpload<H> {
    fn put_part(&mut self, data: PutPayload) -> UploadPart {
        let bytes = data.content_length() as u64;
        let part = self.inner.put_part(data);
        let (hooks, path) = (Arc::clone(&self.hooks), self.path.clone());
        async move {
            hooks.before(Operation::Multipart, &path).await?;
            part.await?;
            hooks.after(Operation::Multipart, &path, bytes).await
        }
        .boxed()
    }

    async fn complete(&mut self) -> Result<PutResult> {
        self.hooks.before(Operation::Multipart, &self.path).await?;
        let put = self.inner.complete().await?;
        self.hooks.after(Operation::Multipart, &self.path, 0).await?;
        Ok(put)
    }

    async fn abort(&mut self) -> Result<()> {
        self.inner.abort().await
    }
}

/// A store that counts operations and bytes.
pub type CountingStore = Decorated<Counts>;

impl CountingStore {
    /// Counts what goes to `inner`.
    #[must_use]
    pub fn new(inner: Arc<dyn ObjectStore>) -> Self {
        Self::wrap(inner, Counts::default())
    }
}

/// Operations and bytes so far.
#[derive(Debug, Default)]
pub struct Counts {
    operations: [AtomicU64; 7],
    read: AtomicU64,
    written: AtomicU64,
}

impl Counts {
    /// Operations of one kind.
    #[must_use]
    pub fn of(&self, operation: Operation) -> u64 {
        self.operations[operation as usize].load(Ordering::SeqCst)
    }

    /// Operations of every kind.
    #[must_use]
    pub fn requests(&self) -> u64 {
        self.operations.iter().map(|count| count.load(Ordering::SeqCst)).sum()
    }

    /// Bytes read.
    #[must_use]
    pub fn read_bytes(&self) -> u64 {
        self.read.load(Ordering::SeqCst)
    }

    /// Bytes written.
    #[must_use]
    pub fn written_bytes(&self) -> u64 {
        self.written.load(Ordering::SeqCst)
    }

    /// Starts again from zero.
    pub fn reset(&self) {
        for count in self.operations.iter().chain([&self.read, &self.written]) {
            count.store(0, Ordering::SeqCst);
        }
    }
}

impl Hooks for Counts {
    fn before<'a>(&'a self, operation: Operation, _path: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.operations[operation as usize].fetch_add(1, Ordering::SeqCst);
            Ok(())
        })
    }

    fn after<'a>(
        &'a self,
        operation: Operation,
        _path: &'a str,
        bytes: u64,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let total = if operation == Operation::Get { &self.read } else { &self.written };
            total.fetch_add(bytes, Ordering::SeqCst);
            Ok(())
        })
    }
}

/// On which side of an operation something happens.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// The store has not been asked.
    Before,
    /// The store has done it, and the caller does not know yet.
    After,
}

/// A store that kills its process at the N-th operation.
pub type CrashingStore = Decorated<Crash>;

impl CrashingStore {
    /// Passes on to `inner` until operation `number` (from 1), which it does not survive.
    #[must_use]
    pub fn new(inner: Arc<dyn ObjectStore>, number: u64, moment: Moment) -> Self {
        let crash =
            Crash { number, moment, count: AtomicU64::new(0), crashed: AtomicBool::new(false) };
        Self::wrap(inner, crash)
    }
}

/// When to crash.
#[derive(Debug)]
pub struct Crash {
    number: u64,
    moment: Moment,
    count: AtomicU64,
    crashed: AtomicBool,
}

impl Crash {
    /// No operation starts or is reported from here on, then the process dies as by power cut.
    async fn crash(&self) -> Result<()> {
        self.crashed.store(true, Ordering::SeqCst);
        let killed = Command::new("kill").args(["-9", &std::process::id().to_string()]).status();
        panic!("kill -9 came back: {killed:?}");
    }

    async fn park_if_crashed(&self) {
        if self.crashed.load(Ordering::SeqCst) {
            std::future::pending::<()>().await;
        }
    }
}

impl Hooks for Crash {
    fn before<'a>(&'a self, _operation: Operation, _path: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.park_if_crashed().await;
            let number = self.count.fetch_add(1, Ordering::SeqCst) + 1;
            if number == self.number && self.moment == Moment::Before {
                return self.crash().await;
            }
            Ok(())
        })
    }

    fn after<'a>(
        &'a self,
        _operation: Operation,
        _path: &'a str,
        _bytes: u64,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            self.park_if_crashed().await;
            // With operations side by side, the first to end after the N-th began stands for it.
            let reached = self.count.load(Ordering::SeqCst) >= self.number;
            if reached && self.moment == Moment::After {
                return self.crash().await;
            }
            Ok(())
        })
    }
}

/// A store that fails when told to.
pub type FailingStore = Decorated<Failing>;

impl FailingStore {
    /// Passes on to `inner` until told to fail.
    #[must_use]
    pub fn new(inner: Arc<dyn ObjectStore>) -> Self {
        Self::wrap(inner, Failing::default())
    }
}

/// Whether operations fail.
#[derive(Debug, Default)]
pub struct Failing {
    mode: AtomicU8,
    failed: AtomicU64,
    /// How the paths begin of the operations that fail.
    prefix: Mutex<String>,
}

impl Failing {
    /// From now on every operation fails: before it reaches the store, or after it was done, so
    /// that the caller cannot know.
    pub fn fail(&self, moment: Moment) {
        self.fail_below(moment, "");
    }

    /// The same for operations on paths that begin with `prefix`.
    pub fn fail_below(&self, moment: Moment, prefix: &str) {
        prefix.clone_into(&mut self.prefix.lock());
        self.mode.store(if moment == Moment::Before { 1 } else { 2 }, Ordering::SeqCst);
    }

    /// From now on everything works.
    pub fn heal(&self) {
        self.mode.store(0, Ordering::SeqCst);
    }

    /// How many operations have failed.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failed.load(Ordering::SeqCst)
    }

    fn check(&self, mode: u8, path: &str) -> Result<()> {
        let is_told = self.mode.load(Ordering::SeqCst) == mode;
        if !is_told || !path.starts_with(&*self.prefix.lock()) {
            return Ok(());
        }
        self.failed.fetch_add(1, Ordering::SeqCst);
        Err(Error::Generic {
            store: "FailingStore",
            source: format!("told to fail at {path}").into(),
        })
    }
}

impl Hooks for Failing {
    fn before<'a>(&'a self, _operation: Operation, path: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { self.check(1, path) })
    }

    fn after<'a>(
        &'a self,
        _operation: Operation,
        path: &'a str,
        _bytes: u64,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { self.check(2, path) })
    }
}

/// A store some of whose reads take long.
pub type SlowStore = Decorated<Slow>;

impl SlowStore {
    /// Passes on to `inner`, at once until told otherwise.
    #[must_use]
    pub fn new(inner: Arc<dyn ObjectStore>) -> Self {
        Self::wrap(inner, Slow::default())
    }
}

/// Which reads wait.
#[derive(Debug, Default)]
pub struct Slow {
    reads: AtomicU64,
    /// Milliseconds.
    all: AtomicU64,
    next: AtomicU64,
}

impl Slow {
    /// From now on every read takes so long, and the next one `next`.
    pub fn take(&self, all: Duration, next: Duration) {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.all.store(millis(all), Ordering::SeqCst);
        self.next.store(millis(next), Ordering::SeqCst);
    }

    /// Reads so far.
    #[must_use]
    pub fn reads(&self) -> u64 {
        self.reads.load(Ordering::SeqCst)
    }
}

impl Hooks for Slow {
    fn before<'a>(&'a self, operation: Operation, _path: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            if operation == Operation::Get {
                self.reads.fetch_add(1, Ordering::SeqCst);
                let all = self.all.load(Ordering::SeqCst);
                let millis = self.next.swap(0, Ordering::SeqCst).max(all);
                tokio::time::sleep(Duration::from_millis(millis)).await;
            }
            Ok(())
        })
    }

    fn after<'a>(
        &'a self,
        _operation: Operation,
        _path: &'a str,
        _bytes: u64,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { Ok(()) })
    }
}
