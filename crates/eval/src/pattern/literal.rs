//! The literal that every match of a pattern contains: texts without it are skipped.

use regex_syntax::hir::{Hir, HirKind};

/// Returns the longest literal that every match of a pattern contains, in the syntax of the `regex` crate.
pub(super) fn required_literal(source: &str) -> Option<Vec<u8>> {
    let hir = regex_syntax::parse(source).ok()?;
    let mut run = Vec::new();
    let mut longest = Vec::new();
    gather(&hir, &mut run, &mut longest);
    end_run(&mut run, &mut longest);
    (!longest.is_empty()).then_some(longest)
}

/// Extends the current run of literal bytes with the bytes that an expression must begin with, or ends the
/// run.
fn gather(hir: &Hir, run: &mut Vec<u8>, longest: &mut Vec<u8>) {
    match hir.kind() {
        HirKind::Literal(literal) => run.extend_from_slice(&literal.0),
        HirKind::Capture(capture) => gather(&capture.sub, run, longest),
        HirKind::Concat(parts) => parts.iter().for_each(|part| gather(part, run, longest)),
        HirKind::Empty | HirKind::Look(_) => {}
        HirKind::Repetition(repetition) if repetition.min > 0 => {
            // The repeated part occurs once, and perhaps again: the text after it does not directly follow
            // the first occurrence.
            gather(&repetition.sub, run, longest);
            end_run(run, longest);
        }
        _ => end_run(run, longest),
    }
}

fn end_run(run: &mut Vec<u8>, longest: &mut Vec<u8>) {
    if run.len() > longest.len() {
        longest.clone_from(run);
    }
    run.clear();
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_literal_that_every_match_holds() {
        let cases = [
            ("session=ab12[0-9a-f]+", Some("session=ab12")),
            ("^GET /cart$", Some("GET /cart")),
            ("a(bc)d|x", None),
            ("(?i)error", None),
            ("x(error|warning) code", Some(" code")),
            ("(ab)+cd", Some("ab")),
            ("(ab){2}cd", Some("ab")),
            ("colou?r=red", Some("r=red")),
            ("a*", None),
            ("", None),
        ];
        for (source, expected) in cases {
            let found = required_literal(source).map(|bytes| String::from_utf8(bytes).unwrap());
            assert_eq!(found.as_deref(), expected, "{source}");
        }
    }
}
