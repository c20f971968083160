//! Expressions over small tables: operators, null, typing.
#![allow(clippy::unwrap_used)]

use crate::compile::testing::Table;

fn table() -> Table {
    Table::new()
        .text("n", &[Some("5"), Some("10"), Some("x"), None])
        .text("s", &[Some("abc"), Some("7"), Some("X"), Some("")])
        .float("f", &[Some(1.5), Some(-2.0), None, Some(0.0)])
        .integer("i", &[Some(3), Some(4), Some(5), None])
        .time("_time", &[Some(1_700_000_000_250_000), Some(0), None, Some(1_000_000)])
        .multi("mv", &[&["a", "b", "a"], &["7"], &[], &["c"]])
}

/// Checks the result of an expression in each row; nulls are `-`.
fn check(expr: &str, expected: &[&str]) {
    let found = table().eval(expr);
    let found: Vec<_> = found.iter().map(|value| value.as_deref().unwrap_or("-")).collect();
    assert_eq!(found, expected, "{expr}");
}

#[test]
fn arithmetic_parses_text_and_gives_null_for_what_is_no_number() {
    check("n * 2", &["10", "20", "-", "-"]);
    check("n - 1", &["4", "9", "-", "-"]);
    check("f / 2", &["0.75", "-1", "-", "0"]);
    check("1 / f", &["0.6666666666666666", "-0.5", "-", "-"]);
    check("i % 2", &["1", "0", "1", "-"]);
    check("n % 0", &["-", "-", "-", "-"]);
    check("-n", &["-5", "-10", "-", "-"]);
    check("i + 1", &["4", "5", "6", "-"]);
}

#[test]
fn plus_adds_numbers_and_joins_texts() {
    check("n + s", &["5abc", "17", "xX", "-"]);
    check("n + 1", &["6", "11", "-", "-"]);
    check("n + \"1\"", &["51", "101", "x1", "-"]);
    check("\"a\" + \"b\"", &["ab", "ab", "ab", "ab"]);
    check("n . i", &["53", "104", "x5", "-"]);
}

#[test]
fn comparison_is_numeric_where_both_are_numbers() {
    check("n < 9", &["True", "False", "False", "-"]);
    check("n = 5.0", &["True", "False", "False", "-"]);
    check("s = \"x\"", &["False", "False", "False", "False"]);
    check("s = \"X\"", &["False", "False", "True", "False"]);
    check("n > s", &["False", "True", "True", "-"]);
    check("f >= 0", &["True", "False", "-", "True"]);
    check("mv = \"b\"", &["True", "False", "-", "False"]);
    check("nothing = 1", &["-", "-", "-", "-"]);
    check("(n = 5) = true", &["True", "False", "False", "-"]);
    check("\"TRUE\" = true AND \"x\" != false", &["True"; 4]);
}

#[test]
fn logic_is_three_valued() {
    check("f > 0 OR i > 0", &["True", "True", "True", "-"]);
    check("f > 0 AND i > 0", &["True", "False", "-", "False"]);
    check("NOT f > 0", &["False", "True", "-", "True"]);
    check("f > 0 XOR i > 3", &["True", "True", "-", "-"]);
}

#[test]
fn like_and_in_look_at_exact_text() {
    check("s LIKE \"a%\"", &["True", "False", "False", "False"]);
    check("s LIKE \"_b_\"", &["True", "False", "False", "False"]);
    check("s IN (\"abc\", \"X\")", &["True", "False", "True", "False"]);
    check("n IN (5, 6)", &["True", "False", "False", "-"]);
    check("NOT n IN (5)", &["False", "True", "True", "-"]);
    check("mv LIKE \"%\"", &["True", "True", "-", "True"]);
}

#[test]
fn time_acts_as_epoch_seconds() {
    check("_time", &["1700000000.250000", "0", "-", "1"]);
    check("_time + 1", &["1700000001.25", "1", "-", "2"]);
    check("_time > 0", &["True", "False", "-", "True"]);
}

#[test]
fn conditionals_take_the_first_true_branch() {
    check("if(n > 6, \"big\", \"small\")", &["small", "big", "big", "small"]);
    check("if(f > 0, f, s)", &["1.5", "7", "X", ""]);
    check("case(i = 3, \"three\", i = 4, 4)", &["three", "4", "-", "-"]);
    check("coalesce(f, n)", &["1.5", "-2", "x", "0"]);
    check("coalesce(nothing, i)", &["3", "4", "5", "-"]);
    check("nullif(i, 4)", &["3", "-", "5", "-"]);
    check(
        "validate(isint(n), \"no integer\", n < 9, \"too big\")",
        &["-", "too big", "no integer", "no integer"],
    );
    check("if(isnull(n), \"none\", n)", &["5", "10", "x", "none"]);
    check("isnotnull(nothing)", &["False"; 4]);
}

#[test]
fn types_are_told_apart() {
    check("isnum(n)", &["True", "True", "False", "False"]);
    check("isint(f)", &["False", "True", "False", "True"]);
    check("isstr(s)", &["True", "False", "True", "True"]);
    check("typeof(n)", &["Number", "Number", "String", "Invalid"]);
    check("typeof(nothing)", &["Invalid"; 4]);
    check("typeof(n > 1)", &["Boolean", "Boolean", "Boolean", "Invalid"]);
}

#[test]
fn unknown_functions_and_wrong_arguments_point_at_their_place() {
    for (text, expected) in [
        ("1 + match(n, \"(\")", "regular expression of match()"),
        ("strptime(s, \"%i\")", "%i"),
        ("relative_time(1, \"@x\")", "@x"),
        ("tostring(n, \"roman\")", "roman"),
        ("tonumber(n, 99)", "between 2 and 36"),
        ("cidrmatch(\"web\", n)", "not a network"),
        ("ipmask(\"web\", n)", "not a mask"),
        ("tonumber(\"seven\")", "cannot read"),
        ("sum(1, \"3\")", "takes numbers"),
        ("round(n, -1)", "less than 0 decimals"),
        ("json_set(n, \"a\", 1, \"b\")", "no value"),
        ("mvfilter(n > i)", "exactly one field"),
        ("searchmatch(n)", "double quotes"),
    ] {
        let expr = spl::parse_expression(text).unwrap();
        let error = crate::compile(&expr, &table()).unwrap_err();
        assert!(error.to_string().contains(expected), "{text}: {error}");
        assert!(matches!(error, crate::Error::Invalid { span: Some(_), .. }), "{text}");
    }
}
