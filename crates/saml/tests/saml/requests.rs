//! Settings with Splunk's names, and the messages to the provider.

use std::io::Read;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::read::DeflateDecoder;
use karst_saml::{
    Certificate, Error, Settings, SignatureAlgorithm, SigningKey, Subject, metadata, request,
};
use ring::signature::{RSA_PKCS1_2048_8192_SHA256, UnparsedPublicKey};

use crate::fixture::{file, read, settings};

const NOW: i64 = 1_893_456_000;
const ENTROPY: [u8; request::ENTROPY_BYTES] = [0xAB; request::ENTROPY_BYTES];

fn key() -> SigningKey {
    SigningKey::from_pem(file("sp.pem").as_bytes()).unwrap()
}

fn query(url: &str) -> Vec<(String, String)> {
    let (_, query) = url.split_once('?').unwrap();
    form_urlencoded::parse(query.as_bytes()).into_owned().collect()
}

fn inflated(value: &str) -> String {
    let bytes = BASE64_STANDARD.decode(value).unwrap();
    let mut text = String::new();
    DeflateDecoder::new(bytes.as_slice()).read_to_string(&mut text).unwrap();
    text
}

#[test]
fn settings_have_splunks_names_and_defaults() {
    let settings = settings();
    assert_eq!(settings.acs_url, "https://karst.example.org:8000/saml/acs");
    assert_eq!(
        (settings.skew, settings.sign_requests, settings.whole_response),
        (120, false, false)
    );
    assert_eq!(settings.signatures, SignatureAlgorithm::ALL);
    assert_eq!(settings.attributes.real_name, "realName");

    let acs = |more: &[(&'static str, &'static str)]| read(more).unwrap().acs_url;
    assert_eq!(acs(&[("fqdn", "http://k.example.org")]), "http://k.example.org:8000/saml/acs");
    assert_eq!(
        acs(&[("fqdn", "k.example.org/"), ("redirectPort", "0")]),
        "https://k.example.org/saml/acs"
    );
    let signed = read(&[("clientCert", "sp.pem"), ("signatureAlgorithm", "rsa-sha512")]).unwrap();
    assert!(signed.sign_requests);
    assert_eq!(signed.signature_algorithm, SignatureAlgorithm::RsaSha512);
    let some = read(&[("inboundSignatureAlgorithm", "RSA-SHA1;RSA-SHA256; RSA-SHA384")]).unwrap();
    assert_eq!(some.signatures, [SignatureAlgorithm::RsaSha256, SignatureAlgorithm::RsaSha384]);
    let excluded = read(&[("excludedUsers", "Ann, bob,")]).unwrap().excluded_users;
    assert_eq!(excluded, ["ann", "bob"]);
}

#[test]
fn settings_that_are_wrong_or_weak_are_named() {
    for (name, value, expected) in [
        ("entityId", "", "this server's name"),
        ("issuerId", "", "the provider's entity ID"),
        ("idpCertPath", "", "a PEM file"),
        ("idpSSOUrl", "", "the provider's URL"),
        ("idpSSOUrl", "idp.example.org", "a URL"),
        ("idpSSOUrl", "https://", "a URL"),
        ("idpSSOUrl", "https://idp.example.org/#x", "a URL"),
        ("idpSLOUrl", "javascript:alert(1)", "a URL"),
        ("signedAssertion", "false", "unsigned assertions are not accepted"),
        ("ssoBinding", "HTTPPost", "HTTPRedirect"),
        ("idpAttributeQueryUrl", "https://idp.example.org", "attribute queries"),
        ("signAuthnRequest", "true", "a key in clientCert"),
        ("signAuthnRequest", "perhaps", "true or false"),
        ("signatureAlgorithm", "RSA-SHA1", "RSA-SHA256"),
        ("inboundSignatureAlgorithm", "RSA-SHA1", "SHA-1 is not accepted"),
        ("inboundDigestMethod", "MD5", "a list of SHA256"),
        ("assertionTimeSkew", "601", "0 to 600"),
        ("assertionTimeSkew", "-1", "0 to 600"),
        ("redirectPort", "70000", "from 0 to 65535"),
        ("fqdn", "ftp://x", "a host name"),
        ("fqdn", "x/y", "a host name"),
    ] {
        let error = read(&[(name, value)]).unwrap_err().to_string();
        assert!(
            error.contains(&format!("[idp] {name}")) && error.contains(expected),
            "{name}: {error}"
        );
    }
}

#[test]
fn a_login_request_is_in_the_url() {
    let settings = Settings {
        sso_url: "https://idp.example.org/sso?tenant=a&b=c".to_owned(),
        entity_id: "https://karst.example.org?a=1&b=<2>".to_owned(),
        name_id_format: Some("urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress".to_owned()),
        ..settings()
    };
    let sent = request::login(&settings, None, ENTROPY, "state", NOW).unwrap();
    assert!(sent.url.starts_with("https://idp.example.org/sso?tenant=a&b=c&SAMLRequest="));
    assert_eq!(sent.id, format!("_{}", "ab".repeat(20)));
    let query = query(&sent.url);
    assert_eq!(query[3], ("RelayState".to_owned(), "state".to_owned()));
    let message = inflated(&query[2].1);
    for part in [
        &format!("ID=\"{}\"", sent.id),
        "IssueInstant=\"2030-01-01T00:00:00Z\"",
        "Destination=\"https://idp.example.org/sso?tenant=a&amp;b=c\"",
        "AssertionConsumerServiceURL=\"https://karst.example.org:8000/saml/acs\"",
        "<saml:Issuer>https://karst.example.org?a=1&amp;b=&lt;2&gt;</saml:Issuer>",
        "Format=\"urn:oasis:names:tc:SAML:1.1:nameid-format:emailAddress\"",
    ] {
        assert!(message.contains(part), "{part}: {message}");
    }
    let long = request::login(&settings, None, ENTROPY, &"x".repeat(81), NOW);
    assert!(matches!(long, Err(Error::TooLarge(_))));
}

#[test]
fn a_signature_covers_the_query_as_it_is_sent() {
    let settings = read(&[("clientCert", "sp.pem")]).unwrap();
    let key = key();
    let sent = request::login(&settings, Some(&key), ENTROPY, "a b&c", NOW).unwrap();
    let (_, text) = sent.url.split_once('?').unwrap();
    let (signed, _) = text.rsplit_once("&Signature=").unwrap();
    let fields = query(&sent.url);
    let names: Vec<&str> = fields.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["SAMLRequest", "RelayState", "SigAlg", "Signature"]);
    let signature = BASE64_STANDARD.decode(&fields[3].1).unwrap();
    let certificate = key.certificate().unwrap();
    let (_, parsed) = x509_parser::parse_x509_certificate(certificate.der()).unwrap();
    let public = &parsed.public_key().subject_public_key.data;
    let public = UnparsedPublicKey::new(&RSA_PKCS1_2048_8192_SHA256, public.as_ref());
    public.verify(signed.as_bytes(), &signature).unwrap();
    assert!(matches!(request::login(&settings, None, ENTROPY, "", NOW), Err(Error::Key(_))));
}

#[test]
fn a_logout_names_user_and_session() {
    let subject = Subject {
        name_id: "ann <a>".to_owned(),
        format: Some("urn:x".to_owned()),
        session_index: Some("s-1".to_owned()),
    };
    assert_eq!(request::logout(&settings(), None, ENTROPY, &subject, NOW), Ok(None));
    let settings = read(&[("idpSLOUrl", "https://idp.example.org/slo")]).unwrap();
    let sent = request::logout(&settings, None, ENTROPY, &subject, NOW).unwrap().unwrap();
    let message = inflated(&query(&sent.url)[0].1);
    assert!(message.contains("<saml:NameID Format=\"urn:x\">ann &lt;a&gt;</saml:NameID>"));
    assert!(message.contains("<samlp:SessionIndex>s-1</samlp:SessionIndex>"));
}

#[test]
fn metadata_describes_this_server() {
    let text = metadata(&settings(), None);
    assert!(text.contains("entityID=\"https://karst.example.org\""));
    assert!(text.contains("AuthnRequestsSigned=\"false\""));
    assert!(text.contains("Location=\"https://karst.example.org:8000/saml/acs\""));
    assert!(!text.contains("KeyDescriptor"));
    let key = key();
    let text = metadata(&settings(), Some(&key));
    let certificate = BASE64_STANDARD.encode(key.certificate().unwrap().der());
    assert!(text.contains(&format!("<ds:X509Certificate>{certificate}</ds:X509Certificate>")));
}

#[test]
fn keys_and_certificates_that_cannot_be_used_are_refused() {
    for (pem, expected) in [
        ("", "no CERTIFICATE"),
        ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "certificate:"),
    ] {
        let error = Certificate::from_pem(pem.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    let encrypted =
        "-----BEGIN ENCRYPTED PRIVATE KEY-----\nAAAA\n-----END ENCRYPTED PRIVATE KEY-----\n";
    for (pem, expected) in [
        (file("idp.pem").as_str(), "no PRIVATE KEY"),
        (encrypted, "it is encrypted"),
        ("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n", "not an RSA key"),
    ] {
        let error = SigningKey::from_pem(pem.as_bytes()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error}");
    }
    assert_eq!(format!("{:?}", key()), "SigningKey { .. }");
}
