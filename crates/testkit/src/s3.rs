//! A real S3 server (MinIO) on a free port with an empty bucket, stopped when it is dropped.
//!
//! The server also ends if the test process is killed: a watchdog holds the other end of a pipe.

use std::collections::BTreeMap;
use std::env;
use std::net::TcpListener;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use object_store::aws::AmazonS3Builder;
use object_store::path::Path;
use object_store::signer::Signer;

use crate::{TestDir, wait_until};

/// The version that `ci/tools/minio.sh` builds.
const VERSION: &str = "v0.0.0-20260212201848-7aac2a2c5b7c";
const BUCKET: &str = "karst";
const USER: &str = "karst-test";
const SECRET: &str = "karst-test-secret";
/// A busy machine may take long to start a process.
const START: Duration = Duration::from_secs(60);

/// A running MinIO.
#[derive(Debug)]
pub struct S3Server {
    binary: PathBuf,
    data: TestDir,
    port: u16,
    process: Option<(Child, Child)>,
}

impl S3Server {
    /// Starts a server. Returns `None` and prints the reason if there is no server: the test is then
    /// skipped.
    ///
    /// # Panics
    /// If `KARST_REQUIRE_TOOLS` is set and the binary is missing, or if the server does not start.
    pub async fn start() -> Option<Self> {
        let Some(binary) = binary() else {
            let text = "minio is missing, run ci/tools/minio.sh";
            assert!(
                env::var_os("KARST_REQUIRE_TOOLS").is_none_or(|v| v.is_empty() || v == "0"),
                "{text}"
            );
            eprintln!("skipped: {text}");
            return None;
        };
        let mut server = Self { binary, data: TestDir::new(), port: free_port(), process: None };
        server.launch().await;
        server.make_bucket().await;
        Some(server)
    }

    /// The bucket's URL with a prefix, which may be empty.
    #[must_use]
    pub fn url(&self, prefix: &str) -> String {
        format!("s3://{BUCKET}/{prefix}").trim_end_matches('/').to_owned()
    }

    /// The server's address, for a proxy in front of it.
    #[must_use]
    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// The `AWS_*` variables a client needs.
    #[must_use]
    pub fn variables(&self) -> BTreeMap<String, String> {
        let pairs = [
            ("AWS_ACCESS_KEY_ID", USER.to_owned()),
            ("AWS_SECRET_ACCESS_KEY", SECRET.to_owned()),
            ("AWS_REGION", "us-east-1".to_owned()),
            ("AWS_ENDPOINT", self.endpoint()),
        ];
        pairs.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
    }

    /// Freezes the server: connections stay open, but it does not respond.
    pub fn pause(&self) {
        self.signal("-STOP");
    }

    /// Resumes a frozen server.
    pub fn resume(&self) {
        self.signal("-CONT");
    }

    /// Kills the server; its data stays for [`restart`](Self::restart).
    pub fn kill(&mut self) {
        let Some((mut server, mut watchdog)) = self.process.take() else { return };
        // The watchdog is killed first, because it could hit another process that reuses the process ID.
        let _ = watchdog.kill();
        let _ = watchdog.wait();
        let _ = server.kill();
        let _ = server.wait();
    }

    /// Starts a killed server on the same data and port.
    ///
    /// # Panics
    /// If it does not start.
    pub async fn restart(&mut self) {
        self.kill();
        self.launch().await;
    }

    fn signal(&self, name: &str) {
        let Some((server, _)) = &self.process else { return };
        let sent = Command::new("kill").args([name, &server.id().to_string()]).status();
        assert!(sent.is_ok_and(|status| status.success()), "kill {name} works");
    }

    async fn launch(&mut self) {
        let server = Command::new(&self.binary)
            .arg("server")
            .args(["--quiet", "--address", &format!("127.0.0.1:{}", self.port)])
            .args(["--console-address", &format!("127.0.0.1:{}", free_port())])
            .arg(self.data.path())
            .env("MINIO_ROOT_USER", USER)
            .env("MINIO_ROOT_PASSWORD", SECRET)
            .env("MINIO_BROWSER", "off")
            .env("MINIO_UPDATE", "off")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("the minio binary starts");
        let watchdog = Command::new("sh")
            .args(["-c", &format!("cat >/dev/null; kill -9 {} 2>/dev/null", server.id())])
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()
            .expect("sh starts");
        self.process = Some((server, watchdog));
        let health = format!("{}/minio/health/ready", self.endpoint());
        let answers = || async {
            reqwest::get(&health).await.is_ok_and(|answer| answer.status().is_success())
        };
        assert!(wait_until(answers, START).await, "minio is ready within a minute");
    }

    /// Creates the bucket with a signed request, because object clients have no such operation.
    async fn make_bucket(&self) {
        let signer = AmazonS3Builder::new()
            .with_bucket_name(BUCKET)
            .with_endpoint(self.endpoint())
            .with_region("us-east-1")
            .with_access_key_id(USER)
            .with_secret_access_key(SECRET)
            .with_allow_http(true)
            .build()
            .expect("the settings are complete");
        let minute = Duration::from_secs(60);
        let url = signer.signed_url(reqwest::Method::PUT, &Path::from(""), minute).await;
        let url = url.expect("static keys can sign");
        let made = || async {
            let answer = reqwest::Client::new().put(url.as_str()).send().await;
            answer.is_ok_and(|answer| answer.status().is_success())
        };
        assert!(wait_until(made, START).await, "minio makes a bucket");
    }
}

impl Drop for S3Server {
    fn drop(&mut self) {
        self.kill();
    }
}

fn binary() -> Option<PathBuf> {
    if let Some(path) = env::var_os("KARST_MINIO") {
        return Some(PathBuf::from(path)).filter(|path| path.is_file());
    }
    let tools = env::var_os("KARST_TOOLS").map(PathBuf::from).or_else(|| {
        let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
        let home = env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
        cache.or(home).map(|cache| cache.join("karst-tools"))
    })?;
    Some(tools.join(format!("minio-{VERSION}")).join("minio")).filter(|path| path.is_file())
}

fn free_port() -> u16 {
    let listener = TcpListener::bind(("127.0.0.1", 0)).expect("the machine has a free port");
    listener.local_addr().expect("a bound socket has an address").port()
}
