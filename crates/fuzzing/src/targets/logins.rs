//! SAML responses of identity providers: a changed response is refused, or logs in as an original does.

use std::fs;
use std::path::Path;
use std::sync::LazyLock;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use conf::{Layer, Layers, Reader};
use saml::{Certificate, Console, Expected, Login, Settings};

use super::Target;

/// The responses that the tests of `saml` log in with.
static ORIGINALS: LazyLock<Originals> = LazyLock::new(Originals::read);

struct Originals {
    settings: Settings,
    certificates: Vec<Certificate>,
    texts: Vec<Vec<u8>>,
    logins: Vec<Login>,
}

impl Originals {
    fn read() -> Self {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../saml/tests/fixtures");
        let mut certificates = Vec::new();
        for name in ["idp.pem", "ec256.pem", "ec384.pem"] {
            let pem = fs::read(folder.join(name)).expect("the certificate can be read");
            certificates.extend(Certificate::from_pem(&pem).expect("it is a certificate"));
        }
        let listed = fs::read_dir(&folder).expect("the responses can be listed");
        let mut paths: Vec<_> = listed.flatten().map(|entry| entry.path()).collect();
        paths.retain(|path| path.extension().is_some_and(|own| own == "xml"));
        paths.sort();
        let mut read =
            Self { settings: settings(), certificates, texts: Vec::new(), logins: Vec::new() };
        for path in paths {
            let text = fs::read_to_string(path).expect("the response can be read");
            if let Some(login) = read.login(&text) {
                read.texts.push(text.into_bytes());
                read.logins.push(login);
            }
        }
        read
    }

    /// The login of a response at the time when it says that it was issued.
    fn login(&self, xml: &str) -> Option<Login> {
        let issued = xml.split("IssueInstant=\"").nth(1).and_then(|rest| rest.split('"').next());
        let issued = issued.and_then(|text| text.parse::<jiff::Timestamp>().ok());
        let now = issued.map_or(0, jiff::Timestamp::as_second);
        let expected = Expected { request_id: "_request-of-the-tests", now };
        let field = BASE64_STANDARD.encode(xml);
        saml::response::login(&self.settings, &self.certificates, &field, expected).ok()
    }
}

fn settings() -> Settings {
    let stanza = "[idp]\nentityId = https://karst.example.org\n\
                  issuerId = https://idp.example.org/metadata\n\
                  idpSSOUrl = https://idp.example.org/sso\nidpCertPath = idp.pem\n";
    let layers = Layers::builtin().with(Layer::SystemLocal, "authentication", stanza);
    let conf = layers.effective("authentication");
    let console = Console { host: "karst.example.org".to_owned(), port: 8000, tls: true };
    let settings =
        Settings::read(Reader::new(&conf, "idp"), Reader::new(&conf, "attributes"), &console);
    settings.expect("the settings are valid")
}

pub(super) const SAML: Target = Target {
    name: "saml",
    decode: |bytes| {
        let found = ORIGINALS.login(&String::from_utf8_lossy(bytes));
        assert!(found.is_none_or(|login| ORIGINALS.logins.contains(&login)), "another login");
    },
    seeds: || ORIGINALS.texts.clone(),
    words: &[
        "<!---->",
        "<![CDATA[x]]>",
        "<?x?>",
        "&#13;",
        "&amp;",
        " ID=\"_a\"",
        " xmlns=\"urn:x\"",
        " xmlns:saml=\"urn:x\"",
        "<saml:Assertion>",
        "</saml:Assertion>",
        "<ds:Signature/>",
        "\"",
        ">",
        "/>",
        "\u{a0}",
        "admin",
    ],
};
