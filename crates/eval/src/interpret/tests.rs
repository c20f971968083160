//! Expressions over one event, with the results that searches give.
#![allow(clippy::unwrap_used)]

use model::EventTime;

use super::{Expression, Scope};
use crate::value::{Datum, Value, ValueType};

struct Event;

impl Scope for Event {
    fn field(&self, name: &str) -> Datum<'_> {
        match name {
            "s" => Datum::text("Hello World"),
            "n" => Datum::text("3.14159"),
            "pattern" => Datum::text("l+"),
            "json" => Datum::text(r#"{"a":{"b":[1,2,{"c":"x"}]},"t":"text","n":null}"#),
            "_time" => Datum::View(Value::Time(1_700_000_000_250_000)),
            "mv" => Datum::Multi(["b", "a", "10", "9", "a"].map(str::to_owned).to_vec()),
            _ => Datum::NULL,
        }
    }

    fn names(&self) -> Vec<String> {
        ["s", "_time", "mv", "none"].map(str::to_owned).to_vec()
    }

    fn now(&self) -> EventTime {
        EventTime(1_700_000_000_000_000)
    }
}

fn kind(name: &str) -> ValueType {
    match name {
        "_time" => ValueType::Time,
        "mv" => ValueType::Multi,
        _ => ValueType::Text,
    }
}

/// Checks the result of an expression; null is `-`, several values are joined by `|`.
fn check(text: &str, expected: &str) {
    let expression = Expression::compile(text, &kind).unwrap();
    let value = expression.evaluate(&Event);
    let mut texts = Vec::new();
    value.get().each_text(|text| texts.push(text.to_owned()));
    let found = if texts.is_empty() { "-".to_owned() } else { texts.join("|") };
    assert_eq!(found, expected, "{text}");
}

#[test]
fn operators_follow_the_search_language() {
    check("1 + 2 * 3", "7");
    check("\"1\" + \"2\"", "12");
    check("n + 1", "4.14159");
    check("s + n", "Hello World3.14159");
    check("n + n", "6.28318");
    check("s + 1", "-");
    check("s . \"!\"", "Hello World!");
    check("s . none", "-");
    check("7 % 4", "3");
    check("1 / 0", "-");
    check("-n", "-3.14159");
    check("n > 3 AND s = \"Hello World\"", "True");
    check("none = 1 OR true()", "True");
    check("none = 1 AND true()", "-");
    check("NOT none = 1", "-");
    check("s LIKE \"Hello%\"", "True");
    check("s IN (\"a\", \"Hello World\")", "True");
    check("in(n, 1, 2)", "False");
    check("mv = \"10\"", "True");
    check("_time", "1700000000.250000");
    check("_time + 1", "1700000001.25");
    check("8.250 * 0.2", "2");
    check("8.250 * 0.200", "1.65");
    check("exact(0.1 + 0.2)", "0.30000000000000004");
    check("n * 2", "6.28318");
    check("n * 2.0", "6.3");
    check("sigfig(1.00 * 1111)", "1110");
    check("true AND false", "False");
    check("'true'", "-");
}

#[test]
fn texts_are_cut_and_changed() {
    check("len(s)", "11");
    check("len(\"äöü\")", "3");
    check("lower(s)", "hello world");
    check("upper(mv)", "B|A|10|9|A");
    check("substr(s, 1, 5)", "Hello");
    check("substr(s, -5, 3)", "Wor");
    check("substr(s, 0, 2)", "H");
    check("substr(s, 20)", "");
    check("trim(\"  x \")", "x");
    check("ltrim(\"xxay\", \"x\")", "ay");
    check("rtrim(\"ayxx\", \"x\")", "ay");
    check("urldecode(\"a%20b%2\")", "a b%2");
    check("lower(none)", "-");
}

#[test]
fn regular_expressions_match_and_replace() {
    check("match(s, \"^H.*d$\")", "True");
    check("match(s, pattern)", "True");
    check("match(none, \"a\")", "-");
    check("match(mv, \"^\\d+$\")", "True");
    check("replace(s, \"(\\w+) (\\w+)\", \"\\2 \\1\")", "World Hello");
    check("replace(s, pattern, \"_\")", "He_o Wor_d");
    check("replace(s, \"(?<=H)e\", \"3\")", "H3llo World");
    check("replace(mv, \"a\", \"A\")", "b|A|10|9|A");
    check("replace(s, \"x*\", \"-\")", "-H-e-l-l-o- -W-o-r-l-d-");
}

#[test]
fn several_values_are_handled() {
    check("split(\"a,b,,c\", \",\")", "a|b||c");
    check("split(\"abc\", \"\")", "a|b|c");
    check("mvcount(mv)", "5");
    check("mvcount(none)", "-");
    check("mvindex(mv, 0)", "b");
    check("mvindex(mv, -1)", "a");
    check("mvindex(mv, 9)", "-");
    check("mvindex(mv, 1, 2)", "a|10");
    check("mvindex(mv, -2, -1)", "9|a");
    check("mvindex(mv, 3, 1)", "-");
    check("mvjoin(mv, \";\")", "b;a;10;9;a");
    check("mvappend(mv, s, none)", "b|a|10|9|a|Hello World");
    check("mvdedup(mv)", "b|a|10|9");
    check("mvsort(mv)", "10|9|a|a|b");
    check("mvzip(mv, split(\"1,2\", \",\"), \"=\")", "b=1|a=2");
    check("mvfind(mv, \"^1\")", "2");
    check("mvrange(1, 4)", "1|2|3");
    check("mvrange(0, 172800, \"1d\")", "0|86400");
    check("mvfilter(match(mv, \"\\d\"))", "10|9");
    check("mvmap(mv, mv . \"!\")", "b!|a!|10!|9!|a!");
}

#[test]
fn numbers_are_computed() {
    check("round(n, 2)", "3.14");
    check("round(5, 2) . \"%\"", "5.00%");
    check("if(n > 3, round(5, 2), 0)", "5.00");
    check("if(n < 3, round(5, 2), 0)", "0");
    check("round(2.5)", "3");
    check("round(2.675, 2)", "2.68");
    check("floor(-1.5)", "-2");
    check("ceil(n)", "4");
    check("abs(-3)", "3");
    check("sqrt(-1)", "-");
    check("pow(2, 10)", "1024");
    check("log(1000)", "3");
    check("log(8, 2)", "3");
    check("ln(1) + exp(0)", "1");
    check("min(3, 1, 2)", "1");
    check("max(3, \"b\", 2)", "b");
    check("min(3, \"b\", none)", "3");
    check("sum(1, n, s)", "4.14159");
    check("avg(1, 2, none)", "1.5");
    check("random() >= 0", "True");
    check("tonumber(\"ff\", 16)", "255");
    check("tonumber(s)", "-");
    check("tostring(1234567.891, \"commas\")", "1,234,567.89");
    check("tostring(93784.5, \"duration\")", "1+02:03:04.500000");
    check("tostring(true())", "True");
    check("tostring(15, \"hex\")", "0xF");
    check("printf(\"%05.1f|%-4s|%x\", 3.14159, \"ab\", 255)", "003.1|ab  |ff");
    check("printf(\"%d%% of %'d\", 50, 1234567)", "50% of 1,234,567");
}

#[test]
fn conditions_choose_values() {
    check("if(n > 3, \"big\", \"small\")", "big");
    check("if(none > 3, \"big\", \"small\")", "small");
    check("case(n < 3, \"a\", n < 4, \"b\")", "b");
    check("case(n < 3, \"a\")", "-");
    check("coalesce(none, n, s)", "3.14159");
    check("nullif(s, \"Hello World\")", "-");
    check("validate(isnum(n), \"not a number\", isnum(s), \"no\")", "no");
    check("if(true(), 1, \"x\") + \"2\"", "12");
    check("isnull(none) AND isnotnull(s) AND isnum(n) AND isstr(s)", "True");
    check("typeof(s) . typeof(n) . typeof(none) . typeof(true())", "StringNumberInvalidBoolean");
}

#[test]
fn times_are_written_and_read() {
    check("now()", "1700000000");
    check("strftime(_time, \"%Y-%m-%d %H:%M:%S.%3N\")", "2023-11-14 22:13:20.250");
    check("strptime(\"2023-11-14 22:13:20\", \"%Y-%m-%d %H:%M:%S\")", "1700000000.000000");
    check("strptime(s, \"%Y\")", "-");
    check("relative_time(1700000000, \"@d\")", "1699920000.000000");
}

#[test]
fn json_digests_and_networks_are_known() {
    check("json_extract(json, \"a.b{2}.c\")", "x");
    check("spath(json, \"a.b{}\")", "1|2|{\"c\":\"x\"}");
    check("json_extract(json, \"n\")", "-");
    check("json_extract(json, \"t\", \"a.b{0}\")", "[\"text\",1]");
    check("json_valid(s)", "False");
    check("tojson()", r#"{"s":"Hello World","mv":["b","a",10,9,"a"]}"#);
    check("json_extract(tojson(true()), \"_time\")", "1700000000.25");
    check("json_object(\"a\", 1, \"b\", \"x\")", "{\"a\":1,\"b\":\"x\"}");
    check("json_array(1, \"x\", none)", "[1,\"x\",null]");
    check("json_keys(json)", "[\"a\",\"t\",\"n\"]");
    check("json_array_to_mv(\"[1,\\\"x\\\"]\")", "1|x");
    check("mv_to_json_array(split(\"a b\", \" \"))", "[\"a\",\"b\"]");
    check("md5(\"\")", "d41d8cd98f00b204e9800998ecf8427e");
    check("sha1(\"abc\")", "a9993e364706816aba3e25717850c26c9cd0d89d");
    check("substr(sha256(\"abc\"), 1, 8) . substr(sha512(\"abc\"), 1, 8)", "ba7816bfddaf35a1");
    check("cidrmatch(\"10.0.0.0/8\", \"10.2.3.4\")", "True");
    check("cidrmatch(\"10.0.0.0/8\", s)", "False");
}

#[test]
fn mistakes_are_named_with_the_nearest_name() {
    let refuses = |text: &str, part: &str| {
        let message = Expression::compile(text, &kind).unwrap_err();
        assert!(message.contains(part), "{text}: {message}");
    };
    refuses("lowr(s)", "did you mean `lower`?");
    let message = Expression::compile("searchmatch(\"a\")", &kind).unwrap_err();
    assert_eq!(message, "function searchmatch() is available only in searches");
    refuses("1 +", "expected an expression");
    refuses("match(s, \"(\")", "the regular expression of match() is not valid");
    refuses("cidrmatch(\"x\", s)", "is not a network");
    refuses("if(1, 2)", "takes 3 arguments");
}
