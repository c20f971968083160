//! Messages to the provider in the HTTP-Redirect binding: in the query of the URL to which the browser is
//! redirected.

use std::fmt::Write as _;
use std::io::Write as _;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::DeflateEncoder;
use form_urlencoded::Serializer;
use quick_xml::escape::escape;

use crate::certificate::SigningKey;
use crate::login::Subject;
use crate::settings::Settings;
use crate::{Error, time};

/// Random bytes in the ID of a request.
pub const ENTROPY_BYTES: usize = 20;
/// Maximum length of `RelayState`.
const MAX_RELAY_STATE_BYTES: usize = 80;

/// A message that the browser carries to the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// The message's ID, which the response has to refer to.
    pub id: String,
    /// The URL to which the browser is redirected.
    pub url: String,
}

/// Creates a login request.
///
/// `entropy` is random, for the ID; `now` is in epoch seconds; `relay_state` is returned with the response,
/// and is a random name of the pending login.
///
/// # Errors
/// If the request cannot be signed, or `relay_state` is longer than 80 bytes.
pub fn login(
    settings: &Settings,
    key: Option<&SigningKey>,
    entropy: [u8; ENTROPY_BYTES],
    relay_state: &str,
    now: i64,
) -> Result<Redirect, Error> {
    let id = request_id(entropy);
    let policy = settings.name_id_format.as_ref().map_or_else(String::new, |format| {
        format!("<samlp:NameIDPolicy AllowCreate=\"true\" Format=\"{}\"/>", escape(format))
    });
    let body = format!(
        "<samlp:AuthnRequest xmlns:samlp=\"urn:oasis:names:tc:SAML:2.0:protocol\" \
         xmlns:saml=\"urn:oasis:names:tc:SAML:2.0:assertion\" ID=\"{id}\" Version=\"2.0\" \
         IssueInstant=\"{}\" Destination=\"{}\" AssertionConsumerServiceURL=\"{}\" \
         ProtocolBinding=\"urn:oasis:names:tc:SAML:2.0:bindings:HTTP-POST\">\
         <saml:Issuer>{}</saml:Issuer>{policy}</samlp:AuthnRequest>",
        time::format(now),
        escape(&settings.sso_url),
        escape(&settings.acs_url),
        escape(&settings.entity_id),
    );
    let url = redirect(settings, key, &settings.sso_url, &body, relay_state)?;
    Ok(Redirect { id, url })
}

/// Creates a request to end a user's session at the provider, if `idpSLOUrl` is set.
///
/// # Errors
/// As for [`login`].
pub fn logout(
    settings: &Settings,
    key: Option<&SigningKey>,
    entropy: [u8; ENTROPY_BYTES],
    subject: &Subject,
    now: i64,
) -> Result<Option<Redirect>, Error> {
    let Some(slo_url) = &settings.slo_url else { return Ok(None) };
    let id = request_id(entropy);
    let session = subject.session_index.as_ref().map_or_else(String::new, |index| {
        format!("<samlp:SessionIndex>{}</samlp:SessionIndex>", escape(index))
    });
    let format = subject.format.as_ref();
    let format = format.map_or_else(String::new, |text| format!(" Format=\"{}\"", escape(text)));
    let body = format!(
        "<samlp:LogoutRequest xmlns:samlp=\"urn:oasis:names:tc:SAML:2.0:protocol\" \
         xmlns:saml=\"urn:oasis:names:tc:SAML:2.0:assertion\" ID=\"{id}\" Version=\"2.0\" \
         IssueInstant=\"{}\" Destination=\"{}\"><saml:Issuer>{}</saml:Issuer>\
         <saml:NameID{format}>{}</saml:NameID>{session}</samlp:LogoutRequest>",
        time::format(now),
        escape(slo_url),
        escape(&settings.entity_id),
        escape(&subject.name_id),
    );
    let url = redirect(settings, key, slo_url, &body, "")?;
    Ok(Some(Redirect { id, url }))
}

/// An XML ID has to begin with a letter or `_`.
fn request_id(entropy: [u8; ENTROPY_BYTES]) -> String {
    entropy.iter().fold("_".to_owned(), |mut id, byte| {
        let _ = write!(id, "{byte:02x}");
        id
    })
}

/// Builds the URL. The signature covers the encoded query string exactly as it is sent.
fn redirect(
    settings: &Settings,
    key: Option<&SigningKey>,
    target: &str,
    body: &str,
    relay_state: &str,
) -> Result<String, Error> {
    if relay_state.len() > MAX_RELAY_STATE_BYTES {
        return Err(Error::TooLarge("RelayState of more than 80 bytes"));
    }
    let mut query = Serializer::new(String::new());
    query.append_pair("SAMLRequest", &BASE64_STANDARD.encode(deflated(body)));
    if !relay_state.is_empty() {
        query.append_pair("RelayState", relay_state);
    }
    if settings.sign_requests {
        let key = key.ok_or_else(|| Error::Key("signAuthnRequest needs clientCert".to_owned()))?;
        let algorithm = settings.signature_algorithm;
        let signed = query.append_pair("SigAlg", algorithm.uri()).finish();
        let signature = BASE64_STANDARD.encode(key.sign(algorithm, signed.as_bytes())?);
        query = Serializer::new(signed);
        query.append_pair("Signature", &signature);
    }
    let separator = if target.contains('?') { '&' } else { '?' };
    Ok(format!("{target}{separator}{}", query.finish()))
}

fn deflated(text: &str) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::default());
    // Writing to memory cannot fail.
    let written = encoder.write_all(text.as_bytes());
    debug_assert!(written.is_ok());
    encoder.finish().unwrap_or_default()
}
