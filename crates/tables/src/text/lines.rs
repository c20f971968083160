//! Line-based differences of two texts in the formats of `diff`: unified or context.
//!
//! Guarantees: time and memory are bounded; texts that differ too much are shown as completely replaced.

use std::fmt::Write;
use std::ops::Range;

/// Number of unchanged lines shown around a difference.
const CONTEXT: usize = 3;
/// Maximum number of added and removed lines for which a minimal difference is computed.
const MOST_EDITS: usize = 1_000;

/// The format of a difference.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// `@@ -1 +1 @@`.
    Unified,
    /// `*** 1 ****` and `--- 1 ----`.
    Context,
}

impl Style {
    /// Returns the prefixes of the names of the two texts.
    pub(crate) fn marks(self) -> (&'static str, &'static str) {
        match self {
            Self::Unified => ("---", "+++"),
            Self::Context => ("***", "---"),
        }
    }
}

/// A run of lines that are in both texts, or in only one.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Part {
    one: Range<usize>,
    two: Range<usize>,
    same: bool,
}

/// Returns the difference of two texts; `None` if they are equal.
pub(crate) fn difference(one: &str, two: &str, style: Style) -> Option<String> {
    let (one, two): (Vec<&str>, Vec<&str>) = (one.lines().collect(), two.lines().collect());
    let parts = parts(&one, &two);
    if parts.iter().all(|part| part.same) {
        return None;
    }
    let mut out = String::new();
    for hunk in hunks(&parts) {
        let written = match style {
            Style::Unified => unified(&hunk, &one, &two, &mut out),
            Style::Context => with_context(&hunk, &one, &two, &mut out),
        };
        debug_assert!(written.is_ok(), "a string takes any text");
    }
    out.truncate(out.trim_end_matches('\n').len());
    Some(out)
}

/// Returns the texts as alternating runs of equal and different lines.
fn parts(one: &[&str], two: &[&str]) -> Vec<Part> {
    let begin = one.iter().zip(two).take_while(|(a, b)| a == b).count();
    let (rest_one, rest_two) = (&one[begin..], &two[begin..]);
    let end = rest_one.iter().rev().zip(rest_two.iter().rev()).take_while(|(a, b)| a == b).count();
    let (last_one, last_two) = (one.len() - end, two.len() - end);
    let mut matches: Vec<(usize, usize)> = (0..begin).map(|at| (at, at)).collect();
    let middle = common(&one[begin..last_one], &two[begin..last_two]);
    matches.extend(middle.into_iter().map(|(a, b)| (a + begin, b + begin)));
    matches.extend((0..end).map(|at| (last_one + at, last_two + at)));
    let mut parts: Vec<Part> = Vec::new();
    let (mut at_one, mut at_two) = (0, 0);
    for (a, b) in matches.into_iter().chain([(one.len(), two.len())]) {
        if at_one < a || at_two < b {
            parts.push(Part { one: at_one..a, two: at_two..b, same: false });
        }
        if a < one.len() && b < two.len() {
            match parts.last_mut() {
                Some(part) if part.same => (part.one.end, part.two.end) = (a + 1, b + 1),
                _ => parts.push(Part { one: a..a + 1, two: b..b + 1, same: true }),
            }
        }
        (at_one, at_two) = (a + 1, b + 1);
    }
    parts
}

/// Returns the lines of a longest common subsequence, as indexes in both texts (Myers' greedy algorithm).
fn common(one: &[&str], two: &[&str]) -> Vec<(usize, usize)> {
    let most = (one.len() + two.len()).min(MOST_EDITS);
    // `reach[most + k]` is the farthest index in the first text that was reached on diagonal `k`.
    let mut reach = vec![0_usize; 2 * most + 2];
    let mut trace: Vec<Vec<usize>> = Vec::new();
    for edits in 0..=most {
        trace.push(reach[most - edits..=most + edits].to_vec());
        for step in 0..=edits {
            let diagonal = most + 2 * step - edits;
            let down = step == 0 || (step < edits && reach[diagonal - 1] < reach[diagonal + 1]);
            let mut a = if edits == 0 {
                0
            } else if down {
                reach[diagonal + 1]
            } else {
                reach[diagonal - 1] + 1
            };
            // b = a - k, with k = diagonal - most.
            let mut b = a + most - diagonal;
            while a < one.len() && b < two.len() && one[a] == two[b] {
                a += 1;
                b += 1;
            }
            reach[diagonal] = a;
            if a >= one.len() && b >= two.len() {
                return walk_back(one.len(), two.len(), &trace);
            }
        }
    }
    Vec::new()
}

fn walk_back(mut a: usize, mut b: usize, trace: &[Vec<usize>]) -> Vec<(usize, usize)> {
    let mut matches = Vec::new();
    for (edits, reach) in trace.iter().enumerate().rev() {
        // Diagonals are counted from -edits.
        let diagonal = a + edits - b;
        let (before_a, before_b) = if edits == 0 {
            (0, 0)
        } else {
            let at = |diagonal: usize| reach.get(diagonal).copied().unwrap_or_default();
            let down =
                diagonal == 0 || (diagonal < 2 * edits && at(diagonal - 1) < at(diagonal + 1));
            let from = if down { diagonal + 1 } else { diagonal - 1 };
            let before = at(from);
            (before, before + edits - from)
        };
        while a > before_a && b > before_b {
            a -= 1;
            b -= 1;
            matches.push((a, b));
        }
        (a, b) = (before_a, before_b);
    }
    matches.reverse();
    matches
}

/// Returns the hunks: differences that are close together, with the lines around them.
fn hunks(parts: &[Part]) -> Vec<Vec<Part>> {
    let mut hunks: Vec<Vec<Part>> = Vec::new();
    let mut hunk: Vec<Part> = Vec::new();
    for (at, part) in parts.iter().enumerate() {
        if !part.same {
            hunk.push(part.clone());
            continue;
        }
        let (length, is_last) = (part.one.len(), at + 1 == parts.len());
        let head = length.min(CONTEXT);
        let first = |count: usize| Part {
            one: part.one.start..part.one.start + count,
            two: part.two.start..part.two.start + count,
            same: true,
        };
        let last = |count: usize| Part {
            one: part.one.end - count..part.one.end,
            two: part.two.end - count..part.two.end,
            same: true,
        };
        match (hunk.is_empty(), is_last) {
            (true, true) => {}
            (true, false) => hunk.push(last(head)),
            (false, true) => hunk.push(first(head)),
            (false, false) if length <= 2 * CONTEXT => hunk.push(part.clone()),
            (false, false) => {
                hunk.push(first(CONTEXT));
                hunks.push(std::mem::take(&mut hunk));
                hunk.push(last(CONTEXT));
            }
        }
    }
    if hunk.iter().any(|part| !part.same) {
        hunks.push(hunk);
    }
    hunks
}

/// Returns the line ranges of both texts that a hunk covers.
fn covered(hunk: &[Part]) -> (Range<usize>, Range<usize>) {
    let (first, last) = (hunk.first(), hunk.last());
    let range = |pick: fn(&Part) -> &Range<usize>| {
        first.map_or(0, |part| pick(part).start)..last.map_or(0, |part| pick(part).end)
    };
    (range(|part| &part.one), range(|part| &part.two))
}

fn unified(hunk: &[Part], one: &[&str], two: &[&str], out: &mut String) -> std::fmt::Result {
    let range = |range: Range<usize>| match range.len() {
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        length => format!("{},{length}", range.start + 1),
    };
    let (in_one, in_two) = covered(hunk);
    writeln!(out, "@@ -{} +{} @@", range(in_one), range(in_two))?;
    for part in hunk {
        let mark = if part.same { ' ' } else { '-' };
        for line in &one[part.one.clone()] {
            writeln!(out, "{mark}{line}")?;
        }
        if !part.same {
            for line in &two[part.two.clone()] {
                writeln!(out, "+{line}")?;
            }
        }
    }
    Ok(())
}

fn with_context(hunk: &[Part], one: &[&str], two: &[&str], out: &mut String) -> std::fmt::Result {
    let range = |range: &Range<usize>| match range.len() {
        0 => format!("{}", range.start),
        1 => format!("{}", range.start + 1),
        _ => format!("{},{}", range.start + 1, range.end),
    };
    let (in_one, in_two) = covered(hunk);
    writeln!(out, "***************\n*** {} ****", range(&in_one))?;
    let differs = |pick: fn(&Part) -> &Range<usize>| {
        hunk.iter().any(|part| !part.same && !pick(part).is_empty())
    };
    let mark = |part: &Part, alone: &'static str| match part.same {
        true => "  ",
        false if part.one.is_empty() || part.two.is_empty() => alone,
        false => "! ",
    };
    if differs(|part| &part.one) {
        for part in hunk {
            for line in &one[part.one.clone()] {
                writeln!(out, "{}{line}", mark(part, "- "))?;
            }
        }
    }
    writeln!(out, "--- {} ----", range(&in_two))?;
    if differs(|part| &part.two) {
        for part in hunk {
            for line in &two[part.two.clone()] {
                writeln!(out, "{}{line}", mark(part, "+ "))?;
            }
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_changed_line_is_shown_with_its_neighbours() {
        let (one, two) = ("a\nb\nc\nd\ne", "a\nb\nX\nd\ne");
        let expected = "@@ -1,5 +1,5 @@\n a\n b\n-c\n+X\n d\n e";
        assert_eq!(difference(one, two, Style::Unified).unwrap(), expected);
        let expected = "***************\n*** 1,5 ****\n  a\n  b\n! c\n  d\n  e\n\
                        --- 1,5 ----\n  a\n  b\n! X\n  d\n  e";
        assert_eq!(difference(one, two, Style::Context).unwrap(), expected);
    }

    #[test]
    fn differences_far_apart_are_hunks_of_their_own() {
        let one = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10";
        let two = "0\n1\n2\n3\n4\n5\n6\n7\n8\n9";
        let expected = "@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n@@ -7,4 +8,3 @@\n 7\n 8\n 9\n-10";
        assert_eq!(difference(one, two, Style::Unified).unwrap(), expected);
    }

    #[test]
    fn equal_texts_do_not_differ() {
        assert_eq!(difference("a\nb", "a\nb", Style::Unified), None);
        assert_eq!(difference("", "a", Style::Unified).unwrap(), "@@ -0,0 +1 @@\n+a");
    }

    proptest! {
        #[test]
        fn runs_cover_both_texts_and_match_where_they_say_so(
            one in "[ab\n]{0,30}",
            two in "[ab\n]{0,30}",
        ) {
            let (one, two): (Vec<&str>, Vec<&str>) = (one.lines().collect(), two.lines().collect());
            let (mut at_one, mut at_two) = (0, 0);
            for part in parts(&one, &two) {
                prop_assert_eq!((part.one.start, part.two.start), (at_one, at_two));
                if part.same {
                    prop_assert_eq!(&one[part.one.clone()], &two[part.two.clone()]);
                }
                (at_one, at_two) = (part.one.end, part.two.end);
            }
            prop_assert_eq!((at_one, at_two), (one.len(), two.len()));
        }
    }
}
