//! The predicates under names that SQL can call.
//!
//! - `search(_raw, 'term')`: the text contains the term, between breakers, case-insensitively; `*` is a
//!   wildcard;
//! - `search_case(_raw, 'Term')` and `search_term(_raw, 'a.b')`: as `CASE()` and `TERM()`;
//! - `field_matches(column, 'pattern')`: the value matches as with `field=pattern` in `search`.
//!
//! Guarantees: with a literal pattern they become the same leaves as in SPL, so scans prune by them.

use datafusion::common::{Result, exec_err};
use datafusion::logical_expr::simplify::{ExprSimplifyResult, SimplifyContext};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};

use arrow::datatypes::DataType;
use spl::ast::{ComparisonOperator, PatternPart, SearchPattern};

use crate::predicate::field::FieldValue;
use crate::predicate::function::{Predicate, Test};
use crate::predicate::term::TermPattern;

/// Returns the functions to register with an SQL session.
#[must_use]
pub fn sql_functions() -> Vec<ScalarUDF> {
    let forms = [Form::Search, Form::Case, Form::Term, Form::Field];
    forms.into_iter().map(SqlPredicate::udf).collect()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Form {
    Search,
    Case,
    Term,
    Field,
}

#[derive(Debug, PartialEq, Eq, Hash)]
struct SqlPredicate {
    form: Form,
    signature: Signature,
}

impl SqlPredicate {
    fn udf(form: Form) -> ScalarUDF {
        let signature = Signature::any(2, Volatility::Immutable);
        ScalarUDF::new_from_impl(Self { form, signature })
    }

    fn test(&self, column: &str, pattern: &str) -> Test {
        let pattern = wildcards(pattern);
        match self.form {
            Form::Search => Test::Term(TermPattern::word(pattern)),
            Form::Case => Test::Term(TermPattern::case(pattern)),
            Form::Term => Test::Term(TermPattern::term(pattern)),
            Form::Field => Test::Field {
                field: column.to_owned(),
                operator: ComparisonOperator::Equal,
                value: FieldValue::new(pattern),
            },
        }
    }
}

/// Parses a text with `*` as wildcard; `\*` is an asterisk and `\\` a backslash.
fn wildcards(text: &str) -> SearchPattern {
    let mut parts = Vec::new();
    let mut literal = String::new();
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, characters.peek()) {
            ('\\', Some('*' | '\\')) => literal.extend(characters.next()),
            ('*', _) => {
                if !literal.is_empty() {
                    parts.push(PatternPart::Literal(std::mem::take(&mut literal)));
                }
                if parts.last() != Some(&PatternPart::Any) {
                    parts.push(PatternPart::Any);
                }
            }
            (other, _) => literal.push(other),
        }
    }
    if !literal.is_empty() {
        parts.push(PatternPart::Literal(literal));
    }
    SearchPattern { parts }
}

impl ScalarUDFImpl for SqlPredicate {
    fn name(&self) -> &str {
        match self.form {
            Form::Search => "search",
            Form::Case => "search_case",
            Form::Term => "search_term",
            Form::Field => "field_matches",
        }
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn simplify(&self, args: Vec<Expr>, _: &SimplifyContext) -> Result<ExprSimplifyResult> {
        let [value, Expr::Literal(pattern, _)] = args.as_slice() else {
            return Ok(ExprSimplifyResult::Original(args));
        };
        let Some(pattern) = pattern.try_as_str().flatten() else {
            return Ok(ExprSimplifyResult::Original(args));
        };
        // A computed value is not a field that scans could use for pruning, so it has no name.
        let name = match value {
            Expr::Column(column) => column.name.as_str(),
            _ => "",
        };
        let call = Predicate::udf(self.test(name, pattern)).call(vec![value.clone()]);
        Ok(ExprSimplifyResult::Simplified(call))
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let pattern = match &args.args[1] {
            ColumnarValue::Scalar(pattern) => pattern.try_as_str().flatten().map(str::to_owned),
            ColumnarValue::Array(_) => None,
        };
        let Some(pattern) = pattern else {
            return exec_err!("the pattern of {}() must be a literal text", self.name());
        };
        let udf = Predicate::udf(self.test("", &pattern));
        let mut inner = args;
        inner.args.truncate(1);
        inner.arg_fields.truncate(1);
        udf.invoke_with_args(inner)
    }
}
