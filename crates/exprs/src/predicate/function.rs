//! The predicates as DataFusion functions, which a scan can recognize and analyze.
//!
//! Guarantees: the result is never null; dictionaries are evaluated once per distinct value.

use std::fmt;
use std::sync::Arc;

use arrow::array::{Array, ArrayRef, AsArray, BooleanArray, BooleanBufferBuilder};
use arrow::datatypes::{DataType, Int32Type};
use datafusion::common::{Column, Result, ScalarValue};
use datafusion::logical_expr::{
    ColumnarValue, Expr, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use spl::ast::ComparisonOperator;
use tables::Steps;

use crate::column::{Argument, Value};
use crate::predicate::field::FieldValue;
use crate::predicate::list::FieldList;
use crate::predicate::regex::RegexTest;
use crate::predicate::term::TermPattern;
use crate::stopping::{stop_of, stopped};

/// The test of a predicate.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum Test {
    Term(TermPattern),
    Field { field: String, operator: ComparisonOperator, value: FieldValue },
    In { field: String, values: FieldList },
    Regex { field: String, test: RegexTest },
}

impl Test {
    pub(crate) fn holds(&self, value: Value<'_>) -> bool {
        match self {
            Self::Term(pattern) => match value {
                Value::Null => false,
                Value::Text(raw) => pattern.matches(raw),
                other => other.text().is_some_and(|raw| pattern.matches(&raw)),
            },
            Self::Field { operator, value: right, .. } => right.compare(*operator, value),
            Self::In { values, .. } => values.contains(value),
            Self::Regex { test, .. } => test.holds(value),
        }
    }

    /// Returns the number of values that a value is compared with, or of steps that take as long.
    fn comparisons(&self) -> usize {
        match self {
            Self::In { values, .. } => values.tried(),
            // It may backtrack for milliseconds.
            Self::Regex { test, .. } if !test.is_linear() => 64,
            _ => 1,
        }
    }

    /// Evaluates the test for every row.
    fn column(&self, array: &ArrayRef, steps: &mut Steps) -> Result<BooleanArray> {
        if let DataType::Dictionary(key, _) = array.data_type()
            && **key == DataType::Int32
        {
            return self.dictionary(array, steps);
        }
        match (self, array.as_string_view_opt()) {
            (Self::Term(pattern), Some(texts)) => {
                return Ok(BooleanArray::new(pattern.rows(texts), None));
            }
            (Self::Regex { test, .. }, Some(texts)) if test.is_linear() => {
                return Ok(BooleanArray::new(test.rows(texts), None));
            }
            _ => {}
        }
        let argument = Argument::new(&ColumnarValue::Array(Arc::clone(array)))?;
        let mut bits = BooleanBufferBuilder::new(array.len());
        let comparisons = self.comparisons();
        for row in 0..array.len() {
            steps.take(comparisons).map_err(stopped)?;
            bits.append(self.holds(argument.get(row)));
        }
        Ok(BooleanArray::new(bits.finish(), None))
    }

    fn dictionary(&self, array: &ArrayRef, steps: &mut Steps) -> Result<BooleanArray> {
        let dictionary = array.as_dictionary::<Int32Type>();
        let distinct = self.column(dictionary.values(), steps)?;
        let mut bits = BooleanBufferBuilder::new(array.len());
        for key in dictionary.keys() {
            let at = key.and_then(|key| usize::try_from(key).ok());
            bits.append(at.is_some_and(|at| distinct.value(at)));
        }
        Ok(BooleanArray::new(bits.finish(), None))
    }
}

/// `karst_term(_raw)`, `karst_field(column)` or `karst_regex(column)`.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Predicate {
    pub(crate) test: Test,
    signature: Signature,
}

impl Predicate {
    /// Applies the test to the column of a field.
    pub(crate) fn call(test: Test, column: &str) -> Expr {
        let argument = Expr::Column(Column::new_unqualified(column));
        Self::udf(test).call(vec![argument])
    }

    pub(crate) fn udf(test: Test) -> ScalarUDF {
        let signature = Signature::any(1, Volatility::Immutable);
        ScalarUDF::new_from_impl(Self { test, signature })
    }
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Term(term) => {
                let bound = term.breakers();
                let case = if term.case_sensitive() { ", case" } else { "" };
                write!(f, "\"{}\", {bound:?}{case}", term.pattern().text())
            }
            Self::Field { field, operator, value } => {
                write!(f, "{field}{}\"{}\"", operator.symbol(), value.pattern().text())
            }
            Self::In { field, values } => {
                let values = values.values().iter();
                let values: Vec<_> = values.map(|value| value.pattern().text()).collect();
                write!(f, "{field} IN {values:?}")
            }
            Self::Regex { field, test } => {
                let operator = if test.negated() { "!~" } else { "~" };
                write!(f, "{field}{operator}\"{}\"", test.source())
            }
        }
    }
}

impl ScalarUDFImpl for Predicate {
    fn name(&self) -> &str {
        match self.test {
            Test::Term(_) => "karst_term",
            Test::Field { .. } | Test::In { .. } => "karst_field",
            Test::Regex { .. } => "karst_regex",
        }
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        let arguments: Vec<_> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(format!("{}({}, {})", self.name(), arguments.join(","), self.test))
    }

    fn display_name(&self, args: &[Expr]) -> Result<String> {
        self.schema_name(args)
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(DataType::Boolean)
    }

    fn is_nullable(&self, _: &[Expr], _: &dyn datafusion::common::ExprSchema) -> bool {
        false
    }

    fn invoke_with_args(&self, args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match &args.args[0] {
            ColumnarValue::Array(array) => {
                let mut steps = Steps::new(stop_of(&args.config_options));
                Ok(ColumnarValue::Array(Arc::new(self.test.column(array, &mut steps)?)))
            }
            scalar @ ColumnarValue::Scalar(_) => {
                let holds = self.test.holds(Argument::new(scalar)?.get(0));
                Ok(ColumnarValue::Scalar(ScalarValue::Boolean(Some(holds))))
            }
        }
    }
}
