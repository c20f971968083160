//! Functions over one row of constants and fields.
#![allow(clippy::unwrap_used)]

use crate::compile::testing::Table;

fn table() -> Table {
    Table::new()
        .text("s", &[Some("Hello World")])
        .text("n", &[Some("3.14159")])
        .text("pattern", &[Some("l+")])
        .text("json", &[Some(r#"{"a":{"b":[1,2,{"c":"x"}]},"t":"text","n":null}"#)])
        .text("none", &[None])
        .text("_raw", &[Some("error: disk full on web-1")])
        .time("_time", &[Some(1_700_000_000_250_000)])
        .multi("mv", &[&["b", "a", "10", "9", "a"]])
        .multi("empty", &[&[]])
}

/// Checks the result of an expression; null is `-`.
fn check(expr: &str, expected: &str) {
    let found = table().eval(expr);
    assert_eq!(found[0].as_deref().unwrap_or("-"), expected, "{expr}");
}

#[test]
fn texts_are_cut_and_changed() {
    check("len(s)", "11");
    check("len(\"äöü\")", "3");
    check("lower(s)", "hello world");
    check("upper(s)", "HELLO WORLD");
    check("upper(mv)", "B|A|10|9|A");
    check("substr(s, 1, 5)", "Hello");
    check("substr(s, 7)", "World");
    check("substr(s, -5, 3)", "Wor");
    check("substr(s, 0, 2)", "H");
    check("substr(s, -13, 4)", "He");
    check("substr(s, 6, -3)", "llo");
    check("substr(s, 20)", "");
    check("substr(\"äöü\", 2, 1)", "ö");
    check("trim(\"  x \")", "x");
    check("ltrim(\"xxay\", \"x\")", "ay");
    check("rtrim(\"ayxx\", \"x\")", "ay");
    check("urldecode(\"a%20b%2\")", "a b%2");
    check("lower(none)", "-");
    check("like(s, \"Hello%\")", "True");
}

#[test]
fn regular_expressions_match_and_replace() {
    check("match(s, \"^H.*d$\")", "True");
    check("match(s, \"hello\")", "False");
    check("match(s, pattern)", "True");
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
    check("mvcount(s)", "1");
    check("mvcount(empty)", "-");
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
    check("mvzip(mv, split(\"1,2\", \",\"))", "b,1|a,2");
    check("mvzip(mv, split(\"1,2\", \",\"), \"=\")", "b=1|a=2");
    check("mvfind(mv, \"^1\")", "2");
    check("mvfind(mv, \"z\")", "-");
    check("mvrange(1, 4)", "1|2|3");
    check("mvrange(0, 172800, \"1d\")", "0|86400");
    check("mvrange(0, 1000000000)", "-");
    check("mvfilter(match(mv, \"\\d\"))", "10|9");
    check("mvfilter(mv > 9)", "b|a|10|a");
    check("mvfilter(mv = \"z\")", "-");
    check("mvmap(mv, mv . \"!\" . n)", "b!3.14159|a!3.14159|10!3.14159|9!3.14159|a!3.14159");
}

#[test]
fn numbers_are_computed() {
    check("round(n)", "3");
    check("round(n, 2)", "3.14");
    check("round(5, 2)", "5.00");
    check("round(5, 2) + 1", "6.00");
    check("round(n, 2) . \"%\"", "3.14%");
    check("if(n > 3, round(5, 2), 0)", "5.00");
    check("if(n < 3, round(5, 2), 0)", "0");
    check("round(2.5)", "3");
    check("8.250 * 0.2", "2");
    check("8.250 * 0.20", "1.7");
    check("8.250 * 0.200", "1.65");
    check("8.250 * exact(0.2)", "1.650");
    check("0.1 + 0.2", "0.3");
    check("exact(0.1 + 0.2)", "0.30000000000000004");
    check("n * 2", "6.28318");
    check("n * 2.0", "6.3");
    check("sigfig(1.00 * 1111)", "1110");
    check("1.00 * 1111", "1111");
    check("sigfig(123.0 + 4.567)", "127.6");
    check("floor(-1.5)", "-2");
    check("ceiling(n)", "4");
    check("ceil(n)", "4");
    check("abs(-3)", "3");
    check("sqrt(16)", "4");
    check("sqrt(-1)", "-");
    check("sqrt(s)", "-");
    check("ln(0)", "-");
    check("pow(2, 10)", "1024");
    check("log(1000)", "3");
    check("log(8, 2)", "3");
    check("ln(1)", "0");
    check("exp(0)", "1");
    check("min(3, 1, 2)", "1");
    check("max(3, \"b\", 2)", "b");
    check("min(3, \"b\", none)", "3");
    check("max(s, n)", "Hello World");
    check("sum(1, n, s)", "4.14159");
    check("sum(mv)", "19");
    check("max(mv)", "b");
    check("min(mv)", "9");
    check("avg(1, 2, none)", "1.5");
    check("pi() > 3.14", "True");
    check("random() >= 0", "True");
    check("tonumber(\"ff\", 16)", "255");
    check("tonumber(\"-12.5\")", "-12.5");
    check("toint(n)", "3");
    check("todouble(s)", "-");
    check("tobool(n)", "True");
    check("bit_and(12, 9)", "8");
    check("bit_not(9, 15)", "6");
    check("bit_shift_left(3, 52)", "4503599627370496");
    check("tonumber(s)", "-");
    check("tostring(1234567.891, \"commas\")", "1,234,567.89");
    check("tostring(615, \"duration\")", "00:10:15");
    check("tostring(true())", "True");
    check("tostring(15, \"hex\")", "0xF");
    check("printf(\"%05.1f|%-4s|%x\", 3.14159, \"ab\", 255)", "003.1|ab  |ff");
    check("printf(\"%c,%c|%#o|%.3d|% d\", 65, \"Foo\", 8, 5, 5)", "A,F|010|005| 5");
    check("printf(\"%.2g|%G|%a\", 123, 0.00001, 1)", "1.2e+02|1E-05|0x1p+0");
    check("printf(\"%d%% of %'d\", 50, 1234567)", "50% of 1,234,567");
}

#[test]
fn times_are_written_and_read() {
    check("now()", "1700000000");
    check("strftime(_time, \"%Y-%m-%d %H:%M:%S.%3N\")", "2023-11-14 22:13:20.250");
    check("strftime(0, \"%F %T\")", "1970-01-01 00:00:00");
    check("strftime(s, \"%F\")", "-");
    check("strptime(\"2023-11-14 22:13:20\", \"%Y-%m-%d %H:%M:%S\")", "1700000000.000000");
    check("strptime(s, \"%Y\")", "-");
    check("relative_time(1700000000, \"@d\")", "1699920000.000000");
    check("relative_time(_time, \"-1h@h\")", "1699995600.000000");
    check("strftime(relative_time(_time, \"-1h@h\"), \"%H:%M\")", "21:00");
    check("time() > now()", "True");
}

#[test]
fn json_is_read_and_written() {
    check("json_extract(json, \"a.b{2}.c\")", "x");
    check("json_extract(json, \"a.b{}\")", "[1,2,{\"c\":\"x\"}]");
    check("spath(json, \"a.b{}\")", "1|2|{\"c\":\"x\"}");
    check(
        "json_extract(json, \"{}\")",
        "{\"a\":{\"b\":[1,2,{\"c\":\"x\"}]},\"t\":\"text\",\"n\":null}",
    );
    check("json_extract_exact(\"{\\\"a.b\\\":1}\", \"a.b\")", "1");
    check("json_entries(\"{\\\"a\\\":1}\")", "[{\"key\":\"a\",\"value\":1}]");
    check("json_set(\"{}\", \"a.b\", 1, \"a.c\", \"x\")", "{\"a\":{\"b\":1,\"c\":\"x\"}}");
    check("json_append(\"{\\\"a\\\":1}\", \"a\", 2)", "{\"a\":[1,2]}");
    check("json_delete(json, \"a\", \"n\")", "{\"t\":\"text\"}");
    check("spath(json, \"t\")", "text");
    check("json_extract(json, \"n\")", "-");
    check("json_extract(json, \"t\", \"a.b{0}\")", "[\"text\",1]");
    check("json_extract(s, \"t\")", "-");
    check("json_valid(json)", "True");
    check("json_valid(s)", "False");
    check("json_object(\"a\", 1, \"b\", \"x\")", "{\"a\":1,\"b\":\"x\"}");
    check("json_object(\"a\", \"1\", \"b\", n)", "{\"a\":\"1\",\"b\":3.14159}");
    check("json_array(1, \"x\", none)", "[1,\"x\",null]");
    check("json_keys(json)", "[\"a\",\"t\",\"n\"]");
    check("json_array_to_mv(\"[1,\\\"x\\\"]\")", "1|x");
    check("mv_to_json_array(mv)", "[\"b\",\"a\",\"10\",\"9\",\"a\"]");
}

#[test]
fn digests_and_networks_are_known() {
    check("md5(\"\")", "d41d8cd98f00b204e9800998ecf8427e");
    check("sha1(\"abc\")", "a9993e364706816aba3e25717850c26c9cd0d89d");
    check("sha256(\"abc\")", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    check("substr(sha512(\"abc\"), 1, 8)", "ddaf35a1");
    check("cidrmatch(\"10.0.0.0/8\", \"10.2.3.4\")", "True");
    check("cidrmatch(\"10.0.0.0/8\", s)", "False");
}

#[test]
fn an_event_is_matched_by_a_search() {
    check("searchmatch(\"ERROR disk\")", "True");
    check("searchmatch(\"erro\")", "False");
    check("searchmatch(\"n=3* NOT none=*\")", "True");
}
