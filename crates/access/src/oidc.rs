//! OpenID Connect: authorization code flow with PKCE for browsers, tokens of the provider as
//! `Authorization: Bearer` for programs.
//!
//! `claims`, `keys` and `pending` make decisions without clock or network access; `provider` sends
//! the requests. Signatures are verified by `jsonwebtoken`, with public keys only: a token signed
//! with a shared secret, or not at all, is refused whatever its header says.

mod claims;
mod keys;
mod pending;
mod provider;

use std::time::Duration;

use crate::Error;
use crate::external::RoleMap;
use crate::settings;
use crate::stanza::Stanza;

pub use provider::OidcProvider;

/// Maximum size of a provider token.
const MAX_TOKEN_BYTES: usize = 16 << 10;

/// Settings of a provider: a stanza of authentication.conf.
#[derive(Debug, Clone, PartialEq)]
pub struct OidcSettings {
    /// Name of the stanza.
    pub name: String,
    /// `issuer`, without a trailing slash, unless the issuer name of the provider has one.
    pub issuer: String,
    /// `clientId`.
    pub client_id: String,
    /// `clientSecret`; a public client has none.
    pub client_secret: Option<String>,
    /// `redirectUri`.
    pub redirect_uri: String,
    /// `scopes`, separated by spaces.
    pub scopes: String,
    /// `audience`: required audience of access tokens.
    pub audience: String,
    /// `userClaim`.
    pub user_claim: String,
    /// `rolesClaim`.
    pub roles_claim: String,
    /// `displayName`.
    pub display_name: String,
    /// `jwksRefreshSecs`.
    pub keys_lifetime: Duration,
    /// `clockSkewSecs`.
    pub skew: i64,
    /// `caCertFile`, its content.
    pub certificates: Option<Vec<u8>>,
    /// Roles by group.
    pub roles: RoleMap,
}

impl OidcSettings {
    pub(crate) fn read(stanza: &Stanza<'_>) -> Result<Self, Error> {
        let issuer = stanza.required(&settings::ISSUER, "the provider's https address")?;
        let expected = "<address of the console>/services/auth/oidc/callback";
        let redirect_uri = stanza.required(&settings::REDIRECT_URI, expected)?;
        if !is_safe(&issuer) {
            return Err(
                stanza.wrong(&settings::ISSUER, "an https address (http for this machine only)")
            );
        }
        let client_id =
            stanza.required(&settings::CLIENT_ID, "this server's id at the provider")?;
        Ok(Self {
            name: stanza.name.to_owned(),
            issuer,
            client_secret: stanza.secret(&settings::CLIENT_SECRET)?,
            redirect_uri,
            scopes: stanza.get(&settings::SCOPES)?,
            audience: stanza.get(&settings::AUDIENCE)?.unwrap_or_else(|| client_id.clone()),
            user_claim: stanza.get(&settings::USER_CLAIM)?,
            roles_claim: stanza.get(&settings::ROLES_CLAIM)?,
            display_name: stanza.get(&settings::DISPLAY_NAME)?,
            keys_lifetime: stanza.get(&settings::KEYS_LIFETIME)?,
            skew: stanza.get(&settings::CLOCK_SKEW)?,
            certificates: stanza.certificates()?,
            roles: RoleMap::read(stanza, "OIDC")?,
            client_id,
        })
    }
}

/// Whether secrets may be sent to a URL: over TLS, or to this machine.
pub(crate) fn is_safe(url: &str) -> bool {
    let Some(rest) = url.strip_prefix("http://") else { return url.starts_with("https://") };
    let host = rest.split(['/', '?', '#']).next().unwrap_or_default();
    let host = host.rsplit_once(':').map_or(host, |(host, _)| host);
    !host.contains('@') && matches!(host, "127.0.0.1" | "localhost" | "[::1]")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plain_http_is_for_this_machine_only() {
        let safe = ["https://id.example.org/realm", "http://127.0.0.1:3000", "http://[::1]:1/x"];
        assert!(safe.iter().all(|url| is_safe(url)));
        let unsafe_ones = [
            "http://id.example.org",
            "http://127.0.0.1.example.org",
            "http://localhost@example.org",
            "ftp://localhost",
            "id.example.org",
        ];
        assert!(unsafe_ones.iter().all(|url| !is_safe(url)));
    }
}
