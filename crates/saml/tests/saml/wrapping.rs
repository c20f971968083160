//! XML signature wrapping attacks, numbered as in the literature (SAML Raider): the signed element stays in
//! the document and verifies, and a forged one is put where a parser expects it.

use crate::fixture::{Fixture, fixture};

/// The pieces of a response that an attacker can rearrange.
struct Pieces {
    fixture: Fixture,
    /// The signed element, and a copy without its signature.
    signed: String,
    bare: String,
    signature: String,
    /// A forged element about another user, with another ID, without a signature.
    evil: String,
}

fn between(text: &str, name: &str) -> String {
    let open = text.find(&format!("<{name} ")).unwrap();
    let close = format!("</{name}>");
    text[open..text.rfind(&close).unwrap() + close.len()].to_owned()
}

/// Splits a response into its pieces; `name` is that of the signed element.
fn pieces(fixture: Fixture, name: &str, signature: &str) -> Pieces {
    let signed = between(&fixture.xml, name);
    let close = format!("</{signature}>");
    let from = signed.find(&format!("<{signature}")).unwrap();
    let to = signed.find(&close).unwrap() + close.len();
    let signature = signed[from..to].to_owned();
    let bare = signed.replacen(&signature, "", 1);
    let evil = bare.replace(">ann<", ">admin<").replacen(" ID=\"", " ID=\"evil", 1);
    assert!(evil.contains(">admin<") && evil.contains("\"evil"));
    Pieces { fixture, signed, bare, signature, evil }
}

/// Inserts a text at the end of an element.
fn inside(element: &str, text: &str) -> String {
    let at = element.rfind("</").unwrap();
    format!("{}{text}{}", &element[..at], &element[at..])
}

/// Inserts a text after an element's issuer, where signatures are.
fn after_issuer(element: &str, text: &str) -> String {
    let at = element.find("Issuer>").unwrap() + "Issuer>".len();
    let end = element[at..].find("Issuer>").map_or(at, |more| at + more + "Issuer>".len());
    let end = if element[..at].ends_with("</saml:Issuer>") { at } else { end };
    format!("{}{text}{}", &element[..end], &element[end..])
}

fn object(text: &str) -> String {
    format!("<ds:Object xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\">{text}</ds:Object>")
}

impl Pieces {
    /// The ways to wrap a signed response.
    fn of_response(&self) -> Vec<(&'static str, String)> {
        let Self { bare, signature, evil, .. } = self;
        let hiding = inside(signature, &object(bare));
        vec![
            ("1", after_issuer(evil, &inside(signature, bare))),
            ("1, in an object", after_issuer(evil, &hiding)),
            ("2", after_issuer(evil, &format!("{bare}{signature}"))),
            ("2, behind", after_issuer(evil, &format!("{signature}{bare}"))),
        ]
    }

    /// The ways to wrap a signed assertion.
    fn of_assertion(&self) -> Vec<(&'static str, String)> {
        let Self { fixture, signed, bare, signature, evil } = self;
        let response = |text: String| fixture.xml.replacen(signed, &text, 1);
        let extensions = |text: &str| {
            let p = "urn:oasis:names:tc:SAML:2.0:protocol";
            format!("<x:Extensions xmlns:x=\"{p}\">{text}</x:Extensions>")
        };
        let same_id = evil.replacen(" ID=\"evil", " ID=\"", 1);
        vec![
            ("3", response(format!("{evil}{signed}"))),
            ("3, behind", response(format!("{signed}{evil}"))),
            ("3, same ID", response(format!("{same_id}{signed}"))),
            ("4", response(inside(evil, signed))),
            ("4, same ID", response(inside(&same_id, signed))),
            ("5", response(format!("{}{bare}", after_issuer(evil, signature)))),
            ("5, same ID", response(format!("{}{bare}", after_issuer(&same_id, signature)))),
            ("6", response(after_issuer(evil, &inside(signature, bare)))),
            ("7", response(format!("{}{signed}", extensions(evil)))),
            ("7, turned", response(format!("{evil}{}", extensions(signed)))),
            ("8", response(after_issuer(evil, &inside(signature, &object(bare))))),
            ("8, signed", response(after_issuer(evil, &inside(signature, &object(signed))))),
            ("in the status", {
                let at = fixture.xml.find("StatusCode ").unwrap();
                let at = at + fixture.xml[at..].find("/>").unwrap() + 2;
                let text = fixture.xml.replacen(signed, evil, 1);
                format!("{}{signed}{}", &text[..at], &text[at..])
            }),
            ("no signature", response(evil.clone())),
            ("a moved signature", response(after_issuer(evil, signature))),
            (
                "an empty signature",
                response(after_issuer(
                    evil,
                    "<ds:Signature xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\"/>",
                )),
            ),
            ("two signatures", response(after_issuer(signed, signature))),
        ]
    }
}

fn refused(fixture: &Fixture, variants: Vec<(&str, String)>) {
    assert!(fixture.login().is_ok());
    for (name, xml) in variants {
        assert_ne!(xml, fixture.xml, "{name}");
        let answer = fixture.with(xml.clone()).login();
        assert!(answer.is_err(), "{name}: {answer:?}\n{xml}");
        // The refusal must have a specific reason: a parse error would refuse all documents.
        let error = answer.unwrap_err().to_string();
        assert!(
            !error.contains("not declared") && !error.contains("not closed"),
            "{name}: {error}"
        );
    }
}

#[test]
fn wrapped_responses_are_refused() {
    for (name, element, signature) in [
        ("samlp-response", "samlp:Response", "Signature"),
        ("samlp-both", "samlp:Response", "ds:Signature"),
        ("pysaml2-response", "ns0:Response", "ns2:Signature"),
        ("pysaml2-both", "ns0:Response", "ns2:Signature"),
        ("keycloak-response", "samlp:Response", "dsig:Signature"),
        ("keycloak-both", "samlp:Response", "dsig:Signature"),
    ] {
        let pieces = pieces(fixture(name), element, signature);
        refused(&pieces.fixture, pieces.of_response());
    }
}

#[test]
fn wrapped_assertions_are_refused() {
    for (name, element, signature) in [
        ("samlp-assertion", "saml:Assertion", "Signature"),
        ("samlp-both", "saml:Assertion", "ds:Signature"),
        ("pysaml2-assertion", "ns1:Assertion", "ns2:Signature"),
        ("pysaml2-both", "ns1:Assertion", "ns2:Signature"),
        ("keycloak-assertion", "saml:Assertion", "dsig:Signature"),
        ("keycloak-both", "saml:Assertion", "dsig:Signature"),
        ("form-ec256", "saml:Assertion", "ds:Signature"),
        ("form-default-namespace", "Assertion", "ds:Signature"),
    ] {
        let pieces = pieces(fixture(name), element, signature);
        refused(&pieces.fixture, pieces.of_assertion());
    }
}

#[test]
fn a_name_cannot_be_cut_short() {
    let ok = fixture("form-ec256");
    for edited in [
        "an<!-- -->n",
        "an<!---->n",
        "an<![CDATA[]]>n",
        "an<?x?>n",
        "an&x;n",
        "<b>ann</b>",
        "an<b/>n",
        "ann<b/>",
    ] {
        let edited = ok.clone().edit("<saml:NameID>ann<", &format!("<saml:NameID>{edited}<"));
        assert!(edited.login().is_err());
    }
    let entity =
        ok.clone().edit("<samlp:Response", "<!DOCTYPE x [<!ENTITY x \"\">]><samlp:Response");
    assert!(entity.login().unwrap_err().to_string().contains("a document type"));
}

#[test]
fn what_the_signature_says_about_itself_is_read_as_it_was_signed() {
    let ok = fixture("form-ec256");
    let digest = between(&ok.xml, "ds:Reference");
    let variants = [
        (
            "a second SignedInfo",
            "<ds:SignedInfo>",
            "<ds:SignedInfo></ds:SignedInfo><ds:SignedInfo>",
        ),
        ("a comment", "<ds:DigestValue>", "<ds:DigestValue><!--x-->"),
        (
            "a second digest",
            "<ds:DigestValue>",
            "<ds:DigestValue>AAAA</ds:DigestValue><ds:DigestValue>",
        ),
        ("another method", "ecdsa-sha256", "rsa-sha256"),
        ("no method", "<ds:SignatureMethod", "<ds:X"),
        ("another ID", "URI=\"#_a\"", "URI=\"#_r\""),
        ("no ID", "URI=\"#_a\"", ""),
        ("a key", "</ds:Signature>", "<ds:KeyInfo/><ds:KeyInfo/></ds:Signature>"),
        ("another namespace", "xmldsig#\"><ds:SignedInfo>", "xmldsig\"><ds:SignedInfo>"),
        ("a text", "<ds:SignatureValue>", "x<ds:SignatureValue>"),
    ];
    for (name, from, to) in variants {
        assert!(ok.clone().edit(from, to).login().is_err(), "{name}");
    }
    let twice = ok.clone().edit(&digest, &format!("{digest}{digest}"));
    assert!(twice.login().is_err());
    let key = ok.edit(
        "</ds:Signature>",
        "<ds:KeyInfo><ds:KeyName>x</ds:KeyName></ds:KeyInfo></ds:Signature>",
    );
    assert!(key.login().is_ok(), "what the message says about keys is not read");
}
