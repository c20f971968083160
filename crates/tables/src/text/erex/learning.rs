//! Learns a regular expression for values similar to given examples.
//!
//! Values are described by their character classes, and their position by the text that always precedes and
//! follows them. Of the expressions that match the examples in the texts that contain one, and match no
//! counterexample, the most general one is used.

use regex::Regex;

/// Number of characters before a value that are examined.
const CONTEXT: usize = 24;

/// Returns an expression with a group `value`; `None` if no candidate fits.
pub(super) fn learn(
    with: &[&str],
    others: &[&str],
    examples: &[String],
    counterexamples: &[String],
) -> Option<Regex> {
    let values = descriptions(examples);
    let (before, behind) = host(with, examples);
    let mut candidates = Vec::new();
    for value in &values {
        let group = format!("(?P<value>{value})");
        if !before.is_empty() {
            candidates.push(format!("{}{group}{behind}", described(&before)));
            candidates.push(format!("{}{group}{behind}", regex::escape(&before)));
        }
        candidates.push(format!("(?:^|\\W){group}(?:\\W|$)"));
        candidates.extend(by_place(with, examples).map(|place| format!("{place}{group}")));
        if !behind.is_empty() {
            candidates.push(format!("{group}{behind}"));
        }
    }
    let fits = |pattern: &Regex| {
        let value = |text: &str| {
            let found = pattern.captures(text)?;
            Some(found.name("value")?.as_str().to_owned())
        };
        let is = |values: &[String], found: &Option<String>| {
            found.as_ref().is_some_and(|found| values.contains(found))
        };
        with.iter().all(|text| is(examples, &value(text)))
            && !others.iter().any(|text| is(counterexamples, &value(text)))
    };
    candidates.iter().filter_map(|pattern| Regex::new(pattern).ok()).find(fits)
}

/// Returns descriptions of the values, the most exact first: the sequence of their character classes, then
/// any run of the characters that occur.
fn descriptions(examples: &[String]) -> Vec<String> {
    let mut found = Vec::new();
    let mut shapes: Vec<String> = examples.iter().map(|example| described(example)).collect();
    shapes.sort();
    shapes.dedup();
    if shapes.len() == 1 {
        found.extend(shapes.iter().cloned());
        found.push(sized(examples));
    }
    let any = |test: fn(char) -> bool| examples.iter().any(|example| example.chars().any(test));
    let mut class = String::new();
    for (test, name) in [
        (char::is_numeric as fn(char) -> bool, "\\d"),
        (char::is_alphabetic, "\\p{L}"),
        (char::is_whitespace, "\\s"),
    ] {
        if any(test) {
            class.push_str(name);
        }
    }
    let mut signs: Vec<char> =
        examples.iter().flat_map(|example| example.chars()).filter(|c| is_sign(*c)).collect();
    signs.sort_unstable();
    signs.dedup();
    signs.into_iter().for_each(|sign| class.push_str(&format!("\\x{{{:x}}}", u32::from(sign))));
    found.push(format!("[{class}]+"));
    if shapes.len() > 1 {
        found.push(format!("(?:{})", shapes.join("|")));
    }
    if !any(char::is_whitespace) {
        found.push("\\S+".to_owned());
    }
    found
}

fn is_sign(c: char) -> bool {
    !(c.is_numeric() || c.is_alphabetic() || c.is_whitespace())
}

/// A run of characters of a class, or a single punctuation character.
#[derive(PartialEq)]
struct Run {
    /// The expression for one of its characters.
    one: String,
    length: usize,
    is_sign: bool,
}

fn runs(text: &str) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for c in text.chars() {
        let one = match c {
            c if c.is_numeric() => "\\d".to_owned(),
            c if c.is_alphabetic() => "\\p{L}".to_owned(),
            c if c.is_whitespace() => "\\s".to_owned(),
            c => regex::escape(c.encode_utf8(&mut [0; 4])),
        };
        match runs.last_mut() {
            Some(last) if !last.is_sign && last.one == one => last.length += 1,
            _ => runs.push(Run { one, length: 1, is_sign: is_sign(c) }),
        }
    }
    runs
}

/// Returns a text with its runs of digits, letters and spaces generalized.
fn described(text: &str) -> String {
    let piece = |run: Run| if run.is_sign { run.one } else { format!("{}+", run.one) };
    runs(text).into_iter().map(piece).collect()
}

/// Returns texts with the same description, with the lengths of their runs.
fn sized(texts: &[String]) -> String {
    let all: Vec<Vec<Run>> = texts.iter().map(|text| runs(text)).collect();
    let mut pattern = String::new();
    for (at, run) in all.first().into_iter().flatten().enumerate() {
        pattern.push_str(&run.one);
        let lengths = all.iter().filter_map(|runs| runs.get(at)).map(|run| run.length);
        if let (false, Some(least), Some(most)) =
            (run.is_sign, lengths.clone().min(), lengths.max())
        {
            pattern.push_str(&format!("{{{least},{most}}}"));
        }
    }
    pattern
}

/// Returns the position of the first example of each text: the text before, the value, the text after.
fn places<'t>(
    with: &'t [&'t str],
    examples: &'t [String],
) -> impl Iterator<Item = (&'t str, &'t str)> {
    with.iter().filter_map(|text| {
        let found = examples.iter().filter_map(|example| Some((text.find(example)?, example)));
        let (at, example) = found.min_by_key(|(at, example)| (*at, usize::MAX - example.len()))?;
        Some((&text[..at], &text[at + example.len()..]))
    })
}

/// Returns the text that always precedes values, and an expression for the text that always follows them.
fn host(with: &[&str], examples: &[String]) -> (String, String) {
    let mut before: Option<String> = None;
    let mut behind: Option<Option<char>> = None;
    for (left, right) in places(with, examples) {
        before = Some(match before {
            None => last_characters(left).to_owned(),
            Some(known) => {
                let same = known.chars().rev().zip(left.chars().rev());
                let count = same.take_while(|(a, b)| a == b).count();
                let from = known.chars().count() - count;
                known.chars().skip(from).collect()
            }
        });
        let next = right.chars().next();
        behind = Some(match behind {
            None => next,
            Some(known) => known.filter(|known| Some(*known) == next),
        });
    }
    let behind = behind.flatten().filter(|c| !c.is_alphanumeric());
    let behind = behind.map(|c| regex::escape(c.encode_utf8(&mut [0; 4])));
    (whole_words(before.unwrap_or_default()), behind.unwrap_or_default())
}

fn last_characters(text: &str) -> &str {
    let from = text.char_indices().rev().nth(CONTEXT - 1).map_or(0, |(at, _)| at);
    &text[from..]
}

/// Returns the text from its last word on: the end of a long text before values is its significant part.
fn whole_words(text: String) -> String {
    let word = text.trim_end().rfind(char::is_whitespace).map_or(0, |at| at + 1);
    text[word..].to_owned()
}

/// Returns expressions for values after a fixed number of the same punctuation character: `^(?:[^,]*,){3}`.
fn by_place<'t>(with: &'t [&'t str], examples: &'t [String]) -> impl Iterator<Item = String> + 't {
    [' ', ',', ';', '\t', '|', ':', '/'].into_iter().filter_map(move |sign| {
        let counts: Vec<usize> =
            places(with, examples).map(|(left, _)| left.matches(sign).count()).collect();
        let (first, ends) = (counts.first().copied()?, counts.windows(2).all(|p| p[0] == p[1]));
        let follows =
            places(with, examples).all(|(left, _)| left.is_empty() || left.ends_with(sign));
        let sign = regex::escape(sign.encode_utf8(&mut [0; 4]));
        (ends && follows).then(|| format!("^(?:[^{sign}]*{sign}){{{first}}}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn value(with: &[&str], others: &[&str], examples: &[&str], text: &str) -> Option<String> {
        let examples: Vec<String> = examples.iter().map(|text| (*text).to_owned()).collect();
        let pattern = learn(with, others, &examples, &["99/2".to_owned()])?;
        Some(pattern.captures(text)?.name("value")?.as_str().to_owned())
    }

    #[test]
    fn values_are_found_behind_the_same_word() {
        let with = ["login from port 3351 ssh2", "refused from port 3768 ssh2"];
        let found = value(&with, &[], &["3351", "3768"], "login from port 22 ssh2");
        assert_eq!(found.as_deref(), Some("22"));
        let found = value(&with, &[], &["port 3351", "port 3768"], "x from port 22 ssh2");
        assert_eq!(found.as_deref(), Some("port 22"));
    }

    #[test]
    fn values_are_found_by_their_look() {
        let with = ["at 7/01 it", "07/02 x"];
        let found = value(&with, &["rate 99/2"], &["7/01", "07/02"], "on 11/30 again");
        assert_eq!(found.as_deref(), Some("11/30"));
    }

    #[test]
    fn values_are_found_by_their_place() {
        let with = ["a,b,red,c", "dd,e1,blue,f"];
        let found = value(&with, &[], &["red", "blue"], "x,y,green,z");
        assert_eq!(found.as_deref(), Some("green"));
    }
}
