//! Protection against cross-site request forgery.
//!
//! A browser adds cookies and remembered passwords to requests of any page. A change without other
//! credentials is accepted only if it comes from a page of this server, according to the browser
//! (`Sec-Fetch-Site`, `Origin`), or has the form key that only such a page can read: `X-Splunk-Form-Key`,
//! equal to the cookie `splunkweb_csrf_token_<port>`. Session keys in a header are never added by browsers
//! and need neither. A request that reloads files counts as a change, also with GET: a page of another site
//! could send it as the address of an image.

use axum::http::{HeaderMap, HeaderValue, Method, header};

use crate::Arrival;
use crate::cookies::attribute;
use crate::effects::changes;
use crate::error::RestError;

/// The header in which a page sends the form key.
const FORM_KEY: &str = "x-splunk-form-key";
/// Begin of the name of the form key's cookie.
const FORM_KEY_COOKIE: &str = "splunkweb_csrf_token_";

/// Refuses requests that another site's page may have sent.
pub(crate) fn check(
    (method, path): (&Method, &str),
    headers: &HeaderMap,
    arrival: Arrival,
) -> Result<(), RestError> {
    if !changes(method, path) {
        return Ok(());
    }
    let by_cookie = match scheme(headers).as_deref() {
        None => true,
        Some("basic") => false,
        Some(_) => return Ok(()),
    };
    check_origin(headers, by_cookie && arrival.web)
}

/// Checks a login that asks for a cookie: otherwise another site could log in its own user.
pub(crate) fn check_login(headers: &HeaderMap) -> Result<(), RestError> {
    check_origin(headers, false)
}

fn check_origin(headers: &HeaderMap, key_needed: bool) -> Result<(), RestError> {
    if let Some(sent) = text(headers, FORM_KEY) {
        return if form_keys(headers).any(|key| key == sent) {
            Ok(())
        } else {
            Err(refused("X-Splunk-Form-Key is not the form key of this session"))
        };
    }
    if let Some(site) = text(headers, "sec-fetch-site") {
        return match site {
            "same-origin" | "none" => Ok(()),
            _ => Err(refused("the request comes from a page of another site")),
        };
    }
    if let Some(origin) = text(headers, header::ORIGIN.as_str()) {
        return if is_own(origin, headers) {
            Ok(())
        } else {
            Err(refused("the request comes from a page of another site (Origin)"))
        };
    }
    if key_needed {
        return Err(refused("a change by cookie needs X-Splunk-Form-Key"));
    }
    Ok(())
}

/// Whether a page of that origin belongs to this server: compared with the host that the client has
/// requested, here or at a proxy.
fn is_own(origin: &str, headers: &HeaderMap) -> bool {
    let Some((_, origin)) = origin.split_once("://") else { return false };
    let hosts = [header::HOST.as_str(), "x-forwarded-host"];
    hosts.iter().any(|name| text(headers, name).is_some_and(|host| same_host(host, origin)))
}

fn same_host(host: &str, origin: &str) -> bool {
    let plain = |text: &str| {
        let text = text.trim().to_ascii_lowercase();
        text.strip_suffix(":443").or(text.strip_suffix(":80")).unwrap_or(&text).to_owned()
    };
    plain(host) == plain(origin)
}

fn scheme(headers: &HeaderMap) -> Option<String> {
    let value = text(headers, header::AUTHORIZATION.as_str())?;
    value.split(' ').next().map(str::to_ascii_lowercase)
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn form_keys(headers: &HeaderMap) -> impl Iterator<Item = &str> {
    let cookies = headers.get_all(header::COOKIE).iter().filter_map(|value| value.to_str().ok());
    cookies.flat_map(|line| line.split(';')).filter_map(|pair| {
        let (name, value) = pair.trim().split_once('=')?;
        let value = value.trim_matches('"');
        (name.starts_with(FORM_KEY_COOKIE) && !value.is_empty()).then_some(value)
    })
}

/// The header that gives a page a new form key.
pub(crate) fn form_key_cookie(port: u16, secure: bool) -> Option<HeaderValue> {
    let key = runtime::random::uuid().simple();
    let secure = attribute(secure);
    let cookie = format!("{FORM_KEY_COOKIE}{port}={key}; Path=/;{secure} SameSite=Strict");
    HeaderValue::from_str(&cookie).ok()
}

fn refused(why: &str) -> RestError {
    RestError::forbidden(format!("CSRF validation failed: {why}"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use axum::http::HeaderName;

    use super::*;

    const COOKIE: (&str, &str) = ("cookie", "splunkd_8000=k; splunkweb_csrf_token_8000=17");

    fn taken(method: Method, sent: &[(&str, &str)], web: bool) -> bool {
        taken_at("/services/data/indexes", method, sent, web)
    }

    fn taken_at(path: &str, method: Method, sent: &[(&str, &str)], web: bool) -> bool {
        let header = |(name, value): &(&str, &str)| {
            (HeaderName::try_from(*name).unwrap(), HeaderValue::from_str(value).unwrap())
        };
        let mut headers: HeaderMap = sent.iter().map(header).collect();
        headers.insert(header::HOST, HeaderValue::from_static("karst:8000"));
        check((&method, path), &headers, Arrival { tls: true, web }).is_ok()
    }

    #[test]
    fn a_change_by_cookie_comes_from_a_page_of_this_server() {
        let post = |sent: &[(&str, &str)]| taken(Method::POST, &[&[COOKIE], sent].concat(), true);
        assert!(post(&[("origin", "https://karst:8000")]));
        assert!(post(&[("sec-fetch-site", "same-origin"), ("origin", "https://a")]));
        assert!(post(&[("x-splunk-form-key", "17")]));
        assert!(post(&[("origin", "https://logs.example"), ("x-forwarded-host", "logs.example")]));
        assert!(!post(&[("origin", "https://evil.example")]));
        assert!(!post(&[("origin", "null")]));
        assert!(!post(&[("sec-fetch-site", "same-site")]));
        assert!(!post(&[("x-splunk-form-key", "18")]));
        assert!(!post(&[]));
    }

    #[test]
    fn programs_with_a_cookie_change_things_at_the_management_port() {
        assert!(taken(Method::POST, &[COOKIE], false));
        assert!(!taken(Method::DELETE, &[COOKIE, ("origin", "https://evil.example")], false));
    }

    #[test]
    fn passwords_that_browsers_remember_are_no_proof_and_session_keys_are() {
        let foreign = ("origin", "https://evil.example");
        assert!(!taken(Method::POST, &[("authorization", "Basic eDp5"), foreign], false));
        assert!(taken(Method::POST, &[("authorization", "Basic eDp5")], true));
        assert!(taken(Method::POST, &[("authorization", "Splunk k"), foreign], true));
        assert!(taken(Method::POST, &[("authorization", "Bearer k"), foreign, COOKIE], true));
    }

    #[test]
    fn what_only_reads_is_not_asked() {
        assert!(taken(Method::GET, &[COOKIE, ("origin", "https://evil.example")], true));
    }

    #[test]
    fn a_get_that_reloads_files_is_checked_as_a_change() {
        let refresh =
            |sent: &[(&str, &str)]| taken_at("/services/debug/refresh", Method::GET, sent, true);
        assert!(!refresh(&[COOKIE, ("sec-fetch-site", "cross-site")]));
        assert!(!refresh(&[COOKIE]));
        assert!(refresh(&[COOKIE, ("sec-fetch-site", "none")]), "the address is typed");
        assert!(refresh(&[("authorization", "Splunk k"), ("sec-fetch-site", "cross-site")]));
        let sent = [COOKIE, ("sec-fetch-site", "cross-site")];
        assert!(!taken_at("/services/apps/local/_reload", Method::GET, &sent, true));
    }
}
