//! Rewrites errors of the query engine for users of SQL.
//!
//! The engine names its rules, types and settings, and lists all columns of a table. Nobody who writes a
//! query can use that: here, and nowhere else, its errors become one line that says what is wrong and what
//! helps.
//! What Karst's own functions and sources say stays as it is.

use arrow::error::ArrowError;
use datafusion::common::utils::datafusion_strsim::levenshtein;
use datafusion::common::{Column, SchemaError};
use datafusion::error::DataFusionError;
use datafusion::sql::sqlparser::parser::ParserError;
use model::ErrorKind;

use crate::Error;

/// Maximum length of an error message in bytes.
const MAX_TEXT: usize = 500;
/// Maximum number of similar column names in a message.
const MAX_SIMILAR: usize = 5;
/// Maximum number of characters that are compared for similarity. The cost is the product of both lengths.
const MAX_NAME: usize = 100;
/// Maximum edit distance to a suggested function name.
const MAX_CHANGES: usize = 2;

/// Converts an error of planning. It counts as an invalid query, unless the engine reports another cause.
pub(crate) fn planning_error(error: DataFusionError) -> Error {
    use DataFusionError as E;
    let in_query = matches!(
        error.find_root(),
        E::SQL(..) | E::Plan(_) | E::SchemaError(..) | E::NotImplemented(_) | E::Diagnostic(..)
    );
    if in_query {
        return Error::Search { text: sentence(&error), kind: ErrorKind::Invalid };
    }
    sql_error(error)
}

/// Converts an error at run time.
pub(crate) fn sql_error(error: DataFusionError) -> Error {
    let about_values = is_about_values(&error);
    let error = plan::Error::from(error);
    let kind = if about_values { ErrorKind::Invalid } else { error.kind() };
    let text = match &error {
        plan::Error::Engine(error) => sentence(error),
        own => own.to_string(),
    };
    Error::Search { kind, text }
}

/// Whether values cause the error: a text that is cast to a number but is not one, or a division by zero.
fn is_about_values(error: &DataFusionError) -> bool {
    use ArrowError as A;
    let DataFusionError::ArrowError(error, _) = error.find_root() else { return false };
    matches!(
        **error,
        A::CastError(_)
            | A::ParseError(_)
            | A::ComputeError(_)
            | A::DivideByZero
            | A::ArithmeticOverflow(_)
    )
}

/// Returns an error of the engine as one line.
fn sentence(error: &DataFusionError) -> String {
    use DataFusionError as E;
    let text = match error.find_root() {
        E::SQL(error, _) => of_parser(error),
        E::SchemaError(error, _) => of_schema(error),
        E::ArrowError(error, _) => of_arrow(error),
        E::NotImplemented(text) => {
            of_text(text).unwrap_or_else(|| format!("not supported: {text}"))
        }
        // Otherwise the message asks users to report a bug to the developers of the engine.
        E::Internal(text) => explained(text),
        other => explained(&other.message()),
    };
    one_line(&text)
}

fn one_line(text: &str) -> String {
    let mut line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.len() > MAX_TEXT {
        line.truncate(line.floor_char_boundary(MAX_TEXT - " ...".len()));
        line.push_str(" ...");
    }
    line
}

fn of_parser(error: &ParserError) -> String {
    let text = match error {
        ParserError::RecursionLimitExceeded => {
            return format!("the query is nested deeper than {NESTED} levels");
        }
        ParserError::ParserError(text) | ParserError::TokenizerError(text) => text,
    };
    let (what, place) = match text.rsplit_once(" at Line: ") {
        Some((what, place)) => (what, format!(" (line {})", place.replace("Column:", "column"))),
        None => (text.as_str(), String::new()),
    };
    let expected = what.strip_prefix("Expected: ").and_then(|rest| rest.rsplit_once(", found: "));
    let Some((expected, found)) = expected else {
        return format!("{}{place}", lower_case(what));
    };
    let expected = match expected {
        "an SQL statement" => "a statement such as SELECT",
        other => other,
    };
    match found {
        "EOF" => format!("expected {expected}, found the end of the query{place}"),
        found => format!("expected {expected}, found \"{found}\"{place}"),
    }
}

/// Maximum nesting of queries and expressions in the engine's parser.
const NESTED: usize = 50;

fn lower_case(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_lowercase);
    first.chain(letters).collect()
}

fn of_schema(error: &SchemaError) -> String {
    match error {
        SchemaError::FieldNotFound { field, valid_fields } => no_column(field, valid_fields),
        SchemaError::AmbiguousReference { field } => {
            let name = field.name();
            format!(
                "several tables have a column \"{name}\": write the table before it, as in table.{name}"
            )
        }
        SchemaError::DuplicateQualifiedField { name, .. }
        | SchemaError::DuplicateUnqualifiedField { name } => {
            format!("two columns have the same name \"{name}\": rename one with AS")
        }
    }
}

fn no_column(field: &Column, known: &[Column]) -> String {
    let name = field.name();
    let missing = format!("there is no column \"{name}\"");
    let by_case = known.iter().map(Column::name).find(|known| known.eq_ignore_ascii_case(name));
    match by_case {
        Some(known) if known != name => {
            return format!(
                "{missing}; column names are case-sensitive: did you mean \"{known}\"?"
            );
        }
        Some(_) => {
            let name = field.flat_name();
            return format!("there is no column {name}: no table of that name, or alias, has it");
        }
        None => {}
    }
    let near = similar(name, known.iter().map(Column::name));
    if near.is_empty() {
        return format!("{missing} (DESCRIBE <index> lists all)");
    }
    format!("{missing}; similar: {} (DESCRIBE <index> lists all)", near.join(", "))
}

/// Returns the column that an error of planning says is missing.
pub(crate) fn missing_column(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("there is no column ")?;
    match rest.strip_prefix('"') {
        Some(quoted) => quoted.split('"').next(),
        None => rest.split(':').next().map(|flat| flat.rsplit('.').next().unwrap_or(flat)),
    }
}

/// Returns the most similar names: those that share half of the letters, or contain each other.
fn similar<'a>(name: &str, known: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let own = name.to_lowercase();
    if own.chars().count() > MAX_NAME {
        return Vec::new();
    }
    let mut near: Vec<(usize, &str)> = known
        .filter(|known| known.len() <= MAX_NAME)
        .filter_map(|known| {
            let other = known.to_lowercase();
            let changes = levenshtein(&own, &other);
            let longer = own.chars().count().max(other.chars().count());
            let is_within = other.len() >= 3 && own.contains(&other);
            let has_within = own.len() >= 3 && other.contains(&own);
            (changes * 2 <= longer || is_within || has_within).then_some((changes, known))
        })
        .collect();
    near.sort_unstable();
    near.dedup();
    near.into_iter().take(MAX_SIMILAR).map(|(_, known)| known).collect()
}

fn of_arrow(error: &ArrowError) -> String {
    match error {
        ArrowError::DivideByZero => "division by zero: use x / nullif(y, 0)".to_owned(),
        ArrowError::ArithmeticOverflow(text) => {
            let text = text.strip_prefix("Overflow happened on: ").unwrap_or(text);
            format!("out of range: {text}")
        }
        ArrowError::CastError(text)
        | ArrowError::ParseError(text)
        | ArrowError::ComputeError(text)
        | ArrowError::InvalidArgumentError(text) => explained(text),
        other => explained(&other.to_string()),
    }
}

/// Prefixes of the engine's messages.
const PREFIXES: &[&str] = &[
    "Error during planning: ",
    "Schema error: ",
    "Arrow error: ",
    "Execution error: ",
    "External error: ",
    "Internal error: ",
    "SQL error: ",
    "Cast error: ",
    "Parser error: ",
    "Compute error: ",
    "Invalid argument error: ",
];

fn explained(text: &str) -> String {
    let mut text = text.trim();
    while let Some(rest) = PREFIXES.iter().find_map(|prefix| text.strip_prefix(prefix)) {
        text = rest.trim();
    }
    of_text(text).unwrap_or_else(|| text.to_owned())
}

/// Returns the replacement for a known message of the engine.
fn of_text(text: &str) -> Option<String> {
    let sentences = [
        no_table,
        no_function,
        inner_query,
        wrong_types,
        wrong_arguments,
        wrong_value,
        wrong_pattern,
        whole,
    ];
    sentences.iter().find_map(|sentence| sentence(text))
}

/// Returns the part of a text between two others.
fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(before)?;
    Some(rest.split_once(after)?.0)
}

fn no_table(text: &str) -> Option<String> {
    if let Some(name) = between(text, "table function '", "' not found") {
        return Some(format!("there is no table function {name}()"));
    }
    let name = text.strip_prefix("table '")?.strip_suffix("' not found")?;
    // The catalog and schema in which an unqualified name is resolved.
    let name = name.strip_prefix("karst.").unwrap_or(name);
    let name = name.strip_prefix("public.").unwrap_or(name);
    Some(format!("there is no index \"{name}\"; SHOW TABLES lists yours"))
}

fn no_function(text: &str) -> Option<String> {
    let name = between(text, "Invalid function '", "'")?;
    let near = between(text, "Did you mean '", "'").filter(|near| {
        let is_short = name.len() <= MAX_NAME;
        is_short && levenshtein(&name.to_lowercase(), near) <= MAX_CHANGES
    });
    let near = near.map(|near| format!("; did you mean {near}()?")).unwrap_or_default();
    Some(format!("there is no function {name}(){near}"))
}

/// Explains a query within a query that the engine cannot run at its place.
fn inner_query(text: &str) -> Option<String> {
    const TRUTH: &str = "IN (SELECT …) and EXISTS are possible in WHERE, HAVING and QUALIFY only: elsewhere use a \
                         join, or (SELECT count(*) FROM … WHERE …) > 0";
    const OUTER: &str = "this inner query cannot refer to the outer one, for example because it has LIMIT: use a \
                         join with GROUP BY, or number the rows with row_number() OVER (PARTITION BY …) in a \
                         query in FROM that does not refer to the outer one, and join";
    let said = if let Some(rest) = text.strip_prefix("Physical plan does not support ") {
        let what = rest.strip_prefix("logical expression ").unwrap_or(rest);
        match what.split('(').next().unwrap_or(what) {
            "InSubquery" | "Exists" | "SetComparison" => TRUTH.to_owned(),
            "ScalarSubquery" | "OuterReferenceColumn" | "undecorrelated Subquery" => {
                OUTER.to_owned()
            }
            // The engine prints the expression with all of its parts.
            name => format!("not supported here: {name}"),
        }
    } else if text.starts_with("In/Exist/SetComparison subquery can only be used in ") {
        TRUTH.to_owned()
    } else if text.starts_with("Accessing outer reference columns is not allowed in the plan")
        || text.starts_with("Correlated scalar subquery can only be used in ")
    {
        OUTER.to_owned()
    } else if text.starts_with("Correlated scalar subquery must be aggregated") {
        "an inner query that refers to the outer one needs an aggregate, such as max(), if it stands for a value"
            .to_owned()
    } else if text.contains("subquery should only return one column") {
        "an inner query for IN or for a value has one column: compare several with EXISTS (SELECT 1 FROM … WHERE \
         … AND …), or with a join"
            .to_owned()
    } else if text.starts_with("Unsupported ast node in sqltorel") {
        "not supported: an expression of this kind".to_owned()
    } else {
        return None;
    };
    Some(said)
}

/// Explains an operator with operands of unsupported types.
fn wrong_types(text: &str) -> Option<String> {
    if let Some(both) = between(text, "Cannot coerce arithmetic expression ", " to valid types") {
        let operators = [" + ", " - ", " * ", " / ", " % "];
        let (op, left, right) = operators.into_iter().find_map(|op| {
            let (left, right) = both.split_once(op)?;
            Some((op.trim(), left, right))
        })?;
        if is_text(left) || is_text(right) {
            return Some(format!(
                "{op} needs numbers, and one side is text: use TRY_CAST(… AS DOUBLE)"
            ));
        }
        return Some(format!("{op} is not possible between {} and {}", kind(left), kind(right)));
    }
    let both = text.strip_prefix("Cannot infer common argument type for comparison operation ")?;
    let (left, right) = COMPARISONS.iter().find_map(|op| both.split_once(*op))?;
    let kinds = [kind(left), kind(right)];
    if kinds.contains(&TIME) && kinds.contains(&NUMBER) {
        return Some(
            "a time cannot be compared with a number: use a time such as '2026-06-08T00:00:00Z' or \
             to_timestamp_seconds(…)"
                .to_owned(),
        );
    }
    let [left, right] = kinds;
    Some(format!("{left} cannot be compared with {right}"))
}

/// Comparison operators, in the engine's notation.
const COMPARISONS: &[&str] = &[
    " = ",
    " != ",
    " <> ",
    " <= ",
    " >= ",
    " < ",
    " > ",
    " IS NOT DISTINCT FROM ",
    " IS DISTINCT FROM ",
];

const TIME: &str = "a time";
const NUMBER: &str = "a number";

fn is_text(of_type: &str) -> bool {
    of_type.contains("Utf8")
}

/// Describes the values of a type of the engine.
fn kind(of_type: &str) -> &str {
    let of_type = of_type.trim();
    let begins = |names: &[&str]| names.iter().any(|name| of_type.starts_with(name));
    if begins(&["List", "LargeList", "FixedSizeList"]) {
        "a list"
    } else if begins(&["Utf8", "LargeUtf8", "Dictionary"]) {
        "text"
    } else if begins(&["Timestamp", "Date", "Time"]) {
        TIME
    } else if begins(&["Interval", "Duration"]) {
        "an interval"
    } else if begins(&["Int", "UInt", "Float", "Decimal"]) {
        NUMBER
    } else if begins(&["Boolean"]) {
        "a truth value"
    } else {
        of_type
    }
}

/// Functions of numbers, whose arguments are often text fields.
const OF_NUMBERS: &[&str] = &[
    "sum",
    "avg",
    "mean",
    "median",
    "stddev",
    "stddev_pop",
    "stddev_samp",
    "var",
    "var_pop",
    "var_samp",
    "var_sample",
    "var_population",
    "corr",
    "covar",
    "covar_pop",
    "covar_samp",
    "approx_median",
    "approx_percentile_cont",
    "percentile_cont",
    "quantile_cont",
    "abs",
    "ceil",
    "floor",
    "round",
    "trunc",
    "sqrt",
    "exp",
    "ln",
    "log",
    "log2",
    "log10",
    "power",
    "pow",
    "signum",
];

fn wrong_arguments(text: &str) -> Option<String> {
    let name = function_in(text)?;
    if OF_NUMBERS.contains(&name) && (is_text(text) || text.contains("received String")) {
        return Some(format!(
            "{name}() needs numbers, and the argument is text: use {name}(TRY_CAST(<column> AS DOUBLE))"
        ));
    }
    Some(format!("{name}() does not work with arguments of that number or these types"))
}

/// Returns the name of the function whose arguments are wrong.
fn function_in(text: &str) -> Option<&str> {
    const FAILURES: &[&str] = &[
        "failed to match any signature",
        "user-defined coercion failed",
        "No function matches the given name and argument types",
        "Failed to coerce arguments to satisfy a call to",
    ];
    if !FAILURES.iter().any(|failure| text.contains(failure)) {
        return None;
    }
    between(text, "argument types '", "(")
        .or_else(|| between(text, "a call to '", "'"))
        .or_else(|| between(text, "Function '", "'"))
}

/// Explains a value that cannot be converted.
fn wrong_value(text: &str) -> Option<String> {
    if let Some(rest) = text.strip_prefix("Cannot cast string '") {
        let (value, of_type) = rest.rsplit_once("' to value of ")?;
        let what = match kind(of_type) {
            NUMBER if of_type.contains("Int") => "a whole number: use TRY_CAST(… AS DOUBLE)",
            NUMBER => "a number: use TRY_CAST(… AS DOUBLE)",
            TIME => "a time: use TRY_CAST, which gives null for it",
            "a truth value" => "true or false: use TRY_CAST, which gives null for it",
            _ => "of the type that it is cast to: use TRY_CAST, which gives null for it",
        };
        return Some(format!("\"{value}\" is not {what}"));
    }
    if let Some(rest) = text.strip_prefix("Can't cast value ") {
        let (value, of_type) = rest.rsplit_once(" to type ")?;
        return Some(format!("out of range: {value} does not fit into {of_type}"));
    }
    if text == "Cannot cast timezone to different timezone" {
        let said = "a local time does not exist, or exists twice, where clocks change in its time zone: write \
                    the time with its offset, such as '2026-10-25T02:30:00+02:00'";
        return Some(said.to_owned());
    }
    let value = between(text, "Error parsing timestamp from '", "'")?;
    Some(format!("\"{value}\" is not a time such as '2026-06-08T00:00:00Z'"))
}

fn wrong_pattern(text: &str) -> Option<String> {
    if !text.contains("egular expression did not compile") && !text.contains("regex parse error") {
        return None;
    }
    // The library prints the pattern and a marker below it; the last line has the cause.
    if let Some(reason) = text.lines().find_map(|line| line.trim().strip_prefix("error: ")) {
        return Some(format!("the regular expression is invalid: {reason}"));
    }
    let pattern = text.split_once("did not compile: ").map_or("", |(_, pattern)| pattern);
    Some(format!("the regular expression is invalid: {pattern}"))
}

/// Explains an error of the query as a whole.
fn whole(text: &str) -> Option<String> {
    let said = if text.contains("require unique expression names") {
        "two columns have the same name: rename one with AS"
    } else if text.contains("laceholder") {
        "parameters are not supported: write the values into the query"
    } else if text.contains("only supports a single SQL statement") {
        "only one statement is possible at a time"
    } else if text.starts_with("No SQL statements were provided") {
        "the query is empty"
    } else if ["DDL", "DML", "Statement"].iter().any(|of| is_refusal(text, of)) {
        "SQL is read-only: only SELECT, EXPLAIN, SHOW and DESCRIBE are possible"
    } else {
        return None;
    };
    Some(said.to_owned())
}

/// Whether the engine rejects a kind of statement, as in `DML not supported: Insert Into`.
fn is_refusal(text: &str, of: &str) -> bool {
    text.strip_prefix(of).is_some_and(|rest| rest.starts_with(" not supported: "))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use datafusion::error::DataFusionError as E;

    use super::*;

    fn planning(text: &str) -> E {
        E::Plan(text.to_owned())
    }

    fn arrow(error: ArrowError) -> E {
        E::ArrowError(Box::new(error), None)
    }

    fn parser(text: &str) -> E {
        E::SQL(Box::new(ParserError::ParserError(text.to_owned())), None)
    }

    fn missing(name: &str, known: &[&str]) -> E {
        let valid_fields = known.iter().map(|name| Column::from_name(*name)).collect();
        let field = Box::new(Column::from_name(name));
        E::SchemaError(Box::new(SchemaError::FieldNotFound { field, valid_fields }), Box::new(None))
    }

    fn said(cases: Vec<(E, &str)>) {
        for (error, expected) in cases {
            assert_eq!(sentence(&error), expected, "{error:?}");
        }
    }

    #[test]
    fn mistakes_of_syntax_have_their_place() {
        said(vec![
            (
                parser("Expected: an SQL statement, found: selct at Line: 1, Column: 1"),
                "expected a statement such as SELECT, found \"selct\" (line 1, column 1)",
            ),
            (parser("Expected: ), found: EOF"), "expected ), found the end of the query"),
            (
                E::SQL(
                    Box::new(ParserError::TokenizerError(
                        "Unterminated string literal at Line: 2, Column: 8".to_owned(),
                    )),
                    None,
                ),
                "unterminated string literal (line 2, column 8)",
            ),
            (
                E::SQL(Box::new(ParserError::RecursionLimitExceeded), Some(" (50)".to_owned())),
                "the query is nested deeper than 50 levels",
            ),
        ]);
    }

    #[test]
    fn columns_that_do_not_exist_are_told_with_similar_ones() {
        let many: Vec<String> = (0..9).map(|at| format!("status{at}")).collect();
        let many: Vec<&str> = many.iter().map(String::as_str).collect();
        said(vec![
            (
                missing("stats", &["_time", "status", "host"]),
                "there is no column \"stats\"; similar: status (DESCRIBE <index> lists all)",
            ),
            (
                missing("status", &many),
                "there is no column \"status\"; similar: status0, status1, status2, status3, status4 \
                 (DESCRIBE <index> lists all)",
            ),
            (
                missing("nope", &["_time", "status"]),
                "there is no column \"nope\" (DESCRIBE <index> lists all)",
            ),
            (
                missing("Status", &["_time", "status"]),
                "there is no column \"Status\"; column names are case-sensitive: did you mean \"status\"?",
            ),
        ]);
    }

    #[test]
    fn mistakes_about_values_say_what_helps() {
        let cast = |text: &str| arrow(ArrowError::CastError(text.to_owned()));
        said(vec![
            (arrow(ArrowError::DivideByZero), "division by zero: use x / nullif(y, 0)"),
            (
                arrow(ArrowError::ArithmeticOverflow(
                    "Overflow happened on: 9223372036854775807 + 1".to_owned(),
                )),
                "out of range: 9223372036854775807 + 1",
            ),
            (
                cast("Cannot cast string '-' to value of Int64 type"),
                "\"-\" is not a whole number: use TRY_CAST(… AS DOUBLE)",
            ),
            (
                cast("Cannot cast string 'it's' to value of Float64 type"),
                "\"it's\" is not a number: use TRY_CAST(… AS DOUBLE)",
            ),
            (
                cast("Can't cast value 3000000000 to type Int32"),
                "out of range: 3000000000 does not fit into Int32",
            ),
            (
                arrow(ArrowError::ParseError(
                    "Error parsing timestamp from 'soon': error parsing date".to_owned(),
                )),
                "\"soon\" is not a time such as '2026-06-08T00:00:00Z'",
            ),
            (
                arrow(ArrowError::ComputeError(
                    "Regular expression did not compile: Syntax(\n~~~~\nregex parse error:\n    (a\n    \
                     ^\nerror: unclosed group\n~~~~\n)"
                        .to_owned(),
                )),
                "the regular expression is invalid: unclosed group",
            ),
        ]);
    }

    #[test]
    fn mistakes_about_types_say_what_helps() {
        said(vec![
            (
                planning("Cannot coerce arithmetic expression Utf8View + Int64 to valid types"),
                "+ needs numbers, and one side is text: use TRY_CAST(… AS DOUBLE)",
            ),
            (
                planning("Cannot coerce arithmetic expression Boolean * Int64 to valid types"),
                "* is not possible between a truth value and a number",
            ),
            (
                planning(
                    "Cannot infer common argument type for comparison operation Timestamp(µs, \"UTC\") > Int64",
                ),
                "a time cannot be compared with a number: use a time such as '2026-06-08T00:00:00Z' or \
                 to_timestamp_seconds(…)",
            ),
            (
                planning("Cannot infer common argument type for comparison operation List(Utf8) = Int64"),
                "a list cannot be compared with a number",
            ),
            (
                E::Internal(
                    "Function 'sum' failed to match any signature, errors: Error during planning: Function \
                     'sum' requires Decimal, but received String (DataType: Utf8View)."
                        .to_owned(),
                ),
                "sum() needs numbers, and the argument is text: use sum(TRY_CAST(<column> AS DOUBLE))",
            ),
            (
                planning("No function matches the given name and argument types 'avg(Utf8)'. You might"),
                "avg() needs numbers, and the argument is text: use avg(TRY_CAST(<column> AS DOUBLE))",
            ),
            (
                planning("Failed to coerce arguments to satisfy a call to 'strpos' function: coercion from"),
                "strpos() does not work with arguments of that number or these types",
            ),
        ]);
    }

    #[test]
    fn inner_queries_at_other_places_are_refused_without_their_plans() {
        let absent = |text: &str| E::NotImplemented(text.to_owned());
        let truth = "IN (SELECT …) and EXISTS are possible in WHERE, HAVING and QUALIFY only: elsewhere use a join, or \
                     (SELECT count(*) FROM … WHERE …) > 0";
        let outer = "this inner query cannot refer to the outer one, for example because it has LIMIT: use a join \
                     with GROUP BY, or number the rows with row_number() OVER (PARTITION BY …) in a query in \
                     FROM that does not refer to the outer one, and join";
        let expression = "Physical plan does not support logical expression";
        said(vec![
            (absent(&format!("{expression} InSubquery(InSubquery {{ expr: Column(..) }})")), truth),
            (absent(&format!("{expression} Exists(Exists {{ subquery: <subquery> }})")), truth),
            (absent(&format!("{expression} OuterReferenceColumn(Field {{ .. }})")), outer),
            (absent("Physical plan does not support undecorrelated Subquery"), outer),
            (
                absent(&format!("{expression} Lambda(Lambda {{ .. }})")),
                "not supported here: Lambda",
            ),
            (
                planning("Too many columns! The subquery should only return one column: host, cat"),
                "an inner query for IN or for a value has one column: compare several with EXISTS (SELECT 1 FROM … \
                 WHERE … AND …), or with a join",
            ),
        ]);
    }

    #[test]
    fn mistakes_about_names_and_statements_are_told() {
        said(vec![
            (
                planning("table 'karst.public.nosuch' not found"),
                "there is no index \"nosuch\"; SHOW TABLES lists yours",
            ),
            (
                planning("Invalid function 'cuont'.\nDid you mean 'count'?"),
                "there is no function cuont(); did you mean count()?",
            ),
            (
                planning("Invalid function 'crc32'.\nDid you mean 'floor'?"),
                "there is no function crc32()",
            ),
            (
                planning("Projections require unique expression names but the expression \"a\" at"),
                "two columns have the same name: rename one with AS",
            ),
            (
                E::Execution("Placeholder '$1' was not provided a value for execution.".to_owned()),
                "parameters are not supported: write the values into the query",
            ),
            (
                planning("DML not supported: Insert Into"),
                "SQL is read-only: only SELECT, EXPLAIN, SHOW and DESCRIBE are possible",
            ),
            (
                E::NotImplemented(
                    "The context currently only supports a single SQL statement".to_owned(),
                ),
                "only one statement is possible at a time",
            ),
        ]);
    }

    #[test]
    fn other_mistakes_are_one_line_without_the_names_of_the_engine() {
        let inner = planning("LIMIT must be >= 0,\n  '-1' was provided");
        let error = inner.context("Optimizer rule 'eliminate_limit' failed");
        assert_eq!(sentence(&error), "LIMIT must be >= 0, '-1' was provided");
        let nested = E::Execution("Arrow error: Compute error: odd".to_owned());
        assert_eq!(sentence(&nested), "odd");
        assert!(sentence(&planning(&"ä ".repeat(2_000))).len() <= MAX_TEXT);
        assert_eq!(sentence(&E::NotImplemented("FETCH".to_owned())), "not supported: FETCH");
    }
}
