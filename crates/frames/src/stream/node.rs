//! The logical node of a stream operator.

use std::cmp::Ordering;
use std::collections::HashMap;
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use arrow::datatypes::Field;
use datafusion::common::{DFSchema, DFSchemaRef, Result, TableReference, internal_err};
use datafusion::logical_expr::expr::Sort as SortExpr;
use datafusion::logical_expr::{Expr, LogicalPlan, UserDefinedLogicalNodeCore};

use super::StreamOp;

/// A stream operator with its input, its arguments and the order it requires.
#[derive(Debug, Clone)]
pub struct StreamNode {
    input: LogicalPlan,
    pub(crate) op: Arc<dyn StreamOp>,
    pub(crate) arguments: Vec<Expr>,
    pub(crate) aggregates: Vec<Expr>,
    pub(crate) order: Vec<SortExpr>,
    added: Vec<Field>,
    schema: DFSchemaRef,
}

impl StreamNode {
    /// Creates an operator over `input` that adds the columns `added`.
    pub fn try_new(
        input: LogicalPlan,
        op: Arc<dyn StreamOp>,
        arguments: Vec<Expr>,
        order: Vec<SortExpr>,
        added: Vec<Field>,
    ) -> Result<Self> {
        let mut fields: Vec<(Option<TableReference>, Arc<Field>)> = input
            .schema()
            .iter()
            .map(|(qualifier, field)| (qualifier.cloned(), Arc::clone(field)))
            .collect();
        fields.extend(added.iter().map(|field| (None, Arc::new(field.clone()))));
        let metadata = input.schema().metadata().clone();
        let schema = Arc::new(DFSchema::new_with_metadata(fields, metadata)?);
        Ok(Self { input, op, arguments, aggregates: Vec::new(), order, added, schema })
    }

    /// Adds aggregate calls, whose arguments follow the other arguments.
    pub fn with_aggregates(mut self, aggregates: Vec<Expr>) -> Self {
        self.aggregates = aggregates;
        self
    }

    /// Returns the columns it adds.
    pub(crate) fn added(&self) -> &[Field] {
        &self.added
    }

    fn identity(&self) -> String {
        format!("{:?}", self.op)
    }
}

impl PartialEq for StreamNode {
    fn eq(&self, other: &Self) -> bool {
        self.input == other.input
            && self.arguments == other.arguments
            && self.aggregates == other.aggregates
            && self.order == other.order
            && self.added == other.added
            && self.identity() == other.identity()
    }
}

impl Eq for StreamNode {}

impl PartialOrd for StreamNode {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        (self == other).then_some(Ordering::Equal)
    }
}

impl Hash for StreamNode {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.input.hash(state);
        self.arguments.hash(state);
        self.aggregates.hash(state);
        self.identity().hash(state);
    }
}

impl UserDefinedLogicalNodeCore for StreamNode {
    fn name(&self) -> &str {
        self.op.name()
    }

    fn inputs(&self) -> Vec<&LogicalPlan> {
        vec![&self.input]
    }

    fn schema(&self) -> &DFSchemaRef {
        &self.schema
    }

    fn expressions(&self) -> Vec<Expr> {
        let order = self.order.iter().map(|key| key.expr.clone());
        self.arguments.iter().chain(&self.aggregates).cloned().chain(order).collect()
    }

    fn fmt_for_explain(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {:?}", self.op.name(), self.op)
    }

    fn with_exprs_and_inputs(
        &self,
        mut exprs: Vec<Expr>,
        mut inputs: Vec<LogicalPlan>,
    ) -> Result<Self> {
        let Some(input) = inputs.pop() else {
            return internal_err!("{} has one input", self.op.name());
        };
        let (arguments, aggregates) = (self.arguments.len(), self.aggregates.len());
        if exprs.len() != arguments + aggregates + self.order.len() {
            return internal_err!("{} got {} expressions", self.op.name(), exprs.len());
        }
        let order = exprs.split_off(arguments + aggregates).into_iter().zip(&self.order);
        let order = order.map(|(expr, key)| SortExpr::new(expr, key.asc, key.nulls_first));
        let order = order.collect();
        let aggregates = exprs.split_off(arguments);
        let op = Arc::clone(&self.op);
        let node = Self::try_new(input, op, exprs, order, self.added.clone())?;
        Ok(node.with_aggregates(aggregates))
    }

    fn necessary_children_exprs(&self, output_columns: &[usize]) -> Option<Vec<Vec<usize>>> {
        let schema = self.input.schema();
        let width = schema.fields().len();
        let mut needed: Vec<usize> =
            output_columns.iter().copied().filter(|column| *column < width).collect();
        // An index by name, as operators like `uniq` read all columns.
        let mut places = HashMap::with_capacity(width);
        for (at, field) in schema.fields().iter().enumerate() {
            places.entry(field.name().as_str()).or_insert(at);
        }
        for expr in self.expressions() {
            for column in expr.column_refs() {
                needed.push(match column.relation {
                    None => *places.get(column.name.as_str())?,
                    Some(_) => schema.maybe_index_of_column(column)?,
                });
            }
        }
        needed.sort_unstable();
        needed.dedup();
        Some(vec![needed])
    }
}
