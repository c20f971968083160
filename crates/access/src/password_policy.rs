//! Password policy: Splunk's rules, `[splunk_auth]` of authentication.conf.

use std::time::Duration;

use conf::{Type, Unit};
use rand::distr::{Alphanumeric, SampleString};
use rand::seq::{IndexedRandom, SliceRandom};

/// Maximum size of a password in bytes, to limit the cost of hashing.
pub const MAX_PASSWORD_BYTES: usize = 1_024;

conf::settings! {
    /// The password policy of local users.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct PasswordPolicy {
        "authentication"["splunk_auth"] {
            /// Minimum number of characters of a password.
            "minPasswordLength" => pub length: usize = "8", Type::range(1, 256);
            /// Minimum number of uppercase letters.
            "minPasswordUppercase" => pub uppercase: usize = "0", Type::range(0, 256);
            /// Minimum number of lowercase letters.
            "minPasswordLowercase" => pub lowercase: usize = "0", Type::range(0, 256);
            /// Minimum number of digits.
            "minPasswordDigit" => pub digits: usize = "0", Type::range(0, 256);
            /// Minimum number of characters that are neither letters nor digits.
            "minPasswordSpecial" => pub special: usize = "0", Type::range(0, 256);
            /// Whether previous passwords are refused.
            "enablePasswordHistory" => pub has_history: bool = "false", Type::Boolean;
            /// Number of previous passwords that are refused.
            "passwordHistoryCount" => pub history_count: usize = "24", Type::range(1, 128);
            /// Whether passwords expire.
            "expireUserAccounts" => pub expires: bool = "false", Type::Boolean;
            /// Lifetime of a password.
            "expirePasswordDays" => pub expires_after: Duration = "90", Type::of(Unit::Days, 1, 3_650);
            /// Whether a password that violates the policy must be changed at the next login.
            "forceWeakPasswordChange" => pub force_change_of_weak: bool = "false", Type::Boolean;
        }
    }
}

/// Minimum length of a generated password: at least 95 bits.
const MADE_UP_LENGTH: usize = 16;

impl PasswordPolicy {
    /// Number of previous passwords that are refused.
    #[must_use]
    pub fn history(&self) -> usize {
        if self.has_history { self.history_count } else { 0 }
    }

    /// Lifetime of a password; `None` if passwords do not expire.
    #[must_use]
    pub fn lifetime(&self) -> Option<Duration> {
        self.expires.then_some(self.expires_after)
    }

    /// Generates a password that meets the policy.
    #[must_use]
    pub fn made_up(&self) -> String {
        let mut rng = runtime::random::generator();
        let length = self.length.max(MADE_UP_LENGTH);
        let mut characters: Vec<char> =
            Alphanumeric.sample_string(&mut rng, length).chars().collect();
        let kinds: [(usize, &[u8]); 4] = [
            (self.uppercase, b"ABCDEFGHJKLMNPQRSTUVWXYZ"),
            (self.lowercase, b"abcdefghijkmnopqrstuvwxyz"),
            (self.digits, b"23456789"),
            (self.special, b"-_.+"),
        ];
        for (count, kind) in kinds {
            characters.extend((0..count).filter_map(|_| kind.choose(&mut rng)).map(|c| *c as char));
        }
        characters.shuffle(&mut rng);
        characters.into_iter().collect()
    }

    /// Checks a password.
    ///
    /// # Errors
    /// All violated rules, with the names of the settings; never the password.
    pub fn check(&self, password: &str) -> Result<(), String> {
        if password.len() > MAX_PASSWORD_BYTES {
            return Err(format!("the password is longer than {MAX_PASSWORD_BYTES} bytes"));
        }
        let count = |fits: fn(char) -> bool| password.chars().filter(|c| fits(*c)).count();
        let rules = [
            ("characters", "minPasswordLength", self.length, count(|_| true)),
            (
                "uppercase letters",
                "minPasswordUppercase",
                self.uppercase,
                count(char::is_uppercase),
            ),
            (
                "lowercase letters",
                "minPasswordLowercase",
                self.lowercase,
                count(char::is_lowercase),
            ),
            ("digits", "minPasswordDigit", self.digits, count(|c| c.is_ascii_digit())),
            (
                "characters that are neither letters nor digits",
                "minPasswordSpecial",
                self.special,
                count(|c| !c.is_alphanumeric()),
            ),
        ];
        let lacking: Vec<String> = rules
            .iter()
            .filter(|(_, _, least, found)| found < least)
            .map(|(what, setting, least, _)| format!("at least {least} {what} ({setting})"))
            .collect();
        if lacking.is_empty() {
            return Ok(());
        }
        Err(format!("the password is too weak: it needs {}", lacking.join(" and ")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn eight_characters_are_enough_by_default() {
        let policy = PasswordPolicy::default();
        assert_eq!(policy.check("correct horse"), Ok(()));
        assert_eq!(policy.check("12345678"), Ok(()));
        assert!(policy.check("öööööööö").is_ok(), "characters count, not bytes");
        for weak in ["", "a", "1234567"] {
            let error = policy.check(weak);
            assert!(error.is_err_and(|text| text.contains("at least 8 characters")));
        }
        assert!(policy.check(&"x".repeat(MAX_PASSWORD_BYTES + 1)).is_err());
    }

    #[test]
    fn what_is_made_up_fits() {
        let strict = PasswordPolicy {
            length: 30,
            uppercase: 3,
            lowercase: 3,
            digits: 3,
            special: 3,
            ..PasswordPolicy::default()
        };
        for policy in [PasswordPolicy::default(), strict] {
            let made = policy.made_up();
            assert_eq!(policy.check(&made), Ok(()));
            assert!(made.len() >= 16 && made != policy.made_up());
        }
    }

    #[test]
    fn all_that_is_lacking_is_said_with_its_setting() {
        let policy = PasswordPolicy {
            uppercase: 1,
            lowercase: 1,
            digits: 2,
            special: 1,
            ..PasswordPolicy::default()
        };
        assert_eq!(policy.check("Correct-Horse-42"), Ok(()));
        let text = policy.check("UPPERCASE1").err().unwrap_or_default();
        for part in ["1 lowercase", "2 digits", "minPasswordSpecial"] {
            assert!(text.contains(part), "{text}");
        }
        assert!(!text.contains("UPPERCASE1") && !text.contains("minPasswordUppercase"));
    }
}
