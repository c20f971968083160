//! Settings of traces: the destination and the sampling, from the standard `OTEL_*` variables.
//!
//! An empty variable counts as not set. An invalid one stops the start, with its name: otherwise missing
//! traces would only be noticed when they are needed.

use std::collections::BTreeMap;
use std::fs;
use std::str::FromStr;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use axum::http::{HeaderName, HeaderValue, Uri};
use runtime::trace::{QueueSettings, Sampler};

/// The name of the service, unless something else is said.
const SERVICE: &str = "karst";

/// The transport of spans.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    Grpc,
    HttpProtobuf,
}

/// The values of the variables.
#[derive(Debug, Clone)]
pub(crate) struct Settings {
    pub(super) protocol: Protocol,
    /// The address of the collector for gRPC, the whole URL for HTTP.
    pub(super) endpoint: String,
    pub(super) headers: Vec<(HeaderName, HeaderValue)>,
    pub(super) gzip: bool,
    /// Time-out of a batch, including retries.
    pub(super) timeout: Duration,
    /// PEM of the authorities that may issue the collector's certificate; without it, those of the system.
    pub(super) authorities: Option<Vec<u8>>,
    pub(super) sampler: Sampler,
    pub(super) queue: QueueSettings,
    /// Attributes of the process.
    pub(super) resource: Vec<(String, String)>,
}

impl Settings {
    /// Reads the variables; `None` if no endpoint is set, or traces are disabled.
    ///
    /// # Errors
    /// The invalid variable, and its valid values.
    pub(crate) fn read(variables: &BTreeMap<String, String>) -> Result<Option<Self>> {
        let variables = Variables(variables);
        if variables.get("OTEL_SDK_DISABLED").is_some_and(|text| text.eq_ignore_ascii_case("true"))
        {
            return Ok(None);
        }
        match variables.get("OTEL_TRACES_EXPORTER") {
            None | Some("otlp") => {}
            Some("none") => return Ok(None),
            Some(other) => bail!("OTEL_TRACES_EXPORTER={other}: use otlp or none"),
        }
        let Some((name, endpoint)) = variables.of_traces("ENDPOINT") else { return Ok(None) };
        let protocol = match variables.of_traces("PROTOCOL") {
            None | Some((_, "http/protobuf")) => Protocol::HttpProtobuf,
            Some((_, "grpc")) => Protocol::Grpc,
            Some((name, other)) => bail!("{name}={other}: use grpc or http/protobuf"),
        };
        let endpoint = address(&name, endpoint, protocol)?;
        let headers = match variables.of_traces("HEADERS") {
            Some((name, text)) => headers(&name, text)?,
            None => Vec::new(),
        };
        let gzip = match variables.of_traces("COMPRESSION") {
            None | Some((_, "none")) => false,
            Some((_, "gzip")) => true,
            Some((name, other)) => bail!("{name}={other}: use gzip or none"),
        };
        let timeout = match variables.of_traces("TIMEOUT") {
            Some((name, text)) => milliseconds(&name, text)?,
            None => Duration::from_secs(10),
        };
        let authorities = variables.of_traces("CERTIFICATE").map(|(name, path)| {
            fs::read(path).with_context(|| format!("{name}={path}: cannot read the file"))
        });
        Ok(Some(Self {
            protocol,
            endpoint,
            headers,
            gzip,
            timeout,
            authorities: authorities.transpose()?,
            sampler: sampler(variables)?,
            queue: queue(variables)?,
            resource: resource(variables)?,
        }))
    }
}

#[derive(Clone, Copy)]
struct Variables<'a>(&'a BTreeMap<String, String>);

impl<'a> Variables<'a> {
    fn get(self, name: &str) -> Option<&'a str> {
        self.0.get(name).map(|text| text.trim()).filter(|text| !text.is_empty())
    }

    /// The variable of traces, or else that of all signals; with its name.
    fn of_traces(self, what: &str) -> Option<(String, &'a str)> {
        let names =
            [format!("OTEL_EXPORTER_OTLP_TRACES_{what}"), format!("OTEL_EXPORTER_OTLP_{what}")];
        names.into_iter().find_map(|name| self.get(&name).map(|text| (name, text)))
    }

    fn number(self, name: &str, otherwise: usize) -> Result<usize> {
        let Some(text) = self.get(name) else { return Ok(otherwise) };
        let number = text.parse().ok().filter(|number| (1..=1_000_000).contains(number));
        number.with_context(|| format!("{name}={text}: use a number from 1 to 1000000"))
    }
}

/// Returns the address to which spans are sent. Over HTTP, the address for all signals is a base URL.
fn address(name: &str, text: &str, protocol: Protocol) -> Result<String> {
    let example = match protocol {
        Protocol::Grpc => "http://collector:4317",
        Protocol::HttpProtobuf => "http://collector:4318",
    };
    let uri =
        text.parse::<Uri>().ok().filter(|uri| uri.host().is_some_and(|host| !host.is_empty()));
    let is_known = |uri: &Uri| matches!(uri.scheme_str(), Some("http" | "https"));
    if !uri.as_ref().is_some_and(is_known) {
        bail!("{name}={text}: is not the URL of a collector, such as {example}");
    }
    let is_of_all = name == "OTEL_EXPORTER_OTLP_ENDPOINT";
    if protocol == Protocol::HttpProtobuf && is_of_all {
        return Ok(format!("{}/v1/traces", text.trim_end_matches('/')));
    }
    Ok(text.to_owned())
}

fn milliseconds(name: &str, text: &str) -> Result<Duration> {
    let number = text.parse().ok().filter(|number| (1..=3_600_000).contains(number));
    let number =
        number.with_context(|| format!("{name}={text}: use milliseconds, 1 to 3600000"))?;
    Ok(Duration::from_millis(number))
}

/// Parses pairs as in `name=value,name=value`, values percent-encoded. Errors do not contain the values,
/// which may be secrets.
fn pairs(name: &str, text: &str) -> Result<Vec<(String, String)>> {
    let pair = |part: &str| {
        let (key, value) = part.split_once('=')?;
        let key = key.trim();
        (!key.is_empty()).then(|| (key.to_owned(), decoded(value.trim())))
    };
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty()).enumerate();
    let pairs = parts.map(|(at, part)| {
        let at = at + 1;
        pair(part).with_context(|| {
            format!("{name}: part {at} is not name=value; use name=value,name=value")
        })
    });
    pairs.collect()
}

/// A percent-encoded text. A `+` is one: it is common in tokens.
fn decoded(text: &str) -> String {
    let text = format!("v={}", text.replace('+', "%2B").replace('&', "%26"));
    let mut pairs = form_urlencoded::parse(text.as_bytes());
    pairs.next().map(|(_, value)| value.into_owned()).unwrap_or_default()
}

fn headers(name: &str, text: &str) -> Result<Vec<(HeaderName, HeaderValue)>> {
    let header = |(key, value): (String, String)| {
        let header = HeaderName::from_str(&key.to_ascii_lowercase());
        let header =
            header.ok().with_context(|| format!("{name}: {key} is not a name of a header"))?;
        let value = HeaderValue::from_str(&value).ok();
        let mut value =
            value.with_context(|| format!("{name}: the value of {key} is not one of a header"))?;
        value.set_sensitive(true);
        Ok((header, value))
    };
    pairs(name, text)?.into_iter().map(header).collect()
}

fn sampler(variables: Variables<'_>) -> Result<Sampler> {
    let ratio = || {
        let Some(text) = variables.get("OTEL_TRACES_SAMPLER_ARG") else { return Ok(1.0) };
        let ratio = text.parse::<f64>().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
        ratio.with_context(|| format!("OTEL_TRACES_SAMPLER_ARG={text}: use a number from 0 to 1"))
    };
    let by_parent = |root| Sampler::ParentBased(Box::new(root));
    Ok(match variables.get("OTEL_TRACES_SAMPLER") {
        None | Some("parentbased_always_on") => by_parent(Sampler::AlwaysOn),
        Some("parentbased_always_off") => by_parent(Sampler::AlwaysOff),
        Some("parentbased_traceidratio") => by_parent(Sampler::TraceIdRatioBased(ratio()?)),
        Some("always_on") => Sampler::AlwaysOn,
        Some("always_off") => Sampler::AlwaysOff,
        Some("traceidratio") => Sampler::TraceIdRatioBased(ratio()?),
        Some(other) => bail!(
            "OTEL_TRACES_SAMPLER={other}: use always_on, always_off, traceidratio, parentbased_always_on, \
             parentbased_always_off or parentbased_traceidratio"
        ),
    })
}

fn queue(variables: Variables<'_>) -> Result<QueueSettings> {
    let usual = QueueSettings::default();
    let spans = variables.number("OTEL_BSP_MAX_QUEUE_SIZE", usual.spans)?;
    let batch = variables.number("OTEL_BSP_MAX_EXPORT_BATCH_SIZE", usual.batch)?.min(spans);
    let name = "OTEL_BSP_SCHEDULE_DELAY";
    let delay = variables.get(name).map(|text| milliseconds(name, text)).transpose()?;
    Ok(QueueSettings { spans, batch, delay: delay.unwrap_or(usual.delay) })
}

fn resource(variables: Variables<'_>) -> Result<Vec<(String, String)>> {
    let name = "OTEL_RESOURCE_ATTRIBUTES";
    let mut attributes =
        variables.get(name).map(|text| pairs(name, text)).transpose()?.unwrap_or_default();
    let service = variables.get("OTEL_SERVICE_NAME");
    if let Some(service) = service {
        attributes.retain(|(key, _)| key != "service.name");
        attributes.push(("service.name".to_owned(), service.to_owned()));
    }
    if !attributes.iter().any(|(key, _)| key == "service.name") {
        attributes.push(("service.name".to_owned(), SERVICE.to_owned()));
    }
    Ok(attributes)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(variables: &[(&str, &str)]) -> Result<Option<Settings>> {
        let owned = |(name, text): &(&str, &str)| ((*name).to_owned(), (*text).to_owned());
        Settings::read(&variables.iter().map(owned).collect())
    }

    const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://collector:4318/");

    #[test]
    fn traces_are_off_without_an_endpoint_or_if_somebody_says_so() {
        for off in [
            &[][..],
            &[("OTEL_SERVICE_NAME", "logs"), ("OTEL_TRACES_SAMPLER", "nonsense")],
            &[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")],
            &[ENDPOINT, ("OTEL_SDK_DISABLED", "true")],
            &[ENDPOINT, ("OTEL_TRACES_EXPORTER", "none")],
        ] {
            assert!(read(off).unwrap().is_none(), "{off:?}");
        }
    }

    #[test]
    fn the_endpoint_of_all_signals_is_a_directory_and_that_of_traces_is_not() {
        let endpoint = |variables: &[(&str, &str)]| read(variables).unwrap().unwrap().endpoint;
        assert_eq!(endpoint(&[ENDPOINT]), "http://collector:4318/v1/traces");
        let of_traces = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://traces.example/otlp");
        assert_eq!(endpoint(&[ENDPOINT, of_traces]), "https://traces.example/otlp");
        let grpc = ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
        assert_eq!(endpoint(&[ENDPOINT, grpc]), "http://collector:4318/");
    }

    #[test]
    fn an_invalid_variable_is_named() {
        for (name, text) in [
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "collector:4317"),
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "unix:///run/collector"),
            ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json"),
            ("OTEL_EXPORTER_OTLP_TRACES_COMPRESSION", "zip"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "10s"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization"),
            ("OTEL_EXPORTER_OTLP_HEADERS", "a b=c"),
            ("OTEL_EXPORTER_OTLP_CERTIFICATE", "/nowhere.pem"),
            ("OTEL_TRACES_EXPORTER", "jaeger"),
            ("OTEL_TRACES_SAMPLER", "sometimes"),
            ("OTEL_BSP_MAX_QUEUE_SIZE", "0"),
            ("OTEL_BSP_SCHEDULE_DELAY", "-1"),
            ("OTEL_RESOURCE_ATTRIBUTES", "production"),
        ] {
            let error = read(&[ENDPOINT, (name, text)]).unwrap_err().to_string();
            assert!(error.starts_with(name), "{error}");
        }
        let ratio = ("OTEL_TRACES_SAMPLER", "traceidratio");
        let error = read(&[ENDPOINT, ratio, ("OTEL_TRACES_SAMPLER_ARG", "2")]).unwrap_err();
        assert!(error.to_string().starts_with("OTEL_TRACES_SAMPLER_ARG=2"), "{error}");
    }

    #[test]
    fn an_error_in_headers_does_not_tell_them() {
        let secret = ("OTEL_EXPORTER_OTLP_HEADERS", "a=b,Bearer s3cret");
        let error = read(&[ENDPOINT, secret]).unwrap_err().to_string();
        assert!(error.contains("part 2") && !error.contains("s3cret"), "{error}");
    }

    #[test]
    fn values_of_headers_and_attributes_are_percent_encoded() {
        let headers =
            ("OTEL_EXPORTER_OTLP_HEADERS", "Authorization=Basic%20YWI6Y+Q=, x-scope = a&b");
        let attributes = ("OTEL_RESOURCE_ATTRIBUTES", "deployment.environment=two%2Cthree");
        let read = read(&[ENDPOINT, headers, attributes]).unwrap().unwrap();
        let texts =
            read.headers.iter().map(|(name, value)| (name.as_str(), value.to_str().unwrap()));
        assert_eq!(
            texts.collect::<Vec<_>>(),
            [("authorization", "Basic YWI6Y+Q="), ("x-scope", "a&b")]
        );
        let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(
            read.resource,
            [pair("deployment.environment", "two,three"), pair("service.name", "karst")]
        );
    }

    #[test]
    fn the_name_of_the_service_comes_before_the_attributes() {
        let attributes = ("OTEL_RESOURCE_ATTRIBUTES", "service.name=a,b=c");
        let resource = |more| read(&[ENDPOINT, attributes, more]).unwrap().unwrap().resource;
        let names = |resource: Vec<(String, String)>| {
            let found = resource.into_iter().filter(|(key, _)| key == "service.name");
            found.map(|(_, value)| value).collect::<Vec<_>>()
        };
        assert_eq!(names(resource(("OTEL_SERVICE_NAME", ""))), ["a"]);
        assert_eq!(names(resource(("OTEL_SERVICE_NAME", "search"))), ["search"]);
    }
}
