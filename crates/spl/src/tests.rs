//! Tests of the whole language: recovery, macros, limits, and random texts.
#![allow(clippy::disallowed_methods)]

mod pages;
mod written;

use std::iter::once;

use crate::ast::{Command, SearchExpr};
use crate::testing::{accepts, refuses, same};
use crate::{MacroResolver, ParseOptions};
use crate::{complete, parse, parse_expression, parse_with};

#[test]
fn searches_as_people_write_them_are_accepted() {
    accepts(&[
        "index=web sourcetype=access_combined status>=500 | stats count by host, uri_path | sort - count | head 20",
        "search index=_internal source=*metrics.log group=per_sourcetype_thruput | timechart span=1h sum(kb) by series limit=10 useother=f",
        "index=main \"failed password\" | rex field=_raw \"from (?<src_ip>\\d+\\.\\d+\\.\\d+\\.\\d+)\" | top limit=20 src_ip showperc=f",
        "| tstats count where index=* by index, sourcetype, _time span=1d | eval day=strftime(_time, \"%F\") | fields - _time",
        "index=a (error OR fail*) NOT debug | eval mb=round(bytes/1024/1024,2) | where mb>5 | table _time host mb",
        "| makeresults count=3 | streamstats count AS n | eval x=case(n=1,\"a\",n=2,\"b\",true(),\"c\")",
        "index=os | bin _time span=5m | stats avg(cpu) AS cpu max(mem) AS mem BY _time host | eventstats avg(cpu) AS mean",
        "index=json | spath path=user.name output=user | dedup user sortby -_time | rename user AS \"User name\"",
        "\n  index=x\n| stats count ``` how many ```\n    by host\n",
        "index=x | eval a=\"|\" | eval b=\"]\" | search [search index=y | fields host | eval c=\"]|[\"]",
    ]);
}

#[test]
fn unknown_commands_are_named_and_the_rest_is_still_checked() {
    refuses("* | boguscmd a", "Unknown search command 'boguscmd'.", "boguscmd");
    refuses("* | stats count | | head", "expected a command after '|'", "|");
    refuses("|", "expected a command after '|'", "");
    refuses("* | | ", "expected a command after '|'", "|");
    refuses("* | append [search a | ]", "expected a command after '|'", "]");
    let text = "* | boguscmd | satts count | eval a=foo(1)";
    let error = parse(text).map(|_| ()).expect_err(text);
    assert_eq!(error.0.len(), 3);
    assert_eq!(error.0[1].hint.as_deref(), Some("did you mean `stats`?"));
    let hint = |text: &str| parse(text).expect_err(text).0[0].hint.clone();
    let quotes = hint("* | stats count by length(cm)").expect("a hint");
    assert!(quotes.ends_with("... | eval x=length(...), or put the name of a field in quotes"));
    let learning = hint("| summary m").unwrap_or_default();
    assert!(learning.contains("Machine Learning Toolkit") && learning.contains("inputlookup"));
    if let Some(name) = crate::commands::NOT_YET.first() {
        let not_yet = format!("`{name}` is not part of Karst yet");
        assert_eq!(hint(&format!("* | {name} a b")), Some(not_yet));
    }
    assert_eq!(hint("* | eval a=rond(1)").as_deref(), Some("did you mean `round`?"));
    assert_eq!(hint("* | timechart limits=1 count").as_deref(), Some("did you mean `limit`?"));
}

#[test]
fn command_names_have_no_case_and_pipes_need_no_blanks() {
    same("*|STATS count|Head 5", "* | stats count | head 5");
    same("|makeresults|table a", "| makeresults | table a");
    same("* | stats count | ", "* | stats count");
    same("error |", "error");
}

#[test]
fn places_point_into_the_text_of_the_user() {
    let text = "index=ä | stats sum(größe) AS s";
    let pipeline = parse(text).expect(text);
    let span = pipeline.commands[1].span;
    assert_eq!(&text[span.start..span.end], "stats sum(größe) AS s");
    let Command::Stats(stats) = &pipeline.commands[1].node else { panic!("stats expected") };
    let span = stats.calls[0].span;
    assert_eq!(&text[span.start..span.end], "sum(größe) AS s");
    assert_eq!(stats.calls[0].text, "sum(größe)");
}

#[test]
fn time_modifiers_stand_apart_from_the_boolean_tree() {
    let text = "earliest=-1d@d error latest=now warn";
    let pipeline = parse(text).expect(text);
    let Command::Search(search) = &pipeline.commands[0].node else { panic!("search expected") };
    let values: Vec<&str> = search.time.iter().map(|modifier| modifier.value.as_str()).collect();
    assert_eq!(values, ["-1d@d", "now"]);
    assert!(matches!(&search.expr, Some(SearchExpr::And(members)) if members.len() == 2));
}

#[test]
fn escapes_tell_literal_stars_from_wildcards() {
    let text = r#"a\*b* path="C:\Windows\\x""#;
    let pipeline = parse(text).expect(text);
    let Command::Search(search) = &pipeline.commands[0].node else { panic!("search expected") };
    let Some(SearchExpr::And(members)) = &search.expr else { panic!("two members expected") };
    let SearchExpr::Term(term) = &members[0] else { panic!("a term expected") };
    assert_eq!(term.pattern.literals().collect::<Vec<_>>(), ["a*b"]);
    assert!(term.pattern.has_wildcard());
    let SearchExpr::Comparison(path) = &members[1] else { panic!("a comparison expected") };
    assert_eq!(path.value.pattern.as_literal(), Some(r"C:\Windows\x"));
}

#[test]
fn aggregations_are_named_as_written() {
    let text = "* | stats count c() sum( x ) count(eval(a=1)) dc(b) as \"d e\"";
    let pipeline = parse(text).expect(text);
    let Command::Stats(stats) = &pipeline.commands[1].node else { panic!("stats expected") };
    let names: Vec<&str> = stats.calls.iter().map(|call| call.output_name()).collect();
    assert_eq!(names, ["count", "count", "sum( x )", "count(eval(a=1))", "d e"]);
}

struct Macros;

impl MacroResolver for Macros {
    fn expand(&self, name: &str, arguments: &[String]) -> Result<String, String> {
        match (name, arguments) {
            ("web", []) => Ok("index=web | head".to_owned()),
            ("by", [count, field]) => Ok(format!("stats {count} by {field}")),
            ("days", []) => Ok("90".to_owned()),
            ("alerts", []) => Ok("sourcetype=\"a b\"".to_owned()),
            ("escaped", []) => Ok("\\\"x\\\"".to_owned()),
            ("ago", [unit]) => Ok(format!("-`days`{unit}")),
            ("loop", []) => Ok("`loop`".to_owned()),
            ("bomb", [depth]) if depth == "30" => Ok(String::new()),
            ("bomb", [depth]) => {
                let next = depth.parse::<u8>().unwrap_or(30) + 1;
                Ok(format!("`bomb({next})``bomb({next})`"))
            }
            _ => Err(format!("macro '{name}' with {} arguments is not defined", arguments.len())),
        }
    }

    fn defines(&self, name: &str, arguments: usize) -> bool {
        match arguments {
            0 => ["web", "days", "alerts", "escaped", "loop"].contains(&name),
            1 => name == "ago",
            _ => arguments == 2 && name == "by",
        }
    }
}

fn with_macros(text: &str) -> Result<String, crate::Diagnostics> {
    let options = ParseOptions { macros: Some(&Macros), ..ParseOptions::default() };
    parse_with(text, &options).map(|pipeline| pipeline.to_string())
}

#[test]
fn macros_are_expanded_before_parsing() {
    assert_eq!(
        with_macros("`web` 5 | `by(sum(a), b)`").as_deref(),
        Ok("search index=web | head limit=5 | stats sum(a) BY b")
    );
    let error = with_macros("a | `by(count, )`").expect_err("the list is empty");
    assert_eq!((error.0[0].span.start, error.0[0].span.end), (17, 17));
    let error = with_macros("a `nope(1)`").expect_err("it is not defined");
    assert_eq!(error.0[0].message, "macro 'nope' with 1 arguments is not defined");
    assert!(with_macros("`loop`").is_err());
    assert!(with_macros("`bomb(1)`").is_err());
    assert!(with_macros("a \"`web`\"").is_ok());
}

#[test]
fn patterns_match_with_their_case() {
    for (pattern, text, expected) in [
        ("Root", "Root", true),
        ("Root", "root", false),
        ("Ro*", "Root", true),
        ("*t*t", "Roott", true),
        ("*t*tt", "Rott", false),
        ("R*o", "Root", false),
        ("*", "", true),
        ("", "a", false),
    ] {
        assert_eq!(crate::parser::pattern_of(pattern).matches(text), expected, "{pattern} {text}");
    }
}

#[test]
fn macros_are_expanded_between_quotes_if_they_are_defined() {
    for (text, expected) in [
        ("* | eval a=\"`days`\"", "search * | eval a=\"90\""),
        ("* | eval a=\"`ago(d)`@d\", b=\"`days`\"", "search * | eval a=\"-90d@d\", b=\"90\""),
        ("earliest=\"-`days`d\" a", "search earliest=-90d a"),
        (
            "* | eval a=\"`x` `days(1)` ` days` `` ```\"",
            "search * | eval a=\"`x` `days(1)` ` days` `` ```\"",
        ),
        ("* | eval a=\"`x`days`y`\"", "search * | eval a=\"`x`days`y`\""),
        ("* | eval a=\"it`s `days`\"", "search * | eval a=\"it`s 90\""),
        ("* | eval a=\"`\"", "search * | eval a=\"`\""),
        // Quotes in an expansion would end the text.
        ("* | eval a=\"`alerts` `days`\"", "search * | eval a=\"`alerts` 90\""),
        ("* | eval a=\"`escaped`\"", "search * | eval a=\"\\\"x\\\"\""),
    ] {
        assert_eq!(with_macros(text).as_deref(), Ok(expected), "{text}");
    }
}

#[test]
fn nesting_and_length_are_bounded() {
    for text in [
        format!("{}a{}", "(".repeat(100_000), ")".repeat(100_000)),
        "NOT ".repeat(100_000),
        "[search ".repeat(100_000),
        format!("* | eval a={}1", "(".repeat(100_000)),
        format!("* | eval a={}1", "-".repeat(100_000)),
        format!("* | where {}a", "NOT ".repeat(100_000)),
        format!("* | eval a={}1", "abs(".repeat(100_000)),
        format!("* | eval a=1{}", "+1".repeat(100_000)),
        format!("* | stats {}", "sparkline(".repeat(50_000)),
        "* | append [".repeat(50_000),
        "a".repeat(2 << 20),
    ] {
        assert!(parse(&text).is_err(), "{}", &text[..30]);
    }
}

#[test]
fn long_flat_searches_are_fine() {
    let terms: Vec<String> = (0..20_000).map(|n| format!("a{n}=b")).collect();
    for text in [
        terms.join(" "),
        terms.join(" OR "),
        format!("* | where {}", terms.join(" OR ")),
        format!("x IN ({})", terms.join(", ")),
        format!("* | table {}", terms.join(", ").replace('=', "_")),
        "| head ".repeat(20_000),
    ] {
        assert!(parse(&text).is_ok());
    }
}

#[test]
fn expressions_stand_alone() {
    let expr = parse_expression(" if(a > 1, \"x\", 'b c') ").map(|expr| expr.to_string());
    assert_eq!(expr.as_deref(), Ok("if(a > 1, \"x\", 'b c')"));
    assert!(parse_expression("a | b").is_err());
    assert!(parse_expression("a b").is_err());
    assert!(parse_expression("").is_err());
}

/// A small random number generator: the texts are the same in every run.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % sides as u64).unwrap_or(0)
    }
}

/// Checks any text: no panic, valid positions, and an accepted text survives the round trip.
fn check_any(text: &str) {
    let _ = complete(text, text.len() / 2);
    let _ = parse_expression(text);
    match parse(text) {
        Ok(_) => accepts(&[text]),
        Err(error) => {
            for diagnostic in &error.0 {
                let span = diagnostic.span;
                assert!(text.get(span.start..span.end).is_some(), "{text}: {diagnostic:?}");
                let _ = diagnostic.render(text);
            }
        }
    }
}

#[test]
fn random_bytes_never_panic() {
    let mut dice = Dice(0x5eed);
    for _ in 0..3_000 {
        let length = dice.roll(60);
        let bytes: Vec<u8> =
            (0..length).map(|_| u8::try_from(dice.roll(256)).unwrap_or(0)).collect();
        check_any(&String::from_utf8_lossy(&bytes));
    }
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of tokens")]
fn random_soups_of_tokens_never_panic_and_round_trip() {
    const TOKENS: &[&str] = &[
        "|",
        "| ",
        " ",
        " ",
        " ",
        "(",
        ")",
        "[",
        "]",
        ",",
        "=",
        "!=",
        "<",
        ">=",
        "\"",
        "\"a b\"",
        "'c d'",
        "'",
        "\\",
        "\\\"",
        "*",
        "a*",
        "a",
        "b",
        "c.d{}",
        "5",
        "1.5",
        "-",
        "+",
        ".",
        "/",
        "%",
        "AND",
        "OR",
        "NOT",
        "IN",
        "LIKE",
        "XOR",
        "by",
        "BY",
        "as",
        "over",
        "where",
        "sortby",
        "search",
        "stats",
        "eval",
        "timechart",
        "chart",
        "table",
        "rename",
        "rex",
        "sort",
        "head",
        "count",
        "sum(",
        "dc(x)",
        "eval(",
        "span=5m",
        "limit=",
        "TERM(",
        "CASE(x)",
        "earliest=-1d",
        "if(",
        "round(",
        "true()",
        "ä",
        "\n",
        "```",
        "`",
        "$t$",
        "{x}",
        "top",
        "dedup",
        "bin",
        "fields",
        "tstats",
        "streamstats",
        "makeresults",
        "transpose",
        "replace",
        "with",
        "convert",
        "foreach",
        "<<FIELD>>",
        "mode=multivalue",
        "join",
        "left=L",
        "right=R",
        "where L.a=R.b",
        "type=left",
        "[search a | head 1]",
        "[makeresults]",
        "map",
        "search=\"x=$a$\"",
        "maxsearches=2",
        "union",
        "set",
        "savedsearch",
        "savedsearch:x",
        "loadjob",
        "multisearch",
        "selfjoin",
        "appendcols",
    ];
    let mut dice = Dice(0xface);
    for _ in 0..30_000 {
        let count = 1 + dice.roll(14);
        let mut text = if dice.roll(2) == 0 { String::new() } else { "* | ".to_owned() };
        for _ in 0..count {
            text.push_str(TOKENS[dice.roll(TOKENS.len())]);
            if dice.roll(3) > 0 {
                text.push(' ');
            }
        }
        check_any(&text);
    }
}

#[test]
fn every_example_of_the_documentation_is_accepted() {
    let folder = "../../docs/spl";
    let mut examples = 0;
    for command in crate::COMMANDS {
        let path = format!("{folder}/{}.md", command.name);
        let page = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
        for heading in ["## Syntax", "## Arguments", "## Examples"] {
            assert!(page.contains(heading), "{path} lacks {heading}");
        }
        assert!(page.contains(command.summary), "{path} lacks the summary");
        for block in page.split("```spl\n").skip(1) {
            accepts(&[block.split("```").next().unwrap_or_default()]);
            examples += 1;
        }
    }
    assert!(examples >= crate::COMMANDS.len());
}

/// `KARST_BLESS=1` writes the rows; that of a new command is appended, and has to be moved to its group by
/// hand.
#[test]
fn the_index_of_the_reference_lists_every_command_once() {
    let path = "../../docs/spl/README.md";
    let mut index = std::fs::read_to_string(path).expect("the index");
    let bless = std::env::var_os("KARST_BLESS").is_some();
    for command in crate::COMMANDS {
        let link = format!("| [{0}]({0}.md) |", command.name);
        let row = format!("{link} {} | {} |", kind_of(command), summary_of(command));
        let mut known = index.lines().filter(|line| line.starts_with(&link));
        match (known.next().map(str::to_owned), known.next()) {
            (_, Some(again)) => panic!("{path} lists {} twice: {again}", command.name),
            (Some(known), None) if known == row => {}
            (Some(known), None) if bless => index = index.replace(&known, &row),
            (None, None) if bless => {
                index.push_str(&row);
                index.push('\n');
            }
            (known, None) => {
                panic!("{path}: {known:?} is not {row}: run this test with KARST_BLESS=1")
            }
        }
    }
    if bless {
        std::fs::write(path, index).expect("the index");
    }
}

/// Tests the words that the console's editor highlights, the commands that need confirmation before a search
/// from a link runs, and those that may be first without a pipe. `KARST_BLESS=1` writes them.
#[test]
fn the_console_knows_the_words_of_the_language() {
    let path = "../../services/console/src/query/language.json";
    let commands = || crate::COMMANDS.iter();
    let names = |command: &'static crate::CommandDefinition| {
        once(command.name).chain(command.aliases.iter().copied())
    };
    let writing = commands().filter(|command| command.right.writes);
    let generating = commands().filter(|command| command.kind == crate::CommandKind::Generating);
    let lists: [(&str, Vec<&str>); 5] = [
        ("commands", commands().flat_map(names).collect()),
        ("writing", writing.flat_map(names).collect()),
        ("generating", generating.map(|command| command.name).collect()),
        ("functions", crate::functions::names().collect()),
        ("statistics", crate::stats_functions::names().collect()),
    ];
    let list = |(name, mut words): (&str, Vec<&str>)| {
        words.sort_unstable();
        words.dedup();
        let words: Vec<String> = words.iter().map(|word| format!("    \"{word}\"")).collect();
        format!("  \"{name}\": [\n{}\n  ]", words.join(",\n"))
    };
    let text = format!("{{\n{}\n}}\n", lists.map(list).join(",\n"));
    if std::env::var_os("KARST_BLESS").is_some() {
        std::fs::write(path, &text).expect("the console's sources");
    }
    let known = std::fs::read_to_string(path).unwrap_or_default();
    assert_eq!(known, text, "{path}: run this test with KARST_BLESS=1");
}

#[test]
fn the_page_of_the_console_lists_the_commands_that_may_lack_their_pipe() {
    let page = std::fs::read_to_string("../../docs/console.md").expect("the page");
    let (_, list) = page.split_once("may lack their pipe:").expect("the list");
    let list = list.split('.').next().unwrap_or_default();
    let told: Vec<&str> = list.split('`').skip(1).step_by(2).collect();
    let commands = crate::COMMANDS.iter();
    let generating = commands.filter(|command| command.kind == crate::CommandKind::Generating);
    assert_eq!(told, generating.map(|command| command.name).collect::<Vec<_>>());
}

fn kind_of(command: &crate::CommandDefinition) -> &'static str {
    use crate::CommandKind as Kind;
    match command.kind {
        _ if command.summary.starts_with("is not supported") => "-",
        Kind::Streaming => "streaming",
        Kind::Centralised => "centralized streaming",
        Kind::Transforming => "transforming",
        Kind::Dataset => "dataset processing",
        Kind::Generating => "generating",
    }
}

fn summary_of(command: &crate::CommandDefinition) -> String {
    match command.aliases {
        [] => command.summary.to_owned(),
        aliases => {
            let aliases: Vec<_> = aliases.iter().map(|alias| format!("`{alias}`")).collect();
            format!("{} (alias {})", command.summary, aliases.join(", "))
        }
    }
}
