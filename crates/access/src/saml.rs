//! SAML: the settings of the identity provider, and the logins under way.
//!
//! The crate `saml` creates and verifies the messages. This module adds files, the clock, randomness, and the
//! state of pending requests and used assertions. The state is in memory: a login that began before a restart
//! has to begin again.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use std::{fs, io};

use ::saml::{
    Certificate, Console, Expected, PendingLogins, SigningKey, Subject, UsedAssertions, request,
    response,
};
use parking_lot::Mutex;
use runtime::Clock;

use crate::external::{ExternalUser, LoginRequest, RoleMap, random_bytes, random_text};
use crate::settings;
use crate::stanza::Stanza;
use crate::{AtProvider, Error};

pub use ::saml::ACS_PATH;

/// Files of a directory of certificates, at most.
const MAX_CERTIFICATE_FILES: usize = 64;
/// Bytes of a file with certificates or a key, at most.
const MAX_FILE_BYTES: u64 = 1 << 20;

/// Settings of a provider: a stanza of authentication.conf.
#[derive(Debug, Clone, PartialEq)]
pub struct SamlSettings {
    /// Name of the stanza.
    pub name: String,
    /// `displayName`.
    pub display_name: String,
    /// Roles by group.
    pub roles: RoleMap,
    /// The settings for creating and verifying messages.
    pub messages: ::saml::Settings,
    /// `idpCertPath`, its contents.
    certificates: Vec<Certificate>,
    /// `clientCert`, its contents.
    key: Option<Arc<SigningKey>>,
}

impl SamlSettings {
    pub(crate) fn read(stanza: &Stanza<'_>, console: &Console) -> Result<Self, Error> {
        let attributes = stanza.companion("authenticationResponseAttrMap", "SAML");
        let attributes = Stanza { conf: stanza.conf, name: &attributes };
        let messages = ::saml::Settings::read(stanza.reader(), attributes.reader(), console)?;
        let key = messages.client_cert.as_ref().map(|path| {
            let pem = read_file(Path::new(path)).map_err(|error| error.to_string());
            let key = pem.and_then(|pem| SigningKey::from_pem(&pem).map_err(|e| e.to_string()));
            key.map(Arc::new).map_err(|reason| {
                let expected = format!("a PEM file with an RSA key ({reason})");
                ::saml::Settings::unusable_key(stanza.reader(), expected)
            })
        });
        let certificates = certificates(Path::new(&messages.certificates)).map_err(|reason| {
            let expected =
                format!("a PEM file with certificates or a directory of them ({reason})");
            ::saml::Settings::unusable_certificates(stanza.reader(), expected)
        })?;
        Ok(Self {
            name: stanza.name.to_owned(),
            display_name: stanza.get(&settings::DISPLAY_NAME)?,
            roles: RoleMap::read(stanza, "SAML")?,
            certificates,
            key: key.transpose()?,
            messages,
        })
    }
}

fn certificates(path: &Path) -> Result<Vec<Certificate>, String> {
    let failed =
        |path: &Path, reason: &dyn std::fmt::Display| format!("{}: {reason}", path.display());
    let mut found = Vec::new();
    for file in certificate_files(path).map_err(|error| failed(path, &error))? {
        let pem = read_file(&file).map_err(|error| failed(&file, &error))?;
        found.extend(Certificate::from_pem(&pem).map_err(|error| failed(&file, &error))?);
    }
    if found.is_empty() {
        return Err(failed(path, &"no file that ends in .pem, .crt or .cer"));
    }
    Ok(found)
}

/// Returns the file, or all files in the directory and its subdirectories: Splunk has one per chain.
fn certificate_files(path: &Path) -> io::Result<Vec<PathBuf>> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let (mut files, mut directories) = (Vec::new(), vec![path.to_owned()]);
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(directory)? {
            let entry = entry?;
            let path = entry.path();
            let extension = path.extension().and_then(|text| text.to_str()).unwrap_or_default();
            // Links to directories are not followed, because they may form a cycle.
            if entry.file_type()?.is_dir() {
                directories.push(path);
            } else if matches!(extension, "pem" | "crt" | "cer") {
                files.push(path);
            }
        }
        if files.len() + directories.len() > MAX_CERTIFICATE_FILES {
            return Err(io::Error::other(format!("more than {MAX_CERTIFICATE_FILES} files")));
        }
    }
    files.sort();
    Ok(files)
}

fn read_file(path: &Path) -> io::Result<Vec<u8>> {
    if fs::metadata(path)?.len() > MAX_FILE_BYTES {
        return Err(io::Error::other("a file of more than 1 MiB"));
    }
    fs::read(path)
}

/// A provider, with its pending logins.
#[derive(Debug)]
pub struct SamlProvider {
    settings: SamlSettings,
    clock: Arc<dyn Clock>,
    known: Mutex<Known>,
}

#[derive(Debug, Default)]
struct Known {
    pending: PendingLogins,
    used: UsedAssertions,
}

impl SamlProvider {
    pub(crate) fn new(settings: SamlSettings, clock: Arc<dyn Clock>) -> Self {
        Self { settings, clock, known: Mutex::default() }
    }

    /// The settings.
    #[must_use]
    pub fn settings(&self) -> &SamlSettings {
        &self.settings
    }

    /// The metadata of this service provider, an XML document.
    #[must_use]
    pub fn metadata(&self) -> String {
        ::saml::metadata(&self.settings.messages, self.settings.key.as_deref())
    }

    /// Starts a login.
    ///
    /// # Errors
    /// If the request cannot be signed.
    pub fn begin(&self) -> Result<LoginRequest, Error> {
        let (state, entropy, now) = (random_text(), random_bytes(), self.now());
        let Self { settings: SamlSettings { messages, key, .. }, .. } = self;
        let sent = request::login(messages, key.as_deref(), entropy, &state, now);
        let sent = sent.map_err(|error| self.refused(error))?;
        self.known.lock().pending.sent(&state, &sent.id, now);
        Ok(LoginRequest { url: sent.url, state })
    }

    /// Accepts the provider's response, the form fields `RelayState` and `SAMLResponse`. This does not log in
    /// anybody: the browser that began the login has to fetch the user.
    ///
    /// # Errors
    /// If the login was not started here, or the response is invalid.
    pub fn accept(&self, state: &str, form_field: &str) -> Result<(), Error> {
        let now = self.now();
        let request_id = self.known.lock().pending.request_of(state, now).ok_or_else(|| {
            self.refused("this login did not begin here, was answered before, or took too long")
        })?;
        let expected = Expected { request_id: &request_id, now };
        let SamlSettings { messages, certificates, .. } = &self.settings;
        let login = response::login(messages, certificates, form_field, expected);
        let login = login.map_err(|error| self.refused(error))?;
        let mut known = self.known.lock();
        known.used.accept(&login, now).map_err(|error| self.refused(error))?;
        known.pending.answered(state, login, now);
        Ok(())
    }

    /// Completes a login of the browser with this state; returns the user, once.
    ///
    /// # Errors
    /// If no valid response came with this state within the last minute.
    pub fn finish(&self, state: &str) -> Result<(ExternalUser, AtProvider), Error> {
        let now = self.now();
        let login = self.known.lock().pending.finish(state, now);
        let login = login.ok_or_else(|| {
            self.refused("the login began in another browser, or its response is too old")
        })?;
        let left = |end: i64| Duration::from_secs(end.saturating_sub(now).max(0) as u64);
        let at = AtProvider { ends_in: login.session_end.map(left), subject: Some(login.subject) };
        let name = at.subject.as_ref().map(|subject| subject.name_id.to_lowercase());
        let user = ExternalUser {
            name: name.unwrap_or_default(),
            realname: login.real_name.unwrap_or_default(),
            email: login.mail.unwrap_or_default(),
            groups: login.groups,
            provider: self.settings.name.clone(),
            since: now,
        };
        Ok((user, at))
    }

    /// Returns the URL that a browser is sent to after a logout: `idpSLOUrl`, to end the session at the
    /// provider, or `redirectAfterLogoutToUrl`.
    ///
    /// # Errors
    /// If the request cannot be signed.
    pub fn logout_url(&self, subject: &Subject) -> Result<Option<String>, Error> {
        let SamlSettings { messages, key, .. } = &self.settings;
        let sent = request::logout(messages, key.as_deref(), random_bytes(), subject, self.now());
        let sent = sent.map_err(|error| self.refused(error))?;
        Ok(sent.map(|sent| sent.url).or_else(|| messages.logout_url.clone()))
    }

    fn now(&self) -> i64 {
        self.clock.now().0 / 1_000_000
    }

    fn refused(&self, reason: impl ToString) -> Error {
        Error::Provider { name: self.settings.name.clone(), reason: reason.to_string() }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use conf::{Layer, Layers};

    const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../saml/tests/fixtures");

    fn settings(more: &str) -> Result<SamlSettings, String> {
        let conf = format!(
            "[corp]\nentityId = karst\nissuerId = https://idp\nidpSSOUrl = https://idp/sso\n\
             idpCertPath = {FIXTURES}/idp.pem\n{more}"
        );
        let layers = Layers::builtin().with(Layer::SystemLocal, "authentication", &conf);
        let conf = layers.effective("authentication");
        let console = Console { host: "karst.example.org".to_owned(), port: 8000, tls: true };
        SamlSettings::read(&Stanza { conf: &conf, name: "corp" }, &console)
            .map_err(|error| error.to_string())
    }

    #[test]
    fn the_maps_have_the_strategys_name_or_splunks() {
        let splunk =
            "[roleMap_SAML]\npower = ops;wheel\n[authenticationResponseAttrMap_SAML]\nmail = m";
        let own = "[roleMap_corp]\nadmin = ops\n[authenticationResponseAttrMap_corp]\nrole = g\n";
        let of = |text: &str| {
            let settings = settings(text).unwrap();
            let attributes = settings.messages.attributes;
            (settings.roles.roles(&["ops".to_owned()]), attributes.role, attributes.mail)
        };
        assert_eq!(of(splunk), (vec!["power".to_owned()], "role".to_owned(), "m".to_owned()));
        let both = format!("{own}{splunk}");
        assert_eq!(of(&both), (vec!["admin".to_owned()], "g".to_owned(), "mail".to_owned()));
        let settings = settings("defaultRoleIfMissing = User").unwrap();
        assert_eq!(settings.roles.roles(&[]), ["user"]);
    }

    #[test]
    fn certificates_are_a_file_or_those_of_a_directory() {
        let directory = tempfile::tempdir().unwrap();
        let chain = directory.path().join("idpCertChain_1");
        let at = format!("idpCertPath = {}", directory.path().display());
        assert!(settings(&at).unwrap_err().contains("no file that ends in .pem"));
        fs::create_dir(&chain).unwrap();
        fs::copy(format!("{FIXTURES}/idp.pem"), chain.join("cert_1.pem")).unwrap();
        fs::copy(format!("{FIXTURES}/other.pem"), directory.path().join("b.crt")).unwrap();
        fs::write(directory.path().join("README"), "no certificate").unwrap();
        assert_eq!(settings(&at).unwrap().certificates.len(), 2);
        fs::write(directory.path().join("c.pem"), "no certificate").unwrap();
        let error = settings(&at).unwrap_err();
        assert!(error.contains("c.pem") && error.contains("authentication.conf:6"), "{error}");
    }

    #[test]
    fn files_that_cannot_be_used_are_named() {
        for (more, expected) in [
            ("idpCertPath = /nowhere/idp.pem", "/nowhere/idp.pem: No such file"),
            ("clientCert = /nowhere/sp.pem", "an RSA key (No such file"),
            ("clientCert = FIXTURES/idp.pem", "no PRIVATE KEY block"),
            ("signedAssertion = false", "unsigned assertions are not accepted"),
        ] {
            let error = settings(&more.replace("FIXTURES", FIXTURES)).unwrap_err();
            assert!(error.contains(expected) && error.contains("[corp]"), "{error}");
        }
        let key = format!("clientCert = {FIXTURES}/sp.pem");
        assert!(settings(&key).unwrap().messages.sign_requests);
    }
}
