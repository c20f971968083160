//! Decides whether the first word of a search without a leading pipe is a command or a search term. The rule
//! is implemented only here; it depends on the source of the search:
//!
//! | the search comes from | its first word runs if it is |
//! | --- | --- |
//! | a client of REST: [`with_pipe`] | a command, also a custom one |
//! | a person, in the console or at the command line: [`with_search`] | a command that makes rows |
//! | a saved search: [`with_implied_search`] | `search` |
//!
//! A text that begins with a pipe, a subsearch or a macro is never changed. Comments in front of the first
//! word do not count; they stay in the text.

use std::borrow::Cow;

use crate::commands::{self, CommandKind};
use crate::custom::CustomCommands;

/// The mark before and after a comment.
const COMMENT: &str = "```";

/// Returns the text without the blanks and comments at its beginning. A comment that is not closed is left to
/// the parser.
#[must_use]
pub fn without_leading_comments(text: &str) -> &str {
    let mut rest = text.trim_start();
    while let Some((_, behind)) =
        rest.strip_prefix(COMMENT).and_then(|comment| comment.split_once(COMMENT))
    {
        rest = behind.trim_start();
    }
    rest
}

/// Returns whether a text begins with a command, as the text after a pipe does: `stats count`, but neither of
/// the search terms `stats=1` and `error`. A leading macro counts as a command.
#[must_use]
pub fn begins_with_command(text: &str, custom: &CustomCommands) -> bool {
    let begun = without_leading_comments(text);
    begun.starts_with('`') || names_command(begun, custom)
}

/// Adds the pipe that a REST client may leave out before a command other than `search`. `None` if there is
/// nothing to add because the first word is a search term.
#[must_use]
pub fn with_pipe(text: &str, custom: &CustomCommands) -> Option<String> {
    let text = text.trim_start();
    let begun = without_leading_comments(text);
    (!is_search(begun) && names_command(begun, custom)).then(|| format!("| {text}"))
}

/// Adds `search` to a search that a user typed, if the first word would otherwise run as a command:
/// `sort error` are two search terms, and `shout` could be the command of an app. Generating commands may
/// omit the pipe, but not under an alias (`macro failed`), and `rest` only with the path of a resource.
#[must_use]
pub fn with_search(text: &str) -> Cow<'_, str> {
    let text = text.trim_start();
    let begun = without_leading_comments(text);
    let name = built_in_name(begun).unwrap_or_default().to_ascii_lowercase();
    let runs = commands::find(&name).is_some_and(|definition| match definition.name {
        "search" => true,
        "rest" => begins_with_path(&begun[name.len()..]),
        own => definition.kind == CommandKind::Generating && own == name,
    });
    if runs || (name.is_empty() && custom_name(begun).is_none()) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("search {text}"))
}

/// Adds `search` to a saved search that does not begin with `search`, whatever its first word is.
#[must_use]
pub fn with_implied_search(text: &str) -> Cow<'_, str> {
    let begun = without_leading_comments(text);
    if begun.starts_with(['|', '[', '`']) || is_search(begun) {
        return Cow::Borrowed(text);
    }
    Cow::Owned(format!("search {text}"))
}

fn is_search(text: &str) -> bool {
    built_in_name(text).is_some_and(|name| name.eq_ignore_ascii_case("search"))
}

fn names_command(text: &str, custom: &CustomCommands) -> bool {
    let is_built_in = |name: &str| commands::find(&name.to_ascii_lowercase()).is_some();
    built_in_name(text).is_some_and(is_built_in)
        || custom_name(text).is_some_and(|name| custom.find(name).is_some())
}

/// Returns the first word if it can be the name of a command of this crate.
fn built_in_name(text: &str) -> Option<&str> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    first_word(text, is_part, |word, next| {
        "|[\"(,+-".contains(next) || (next == '/' && word.eq_ignore_ascii_case("rest"))
    })
}

/// Returns the first word if it can be the name of a custom command.
fn custom_name(text: &str) -> Option<&str> {
    let is_part = |c: char| c.is_alphanumeric() || "_-.".contains(c);
    first_word(text, is_part, |_, next| "|[]\",".contains(next))
}

/// Returns the first word if it is followed by a character that ends a name, and is not compared (`stats=1`).
fn first_word(
    text: &str,
    is_part: impl Fn(char) -> bool,
    is_end: impl Fn(&str, char) -> bool,
) -> Option<&str> {
    let (word, behind) = text.split_at(text.find(|c: char| !is_part(c)).unwrap_or(text.len()));
    let next = behind.chars().next();
    let ends = next.is_none_or(|next| next.is_whitespace() || is_end(word, next));
    let signs = ["=", "!=", "<", ">"];
    let is_compared = signs.iter().any(|sign| behind.trim_start().starts_with(sign));
    (!word.is_empty() && ends && !is_compared).then_some(word)
}

/// Returns whether the text continues with a path such as `/services/server/info`, after any options. Values
/// of options may be quoted and contain blanks.
fn begins_with_path(text: &str) -> bool {
    let is_name = |name: &str| {
        !name.starts_with('/') && !name.contains(|c: char| c.is_whitespace() || c == '"')
    };
    let mut rest = text.trim_start();
    while let Some((_, value)) = rest.split_once('=').filter(|(name, _)| is_name(name)) {
        let behind = match value.strip_prefix('"') {
            Some(quoted) => quoted.split_once('"').map_or("", |(_, behind)| behind),
            None => value.trim_start_matches(|c: char| !c.is_whitespace()),
        };
        rest = behind.trim_start();
        if rest.len() == behind.len() {
            return false;
        }
    }
    rest.trim_start_matches('"').starts_with('/')
}

#[cfg(test)]
mod tests {
    use super::*;

    fn custom() -> CustomCommands {
        CustomCommands::of(["shout".to_owned(), "count-to".to_owned()])
    }

    #[test]
    fn what_follows_a_pipe_begins_with_a_command() {
        for text in [
            "stats count",
            " Head 5",
            "search a=1",
            "head",
            "`counted`",
            "table[x]",
            "sort -n",
            "rest/services/server",
            "shout",
            "Shout x",
            "count-to end=3",
        ] {
            assert!(begins_with_command(text, &custom()), "{text}");
        }
        let none = CustomCommands::default();
        for text in [
            "error",
            "stats=1",
            "head != 3",
            "table:x",
            "table/x",
            "\"stats\" count",
            "shout=1",
            "shout:x",
            "",
        ] {
            assert!(!begins_with_command(text, &custom()), "{text}");
        }
        assert!(!begins_with_command("shout x", &none));
    }

    #[test]
    fn over_rest_every_command_may_lack_its_pipe() {
        let piped = |text: &str| with_pipe(text, &custom());
        for text in ["tstats count", "stats cout(", "bucket _time", "set failed", "shout a=b"] {
            assert_eq!(piped(text), Some(format!("| {text}")));
        }
        assert_eq!(piped(" makeresults"), Some("| makeresults".to_owned()));
        for text in [
            "| stats count",
            "search sort",
            "Search(a OR b)",
            "error",
            "stats=1",
            "`m`",
            "[search a]",
            "whisper",
            "",
        ] {
            assert_eq!(piped(text), None, "{text}");
        }
    }

    #[test]
    fn typed_words_are_searched_for_unless_they_make_rows() {
        let words = [
            "sort error",
            "Stats count",
            "table head",
            "transaction failed | head 5",
            "where",
            "rest failed",
            "rest",
            "rest status=500 failed /var/log",
            "rest x=\"a b\"c /var/log",
            "macro failed",
            "error",
            "shout",
            "web-01.example failed",
            "größe",
        ];
        for text in words {
            assert_eq!(with_search(text), format!("search {text}"));
        }
        let others = [
            "| stats count",
            "[a]",
            "`m`",
            "search sort",
            "stats=1",
            "index = main",
            "makeresults",
            "tstats count",
            "inputlookup a.csv | head 5",
            "rest /services/server/info",
            "REST count=0 \"/services/server/info?a=b\" | table a",
            "rest splunk_server=\"a b\" count=0 /services/server/info?a=b",
            "\"sort\" error",
            "(a OR b)",
            "",
        ];
        for text in others {
            assert_eq!(with_search(text), text);
        }
        assert_eq!(with_search(" sort error"), "search sort error");
    }

    #[test]
    fn comments_in_front_do_not_count() {
        assert_eq!(without_leading_comments(" ```a``` ```b|`c`\n``` | stats"), "| stats");
        for text in ["`m` ```a```", "a ```b```", "```a", "```a``", ""] {
            assert_eq!(without_leading_comments(text), text);
        }
        assert!(begins_with_command("```a``` stats count", &custom()));
        assert!(begins_with_command("```a``` `m`", &custom()));
        for text in ["```stats``` error", "```a```| stats count", "```a```"] {
            assert!(!begins_with_command(text, &custom()), "{text}");
            assert_eq!(with_pipe(text, &custom()), None, "{text}");
        }
        let piped = with_pipe("```a``` tstats count", &custom());
        assert_eq!(piped.as_deref(), Some("| ```a``` tstats count"));
        assert_eq!(with_pipe("```a``` search b", &custom()), None);
        assert_eq!(with_search("```a``` sort error"), "search ```a``` sort error");
        assert_eq!(with_implied_search("```a``` error"), "search ```a``` error");
        for text in ["```a``` | stats count", "```a``` search b", "```a``` `m`"] {
            assert_eq!(with_search(text), text);
            assert_eq!(with_implied_search(text), text);
        }
    }

    #[test]
    fn saved_words_are_searched_for_unless_the_first_is_search() {
        for text in ["tstats count", "makeresults", "index=main", "search=1", "shout", "a | b"] {
            assert_eq!(with_implied_search(text), format!("search {text}"));
        }
        for text in ["| tstats count", " search a", "Search(a OR b)", "search", "`m`", "[search a]"]
        {
            assert_eq!(with_implied_search(text), text);
        }
    }
}
