//! The messages between a forwarder and the deployment server, as JSON.
//!
//! ```text
//! POST /services/broker/phonehome                         PhoneHome, signed "phonehome"
//!   200                                                   Answer, signed "answer"
//! GET /services/streams/deployment?name=APP&checksum=SUM  signed "download" (DownloadRequest)
//!   200                                                   tar.gz
//! ```
//!
//! The protocol is Karst's own: that of Splunk's forwarders is not public.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::Error;
use crate::checksum::is_checksum;
use crate::repository::is_app_name;

/// The version of the messages.
pub const VERSION: u32 = 1;
/// Maximum length in bytes of a name sent by a forwarder.
const MAX_NAME: usize = 256;
/// Maximum length in bytes of a failure reason; longer ones are truncated.
const MAX_REASON: usize = 1_000;
/// Maximum number of apps in a message.
const MAX_APPS: usize = 1_000;

/// The purposes of signatures: a signature for one is not valid for another.
pub(crate) const PHONE_HOME: &str = "phonehome";
pub(crate) const ANSWER: &str = "answer";
const DOWNLOAD: &str = "download";

/// An app that a forwarder got from its deployment server.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct InstalledApp {
    /// Its name.
    pub name: String,
    /// The checksum of its version.
    pub checksum: String,
}

/// A version of an app that a forwarder could not install.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The app.
    pub app: String,
    /// The checksum of the version.
    pub checksum: String,
    /// The reason; the previous version stays in force.
    pub reason: String,
}

/// The message of a forwarder that phones home.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct PhoneHome {
    /// [`VERSION`] of the forwarder.
    pub version: u32,
    /// Seconds of Unix time.
    pub time: u64,
    /// A random number of this message, which the answer repeats.
    pub nonce: String,
    /// The identity of the forwarder.
    pub guid: String,
    /// `clientName` of its `deploymentclient.conf`.
    pub client_name: String,
    /// The name of its machine.
    pub hostname: String,
    /// Its machine type, such as `linux-x86_64`.
    pub utsname: String,
    /// Its version.
    pub build: String,
    /// The installed apps of the deployment server.
    pub apps: Vec<InstalledApp>,
    /// The versions that it could not install.
    #[serde(default)]
    pub failed: Vec<Outcome>,
}

impl PhoneHome {
    /// Parses a message and checks its limits.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, Error> {
        let wrong = |reason: String| Error::Request(reason);
        let mut message: Self =
            serde_json::from_slice(body).map_err(|error| wrong(error.to_string()))?;
        if message.version != VERSION {
            let theirs = message.version;
            let text = format!("it has version {theirs}, and this server takes {VERSION}");
            return Err(wrong(text));
        }
        let names = [
            ("guid", &message.guid),
            ("clientName", &message.client_name),
            ("hostname", &message.hostname),
            ("utsname", &message.utsname),
            ("build", &message.build),
            ("nonce", &message.nonce),
        ];
        for (field, name) in names {
            let is_missing = name.is_empty() && ["guid", "nonce"].contains(&field);
            if is_missing || name.len() > MAX_NAME || name.chars().any(char::is_control) {
                let text = format!("{field} has to be a text of at most {MAX_NAME} bytes");
                return Err(wrong(text));
            }
        }
        if message.apps.len() > MAX_APPS || message.failed.len() > MAX_APPS {
            return Err(wrong(format!("it names more than {MAX_APPS} apps")));
        }
        let versions = message.apps.iter().map(|app| (&app.name, &app.checksum));
        let failed = message.failed.iter().map(|one| (&one.app, &one.checksum));
        for (name, checksum) in versions.chain(failed) {
            if !is_app_name(name) || !is_checksum(checksum) {
                return Err(wrong(format!("\"{name}\" is not an app with a checksum")));
            }
        }
        for outcome in &mut message.failed {
            let end = (0..=MAX_REASON.min(outcome.reason.len()))
                .rev()
                .find(|end| outcome.reason.is_char_boundary(*end));
            outcome.reason.truncate(end.unwrap_or(0));
        }
        Ok(message)
    }
}

/// An app assigned to a forwarder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct WantedApp {
    /// Its name.
    pub name: String,
    /// The checksum of its version. `None` if the server cannot distribute the app now: the forwarder keeps
    /// its installed version.
    pub checksum: Option<String>,
    /// Size of its files in bytes.
    pub bytes: u64,
    /// Number of its files.
    pub files: usize,
    /// Whether the process restarts after the app has changed.
    pub restart_splunkd: bool,
    /// Top-level files and directories of the app that an update does not change.
    pub exclude_from_update: Vec<String>,
    /// The server classes that assign it.
    pub server_classes: Vec<String>,
}

/// The answer to a forwarder.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Answer {
    /// [`VERSION`] of the server.
    pub version: u32,
    /// The number of the forwarder's message.
    pub nonce: String,
    /// The name of the server.
    pub server_name: String,
    /// All assigned apps; the forwarder removes other apps of this server.
    pub apps: Vec<WantedApp>,
}

impl PhoneHome {
    /// The message as JSON, and its proof.
    ///
    /// # Errors
    /// If the message cannot be written as JSON.
    pub fn signed(&self, key: &crate::Key) -> Result<(Vec<u8>, String), Error> {
        let body = serde_json::to_vec(self).map_err(|error| Error::Request(error.to_string()))?;
        let proof = key.sign(PHONE_HOME, &body);
        Ok((body, proof))
    }
}

impl Answer {
    /// Parses and verifies the answer to a message.
    ///
    /// # Errors
    /// If the answer is not signed with the key, or belongs to another message.
    pub fn verified(
        body: &[u8],
        proof: &str,
        nonce: &str,
        key: &crate::Key,
    ) -> Result<Self, Error> {
        if !key.verify(ANSWER, body, proof) {
            return Err(Error::Proof);
        }
        let answer: Self =
            serde_json::from_slice(body).map_err(|error| Error::Request(error.to_string()))?;
        if answer.nonce != nonce {
            return Err(Error::Request("it is the answer to another request".to_owned()));
        }
        let is_sound = |app: &WantedApp| {
            is_app_name(&app.name)
                && app.checksum.as_deref().is_none_or(is_checksum)
                && app.exclude_from_update.iter().all(|path| is_app_name(path))
        };
        match answer.apps.iter().find(|app| !is_sound(app)) {
            None => Ok(answer),
            Some(app) => {
                Err(Error::Request(format!("\"{}\" is not an app with a checksum", app.name)))
            }
        }
    }
}

/// The version of an app to be downloaded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DownloadRequest {
    /// The app.
    pub app: String,
    /// The checksum of the version.
    pub checksum: String,
    /// Seconds of Unix time.
    pub time: u64,
}

impl DownloadRequest {
    fn text(&self) -> String {
        format!("{}\n{}\n{}", self.app, self.checksum, self.time)
    }

    /// The proof of the request.
    #[must_use]
    pub fn sign(&self, key: &crate::Key) -> String {
        key.sign(DOWNLOAD, self.text().as_bytes())
    }

    pub(crate) fn is_proved(&self, key: &crate::Key, proof: &str) -> bool {
        key.verify(DOWNLOAD, self.text().as_bytes(), proof)
    }
}

/// The changes that a forwarder has to make.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Work {
    /// Apps that are not installed.
    pub install: Vec<WantedApp>,
    /// Apps that are installed in another version.
    pub update: Vec<WantedApp>,
    /// Installed apps that are no longer assigned.
    pub remove: Vec<String>,
}

impl Work {
    /// Whether there is nothing to do.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.install.is_empty() && self.update.is_empty() && self.remove.is_empty()
    }
}

/// Compares the installed apps (checksums by name) with the assigned ones.
#[must_use]
pub fn work(installed: &BTreeMap<String, String>, wanted: &[WantedApp]) -> Work {
    let mut work = Work::default();
    for app in wanted {
        let Some(checksum) = &app.checksum else { continue };
        match installed.get(&app.name) {
            None => work.install.push(app.clone()),
            Some(known) if known != checksum => work.update.push(app.clone()),
            Some(_) => {}
        }
    }
    let stays = |name: &&String| wanted.iter().any(|app| app.name == **name);
    work.remove = installed.keys().filter(|name| !stays(name)).cloned().collect();
    work
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::Key;

    fn sum(digit: char) -> String {
        String::from(digit).repeat(64)
    }

    fn wanted(name: &str, checksum: Option<String>) -> WantedApp {
        WantedApp {
            name: name.to_owned(),
            checksum,
            bytes: 1,
            files: 1,
            restart_splunkd: false,
            exclude_from_update: Vec::new(),
            server_classes: Vec::new(),
        }
    }

    fn message() -> PhoneHome {
        PhoneHome {
            version: VERSION,
            guid: "g".to_owned(),
            nonce: "n".to_owned(),
            ..PhoneHome::default()
        }
    }

    #[test]
    fn work_is_what_is_missing_changed_and_not_wanted() {
        let installed = [("same", 'a'), ("changed", 'a'), ("gone", 'a'), ("kept", 'a')];
        let installed = installed.map(|(name, digit)| (name.to_owned(), sum(digit)));
        let all = [
            wanted("same", Some(sum('a'))),
            wanted("changed", Some(sum('b'))),
            wanted("new", Some(sum('c'))),
            wanted("kept", None),
            wanted("unknown", None),
        ];
        let work = work(&installed.into(), &all);
        let names =
            |apps: &[WantedApp]| apps.iter().map(|app| app.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&work.install), ["new"]);
        assert_eq!(names(&work.update), ["changed"]);
        assert_eq!(work.remove, ["gone"]);
        assert!(!work.is_empty() && super::work(&BTreeMap::new(), &[]).is_empty());
    }

    #[test]
    fn messages_have_limits() {
        let parsed = |message: &PhoneHome| PhoneHome::parse(&serde_json::to_vec(message).unwrap());
        assert_eq!(parsed(&message()).unwrap(), message());
        let app = InstalledApp { name: "../x".to_owned(), checksum: sum('a') };
        let long = Outcome { app: "a".to_owned(), checksum: sum('a'), reason: "ä".repeat(900) };
        for (wrong, part) in [
            (PhoneHome { version: 2, ..message() }, "version 2"),
            (PhoneHome { guid: String::new(), ..message() }, "guid has to be"),
            (PhoneHome { hostname: "x".repeat(300), ..message() }, "hostname has to be"),
            (PhoneHome { client_name: "a\nb".to_owned(), ..message() }, "clientName has to be"),
            (PhoneHome { apps: vec![app], ..message() }, "\"../x\" is not an app"),
            (PhoneHome { failed: vec![long.clone(); 1_001], ..message() }, "more than 1000 apps"),
        ] {
            let error = parsed(&wrong).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
        assert!(PhoneHome::parse(b"{").unwrap_err().to_string().contains("EOF"));
        let cut = parsed(&PhoneHome { failed: vec![long], ..message() }).unwrap();
        assert_eq!(cut.failed[0].reason.len(), 1_000);
    }

    #[test]
    fn an_answer_is_of_the_server_and_to_the_message() {
        let key = Key::of("secret").unwrap();
        let answer = |apps: Vec<WantedApp>| {
            let answer = Answer {
                version: VERSION,
                nonce: "n".to_owned(),
                server_name: "s".to_owned(),
                apps,
            };
            let body = serde_json::to_vec(&answer).unwrap();
            let proof = key.sign(ANSWER, &body);
            (body, proof)
        };
        let (body, proof) = answer(vec![wanted("a", Some(sum('a')))]);
        assert_eq!(Answer::verified(&body, &proof, "n", &key).unwrap().apps.len(), 1);
        let said = |result: Result<Answer, Error>| result.unwrap_err().to_string();
        assert!(said(Answer::verified(&body, &proof, "m", &key)).contains("another request"));
        let other = Key::of("other").unwrap();
        assert!(said(Answer::verified(&body, &proof, "n", &other)).contains("not signed"));
        let replayed = key.sign(PHONE_HOME, &body);
        assert!(said(Answer::verified(&body, &replayed, "n", &key)).contains("not signed"));
        let (body, proof) = answer(vec![wanted("../a", Some(sum('a')))]);
        assert!(said(Answer::verified(&body, &proof, "n", &key)).contains("is not an app"));
    }
}
