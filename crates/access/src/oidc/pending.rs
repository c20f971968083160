//! Pending logins: the browser is at the provider and will return once.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use ring::digest::{SHA256, digest};

use crate::external::random_text;

/// Time limit of a login at the provider.
const PATIENCE: Duration = Duration::from_secs(600);
/// Maximum number of pending logins; the oldest are evicted first.
const MAX_PENDING: usize = 10_000;

/// State of a pending login.
#[derive(Debug, Clone)]
pub(super) struct Pending {
    pub(super) nonce: String,
    /// The secret half of PKCE.
    pub(super) verifier: String,
    begun: Instant,
}

impl Pending {
    /// The public half of PKCE.
    pub(super) fn challenge(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(digest(&SHA256, self.verifier.as_bytes()))
    }
}

/// All pending logins, by state.
#[derive(Debug, Default)]
pub(super) struct PendingLogins {
    by_state: HashMap<String, Pending>,
}

impl PendingLogins {
    /// Adds a pending login with a new state.
    pub(super) fn begin(&mut self, now: Instant) -> (String, Pending) {
        self.by_state.retain(|_, login| now.saturating_duration_since(login.begun) < PATIENCE);
        if self.by_state.len() >= MAX_PENDING {
            let oldest = self.by_state.iter().min_by_key(|(_, login)| login.begun);
            if let Some(state) = oldest.map(|(state, _)| state.clone()) {
                self.by_state.remove(&state);
            }
        }
        let login = Pending { nonce: random_text(), verifier: random_text(), begun: now };
        let state = random_text();
        self.by_state.insert(state.clone(), login.clone());
        (state, login)
    }

    /// Removes and returns the login of a state.
    pub(super) fn end(&mut self, now: Instant, state: &str) -> Option<Pending> {
        let login = self.by_state.remove(state)?;
        (now.saturating_duration_since(login.begun) < PATIENCE).then_some(login)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_good_once_and_for_ten_minutes() {
        let (mut logins, now) = (PendingLogins::default(), Instant::now());
        let (first, login) = logins.begin(now);
        let (second, other) = logins.begin(now);
        assert!(first != second && login.nonce != other.nonce && login.verifier.len() == 43);
        assert_eq!(logins.end(now, &first).map(|login| login.nonce), Some(login.nonce));
        assert!(logins.end(now, &first).is_none() && logins.end(now, "guess").is_none());
        assert!(logins.end(now + PATIENCE, &second).is_none());
    }

    #[test]
    fn the_challenge_is_that_of_rfc_7636() {
        let verifier = "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk".to_owned();
        let login = Pending { nonce: String::new(), verifier, begun: Instant::now() };
        assert_eq!(login.challenge(), "E9Melhoa2OwvFrEMTJguCHaoeK1t8URWbuGJSstw-cM");
    }

    #[test]
    fn logins_under_way_are_bounded() {
        let (mut logins, now) = (PendingLogins::default(), Instant::now());
        for second in 0..MAX_PENDING + 5 {
            logins.begin(now + Duration::from_millis(second as u64));
        }
        assert_eq!(logins.by_state.len(), MAX_PENDING);
    }
}
