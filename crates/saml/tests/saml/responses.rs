//! Responses of real identity providers and in many forms; `fixtures/make` has the programs that created
//! them. Time is an argument: each response is read at its time of issue, unless a test sets another one.

use crate::fixture::{Fixture, ISSUED, fixture, settings, signed_by};
use karst_saml::{Error, Login, Settings, SignatureAlgorithm, Subject, UsedAssertions};

fn ann(login: &Login) -> (&str, Vec<&str>) {
    (&login.subject.name_id, login.groups.iter().map(String::as_str).collect())
}

#[test]
fn responses_of_providers_log_in() {
    let names = [
        "samlp-assertion",
        "samlp-response",
        "samlp-both",
        "pysaml2-assertion",
        "pysaml2-response",
        "pysaml2-both",
        "keycloak-assertion",
        "keycloak-response",
        "keycloak-both",
    ];
    for name in names {
        let login = fixture(name).login().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(ann(&login), ("ann", vec!["ops", "staff & \"friends\""]), "{name}");
        assert_eq!(login.real_name.as_deref(), Some("Ann O'Hara <ann>"), "{name}");
        assert_eq!(login.mail.as_deref(), Some("ann@example.org"), "{name}");
        assert!(login.subject.session_index.is_some(), "{name}");
    }
}

#[test]
fn forms_of_signatures_log_in() {
    let names = [
        "form-prefix-list",
        "form-default-in-prefix-list",
        "form-no-prefix-list",
        "form-ec256",
        "form-ec384",
        "form-indented",
        "form-default-namespace",
        "form-characters",
        "form-two-confirmations",
        "form-whole",
    ];
    for name in names {
        let login = fixture(name).login().unwrap_or_else(|error| panic!("{name}: {error}"));
        assert_eq!(ann(&login), ("ann", vec!["ops"]), "{name}");
        assert_eq!(login.expires, ISSUED + 300 + 120, "{name}");
    }
    let login = fixture("form-characters").login().unwrap();
    assert_eq!(login.real_name.as_deref(), Some("A\u{308}nn \u{1F600} \r<>&\"'\u{a0}z"));
    let login = fixture("form-prefix-list").login().unwrap();
    assert_eq!(login.mail.as_deref(), Some("ann@example.org"));
    let subject = Subject {
        name_id: "ann".to_owned(),
        format: None,
        session_index: Some("session-1".to_owned()),
    };
    assert_eq!((login.subject, login.assertion_id.as_str()), (subject, "_a"));
}

#[test]
fn what_the_right_key_signed_is_refused_if_it_does_not_fit() {
    let cases = [
        ("samlp-sha1", "no configured certificate|signature algorithm"),
        ("samlp-unsigned", "signature: there is none"),
        ("samlp-other-key", "no configured certificate made it"),
        ("samlp-encrypted", "encrypted assertions"),
        ("pysaml2-refusal", "Responder (AuthnFailed): wrong password"),
        ("bad-digest-sha1", "digest algorithm"),
        ("bad-inclusive", "not exclusive canonicalization"),
        ("bad-inclusive-info", "not exclusive canonicalization"),
        ("bad-with-comments", "not exclusive canonicalization"),
        ("bad-whole-document", "does not refer to the element that contains it"),
        ("bad-two-references", "unexpected content of SignedInfo"),
        ("bad-no-transforms-after", "unexpected content of Transforms"),
        ("bad-xpath", "unexpected content of Transforms"),
        ("bad-xpath-instead", "the first transform is not"),
        ("bad-object", "its parts are not the expected ones"),
        ("bad-hmac", "signature algorithm"),
        ("bad-unsolicited", "logins begin at this server"),
        ("bad-holder-of-key", "no bearer confirmation"),
        ("bad-no-confirmation-end", "confirmation has no end"),
        ("bad-no-conditions", "no Conditions"),
        ("bad-no-audience", "names no audience"),
        ("bad-two-audiences", "its audience is \"https://other.example.org\""),
        ("bad-condition", "unknown condition Condition"),
        ("bad-no-statement", "no AuthnStatement"),
        ("bad-two-statements", "several AuthnStatements"),
        ("bad-no-destination", "it is for \"\""),
        ("bad-session-end", "session at the provider has ended"),
        ("bad-name-element", "NameID contains elements"),
        ("bad-name-empty", "NameID is empty"),
        ("bad-two-names", "several NameID"),
        ("bad-issuer", "its issuer is \"https://evil.example.org\""),
        ("bad-version", "version is not 2.0"),
        ("bad-advice", "a Assertion where none belongs"),
        ("bad-local-time", "not a time in UTC"),
    ];
    for (name, expected) in cases {
        let error = fixture(name).login().expect_err(name).to_string();
        assert!(expected.split('|').any(|part| error.contains(part)), "{name}: {error}");
    }
}

#[test]
fn a_response_is_for_one_request_time_and_server() {
    let ok = || fixture("form-indented");
    let refused = |fixture: Fixture| fixture.login().unwrap_err().to_string();
    let other = |change: fn(&mut Settings)| {
        let mut fixture = ok();
        change(&mut fixture.settings);
        refused(fixture)
    };

    assert!(refused(ok().request("_other")).contains("answers another request"));
    assert!(refused(ok().at(ISSUED - 121)).contains("not valid yet"));
    assert!(ok().at(ISSUED - 120).login().is_ok());
    assert!(ok().at(ISSUED + 300 + 119).login().is_ok());
    assert!(refused(ok().at(ISSUED + 300 + 120)).contains("expired"));
    assert!(refused(ok().at(i64::MAX)).contains("expired"));
    assert!(refused(ok().at(i64::MIN)).contains("not valid yet"));
    assert!(other(|s| s.entity_id.push('/')).contains("its audience"));
    assert!(other(|s| s.issuer_id.push('/')).contains("its issuer"));
    assert!(other(|s| s.acs_url.push('/')).contains("it is for"));
    assert!(other(|s| s.whole_response = true).contains("the response has none"));
    assert!(other(|s| s.excluded_users.push("ann".to_owned())).contains("excludedUsers"));
    assert!(other(|s| s.signatures = vec![SignatureAlgorithm::RsaSha512]).contains("algorithm"));
    assert!(other(|s| s.digests.clear()).contains("digest algorithm"));

    // The response around a signed assertion can be changed by anyone; the signed confirmation inside is
    // decisive.
    let moved = ok().edit(" Destination=\"https://karst", " Destination=\"https://other");
    assert!(refused(moved).contains("it is for"));
    let other_request = " InResponseTo=\"_other\"";
    let answer = ok().edit(" InResponseTo=\"_request-of-the-tests\"", other_request);
    assert!(refused(answer).contains("answers another request"));
    let bare = |fixture: Fixture| {
        let fixture = fixture.edit(
            "Destination=\"https://karst.example.org:8000/saml/acs\" \
             InResponseTo=\"_request-of-the-tests\"",
            "",
        );
        assert!(!fixture.xml.contains("Destination"));
        fixture
    };
    assert!(bare(ok()).login().is_ok());
    assert!(refused(bare(ok()).request("_other")).contains("answers another request"));
    let mut fixture = bare(ok());
    fixture.settings.acs_url.push('/');
    assert!(refused(fixture).contains("its recipient is"));
    // A signed response must have a destination.
    assert!(fixture_with_whole_response().login().is_ok());
}

fn fixture_with_whole_response() -> Fixture {
    let mut fixture = fixture("pysaml2-response");
    fixture.settings.whole_response = true;
    fixture
}

#[test]
fn certificates_that_are_configured_count_and_no_others() {
    let mut fixture = fixture("samlp-assertion");
    for (certificates, is_accepted) in [
        (vec!["other", "ec256", "idp"], true),
        (vec!["other", "ec256"], false),
        (vec!["ec384"], false),
        (vec![], false),
    ] {
        fixture.certificates = certificates.iter().flat_map(|name| signed_by(name)).collect();
        assert_eq!(fixture.login().is_ok(), is_accepted, "{certificates:?}");
    }
}

#[test]
fn an_assertion_is_good_once() {
    let login = fixture("form-indented").login().unwrap();
    let mut used = UsedAssertions::default();
    assert_eq!(used.accept(&login, ISSUED), Ok(()));
    assert_eq!(used.accept(&login, ISSUED + 1), Err(Error::Replayed));
    let other = Login { assertion_id: "_b".to_owned(), ..login.clone() };
    assert_eq!(used.accept(&other, ISSUED + 2), Ok(()));
    assert_eq!(used.accept(&other, ISSUED + 3), Err(Error::Replayed));
}

#[test]
fn what_is_not_a_response_is_refused() {
    let login = |form_field: &str| {
        let (settings, certificates) = (settings(), signed_by("idp"));
        let expected = karst_saml::Expected { request_id: "_r", now: ISSUED };
        karst_saml::response::login(&settings, &certificates, form_field, expected)
    };
    assert!(matches!(login(""), Err(Error::Xml(_))));
    assert!(matches!(login("!"), Err(Error::Xml(_))));
    assert!(matches!(login("/w=="), Err(Error::Xml(_))));
    assert!(matches!(login("PGEvPg=="), Err(Error::Response(_))));
    assert!(matches!(login(&"A".repeat(800_000)), Err(Error::TooLarge(_))));
}
