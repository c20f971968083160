//! Below whose name a request looks: `/servicesNS/{owner}/{app}/..`.

use axum::extract::FromRequestParts;
use axum::http::request::Parts;

use crate::error::RestError;

/// The owner and the app in a request's path. Without them, in `/services/..`, those of the caller.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct PathNamespace {
    /// `nobody`: of all users; `-`: of any.
    pub(crate) owner: Option<String>,
    /// `-`: of any app.
    pub(crate) app: Option<String>,
}

impl PathNamespace {
    /// Splits a path into its namespace and the same path below `/services`.
    pub(crate) fn split(path: &str) -> (Self, String) {
        let Some(rest) = path.strip_prefix("/servicesNS/") else {
            return (Self::default(), path.to_owned());
        };
        let mut parts = rest.splitn(3, '/');
        let mut named = || parts.next().filter(|part| !part.is_empty()).map(decoded);
        let namespace = Self { owner: named(), app: named() };
        (namespace, format!("/services/{}", parts.next().unwrap_or_default()))
    }

    /// The app that a search runs in.
    pub(crate) fn search_app(&self) -> &str {
        self.app.as_deref().filter(|app| *app != "-").unwrap_or("search")
    }
}

/// A segment of a path without its escapes.
fn decoded(segment: &str) -> String {
    // A name with `=` or `&` is escaped there: a segment reads as a form with one name.
    let mut pairs = form_urlencoded::parse(segment.as_bytes());
    pairs.next().map(|(name, _)| name.into_owned()).unwrap_or_default()
}

impl<S: Send + Sync> FromRequestParts<S> for PathNamespace {
    type Rejection = RestError;
    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, RestError> {
        Ok(parts.extensions.get::<Self>().cloned().unwrap_or_default())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_has_a_namespace_only_below_services_ns() {
        let (namespace, path) = PathNamespace::split("/servicesNS/me%40x.org/-/saved/searches/a");
        assert_eq!(namespace.owner.as_deref(), Some("me@x.org"));
        assert_eq!(
            (namespace.app.as_deref(), path.as_str()),
            (Some("-"), "/services/saved/searches/a")
        );
        let (blank, _) = PathNamespace::split("/servicesNS/me%2Byou/an+app/search/jobs");
        assert_eq!(blank.owner.as_deref(), Some("me+you"));
        assert_eq!(blank.app.as_deref(), Some("an app"));
        let plain = PathNamespace::split("/services/search/jobs");
        assert_eq!(plain, (PathNamespace::default(), "/services/search/jobs".to_owned()));
    }
}
