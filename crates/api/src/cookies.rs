//! The cookie of a browser's session.

use axum::http::{HeaderMap, HeaderValue, header};

/// The header that gives a browser its session.
pub(crate) fn cookie_header(name: &str, key: &str) -> Option<HeaderValue> {
    let cookie = format!("{name}={key}; Path=/; HttpOnly; Secure; SameSite=Strict");
    HeaderValue::from_str(&cookie).ok()
}

/// Its name and its value.
pub(crate) type Cookie = (String, String);

/// The cookies that logins set, `splunkd_<port>`, by name and value: a browser sends those of all servers of
/// a machine, in one header or in several.
pub(crate) fn cookie_sessions(headers: &HeaderMap) -> impl Iterator<Item = Cookie> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.flat_map(|line| line.split(';')).filter_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        let value = value.trim_matches('"').to_owned();
        name.starts_with("splunkd_").then(|| (name.to_owned(), value))
    })
}
