//! Secrets in settings: which settings are secret, and the text that replaces their values.
//!
//! Secrets are recognized by the name of the setting, which covers settings unknown to Karst, and by the form
//! of the value, for passwords inside URLs.

/// Stands for a secret.
const HIDDEN: &str = "********";

/// Parts of the names of secrets, compared without regard to case and to `_`, `-` and `.`.
const PARTS: [&str; 11] = [
    "password",
    "passwd",
    "passphrase",
    "pass4symmkey",
    "secret",
    "token",
    "credential",
    "apikey",
    "accesskey",
    "privatekey",
    "authorization",
];
/// Names that contain one of these parts, but are not secret.
const PLAIN: [&str; 9] = [
    "allowquerystringauth",
    "minpasswordlength",
    "passwordcolumn",
    "tokenauth",
    "tokenizer",
    "tokenname",
    "tokentype",
    "maxnumberoftokens",
    "usetoken",
];
/// Files in which any name that ends in `key` is a secret's: elsewhere it names a field.
const WITH_KEYS: [&str; 7] =
    ["alert_actions", "authentication", "inputs", "outputs", "passwords", "server", "web"];
/// Names that end in `key` and are a path or a choice.
const KEY_CHOICES: [&str; 3] = ["sortkey", "timekey", "partitionkey"];

/// Whether a setting is a secret by its name.
fn is_named_so(conf: &str, key: &str) -> bool {
    let plain = |c: &char| !matches!(c, '_' | '-' | '.' | ' ');
    let name: String = key.chars().filter(plain).collect::<String>().to_lowercase();
    if PLAIN.contains(&name.as_str()) {
        return false;
    }
    let a_key = name.ends_with("key") && !KEY_CHOICES.iter().any(|choice| name.ends_with(choice));
    PARTS.iter().any(|part| name.contains(part)) || (a_key && WITH_KEYS.contains(&conf))
}

/// Whether a value is a URL with a password: `scheme://user:password@host`.
fn holds_password(value: &str) -> bool {
    let Some((_, rest)) = value.split_once("://") else { return false };
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':'))
}

/// Whether the value of a setting is shown only to users who may change it.
fn is_secret(conf: &str, key: &str, value: &str) -> bool {
    !value.is_empty() && (is_named_so(conf, key) || holds_password(value))
}

/// Files whose settings are named by fields, roles or capabilities, such as `EXTRACT-token`: they have no
/// secrets.
const WITHOUT_SECRETS: [&str; 11] = [
    "app",
    "authorize",
    "collections",
    "datamodels",
    "eventtypes",
    "fields",
    "macros",
    "props",
    "tags",
    "transforms",
    "workflow_actions",
];

/// Whether a setting is left out of the package of an app: a secret.
pub(crate) fn is_left_out(conf: &str, key: &str, value: &str) -> bool {
    // The passwords of old versions of Splunk are in `[credential:<realm>:<user>:]` of `app.conf`.
    let is_named_otherwise = WITHOUT_SECRETS.contains(&conf) && (conf, key) != ("app", "password");
    let is_choice = conf::boolean(value).is_some() || (conf, key) == ("savedsearches", "search");
    !is_named_otherwise && !is_choice && is_secret(conf, key, value)
}

/// The value, or asterisks if it is a secret and the reader may not change it.
#[must_use]
pub fn shown<'v>(conf: &str, key: &str, value: &'v str, may_change: bool) -> &'v str {
    if !may_change && is_secret(conf, key, value) { HIDDEN } else { value }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packages_have_no_secrets_and_all_rules() {
        let left_out = [
            ("inputs", "token", "4711"),
            ("app", "password", "x"),
            ("server", "pass4SymmKey", "x"),
        ];
        for (conf, key, value) in left_out {
            assert!(is_left_out(conf, key, value), "{conf} {key}");
        }
        let kept = [
            ("props", "EXTRACT-token", "(?<token>x)"),
            ("authorize", "edit_tokens_all", "enabled"),
            ("alert_actions", "param.use_token", "1"),
            ("savedsearches", "search", "http://a:b@c"),
            ("app", "reload.passwords", "simple"),
        ];
        for (conf, key, value) in kept {
            assert!(!is_left_out(conf, key, value), "{conf} {key}");
        }
    }

    #[test]
    fn secrets_are_hidden_whatever_they_are_called() {
        let secrets = [
            ("inputs", "token"),
            ("inputs", "sslPassword"),
            ("outputs", "aws_secret_access_key"),
            ("outputs", "remote_queue.sqs.access_key"),
            ("server", "pass4SymmKey"),
            ("inputs", "some_unknown_key"),
            ("savedsearches", "action.email.auth_password"),
            ("alert_actions", "slack_webhook_token"),
            ("anything", "client-secret"),
        ];
        for (conf, key) in secrets {
            assert_eq!(shown(conf, key, "x", false), HIDDEN, "{conf} {key}");
            assert_eq!(shown(conf, key, "x", true), "x", "{conf} {key}");
        }
        assert_eq!(shown("outputs", "uri", "https://me:pw@host/x", false), HIDDEN);
    }

    #[test]
    fn other_settings_are_shown() {
        let plain = [
            ("transforms", "DEST_KEY", "queue"),
            ("fields", "TOKENIZER", "x"),
            ("limits", "max_number_of_tokens", "5"),
            ("outputs", "uri", "https://host/a:b@c"),
            ("inputs", "sslPassword", ""),
            ("inputs", "serverCert", "/a/b.pem"),
        ];
        for (conf, key, value) in plain {
            assert_eq!(shown(conf, key, value, false), value, "{conf} {key}");
        }
    }
}
