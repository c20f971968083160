//! The deployment client: asks the deployment server for the assigned apps, and installs them.
//!
//! ```text
//! phone home -> answer, signed -> download -> unpack, checksum -> check -> Versions::commit -> Change
//! ```
//!
//! Guarantees: an app is installed only if the answer is signed with the key, its files have the checksum
//! of the answer, and the configuration is valid with it; otherwise the previous version stays, and the
//! server is told why. Not here: restarting with the installed apps ([`crate::Forwarder`]).

pub(crate) mod connection;
pub(crate) mod settings;
pub(crate) mod versions;

use std::collections::BTreeMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use deployment::{
    Answer, DownloadRequest, InstalledApp, Key, Limits, Outcome, PROOF_HEADER, PhoneHome,
    TIME_HEADER, VERSION, WantedApp, checksum, unpack, work,
};
use hyper::Method;
use runtime::Clock;

use crate::configuration;
use crate::status::{DeploymentStatus, StatusBoard};
use connection::{Asked, ask, download};
use settings::ClientSettings;
use versions::{Apps, Versions};

const PHONE_HOME: &str = "/services/broker/phonehome";
const DOWNLOAD: &str = "/services/streams/deployment";
/// Maximum size of the headers of a file in an archive, in bytes.
const HEADERS: u64 = 4_096;
/// Maximum delay of a request after the start, and after a change.
const SOON: Duration = Duration::from_secs(5);

/// The action required to use the installed apps.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// Reload the configuration, and restart inputs and outputs.
    Reload,
    /// Restart the process.
    Restart,
}

/// The directories of the installed apps of a data directory, each with `apps/<app>`.
#[must_use]
pub fn deployed_apps(data: &Path) -> BTreeMap<String, PathBuf> {
    versions::in_force(data)
}

/// The identity of this forwarder.
#[derive(Debug, Clone)]
pub(crate) struct Identity {
    pub(crate) guid: String,
    pub(crate) host: String,
    pub(crate) conf_dir: PathBuf,
}

/// See the module.
#[derive(Debug)]
pub(crate) struct DeploymentClient {
    settings: ClientSettings,
    key: Key,
    identity: Identity,
    clock: Arc<dyn Clock>,
    board: StatusBoard,
    /// The last error that was logged, so that repetitions are not.
    told: Option<String>,
    is_early: bool,
}

/// The machine type, in Splunk's notation.
fn utsname() -> String {
    let system = match std::env::consts::OS {
        "macos" => "darwin",
        other => other,
    };
    let processor = match (system, std::env::consts::ARCH) {
        ("windows", "x86_64") => "x64",
        (_, other) => other,
    };
    format!("{system}-{processor}")
}

/// A time with a random variation of 10 %, so that forwarders started together do not ask together.
pub(crate) fn jittered(time: Duration, dice: u128) -> Duration {
    let thousandths = u32::try_from(dice % 201).unwrap_or(0);
    time * (900 + thousandths) / 1_000
}

impl DeploymentClient {
    /// Creates a client for the server of the settings; `None` without a key.
    pub(crate) fn new(
        settings: ClientSettings,
        identity: Identity,
        clock: Arc<dyn Clock>,
        board: StatusBoard,
        versions: &Versions,
    ) -> Option<Self> {
        let before = board.get().deployment.unwrap_or_default();
        let mut status = DeploymentStatus {
            server: settings.uri.clone(),
            client_name: settings.name.clone().unwrap_or_else(|| identity.guid.clone()),
            last_phone_home: before.last_phone_home,
            apps: versions.apps().clone(),
            failed: reasons(versions),
            last_error: None,
        };
        let Some(key) = settings.key.clone() else {
            let reason = "there is no key: set pass4SymmKey in [deployment] of server.conf, there and on the \
                          deployment server, or token in [tcpout] of outputs.conf";
            tracing::error!(
                server = settings.uri,
                "the deployment server is not contacted: {reason}"
            );
            status.last_error = Some(reason.to_owned());
            board.put_deployment(Some(status));
            return None;
        };
        board.put_deployment(Some(status));
        Some(Self { settings, key, identity, clock, board, told: None, is_early: true })
    }

    /// Asks the server repeatedly until installed apps have changed.
    pub(crate) async fn next_change(&mut self, versions: &mut Versions) -> Change {
        loop {
            let dice = runtime::random::uuid().as_u128();
            let pause = match std::mem::take(&mut self.is_early) {
                true => SOON.min(self.settings.interval).mul_f64((dice % 1_000) as f64 / 1_000.0),
                false => jittered(self.settings.interval, dice),
            };
            tokio::time::sleep(pause).await;
            if let Some(change) = self.call(versions).await {
                self.is_early = true;
                return change;
            }
        }
    }

    /// Asks the server once.
    pub(crate) async fn call(&mut self, versions: &mut Versions) -> Option<Change> {
        let (change, error) = match self.phone_home(versions).await {
            Ok(change) => (change, None),
            Err(error) => (None, Some(error)),
        };
        self.tell(versions, error);
        change
    }

    /// Publishes the result of a call in the log and the status.
    fn tell(&mut self, versions: &Versions, error: Option<String>) {
        if let Some(error) = error.as_ref().filter(|error| self.told.as_ref() != Some(error)) {
            let server = &self.settings.uri;
            tracing::warn!(server, error, "the deployment server: this forwarder keeps its apps");
        }
        let mut status = self.board.get().deployment.unwrap_or_default();
        if error.is_none() {
            status.last_phone_home = self.now();
        }
        status.apps = versions.apps().clone();
        status.failed = reasons(versions);
        status.last_error.clone_from(&error);
        self.board.put_deployment(Some(status));
        self.told = error;
    }

    fn now(&self) -> u64 {
        u64::try_from(self.clock.now().0 / 1_000_000).unwrap_or(0)
    }

    async fn phone_home(&mut self, versions: &mut Versions) -> Result<Option<Change>, String> {
        let nonce = runtime::random::uuid().simple().to_string();
        let guid = &self.identity.guid;
        let installed = |(name, checksum): (&String, &String)| InstalledApp {
            name: name.clone(),
            checksum: checksum.clone(),
        };
        let message = PhoneHome {
            version: VERSION,
            time: self.now(),
            nonce: nonce.clone(),
            guid: guid.clone(),
            client_name: self.settings.name.clone().unwrap_or_else(|| guid.clone()),
            hostname: self.identity.host.clone(),
            utsname: utsname(),
            build: env!("CARGO_PKG_VERSION").to_owned(),
            apps: versions.apps().iter().map(installed).collect(),
            failed: versions.failed().to_vec(),
        };
        let (body, proof) = message.signed(&self.key).map_err(text)?;
        let headers = [(PROOF_HEADER, proof.as_str())];
        let asked = Asked { method: Method::POST, path: PHONE_HOME, headers: &headers, body };
        let (answer, proof) = ask(&self.settings.endpoint, asked, PROOF_HEADER).await?;
        let answer = Answer::verified(&answer, &proof, &nonce, &self.key)
            .map_err(|error| format!("its response is ignored: {error}"))?;
        let installed = versions.apps().clone();
        versions.forget_failures(|failure| {
            match answer.apps.iter().find(|app| app.name == failure.app) {
                Some(app) => app.checksum.as_ref() == Some(&failure.checksum),
                // The app could not be removed.
                None => installed.get(&failure.app) == Some(&failure.checksum),
            }
        });
        self.follow(versions, &answer.apps).await
    }

    /// Prepares changed apps, and installs the valid ones.
    async fn follow(
        &self,
        versions: &mut Versions,
        wanted: &[WantedApp],
    ) -> Result<Option<Change>, String> {
        let todo = work(versions.apps(), wanted);
        let mut ready: BTreeMap<String, Option<&WantedApp>> = BTreeMap::new();
        let mut error = None;
        for app in todo.install.iter().chain(&todo.update) {
            let Some(sum) = app.checksum.as_deref() else { continue };
            if versions.has_failed(&app.name, sum) {
                continue;
            }
            match self.prepare(versions, app, sum).await {
                Ok(()) => drop(ready.insert(app.name.clone(), Some(app))),
                // Retried with the next call.
                Err(Refused::Later(reason)) => {
                    error.get_or_insert(format!("cannot load the app {}: {reason}", app.name));
                }
                Err(Refused::Wrong(reason)) => self.refuse(versions, &app.name, sum, &reason),
            }
        }
        ready.extend(todo.remove.into_iter().map(|app| (app, None)));
        let next = self.holding(versions, ready);
        if next == *versions.apps() {
            versions.clean_up();
            return error.map_or(Ok(None), Err);
        }
        let restart = wanted.iter().any(|app| {
            app.restart_splunkd && versions.apps().get(&app.name) != next.get(&app.name)
        });
        for (app, sum) in &next {
            if versions.apps().get(app) != Some(sum) {
                tracing::info!(
                    app,
                    checksum = sum,
                    "an app of the deployment server is put into effect"
                );
            }
        }
        for app in versions.apps().keys().filter(|app| !next.contains_key(*app)) {
            tracing::info!(app, "an app is no longer for this forwarder, and is removed");
        }
        versions.commit(next).map_err(text)?;
        Ok(Some(if restart { Change::Restart } else { Change::Reload }))
    }

    fn refuse(&self, versions: &mut Versions, app: &str, checksum: &str, reason: &str) {
        let (app, checksum) = (app.to_owned(), checksum.to_owned());
        let outcome = Outcome { app, checksum, reason: reason.to_owned() };
        // A removal is retried with every call.
        if !versions.failed().contains(&outcome) {
            let app = &outcome.app;
            tracing::error!(
                app,
                reason,
                "an app of the deployment server is refused; the previous state is kept"
            );
        }
        versions.note(outcome);
    }

    /// The prepared changes (a version, or none for an app to be removed) that can be installed: all of
    /// them, or as many as are valid together.
    fn holding(
        &self,
        versions: &mut Versions,
        ready: BTreeMap<String, Option<&WantedApp>>,
    ) -> Apps {
        let with = |apps: &Apps, app: &str, wanted: Option<&WantedApp>| {
            let mut apps = apps.clone();
            match wanted.and_then(|wanted| wanted.checksum.clone()) {
                Some(checksum) => apps.insert(app.to_owned(), checksum),
                None => apps.remove(app),
            };
            apps
        };
        let check = |versions: &Versions, apps: &Apps| {
            let directories = versions.directories(apps);
            configuration::check(&self.identity.conf_dir, &directories, &self.identity.host)
        };
        let mut next = versions.apps().clone();
        if ready.is_empty() {
            return next;
        }
        let all = ready.iter().fold(next.clone(), |apps, (app, one)| with(&apps, app, *one));
        if check(versions, &all).is_ok() {
            return all;
        }
        // One by one, repeatedly: an app that depends on another one is valid once that one is installed.
        let mut left = ready;
        loop {
            let mut failed = BTreeMap::new();
            let before = left.len();
            for (app, wanted) in left {
                let candidate = with(&next, &app, wanted);
                match check(versions, &candidate) {
                    Ok(()) => next = candidate,
                    Err(error) => drop(failed.insert(app, (wanted, format!("{error:#}")))),
                }
            }
            if failed.is_empty() || failed.len() == before {
                for (app, (wanted, reason)) in failed {
                    let installed = versions.apps().get(&app).cloned();
                    let sum = wanted.and_then(|wanted| wanted.checksum.clone()).or(installed);
                    self.refuse(versions, &app, &sum.unwrap_or_default(), &reason);
                }
                return next;
            }
            left = failed.into_iter().map(|(app, (wanted, _))| (app, wanted)).collect();
        }
    }

    /// Downloads a version and writes it beside the installed ones.
    async fn prepare(
        &self,
        versions: &Versions,
        app: &WantedApp,
        sum: &str,
    ) -> Result<(), Refused> {
        let limits = self.settings.limits;
        if app.bytes > limits.bytes || app.files > limits.files {
            return Err(Refused::Wrong(format!(
                "it has {} bytes in {} files, more than maxAppSize ({}) or maxAppFiles ({}) of \
                 deploymentclient.conf",
                app.bytes, app.files, limits.bytes, limits.files
            )));
        }
        let later = |error: crate::Error| Refused::Later(error.to_string());
        let request =
            DownloadRequest { app: app.name.clone(), checksum: sum.to_owned(), time: self.now() };
        let name: String = app.name.bytes().map(escaped).collect();
        let path = format!("{DOWNLOAD}?name={name}&checksum={sum}");
        let (proof, time) = (request.sign(&self.key), request.time.to_string());
        let headers = [(PROOF_HEADER, proof.as_str()), (TIME_HEADER, time.as_str())];
        let asked = Asked { method: Method::GET, path: &path, headers: &headers, body: Vec::new() };
        let to = versions.download_path().map_err(later)?;
        // A packed app is never much larger than its files.
        let most = app.bytes + HEADERS * (app.files as u64 + 16);
        download(&self.settings.endpoint, asked, most, &to).await.map_err(Refused::Later)?;
        let packed = File::open(&to).map_err(|error| Refused::Later(error.to_string()))?;
        let exact = Limits { bytes: app.bytes, files: app.files };
        let files =
            unpack(std::io::BufReader::new(packed), exact).map_err(|error| match error {
                deployment::Error::Archive(_) => Refused::Later(error.to_string()),
                _ => Refused::Wrong(error.to_string()),
            })?;
        let found = checksum(&files);
        if found != sum {
            return Err(Refused::Later(format!("its files have the checksum {found}, not {sum}")));
        }
        versions.add(&app.name, sum, &files, &app.exclude_from_update).map_err(later)?;
        let directories = versions.directories(&Apps::from([(app.name.clone(), sum.to_owned())]));
        for directory in directories.values() {
            let mistakes = configuration::mistakes(directory, &app.name, &self.identity.host);
            let mistakes = mistakes.map_err(|error| Refused::Later(format!("{error:#}")))?;
            if !mistakes.is_empty() {
                return Err(Refused::Wrong(mistakes.join("; ")));
            }
        }
        Ok(())
    }
}

/// The reasons why versions are not installed, by app.
fn reasons(versions: &Versions) -> BTreeMap<String, String> {
    let failed = versions.failed().iter();
    failed.map(|one| (one.app.clone(), one.reason.clone())).collect()
}

/// Why a version could not be prepared.
#[derive(Debug)]
enum Refused {
    /// A retry may succeed.
    Later(String),
    /// The version is invalid.
    Wrong(String),
}

fn text(error: impl std::fmt::Display) -> String {
    error.to_string()
}

fn escaped(byte: u8) -> String {
    match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => {
            char::from(byte).to_string()
        }
        _ => format!("%{byte:02X}"),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
