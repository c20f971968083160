//! Terms and field comparisons: tables of examples, and a comparison of the fast search with a naive one.
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use spl::ast::{ComparisonOperator, PatternPart, SearchPattern};

use crate::compile::testing::Table;
use crate::predicate::{Breakers, FieldValue, Leaf, TermPattern, compile_search, leaf};

fn pattern(text: &str) -> SearchPattern {
    let mut parts = Vec::new();
    for (at, piece) in text.split('*').enumerate() {
        if at > 0 && parts.last() != Some(&PatternPart::Any) {
            parts.push(PatternPart::Any);
        }
        if !piece.is_empty() {
            parts.push(PatternPart::Literal(piece.to_owned()));
        }
    }
    SearchPattern { parts }
}

#[test]
fn words_match_between_breakers_in_any_case() {
    let cases = [
        ("error", "an ERROR occurred", true),
        ("error", "errors occurred", false),
        ("error", "level=error", true),
        ("error", "my_error.txt", true),
        ("error", "terror", false),
        ("error", "terror error", true),
        ("error", "error", true),
        ("err*", "an ERRor", true),
        ("*ror", "terror!", true),
        ("*rro*", "terrors", true),
        ("a*d", "abc, bcd", true),
        ("a*d", "abc, bcde", false),
        ("a b", "x a b y", true),
        ("a b", "xa b", false),
        ("/var/log", "open /var/log/x", true),
        ("/var/log", "open /var/logs", false),
        ("/var/log/", "open /var/log/x", true),
        ("10.0.0.1", "from 10.0.0.1:80", true),
        ("10.0.0.1", "from 110.0.0.1", false),
        ("größe", "GRÖSSE Größe", true),
        ("GRÖßE", "die größe!", true),
        ("*", "anything", true),
        ("", "anything", true),
        ("error", "", false),
    ];
    for (term, raw, expected) in cases {
        assert_eq!(TermPattern::word(pattern(term)).matches(raw), expected, "{term} in {raw}");
    }
}

#[test]
fn term_is_bounded_by_major_breakers_and_case_keeps_case() {
    let term = TermPattern::term(pattern("10.0.0.1"));
    assert!(term.matches("ip (10.0.0.1)"));
    assert!(!term.matches("ip=10.0.0.1"));
    assert!(!term.matches("ip 10.0.0.1:80"));
    let case = TermPattern::case(pattern("Error"));
    assert!(case.matches("an Error"));
    assert!(!case.matches("an error"));
}

fn table() -> Table {
    Table::new()
        .text("_raw", &[Some("GET /a 200"), Some("POST /b 404"), Some("x"), None])
        .text("status", &[Some("200"), Some("404"), Some("0200"), None])
        .text("user", &[Some("Bob"), Some("alice"), Some(""), None])
        .text("ip", &[Some("10.1.2.3"), Some("11.0.0.1"), Some("x"), None])
        .integer("count", &[Some(5), Some(50), None, Some(0)])
        .multi("tag", &[&["web", "prod"], &["db"], &[], &["Web"]])
}

fn check(search: &str, expected: [bool; 4]) {
    let parsed = spl::parse_search_terms(search).unwrap().expr.unwrap();
    let expr = compile_search(&parsed, &table()).unwrap();
    let found = table().evaluate(&expr);
    let found: Vec<_> = found.iter().map(|value| value.as_deref() == Some("True")).collect();
    assert_eq!(found, expected, "{search}");
}

#[test]
fn fields_are_compared_as_search_does() {
    check("status=200", [true, false, false, false]);
    check("status!=200", [false, true, true, false]);
    check("NOT status=200", [false, true, true, true]);
    check("status=*", [true, true, true, false]);
    check("NOT status=*", [false, false, false, true]);
    check("status>=300", [false, true, false, false]);
    check("status=2*", [true, false, false, false]);
    check("user=bob", [true, false, false, false]);
    check("user=A*E", [false, true, false, false]);
    check("user=\"\"", [false, false, true, false]);
    check("user>b", [false, false, false, false]);
    check("user>B", [true, true, false, false]);
    check("user IN (bob, al*)", [true, true, false, false]);
    check("user NOT IN (bob)", [false, true, true, true]);
    check("count>5", [false, true, false, false]);
    check("count=5", [true, false, false, false]);
    check("count=5*", [true, true, false, false]);
    check("tag=web", [true, false, false, true]);
    check("tag!=web", [true, true, false, false]);
    check("ip=10.0.0.0/8", [true, false, false, false]);
    check("missing=1", [false; 4]);
    check("NOT missing=1", [true; 4]);
}

#[test]
fn a_number_equals_the_same_text_only() {
    let cases = [
        ("200", "200", true),
        ("200", "200.0", false),
        ("200", " 200 ", false),
        ("200", "+200", false),
        ("200.0", "200.0", true),
        ("200.0", "200", false),
        ("200", "0200", false),
        ("200", "2e2", false),
        ("2E2", "2e2", true),
        (".5", "0.5", false),
        ("0.5", ".5", false),
        ("-5", "5", false),
    ];
    for (literal, value, expected) in cases {
        let number = FieldValue::new(pattern(literal));
        let equal = |operator| number.compare_text(operator, value);
        assert_eq!(equal(ComparisonOperator::Equal), expected, "{literal} = {value}");
        assert_eq!(equal(ComparisonOperator::NotEqual), !expected, "{literal} != {value}");
    }
    check("count=5.0", [false; 4]);
    check("count=5", [true, false, false, false]);
    check("count>4.0 count<6", [true, false, false, false]);
}

#[test]
fn logic_joins_terms_and_fields() {
    check("get", [true, false, false, false]);
    check("get OR post", [true, true, false, false]);
    check("NOT get", [false, true, true, true]);
    check("(get OR x) status=*", [true, false, true, false]);
    check("\"/a 200\"", [true, false, false, false]);
    check("TERM(200) OR CASE(POST)", [true, true, false, false]);
    check("*", [true; 4]);
}

#[test]
fn a_scan_can_take_a_filter_apart() {
    let parsed = spl::parse_search_terms("err* OR status=5*").unwrap().expr.unwrap();
    let expr = compile_search(&parsed, &table()).unwrap();
    assert_eq!(leaf(&expr), None);
    let datafusion::logical_expr::Expr::BinaryExpr(or) = expr else { panic!("no OR") };
    let Some(Leaf::Term { pattern }) = leaf(&or.left) else { panic!("no term") };
    assert_eq!((pattern.pattern().text(), pattern.breakers()), ("err*".to_owned(), Breakers::Any));
    let Some(Leaf::Field { field, value, .. }) = leaf(&or.right) else { panic!("no field") };
    assert_eq!((field, value.pattern().text()), ("status", "5*".to_owned()));
}

#[test]
fn equalities_of_a_field_in_an_or_hold_as_the_list_does() {
    check("status=200 OR status=404", [true, true, false, false]);
    check("NOT (status=200 OR status=404)", [false, false, true, true]);
    check("(user=BOB) OR (user=\"\")", [true, false, true, false]);
    check("user=bob OR user=al* OR user=x", [true, true, false, false]);
    check("user=bob OR (user=x OR user IN (al*, y))", [true, true, false, false]);
    check("user=x OR user NOT IN (alice, bob) OR user=y", [false, false, true, true]);
    check("user=bob OR user!=bob OR user=x", [true, true, true, false]);
    check("count=5 OR count=0 OR count>40", [true, true, false, true]);
    check("count=5.0 OR count=50", [false, true, false, false]);
    check("tag=web OR tag=db", [true, true, false, true]);
    check("ip=10.0.0.0/8 OR ip=x", [true, false, true, false]);
    check("user=x OR post OR status=404 OR user=Bob OR missing=1", [true, true, false, false]);
    check("missing=1 OR missing=2", [false; 4]);
    check("(user=bob status=200) OR user=alice OR user=x", [true, true, false, false]);
    check("user=CASE(bob) OR user=CASE(Bob)", [true, false, false, false]);
}

#[test]
fn a_scan_finds_equalities_of_a_field_in_an_or_as_one_list() {
    let compiled = |search: &str| {
        let parsed = spl::parse_search_terms(search).unwrap().expr.unwrap();
        compile_search(&parsed, &table()).unwrap()
    };
    let list = compiled("status IN (1, 2, 3)");
    assert!(matches!(leaf(&list), Some(Leaf::In { field: "status", .. })));
    assert_eq!(compiled("status=1 OR status=2 OR status=3"), list);
    assert_eq!(compiled("(status=1) OR ((status=2) OR status IN (3))"), list);
    let datafusion::logical_expr::Expr::BinaryExpr(or) =
        compiled("status=1 OR user=x OR status=2 OR status=3")
    else {
        panic!("no OR")
    };
    assert_eq!(*or.left, list);
    assert!(matches!(leaf(&or.right), Some(Leaf::Field { field: "user", .. })));
    // A single comparison is not a list: it compares stored numbers directly.
    assert!(matches!(leaf(&compiled("status=1")), Some(Leaf::Field { .. })));
}

#[test]
fn many_alternatives_make_a_shallow_tree() {
    let search = (0..5_000).map(|at| format!("user=u{at}*")).collect::<Vec<_>>().join(" OR ");
    let parsed = spl::parse_search_terms(&search).unwrap().expr.unwrap();
    let expr = compile_search(&parsed, &table()).unwrap();
    assert_eq!(table().evaluate(&expr)[0].as_deref(), Some("False"));
}

/// Runs a search over a column `status` and cancels it at the n-th check.
fn cancelled_at(check: usize, search: &str, status: &str) {
    use datafusion::logical_expr::Expr;

    let parsed = spl::parse_search_terms(search).unwrap();
    let expr = compile_search(&parsed.expr.unwrap(), &table()).unwrap();
    let Expr::ScalarFunction(call) = expr else { panic!("no function") };
    run_until(check, &call.func, status);
}

fn run_until(check: usize, function: &datafusion::logical_expr::ScalarUDF, status: &str) {
    use datafusion::common::config::ConfigOptions;
    use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs};

    let mut config = ConfigOptions::new();
    let asked = std::sync::Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = std::sync::Arc::clone(&asked);
    let is_over = move || count.fetch_add(1, std::sync::atomic::Ordering::Relaxed) + 1 == check;
    crate::stopping::put(tables::Stop::when(is_over), &mut config);
    let statuses =
        std::iter::repeat_n(Some(status), 8192).collect::<arrow::array::StringViewArray>();
    let field = arrow::datatypes::Field::new("status", arrow::datatypes::DataType::Utf8View, true);
    let arguments = ScalarFunctionArgs {
        args: vec![ColumnarValue::Array(std::sync::Arc::new(statuses))],
        arg_fields: vec![std::sync::Arc::new(field)],
        number_rows: 8192,
        return_field: std::sync::Arc::new(arrow::datatypes::Field::new(
            "found",
            arrow::datatypes::DataType::Boolean,
            false,
        )),
        config_options: std::sync::Arc::new(config),
    };
    let error = function.invoke_with_args(arguments).unwrap_err();
    assert!(error.to_string().contains("cancelled"), "{error}");
    assert_eq!(asked.load(std::sync::atomic::Ordering::Relaxed), check);
}

#[test]
fn a_list_of_wildcards_ends_soon_after_nobody_waits() {
    let wildcards = (0..10_000).map(|at| format!("x{at}*")).collect::<Vec<_>>().join(", ");
    // The check cancels at its second call, at the second of 8,192 rows.
    cancelled_at(2, &format!("status IN ({wildcards})"), "200");
}

#[test]
fn regular_expressions_that_backtrack_end_soon_after_nobody_waits() {
    let test = super::RegexTest::new("^(?=(a+)+$)b", false).unwrap();
    let test = super::function::Test::Regex { field: "status".to_owned(), test };
    // One of 8,192 rows takes milliseconds.
    run_until(100, &super::function::Predicate::udf(test), "aaaaaaaac");
}

#[tokio::test]
async fn sql_calls_become_leaves() {
    let context = datafusion::prelude::SessionContext::new();
    super::sql_functions().into_iter().for_each(|udf| context.register_udf(udf));
    context.register_batch("t", table().batch()).unwrap();
    let sql =
        "SELECT count(*) FROM t WHERE search(\"_raw\", 'get') AND field_matches(status, '2*')";
    let frame = context.sql(sql).await.unwrap();
    let plan = frame.clone().into_optimized_plan().unwrap().to_string();
    assert!(plan.contains("karst_term") && plan.contains("karst_field"), "{plan}");
    let rows = frame.collect().await.unwrap();
    let counted = crate::compile::testing::shown(rows[0].column(0));
    assert_eq!(counted, [Some("1".to_owned())]);
}

/// Compares character by character, following the definition.
fn naive(term: &str, raw: &str) -> bool {
    let pieces: Vec<String> = term.split('*').map(str::to_lowercase).collect();
    let raw = raw.to_lowercase();
    let raw = raw.as_bytes();
    let breaks = |at: usize| Breakers::Any.contains(raw[at]);
    let starts = |at: usize| at == 0 || breaks(at - 1) || breaks(at);
    let ends = |at: usize| at == raw.len() || breaks(at) || breaks(at - 1);
    fn rest(pieces: &[String], raw: &[u8], from: usize, ends: &dyn Fn(usize) -> bool) -> bool {
        let Some((piece, after)) = pieces.split_first() else { return true };
        (from..=raw.len()).any(|at| {
            raw[at..].starts_with(piece.as_bytes())
                && if after.is_empty() {
                    piece.is_empty() || ends(at + piece.len())
                } else {
                    rest(after, raw, at + piece.len(), ends)
                }
        })
    }
    (0..=raw.len()).any(|at| {
        let first = &pieces[0];
        let fits = raw[at..].starts_with(first.as_bytes());
        let end = at + first.len();
        fits && (first.is_empty() || starts(at))
            && if pieces.len() == 1 {
                first.is_empty() || ends(end)
            } else {
                rest(&pieces[1..], raw, end, &ends)
            }
    })
}

proptest! {
    #[test]
    fn the_fast_search_agrees_with_the_definition(
        term in "[abA*./]{1,5}",
        raw in "[abAB ./]{0,12}",
    ) {
        let fast = TermPattern::word(pattern(&term)).matches(&raw);
        prop_assert_eq!(fast, naive(&term, &raw), "{} in {}", term, raw);
    }

    #[test]
    fn whole_values_match_like_a_regular_expression(
        term in "[abA*]{0,5}",
        value in "[abAB]{0,8}",
    ) {
        let source = format!("(?is)^{}$", regex::escape(&term).replace("\\*", ".*"));
        let wanted = regex::Regex::new(&source).unwrap().is_match(&value);
        let found =
            FieldValue::new(pattern(&term)).compare_text(ComparisonOperator::Equal, &value);
        prop_assert_eq!(found, wanted, "{} on {}", term, value);
    }
}
