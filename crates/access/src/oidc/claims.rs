//! Validation of the claims of a token whose signature is valid.

use serde::Deserialize;
use serde_json::{Map, Value};

use super::OidcSettings;
use crate::external::ExternalUser;

/// Maximum number of groups that are read from a token.
const MAX_GROUPS: usize = 10_000;

#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
enum Audience {
    One(String),
    Many(Vec<String>),
}

impl Audience {
    fn contains(&self, name: &str) -> bool {
        match self {
            Self::One(one) => one == name,
            Self::Many(many) => many.iter().any(|one| one == name),
        }
    }

    fn is_one(&self) -> bool {
        match self {
            Self::One(_) => true,
            Self::Many(many) => many.len() == 1,
        }
    }
}

/// The standard claims, and all others.
#[derive(Debug, Clone, Deserialize)]
pub(super) struct Claims {
    iss: String,
    sub: String,
    aud: Audience,
    exp: f64,
    nbf: Option<f64>,
    iat: Option<f64>,
    nonce: Option<String>,
    azp: Option<String>,
    #[serde(flatten)]
    rest: Map<String, Value>,
}

impl Claims {
    /// Validates the ID token of a login: audience, time and nonce.
    pub(super) fn check_login(
        &self,
        now: i64,
        settings: &OidcSettings,
        nonce: &str,
    ) -> Result<(), &'static str> {
        self.check_origin(now, settings)?;
        if !self.aud.contains(&settings.client_id) {
            return Err("the token is for another client (aud)");
        }
        if !self.aud.is_one() && self.azp.as_deref() != Some(settings.client_id.as_str()) {
            return Err("the token is for several clients and was not issued to this one (azp)");
        }
        if self.nonce.as_deref() != Some(nonce) {
            return Err("the token belongs to another login (nonce)");
        }
        Ok(())
    }

    /// Validates a bearer token of a program.
    pub(super) fn check_bearer(
        &self,
        now: i64,
        settings: &OidcSettings,
    ) -> Result<(), &'static str> {
        self.check_origin(now, settings)?;
        if !self.aud.contains(&settings.audience) && !self.aud.contains(&settings.client_id) {
            return Err("the token is for another audience (aud)");
        }
        Ok(())
    }

    fn check_origin(&self, now: i64, settings: &OidcSettings) -> Result<(), &'static str> {
        let (now, skew) = (now as f64, settings.skew as f64);
        // Written so that NaN is refused.
        let has_come = |time: f64| now + skew >= time;
        let is_to_come = |time: f64| now < time + skew;
        if self.iss != settings.issuer {
            return Err("the token is from another issuer (iss)");
        }
        if !is_to_come(self.exp) {
            return Err("the token has expired (exp)");
        }
        if self.nbf.is_some_and(|nbf| !has_come(nbf)) {
            return Err("the token is not valid yet (nbf)");
        }
        if self.iat.is_some_and(|iat| !has_come(iat)) {
            return Err("the token was issued in the future (iat)");
        }
        Ok(())
    }

    /// The user of the claims.
    pub(super) fn user(&self, settings: &OidcSettings) -> Result<ExternalUser, String> {
        let text = |claim: &str| match claim {
            "sub" => Some(self.sub.as_str()),
            claim => self.claim(claim).and_then(Value::as_str),
        };
        let name = text(&settings.user_claim)
            .ok_or_else(|| format!("the token has no claim {} (userClaim)", settings.user_claim))?;
        Ok(ExternalUser {
            name: name.to_lowercase(),
            realname: text("name").unwrap_or_default().to_owned(),
            email: text("email").unwrap_or_default().to_owned(),
            groups: self.groups(&settings.roles_claim),
            provider: settings.name.clone(),
            since: self.iat.map_or(0, |iat| iat as i64),
        })
    }

    /// A claim by path; nested claims are separated by dots (`realm_access.roles`).
    fn claim(&self, path: &str) -> Option<&Value> {
        if let Some(value) = self.rest.get(path) {
            return Some(value);
        }
        let mut parts = path.split('.');
        let first = self.rest.get(parts.next()?)?;
        parts.try_fold(first, |value, part| value.get(part))
    }

    fn groups(&self, path: &str) -> Vec<String> {
        match self.claim(path) {
            Some(Value::String(one)) => one.split([' ', ',']).map(str::to_owned).collect(),
            Some(Value::Array(many)) => {
                many.iter().take(MAX_GROUPS).filter_map(|v| v.as_str().map(str::to_owned)).collect()
            }
            _ => Vec::new(),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::external::RoleMap;
    use serde_json::json;
    use std::time::Duration;

    fn settings() -> OidcSettings {
        let text = str::to_owned;
        OidcSettings {
            name: text("corp"),
            issuer: text("https://id.example.org"),
            client_id: text("karst"),
            client_secret: None,
            redirect_uri: text("https://karst.example.org/services/auth/oidc/callback"),
            scopes: text("openid"),
            audience: text("karst-api"),
            user_claim: text("preferred_username"),
            roles_claim: text("realm_access.roles"),
            display_name: text("Corp"),
            keys_lifetime: Duration::from_secs(60),
            skew: 60,
            certificates: None,
            roles: RoleMap::default(),
        }
    }

    /// A valid token with some claims replaced; null removes one.
    fn claims(changed: Value) -> Claims {
        let mut all = json!({
            "iss": "https://id.example.org", "sub": "1234", "aud": "karst", "exp": 2_000,
            "iat": 1_000, "nonce": "n", "preferred_username": "Ann", "name": "Ann A.",
            "realm_access": {"roles": ["ops", 7, "dev"]},
        });
        for (name, value) in changed.as_object().unwrap() {
            all[name] = value.clone();
        }
        all.as_object_mut().unwrap().retain(|_, value| !value.is_null());
        serde_json::from_value(all).unwrap()
    }

    #[test]
    fn a_login_takes_a_token_for_this_client_this_time_and_this_login_only() {
        let check = |changed| claims(changed).check_login(1_500, &settings(), "n");
        let good = [
            json!({}),
            json!({"aud": ["karst"]}),
            json!({"aud": ["karst", "other"], "azp": "karst"}),
            json!({"exp": 1_441}),
            json!({"nbf": 1_560, "iat": 1_560.5 - 0.5}),
        ];
        for changed in good {
            assert_eq!(check(changed.clone()), Ok(()), "{changed}");
        }
        let bad = [
            (json!({"iss": "https://id.example.org/"}), "iss"),
            (json!({"aud": "other"}), "aud"),
            (json!({"aud": "karst-api"}), "aud"),
            (json!({"aud": []}), "aud"),
            (json!({"aud": ["karst", "other"]}), "azp"),
            (json!({"exp": 1_440}), "exp"),
            (json!({"nbf": 1_561}), "nbf"),
            (json!({"iat": 1_561}), "iat"),
            (json!({"nonce": "other"}), "nonce"),
            (json!({"nonce": null}), "nonce"),
        ];
        for (changed, claim) in bad {
            let error = check(changed.clone()).unwrap_err();
            assert!(error.contains(claim), "{changed}: {error}");
        }
    }

    #[test]
    fn claims_of_a_wrong_type_are_no_token() {
        let whole = json!({"iss": "i", "sub": "s", "aud": "a", "exp": 1});
        for (name, value) in
            [("exp", json!("2000")), ("exp", Value::Null), ("nbf", json!("1")), ("aud", json!(1))]
        {
            let mut changed = whole.clone();
            changed[name] = value;
            assert!(serde_json::from_value::<Claims>(changed).is_err(), "{name}");
        }
    }

    #[test]
    fn a_bearer_token_is_for_the_audience_or_the_client() {
        let check = |aud: &str| claims(json!({"aud": aud})).check_bearer(1_500, &settings());
        assert_eq!((check("karst-api"), check("karst")), (Ok(()), Ok(())));
        assert!(check("other").is_err());
        assert!(claims(json!({"exp": 1})).check_bearer(1_500, &settings()).is_err());
    }

    #[test]
    fn users_have_their_name_in_lower_case_and_groups_from_a_nested_claim() {
        let user = claims(json!({})).user(&settings()).unwrap();
        assert_eq!((user.name.as_str(), user.realname.as_str()), ("ann", "Ann A."));
        assert_eq!(user.groups, ["ops", "dev"]);
        assert!(claims(json!({"preferred_username": 7})).user(&settings()).is_err());
    }
}
