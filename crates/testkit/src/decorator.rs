//! Stores that forward all operations, and count, fail, delay or crash in between.
//!
//! [`Decorated`] implements the trait; [`Hooks`] define what happens at an operation.

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
use tokio::sync::Notify;

/// An operation of a store. Each is at least one request to S3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Writing a whole object.
    Put,
    /// Writing a part of an object, or starting or completing a multipart upload.
    Multipart,
    /// Reading bytes.
    Get,
    /// Reading metadata.
    Head,
    /// Listing names.
    List,
    /// Deleting one object.
    Delete,
    /// A copy or rename.
    Copy,
}

/// Hooks around an operation; an error replaces the result of the operation.
pub trait Hooks: Debug + Send + Sync + 'static {
    /// Runs before the operation.
    fn before<'a>(&'a self, operation: Operation, path: &'a str) -> BoxFuture<'a, Result<()>>;
    /// Runs after the operation has succeeded, with the number of transferred bytes.
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

    /// The hooks, for reading or setting them.
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
        // One read per range, as with S3, so that the hooks see each request.
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
    /// Counts the operations of `inner`.
    #[must_use]
    pub fn new(inner: Arc<dyn ObjectStore>) -> Self {
        Self::wrap(inner, Counts::default())
    }
}

/// Counts of operations and bytes.
#[derive(Debug, Default)]
pub struct Counts {
    operations: [AtomicU64; 7],
    read: AtomicU64,
    written: AtomicU64,
}

impl Counts {
    /// The number of operations of one kind.
    #[must_use]
    pub fn of(&self, operation: Operation) -> u64 {
        self.operations[operation as usize].load(Ordering::SeqCst)
    }

    /// The number of operations of all kinds.
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

    /// Resets the counts.
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

/// The time relative to an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Moment {
    /// Before the store executes it.
    Before,
    /// After the store has executed it, before the caller knows.
    After,
}

/// A store that kills its process at the Nth operation.
pub type CrashingStore = Decorated<Crash>;

impl CrashingStore {
    /// Forwards to `inner` until operation `number` (from 1), at which the process is killed.
    #[must_use]
    pub fn new(inner: Arc<dyn ObjectStore>, number: u64, moment: Moment) -> Self {
        let crash =
            Crash { number, moment, count: AtomicU64::new(0), crashed: AtomicBool::new(false) };
        Self::wrap(inner, crash)
    }
}

/// The time of the crash.
#[derive(Debug)]
pub struct Crash {
    number: u64,
    moment: Moment,
    count: AtomicU64,
    crashed: AtomicBool,
}

impl Crash {
    /// Kills the process, as a power cut would: from here on, no operation starts or returns.
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
            // With concurrent operations, the first to end after the Nth began counts as the Nth.
            let reached = self.count.load(Ordering::SeqCst) >= self.number;
            if reached && self.moment == Moment::After {
                return self.crash().await;
            }
            Ok(())
        })
    }
}

/// A store whose failures can be switched on.
pub type FailingStore = Decorated<Failing>;

impl FailingStore {
    /// Forwards to `inner` until failures are switched on.
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
    /// The prefix of the paths whose operations fail or wait.
    prefix: Mutex<String>,
    healed: Notify,
}

impl Failing {
    /// Lets every operation fail from now on: before it reaches the store, or after it was executed, so
    /// that the caller cannot know its outcome.
    pub fn fail(&self, moment: Moment) {
        self.fail_below(moment, "");
    }

    /// Lets operations on paths that begin with `prefix` fail.
    pub fn fail_below(&self, moment: Moment, prefix: &str) {
        prefix.clone_into(&mut self.prefix.lock());
        self.mode.store(if moment == Moment::Before { 1 } else { 2 }, Ordering::SeqCst);
    }

    /// Lets operations on paths that begin with `prefix` wait for [`Failing::heal`] before they reach the
    /// store.
    pub fn hold_below(&self, prefix: &str) {
        prefix.clone_into(&mut self.prefix.lock());
        self.mode.store(3, Ordering::SeqCst);
    }

    /// Lets all operations succeed again.
    pub fn heal(&self) {
        self.mode.store(0, Ordering::SeqCst);
        self.healed.notify_waiters();
    }

    /// The number of failed operations.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failed.load(Ordering::SeqCst)
    }

    fn is_told(&self, mode: u8, path: &str) -> bool {
        self.mode.load(Ordering::SeqCst) == mode && path.starts_with(&*self.prefix.lock())
    }

    fn check(&self, mode: u8, path: &str) -> Result<()> {
        if !self.is_told(mode, path) {
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
        Box::pin(async move {
            loop {
                // Before the look: it may be healed in between.
                let healed = self.healed.notified();
                if !self.is_told(3, path) {
                    return self.check(1, path);
                }
                healed.await;
            }
        })
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

/// A store with delays of reads.
pub type SlowStore = Decorated<Slow>;

impl SlowStore {
    /// Forwards to `inner` without delays until they are set.
    #[must_use]
    pub fn new(inner: Arc<dyn ObjectStore>) -> Self {
        Self::wrap(inner, Slow::default())
    }
}

/// The delays of reads.
#[derive(Debug, Default)]
pub struct Slow {
    reads: AtomicU64,
    /// Milliseconds.
    all: AtomicU64,
    next: AtomicU64,
}

impl Slow {
    /// Delays the next read by `next` and all later ones by `all`.
    pub fn take(&self, all: Duration, next: Duration) {
        let millis = |time: Duration| u64::try_from(time.as_millis()).unwrap_or(u64::MAX);
        self.all.store(millis(all), Ordering::SeqCst);
        self.next.store(millis(next), Ordering::SeqCst);
    }

    /// The number of reads so far.
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
