//! Fixtures, and the settings they were made for.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use conf::{Invalid, Layer, Layers, Reader};
use karst_saml::{Certificate, Console, Error, Expected, Login, Settings};

/// Time at which the responses of `make_forms.py` were issued.
pub(crate) const ISSUED: i64 = 1_893_456_000;
pub(crate) const REQUEST: &str = "_request-of-the-tests";

/// A response with the values that it has to match.
#[derive(Debug, Clone)]
pub(crate) struct Fixture {
    pub(crate) xml: String,
    pub(crate) settings: Settings,
    pub(crate) certificates: Vec<Certificate>,
    pub(crate) request: String,
    pub(crate) now: i64,
}

impl Fixture {
    pub(crate) fn login(&self) -> Result<Login, Error> {
        let expected = Expected { request_id: &self.request, now: self.now };
        let form_field = BASE64_STANDARD.encode(&self.xml);
        karst_saml::response::login(&self.settings, &self.certificates, &form_field, expected)
    }

    pub(crate) fn at(mut self, now: i64) -> Self {
        self.now = now;
        self
    }

    pub(crate) fn request(mut self, id: &str) -> Self {
        self.request = id.to_owned();
        self
    }

    /// Replaces a text, which must occur.
    pub(crate) fn edit(mut self, from: &str, to: &str) -> Self {
        assert!(self.xml.contains(from), "{from}");
        self.xml = self.xml.replacen(from, to, 1);
        self
    }

    pub(crate) fn with(&self, xml: String) -> Self {
        Self { xml, ..self.clone() }
    }
}

pub(crate) fn file(name: &str) -> String {
    // Tests run in the folder of their package. Its path is not compiled in: one target directory may serve
    // several clones.
    let path = format!("tests/fixtures/{name}");
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
}

pub(crate) fn signed_by(name: &str) -> Vec<Certificate> {
    Certificate::from_pem(file(&format!("{name}.pem")).as_bytes()).unwrap()
}

pub(crate) fn fixture(name: &str) -> Fixture {
    let xml = file(&format!("{name}.xml"));
    let certificates = ["idp", "ec256", "ec384"].iter().flat_map(|name| signed_by(name)).collect();
    let now = issued(&xml);
    Fixture { xml, settings: settings(), certificates, request: REQUEST.to_owned(), now }
}

fn issued(xml: &str) -> i64 {
    let (_, rest) = xml.split_once("IssueInstant=\"").unwrap();
    rest[..rest.find('"').unwrap()].parse::<jiff::Timestamp>().unwrap().as_second()
}

pub(crate) const CONF: &[(&str, &str)] = &[
    ("entityId", "https://karst.example.org"),
    ("issuerId", "https://idp.example.org/metadata"),
    ("idpSSOUrl", "https://idp.example.org/sso"),
    ("idpCertPath", "idp.pem"),
];

pub(crate) fn read(more: &[(&'static str, &'static str)]) -> Result<Settings, Invalid> {
    let console = Console { host: "karst.example.org".to_owned(), port: 8000, tls: true };
    // The last of repeated keys counts.
    let lines = CONF.iter().chain(more).map(|(key, value)| format!("{key} = {value}\n"));
    let text = format!("[idp]\n{}", lines.collect::<String>());
    let layers = Layers::builtin().with(Layer::SystemLocal, "authentication", &text);
    let conf = layers.effective("authentication");
    Settings::read(Reader::new(&conf, "idp"), Reader::new(&conf, "attributes"), &console)
}

pub(crate) fn settings() -> Settings {
    read(&[]).unwrap()
}
