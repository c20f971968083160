//! The stanza `[SSL]`: the certificates of inputs with TLS. Their files are read by the program.

use std::path::PathBuf;

use conf::{Effective, Key, Place};

use super::stanza::Keys;
use crate::{Error, settings};

/// The stanza.
const STANZA: &str = "SSL";

/// A file that a setting names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TlsFile {
    /// The file.
    pub path: PathBuf,
    /// The place of the setting: an app may name one file, and the administrator another one.
    pub place: Option<Place>,
}

/// The TLS settings of the stanza.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TlsSettings {
    /// File with the certificate and its key; `None`: the program's own.
    pub certificate: Option<TlsFile>,
    /// File with the CA whose certificates clients must present; `None`: clients need none.
    pub client_ca: Option<TlsFile>,
    /// Settings without effect, each with its place.
    pub warnings: Vec<String>,
}

impl TlsSettings {
    /// Reads the stanza of an `inputs.conf`.
    ///
    /// # Errors
    /// All mistakes in it, each with its place.
    pub fn read(conf: &Effective) -> Result<Self, Vec<Error>> {
        let Some(stanza) = conf.stanza(STANZA) else { return Ok(Self::default()) };
        let mut keys = Keys::new(conf, stanza);
        let certificate = file(&mut keys, &settings::SERVER_CERT);
        let ca = file(&mut keys, &settings::ROOT_CA);
        let ca = ca.or_else(|| file(&mut keys, &settings::OLD_ROOT_CA));
        let is_required = keys.get(&settings::REQUIRE_CLIENT_CERT);
        if is_required && ca.is_none() && keys.errors.is_empty() {
            let expected =
                "sslRootCAPath in the same stanza, the CA of the certificates of clients";
            keys.wrong(&settings::REQUIRE_CLIENT_CERT, expected);
        }
        if is_required {
            refuse_names(&mut keys);
        }
        let warnings = match ca {
            Some(_) if !is_required => unused_ca(&keys).into_iter().collect(),
            _ => Vec::new(),
        };
        let client_ca = ca.filter(|_| is_required);
        match keys.errors.is_empty() {
            true => Ok(Self { certificate, client_ca, warnings }),
            false => Err(keys.errors),
        }
    }
}

/// Refuses checks of names, which would restrict clients further than this program does.
fn refuse_names(keys: &mut Keys<'_>) {
    for key in [&settings::CLIENT_NAME, &settings::CLIENT_ALT_NAME] {
        if keys.shared(key).is_some() {
            let reason = "names in client certificates are not checked: remove it, and let a CA of its own \
                          sign the certificates of these clients";
            keys.refused(key, reason.to_owned());
        }
    }
}

fn unused_ca(keys: &Keys<'_>) -> Option<String> {
    let of = |key: &Key<Option<String>>| keys.own(key).map(|place| (place, key.name().to_owned()));
    let (place, name) = of(&settings::ROOT_CA).or_else(|| of(&settings::OLD_ROOT_CA))?;
    Some(format!("{place}: [{STANZA}] {name} has no effect without requireClientCert = true"))
}

fn file(keys: &mut Keys<'_>, key: &Key<Option<String>>) -> Option<TlsFile> {
    let text = keys.shared(key)?;
    match keys.path(&text) {
        Ok(path) => Some(TlsFile { path: path.into(), place: keys.place_of(key).cloned() }),
        Err(reason) => {
            keys.refused(key, reason);
            None
        }
    }
}

/// Refuses `requireClientCert = true` in the stanza of an input: without its effect, the input would be open
/// to senders that the administrator excludes.
pub(super) fn refuse_restriction(keys: &mut Keys<'_>) {
    let key = &settings::REQUIRE_CLIENT_CERT;
    if keys.switched_on(key, keys.name()).is_some() {
        let reason =
            "it is read in [SSL] only, for all inputs with TLS: move it there, with sslRootCAPath";
        keys.refused(key, reason.to_owned());
    }
}

/// Warnings about settings of `[SSL]` that have no effect in the stanza of an input, or, if it is for
/// forwarders, have none at all.
pub(super) fn warnings(keys: &Keys<'_>, is_for_forwarders: bool) -> Vec<String> {
    let name = keys.name();
    let mut warnings = Vec::new();
    let mut misplaced = |key: &str, place: Option<&Place>| {
        let text = |place: &Place| {
            format!("{place}: [{name}] {key} has no effect: it is read in [SSL] only")
        };
        warnings.extend(place.map(text));
    };
    let is_required = &settings::REQUIRE_CLIENT_CERT;
    misplaced(is_required.name(), keys.own(is_required));
    for key in [&settings::SERVER_CERT, &settings::ROOT_CA, &settings::OLD_ROOT_CA] {
        misplaced(key.name(), keys.own(key));
    }
    if is_for_forwarders && let Some(place) = keys.switched_on(is_required, STANZA) {
        warnings.push(format!(
            "{place}: [SSL] requireClientCert has no effect for [{name}]: forwarders present a token \
             (--forwarding-token)"
        ));
    }
    warnings
}
