//! The REST client of the command line: server address, credentials, error handling.

use std::borrow::Cow;
use std::fmt;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use reqwest::{Certificate, ClientBuilder, Method, RequestBuilder, StatusCode, Url};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::pinned;
use super::sessions::Sessions;
use crate::config::ClientOptions;

/// The session file that a server writes into its data directory, for commands of the same user.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct LocalSession {
    /// Management address.
    pub(crate) uri: String,
    /// A session of the user admin that lasts as long as the server runs.
    pub(crate) session_key: String,
    /// The server's certificate, PEM.
    pub(crate) certificate: Option<PathBuf>,
    /// The server's process.
    #[serde(default)]
    pub(crate) pid: u32,
}

impl LocalSession {
    pub(crate) fn path(data_dir: &Path) -> PathBuf {
        data_dir.join("local-session.json")
    }
}

/// A failure with a specific exit code.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The arguments of the command are invalid.
    Usage(String),
    /// The search is invalid; the text is a diagnostic.
    Search(String),
    /// The server is unreachable.
    Unreachable(String),
    /// The user is not logged in.
    Unauthorized(String),
    /// Logged in, and not allowed.
    Forbidden(String),
    /// The path or the object does not exist.
    Missing(String),
    /// Another request may succeed: the server is busy, or has something else meanwhile.
    Later(String),
    /// Any other server error.
    Server(String),
}

impl Failure {
    pub(crate) fn code(&self) -> u8 {
        match self {
            Self::Server(_) | Self::Missing(_) | Self::Later(_) | Self::Forbidden(_) => 1,
            Self::Usage(_) => 2,
            Self::Search(_) => 3,
            Self::Unreachable(_) => 4,
            Self::Unauthorized(_) => 5,
        }
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Usage(text)
            | Self::Search(text)
            | Self::Unreachable(text)
            | Self::Unauthorized(text)
            | Self::Forbidden(text)
            | Self::Missing(text)
            | Self::Later(text)
            | Self::Server(text) => f.write_str(text),
        }
    }
}

impl std::error::Error for Failure {}

/// A server and credentials.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    http: reqwest::Client,
    uri: String,
    auth: Auth,
    /// Response time-out.
    timeout: Option<Duration>,
    /// The file of the server's certificate, if it is missing.
    missing: Option<PathBuf>,
}

/// Default response time-out.
const TIMEOUT: Duration = Duration::from_secs(60);
/// Time for which commands wait for a server that is starting, and interval between the attempts.
const START: Duration = Duration::from_secs(15);
const PAUSE: Duration = Duration::from_millis(300);
/// Time-out for asking an unresponsive server for the reason.
const REASON: Duration = Duration::from_secs(3);

#[derive(Debug, Clone)]
enum Auth {
    /// No credentials, for public requests.
    None,
    Session(String),
    Password {
        user: String,
        password: String,
    },
}

impl Client {
    pub(crate) fn new(options: &ClientOptions) -> Result<Self> {
        Self::with_timeout(options, TIMEOUT)
    }

    /// A client without credentials.
    pub(crate) fn anonymous(options: &ClientOptions) -> Result<Self> {
        let local = read_local(&options.data.data_dir)?;
        Self::connecting(options, TIMEOUT, local, Auth::None)
    }

    /// A client for slow requests.
    pub(crate) fn with_timeout(options: &ClientOptions, usual: Duration) -> Result<Self> {
        let local = read_local(&options.data.data_dir)?;
        // A server given by URI is not the local one, unless there is no stored session for it.
        let stored = match &options.uri {
            Some(uri) if options.auth.is_none() => Sessions::read()?.of(uri),
            _ => None,
        };
        if let Some(stored) = stored {
            let mut options = options.clone();
            options.insecure |= stored.insecure;
            return Self::connecting(&options, usual, local, Auth::Session(stored.key));
        }
        let auth = auth(options, local.as_ref())?;
        Self::connecting(options, usual, local, auth)
    }

    fn connecting(
        options: &ClientOptions,
        usual: Duration,
        local: Option<LocalSession>,
        auth: Auth,
    ) -> Result<Self> {
        let seconds = options.timeout.map(Duration::from_secs);
        let timeout = Some(seconds.unwrap_or(usual)).filter(|timeout| !timeout.is_zero());
        let uri = options
            .uri
            .clone()
            .or_else(|| local.as_ref().map(|session| session.uri.clone()))
            .unwrap_or_else(|| "https://127.0.0.1:8089".to_owned());
        let missing = local.as_ref().and_then(|session| missing_certificate(session, &uri));
        let builder = trusting(reqwest::Client::builder().no_proxy(), options, &uri, local)?;
        if !uri.starts_with("https://") && !uri.starts_with("http://") {
            let text = format!(
                "{uri} is not a complete address: write --uri https://{uri} (or KARST_URI), with the \
                 port of the management API, usually 8089"
            );
            return Err(Failure::Usage(text).into());
        }
        let http = builder.build().context("cannot set up TLS")?;
        Ok(Self { http, uri: uri.trim_end_matches('/').to_owned(), auth, timeout, missing })
    }

    pub(crate) fn request(&self, method: Method, path: &str) -> RequestBuilder {
        let mut request = self.http.request(method, format!("{}{path}", self.uri));
        if let Some(timeout) = self.timeout {
            request = request.timeout(timeout);
        }
        match &self.auth {
            Auth::None => request,
            Auth::Session(key) => request.header("Authorization", format!("Splunk {key}")),
            Auth::Password { user, password } => request.basic_auth(user, Some(password)),
        }
    }

    pub(crate) async fn get(&self, path: &str) -> Result<Value> {
        self.send(self.request(Method::GET, path)).await
    }

    pub(crate) async fn post(&self, path: &str, form: &[(&str, &str)]) -> Result<Value> {
        self.send(self.request(Method::POST, path).form(form)).await
    }

    /// The body of a GET request's response, whatever its status.
    pub(crate) async fn body(&self, path: &str) -> Result<Value> {
        let response = self.request(Method::GET, path).send().await;
        let text = response.map_err(|error| self.unreachable(&error))?.text().await?;
        Ok(serde_json::from_str(&text).unwrap_or(Value::String(text)))
    }

    /// The body of a GET request's response, as bytes.
    pub(crate) async fn file(&self, path: &str) -> Result<Vec<u8>> {
        let response = self.request(Method::GET, path).send().await;
        let response = response.map_err(|error| self.unreachable(&error))?;
        let (status, path) = (response.status(), response.url().path().to_owned());
        let body = response.bytes().await.context("the connection broke while reading the file")?;
        match status.is_success() {
            true => Ok(body.to_vec()),
            false => Err(refused(status, &path, &String::from_utf8_lossy(&body)).into()),
        }
    }

    /// Sends a request and converts error responses to [`Failure`]s. An empty response is null. Requests to a
    /// server that is starting, and accepts no requests yet, are repeated for some seconds.
    pub(crate) async fn send(&self, mut request: RequestBuilder) -> Result<Value> {
        let began = Instant::now();
        loop {
            let again = request.try_clone();
            let (status, path, body) = self.answer(request).await?;
            if status.is_success() {
                if body.is_empty() {
                    return Ok(Value::Null);
                }
                return Ok(serde_json::from_str(&body).unwrap_or(Value::String(body)));
            }
            match again.filter(|_| is_starting(status, &body) && began.elapsed() < START) {
                Some(same) => request = same,
                None => return Err(refused(status, &path, &body).into()),
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// The status, path and body of a response.
    async fn answer(&self, request: RequestBuilder) -> Result<(StatusCode, String, String)> {
        let response = match request.send().await {
            Ok(response) => response,
            Err(error) if error.is_timeout() => {
                return Err(self.no_answer(error.is_connect()).await.into());
            }
            Err(error) => return Err(self.unreachable(&error).into()),
        };
        let (status, path) = (response.status(), response.url().path().to_owned());
        let body = match response.text().await {
            Ok(body) => body,
            Err(error) if error.is_timeout() => return Err(self.no_answer(false).await.into()),
            Err(error) => {
                return Err(error).context("the connection broke while reading the answer");
            }
        };
        Ok((status, path, body))
    }

    /// The error for a time-out, with the reasons that the server reports.
    async fn no_answer(&self, connecting: bool) -> Failure {
        let seconds = self.timeout.unwrap_or_default().as_secs();
        let mut text = format!("no answer within {seconds} s from {}", self.uri);
        if connecting {
            text.push_str("; is the server running?");
            return Failure::Unreachable(text);
        }
        let asked = self.http.get(format!("{}/readyz", self.uri)).timeout(REASON).send().await;
        let told = match asked {
            Ok(answer) => answer.text().await.unwrap_or_default(),
            Err(_) => "it does not answer /readyz either".to_owned(),
        };
        let told = told.trim().replace('\n', "; ");
        text.push_str(&format!(
            ". The server may still be working on it (--timeout gives it more time). Its state: {told}"
        ));
        Failure::Unreachable(text)
    }

    fn unreachable(&self, error: &reqwest::Error) -> Failure {
        let mut causes = Vec::new();
        let mut cause = std::error::Error::source(error);
        while let Some(inner) = cause {
            if inner.source().is_none() {
                causes.push(inner.to_string());
            }
            cause = inner.source();
        }
        let text = causes.join(": ");
        if let Some(path) = self.missing.as_ref().filter(|_| is_unknown(&text)) {
            return Failure::Unreachable(format!(
                "no answer from {}: its certificate cannot be verified, because the file {} is missing: put \
                 it back, or give --insecure",
                self.uri,
                path.display()
            ));
        }
        Failure::Unreachable(match advice(&text, error.is_connect()) {
            Some(advice) => format!("no answer from {}: {advice}", self.uri),
            None => format!(
                "no answer from {}: {text}; is the server running? (karst \
                 server, or make run)",
                self.uri
            ),
        })
    }
}

/// Returns a remedy for connection errors whose text does not explain the cause.
fn advice(cause: &str, connecting: bool) -> Option<&'static str> {
    let has = |texts: &[&str]| texts.iter().any(|text| cause.contains(text));
    if has(&["InvalidContentType", "tls handshake eof", "wrong version number"]) {
        return Some(
            "this port does not speak TLS, so it is not the management port: that is 8089 unless \
             --management-address says otherwise (HEC: 8088, web: 8000, which also answers at http://)",
        );
    }
    if is_unknown(cause) {
        return Some(
            "its certificate is not known here: on the machine of the server, give its --data-dir in place \
             of --uri, and its certificate is trusted; elsewhere, give --insecure",
        );
    }
    if has(&["ApplicationVerificationFailure"]) {
        return Some(
            "its certificate is not the one in the file of this data directory: the server loads a replaced \
             file within a minute, at once on SIGHUP; if its log says that the file is not valid, or is not \
             valid yet, correct the file, put the former one back, or give --insecure",
        );
    }
    if has(&["NotValidForName"]) {
        return Some(
            "its certificate does not name this host: use a name or address that it names, or --insecure",
        );
    }
    let broke = [
        "close_notify",
        "Connection reset",
        "Broken pipe",
        "connection closed before",
        "unexpected EOF",
    ];
    if !connecting && has(&broke) {
        return Some(
            "the connection broke: the server was stopped, killed or cut off while it answered. What it \
             acknowledged is kept; start it again (karst server) and look at DATA_DIR/log/karst.log",
        );
    }
    None
}

/// Whether an error of a connection says that nobody vouches for the certificate of the server.
fn is_unknown(cause: &str) -> bool {
    let texts = ["UnknownIssuer", "CaUsedAsEndEntity", "self-signed"];
    texts.iter().any(|text| cause.contains(text))
}

/// The file of the certificate of the server of the data directory, if it is the one at this address and the
/// file is missing.
fn missing_certificate(session: &LocalSession, uri: &str) -> Option<PathBuf> {
    let path = session.certificate.as_ref().filter(|path| !path.exists())?;
    is_local(uri, &session.uri).then(|| path.clone())
}

/// A client that trusts the server of the data directory by its certificate; another server as well, if this
/// certificate has signed that of the other.
fn trusting(
    builder: ClientBuilder,
    options: &ClientOptions,
    uri: &str,
    local: Option<LocalSession>,
) -> Result<ClientBuilder> {
    if options.insecure {
        return Ok(builder.danger_accept_invalid_certs(true));
    }
    let known = local.and_then(|session| Some((session.uri, session.certificate?)));
    let Some((local, path)) = known.filter(|(_, path)| path.exists()) else { return Ok(builder) };
    if is_local(uri, &local) {
        return Ok(builder.use_preconfigured_tls(pinned::trusting_only(&path)?));
    }
    let pem = std::fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
    Ok(builder.add_root_certificate(Certificate::from_pem(&pem)?))
}

/// Whether an address is that of the server of the data directory, perhaps by another name of this machine.
fn is_local(uri: &str, local: &str) -> bool {
    let (Ok(asked), Ok(known)) = (Url::parse(uri), Url::parse(local)) else { return false };
    let host = asked.host_str().unwrap_or_default();
    let address = host.trim_matches(['[', ']']).parse::<IpAddr>();
    let is_here = host == "localhost" || address.is_ok_and(|address| address.is_loopback());
    let is_port = asked.port_or_known_default() == known.port_or_known_default();
    is_port && (is_here || asked.host_str() == known.host_str())
}

fn read_local(data_dir: &Path) -> Result<Option<LocalSession>> {
    let path = LocalSession::path(data_dir);
    match std::fs::read(&path) {
        Ok(bytes) => {
            let session = serde_json::from_slice(&bytes);
            session.map(Some).with_context(|| format!("{} is damaged", path.display()))
        }
        Err(_) => Ok(None),
    }
}

fn auth(options: &ClientOptions, local: Option<&LocalSession>) -> Result<Auth> {
    if let Some(given) = &options.auth {
        let parts = given.split_once(':');
        let usage = || Failure::Usage("--auth (or KARST_AUTH) must be user:password".to_owned());
        let (user, password) = parts.ok_or_else(usage)?;
        return Ok(Auth::Password { user: user.to_owned(), password: password.to_owned() });
    }
    let session = local.map(|session| Auth::Session(session.session_key.clone()));
    session.ok_or_else(|| {
        let data = &options.data.data_dir;
        // A session that is there and cannot be read is that of a server of another user.
        let stopped = data.join("server.lock").exists() && !LocalSession::path(data).exists();
        if options.uri.is_none() && stopped {
            let data = data.display();
            let text = format!(
                "no server is running on {data}: start it with karst server --data-dir {data}, or name another: \
                 karst login --uri https://HOST:8089"
            );
            return Failure::Unreachable(text).into();
        }
        let text = format!(
            "not logged in: karst login --uri https://HOST:8089, or give --auth user:password (or \
             KARST_AUTH), or --data-dir of a running server (now {})",
            options.data.data_dir.display()
        );
        Failure::Unauthorized(text).into()
    })
}

/// Whether a server does not take requests yet.
fn is_starting(status: StatusCode, body: &str) -> bool {
    status == StatusCode::SERVICE_UNAVAILABLE && body.contains("the server is starting: ")
}

/// The answer of a TLS port to a request without TLS.
const NEEDS_TLS: &str = "This port speaks TLS";

fn refused(status: StatusCode, path: &str, body: &str) -> Failure {
    let shown = body.trim_end();
    let text = message(body).unwrap_or_else(|| format!("the server answered {status}: {shown}"));
    // The parameter of the REST API is a flag of this command.
    let is_cluster = path.starts_with("/services/cluster/");
    let names_both = text.contains("--force");
    let text = if is_cluster && !names_both { text.replace("force=1", "--force") } else { text };
    match status {
        StatusCode::BAD_REQUEST if body.starts_with(NEEDS_TLS) => Failure::Unreachable(
            "the port speaks TLS: use https:// in place of http:// in --uri (or KARST_URI)"
                .to_owned(),
        ),
        // The status for removing a user, role or token that is not there.
        StatusCode::BAD_REQUEST if named(path, &text).is_some() => {
            Failure::Server(named(path, &text).unwrap_or(text))
        }
        StatusCode::BAD_REQUEST if path.contains("/search/") => Failure::Search(text),
        StatusCode::BAD_REQUEST => Failure::Usage(text),
        StatusCode::FORBIDDEN => Failure::Forbidden(text),
        StatusCode::UNAUTHORIZED => Failure::Unauthorized(format!(
            "{text}; check --auth, log in again (karst login), or restart the server that uses this --data-dir"
        )),
        StatusCode::NOT_FOUND if body.contains("\"code\":404") => Failure::Server(format!(
            "{text}; is this the port of HEC? The management API is usually at https://HOST:8089"
        )),
        StatusCode::NOT_FOUND => Failure::Missing(named(path, &text).unwrap_or(text)),
        // Of a load balancer, which has no answer from a server.
        StatusCode::BAD_GATEWAY | StatusCode::GATEWAY_TIMEOUT => Failure::Unreachable(text),
        StatusCode::CONFLICT | StatusCode::SERVICE_UNAVAILABLE => Failure::Later(text),
        _ => Failure::Server(text),
    }
}

/// The kind of object that a path names, by the parts of the path.
const KINDS: &[(&str, &str)] = &[
    ("/data/indexes/", "index"),
    ("/data/buckets/", "bucket"),
    ("/authentication/users/", "user"),
    ("/authorization/roles/", "role"),
    ("/authorization/tokens/", "API token"),
    ("/apps/local/", "app"),
    ("/search/jobs/", "search job"),
    ("/search/v2/jobs/", "search job"),
];

/// Returns the message for a missing object, with its kind, which Splunk's text does not have.
fn named(path: &str, text: &str) -> Option<String> {
    let name = text.strip_prefix("Could not find object id=")?;
    let (_, kind) = KINDS.iter().find(|(part, _)| path.contains(part))?;
    Some(format!("there is no {kind} \"{name}\""))
}

/// The text of an error body, JSON or XML.
fn message(body: &str) -> Option<String> {
    if let Ok(json) = serde_json::from_str::<Value>(body) {
        let texts: Vec<&str> =
            json["messages"].as_array()?.iter().filter_map(|m| m["text"].as_str()).collect();
        return Some(texts.join("\n"));
    }
    let start = body.find("<msg")?;
    let text = &body[start + body[start..].find('>')? + 1..];
    let text = &text[..text.find("</msg>")?];
    // Some errors occur before the parameters of a form are read, including output_mode.
    Some(quick_xml::escape::unescape(text).map_or_else(|_| text.to_owned(), Cow::into_owned))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_object_that_is_not_there_is_called_what_it_is() {
        let body = r#"{"messages":[{"type":"ERROR","text":"Could not find object id=nosuch"}]}"#;
        let text = |path: &str| refused(StatusCode::NOT_FOUND, path, body).to_string();
        let roll = "/services/data/indexes/nosuch/roll-hot-buckets";
        assert_eq!(text(roll), "there is no index \"nosuch\"");
        let user = "/services/authentication/users/nosuch";
        assert_eq!(text(user), "there is no user \"nosuch\"");
        let removal = refused(StatusCode::BAD_REQUEST, user, body);
        assert_eq!((removal.code(), removal.to_string()), (1, text(user)));
        assert_eq!(text("/services/else/nosuch"), "Could not find object id=nosuch");
    }

    #[test]
    fn an_xml_answer_is_shown_without_entities() {
        let body = "<response><messages><msg type=\"ERROR\">the user &quot;eve&quot; lacks &lt;x&gt;</msg>";
        assert_eq!(message(body).as_deref(), Some("the user \"eve\" lacks <x>"));
    }

    #[test]
    fn exit_codes_tell_searches_from_other_input() {
        let body = r#"{"messages":[{"type":"FATAL","text":"there is no index \"x\""}]}"#;
        let code = |path: &str| refused(StatusCode::BAD_REQUEST, path, body).code();
        assert_eq!(code("/services/search/v2/jobs"), 3);
        assert_eq!(code("/services/receivers/simple"), 2);
    }

    #[test]
    fn another_request_may_succeed_only_if_the_server_is_busy_or_has_something_else() {
        let is_later = |status| matches!(refused(status, "/services", "{}"), Failure::Later(_));
        assert!(is_later(StatusCode::SERVICE_UNAVAILABLE) && is_later(StatusCode::CONFLICT));
        assert!(!is_later(StatusCode::INTERNAL_SERVER_ERROR) && !is_later(StatusCode::NOT_FOUND));
    }

    #[test]
    fn a_refusal_of_the_cluster_names_the_flag() {
        let body =
            r#"{"messages":[{"type":"ERROR","text":"start it, remove it, or use force=1"}]}"#;
        let path = "/services/cluster/manager/control/control/restart";
        let text = refused(StatusCode::CONFLICT, path, body).to_string();
        assert_eq!(text, "start it, remove it, or use --force");
    }

    #[test]
    fn a_port_that_needs_tls_is_not_reached() {
        let body = "This port speaks TLS: use https:// in place of http://.\n";
        let failure = refused(StatusCode::BAD_REQUEST, "/services/search/v2/jobs", body);
        assert_eq!(failure.code(), 4);
        assert!(failure.to_string().contains("use https://"), "{failure}");
        let other = refused(StatusCode::BAD_GATEWAY, "/services/search/v2/jobs", "no\n");
        assert_eq!(other.to_string(), "the server answered 502 Bad Gateway: no");
        assert_eq!(other.code(), 4, "a load balancer does not reach it");
    }

    #[test]
    fn a_missing_capability_is_not_a_missing_login() {
        let body =
            r#"{"messages":[{"type":"ERROR","text":"the user \"eve\" lacks the capability x"}]}"#;
        let refused = |status| refused(status, "/services/data/indexes/t/roll-hot-buckets", body);
        let forbidden = refused(StatusCode::FORBIDDEN);
        assert_eq!(forbidden.code(), 1);
        assert_eq!(forbidden.to_string(), "the user \"eve\" lacks the capability x");
        let unauthorized = refused(StatusCode::UNAUTHORIZED);
        assert_eq!(unauthorized.code(), 5);
        assert!(unauthorized.to_string().contains("log in again"), "{unauthorized}");
    }

    #[test]
    fn a_server_that_is_starting_is_waited_for() {
        let body = r#"{"messages":[{"type":"ERROR","text":"the server is starting: x"}]}"#;
        assert!(is_starting(StatusCode::SERVICE_UNAVAILABLE, body));
        assert!(!is_starting(StatusCode::SERVICE_UNAVAILABLE, r#"{"messages":[]}"#));
    }

    #[test]
    fn the_server_of_the_data_directory_has_several_names() {
        let local = "https://127.0.0.1:8089";
        for uri in
            [local, "https://127.0.0.1:8089/", "https://localhost:8089", "https://[::1]:8089"]
        {
            assert!(is_local(uri, local), "{uri}");
        }
        for uri in ["https://127.0.0.1:8090", "https://logs.example:8089", "localhost:8089", ""] {
            assert!(!is_local(uri, local), "{uri}");
        }
        assert!(is_local("https://10.0.0.7:8089", "https://10.0.0.7:8089"));
    }

    #[test]
    fn a_missing_certificate_of_the_data_directory_is_known() {
        let path = PathBuf::from("/nosuch/server.pem");
        let uri = "https://127.0.0.1:8089";
        let session = LocalSession {
            uri: uri.to_owned(),
            session_key: String::new(),
            certificate: Some(path.clone()),
            pid: 1,
        };
        assert_eq!(missing_certificate(&session, uri), Some(path));
        assert_eq!(missing_certificate(&session, "https://logs.example:8089"), None);
        let there = LocalSession { certificate: Some("/".into()), ..session };
        assert_eq!(missing_certificate(&there, uri), None);
    }

    #[test]
    fn an_error_of_the_connection_says_what_helps() {
        let corrupt = "received corrupt message of type InvalidContentType";
        assert!(advice(corrupt, true).is_some_and(|text| text.contains("management port")));
        let issuer = "invalid peer certificate: UnknownIssuer";
        assert!(advice(issuer, true).is_some_and(|text| text.contains("--data-dir")));
        let replaced = "invalid peer certificate: ApplicationVerificationFailure";
        for told in ["within a minute", "not valid yet"] {
            assert!(advice(replaced, true).is_some_and(|text| text.contains(told)), "{told}");
        }
        let killed =
            "peer closed connection without sending TLS close_notify: https://docs.rs/rustls";
        assert!(advice(killed, false).is_some_and(|text| text.contains("the connection broke")));
        assert_eq!(advice("Connection refused (os error 111)", true), None);
    }
}
