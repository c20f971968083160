//! Pending logins, by the state that the browser has in a cookie and as `RelayState`.
//!
//! Browsers do not send the cookie with the form that the provider's page submits. So a login ends in two
//! steps: the form is answered with a page of this server, and the request of this page has the cookie.
//! Meanwhile, the login is stored under its state. A browser that was tricked into submitting the response
//! of another user has a different cookie, and does not get the login.

use std::collections::HashMap;

use crate::login::Login;

/// Maximum time for the user to log in at the provider, in seconds.
const PATIENCE: i64 = 600;
/// Maximum time between the form and the following page, in seconds.
const PATIENCE_ANSWERED: i64 = 60;
/// Maximum number of pending logins; the oldest are evicted first.
const MAX_PENDING: usize = 10_000;

#[derive(Debug)]
enum Stage {
    /// The browser is at the provider, with this request.
    Sent(String),
    /// The response was accepted.
    Answered(Box<Login>),
}

#[derive(Debug)]
struct Pending {
    stage: Stage,
    until: i64,
}

/// All pending logins.
#[derive(Debug, Default)]
pub struct PendingLogins {
    by_state: HashMap<String, Pending>,
}

impl PendingLogins {
    /// Stores a new login when the browser is sent to the provider; `state` is random, times are epoch
    /// seconds.
    pub fn sent(&mut self, state: &str, request_id: &str, now: i64) {
        self.by_state.retain(|_, login| login.until > now);
        if self.by_state.len() >= MAX_PENDING {
            let oldest = self.by_state.iter().min_by_key(|(_, login)| login.until);
            if let Some(state) = oldest.map(|(state, _)| state.clone()) {
                self.by_state.remove(&state);
            }
        }
        let stage = Stage::Sent(request_id.to_owned());
        self.by_state.insert(state.to_owned(), Pending { stage, until: now + PATIENCE });
    }

    /// The ID of the request to which a response with this `RelayState` belongs. Only one response to a
    /// request is accepted, valid or not.
    pub fn request_of(&mut self, state: &str, now: i64) -> Option<String> {
        match self.by_state.get(state)?.stage {
            Stage::Sent(_) => match self.by_state.remove(state)? {
                Pending { stage: Stage::Sent(id), until } if until > now => Some(id),
                _ => None,
            },
            Stage::Answered(_) => None,
        }
    }

    /// Stores the accepted response; the browser must still show its cookie.
    pub fn answered(&mut self, state: &str, login: Login, now: i64) {
        let stage = Stage::Answered(Box::new(login));
        self.by_state.insert(state.to_owned(), Pending { stage, until: now + PATIENCE_ANSWERED });
    }

    /// Takes the login of the browser with this cookie; possible once.
    pub fn finish(&mut self, state: &str, now: i64) -> Option<Login> {
        match self.by_state.get(state)?.stage {
            Stage::Answered(_) => match self.by_state.remove(state)? {
                Pending { stage: Stage::Answered(login), until } if until > now => Some(*login),
                _ => None,
            },
            Stage::Sent(_) => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::login::Subject;

    fn login() -> Login {
        let subject = Subject { name_id: "ann".to_owned(), format: None, session_index: None };
        Login {
            subject,
            real_name: None,
            mail: None,
            groups: Vec::new(),
            assertion_id: "_a".to_owned(),
            expires: 0,
            session_end: None,
        }
    }

    #[test]
    fn a_login_goes_through_its_stages_once() {
        let mut all = PendingLogins::default();
        all.sent("s", "_r", 0);
        assert_eq!(all.finish("s", 1), None);
        assert_eq!(all.request_of("other", 1), None);
        assert_eq!(all.request_of("s", 1).as_deref(), Some("_r"));
        assert_eq!(all.request_of("s", 1), None);
        all.answered("s", login(), 2);
        assert_eq!(all.request_of("s", 2), None);
        assert_eq!(all.finish("s", 3), Some(login()));
        assert_eq!(all.finish("s", 3), None);
    }

    #[test]
    fn stages_end() {
        let mut all = PendingLogins::default();
        all.sent("s", "_r", 0);
        assert_eq!(all.request_of("s", PATIENCE), None);
        all.answered("s", login(), 0);
        assert_eq!(all.finish("s", PATIENCE_ANSWERED), None);
        for at in 0..20_000 {
            all.sent(&at.to_string(), "_r", at / 100);
        }
        assert_eq!(all.by_state.len(), MAX_PENDING);
        assert!(all.request_of("0", 200).is_none() && all.request_of("19999", 200).is_some());
    }
}
