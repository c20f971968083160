//! Responses with changes at random places, as a fuzzer makes them. The seed is fixed.

use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};

use crate::fixture::{Fixture, fixture};

const NAMES: [&str; 8] = [
    "samlp-assertion",
    "samlp-response",
    "pysaml2-both",
    "pysaml2-assertion",
    "keycloak-response",
    "keycloak-both",
    "form-ec256",
    "form-prefix-list",
];

fn runner(cases: u32) -> TestRunner {
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]))
}

/// Checks that an accepted change does not change the login.
fn check(original: &Fixture, xml: String) -> Result<(), TestCaseError> {
    if let Ok(login) = original.with(xml.clone()).login() {
        let expected = original.login().ok();
        prop_assert_eq!(Some(login), expected, "{}", xml);
    }
    Ok(())
}

fn is_boundary(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

#[test]
fn a_changed_byte_is_refused_or_changes_nothing() {
    for name in NAMES {
        let original = fixture(name);
        let length = original.xml.len();
        let change = (0..length, prop::sample::select(b"<>\"'&;/ =:#!-?[]A0_\n\t".to_vec()));
        let changes = prop::collection::vec(change, 1..4);
        let tested = runner(400).run(&changes, |changes| {
            let mut bytes = original.xml.clone().into_bytes();
            for (at, byte) in changes {
                bytes[at] = byte;
            }
            match String::from_utf8(bytes) {
                Ok(xml) => check(&original, xml),
                Err(_) => Ok(()),
            }
        });
        tested.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn a_piece_that_is_moved_is_refused_or_changes_nothing() {
    for name in NAMES {
        let original = fixture(name);
        let text = &original.xml;
        let places: Vec<usize> = text.match_indices('<').map(|(at, _)| at).collect();
        let place = prop::sample::select(places);
        let tested = runner(400).run(&(place.clone(), place.clone(), place), |(a, b, to)| {
            let (from, until) = (a.min(b), a.max(b));
            let piece = &text[from..until];
            let copied = format!("{}{piece}{}", &text[..to], &text[to..]);
            check(&original, copied)?;
            let removed = format!("{}{}", &text[..from], &text[until..]);
            let to = is_boundary(&removed, to);
            check(&original, format!("{}{piece}{}", &removed[..to], &removed[to..]))?;
            check(&original, removed)
        });
        tested.unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn any_bytes_are_answered() {
    let original = fixture("form-ec256");
    let noise = "[<>a:/ =\"'&;!?#x\\[\\]-]{0,60}";
    let tested = runner(2_000).run(&noise.prop_map(String::from), |text| {
        prop_assert!(original.with(text).login().is_err());
        Ok(())
    });
    tested.unwrap();
}
