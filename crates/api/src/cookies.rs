//! The cookie of a browser's session.

use axum::http::{HeaderMap, HeaderValue, header};

/// The header that gives a browser its session.
pub(crate) fn cookie_header(name: &str, key: &str) -> Option<HeaderValue> {
    let cookie = format!("{name}={key}; Path=/; HttpOnly; Secure; SameSite=Strict");
    HeaderValue::from_str(&cookie).ok()
}

/// Its name and its value.
pub(crate) type Cookie = (String, String);

/// The cookie that login sets, `splunkd_<port>`, by its name and value.
pub(crate) fn cookie_session(headers: &HeaderMap) -> Option<Cookie> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.flat_map(|line| line.split(';')).find_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        let value = value.trim_matches('"').to_owned();
        name.starts_with("splunkd_").then(|| (name.to_owned(), value))
    })
}
