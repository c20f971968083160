//! Secrets in settings: which settings are secret, and the text that replaces their values.
//!
//! Secrets are recognized by the name of the setting, which covers settings unknown to Karst, and by the form
//! of the value, for passwords inside URLs. The packages of apps, which leave the installation, also leave
//! out encrypted values, private keys, and keys in files that add-ons define.

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

/// Whether a value has a URL with a password: `scheme://user:password@host`. Passwords with `/`, `?` and `#`
/// are often not encoded.
fn holds_password(value: &str) -> bool {
    value.split("://").skip(1).any(|rest| {
        // A password may have what ends a URL elsewhere, such as a blank.
        let authority = rest.split(['/', '?', '#', '"']).next().unwrap_or_default();
        if authority.rsplit_once('@').is_some_and(|(user, _)| user.contains(':')) {
            return true;
        }
        let is_end = |c: char| c.is_whitespace() || matches!(c, '"' | '\'' | '<' | '>');
        let url = rest.split(is_end).next().unwrap_or_default();
        let Some((before, _)) = url.rsplit_once('@') else { return false };
        let Some((user, password)) = before.split_once(':') else { return false };
        // The colon is in the path, or before a port, and `@` is in the path.
        let is_of_path = user.contains(['/', '?', '#']) || user.starts_with('[');
        let port = password.split_once(['/', '?', '#']).map(|(port, _)| port);
        let is_number = |port: &str| port.bytes().all(|byte| byte.is_ascii_digit());
        let is_port = port.is_some_and(|port| !port.is_empty() && is_number(port));
        !is_of_path && !is_port
    })
}

/// Whether the value of a setting is shown only to users who may change it.
fn is_secret(conf: &str, key: &str, value: &str) -> bool {
    !value.is_empty() && (is_named_so(conf, key) || holds_password(value))
}

/// Files whose settings are named by fields, roles or capabilities, such as `EXTRACT-token`: the names of
/// their settings do not tell secrets.
const NAMED_OTHERWISE: [&str; 13] = [
    "authorize",
    "collections",
    "datamodels",
    "eventgen",
    "eventtypes",
    "fields",
    "literals",
    "macros",
    "multikv",
    "props",
    "tags",
    "transforms",
    "workflow_actions",
];
/// Other files of Splunk in which a name that ends in `key` names a field. In files that add-ons define, it
/// names a secret.
const WITHOUT_KEYS: [&str; 18] = [
    "audit",
    "commands",
    "deploymentclient",
    "distsearch",
    "event_renderers",
    "indexes",
    "limits",
    "messages",
    "metric_rollups",
    "restmap",
    "savedsearches",
    "searchbnf",
    "serverclass",
    "times",
    "ui-prefs",
    "user-prefs",
    "viewstates",
    "visualizations",
];
/// Names in files of add-ons that end in `key` and are not secret.
const HARMLESS_KEYS: [&str; 9] = [
    "checkpointkey",
    "fieldkey",
    "foreignkey",
    "groupkey",
    "joinkey",
    "lookupkey",
    "primarykey",
    "publickey",
    "uniquekey",
];
/// Settings of `transforms.conf` with patterns, in which nothing is a URL or an encrypted value.
const PATTERNS: [&str; 3] = ["FORMAT", "INGEST_EVAL", "REGEX"];
/// The beginnings of values that Splunk has encrypted.
const ENCRYPTED: [&str; 2] = ["$1$", "$7$"];
/// Characters of an encrypted value inside a text; what is shorter may be a reference to a group.
const ENCRYPTED_LENGTH: usize = 16;

/// Whether a setting is left out of the package of an app: a secret by its name or its value.
pub(crate) fn is_left_out(conf: &str, key: &str, value: &str) -> bool {
    // `reload.passwords` of `app.conf` names a file.
    let is_named_otherwise =
        NAMED_OTHERWISE.contains(&conf) || (conf == "app" && key.starts_with("reload."));
    let is_choice = is_choice(value) || (conf, key) == ("savedsearches", "search");
    let is_pattern = conf == "props" || (conf == "transforms" && PATTERNS.contains(&key));
    !is_choice
        && ((!is_named_otherwise && (is_named_so(conf, key) || is_key(conf, key)))
            || (!is_pattern && has_secret(value))
            || has_private_key(value.as_bytes()))
}

/// Whether a setting that is commented out is left out of the package of an app: also in files whose settings
/// are named by fields, a comment with the plain name of a secret is a note about one.
pub(crate) fn is_left_out_of_comment(conf: &str, key: &str, value: &str) -> bool {
    let is_note = || !key.contains(['-', '.']) && !is_choice(value) && is_named_so("", key);
    is_left_out(conf, key, value) || (NAMED_OTHERWISE.contains(&conf) && is_note())
}

/// Whether a value is too simple for a secret.
fn is_choice(value: &str) -> bool {
    value.is_empty() || conf::boolean(value).is_some()
}

/// Whether the name of a setting ends in `key` in a file where it names a secret.
fn is_key(conf: &str, key: &str) -> bool {
    let name: String = key.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
    let name = name.to_lowercase();
    let harmless = || KEY_CHOICES.iter().chain(&HARMLESS_KEYS).any(|one| name.ends_with(one));
    // Parameters of alert actions are in savedsearches.conf, too.
    let is_field = WITHOUT_KEYS.contains(&conf) && !key.contains(".param.");
    name.ends_with("key") && !is_field && !harmless()
}

/// Whether a text has a secret that its form tells: a URL with a password or with a secret parameter, or an
/// encrypted value.
pub(crate) fn has_secret(text: &str) -> bool {
    holds_password(text) || holds_parameter(text) || is_encrypted(text) || has_encrypted(text)
}

/// Whether a value has a URL with a parameter that is named as a secret: `https://host/?apikey=...`.
fn holds_parameter(value: &str) -> bool {
    let urls = value.split("://").skip(1).map(|url| url.split_whitespace().next());
    urls.flatten().any(|url| {
        url.split(['?', '&', ';', '#']).skip(1).any(|parameter| {
            let (name, value) = parameter.split_once('=').unwrap_or_default();
            // `$token$` is replaced by the value of a field.
            !value.is_empty() && !value.starts_with('$') && is_named_so("", name)
        })
    })
}

/// Whether a whole value is encrypted.
fn is_encrypted(value: &str) -> bool {
    let rest = ENCRYPTED.iter().find_map(|begin| value.strip_prefix(*begin));
    rest.is_some_and(|rest| rest.len() >= 4 && rest.bytes().all(is_base64))
}

/// Whether a text has an encrypted value.
pub(crate) fn has_encrypted(text: &str) -> bool {
    ENCRYPTED.iter().any(|begin| {
        let mut rests = text.split(*begin).skip(1);
        rests.any(|rest| {
            rest.bytes().take_while(|byte| is_base64(*byte)).count() >= ENCRYPTED_LENGTH
        })
    })
}

/// Whether a line is the last one of an encoded value. A name with an equals sign ends in one, too, but is
/// hardly as long, with digits and without an underscore.
pub(crate) fn is_padded(line: &str) -> bool {
    let content = line.trim_end_matches('=');
    let padding = line.len() - content.len();
    content.len() >= ENCRYPTED_LENGTH
        && content.bytes().all(|byte| is_base64(byte) && byte != b'=')
        && (padding == 2 || (padding == 1 && content.bytes().any(|byte| byte.is_ascii_digit())))
}

fn is_base64(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)
}

/// The end of the first line of a private key; the second one is that of SSH2.
const KEY_MARKS: [&[u8]; 2] = [b"PRIVATE KEY-----", b"PRIVATE KEY ----"];
/// The same of PGP, whose keys have headers.
const PGP_MARK: &[u8] = b"-----BEGIN PGP PRIVATE KEY BLOCK-----";
/// The header of PuTTY before the content, with its number of lines.
const PUTTY_MARK: &[u8] = b"Private-Lines: ";
/// The headers that the content of a private key may begin with.
const KEY_HEADERS: [&[u8]; 5] =
    [b"Proc-Type:", b"DEK-Info:", b"Comment:", b"Subject:", b"Version:"];
/// Characters of the content of a private key. A program that reads keys has the mark, and no content.
const KEY_LENGTH: usize = 24;
/// The longest text between the mark and the content, which keeps the time linear in the text.
const KEY_DISTANCE: usize = 256;

/// Whether there is a private key anywhere: as a file of its own, in a setting, in a comment, or in a text of
/// JSON or HTML.
pub(crate) fn has_private_key(bytes: &[u8]) -> bool {
    let is_begun = |end: usize| {
        let rest = content_after(&bytes[end..]);
        let content = rest.iter().take(KEY_LENGTH).take_while(|byte| is_base64(**byte)).count();
        content == KEY_LENGTH || KEY_HEADERS.iter().any(|header| rest.starts_with(header))
    };
    let is_number = |end: usize| bytes.get(end).is_some_and(u8::is_ascii_digit);
    KEY_MARKS.into_iter().any(|mark| ends_of(bytes, mark).any(is_begun))
        || ends_of(bytes, PGP_MARK).next().is_some()
        || ends_of(bytes, PUTTY_MARK).any(is_number)
}

/// The text from the first letter or digit on that is not part of a line break, as texts, comments, lists
/// and HTML write it.
fn content_after(bytes: &[u8]) -> &[u8] {
    let mut rest = bytes;
    while bytes.len() - rest.len() < KEY_DISTANCE {
        rest = match rest {
            [b'\\', b'n' | b'r', left @ ..] => left,
            [b'&', left @ ..] => after(left, b';'),
            [b'<', left @ ..] => after(left, b'>'),
            [byte, left @ ..] if !byte.is_ascii_alphanumeric() => left,
            _ => break,
        };
    }
    rest
}

/// The text after the end of a short piece of HTML, or all of it if it has no such end.
fn after(bytes: &[u8], end: u8) -> &[u8] {
    let place = bytes.iter().take(16).position(|byte| *byte == end);
    place.map_or(bytes, |place| &bytes[place + 1..])
}

/// Where the occurrences of a mark end.
fn ends_of<'b>(bytes: &'b [u8], mark: &'static [u8]) -> impl Iterator<Item = usize> + 'b {
    let parts = bytes.windows(mark.len()).enumerate();
    parts.filter(move |(_, part)| *part == mark).map(move |(start, _)| start + mark.len())
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
            ("app", "api_key", "x"),
            ("web", "url", "https://u:p#w@host"),
            ("web", "url", "postgres://u:a/b@host"),
            ("web", "url", "https://host/#access_token=K"),
            ("server", "pass4SymmKey", "x"),
            ("authentication", "bindDNpassword", "x"),
            ("authentication", "clientSecret", "x"),
            ("web", "metricsToken", "x"),
            ("ta_x_account", "refresh", "$7$q83vEjRWeJCrze8="),
            ("macros", "definition", "{\"a\": \"$1$q83vEjRWeJCrze8SNFY=\"}"),
            ("workflow_actions", "link.uri", "https://svc:pw@host/"),
            ("transforms", "external_cmd", "x.py http://host/ https://u:p@h"),
            ("ta_x_settings", "maxmind_license_key", "x"),
            ("ta_x_account", "key", "x"),
            ("savedsearches", "action.pager.param.integration_key", "x"),
            ("ta_x_settings", "endpoint", "https://api/?a=1&apikey=K"),
            ("props", "x", "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ"),
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
            ("eventgen", "token.0.replacement", "%d"),
            ("literals", "TOKEN_LABEL", "Token"),
            ("multikv", "header.tokens", "_tokenize_"),
            ("transforms", "FORMAT", "$1$::$2"),
            ("transforms", "DEST_KEY", "queue"),
            ("workflow_actions", "link.uri", "https://host/?q=$token$&token=$token$"),
            ("savedsearches", "action.summary_index.key", "x"),
            ("ta_x_settings", "checkpoint_key", "x"),
            ("ta_x_settings", "label", "costs $1$7"),
            ("ta_x_settings", "endpoint", "https://host:8089/users/a@b"),
            ("ta_x_settings", "endpoint", "https://host/a:b@c"),
            ("ta_x_settings", "all", "{\"url\":\"https://host\",\"mail\":\"a@b\"}"),
        ];
        for (conf, key, value) in kept {
            assert!(!is_left_out(conf, key, value), "{conf} {key}");
        }
    }

    #[test]
    fn notes_about_secrets_are_left_out_of_all_files() {
        for conf in ["macros", "props", "transforms", "app", "inputs"] {
            assert!(is_left_out_of_comment(conf, "password", "hunter2"), "{conf}");
        }
        let kept = [
            ("props", "EXTRACT-token", "(?<token>x)"),
            ("transforms", "DEST_KEY", "queue"),
            ("eventgen", "token.0.replacement", "%d"),
            ("authorize", "edit_tokens_all", "enabled"),
            ("app", "reload.passwords", "simple"),
        ];
        for (conf, key, value) in kept {
            assert!(!is_left_out_of_comment(conf, key, value), "{conf} {key}");
        }
    }

    #[test]
    fn private_keys_are_found_anywhere_and_programs_that_read_them_are_not() {
        let content = "MIIEvQIBADANBgkqhkiG9w0BAQEFAASC";
        let keys = [
            format!("-----BEGIN RSA PRIVATE KEY-----\r\n{content}\r\n"),
            format!("{}-----BEGIN PRIVATE KEY-----\n{content}\n", "x".repeat(100_000)),
            format!("  \"private_key\": \"-----BEGIN PRIVATE KEY-----\\n{content}\\n\""),
            format!("key = -----BEGIN EC PRIVATE KEY-----\\\n{content}\\\n"),
            format!("KEY = \"-----BEGIN PRIVATE KEY-----\\n\"\n    \"{content}\\n\""),
            format!("# -----BEGIN RSA PRIVATE KEY-----\n# {content}\n"),
            format!("// -----BEGIN PRIVATE KEY-----\r\n//   {content}\n"),
            format!("[\"-----BEGIN PRIVATE KEY-----\", \"{content}\"]"),
            format!("-----BEGIN PRIVATE KEY-----&#10;{content}"),
            format!("-----BEGIN PRIVATE KEY-----<br/>\n{content}"),
            format!("---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\n{content}"),
            "---- BEGIN SSH2 ENCRYPTED PRIVATE KEY ----\nComment: \"x\"\n".to_owned(),
            "PuTTY-User-Key-File-2: ssh-rsa\nPrivate-Lines: 14\nAAAB\n".to_owned(),
            "-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n".to_owned(),
            "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQ\n".to_owned(),
        ];
        for text in &keys {
            assert!(has_private_key(text.as_bytes()), "{text}");
        }
        let others = [
            "BEGIN = \"-----BEGIN RSA PRIVATE KEY-----\"\nEND = \"-----END RSA PRIVATE KEY-----\"\n",
            "-----BEGIN PUBLIC KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n",
            "PRIVATE KEY-----",
            "[\"-----BEGIN PRIVATE KEY-----\", \"-----END PRIVATE KEY-----\"]",
            "key.startswith(b'PuTTY-User-Key-File-') and b'Private-Lines: ' in key",
        ];
        for text in others {
            assert!(!has_private_key(text.as_bytes()), "{text}");
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
