//! Tests that the matcher finds the same matches as the `regex` crate.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;

fn spans(outcome: &Outcome, groups: usize) -> Option<Vec<Option<(usize, usize)>>> {
    match outcome {
        Outcome::Match(spans) => Some((0..groups).map(|group| spans.get(group)).collect()),
        Outcome::None => None,
        Outcome::GaveUp => panic!("gave up"),
    }
}

fn reference(pattern: &str, text: &str) -> Option<Vec<Option<(usize, usize)>>> {
    let groups = regex::Regex::new(pattern).unwrap().captures(text)?;
    Some(groups.iter().map(|group| group.map(|group| (group.start(), group.end()))).collect())
}

fn check(pattern: &str, text: &str) {
    let sequence = Sequence::compile(pattern).unwrap();
    let groups = regex::Regex::new(pattern).unwrap().captures_len();
    let found = spans(&sequence.search(text, 0), groups);
    assert_eq!(found, reference(pattern, text), "{pattern} in {text:?}");
}

#[test]
fn extractions_find_what_the_other_engine_finds() {
    let texts = [
        "",
        "a b c",
        "Dec 10 06:55:46 LabSZ sshd[24200]: Failed password for root from 1.2.3.4 port 5",
        "<34>Oct 11 22:14:15 mymachine su(pam_unix): 'su root' failed",
        "03-17 16:13:38.811  1702  2395 D WindowManager: printFreezingDisplayLogsopening app",
        "x - - [10/Oct] \"GET /a?b=1 HTTP/1.1\" 200 23 \"http://r\\\"x/\" \"Mozilla: é\"",
        "2015-07-29 17:41:41,536 - INFO  [main:QuorumPeerConfig@101] - Reading: é@1] - x",
    ];
    let patterns = [
        r"^(?:<([0-9]+)>)?[0-9A-Za-z_]{3}[ ]+[0-9]+[ ][0-9:]{8}[ ]([^ ]+)[ ]([^ \[(:]+)(?:\([^)]*\))?(?:\[([0-9]+)\])?:",
        r"^[^ ]+ [^ ]+ +([0-9]+) +([0-9]+) ([VDIWEF]) ([^:]+?) *: (.*)",
        r#"^([^ ]+) ([^ ]+) ([^ ]+) \[([^\]]+)\] "(?:([A-Z]+) )?([^ "]*)(?: ([^"]+))?" ([0-9]{3}) ([^ ]+)(?: "((?:[^"\\]|\\.)*)" "((?:[^"\\]|\\.)*)")?"#,
        r"^[^ ]+ [^ ]+ - (TRACE|DEBUG|INFO|WARN) +\[(.*):([^:@]+)@([0-9]+)\] - (.*)",
        r"for (?:invalid user )?([^ ]+) from ([^ ]+) port ([0-9]+)",
        r"^(.*?)(?:: |$)",
        r#"^[^"]*"[^"]*" [0-9]{3} [^ ]+(?: "(?:\\.|[^"\\])*" "((?:[^"\\]+|\\.)+)"(?: "([^"]*)")?)?(.*)"#,
        r#"^[^"]*"((?:[^"\\]|\\["\\])*)""#,
        r"(?-u:\b)?a(?-u:\b)",
        "^$",
    ];
    for pattern in patterns {
        let sequence = Sequence::compile(pattern).unwrap();
        if sequence.finds_beginnings() {
            texts.iter().for_each(|text| check(pattern, text));
        }
    }
}

#[test]
fn what_it_does_not_understand_it_declines() {
    for pattern in [r"(?:ab?){2,3}", "(?m)^a", "[^a]{3}", "[a-é]", "(?:a*)*", r"(?i)k"] {
        assert!(Sequence::compile(pattern).is_none(), "{pattern}");
    }
}

#[test]
fn quoted_strings_with_escapes_are_one_step() {
    let count = |pattern: &str| {
        let steps = Sequence::compile(pattern).unwrap().steps;
        steps.iter().filter(|step| matches!(step, Step::Escaped { .. })).count()
    };
    let strings = [
        r#""((?:[^"\\]|\\.)*)""#,
        r#""(?:\\.|[^"\\])+""#,
        r#"'(?:[^'\\]+|\\[^\n])*'"#,
        r"^CEF:([0-9]+)\|((?:[^|\\]|\\.)*)\|",
        r"^(?:[^,^]|\^.)*",
        r#"(?i)"((?:[^"\\]|\\.)*)""#,
        r#"(?x) " ( (?: [^"\\] | \\. )* ) ""#,
        r#"(?s)"((?:[^"\\]|\\.)*)""#,
    ];
    let texts = [
        r#""a\"b\\" "\é" "" "\"#,
        "\"a\\\n\" \"\\\n\"",
        r"'\'' '\\' 'a\é\",
        r"CEF:0|a\|b\\|c|d",
        "a^,b^^,c",
    ];
    for pattern in strings {
        assert_eq!(count(pattern), 1, "{pattern}");
        for text in texts {
            check(pattern, text);
        }
    }
    // What follows can begin like the string itself, so that a match may need less of it.
    let loops = [
        r#"^(?:[^"\\]|\\.)*b"#,
        r"^((?:[^,\\]|\\.)*)$",
        r#""(?:[^"]|\\.)*""#,
        r"^(?:[^,\\]|\\.)*?,",
        // Both cases of the letter are escapes.
        r"(?i)'(?:[^'x]|x.)*'",
    ];
    for pattern in loops {
        assert_eq!(count(pattern), 0, "{pattern}");
        for text in texts {
            check(pattern, text);
        }
    }
    // Each string is examined by itself.
    let mixed = [
        r#""((?:[^"\\]|\\.)*)" .* ((?:[^,\\]|\\.)*)$"#,
        r#"^((?:[^,\\]|\\.)*) "((?:[^"\\]|\\.)*)""#,
        r#"^(?:((?:[^,\\]|\\.)+) )?"((?:[^"\\]|\\.)*)" x((?:[^,\\]|\\.)*)y"#,
    ];
    let more = [r#"a\, "b \" c" x, y \, z"#, r#""a \" b" xy\y"#, r#"a "b" "c\"" xé y"#];
    for pattern in mixed {
        assert_eq!(count(pattern), 1, "{pattern}");
        for text in texts.iter().chain(&more) {
            check(pattern, text);
        }
    }
}

#[test]
fn a_search_that_goes_back_too_often_gives_up() {
    let sequence = Sequence::compile("^(?:a|b|ab)*c").unwrap();
    assert!(matches!(sequence.search(&"ab".repeat(100), 0), Outcome::GaveUp));
}

/// Generates a part of a pattern.
fn piece() -> impl Strategy<Value = String> {
    let repeat = prop_oneof!["[*+?]", "[*+?][?]", Just(String::new()), "\\{[0-2],3\\}"];
    let set = prop_oneof![
        Just("[ab]".to_owned()),
        Just("[^a]".to_owned()),
        Just("[^:é]".to_owned()),
        Just(".".to_owned()),
        Just("[a-c ]".to_owned()),
    ];
    let run = (set, repeat).prop_map(|(set, repeat)| format!("{set}{repeat}"));
    let escaped = prop_oneof![
        "\\(\\?:\\[\\^:a\\][+]?\\|a[.]\\)[*+]:",
        "\\(\\?:a\\[\\^c\\]\\|\\[\\^ab\\]\\)[*+][?]?b?",
        "\\(\\?:\\[b \\]\\|:[.]\\)[*+]",
        "\\(\\?:\\[\\^:a\\][+]?\\|a\\(\\?s:[.]\\)\\)[*+]:",
    ];
    let leaf = prop_oneof![run, escaped, "[abc:é ]{1,3}", Just("(?-u:\\b)".to_owned())];
    leaf.prop_recursive(3, 12, 3, |inner| {
        let some = prop::collection::vec(inner.clone(), 1..4);
        let any = prop::collection::vec(inner, 2..4);
        prop_oneof![
            some.clone().prop_map(|parts| format!("({})", parts.concat())),
            (some, "[*+?][?]?").prop_map(|(parts, r)| format!("(?:{}){r}", parts.concat())),
            any.prop_map(|ways| format!("(?:{})", ways.join("|"))),
        ]
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn both_engines_agree(
        pieces in prop::collection::vec(piece(), 1..5),
        from_start in any::<bool>(),
        text in "[abc:é \n]{0,12}",
    ) {
        let pattern = format!("{}{}", if from_start { "^" } else { "" }, pieces.concat());
        if let Some(sequence) = Sequence::compile(&pattern) {
            let groups = regex::Regex::new(&pattern).unwrap().captures_len();
            let expected = reference(&pattern, &text);
            if sequence.finds_beginnings() {
                let outcome = sequence.search(&text, 0);
                if !matches!(outcome, Outcome::GaveUp) {
                    prop_assert_eq!(spans(&outcome, groups), expected, "{}", pattern);
                }
            } else if let Some(expected) = expected {
                let begin = expected[0].unwrap().0;
                let outcome = sequence.match_at(&text, begin);
                if !matches!(outcome, Outcome::GaveUp) {
                    prop_assert_eq!(spans(&outcome, groups), Some(expected), "{}", pattern);
                }
            }
        }
    }
}
