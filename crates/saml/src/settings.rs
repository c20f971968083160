//! Settings of SAML logins, with the names of Splunk's `authentication.conf`.

use conf::{Invalid, Key, Reader, Type, Unit};

use crate::certificate::SignatureAlgorithm;
use crate::signature::DigestAlgorithm;

const BINDING: Type = Type::Choice(&["HTTPRedirect"]);

conf::keys! {
    "authentication"["<SAML strategy>"] {
        /// Entity ID of this server at the provider.
        ENTITY_ID: Option<String> = "entityId", "", Type::Text;
        /// The provider's entity ID, the issuer of its assertions.
        ISSUER_ID: Option<String> = "issuerId", "", Type::Text;
        /// The provider's URL for logins.
        SSO_URL: Option<String> = "idpSSOUrl", "", Type::Text;
        /// The provider's URL for logouts. Default: none.
        SLO_URL: Option<String> = "idpSLOUrl", "", Type::Text;
        /// The provider's certificates: a PEM file, or a directory of PEM files.
        CERTIFICATES: Option<String> = "idpCertPath", "", Type::Text;
        /// PEM file with the RSA key that signs requests, and its certificate.
        CLIENT_CERT: Option<String> = "clientCert", "", Type::Text;
        /// Whether requests are signed. Default: true if `clientCert` is set. Splunk: true.
        SIGN_REQUESTS: Option<bool> = "signAuthnRequest", "", Type::Boolean;
        /// Signature algorithm of requests. Splunk: RSA-SHA1.
        SIGNATURE_ALGORITHM: String = "signatureAlgorithm", "RSA-SHA256",
            Type::Choice(&["RSA-SHA256", "RSA-SHA384", "RSA-SHA512"]);
        /// Accepted signature algorithms; SHA-1 is never accepted. Default: RSA-SHA256 to RSA-SHA512,
        /// ECDSA-SHA256 and ECDSA-SHA384.
        SIGNATURES: Vec<String> = "inboundSignatureAlgorithm", "", Type::List { separator: ';' };
        /// Accepted digest algorithms; SHA-1 is never accepted. Default: SHA256;SHA384;SHA512.
        DIGESTS: Vec<String> = "inboundDigestMethod", "", Type::List { separator: ';' };
        /// Must be true: unsigned assertions are never accepted.
        SIGNED_ASSERTION: bool = "signedAssertion", "true", Type::Boolean;
        /// Whether a signed assertion is sufficient. If false, the whole response must be signed.
        PARTIAL_SIGNATURES: bool = "allowPartialSignatures", "true", Type::Boolean;
        /// Maximum clock difference between the provider and this server.
        SKEW: i64 = "assertionTimeSkew", "120", Type::of(Unit::Seconds, 0, 600);
        /// The NameID format to request. Default: none.
        NAME_ID_FORMAT: Option<String> = "nameIdFormat", "", Type::Text;
        /// Host or URL of the console. Default: this machine's name.
        FQDN: Option<String> = "fqdn", "", Type::Text;
        /// Port of the console as seen by browsers; 0 for a URL without a port. Default: the console's
        /// port.
        REDIRECT_PORT: Option<u16> = "redirectPort", "", Type::range(0, 65_535);
        /// Other bindings are not supported.
        SSO_BINDING: Option<String> = "ssoBinding", "", BINDING;
        /// Other bindings are not supported.
        SLO_BINDING: Option<String> = "sloBinding", "", BINDING;
        /// Not supported; a value is refused.
        ATTRIBUTE_QUERY_URL: Option<String> = "idpAttributeQueryUrl", "", Type::Text;
        /// Users who may not log in.
        EXCLUDED_USERS: Vec<String> = "excludedUsers", "", Type::LIST;
        /// Older name of `excludedUsers`.
        OLD_EXCLUDED_USERS: Vec<String> = "blacklistedUsers", "", Type::LIST;
        /// URL to which browsers are redirected after a failed login. Default: a page of this server.
        ERROR_URL: Option<String> = "errorUrl", "", Type::Text;
        /// URL to which browsers are redirected after a logout. Default: a page of this server.
        LOGOUT_URL: Option<String> = "redirectAfterLogoutToUrl", "", Type::Text;
    }
    "authentication"["authenticationResponseAttrMap_<SAML strategy>"] {
        /// Attribute with the user's groups.
        ROLE: String = "role", "role", Type::Text;
        /// Attribute with the full name.
        REAL_NAME: String = "realName", "realName", Type::Text;
        /// Attribute with the email address.
        MAIL: String = "mail", "mail", Type::Text;
    }
}

/// All declarations of this crate.
pub const DECLARED: &[&[conf::Setting]] = &[SETTINGS];

/// The address of this server's console for browsers, unless `fqdn` and `redirectPort` set another one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Console {
    /// Host name.
    pub host: String,
    /// Port.
    pub port: u16,
    /// Whether it uses TLS.
    pub tls: bool,
}

/// Names of attributes in assertions: `[authenticationResponseAttrMap_SAML]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AttributeNames {
    /// `role`: the user's groups.
    pub role: String,
    /// `realName`.
    pub real_name: String,
    /// `mail`.
    pub mail: String,
}

/// The settings of a provider's stanza. Files are only named here; the caller reads them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `entityId`: the name of this server at the provider.
    pub entity_id: String,
    /// `issuerId`: the provider's name, the issuer of its assertions.
    pub issuer_id: String,
    /// `idpSSOUrl`: the URL for logins.
    pub sso_url: String,
    /// `idpSLOUrl`: the URL for logouts.
    pub slo_url: Option<String>,
    /// `idpCertPath`: the provider's certificates, a PEM file or a directory of them.
    pub certificates: String,
    /// The URL to which the provider redirects the browser, from `fqdn` and `redirectPort`.
    pub acs_url: String,
    /// `clientCert`: this server's key and certificate, a PEM file.
    pub client_cert: Option<String>,
    /// `signAuthnRequest`; default: true if `clientCert` is set.
    pub sign_requests: bool,
    /// `signatureAlgorithm` of requests; default `RSA-SHA256`.
    pub signature_algorithm: SignatureAlgorithm,
    /// `nameIdFormat`: the requested format.
    pub name_id_format: Option<String>,
    /// The negation of `allowPartialSignatures`: whether the whole response has to be signed.
    pub whole_response: bool,
    /// `assertionTimeSkew`: maximum clock difference to the provider in seconds; default 120.
    pub skew: i64,
    /// `inboundSignatureAlgorithm`.
    pub signatures: Vec<SignatureAlgorithm>,
    /// `inboundDigestMethod`.
    pub digests: Vec<DigestAlgorithm>,
    /// `excludedUsers`: users who may not log in.
    pub excluded_users: Vec<String>,
    /// `[authenticationResponseAttrMap_SAML]`.
    pub attributes: AttributeNames,
    /// `errorUrl`: the page for users whose login failed.
    pub error_url: Option<String>,
    /// `redirectAfterLogoutToUrl`.
    pub logout_url: Option<String>,
}

/// Path of the assertion consumer service.
pub const ACS_PATH: &str = "/saml/acs";

impl Settings {
    /// Reads the provider's stanza, and `[authenticationResponseAttrMap_<stanza>]`.
    ///
    /// # Errors
    /// If a setting is missing or invalid, or asks for something insecure or unsupported.
    pub fn read(
        stanza: Reader<'_>,
        attribute_map: Reader<'_>,
        console: &Console,
    ) -> Result<Self, Invalid> {
        let keys = Keys { stanza };
        keys.refuse_unsupported()?;
        let client_cert = stanza.get(&CLIENT_CERT)?;
        let sign_requests = stanza.get(&SIGN_REQUESTS)?.unwrap_or(client_cert.is_some());
        if sign_requests && client_cert.is_none() {
            return Err(stanza.wrong(&SIGN_REQUESTS, "false, or a key in clientCert"));
        }
        Ok(Self {
            entity_id: keys.required(&ENTITY_ID, "this server's name at the provider")?,
            issuer_id: keys.required(&ISSUER_ID, "the provider's entity ID")?,
            sso_url: keys
                .url(&SSO_URL)?
                .ok_or_else(|| stanza.wrong(&SSO_URL, "the provider's URL for logins"))?,
            slo_url: keys.url(&SLO_URL)?,
            certificates: keys.required(&CERTIFICATES, "a PEM file or a directory of them")?,
            acs_url: keys.acs_url(console)?,
            client_cert,
            sign_requests,
            signature_algorithm: keys.signature_algorithm()?,
            name_id_format: stanza.get(&NAME_ID_FORMAT)?,
            whole_response: !stanza.get(&PARTIAL_SIGNATURES)?,
            skew: stanza.get(&SKEW)?,
            signatures: keys.list(&SIGNATURES, SignatureAlgorithm::ALL, |one| one.name())?,
            digests: keys.list(&DIGESTS, DigestAlgorithm::ALL, |one| one.name())?,
            excluded_users: keys.excluded_users()?,
            attributes: AttributeNames {
                role: attribute_map.get(&ROLE)?,
                real_name: attribute_map.get(&REAL_NAME)?,
                mail: attribute_map.get(&MAIL)?,
            },
            error_url: stanza.get(&ERROR_URL)?,
            logout_url: stanza.get(&LOGOUT_URL)?,
        })
    }

    /// The error for a file of certificates that cannot be used.
    #[must_use]
    pub fn unusable_certificates(stanza: Reader<'_>, expected: String) -> Invalid {
        stanza.wrong(&CERTIFICATES, expected)
    }

    /// The error for a file of `clientCert` that cannot be used.
    #[must_use]
    pub fn unusable_key(stanza: Reader<'_>, expected: String) -> Invalid {
        stanza.wrong(&CLIENT_CERT, expected)
    }
}

struct Keys<'a> {
    stanza: Reader<'a>,
}

impl Keys<'_> {
    fn required(&self, key: &Key<Option<String>>, expected: &str) -> Result<String, Invalid> {
        self.stanza.get(key)?.ok_or_else(|| self.stanza.wrong(key, expected))
    }

    fn url(&self, key: &Key<Option<String>>) -> Result<Option<String>, Invalid> {
        let Some(text) = self.stanza.get(key)? else { return Ok(None) };
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let is_clean = text.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'"' | b'<'));
        match rest.is_some_and(|rest| !rest.is_empty()) && is_clean && !text.contains('#') {
            true => Ok(Some(text)),
            false => Err(self.stanza.wrong(key, "a URL with http:// or https:// and no fragment")),
        }
    }

    /// Refuses settings that would weaken logins, and settings that are not implemented.
    fn refuse_unsupported(&self) -> Result<(), Invalid> {
        let stanza = &self.stanza;
        if !stanza.get(&SIGNED_ASSERTION)? {
            let expected = "true: unsigned assertions are not accepted";
            return Err(stanza.wrong(&SIGNED_ASSERTION, expected));
        }
        stanza.get(&SSO_BINDING)?;
        stanza.get(&SLO_BINDING)?;
        match stanza.get(&ATTRIBUTE_QUERY_URL)? {
            Some(_) => {
                let expected = "nothing: attribute queries are not sent";
                Err(stanza.wrong(&ATTRIBUTE_QUERY_URL, expected))
            }
            None => Ok(()),
        }
    }

    fn acs_url(&self, console: &Console) -> Result<String, Invalid> {
        let wrong = || self.stanza.wrong(&FQDN, "a host name, with http:// or https://");
        let fqdn = self.stanza.get(&FQDN)?.unwrap_or_else(|| console.host.clone());
        let fqdn = fqdn.trim_end_matches('/');
        let (scheme, host) = match fqdn.split_once("://") {
            Some((scheme @ ("http" | "https"), host)) => (scheme, host),
            Some(_) => return Err(wrong()),
            None if console.tls => ("https", fqdn),
            None => ("http", fqdn),
        };
        let is_host =
            |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'[' | b']' | b':');
        if host.is_empty() || !host.bytes().all(is_host) {
            return Err(wrong());
        }
        Ok(match self.stanza.get(&REDIRECT_PORT)?.unwrap_or(console.port) {
            0 => format!("{scheme}://{host}{ACS_PATH}"),
            port => format!("{scheme}://{host}:{port}{ACS_PATH}"),
        })
    }

    fn signature_algorithm(&self) -> Result<SignatureAlgorithm, Invalid> {
        let name = self.stanza.get(&SIGNATURE_ALGORITHM)?;
        let known = SignatureAlgorithm::ALL.into_iter().find(|one| one.name() == name);
        known.ok_or_else(|| self.stanza.wrong(&SIGNATURE_ALGORITHM, "a known algorithm"))
    }

    /// Parses a list of algorithms; SHA-1 is ignored, because it is never accepted.
    fn list<T: Copy, const N: usize>(
        &self,
        key: &Key<Vec<String>>,
        all: [T; N],
        name_of: impl Fn(T) -> &'static str,
    ) -> Result<Vec<T>, Invalid> {
        let wrong = |expected: String| Err(self.stanza.wrong(key, expected));
        if self.stanza.text(key).is_none() {
            return Ok(all.to_vec());
        }
        let names = || all.map(&name_of).join(", ");
        let mut found = Vec::new();
        for name in self.stanza.get(key)? {
            match all.iter().copied().find(|one| name_of(*one).eq_ignore_ascii_case(&name)) {
                Some(one) => found.push(one),
                None if name.to_ascii_uppercase().ends_with("SHA1") => {}
                None => return wrong(format!("a list of {}", names())),
            }
        }
        match found.is_empty() {
            true => wrong(format!("one of {}; SHA-1 is not accepted", names())),
            false => Ok(found),
        }
    }

    fn excluded_users(&self) -> Result<Vec<String>, Invalid> {
        let names = match self.stanza.given(&EXCLUDED_USERS)? {
            Some(names) => names,
            None => self.stanza.get(&OLD_EXCLUDED_USERS)?,
        };
        Ok(names.iter().map(|name| name.to_lowercase()).collect())
    }
}
