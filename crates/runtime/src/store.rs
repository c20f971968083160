//! Object storage from a URL: a local directory or an S3 bucket, behind one trait.
//!
//! Guarantees: a `put` that returned is durable (S3 by contract, a directory by fsync, see
//! [`DurableLocal`]); conditional puts (create, and update by etag) are real on both; paths are
//! below the URL's prefix. Each request to S3 is counted when sent, and an error names the
//! operation, the URL and the network error. Caching is the task of `cache`.
//!
//! | URL | store |
//! | --- | --- |
//! | `file:///var/lib/karst`, `data/store` | directory, made when missing |
//! | `s3://bucket`, `s3://bucket/some/prefix` | S3 or compatible; credentials and endpoint from [`Options`] |

mod again;
mod local;
mod requests;

use std::collections::BTreeMap;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use conf::Type;
use futures::StreamExt;
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey, S3ConditionalPut};
use object_store::path::Path;
use object_store::prefix::PrefixStore;
use object_store::{BackoffConfig, ClientOptions, ObjectStore, RetryConfig};

pub use again::ask_again;
pub use local::DurableLocal;
pub use requests::Attempts;

use crate::Error;

conf::settings! {
    /// How object storage is reached.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Options {
        "indexes"["default"] {
            /// Number of retries of an S3 request after a transient failure (5xx, reset, timeout). More
            /// retries survive longer outages, but also hide them longer. Splunk: 9.
            "remote.s3.max_count.max_retries_per_part" => pub retries: usize = "10", Type::number(0);
            /// Time limit of all attempts of a request together.
            "remote.s3.retry_timeout" => pub retry_time: Duration = "180000", Type::milliseconds(0);
            /// Time limit of one attempt, including the body. It must be sufficient for the largest body
            /// (one part of a multipart upload) on the slowest link.
            "remote.s3.timeout.read" => pub timeout: Duration = "60000", Type::milliseconds(0);
            /// Time limit for connecting.
            "remote.s3.timeout.connect" => pub connect_timeout: Duration = "5000", Type::milliseconds(0);
        }
        fixed {
            /// `AWS_*` variables (`AWS_ACCESS_KEY_ID`, `AWS_SECRET_ACCESS_KEY`, `AWS_SESSION_TOKEN`,
            /// `AWS_REGION`, `AWS_ENDPOINT`, ...) as passed to the process; only `services` reads the
            /// environment. Unknown names are ignored. Without keys, the client uses web identity,
            /// container or instance credentials.
            pub variables: BTreeMap<String, String> = BTreeMap::new();
            /// Whether to sign the SHA-256 of the body. Costs CPU on every upload (about 1 s per GB and
            /// core); TLS already protects the body, so it is off.
            pub sign_payload: bool = false;
        }
    }
}

impl Options {
    /// Checks that the settings are consistent.
    ///
    /// # Errors
    /// [`Error::Setting`] names the first invalid one.
    pub fn validate(&self) -> Result<(), Error> {
        let fail = |name, reason| Err(Error::Setting { name, reason });
        if self.timeout.is_zero() || self.connect_timeout.is_zero() {
            return fail("store timeouts", "they must be longer than 0 seconds");
        }
        if self.connect_timeout > self.timeout {
            return fail("store connect timeout", "it must not be longer than the whole request's");
        }
        Ok(())
    }
}

/// A store with a description for messages.
#[derive(Debug, Clone)]
pub struct OpenStore {
    /// The store; paths are relative to the URL.
    pub store: Arc<dyn ObjectStore>,
    /// Kind, location and endpoint, without secrets.
    pub description: String,
    url: String,
}

impl OpenStore {
    /// Sends one list request, so that a wrong address or key is detected at the start rather than at the
    /// first upload.
    ///
    /// # Errors
    /// [`Error::StoreAway`] with the error of the store.
    pub async fn check(&self) -> Result<(), Error> {
        let first = self.store.list(None).next().await;
        match first {
            None | Some(Ok(_)) => Ok(()),
            Some(Err(error)) => {
                let reason = refusal(&error.to_string());
                Err(Error::StoreAway { url: self.url.clone(), reason })
            }
        }
    }
}

/// Opens the store of a URL. Sends no request yet, see [`OpenStore::check`]; all requests are sent from the
/// runtime that opens it.
///
/// # Errors
/// [`Error::StoreUrl`] says why the URL or the variables are invalid, and how to fix them.
pub fn open(url: &str, options: &Options) -> Result<OpenStore, Error> {
    options.validate()?;
    let (store, description) = match url.split_once("://") {
        Some(("s3", place)) => open_s3(url, place, options)?,
        Some(("file", path)) => open_directory(url, path)?,
        Some((scheme, _)) => {
            let reason =
                format!("\"{scheme}\" is not known; use s3://bucket/prefix or a directory");
            return Err(Error::StoreUrl { url: url.to_owned(), reason });
        }
        None => open_directory(url, url)?,
    };
    Ok(OpenStore { store, description, url: url.to_owned() })
}

type Named = (Arc<dyn ObjectStore>, String);

fn open_directory(url: &str, path: &str) -> Result<Named, Error> {
    let fail = |reason: String| Error::StoreUrl { url: url.to_owned(), reason };
    if path.is_empty() {
        return Err(fail("the directory's name is empty".to_owned()));
    }
    if url.starts_with("file://") && !path.starts_with('/') {
        return Err(fail("file:// needs an absolute path, as in file:///var/lib/karst".to_owned()));
    }
    let store = DurableLocal::open(path)
        .map_err(|error| fail(format!("{error}; check that the directory can be written")))?;
    let description = format!("directory {}", store.root().display());
    Ok((Arc::new(store), description))
}

fn open_s3(url: &str, place: &str, options: &Options) -> Result<Named, Error> {
    let fail = |reason: String| Error::StoreUrl { url: url.to_owned(), reason };
    let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
    if bucket.is_empty() {
        return Err(fail("the bucket's name is missing, as in s3://bucket/prefix".to_owned()));
    }
    let builder = s3_builder(bucket, options);
    let endpoint = builder.get_config_value(&AmazonS3ConfigKey::Endpoint);
    let region = builder.get_config_value(&AmazonS3ConfigKey::Region);
    let store = builder.build().map_err(|error| {
        fail(format!("{error}; check AWS_REGION, AWS_ENDPOINT and the AWS_ keys"))
    })?;
    let at = endpoint.unwrap_or_else(|| region.unwrap_or_else(|| "us-east-1".to_owned()));
    let description = format!("s3 bucket {place} at {at}");
    let prefix = Path::parse(prefix.trim_matches('/'))
        .map_err(|error| fail(format!("the prefix is not a path: {error}")))?;
    if prefix.as_ref().is_empty() {
        return Ok((Arc::new(store), description));
    }
    Ok((Arc::new(PrefixStore::new(store, prefix)), description))
}

fn s3_builder(bucket: &str, options: &Options) -> AmazonS3Builder {
    let mut builder = AmazonS3Builder::new()
        .with_bucket_name(bucket)
        .with_conditional_put(S3ConditionalPut::ETagMatch)
        .with_unsigned_payload(!options.sign_payload)
        .with_http_connector(requests::Counted::default());
    let mut plain = false;
    for (name, value) in &options.variables {
        let Ok(key) = AmazonS3ConfigKey::from_str(&name.to_ascii_lowercase()) else { continue };
        plain |= key == AmazonS3ConfigKey::Endpoint && value.starts_with("http://");
        builder = builder.with_config(key, value);
    }
    let client = ClientOptions::new()
        .with_allow_http(plain)
        .with_timeout(options.timeout)
        .with_connect_timeout(options.connect_timeout);
    let retry = RetryConfig {
        backoff: BackoffConfig {
            init_backoff: Duration::from_millis(100),
            max_backoff: Duration::from_secs(10),
            base: 2.0,
        },
        max_retries: options.retries,
        retry_timeout: options.retry_time,
    };
    builder.with_client_options(client).with_retry(retry)
}

/// Returns why the first request failed, derived from the message of the client, and what helps.
fn refusal(text: &str) -> String {
    // Without keys, the client asks the metadata service of the machine for those of its role.
    if text.contains("//169.254.169.254/") {
        return format!(
            "no AWS credentials were found: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or use an \
             instance role ({text})"
        );
    }
    let element = |name: &str| {
        let (_, rest) = text.split_once(&format!("<{name}>"))?;
        Some(rest.split_once(&format!("</{name}>"))?.0)
    };
    let said = match (element("Code"), element("Message")) {
        (Some(code), Some(message)) => format!("{code}: {message}"),
        _ => text.to_owned(),
    };
    format!(
        "{said}; check the address, the bucket's name and the credentials (AWS_ACCESS_KEY_ID, \
         AWS_SECRET_ACCESS_KEY, AWS_ENDPOINT)"
    )
}

/// Whether an error or one of its causes means that a disk or quota is full.
#[must_use]
pub fn is_full(error: &(dyn std::error::Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let own = error.downcast_ref::<std::io::Error>();
        let shared = error.downcast_ref::<Arc<std::io::Error>>().map(|error| &**error);
        let io = own.or(shared).map(std::io::Error::kind);
        if matches!(io, Some(std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded)) {
            return true;
        }
        next = error.source();
    }
    false
}

/// Whether the text of an error means that S3 refuses requests because their time, which is that of this
/// machine, differs too much from its own. The client reports it as missing rights (403).
#[must_use]
pub fn is_clock_skew(text: &str) -> bool {
    text.contains("RequestTimeTooSkewed")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::mem::{Discriminant, discriminant};
    use std::ops::Range;

    use bytes::Bytes;
    use object_store::local::LocalFileSystem;
    use object_store::{
        Error as StoreError, GetOptions, GetRange, ObjectMeta, ObjectStoreExt, PutMode, PutOptions,
        PutPayload,
    };

    use super::*;

    fn payload(text: &str) -> PutPayload {
        PutPayload::from(text.as_bytes().to_vec())
    }

    async fn put(store: &dyn ObjectStore, text: &str, mode: PutMode) -> Result<String, StoreError> {
        let options = PutOptions { mode, ..PutOptions::default() };
        let put = store.put_opts(&Path::from("a/b"), payload(text), options).await?;
        Ok(put.e_tag.unwrap())
    }

    /// The conditional puts that the catalog requires of every store.
    async fn check_conditional_puts(store: &dyn ObjectStore) {
        let version = |e_tag: &str| {
            PutMode::Update(object_store::UpdateVersion {
                e_tag: Some(e_tag.to_owned()),
                version: None,
            })
        };
        let first = put(store, "one", PutMode::Create).await.unwrap();
        let again = put(store, "two", PutMode::Create).await.unwrap_err();
        assert!(matches!(again, StoreError::AlreadyExists { .. }), "{again}");
        let second = put(store, "three", version(&first)).await.unwrap();
        assert_ne!(first, second);
        let stale = put(store, "four", version(&first)).await.unwrap_err();
        assert!(matches!(stale, StoreError::Precondition { .. }), "{stale}");
        let got = store.get(&Path::from("a/b")).await.unwrap();
        assert_eq!(got.meta.e_tag.as_deref(), Some(second.as_str()));
        assert_eq!(got.bytes().await.unwrap(), "three");
        store.delete(&Path::from("a/b")).await.unwrap();
        let gone = put(store, "five", version(&second)).await.unwrap_err();
        assert!(matches!(gone, StoreError::Precondition { .. } | StoreError::NotFound { .. }));
    }

    async fn check_multipart(store: &dyn ObjectStore) {
        let path = Path::from("big/object");
        let mut upload = store.put_multipart(&path).await.unwrap();
        let part = vec![7_u8; 5 << 20];
        let parts = [upload.put_part(part.clone().into()), upload.put_part(vec![9_u8; 10].into())];
        futures::future::try_join_all(parts).await.unwrap();
        assert!(store.head(&path).await.is_err(), "visible before it is complete");
        upload.complete().await.unwrap();
        let size = store.head(&path).await.unwrap().size;
        assert_eq!(size, (5 << 20) + 10);
        let tail = store.get_range(&path, size - 11..size).await.unwrap();
        assert_eq!(tail.as_ref(), [&[7_u8][..], &[9; 10]].concat());
    }

    #[test]
    fn a_refusal_says_what_is_wrong_without_the_document_of_the_store() {
        let text = "Generic S3 error: Error performing PUT http://169.254.169.254/latest/api/token in 1s \
                    - Server returned non-2xx status code: 403 Forbidden: ";
        assert!(
            refusal(text).starts_with("no AWS credentials were found: set"),
            "{}",
            refusal(text)
        );
        let text = "Server returned non-2xx status code: 404 Not Found: <?xml version=\"1.0\"?><Error>\
                    <Code>NoSuchBucket</Code><Message>The bucket does not exist</Message></Error>";
        let said = refusal(text);
        assert!(said.starts_with("NoSuchBucket: The bucket does not exist; check"), "{said}");
        assert!(!said.contains('<'), "{said}");
        assert!(refusal("connection refused").starts_with("connection refused; check"));
    }

    #[tokio::test]
    async fn a_directory_keeps_its_promises() {
        let dir = tempfile::tempdir().unwrap();
        let url = format!("file://{}/made/here", dir.path().display());
        let open = open(&url, &Options::default()).unwrap();
        open.check().await.unwrap();
        check_conditional_puts(open.store.as_ref()).await;
        check_multipart(open.store.as_ref()).await;
    }

    #[tokio::test]
    async fn an_s3_bucket_keeps_its_promises_below_its_prefix() {
        let Some(server) = testkit::S3Server::start().await else { return };
        let options = Options { variables: server.variables(), ..Options::default() };
        let open = open(&server.url("some/prefix"), &options).unwrap();
        open.check().await.unwrap();
        check_conditional_puts(open.store.as_ref()).await;
        check_multipart(open.store.as_ref()).await;
        let whole = super::open(&server.url(""), &options).unwrap();
        assert!(whole.store.head(&Path::from("some/prefix/big/object")).await.is_ok());
    }

    /// Returns the content, or the kind of the error.
    async fn read(
        store: &dyn ObjectStore,
        options: GetOptions,
    ) -> Result<(ObjectMeta, Range<u64>, Bytes), Discriminant<StoreError>> {
        let got = store.get_opts(&Path::from("a/b"), options).await;
        let got = got.map_err(|error| discriminant(&error))?;
        Ok((got.meta.clone(), got.range.clone(), got.bytes().await.unwrap()))
    }

    #[tokio::test]
    async fn a_directory_is_read_as_the_library_reads_it() {
        let dir = tempfile::tempdir().unwrap();
        let store = DurableLocal::open(dir.path()).unwrap();
        let library = LocalFileSystem::new_with_prefix(dir.path()).unwrap();
        let e_tag = Some(put(&store, "0123456789", PutMode::Create).await.unwrap());
        let bounded = [2..5, 8..20, 10..11].map(|range| Some(GetRange::Bounded(range)));
        for range in bounded.into_iter().chain([Some(GetRange::Suffix(3)), None]) {
            let plain = GetOptions { range, ..GetOptions::default() };
            let same = GetOptions { if_match: e_tag.clone(), ..plain.clone() };
            let other = GetOptions { if_none_match: e_tag.clone(), ..plain.clone() };
            for options in [plain, same, other] {
                let expected = read(&library, options.clone()).await;
                assert_eq!(read(&store, options.clone()).await, expected, "{options:?}");
            }
        }
        let (path, ranges) = (Path::from("a/b"), [2..5, 4..4, 7..10]);
        let parts = store.get_ranges(&path, &ranges).await.unwrap();
        assert_eq!(parts, library.get_ranges(&path, &ranges).await.unwrap());
        for each in [&store as &dyn ObjectStore, &library] {
            assert!(each.get_ranges(&path, &[2..5, 8..11]).await.is_err());
        }
        for missing in ["a", "a/c", "none/b"].map(Path::from) {
            let whole = store.get(&missing).await.unwrap_err();
            let parts = store.get_ranges(&missing, &ranges).await.unwrap_err();
            for error in [whole, parts] {
                assert!(matches!(error, StoreError::NotFound { .. }), "{error}");
            }
        }
    }

    #[tokio::test]
    async fn an_error_of_a_directory_has_the_number_of_the_systems_error() {
        let dir = tempfile::tempdir().unwrap();
        let store = DurableLocal::open(dir.path()).unwrap();
        put(&store, "x", PutMode::Create).await.unwrap();
        // A path below a file.
        let error = store.get(&Path::from("a/b/c")).await.unwrap_err();
        let first: &(dyn std::error::Error + 'static) = &error;
        let numbers = std::iter::successors(Some(first), |error| error.source())
            .filter_map(|error| error.downcast_ref::<std::io::Error>()?.raw_os_error());
        let expected = rustix::io::Errno::NOTDIR.raw_os_error();
        assert_eq!(numbers.collect::<Vec<_>>(), [expected], "{error}");
    }

    #[tokio::test]
    async fn concurrent_creates_have_one_winner() {
        let dir = tempfile::tempdir().unwrap();
        let store = DurableLocal::open(dir.path()).unwrap();
        let puts = (0..8).map(|_| put(&store, "x", PutMode::Create));
        let won = futures::future::join_all(puts).await.iter().filter(|put| put.is_ok()).count();
        assert_eq!(won, 1);
    }

    /// Each writer updates its own last version, and only reads after an update was refused.
    #[tokio::test(flavor = "multi_thread", worker_threads = 4)]
    async fn concurrent_updates_lose_none() {
        async fn count(store: DurableLocal) -> u64 {
            let read = async || {
                let got = store.get(&Path::from("a/b")).await.unwrap();
                let e_tag = got.meta.e_tag.clone();
                let text = String::from_utf8(got.bytes().await.unwrap().to_vec()).unwrap();
                (text.trim().parse::<u64>().unwrap(), e_tag)
            };
            let (mut updates, (mut value, mut e_tag)) = (0, read().await);
            for _ in 0..100 {
                let version = object_store::UpdateVersion { e_tag, version: None };
                match put(&store, &format!("{:8}", value + 1), PutMode::Update(version)).await {
                    Ok(written) => {
                        (updates, value, e_tag) = (updates + 1, value + 1, Some(written))
                    }
                    Err(StoreError::Precondition { .. }) => (value, e_tag) = read().await,
                    Err(error) => panic!("{error}"),
                }
            }
            updates
        }
        let dir = tempfile::tempdir().unwrap();
        let store = DurableLocal::open(dir.path()).unwrap();
        put(&store, "       0", PutMode::Create).await.unwrap();
        let writers = (0..4).map(|_| tokio::spawn(count(store.clone())));
        let counted = futures::future::try_join_all(writers).await.unwrap();
        let got = store.get(&Path::from("a/b")).await.unwrap().bytes().await.unwrap();
        assert_eq!(String::from_utf8_lossy(&got), format!("{:8}", counted.iter().sum::<u64>()));
    }

    #[tokio::test]
    async fn unfinished_and_aborted_uploads_leave_nothing_to_list() {
        let dir = tempfile::tempdir().unwrap();
        let store = DurableLocal::open(dir.path()).unwrap();
        let mut aborted = store.put_multipart(&Path::from("x")).await.unwrap();
        aborted.put_part(payload("abc")).await.unwrap();
        aborted.abort().await.unwrap();
        let _open = store.put_multipart(&Path::from("y")).await.unwrap();
        assert!(store.list(None).next().await.is_none());
    }

    /// Runs each operation once. Returns those that did not fail as in an outage.
    async fn without_outage(store: &dyn ObjectStore) -> Vec<&'static str> {
        let (path, other) = (Path::from("a/b"), Path::from("c"));
        let results = [
            ("create", put(store, "x", PutMode::Create).await.err()),
            ("overwrite", put(store, "x", PutMode::Overwrite).await.err()),
            ("multipart", store.put_multipart(&path).await.err()),
            ("get", store.get(&path).await.err()),
            ("head", store.head(&path).await.err()),
            ("range", store.get_range(&path, 0..1).await.err()),
            ("ranges", store.get_ranges(&path, &[0..1, 1..2]).await.err()),
            ("delete", store.delete(&path).await.err()),
            ("list", store.list(None).next().await.and_then(Result::err)),
            ("delimited", store.list_with_delimiter(None).await.err()),
            ("copy", store.copy(&path, &other).await.err()),
            ("rename", store.rename(&path, &other).await.err()),
        ];
        let is_outage = |error: &StoreError| {
            matches!(error, StoreError::Generic { .. })
                && error.to_string().contains("mount it again")
        };
        let others = results.iter().filter(|(_, error)| !error.as_ref().is_some_and(is_outage));
        others.map(|(operation, _)| *operation).collect()
    }

    #[tokio::test]
    async fn a_directory_that_goes_away_is_an_outage_and_is_not_made_anew() {
        let dir = tempfile::tempdir().unwrap();
        let (root, aside) = (dir.path().join("root"), dir.path().join("aside"));
        let store = DurableLocal::open(&root).unwrap();
        put(&store, "kept", PutMode::Create).await.unwrap();
        let mut upload = store.put_multipart(&Path::from("big")).await.unwrap();
        upload.put_part(payload("abc")).await.unwrap();
        std::fs::rename(&root, &aside).unwrap();
        assert_eq!(without_outage(&store).await, Vec::<&str>::new());
        assert!(!root.exists(), "it was made anew");
        // Simulates the empty directory below a mount point.
        std::fs::create_dir(&root).unwrap();
        assert_eq!(without_outage(&store).await, Vec::<&str>::new());
        let error = upload.complete().await.unwrap_err().to_string();
        assert!(error.contains(&root.display().to_string()), "{error}");
        assert_eq!(std::fs::read_dir(&root).unwrap().count(), 0, "something was written there");
        std::fs::remove_dir(&root).unwrap();
        std::fs::rename(&aside, &root).unwrap();
        let got = store.get(&Path::from("a/b")).await.unwrap().bytes().await.unwrap();
        assert_eq!(got, "kept");
        put(&store, "new", PutMode::Overwrite).await.unwrap();
        assert_eq!(store.list(None).count().await, 1);
    }

    #[test]
    fn a_url_that_cannot_work_is_refused_with_the_fix() {
        for (url, fix) in [
            ("gs://bucket", "use s3://bucket/prefix"),
            ("s3://", "bucket's name is missing"),
            ("file://relative", "absolute path"),
            ("", "name is empty"),
            ("/proc/nowhere", "can be written"),
        ] {
            let error = open(url, &Options::default()).unwrap_err().to_string();
            assert!(error.contains(fix), "{error}");
        }
    }
}
