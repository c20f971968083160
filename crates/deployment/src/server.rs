//! The deployment server of a process: the current rules and apps, and the answers to forwarders.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::net::IpAddr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use conf::{Layers, Warning};
use parking_lot::{Mutex, RwLock};

use crate::archive::Limits;
use crate::classes::{ALL, Assigned, Facts, ServerClasses, StateOnClient};
use crate::clients::{Client, Clients, Counts, apps_of};
use crate::error::Error;
use crate::messages::{ANSWER, Answer, DownloadRequest, PHONE_HOME, PhoneHome, VERSION, WantedApp};
use crate::proof::Key;
use crate::repository::{Content, Repository, archive, clean_up, fingerprint};
use crate::settings::Settings;

/// The default directory of apps, below the configuration directory.
const APPS: &str = "deployment-apps";
/// Prefixes of `repositoryLocation` that mean the configuration directory.
const ETC: [&str; 2] = ["$SPLUNK_HOME/etc/", "etc/"];

/// The arguments of a deployment server.
#[derive(Debug)]
pub struct Parts {
    /// The configuration directory, which is read with each reload.
    pub conf_dir: Option<PathBuf>,
    /// The configuration of a process without a configuration directory.
    pub layers: Layers,
    /// A directory of its own for archives.
    pub work: PathBuf,
    /// The token that forwarders send to indexers; used as the key if no other is set.
    pub token: Option<String>,
    /// The name of the server.
    pub server_name: String,
}

/// The rules and apps that were read last.
#[derive(Debug, Clone)]
struct Rules {
    classes: Arc<ServerClasses>,
    repositories: BTreeMap<PathBuf, Repository>,
    settings: Settings,
    key: Option<Key>,
    /// Seconds of Unix time.
    loaded: i64,
}

#[derive(Debug, Default)]
struct State {
    rules: Option<Arc<Rules>>,
    error: Option<String>,
    warnings: Vec<Warning>,
}

/// The fingerprints of the files at the last checks.
#[derive(Debug, Default)]
struct Looked {
    loaded: Option<u64>,
    pending: Option<u64>,
}

/// See the module.
#[derive(Debug)]
pub struct DeploymentServer {
    parts: Parts,
    state: RwLock<State>,
    clients: Mutex<Clients>,
    downloads: Arc<AtomicUsize>,
    /// Held while files are read, so that one reload runs at a time.
    reading: Mutex<Looked>,
}

/// The state of the server, for display.
#[derive(Debug, Clone)]
pub struct View {
    /// Whether apps are distributed.
    pub enabled: bool,
    /// The server classes.
    pub classes: Arc<ServerClasses>,
    /// The apps by name, each with the classes that have it.
    pub apps: BTreeMap<String, (crate::KnownApp, Vec<String>)>,
    /// The directories of the apps.
    pub repositories: Vec<PathBuf>,
    /// Time of reading, in seconds of Unix time.
    pub loaded: i64,
    /// Why the last reload failed; the rest of the view is from before it.
    pub error: Option<String>,
    /// Warnings about settings without effect.
    pub warnings: Vec<String>,
}

/// An archive to be sent; counts as a download until it is dropped.
#[derive(Debug)]
pub struct Download {
    /// The archive.
    pub path: PathBuf,
    /// Its size in bytes.
    pub bytes: u64,
    _permit: DownloadPermit,
}

#[derive(Debug)]
struct DownloadPermit(Arc<AtomicUsize>);

impl Drop for DownloadPermit {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Rules {
    fn repository(&self, parts: &Parts, own: Option<&str>) -> Option<&Repository> {
        self.repositories.get(&directory_of(parts, own))
    }

    /// The apps assigned to a forwarder, each with its content if it can be distributed.
    fn assigned(&self, parts: &Parts, facts: &Facts) -> Vec<(Assigned, Option<Content>)> {
        let names = |own: Option<&str>| {
            let apps = self.repository(parts, own).map(|one| one.apps.keys().cloned().collect());
            apps.unwrap_or_default()
        };
        let content = |app: Assigned| {
            let repository = self.repository(parts, app.repository.as_deref());
            let known = repository.and_then(|repository| repository.apps.get(&app.app));
            let content = known.and_then(|known| known.content.clone().ok());
            (app, content)
        };
        self.classes.assigned(facts, names).into_iter().map(content).collect()
    }
}

/// The directory that `repositoryLocation` names.
fn directory_of(parts: &Parts, own: Option<&str>) -> PathBuf {
    let base = parts.conf_dir.as_deref().unwrap_or(&parts.work);
    let Some(own) = own else { return base.join(APPS) };
    let inside = ETC.iter().find_map(|begin| own.strip_prefix(begin));
    base.join(inside.unwrap_or(own))
}

impl DeploymentServer {
    /// A server without any rules yet.
    #[must_use]
    pub fn new(parts: Parts) -> Self {
        Self {
            parts,
            state: RwLock::default(),
            clients: Mutex::default(),
            downloads: Arc::default(),
            reading: Mutex::default(),
        }
    }

    /// Reads rules and apps again. If that fails, the previous ones stay in force.
    ///
    /// # Errors
    /// The error, with file and line.
    pub fn reload(&self, now: i64) -> Result<(), Error> {
        self.read_as_seen(&mut self.reading.lock(), now)
    }

    fn read_as_seen(&self, looked: &mut Looked, now: i64) -> Result<(), Error> {
        let directories = || {
            let state = self.state.read();
            let rules = state.rules.as_ref();
            rules.map(|rules| rules.repositories.keys().cloned().collect::<Vec<_>>())
        };
        let before = directories();
        // The fingerprint is taken before reading, so that changes during the reading cause another reload.
        *looked = Looked { loaded: Some(self.fingerprint()), pending: None };
        self.read(now)?;
        if directories() == before {
            return Ok(());
        }
        // The first fingerprint did not cover new directories of apps. Reads again; unchanged apps are
        // skipped.
        looked.loaded = Some(self.fingerprint());
        self.read(now)
    }

    fn read(&self, now: i64) -> Result<(), Error> {
        let before = self.state.read().rules.clone();
        let read = read(&self.parts, before.as_deref(), now);
        let mut state = self.state.write();
        match read {
            Ok((rules, warnings)) => {
                *state = State { rules: Some(Arc::new(rules)), error: None, warnings };
                Ok(())
            }
            Err(error) => {
                state.error = Some(error.to_string());
                Err(error)
            }
        }
    }

    /// Checks whether files have changed, and reloads them once they have not changed between two checks,
    /// because an app may still be being copied. `None` if nothing was read.
    pub fn look(&self, now: i64) -> Option<Result<(), Error>> {
        let seen = self.fingerprint();
        let mut looked = self.reading.lock();
        if looked.loaded == Some(seen) {
            looked.pending = None;
            return None;
        }
        if looked.pending != Some(seen) {
            looked.pending = Some(seen);
            return None;
        }
        Some(self.read_as_seen(&mut looked, now))
    }

    /// Interval between checks; `None` for no checks.
    #[must_use]
    pub fn check_interval(&self) -> Option<Duration> {
        let state = self.state.read();
        // An invalid configuration is checked regularly, because it may get corrected.
        let Some(rules) = &state.rules else { return Some(Duration::from_secs(10)) };
        Some(rules.classes.check).filter(|check| !check.is_zero())
    }

    /// The fingerprint of all files that a reload would read.
    fn fingerprint(&self) -> u64 {
        let Some(conf) = &self.parts.conf_dir else { return 0 };
        let mut paths: BTreeSet<PathBuf> = BTreeSet::new();
        for file in ["app.conf", "serverclass.conf", "server.conf"] {
            paths.insert(conf.join("system/local").join(file));
            for app in fs::read_dir(conf.join("apps")).into_iter().flatten().flatten() {
                let folders = ["local", "default"];
                paths.extend(folders.map(|folder| app.path().join(folder).join(file)));
            }
        }
        if let Some(rules) = &self.state.read().rules {
            paths.extend(rules.repositories.keys().cloned());
        }
        let of = |seen: u64, path: &PathBuf| seen.rotate_left(7) ^ fingerprint(path);
        paths.iter().filter(|path| path.exists()).fold(0, of)
    }

    /// Maximum size of a message in bytes.
    #[must_use]
    pub fn max_message(&self) -> usize {
        let state = self.state.read();
        let settings = state.rules.as_ref().map(|rules| rules.settings.max_phone_home_bytes);
        settings.unwrap_or_else(|| Settings::default().max_phone_home_bytes)
    }

    fn open(&self) -> Result<(Arc<Rules>, Key), Error> {
        let rules = self.state.read().rules.clone().ok_or(Error::Unusable)?;
        if rules.classes.is_off() {
            return Err(Error::NotSetUp);
        }
        let key = rules.key.clone().ok_or(Error::NoKey)?;
        Ok((rules, key))
    }

    /// Answers a forwarder. Returns the answer and its proof. `now` is in seconds of Unix time.
    ///
    /// # Errors
    /// If the server distributes no apps, or the message is not from a forwarder with the key. The
    /// forwarder keeps its apps.
    pub fn phone_home(
        &self,
        body: &[u8],
        proof: &str,
        ip: Option<IpAddr>,
        now: u64,
    ) -> Result<(Vec<u8>, String), Error> {
        let (rules, key) = self.open()?;
        if !key.verify(PHONE_HOME, body, proof) {
            return Err(Error::Proof);
        }
        let message = PhoneHome::parse(body)?;
        check_time(message.time, now, rules.settings.clock_difference)?;
        let facts = Facts {
            client_name: message.client_name.clone(),
            hostname: message.hostname.clone(),
            ip: ip.map(|ip| ip.to_canonical().to_string()).unwrap_or_default(),
            guid: message.guid.clone(),
            utsname: message.utsname.clone(),
        };
        let mut assigned = rules.assigned(&self.parts, &facts);
        assigned.retain(|(app, _)| app.state != StateOnClient::Disabled);
        let wanted = |(app, content): &(Assigned, Option<Content>)| WantedApp {
            name: app.app.clone(),
            checksum: content.as_ref().map(|content| content.checksum.clone()),
            bytes: content.as_ref().map_or(0, |content| content.bytes),
            files: content.as_ref().map_or(0, |content| content.files),
            restart_splunkd: app.restart,
            exclude_from_update: app.exclude.clone(),
            server_classes: app.classes.clone(),
        };
        let answer = Answer {
            version: VERSION,
            nonce: message.nonce.clone(),
            server_name: self.parts.server_name.clone(),
            apps: assigned.iter().map(wanted).collect(),
        };
        let text =
            serde_json::to_vec(&answer).map_err(|error| Error::Request(error.to_string()))?;
        let classes = rules.classes.classes_of(&facts);
        let versions: Vec<_> = assigned
            .into_iter()
            .map(|(app, content)| (app, content.map(|one| (one.checksum, one.bytes))))
            .collect();
        let client = Client {
            classes: classes.iter().map(|class| class.name.clone()).collect(),
            apps: apps_of(&message, &versions),
            build: message.build,
            facts,
            first: now,
            last: now,
            calls: 0,
        };
        self.clients.lock().note(client, rules.settings.max_clients);
        let proof = key.sign(ANSWER, &text);
        Ok((text, proof))
    }

    /// The archive of one version of an app.
    ///
    /// # Errors
    /// As [`Self::phone_home`]; also if there is no such version, or there are too many downloads.
    pub fn download(
        &self,
        request: &DownloadRequest,
        proof: &str,
        now: u64,
    ) -> Result<Download, Error> {
        let (rules, key) = self.open()?;
        if !request.is_proved(&key, proof) {
            return Err(Error::Proof);
        }
        check_time(request.time, now, rules.settings.clock_difference)?;
        let has = |repository: &Repository| {
            let content = repository.apps.get(&request.app).map(|app| &app.content);
            content.is_some_and(|content| {
                content.as_ref().is_ok_and(|content| content.checksum == request.checksum)
            })
        };
        if !rules.repositories.values().any(has) {
            return Err(Error::Absent(request.app.clone()));
        }
        let most = rules.classes.max_downloads;
        let permit = DownloadPermit(Arc::clone(&self.downloads));
        if permit.0.fetch_add(1, Ordering::Relaxed) >= most {
            return Err(Error::Busy(most));
        }
        let path = archive(&self.archives(), &request.checksum);
        let metadata = fs::metadata(&path).map_err(Error::file("read", &path))?;
        Ok(Download { path, bytes: metadata.len(), _permit: permit })
    }

    fn archives(&self) -> PathBuf {
        archives(&self.parts.work)
    }

    /// The forwarders that have phoned home.
    #[must_use]
    pub fn clients(&self) -> Vec<Client> {
        self.clients.lock().all()
    }

    /// Counts the forwarders by state.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.clients.lock().counts()
    }

    /// A forwarder by its identity.
    #[must_use]
    pub fn client(&self, guid: &str) -> Option<Client> {
        self.clients.lock().get(guid)
    }

    /// Removes a forwarder from the list until it phones home again; false if it is not listed.
    pub fn forget(&self, guid: &str) -> bool {
        self.clients.lock().forget(guid)
    }

    /// Number of running downloads.
    #[must_use]
    pub fn downloads(&self) -> usize {
        self.downloads.load(Ordering::Relaxed)
    }

    /// The state for display; `None` if nothing could be read yet.
    #[must_use]
    pub fn view(&self) -> Option<View> {
        let state = self.state.read();
        let rules = state.rules.as_ref()?;
        let mut apps = BTreeMap::new();
        for (directory, repository) in &rules.repositories {
            for (name, app) in &repository.apps {
                let has = |class: &&crate::ClassRule| {
                    let names = |rule: &crate::AppRule| rule.app == *name || rule.app == ALL;
                    directory_of(&self.parts, class.repository.as_deref()) == *directory
                        && class.apps.iter().any(names)
                };
                let classes = rules.classes.classes.iter().filter(has);
                let classes = classes.map(|class| class.name.clone()).collect();
                apps.entry(name.clone()).or_insert_with(|| (app.clone(), classes));
            }
        }
        Some(View {
            enabled: !rules.classes.is_off() && rules.key.is_some(),
            classes: Arc::clone(&rules.classes),
            apps,
            repositories: rules.repositories.keys().cloned().collect(),
            loaded: rules.loaded,
            error: state.error.clone(),
            warnings: state.warnings.iter().map(ToString::to_string).collect(),
        })
    }

    /// Why the last reload failed.
    #[must_use]
    pub fn error(&self) -> Option<String> {
        self.state.read().error.clone()
    }

    /// Warnings for the log after a reload: settings without effect, missing or undistributable apps, and a
    /// missing key.
    #[must_use]
    pub fn remarks(&self) -> Vec<String> {
        let state = self.state.read();
        let Some(rules) = &state.rules else { return Vec::new() };
        let mut remarks: Vec<String> = state.warnings.iter().map(ToString::to_string).collect();
        if rules.classes.is_off() {
            return remarks;
        }
        if rules.key.is_none() {
            remarks.push(Error::NoKey.to_string());
        }
        for class in &rules.classes.classes {
            let directory = directory_of(&self.parts, class.repository.as_deref());
            let repository = rules.repositories.get(&directory);
            for rule in class.apps.iter().filter(|rule| rule.app != ALL) {
                let known = repository.and_then(|repository| repository.apps.get(&rule.app));
                let reason = match known.map(|known| &known.content) {
                    Some(Ok(_)) => continue,
                    Some(Err(reason)) => reason.clone(),
                    None => {
                        format!("there is no directory {}", directory.join(&rule.app).display())
                    }
                };
                remarks.push(format!(
                    "the app {} of the server class {} is not distributed: {reason}",
                    rule.app, class.name
                ));
            }
        }
        remarks
    }
}

fn archives(work: &Path) -> PathBuf {
    work.join("archives")
}

pub(crate) fn check_time(theirs: u64, ours: u64, most: Duration) -> Result<(), Error> {
    let seconds = theirs.abs_diff(ours);
    if seconds > most.as_secs() { Err(Error::Clock { seconds }) } else { Ok(()) }
}

fn read(parts: &Parts, before: Option<&Rules>, now: i64) -> Result<(Rules, Vec<Warning>), Error> {
    let layers = match &parts.conf_dir {
        Some(directory) => Layers::read(directory)?.without_disabled(),
        None => parts.layers.clone(),
    };
    let settings = Settings::read(&layers)?;
    let key = Key::read(&layers, parts.token.as_deref())?;
    let (classes, warnings) = ServerClasses::read(&layers)?;
    let mut repositories = BTreeMap::new();
    if !classes.is_off() {
        let limits = Limits { bytes: settings.max_app_bytes, files: settings.max_app_files };
        let own = classes.classes.iter().map(|class| class.repository.as_deref());
        let all: BTreeSet<Option<&str>> = own.chain([classes.repository.as_deref()]).collect();
        for own in all {
            let directory = directory_of(parts, own);
            let known = before.and_then(|before| before.repositories.get(&directory));
            let work = archives(&parts.work);
            let wants_all = |class: &crate::ClassRule| {
                directory_of(parts, class.repository.as_deref()) == directory
                    && class.apps.iter().any(|rule| rule.app == ALL)
            };
            let limits = (limits, classes.classes.iter().any(wants_all));
            let read = Repository::read(&directory, &work, known, limits, now)?;
            repositories.insert(directory, read);
        }
        let has = |repository: &Repository, sum: &str| {
            let mut contents = repository.apps.values().filter_map(|app| app.content.as_ref().ok());
            contents.any(|content| content.checksum == sum)
        };
        // Forwarders may have been told of previous versions and not have downloaded them yet.
        let old = before.map(|before| &before.repositories);
        let known = || repositories.values().chain(old.into_iter().flat_map(BTreeMap::values));
        clean_up(&archives(&parts.work), |sum| known().any(|one| has(one, sum)));
    }
    let classes = Arc::new(classes);
    Ok((Rules { classes, repositories, settings, key, loaded: now }, warnings))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
