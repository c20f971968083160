//! The parameters of a request as the trail may have them: without secrets, and not at any length.

use std::collections::BTreeSet;

use ::audit::Record;
use axum::http::Uri;
use serde_json::Value;

use super::observed::Changed;
use crate::params::Params;

/// Parts of the names of secrets.
const SECRET: [&str; 12] = [
    "password",
    "passwd",
    "passphrase",
    "secret",
    "token",
    "credential",
    "pass4symmkey",
    "apikey",
    "api_key",
    "access_key",
    "private",
    "authorization",
];
/// Parameters that only affect the format of the response.
const FORMAT: [&str; 6] = ["output_mode", "count", "offset", "f", "_", "cookie"];
/// Characters of a value that are kept.
const LONG: usize = 1_000;
const REDACTED: &str = "********";

/// Whether a value of this name must not be recorded.
pub(super) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET.iter().any(|part| name.contains(part)) || name == "key" || name == "pin"
}

/// Paths to which providers redirect browsers, with codes and assertions.
const FROM_PROVIDERS: [&str; 2] = ["/services/auth/oidc/", "/saml/"];

/// Adds the parameters: for a search, its text and time range; for other requests, all in one field.
pub(super) fn add(record: Record, path: &str, params: &Params, search: bool) -> Record {
    if search {
        let text = params.text("search").or_else(|| params.text("query"));
        return record
            .with_some("search", text)
            .with_some("api_et", params.text("earliest_time").or(params.text("earliest")))
            .with_some("api_lt", params.text("latest_time").or(params.text("latest")))
            .with_some("api_index_et", params.text("index_earliest"))
            .with_some("api_index_lt", params.text("index_latest"))
            .with_some("now", params.text("now"));
    }
    if FROM_PROVIDERS.iter().any(|begin| path.starts_with(begin)) {
        return record;
    }
    let named = path.rsplit('/').next().is_some_and(is_secret);
    let mut arguments = String::new();
    for (name, value) in params.iter() {
        if FORMAT.contains(&name) {
            continue;
        }
        if value.is_empty()
            && let Some(names) = names_in(name)
        {
            // JSON that came as a form: it is all in the name, values and secrets too.
            return record.with("arguments", shortened(&names));
        }
        // A property is set by its name in the path; one of a stored password has any name.
        let hidden = is_secret(name) || (name == "value" && named);
        if !arguments.is_empty() {
            arguments.push_str(", ");
        }
        arguments.push_str(name);
        arguments.push('=');
        arguments.push_str(&if hidden { REDACTED.to_owned() } else { told(value) });
    }
    record.with("arguments", arguments)
}

/// A part of a path that the ID or the key of a session follows.
const SESSION: &str = "/httpauth-tokens/";

/// The path and the query of a request as an access log may have them: without the values of secrets. The
/// query of a redirect from an identity provider is left out.
#[must_use]
pub fn logged_uri(uri: &Uri) -> String {
    let path = uri.path();
    let mut text = match path.find(SESSION) {
        Some(at) => format!("{}{REDACTED}", &path[..at + SESSION.len()]),
        None => path.to_owned(),
    };
    // Below a user's namespace, too.
    let is_of_provider = ["/auth/oidc/", "/saml/"].iter().any(|part| path.contains(part));
    let Some(query) = uri.query().filter(|_| !is_of_provider) else { return text };
    let named = path.trim_end_matches('/').rsplit('/').next().is_some_and(is_secret);
    for (place, pair) in query.split('&').enumerate() {
        text.push(if place == 0 { '?' } else { '&' });
        let parameter = form_urlencoded::parse(pair.as_bytes()).next();
        let Some((name, value)) = parameter else { continue };
        let has_secret = is_secret(&name) || (name == "value" && named);
        if names_in(&name).is_some() {
            // JSON in place of parameters may have secrets anywhere, also behind an ampersand.
            text.push_str(REDACTED);
            break;
        }
        // An ampersand in it has cut it.
        let is_torn = value.starts_with('{') && serde_json::from_str::<Value>(&value).is_err();
        if has_secret || is_torn || told(&value).starts_with(REDACTED) {
            text.push_str(pair.split('=').next().unwrap_or_default());
            text.push('=');
            text.push_str(REDACTED);
        } else {
            text.push_str(pair);
        }
        if is_torn {
            break;
        }
    }
    text
}

/// Adds the changed documents, and the changed names in them.
pub(super) fn add_changed(record: Record, changed: &Changed) -> Record {
    record
        .with("documents", changed.documents.len())
        .with("document_keys", shortened(&listed(&changed.documents)))
        .with("changed", shortened(&listed(&changed.names)))
}

/// A value, unless it is JSON with a secret in it: then the names that it has.
fn told(value: &str) -> String {
    let parsed = value.starts_with(['{', '[']).then(|| serde_json::from_str::<Value>(value).ok());
    let mut names = BTreeSet::new();
    if let Some(json) = parsed.flatten() {
        collect_names(&json, &mut names);
    }
    if names.iter().any(|name| is_secret(name)) {
        return format!("{REDACTED} ({})", listed(&names));
    }
    shortened(value)
}

/// The names in a text of JSON; none if it is no object and no list.
fn names_in(text: &str) -> Option<String> {
    if !text.starts_with(['{', '[']) {
        return None;
    }
    let mut names = BTreeSet::new();
    match serde_json::from_str(text) {
        Ok(json) => collect_names(&json, &mut names),
        // An ampersand or a percent sign has cut it.
        Err(_) => return Some(format!("{REDACTED} (JSON)")),
    }
    Some(format!("{REDACTED} ({})", listed(&names)))
}

fn listed(names: &BTreeSet<String>) -> String {
    names.iter().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// Adds every name, however deep: the parser bounds the depth.
fn collect_names(json: &Value, names: &mut BTreeSet<String>) {
    match json {
        Value::Array(items) => items.iter().for_each(|item| collect_names(item, names)),
        Value::Object(members) => {
            for (name, value) in members {
                names.insert(name.clone());
                collect_names(value, names);
            }
        }
        _ => {}
    }
}

fn shortened(value: &str) -> String {
    let length = value.chars().count();
    if length <= LONG {
        return value.to_owned();
    }
    let start: String = value.chars().take(LONG).collect();
    format!("{start}...[{length} characters]")
}

/// A text with `%` and two digits for some bytes.
pub(super) fn decoded(text: &str) -> String {
    let text = text.replace('+', "%2B").replace('&', "%26").replace('=', "%3D");
    let mut pairs = form_urlencoded::parse(text.as_bytes());
    pairs.next().map(|(name, _)| name.into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use ::audit::Info;

    fn arguments(path: &str, pairs: &[(&str, &str)]) -> String {
        let record = Record::new("ann", "x", Info::Succeeded);
        format!("{:?}", add(record, path, &Params::of(pairs), false))
    }

    #[test]
    fn secrets_are_not_told_and_other_values_are() {
        let pairs = [
            ("password", "s1"),
            ("sslPassword", "s2"),
            ("aws_secret_key", "s3"),
            ("roles", "user"),
        ];
        let text = arguments("/services/authentication/users", &pairs);
        assert!(text.contains("roles=user") && text.contains("password=********"), "{text}");
        assert!(["s1", "s2", "s3"].iter().all(|secret| !text.contains(secret)), "{text}");
        let property = arguments("/services/properties/inputs/http/token", &[("value", "s4")]);
        assert!(!property.contains("s4"), "{property}");
        let harmless = arguments("/services/properties/inputs/http/port", &[("value", "8088")]);
        assert!(harmless.contains("value=8088"), "{harmless}");
    }

    #[test]
    fn of_json_with_secrets_in_it_the_names_are_told() {
        let path = "/services/storage/collections/data/c";
        let query = arguments(path, &[("query", "{\"a\": {\"password\": \"s1\"}}")]);
        assert!(query.contains("password") && !query.contains("s1"), "{query}");
        let harmless = arguments(path, &[("query", "{\"a\": 7}")]);
        assert!(harmless.contains(": 7"), "{harmless}");
        for body in ["{\"color\": \"s1\"}", "[{\"color\": \"s1\"}]"] {
            let text = arguments("/services/messages", &[(body, "")]);
            assert!(text.contains("color") && !text.contains("s1"), "{text}");
        }
        let torn = arguments("/services/messages", &[("{\"password\": \"s1", ""), ("s2", "")]);
        assert!(!torn.contains("s1") && !torn.contains("s2"), "{torn}");
    }

    #[test]
    fn an_access_log_has_no_secrets() {
        for (uri, logged) in [
            ("/services/a", "/services/a"),
            ("/services/a?count=0&search=a%20b&x", "/services/a?count=0&search=a%20b&x"),
            ("/services/a?password=s1&f=b", "/services/a?password=********&f=b"),
            ("/services/a?pass%77ord=s1", "/services/a?pass%77ord=********"),
            ("/services/a?query={%22token%22:%22s1%22}", "/services/a?query=********"),
            ("/services/a?query={%22token%22:%22s1&s2%22}&x=1", "/services/a?query=********"),
            ("/services/a?query={%22a%22:7}&x=1", "/services/a?query={%22a%22:7}&x=1"),
            ("/services/a?{%22b%22:%22s1%22}", "/services/a?********"),
            ("/services/a?count=0&{%22b%22:%22s1&s2%22}", "/services/a?count=0&********"),
            (
                "/services/properties/inputs/http/token?value=s1",
                "/services/properties/inputs/http/token?value=********",
            ),
            ("/services/auth/oidc/callback?code=s1", "/services/auth/oidc/callback"),
            ("/servicesNS/-/-/auth/oidc/callback?code=s1", "/servicesNS/-/-/auth/oidc/callback"),
            (
                "/servicesNS/-/-/authentication/httpauth-tokens/s1?output_mode=json",
                "/servicesNS/-/-/authentication/httpauth-tokens/********?output_mode=json",
            ),
        ] {
            #[allow(clippy::unwrap_used)]
            let uri: Uri = uri.parse().unwrap();
            assert_eq!(logged_uri(&uri), logged);
        }
    }

    #[test]
    fn a_path_is_decoded() {
        assert_eq!(decoded("a%20b+c=d%2F"), "a b+c=d/");
    }
}
