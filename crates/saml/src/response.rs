//! Validates a response of the provider in the HTTP-POST binding and reads the [`Login`] from it.
//!
//! The order of the checks is: the structure of the document (one assertion at the expected place), the
//! status, the signatures, and then the assertion, of which only the signed text is read.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;

use crate::assertion;
use crate::certificate::Certificate;
use crate::error::{Error, short};
use crate::login::{ASSERTION, Expected, Login, PROTOCOL};
use crate::settings::Settings;
use crate::signature::{self, Trust};
use crate::xml::{Document, Id, MAX_BYTES};

const STATUS: &str = "urn:oasis:names:tc:SAML:2.0:status:";

/// Checks the field `SAMLResponse` of the form that the browser sent.
///
/// The caller looks up the request of this browser, accepts only one response to it, and passes the login
/// to [`crate::UsedAssertions::accept`].
///
/// # Errors
/// If the response does not prove that the provider logged a user in for this request.
pub fn login(
    settings: &Settings,
    certificates: &[Certificate],
    form_field: &str,
    expected: Expected<'_>,
) -> Result<Login, Error> {
    let received = Document::parse(&decoded(form_field)?)?;
    let assertion = Shape::check(&received)?.assertion;
    let trust =
        Trust { certificates, signatures: &settings.signatures, digests: &settings.digests };
    let verified = |element: Id| {
        let signature = signature::of(&received, element)?;
        let text = signature.map(|id| signature::verify(&received, element, id, &trust));
        text.transpose()?.map(|text| Document::parse(&text)).transpose()
    };
    let whole = verified(Document::ROOT)?;
    let part = verified(assertion)?;
    if whole.is_none() && (part.is_none() || settings.whole_response) {
        let what = if part.is_none() { "there is none" } else { "the response has none" };
        return Err(Error::signature(what));
    }

    let envelope = whole.as_ref().unwrap_or(&received);
    check_envelope(settings, envelope, whole.is_some(), expected)?;
    let login = match (&part, &whole) {
        (Some(part), _) => assertion::read(settings, part, Document::ROOT, expected)?,
        (None, Some(whole)) => {
            assertion::read(settings, whole, Shape::check(whole)?.assertion, expected)?
        }
        (None, None) => return Err(Error::signature("there is none")),
    };
    Ok(login)
}

fn decoded(form_field: &str) -> Result<String, Error> {
    if form_field.len() > MAX_BYTES * 4 / 3 + 4_096 {
        return Err(Error::TooLarge("more than 512 KiB"));
    }
    let clean: Vec<u8> = form_field.bytes().filter(|b| !b.is_ascii_whitespace()).collect();
    let bytes = BASE64_STANDARD.decode(clean);
    let bytes = bytes.map_err(|_| Error::xml("SAMLResponse is not base64"))?;
    String::from_utf8(bytes).map_err(|_| Error::xml("not UTF-8"))
}

/// The only accepted structure of a response.
struct Shape {
    assertion: Id,
}

impl Shape {
    /// Checks that there is one assertion directly inside the response, no other response or assertion
    /// anywhere, and signatures only directly inside these two.
    fn check(document: &Document) -> Result<Self, Error> {
        let root = document.root();
        if !root.is(PROTOCOL, "Response") {
            return Err(Error::response(format!("it is a {}", short(&root.name))));
        }
        check_status(document)?;
        let is_encrypted =
            |(_, element): (Id, &crate::xml::Element)| element.name.starts_with("Encrypted");
        if document.all().any(is_encrypted) {
            return Err(Error::Unsupported(
                "encrypted assertions; switch encryption off for this server at the provider",
            ));
        }
        let assertion = document
            .only(Document::ROOT, ASSERTION, "Assertion")?
            .ok_or_else(|| Error::response("it has no assertion"))?;
        for (id, element) in document.all() {
            let is_stray = match element.name.as_str() {
                "Response" => id != Document::ROOT,
                "Assertion" => id != assertion,
                "Signature" => {
                    element.parent != Some(Document::ROOT) && element.parent != Some(assertion)
                }
                _ => false,
            };
            if is_stray {
                let reason = format!("a {} where none belongs", short(&element.name));
                return Err(Error::response(reason));
            }
        }
        Ok(Self { assertion })
    }
}

fn check_status(document: &Document) -> Result<(), Error> {
    let missing = || Error::response("it has no status");
    let status = document.only(Document::ROOT, PROTOCOL, "Status")?.ok_or_else(missing)?;
    let code_in = |id| document.only(id, PROTOCOL, "StatusCode");
    let outer = code_in(status)?.ok_or_else(missing)?;
    let value = |id: Id| document.get(id).attribute("Value").unwrap_or_default();
    if value(outer) == "urn:oasis:names:tc:SAML:2.0:status:Success" {
        return Ok(());
    }
    let name = |id: Id| short(value(id).strip_prefix(STATUS).unwrap_or(value(id)));
    let inner = code_in(outer)?.map(|id| format!(" ({})", name(id))).unwrap_or_default();
    let message = document.only(status, PROTOCOL, "StatusMessage")?;
    let message = message.map(|id| document.text(id).map(short)).transpose()?;
    Err(Error::Status { code: format!("{}{inner}", name(outer)), message })
}

/// Checks the response around the assertion. If only the assertion is signed, an attacker can write this
/// part, so that it can only cause a refusal.
fn check_envelope(
    settings: &Settings,
    document: &Document,
    is_signed: bool,
    expected: Expected<'_>,
) -> Result<(), Error> {
    let root = document.root();
    if root.attribute("Version") != Some("2.0") {
        return Err(Error::response("its version is not 2.0"));
    }
    match root.attribute("Destination") {
        Some(destination) if destination == settings.acs_url => {}
        None if !is_signed => {}
        other => {
            let other = short(other.unwrap_or_default());
            let reason = format!("it is for \"{other}\", not for {}", settings.acs_url);
            return Err(Error::response(reason));
        }
    }
    if root.attribute("InResponseTo").is_some_and(|id| id != expected.request_id) {
        return Err(Error::response("it answers another request"));
    }
    match document.only(Document::ROOT, ASSERTION, "Issuer")? {
        Some(issuer) => assertion::check_issuer(settings, document, issuer),
        None => Ok(()),
    }
}
