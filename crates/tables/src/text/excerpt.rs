//! Selects the lines of a text that contain the most search words.

use std::cmp::Reverse;

/// Appends the `most` best lines of a text in their original order; the best lines contain the most words,
/// which are in lower case. `...` precedes a line that does not follow the previous one directly.
pub fn shorten(text: &str, words: &[String], most: usize, out: &mut String) {
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
    // A line next to a match explains it, so it counts half as much as its neighbours.
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
