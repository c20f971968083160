//! The provider's certificates, of which only the public keys are used, and the server's own key.
//!
//! A certificate is trusted because an administrator configured it, as SAML metadata defines it: its dates
//! and its issuer are not checked, and certificates inside messages are never read.

use ring::rand::SystemRandom;
use ring::signature::{self, RsaKeyPair, UnparsedPublicKey, VerificationAlgorithm};
use x509_parser::pem::Pem;
use x509_parser::prelude::{FromDer, X509Certificate};

use crate::Error;

const RSA: &str = "1.2.840.113549.1.1.1";
const EC: &str = "1.2.840.10045.2.1";
const P256: &str = "1.2.840.10045.3.1.7";
const P384: &str = "1.3.132.0.34";

/// Signature algorithms. SHA-1 is never accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SignatureAlgorithm {
    /// RSA (PKCS #1 v1.5) with SHA-256.
    RsaSha256,
    /// RSA (PKCS #1 v1.5) with SHA-384.
    RsaSha384,
    /// RSA (PKCS #1 v1.5) with SHA-512.
    RsaSha512,
    /// ECDSA on P-256 with SHA-256.
    EcdsaSha256,
    /// ECDSA on P-384 with SHA-384.
    EcdsaSha384,
}

impl SignatureAlgorithm {
    /// All algorithms.
    pub const ALL: [Self; 5] =
        [Self::RsaSha256, Self::RsaSha384, Self::RsaSha512, Self::EcdsaSha256, Self::EcdsaSha384];

    /// The URI in XML.
    #[must_use]
    pub fn uri(self) -> &'static str {
        match self {
            Self::RsaSha256 => "http://www.w3.org/2001/04/xmldsig-more#rsa-sha256",
            Self::RsaSha384 => "http://www.w3.org/2001/04/xmldsig-more#rsa-sha384",
            Self::RsaSha512 => "http://www.w3.org/2001/04/xmldsig-more#rsa-sha512",
            Self::EcdsaSha256 => "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256",
            Self::EcdsaSha384 => "http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha384",
        }
    }

    /// The name in settings, such as `RSA-SHA256`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::RsaSha256 => "RSA-SHA256",
            Self::RsaSha384 => "RSA-SHA384",
            Self::RsaSha512 => "RSA-SHA512",
            Self::EcdsaSha256 => "ECDSA-SHA256",
            Self::EcdsaSha384 => "ECDSA-SHA384",
        }
    }
}

/// The supported kinds of public keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Rsa,
    P256,
    P384,
}

/// A certificate of the provider.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Certificate {
    kind: Kind,
    key: Vec<u8>,
    der: Vec<u8>,
}

impl Certificate {
    /// Reads all certificates of a PEM file.
    ///
    /// # Errors
    /// If there is none, or a key is neither RSA of at least 2048 bits nor on P-256 or P-384.
    pub fn from_pem(pem: &[u8]) -> Result<Vec<Self>, Error> {
        let mut all = Vec::new();
        for block in Pem::iter_from_buffer(pem) {
            let block = block.map_err(|error| Error::Certificate(error.to_string()))?;
            if block.label == "CERTIFICATE" {
                all.push(Self::from_der(block.contents)?);
            }
        }
        match all.is_empty() {
            true => Err(Error::Certificate("no CERTIFICATE block in PEM".to_owned())),
            false => Ok(all),
        }
    }

    fn from_der(der: Vec<u8>) -> Result<Self, Error> {
        let wrong = |reason: String| Error::Certificate(reason);
        let (rest, parsed) =
            X509Certificate::from_der(&der).map_err(|error| wrong(error.to_string()))?;
        if !rest.is_empty() {
            return Err(wrong("bytes after the certificate".to_owned()));
        }
        let info = parsed.public_key();
        let key = info.subject_public_key.data.to_vec();
        let curve = info.algorithm.parameters.as_ref().and_then(|any| any.as_oid().ok());
        let curve = curve.map(|oid| oid.to_id_string());
        let kind = match (info.algorithm.algorithm.to_id_string().as_str(), curve.as_deref()) {
            (RSA, _) => Kind::Rsa,
            (EC, Some(P256)) => Kind::P256,
            (EC, Some(P384)) => Kind::P384,
            (oid, _) => return Err(wrong(format!("the key is not RSA, P-256 or P-384 ({oid})"))),
        };
        let bits = info.parsed().map_err(|error| wrong(error.to_string()))?.key_size();
        if kind == Kind::Rsa && !(2_048..=8_192).contains(&bits) {
            return Err(wrong(format!("an RSA key of {bits} bits; 2048 to 8192 are accepted")));
        }
        Ok(Self { kind, key, der })
    }

    /// The certificate in DER format.
    #[must_use]
    pub fn der(&self) -> &[u8] {
        &self.der
    }

    /// Whether a text was signed with the key of this certificate.
    pub(crate) fn verify(
        &self,
        algorithm: SignatureAlgorithm,
        text: &[u8],
        signature: &[u8],
    ) -> bool {
        use SignatureAlgorithm as Algorithm;
        let verification: &dyn VerificationAlgorithm = match (algorithm, self.kind) {
            (Algorithm::RsaSha256, Kind::Rsa) => &signature::RSA_PKCS1_2048_8192_SHA256,
            (Algorithm::RsaSha384, Kind::Rsa) => &signature::RSA_PKCS1_2048_8192_SHA384,
            (Algorithm::RsaSha512, Kind::Rsa) => &signature::RSA_PKCS1_2048_8192_SHA512,
            (Algorithm::EcdsaSha256, Kind::P256) => &signature::ECDSA_P256_SHA256_FIXED,
            (Algorithm::EcdsaSha384, Kind::P384) => &signature::ECDSA_P384_SHA384_FIXED,
            _ => return false,
        };
        UnparsedPublicKey::new(verification, &self.key).verify(text, signature).is_ok()
    }
}

/// The server's own RSA key, which signs its requests, with its certificate.
pub struct SigningKey {
    key: RsaKeyPair,
    certificate: Option<Certificate>,
}

impl std::fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("SigningKey").finish_non_exhaustive()
    }
}

/// Keys are equal if their public keys are equal.
impl PartialEq for SigningKey {
    fn eq(&self, other: &Self) -> bool {
        self.key.public().as_ref() == other.key.public().as_ref()
    }
}

impl SigningKey {
    /// Reads the key and, if it is there, the certificate of a PEM file (`clientCert`).
    ///
    /// # Errors
    /// If there is no unencrypted RSA key of at least 2048 bits.
    pub fn from_pem(pem: &[u8]) -> Result<Self, Error> {
        let mut found = None;
        let mut certificate = None;
        for block in Pem::iter_from_buffer(pem) {
            let block = block.map_err(|error| Error::Key(error.to_string()))?;
            let key = match block.label.as_str() {
                "PRIVATE KEY" => RsaKeyPair::from_pkcs8(&block.contents),
                "RSA PRIVATE KEY" => RsaKeyPair::from_der(&block.contents),
                "ENCRYPTED PRIVATE KEY" => {
                    return Err(Error::Key("it is encrypted; store it without a password".into()));
                }
                "CERTIFICATE" if certificate.is_none() => {
                    certificate = Some(Certificate::from_der(block.contents)?);
                    continue;
                }
                _ => continue,
            };
            found = Some(key.map_err(|error| Error::Key(format!("not an RSA key: {error}")))?);
        }
        let key = found.ok_or_else(|| Error::Key("no PRIVATE KEY block in PEM".to_owned()))?;
        Ok(Self { key, certificate })
    }

    /// The certificate to be given to the provider.
    #[must_use]
    pub fn certificate(&self) -> Option<&Certificate> {
        self.certificate.as_ref()
    }

    pub(crate) fn sign(
        &self,
        algorithm: SignatureAlgorithm,
        text: &[u8],
    ) -> Result<Vec<u8>, Error> {
        let encoding: &dyn signature::RsaEncoding = match algorithm {
            SignatureAlgorithm::RsaSha256 => &signature::RSA_PKCS1_SHA256,
            SignatureAlgorithm::RsaSha384 => &signature::RSA_PKCS1_SHA384,
            SignatureAlgorithm::RsaSha512 => &signature::RSA_PKCS1_SHA512,
            _ => return Err(Error::Key("an RSA key cannot sign with ECDSA".to_owned())),
        };
        let mut signed = vec![0; self.key.public().modulus_len()];
        self.key
            .sign(encoding, &SystemRandom::new(), text, &mut signed)
            .map_err(|_| Error::Key("signing failed".to_owned()))?;
        Ok(signed)
    }
}
