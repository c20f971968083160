//! Headers sent with a call besides its messages: the trace context.

use tonic::Request;
use tonic::metadata::{Ascii, MetadataValue};
use transport::Call;

/// The headers of W3C Trace Context.
const HEADERS: [&str; 2] = ["traceparent", "tracestate"];

/// The headers of a call, which this crate passes on without reading them. Empty by default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CallContext(Vec<(&'static str, String)>);

impl CallContext {
    /// The headers of a received call.
    pub(crate) fn of(call: &Call) -> Self {
        let found = HEADERS.into_iter();
        found.filter_map(|name| Some((name, call.header(name)?.to_owned()))).collect()
    }

    /// The value of a header.
    #[must_use]
    pub fn header(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| *known == name).map(|(_, text)| text.as_str())
    }

    /// The request with these headers. Invalid header values are omitted, because tracing must not fail a
    /// search.
    pub(crate) fn with<T>(&self, message: T) -> Request<T> {
        let mut request = Request::new(message);
        for (name, text) in &self.0 {
            if let Ok(value) = text.parse::<MetadataValue<Ascii>>() {
                request.metadata_mut().insert(*name, value);
            }
        }
        request
    }
}

impl FromIterator<(&'static str, String)> for CallContext {
    fn from_iter<I: IntoIterator<Item = (&'static str, String)>>(headers: I) -> Self {
        Self(headers.into_iter().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_travel_and_what_cannot_be_one_is_left_out() {
        let context: CallContext =
            [("traceparent", "00-ab-cd-01".to_owned()), ("tracestate", "a\nb".to_owned())]
                .into_iter()
                .collect();
        let request = context.with(());
        let sent = |name: &str| request.metadata().get(name).and_then(|value| value.to_str().ok());
        assert_eq!((sent("traceparent"), sent("tracestate")), (Some("00-ab-cd-01"), None));
        assert_eq!(context.header("traceparent"), Some("00-ab-cd-01"));
    }
}
