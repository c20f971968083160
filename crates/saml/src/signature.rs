//! Verifies XML signatures of the one form that providers use: a signature directly inside the element it
//! signs, one reference to that element's ID, the transforms "enveloped signature" and "exclusive
//! canonicalization", RSA or ECDSA with SHA-2. All other forms are refused.
//!
//! A signature does not authenticate a place in the received document but a text: the canonical form whose
//! digest was signed. [`verify`] returns this text; callers parse it again and read nothing else. An
//! element that was moved, wrapped or added is therefore never read. The same applies to the signature
//! itself: algorithms and digest are read from the canonical form of `SignedInfo`.

use std::collections::BTreeSet;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use ring::digest;

use crate::c14n::{self, EXCLUSIVE};
use crate::certificate::{Certificate, SignatureAlgorithm};
use crate::error::{Error, short};
use crate::xml::{Document, Id};

pub(crate) const NAMESPACE: &str = "http://www.w3.org/2000/09/xmldsig#";
const ENVELOPED: &str = "http://www.w3.org/2000/09/xmldsig#enveloped-signature";

/// Digest algorithms. SHA-1 is never accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DigestAlgorithm {
    /// SHA-256.
    Sha256,
    /// SHA-384.
    Sha384,
    /// SHA-512.
    Sha512,
}

impl DigestAlgorithm {
    /// All algorithms.
    pub const ALL: [Self; 3] = [Self::Sha256, Self::Sha384, Self::Sha512];

    /// The URI in XML.
    #[must_use]
    pub fn uri(self) -> &'static str {
        match self {
            Self::Sha256 => "http://www.w3.org/2001/04/xmlenc#sha256",
            Self::Sha384 => "http://www.w3.org/2001/04/xmldsig-more#sha384",
            Self::Sha512 => "http://www.w3.org/2001/04/xmlenc#sha512",
        }
    }

    /// The name in settings, such as `SHA256`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Sha256 => "SHA256",
            Self::Sha384 => "SHA384",
            Self::Sha512 => "SHA512",
        }
    }

    fn of(self, text: &str) -> digest::Digest {
        let algorithm = match self {
            Self::Sha256 => &digest::SHA256,
            Self::Sha384 => &digest::SHA384,
            Self::Sha512 => &digest::SHA512,
        };
        digest::digest(algorithm, text.as_bytes())
    }
}

/// The accepted certificates and algorithms.
#[derive(Debug, Clone)]
pub(crate) struct Trust<'a> {
    pub(crate) certificates: &'a [Certificate],
    pub(crate) signatures: &'a [SignatureAlgorithm],
    pub(crate) digests: &'a [DigestAlgorithm],
}

/// The signature directly inside an element.
pub(crate) fn of(document: &Document, element: Id) -> Result<Option<Id>, Error> {
    document.only(element, NAMESPACE, "Signature")
}

/// Verifies the signature of an element, and returns the canonical form that was signed, without
/// the signature.
pub(crate) fn verify(
    document: &Document,
    element: Id,
    signature: Id,
    trust: &Trust<'_>,
) -> Result<String, Error> {
    let parts = Parts::read(document, signature)?;
    let info = SignedInfo::read(document, parts.signed_info)?;
    let algorithm = accepted(trust.signatures, |a| a.uri(), &info.signature_method, "signature")?;
    let is_signed_by = |certificate: &Certificate| {
        certificate.verify(algorithm, info.canonical.as_bytes(), &parts.value)
    };
    if !trust.certificates.iter().any(is_signed_by) {
        return Err(Error::signature("no configured certificate made it"));
    }
    let id = document.get(element).attribute("ID").unwrap_or_default();
    if id.is_empty() || info.uri.strip_prefix('#') != Some(id) {
        return Err(Error::signature("it does not refer to the element that contains it"));
    }
    let options =
        c14n::Options { without: Some(signature), inclusive: info.transform_prefixes.clone() };
    let canonical = c14n::canonical(document, element, &options);
    let digest = accepted(trust.digests, |a| a.uri(), &info.digest_method, "digest")?;
    if digest.of(&canonical).as_ref() != info.digest {
        return Err(Error::signature("the content was changed (the digest differs)"));
    }
    Ok(canonical)
}

fn accepted<T: Copy>(
    all: &[T],
    uri: impl Fn(T) -> &'static str,
    wanted: &str,
    what: &str,
) -> Result<T, Error> {
    all.iter()
        .copied()
        .find(|one| uri(*one) == wanted)
        .ok_or_else(|| Error::signature(format!("{what} algorithm {}", short(wanted))))
}

/// The child elements of a `Signature`.
struct Parts {
    signed_info: Id,
    value: Vec<u8>,
}

impl Parts {
    fn read(document: &Document, signature: Id) -> Result<Self, Error> {
        let children: Vec<Id> = document.children(signature).collect();
        let is = |id: &Id, name| document.get(*id).is(NAMESPACE, name);
        // A KeyInfo is allowed, but not read.
        let (signed_info, value) = match children.as_slice() {
            [info, value] if is(info, "SignedInfo") && is(value, "SignatureValue") => {
                (*info, *value)
            }
            [info, value, key]
                if is(info, "SignedInfo") && is(value, "SignatureValue") && is(key, "KeyInfo") =>
            {
                (*info, *value)
            }
            _ => return Err(Error::signature("its parts are not the expected ones")),
        };
        if !document.has_no_text(signature) {
            return Err(Error::signature("it contains text"));
        }
        Ok(Self { signed_info, value: base64(document.text(value)?)? })
    }
}

/// The contents of `SignedInfo`, read from its canonical form.
struct SignedInfo {
    canonical: String,
    signature_method: String,
    uri: String,
    transform_prefixes: BTreeSet<String>,
    digest_method: String,
    digest: Vec<u8>,
}

impl SignedInfo {
    fn read(document: &Document, signed_info: Id) -> Result<Self, Error> {
        let method = first_child(document, signed_info)?;
        let inclusive = exclusive(document, method, "CanonicalizationMethod")?;
        let options = c14n::Options { without: None, inclusive };
        let canonical = c14n::canonical(document, signed_info, &options);
        let signed = Document::parse(&canonical)?;

        let [method, signature, reference] = parts(
            &signed,
            Document::ROOT,
            ["CanonicalizationMethod", "SignatureMethod", "Reference"],
        )?;
        if exclusive(&signed, method, "CanonicalizationMethod")? != options.inclusive {
            return Err(Error::signature("its canonicalization is ambiguous"));
        }
        parts(&signed, signature, [])?;
        let [transforms, digest_method, digest] =
            parts(&signed, reference, ["Transforms", "DigestMethod", "DigestValue"])?;
        let [enveloped, canonicalization] = parts(&signed, transforms, ["Transform", "Transform"])?;
        if signed.get(enveloped).attribute("Algorithm") != Some(ENVELOPED) {
            return Err(Error::signature(
                "the first transform is not that of enveloped signatures",
            ));
        }
        parts(&signed, enveloped, [])?;
        parts(&signed, digest_method, [])?;
        let uri = signed.get(reference).attribute("URI").unwrap_or_default();
        Ok(Self {
            signature_method: algorithm(&signed, signature),
            uri: uri.to_owned(),
            transform_prefixes: exclusive(&signed, canonicalization, "Transform")?,
            digest_method: algorithm(&signed, digest_method),
            digest: base64(signed.text(digest)?)?,
            canonical,
        })
    }
}

fn algorithm(document: &Document, id: Id) -> String {
    document.get(id).attribute("Algorithm").unwrap_or_default().to_owned()
}

fn first_child(document: &Document, id: Id) -> Result<Id, Error> {
    document.children(id).next().ok_or_else(|| Error::signature("SignedInfo is empty"))
}

/// The child elements, which must have exactly these names.
fn parts<const N: usize>(document: &Document, id: Id, names: [&str; N]) -> Result<[Id; N], Error> {
    let children: Vec<Id> = document.children(id).collect();
    let wrong = || Error::signature(format!("unexpected content of {}", document.get(id).name));
    let children: [Id; N] = children.try_into().map_err(|_| wrong())?;
    let fits = children.iter().zip(names).all(|(c, name)| document.get(*c).is(NAMESPACE, name));
    if fits && document.has_no_text(id) { Ok(children) } else { Err(wrong()) }
}

/// The prefix list of an element, whose algorithm must be exclusive canonicalization.
fn exclusive(document: &Document, id: Id, name: &str) -> Result<BTreeSet<String>, Error> {
    let element = document.get(id);
    if !element.is(NAMESPACE, name) || element.attribute("Algorithm") != Some(EXCLUSIVE) {
        let found = short(element.attribute("Algorithm").unwrap_or_default());
        return Err(Error::signature(format!("{name} {found} is not exclusive canonicalization")));
    }
    let children: Vec<Id> = document.children(id).collect();
    let list = match children.as_slice() {
        [] => return Ok(BTreeSet::new()),
        [one] if document.get(*one).is(EXCLUSIVE, "InclusiveNamespaces") => {
            document.get(*one).attribute("PrefixList").unwrap_or_default()
        }
        _ => return Err(Error::signature(format!("unexpected content of {name}"))),
    };
    let prefixes: BTreeSet<String> = list
        .split_ascii_whitespace()
        .map(|prefix| if prefix == "#default" { "" } else { prefix }.to_owned())
        .collect();
    if prefixes.len() > 32 {
        return Err(Error::signature("PrefixList is too long"));
    }
    Ok(prefixes)
}

fn base64(text: &str) -> Result<Vec<u8>, Error> {
    let clean: String = text.chars().filter(|c| !c.is_ascii_whitespace()).collect();
    BASE64_STANDARD.decode(clean).map_err(|_| Error::signature("a value is not base64"))
}
