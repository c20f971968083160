//! Tables in texts, such as the output of `top`, `ps` and `netstat`: a header line with column names, then
//! lines with values aligned with the names.
//!
//! Guarantees: every line gives at most one row, in order; no line causes an error.

/// The options for reading tables.
#[derive(Debug, Clone, Default)]
pub struct Reading {
    /// The index of the header line among the lines that are not empty, from 0; if `None`, the header is
    /// detected.
    pub header: Option<usize>,
    /// Whether there is no header: the columns are `Column_1` and so on.
    pub nameless: bool,
    /// Whether a later line may be the header of another table.
    pub several: bool,
}

/// A part of a line and its position, in characters.
#[derive(Debug, Clone, Copy)]
struct Token<'t> {
    text: &'t str,
    start: usize,
    end: usize,
    /// Its start in the line, in bytes.
    at: usize,
}

/// The separator between values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Separator {
    Blanks,
    Symbol(char),
}

#[derive(Debug)]
struct Header<'t> {
    line: &'t str,
    separator: Separator,
    columns: Vec<(String, usize, usize)>,
}

/// Visits each row of the tables in a text: its line, and its values with their column names.
#[allow(clippy::type_complexity, reason = "said in full in the line above")]
pub fn rows<'t>(text: &'t str, reading: &Reading, visit: &mut dyn FnMut(&'t str, &[(&str, &str)])) {
    let mut lines: Vec<(&str, bool)> = Vec::new();
    let mut after_gap = false;
    for line in text.lines() {
        if line.trim().is_empty() {
            after_gap = true;
            continue;
        }
        lines.push((line, std::mem::take(&mut after_gap)));
    }
    let (mut header, first) = if reading.nameless {
        let Some((line, _)) = lines.first() else { return };
        (Header::nameless(line), 0)
    } else {
        let found = reading.header.or_else(|| find_header(&lines));
        let Some((line, _)) = found.and_then(|at| lines.get(at)) else { return };
        (Header::new(line), found.map_or(0, |at| at + 1))
    };
    for (line, after_gap) in &lines[first.min(lines.len())..] {
        if reading.several && !reading.nameless {
            let begins = (*after_gap && looks_like_header(line) >= LIKELY) || *line == header.line;
            if begins {
                header = Header::new(line);
                continue;
            }
        }
        let values = header.values(line);
        if !values.is_empty() {
            visit(line, &values);
        }
    }
}

/// Minimum share of capitalised words in a line that is taken as a header.
const LIKELY: f64 = 0.75;

/// Returns the line that most looks like a header: only text, capitalised; the earliest one of equal rank.
fn find_header(lines: &[(&str, bool)]) -> Option<usize> {
    let looks: Vec<f64> = lines.iter().map(|(line, _)| looks_like_header(line)).collect();
    let likely = looks.iter().position(|look| *look >= LIKELY);
    let best = || {
        let best = looks.iter().copied().fold(0.0, f64::max);
        looks.iter().position(|look| *look > 0.0 && *look >= best)
    };
    likely.or_else(best)
}

/// Scores a line: 0 if it cannot be a header, 1 if all its words are capitalised.
#[allow(clippy::cast_precision_loss)]
fn looks_like_header(line: &str) -> f64 {
    let tokens = tokens(line, separator(line));
    let is_number = |token: &Token<'_>| token.text.starts_with(|c: char| c.is_ascii_digit());
    if tokens.len() < 2 || tokens.iter().any(is_number) {
        return 0.0;
    }
    let is_capital = |token: &&Token<'_>| {
        token.text.chars().find(|c| c.is_alphabetic()).is_some_and(char::is_uppercase)
    };
    let capital = tokens.iter().filter(is_capital).count();
    // The small constant ranks a line without capitalised words above 0, so that it is still a candidate.
    (capital as f64 + 0.01) / (tokens.len() as f64 + 0.01)
}

fn separator(line: &str) -> Separator {
    if line.contains('\t') {
        return Separator::Symbol('\t');
    }
    let commas = line.matches(',').count();
    let words = line.split_whitespace().count();
    if commas > 0 && commas + 1 >= words { Separator::Symbol(',') } else { Separator::Blanks }
}

fn tokens(line: &str, separator: Separator) -> Vec<Token<'_>> {
    let is_end = |c: char| match separator {
        Separator::Blanks => c.is_whitespace(),
        Separator::Symbol(symbol) => c == symbol,
    };
    let mut tokens = Vec::new();
    let mut begin: Option<(usize, usize)> = match separator {
        Separator::Blanks => None,
        Separator::Symbol(_) => Some((0, 0)),
    };
    let mut count = 0;
    for (at, c) in line.char_indices() {
        match (is_end(c), begin) {
            (true, Some((start, from))) => {
                tokens.push(Token { text: line[from..at].trim(), start, end: count, at: from });
                begin = None;
                if separator != Separator::Blanks {
                    begin = Some((count + 1, at + c.len_utf8()));
                }
            }
            (false, None) => begin = Some((count, at)),
            _ => {}
        }
        count += 1;
    }
    if let Some((start, from)) = begin {
        tokens.push(Token { text: line[from..].trim(), start, end: count, at: from });
    }
    tokens
}

impl<'t> Header<'t> {
    fn new(line: &'t str) -> Self {
        let separator = separator(line);
        let mut columns: Vec<(String, usize, usize)> = Vec::new();
        for token in tokens(line, separator) {
            let plain = field_name(token.text);
            let mut name = plain.clone();
            let mut number = 2;
            while !name.is_empty() && columns.iter().any(|(known, _, _)| *known == name) {
                name = format!("{plain}_{number}");
                number += 1;
            }
            columns.push((name, token.start, token.end));
        }
        Self { line, separator, columns }
    }

    fn nameless(line: &'t str) -> Self {
        let separator = separator(line);
        let columns = tokens(line, separator).into_iter().enumerate();
        let columns =
            columns.map(|(at, token)| (format!("Column_{}", at + 1), token.start, token.end));
        Self { line: "", separator, columns: columns.collect() }
    }

    /// Returns the values of a line with their column names, without empty values and columns without a name.
    fn values<'a>(&'a self, line: &'a str) -> Vec<(&'a str, &'a str)> {
        let tokens = tokens(line, self.separator);
        let count = self.columns.len();
        // Columns, with the byte range of their values in the line.
        let mut values: Vec<(usize, usize, usize)> = Vec::with_capacity(count);
        if self.separator == Separator::Blanks && tokens.len() < count {
            for token in tokens {
                let (column, end) = (self.below(token), token.at + token.text.len());
                match values.last_mut() {
                    // Tokens below the same column name are one value.
                    Some((last, _, to)) if *last == column => *to = end,
                    _ => values.push((column, token.at, end)),
                }
            }
        } else {
            for (at, token) in tokens.iter().enumerate().take(count) {
                let is_rest = at + 1 == count && self.separator == Separator::Blanks;
                let next = tokens.get(at + 1).map_or(line.len(), |next| next.at);
                let end = match self.separator {
                    _ if is_rest => line.len(),
                    Separator::Symbol(symbol) if next < line.len() => next - symbol.len_utf8(),
                    _ => next,
                };
                values.push((at, token.at, end));
            }
        }
        let value = |(at, from, to): (usize, usize, usize)| {
            (self.columns[at].0.as_str(), line.get(from..to).unwrap_or_default().trim())
        };
        let values = values.into_iter().map(value);
        values.filter(|(name, text)| !name.is_empty() && !text.is_empty()).collect()
    }

    /// Returns the first column whose name is above the value, otherwise the nearest column.
    fn below(&self, token: Token<'_>) -> usize {
        let distance = |(_, start, end): &(String, usize, usize)| {
            start.saturating_sub(token.end - 1).max((token.start + 1).saturating_sub(*end))
        };
        let nearest = self.columns.iter().enumerate().min_by_key(|(_, column)| distance(column));
        nearest.map_or(0, |(at, _)| at)
    }
}

/// Returns a valid field name: characters other than letters, digits and `_` become `_`.
fn field_name(text: &str) -> String {
    let clean = |c: char| if c.is_alphanumeric() || c == '_' { c } else { '_' };
    let name: String = text.chars().map(clean).collect();
    name.trim_start_matches('_').to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn check(text: &str, reading: &Reading, expected: &[&str]) {
        let mut out = Vec::new();
        rows(text, reading, &mut |_, values| {
            let values: Vec<String> = values.iter().map(|(n, v)| format!("{n}={v}")).collect();
            out.push(values.join(" "));
        });
        assert_eq!(out, expected, "{text}");
    }

    fn several() -> Reading {
        Reading { several: true, ..Reading::default() }
    }

    #[test]
    fn a_line_of_capitalised_words_names_the_columns() {
        let text =
            "Name     Age   Occupation\nJosh     42    Software Engineer\nFrancine 35    CEO";
        check(
            text,
            &several(),
            &[
                "Name=Josh Age=42 Occupation=Software Engineer",
                "Name=Francine Age=35 Occupation=CEO",
            ],
        );
        let top = "top - 10:00 up 1 day\nTasks: 128 total\n\n  PID USER  %CPU TIME+\n    1 root   0.3 0:01.2";
        check(top, &several(), &["PID=1 USER=root CPU=0.3 TIME_=0:01.2"]);
    }

    #[test]
    fn a_value_below_a_name_is_its_value() {
        let text = [
            "Proto Local           State",
            "tcp   127.0.0.1:22    LISTEN",
            "udp   0.0.0.0:53",
            "      [::1]:80        CLOSED",
        ];
        let text = &text.join("\n");
        check(
            text,
            &several(),
            &[
                "Proto=tcp Local=127.0.0.1:22 State=LISTEN",
                "Proto=udp Local=0.0.0.0:53",
                "Local=[::1]:80 State=CLOSED",
            ],
        );
    }

    #[test]
    fn tables_follow_each_other() {
        let text = "A B\n1 2\n\nC D\n3 4";
        check(text, &several(), &["A=1 B=2", "C=3 D=4"]);
        check(text, &Reading::default(), &["A=1 B=2", "A=C B=D", "A=3 B=4"]);
    }

    #[test]
    fn the_names_may_be_told_or_missing() {
        let text = "some words\nr b\n1 2";
        check(text, &Reading { header: Some(1), ..Reading::default() }, &["r=1 b=2"]);
        let nameless = Reading { nameless: true, ..Reading::default() };
        check("1 2\n3 4", &nameless, &["Column_1=1 Column_2=2", "Column_1=3 Column_2=4"]);
        check("1 2\n3 4", &several(), &[]);
    }

    #[test]
    fn commas_and_tabs_separate_too() {
        check(
            "Name, Age, Town\nTom, 12, New York\nLily,,Rome",
            &several(),
            &["Name=Tom Age=12 Town=New York", "Name=Lily Town=Rome"],
        );
        check("A b\tA b\n1 2\t3", &several(), &["A_b=1 2 A_b_2=3"]);
    }

    proptest! {
        #[test]
        fn any_text_is_survived(text in "\\PC{0,60}|[A-Za,\t\n 1é]{0,60}", nameless: bool) {
            let reading = Reading { nameless, several: true, header: None };
            rows(&text, &reading, &mut |_, values| assert!(!values.is_empty()));
        }
    }
}
