//! Replay protection: each assertion is accepted once.

use std::collections::HashMap;

use crate::Error;
use crate::login::Login;

/// Maximum number of kept assertions; further ones are refused until some expire.
const MAX_KEPT: usize = 100_000;

/// The used assertions that have not expired yet.
#[derive(Debug, Default)]
pub struct UsedAssertions {
    until: HashMap<String, i64>,
}

impl UsedAssertions {
    /// Marks the assertion of a login as used; `now` is in epoch seconds.
    ///
    /// # Errors
    /// If it was used before, or too many assertions are kept.
    pub fn accept(&mut self, login: &Login, now: i64) -> Result<(), Error> {
        if self.until.contains_key(&login.assertion_id) {
            return Err(Error::Replayed);
        }
        if self.until.len() >= MAX_KEPT {
            self.until.retain(|_, until| *until > now);
        }
        if self.until.len() >= MAX_KEPT {
            return Err(Error::TooLarge("more than 100,000 assertions in use"));
        }
        self.until.insert(login.assertion_id.clone(), login.expires);
        Ok(())
    }
}
