//! Settings, with the names of Splunk's `authentication.conf`.

use crate::Error;
use crate::certificate::SignatureAlgorithm;
use crate::signature::DigestAlgorithm;

/// Where browsers reach this server's console, unless `fqdn` and `redirectPort` say otherwise.
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

/// The settings of a provider's stanza. Files are named here and read by the caller.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Settings {
    /// `entityId`: the name of this server at the provider.
    pub entity_id: String,
    /// `issuerId`: the provider's name, the issuer of its assertions.
    pub issuer_id: String,
    /// `idpSSOUrl`: where browsers log in.
    pub sso_url: String,
    /// `idpSLOUrl`: where browsers log out.
    pub slo_url: Option<String>,
    /// `idpCertPath`: the provider's certificates, a PEM file or a directory of them.
    pub certificates: String,
    /// Where the provider sends the browser back, from `fqdn` and `redirectPort`.
    pub acs_url: String,
    /// `clientCert`: this server's key and certificate, a PEM file.
    pub client_cert: Option<String>,
    /// `signAuthnRequest`; default: whether there is `clientCert`.
    pub sign_requests: bool,
    /// `signatureAlgorithm`, of requests; default `RSA-SHA256`.
    pub signature_algorithm: SignatureAlgorithm,
    /// `nameIdFormat`, to ask for.
    pub name_id_format: Option<String>,
    /// Negation of `allowPartialSignatures`: the whole response has to be signed.
    pub whole_response: bool,
    /// `assertionTimeSkew`: seconds by which the provider's clock may differ; default 120.
    pub skew: i64,
    /// `inboundSignatureAlgorithm`.
    pub signatures: Vec<SignatureAlgorithm>,
    /// `inboundDigestMethod`.
    pub digests: Vec<DigestAlgorithm>,
    /// `excludedUsers`: users that may not log in.
    pub excluded_users: Vec<String>,
    /// `[authenticationResponseAttrMap_SAML]`.
    pub attributes: AttributeNames,
    /// `errorUrl`: where to send users whose login failed.
    pub error_url: Option<String>,
    /// `redirectAfterLogoutToUrl`.
    pub logout_url: Option<String>,
}

/// Path of the assertion consumer service.
pub const ACS_PATH: &str = "/saml/acs";

impl Settings {
    /// Reads the settings through two functions: the keys of the provider's stanza, and those of
    /// `[authenticationResponseAttrMap_<stanza>]`.
    ///
    /// # Errors
    /// If a setting is missing or invalid, or asks for something insecure or unsupported.
    pub fn read<'a>(
        stanza: impl Fn(&str) -> Option<&'a str>,
        attribute_map: impl Fn(&str) -> Option<&'a str>,
        console: &Console,
    ) -> Result<Self, Error> {
        let keys = Keys { stanza: &stanza };
        keys.refuse_unsupported()?;
        let client_cert = keys.text("clientCert").map(str::to_owned);
        let sign_requests = keys.flag("signAuthnRequest")?.unwrap_or(client_cert.is_some());
        if sign_requests && client_cert.is_none() {
            return Err(keys.wrong("signAuthnRequest", "false, or a key in clientCert"));
        }
        let attribute = |name| attribute_map(name).map(str::trim).filter(|text| !text.is_empty());
        let attribute = |name| attribute(name).unwrap_or(name).to_owned();
        Ok(Self {
            entity_id: keys.required("entityId", "this server's name at the provider")?,
            issuer_id: keys.required("issuerId", "the provider's entity ID")?,
            sso_url: keys
                .url("idpSSOUrl")?
                .ok_or_else(|| keys.wrong("idpSSOUrl", "the provider's URL for logins"))?,
            slo_url: keys.url("idpSLOUrl")?,
            certificates: keys.required("idpCertPath", "a PEM file or a directory of them")?,
            acs_url: keys.acs_url(console)?,
            client_cert,
            sign_requests,
            signature_algorithm: keys.signature_algorithm()?,
            name_id_format: keys.text("nameIdFormat").map(str::to_owned),
            whole_response: !keys.flag("allowPartialSignatures")?.unwrap_or(true),
            skew: keys.skew()?,
            signatures: keys
                .list("inboundSignatureAlgorithm", SignatureAlgorithm::ALL, |one| one.name())?,
            digests: keys.list("inboundDigestMethod", DigestAlgorithm::ALL, |one| one.name())?,
            excluded_users: keys.excluded_users(),
            attributes: AttributeNames {
                role: attribute("role"),
                real_name: attribute("realName"),
                mail: attribute("mail"),
            },
            error_url: keys.text("errorUrl").map(str::to_owned),
            logout_url: keys.text("redirectAfterLogoutToUrl").map(str::to_owned),
        })
    }
}

struct Keys<'f, F> {
    stanza: &'f F,
}

impl<'a, F: Fn(&str) -> Option<&'a str>> Keys<'_, F> {
    fn text(&self, key: &str) -> Option<&'a str> {
        (self.stanza)(key).map(str::trim).filter(|text| !text.is_empty())
    }

    fn wrong(&self, name: &'static str, expected: impl Into<String>) -> Error {
        let value = self.text(name).unwrap_or_default().to_owned();
        Error::Setting { name, value, expected: expected.into() }
    }

    fn required(&self, key: &'static str, expected: &'static str) -> Result<String, Error> {
        self.text(key).map(str::to_owned).ok_or_else(|| self.wrong(key, expected))
    }

    fn flag(&self, key: &'static str) -> Result<Option<bool>, Error> {
        let Some(text) = self.text(key) else { return Ok(None) };
        match text.to_ascii_lowercase().as_str() {
            "1" | "t" | "true" | "yes" | "enabled" => Ok(Some(true)),
            "0" | "f" | "false" | "no" | "disabled" => Ok(Some(false)),
            _ => Err(self.wrong(key, "true or false")),
        }
    }

    fn url(&self, key: &'static str) -> Result<Option<String>, Error> {
        let Some(text) = self.text(key) else { return Ok(None) };
        let rest = text.strip_prefix("https://").or_else(|| text.strip_prefix("http://"));
        let is_clean = text.bytes().all(|b| b.is_ascii_graphic() && !matches!(b, b'"' | b'<'));
        match rest.is_some_and(|rest| !rest.is_empty()) && is_clean && !text.contains('#') {
            true => Ok(Some(text.to_owned())),
            false => Err(self.wrong(key, "a URL with http:// or https:// and no fragment")),
        }
    }

    /// Settings that would weaken logins, or that nothing stands behind.
    fn refuse_unsupported(&self) -> Result<(), Error> {
        if self.flag("signedAssertion")? == Some(false) {
            return Err(self.wrong("signedAssertion", "true: unsigned assertions are not accepted"));
        }
        if self.text("ssoBinding").is_some_and(|text| !text.eq_ignore_ascii_case("HTTPRedirect")) {
            return Err(self.wrong("ssoBinding", "HTTPRedirect"));
        }
        if self.text("sloBinding").is_some_and(|text| !text.eq_ignore_ascii_case("HTTPRedirect")) {
            return Err(self.wrong("sloBinding", "HTTPRedirect"));
        }
        if self.text("idpAttributeQueryUrl").is_some() {
            return Err(
                self.wrong("idpAttributeQueryUrl", "nothing: attribute queries are not sent")
            );
        }
        Ok(())
    }

    fn acs_url(&self, console: &Console) -> Result<String, Error> {
        let fqdn = self.text("fqdn").unwrap_or(&console.host).trim_end_matches('/');
        let (scheme, host) = match fqdn.split_once("://") {
            Some((scheme @ ("http" | "https"), host)) => (scheme, host),
            Some(_) => return Err(self.wrong("fqdn", "a host name, with http:// or https://")),
            None if console.tls => ("https", fqdn),
            None => ("http", fqdn),
        };
        let is_host =
            |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'.' | b'-' | b'[' | b']' | b':');
        if host.is_empty() || !host.bytes().all(is_host) {
            return Err(self.wrong("fqdn", "a host name, with http:// or https://"));
        }
        let port = match self.text("redirectPort") {
            None => console.port,
            Some(text) => text
                .parse()
                .map_err(|_| self.wrong("redirectPort", "a port, or 0 for a URL without one"))?,
        };
        Ok(match port {
            0 => format!("{scheme}://{host}{ACS_PATH}"),
            port => format!("{scheme}://{host}:{port}{ACS_PATH}"),
        })
    }

    fn signature_algorithm(&self) -> Result<SignatureAlgorithm, Error> {
        let name = self.text("signatureAlgorithm").unwrap_or("RSA-SHA256");
        let rsa = &SignatureAlgorithm::ALL[..3];
        rsa.iter()
            .copied()
            .find(|one| one.name().eq_ignore_ascii_case(name))
            .ok_or_else(|| self.wrong("signatureAlgorithm", "RSA-SHA256, RSA-SHA384 or RSA-SHA512"))
    }

    fn skew(&self) -> Result<i64, Error> {
        let Some(text) = self.text("assertionTimeSkew") else { return Ok(120) };
        text.parse()
            .ok()
            .filter(|seconds| (0..=600).contains(seconds))
            .ok_or_else(|| self.wrong("assertionTimeSkew", "seconds from 0 to 600"))
    }

    /// Algorithms of a list separated by semicolons; SHA-1 in it is not accepted all the same.
    fn list<T: Copy, const N: usize>(
        &self,
        key: &'static str,
        all: [T; N],
        name_of: impl Fn(T) -> &'static str,
    ) -> Result<Vec<T>, Error> {
        let Some(text) = self.text(key) else { return Ok(all.to_vec()) };
        let names = || all.map(&name_of).join(", ");
        let mut found = Vec::new();
        for name in text.split(';').map(str::trim).filter(|name| !name.is_empty()) {
            match all.iter().copied().find(|one| name_of(*one).eq_ignore_ascii_case(name)) {
                Some(one) => found.push(one),
                None if name.to_ascii_uppercase().ends_with("SHA1") => {}
                None => return Err(self.wrong(key, format!("a list of {}", names()))),
            }
        }
        match found.is_empty() {
            true => Err(self.wrong(key, format!("one of {}; SHA-1 is not accepted", names()))),
            false => Ok(found),
        }
    }

    fn excluded_users(&self) -> Vec<String> {
        let text = self.text("excludedUsers").or_else(|| self.text("blacklistedUsers"));
        let names = text.unwrap_or_default().split(',').map(str::trim);
        names.filter(|name| !name.is_empty()).map(str::to_lowercase).collect()
    }
}
