//! What filters compute from stored columns, in a form that later searches recognize.
//!
//! Guarantees: two filters with equal identities hold for the same events, if the stored columns of these
//! have the same values. A filter has an identity only if it consists of predicates over stored columns and
//! over values that the planner has marked with [`marked`]; all others have none. What a marked value depends
//! on is left to the planner.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::{DataType, FieldRef};
use datafusion::common::{Result, ScalarValue, exec_err, internal_err};
use datafusion::logical_expr::{
    BinaryExpr as LogicalBinary, ColumnarValue, Expr, Operator, ReturnFieldArgs,
    ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility,
};
use datafusion::physical_expr::expressions::{
    BinaryExpr, Column, IsNotNullExpr, IsNullExpr, Literal, NotExpr,
};
use datafusion::physical_expr::{PhysicalExpr, ScalarFunctionExpr};

use crate::Typed;
use crate::by_origin::conditions_of;
use crate::kernel::any_arguments;
use crate::predicate::{Predicate, Test};

/// Number of tests from which on filters take longer than reading the rows that they find.
pub const COSTLY: usize = 8;

/// Marks a value with a description of all that it depends on besides stored columns: two values with the
/// same description must be equal for events with the same stored columns.
#[must_use]
pub fn marked(value: Typed, description: Arc<str>) -> Typed {
    let mark = Marked { description, signature: any_arguments(Volatility::Immutable) };
    Typed { expr: ScalarUDF::new_from_impl(mark).call(vec![value.expr]), kind: value.kind }
}

/// Returns the description of a marked value, and the value.
#[must_use]
pub fn marked_value(expr: &Arc<dyn PhysicalExpr>) -> Option<(&Arc<str>, &Arc<dyn PhysicalExpr>)> {
    let call = expr.downcast_ref::<ScalarFunctionExpr>()?;
    let mark = call.fun().inner().downcast_ref::<Marked>()?;
    Some((&mark.description, call.args().first()?))
}

/// What a filter, or a part of it, computes; see the module documentation.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Identity(Form);

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
enum Form {
    /// A stored column, in the type in which the search reads it.
    Stored(String, DataType),
    /// A marked value.
    Marked(Arc<str>),
    Literal(ScalarValue),
    Test(Test, Box<Self>),
    Not(Box<Self>),
    IsNull(Box<Self>),
    IsNotNull(Box<Self>),
    Binary(Box<Self>, Operator, Box<Self>),
    /// Whether any of several conditions holds.
    Any(Vec<Self>),
}

impl Identity {
    /// Returns the identity of a stored column.
    #[must_use]
    pub fn stored(name: &str, data_type: &DataType) -> Self {
        Self(Form::Stored(name.to_owned(), data_type.clone()))
    }

    /// Returns the identity of an expression, given those of the columns that it reads; `None` if it has
    /// none.
    pub fn of(
        expr: &Arc<dyn PhysicalExpr>,
        column: &dyn Fn(&Column) -> Option<Self>,
    ) -> Option<Self> {
        form(expr, &|found: &Column| column(found).map(|identity| identity.0)).map(Self)
    }

    /// Whether it has a value that the planner has marked.
    #[must_use]
    pub fn has_marked(&self) -> bool {
        self.0.has(&|form| matches!(form, Form::Marked(_)))
    }

    /// Returns how long the filter takes: the number of its tests, or [`COSTLY`] if it reads a computed
    /// value.
    #[must_use]
    pub fn cost(&self) -> usize {
        if self.has_marked() { COSTLY } else { self.0.tests() }
    }

    /// Estimates the memory in bytes.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.0.bytes()
    }
}

impl Form {
    fn parts(&self) -> Vec<&Self> {
        match self {
            Self::Stored(..) | Self::Marked(_) | Self::Literal(_) => Vec::new(),
            Self::Test(_, of) | Self::Not(of) | Self::IsNull(of) | Self::IsNotNull(of) => vec![of],
            Self::Binary(left, _, right) => vec![left, right],
            Self::Any(all) => all.iter().collect(),
        }
    }

    fn has(&self, is: &dyn Fn(&Self) -> bool) -> bool {
        is(self) || self.parts().into_iter().any(|part| part.has(is))
    }

    fn tests(&self) -> usize {
        let own = usize::from(matches!(self, Self::Test(..)));
        own + self.parts().into_iter().map(Self::tests).sum::<usize>()
    }

    fn bytes(&self) -> usize {
        let own = match self {
            Self::Stored(name, _) => name.len(),
            Self::Marked(description) => description.len(),
            Self::Literal(value) => value.size(),
            // Its text, and what is compiled of it.
            Self::Test(test, _) => 4 * test.to_string().len(),
            _ => 0,
        };
        let parts = self.parts().into_iter().map(Self::bytes);
        size_of::<Self>() + own + parts.sum::<usize>()
    }
}

fn form(expr: &Arc<dyn PhysicalExpr>, column: &dyn Fn(&Column) -> Option<Form>) -> Option<Form> {
    let boxed = |expr: &Arc<dyn PhysicalExpr>| form(expr, column).map(Box::new);
    if let Some(found) = expr.downcast_ref::<Column>() {
        column(found)
    } else if let Some(literal) = expr.downcast_ref::<Literal>() {
        Some(Form::Literal(literal.value().clone()))
    } else if let Some(not) = expr.downcast_ref::<NotExpr>() {
        Some(Form::Not(boxed(not.arg())?))
    } else if let Some(test) = expr.downcast_ref::<IsNullExpr>() {
        Some(Form::IsNull(boxed(test.arg())?))
    } else if let Some(test) = expr.downcast_ref::<IsNotNullExpr>() {
        Some(Form::IsNotNull(boxed(test.arg())?))
    } else if let Some(binary) = expr.downcast_ref::<BinaryExpr>() {
        Some(Form::Binary(boxed(binary.left())?, *binary.op(), boxed(binary.right())?))
    } else {
        of_call(expr.downcast_ref::<ScalarFunctionExpr>()?, column)
    }
}

fn of_call(call: &ScalarFunctionExpr, column: &dyn Fn(&Column) -> Option<Form>) -> Option<Form> {
    let function = call.fun().inner();
    if let Some(mark) = function.downcast_ref::<Marked>() {
        return Some(Form::Marked(Arc::clone(&mark.description)));
    }
    if let Some(predicate) = function.downcast_ref::<Predicate>() {
        let [argument] = call.args() else { return None };
        return Some(Form::Test(predicate.test.clone(), Box::new(form(argument, column)?)));
    }
    let (conditions, names) = conditions_of(call.fun())?;
    let arguments: Option<Vec<Form>> = call.args().iter().map(|one| form(one, column)).collect();
    let arguments = arguments?;
    let argument = |name: &str| {
        let at = names.iter().position(|known| known == name)?;
        arguments.get(at).cloned()
    };
    let all: Option<Vec<Form>> =
        conditions.iter().map(|condition| of_condition(condition, &argument)).collect();
    all.map(Form::Any)
}

/// Returns the form of a condition whose columns are the arguments of a call.
fn of_condition(expr: &Expr, argument: &dyn Fn(&str) -> Option<Form>) -> Option<Form> {
    let boxed = |expr: &Expr| of_condition(expr, argument).map(Box::new);
    match expr {
        Expr::Column(column) => argument(&column.name),
        Expr::Literal(value, _) => Some(Form::Literal(value.clone())),
        Expr::Not(inner) => Some(Form::Not(boxed(inner)?)),
        Expr::BinaryExpr(LogicalBinary { left, op, right }) => {
            Some(Form::Binary(boxed(left)?, *op, boxed(right)?))
        }
        Expr::ScalarFunction(call) => {
            let predicate = call.func.inner().downcast_ref::<Predicate>()?;
            let [of] = call.args.as_slice() else { return None };
            Some(Form::Test(predicate.test.clone(), boxed(of)?))
        }
        _ => None,
    }
}

/// The function around a marked value, which does not change it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
struct Marked {
    description: Arc<str>,
    signature: Signature,
}

impl ScalarUDFImpl for Marked {
    fn name(&self) -> &str {
        "marked"
    }

    fn schema_name(&self, args: &[Expr]) -> Result<String> {
        // Functions with equal names are considered equal. The description is long.
        let mut hasher = DefaultHasher::new();
        self.description.hash(&mut hasher);
        let arguments: Vec<_> = args.iter().map(|arg| arg.schema_name().to_string()).collect();
        Ok(format!("marked[{:x}]({})", hasher.finish(), arguments.join(",")))
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, arg_types: &[DataType]) -> Result<DataType> {
        Ok(arg_types.first().cloned().unwrap_or(DataType::Null))
    }

    fn return_field_from_args(&self, args: ReturnFieldArgs<'_>) -> Result<FieldRef> {
        match args.arg_fields.first() {
            Some(field) => Ok(Arc::clone(field)),
            None => internal_err!("a mark is around one value"),
        }
    }

    fn invoke_with_args(&self, mut args: ScalarFunctionArgs) -> Result<ColumnarValue> {
        match args.args.pop() {
            Some(value) => Ok(value),
            None => exec_err!("a mark is around one value"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::datatypes::{Field, Schema};
    use datafusion::common::DFSchema;
    use datafusion::execution::context::ExecutionProps;
    use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
    use datafusion::physical_expr::create_physical_expr;

    use super::*;
    use crate::by_origin::filter;
    use crate::compile::testing::Table;
    use crate::predicate::compile_search;
    use crate::types::ValueType;

    fn table() -> Table {
        Table::new()
            .text("sourcetype", &[Some("web")])
            .text("a", &[Some("1")])
            .text("b", &[Some("x")])
    }

    fn condition(text: &str) -> Expr {
        let parsed = spl::parse_search_terms(text).unwrap().expr.unwrap();
        compile_search(&parsed, &table()).unwrap()
    }

    fn identity_in(expr: &Expr, kind: &DataType) -> Option<Identity> {
        let field = |name| Field::new(name, kind.clone(), true);
        let schema = Schema::new(vec![field("sourcetype"), field("a"), field("b")]);
        let names = DFSchema::try_from(schema).unwrap();
        let (props, context) = (ExecutionProps::new(), PhysicalPlanningContext::default());
        let physical = create_physical_expr(expr, &names, &props, &context).unwrap();
        Identity::of(&physical, &|column: &Column| Some(Identity::stored(column.name(), kind)))
    }

    fn identity(expr: &Expr) -> Option<Identity> {
        identity_in(expr, &DataType::Utf8View)
    }

    /// `a=1` where `a` is a computed value.
    fn over_marked(test: &str, description: &str) -> Expr {
        let value = marked(Typed::column("b", ValueType::Text), Arc::from(description));
        let Expr::ScalarFunction(mut call) = condition(test) else { panic!("{test}") };
        call.args = vec![value.expr];
        Expr::ScalarFunction(call)
    }

    #[test]
    fn equal_filters_of_two_searches_have_equal_identities() {
        for text in ["a=1", "a=1 OR NOT b=x*", "a IN (1, 2) sourcetype=web", "a<5 a>2"] {
            let found = identity(&condition(text));
            assert!(found.is_some(), "{text}");
            assert_eq!(found, identity(&condition(text)), "{text}");
        }
    }

    #[test]
    fn other_filters_have_other_identities() {
        let texts = ["a=1", "a=2", "a!=1", "b=1", "NOT a=1", "a=1*", "a IN (1, 2)"];
        for (at, one) in texts.iter().enumerate() {
            for other in &texts[at + 1..] {
                assert_ne!(identity(&condition(one)), identity(&condition(other)), "{one} {other}");
            }
        }
        let lists = DataType::new_list(DataType::Utf8View, true);
        let one = condition("a=1");
        assert_ne!(identity(&one), identity_in(&one, &lists));
    }

    #[test]
    fn marked_values_are_what_they_are_described_as() {
        let one = identity(&over_marked("a=1", "v1")).unwrap();
        assert!(one.has_marked() && one.cost() >= COSTLY && one.bytes() > 0);
        assert_eq!(Some(&one), identity(&over_marked("a=1", "v1")).as_ref());
        assert_ne!(Some(&one), identity(&over_marked("a=1", "v2")).as_ref());
        assert_ne!(Some(&one), identity(&over_marked("a=2", "v1")).as_ref());
        assert_eq!(identity(&condition("a=1 OR NOT b=2")).unwrap().cost(), 2);
    }

    #[test]
    fn computed_values_without_a_mark_have_no_identity() {
        let expr = spl::parse_expression("lower(a)").unwrap();
        let lower = crate::compile(&expr, &table()).unwrap().expr;
        assert_eq!(identity(&lower.is_null()), None);
    }

    #[test]
    fn filters_that_are_decided_by_origin_are_known_by_their_conditions() {
        let many = |value: usize| {
            let each = |at| format!("(sourcetype=s{at} a={value})");
            let all: Vec<String> = (0..9).map(each).collect();
            filter(condition(&all.join(" OR ")), &table())
        };
        let one = identity(&many(1)).unwrap();
        assert!(one.cost() >= COSTLY && !one.has_marked());
        assert_eq!(Some(&one), identity(&many(1)).as_ref());
        assert_ne!(Some(&one), identity(&many(2)).as_ref());
    }
}
