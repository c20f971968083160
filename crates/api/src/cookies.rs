//! The cookies of a browser's session.

use axum::http::{HeaderMap, HeaderValue, header};

use crate::Arrival;

/// The header that gives a browser its session.
pub(crate) fn cookie_header(name: &str, key: &str, secure: bool) -> Option<HeaderValue> {
    let secure = attribute(secure);
    let cookie = format!("{name}={key}; Path=/; HttpOnly;{secure} SameSite=Strict");
    HeaderValue::from_str(&cookie).ok()
}

/// The header that takes the session from a browser.
pub(crate) fn removal_header(name: &str, secure: bool) -> Option<HeaderValue> {
    let secure = attribute(secure);
    let cookie = format!("{name}=; Path=/; Max-Age=0; HttpOnly;{secure} SameSite=Strict");
    HeaderValue::from_str(&cookie).ok()
}

/// Returns the attribute which restricts a cookie to TLS.
pub(crate) fn attribute(secure: bool) -> &'static str {
    if secure { " Secure;" } else { "" }
}

/// Whether a cookie may be restricted to TLS. A browser drops such a cookie at a plain HTTP address, and its
/// user could never log in. It keeps the cookie if it considers the address trustworthy, which includes the
/// local machine (`Sec-Fetch-Site` is sent there and with TLS only), or if a proxy adds the TLS.
pub(crate) fn is_secure(headers: &HeaderMap, arrival: Arrival) -> bool {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok());
    arrival.tls
        || !arrival.web
        || text("sec-fetch-site").is_some()
        || text("x-forwarded-proto").is_some_and(|proto| proto.eq_ignore_ascii_case("https"))
        || text("origin").is_some_and(|origin| origin.starts_with("https://"))
}

/// Its name and its value.
pub(crate) type Cookie = (String, String);

/// Returns the cookies of logins, `splunkd_<port>`, by name and value: a browser sends those of all servers
/// of a machine, in one header or in several.
pub(crate) fn cookie_sessions(headers: &HeaderMap) -> impl Iterator<Item = Cookie> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.flat_map(|line| line.split(';')).filter_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        let value = value.trim_matches('"').to_owned();
        name.starts_with("splunkd_").then(|| (name.to_owned(), value))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cookies_ask_for_tls_wherever_the_browser_has_it() {
        let headers = |name: &'static str, value: &'static str| {
            HeaderMap::from_iter([(name.parse().expect("a name"), HeaderValue::from_static(value))])
        };
        let (plain, tls) = (Arrival { tls: false, web: true }, Arrival { tls: true, web: true });
        assert!(is_secure(&HeaderMap::new(), tls));
        assert!(is_secure(&HeaderMap::new(), Arrival { tls: false, web: false }));
        assert!(is_secure(&headers("sec-fetch-site", "same-origin"), plain));
        assert!(is_secure(&headers("x-forwarded-proto", "https"), plain));
        assert!(is_secure(&headers("origin", "https://logs.example"), plain));
        assert!(!is_secure(&headers("origin", "http://10.0.0.7:8000"), plain));
        assert!(!is_secure(&HeaderMap::new(), plain));
    }

    #[test]
    fn scripts_and_other_sites_never_have_the_session() {
        let cookie = cookie_header("splunkd_8000", "k", true).expect("a header");
        assert_eq!(cookie, "splunkd_8000=k; Path=/; HttpOnly; Secure; SameSite=Strict");
        let cookie = cookie_header("splunkd_8000", "k", false).expect("a header");
        assert_eq!(cookie, "splunkd_8000=k; Path=/; HttpOnly; SameSite=Strict");
    }
}
