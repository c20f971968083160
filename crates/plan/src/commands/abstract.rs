//! `abstract`: the lines of an event's text that hold most words of the search.
//!
//! Split: runs where the rows are.

use std::cmp::Reverse;

use exprs::kernel::text;
use spl::ast::AbstractCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use crate::frame::Frame;

impl CommandPlan for AbstractCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(self, input.frame).map(Step::Next)
    }
}

const RAW: &str = "_raw";

pub(super) fn plan(command: &AbstractCommand, frame: Frame) -> Result<Frame, Error> {
    if frame.kind(RAW).is_none() {
        return Ok(frame);
    }
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let words = frame.words.iter().map(|word| word.replace('*', "").to_lowercase());
    let words: Vec<String> =
        words.filter(|word| !word.is_empty()).take(count(command.maxterms)).collect();
    let lines = count(command.maxlines);
    let parameters = format!("{lines} {words:?}");
    let shorten = text("abstract", move |row, out| {
        shorten(&row.text(0)?, &words, lines, out);
        Some(())
    });
    let value = shorten.with(parameters).call(vec![frame.field(RAW)]);
    frame.with_columns(vec![(RAW.to_owned(), value)])
}

/// The best lines in their order; `...` stands before a line that does not follow the one before it.
fn shorten(text: &str, words: &[String], most: usize, out: &mut String) {
    let lines: Vec<&str> = text.lines().collect();
    if lines.len() <= most {
        out.push_str(text);
        return;
    }
    let hits = |line: &&str| {
        let line = line.to_lowercase();
        words.iter().filter(|word| line.contains(word.as_str())).count()
    };
    let hits: Vec<usize> = lines.iter().map(hits).collect();
    // A line next to a hit explains it: it counts half of its neighbours.
    let score = |at: usize| {
        let before = at.checked_sub(1).map_or(0, |before| hits[before]);
        let behind = hits.get(at + 1).copied().unwrap_or_default();
        hits[at] * 2 + before + behind
    };
    let mut best: Vec<usize> = (0..lines.len()).collect();
    best.sort_by_key(|at| (Reverse(score(*at)), *at));
    best.truncate(most);
    best.sort_unstable();
    let mut expected = 0;
    for at in best {
        if !out.is_empty() {
            out.push('\n');
        }
        if at != expected {
            out.push_str("...");
        }
        out.push_str(lines[at]);
        expected = at + 1;
    }
}

#[cfg(test)]
mod tests {
    use super::shorten;

    fn check(text: &str, words: &[&str], most: usize, expected: &str) {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let mut out = String::new();
        shorten(text, &words, most, &mut out);
        assert_eq!(out, expected);
    }

    #[test]
    fn lines_with_words_of_the_search_and_their_neighbours_are_kept() {
        let text = "one\ntwo\nthree\nERROR four\nfive\nsix\nan error seven";
        check(text, &["error"], 3, "...three\nERROR four\n...an error seven");
        check(text, &["error"], 10, text);
        check(text, &[], 2, "one\ntwo");
    }
}
