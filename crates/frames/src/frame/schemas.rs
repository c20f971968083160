//! Projections and aggregations over many columns, whose schemas are built in one pass over the columns.
//!
//! DataFusion finds a column of a schema by a linear search, once or twice for each column that an expression
//! reads: with thousands of columns this takes longer than running the search. Here, columns are found by
//! name in an index.

use std::collections::HashMap;
use std::sync::Arc;

use arrow::datatypes::{Field, FieldRef};
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::common::{Column, DFSchema, ExprSchema, Result, TableReference};
use datafusion::logical_expr::{Aggregate, Expr, ExprSchemable, LogicalPlan, Projection};

/// The columns of a schema, indexed by name.
#[derive(Debug)]
pub(crate) struct Columns<'s> {
    schema: &'s DFSchema,
    /// `None` if several tables have a column with the name.
    places: HashMap<&'s str, Option<usize>>,
}

impl<'s> Columns<'s> {
    pub(crate) fn of(schema: &'s DFSchema) -> Self {
        let mut places = HashMap::with_capacity(schema.fields().len());
        for (at, field) in schema.fields().iter().enumerate() {
            places.entry(field.name().as_str()).and_modify(|at| *at = None).or_insert(Some(at));
        }
        Self { schema, places }
    }

    /// Returns the position of a column, if it exists.
    pub(crate) fn place(&self, column: &Column) -> Option<usize> {
        let Some(at) = *self.places.get(column.name.as_str())? else {
            return self.schema.maybe_index_of_column(column);
        };
        let is_meant = match (&column.relation, self.schema.qualified_field(at).0) {
            (Some(wanted), Some(table)) => wanted.resolved_eq(table),
            (Some(_), None) => false,
            (None, _) => true,
        };
        is_meant.then_some(at)
    }

    /// Returns the positions of the columns that expressions read.
    pub(crate) fn read_by<'e>(&self, exprs: impl IntoIterator<Item = &'e Expr>) -> Vec<usize> {
        let mut read = Vec::new();
        for expr in exprs {
            // The closure cannot fail.
            let _ = expr.apply(|part| {
                if let Expr::Column(column) = part {
                    read.extend(self.place(column));
                }
                Ok(TreeNodeRecursion::Continue)
            });
        }
        read
    }
}

impl ExprSchema for Columns<'_> {
    fn field_from_column(&self, column: &Column) -> Result<&FieldRef> {
        if let Some(at) = self.places.get(column.name.as_str()).copied().flatten() {
            let (table, field) = self.schema.qualified_field(at);
            if column.relation.is_none() || column.relation.as_ref() == table {
                return Ok(field);
            }
        }
        self.schema.field_from_column(column)
    }
}

fn fields(
    exprs: &[Expr],
    columns: &Columns<'_>,
) -> Result<Vec<(Option<TableReference>, Arc<Field>)>> {
    exprs.iter().map(|expr| expr.to_field(columns)).collect()
}

/// Builds a projection of expressions over a plan.
///
/// # Errors
/// If the plan has no column that they read, or a value has no type.
pub fn projection(exprs: Vec<Expr>, input: Arc<LogicalPlan>) -> Result<Projection> {
    let fields = fields(&exprs, &Columns::of(input.schema()))?;
    let metadata = DFSchema::metadata(input.schema()).clone();
    let schema = Arc::new(DFSchema::new_with_metadata(fields, metadata)?);
    Projection::try_new_with_schema(exprs, input, schema)
}

/// Builds an aggregation over the groups of a plan's rows.
pub(crate) fn aggregation(
    input: Arc<LogicalPlan>,
    group: Vec<Expr>,
    aggregates: Vec<Expr>,
) -> Result<Aggregate> {
    let columns = Columns::of(input.schema());
    let mut all = fields(&group, &columns)?;
    all.extend(fields(&aggregates, &columns)?);
    let metadata = DFSchema::metadata(input.schema()).clone();
    let schema = Arc::new(DFSchema::new_with_metadata(all, metadata)?);
    Aggregate::try_new_with_schema(input, group, aggregates, schema)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use arrow::datatypes::DataType;
    use datafusion::common::DFSchemaRef;
    use datafusion::functions_aggregate::expr_fn::count;
    use datafusion::logical_expr::{EmptyRelation, lit};

    use super::*;

    /// A plan with the columns `t.a`, `t.b` and `c`.
    fn input() -> Arc<LogicalPlan> {
        let field = |name: &str, data_type| Arc::new(Field::new(name, data_type, true));
        let table = || Some(TableReference::bare("t"));
        let fields = vec![
            (table(), field("a", DataType::Utf8View)),
            (table(), field("b", DataType::Int64)),
            (None, field("c", DataType::Float64)),
        ];
        let schema: DFSchemaRef =
            Arc::new(DFSchema::new_with_metadata(fields, HashMap::new()).unwrap());
        Arc::new(LogicalPlan::EmptyRelation(EmptyRelation { produce_one_row: false, schema }))
    }

    fn column(table: Option<&str>, name: &str) -> Expr {
        Expr::Column(Column::new(table, name))
    }

    #[test]
    fn schemas_are_those_that_datafusion_makes() {
        let exprs = || {
            let (a, c) = (column(Some("t"), "a"), column(None, "c"));
            vec![a, c.clone(), (column(None, "b") + lit(1_i64)).alias("x"), c.is_null().alias("y")]
        };
        let ours = projection(exprs(), input()).unwrap();
        let theirs = Projection::try_new(exprs(), input()).unwrap();
        assert_eq!(ours, theirs);
        let groups = || vec![column(None, "a").alias("key")];
        let counts = || vec![count(column(None, "b")).alias("n"), count(column(Some("t"), "a"))];
        let ours = aggregation(input(), groups(), counts()).unwrap();
        let theirs = Aggregate::try_new(input(), groups(), counts()).unwrap();
        assert_eq!(ours, theirs);
    }

    #[test]
    fn columns_are_where_datafusion_finds_them() {
        let input = input();
        let columns = Columns::of(input.schema());
        let tables = [None, Some("t"), Some("other")];
        for (table, name) in
            tables.into_iter().flat_map(|table| ["a", "b", "c", "d"].map(|name| (table, name)))
        {
            let column = Column::new(table, name);
            assert_eq!(columns.place(&column), input.schema().maybe_index_of_column(&column));
        }
        let exprs = [column(None, "c") + column(Some("t"), "a"), column(None, "nothing")];
        assert_eq!(columns.read_by(&exprs), [2, 0]);
    }

    #[test]
    fn a_column_of_several_tables_is_where_datafusion_finds_it() {
        let field = || Arc::new(Field::new("a", DataType::Int64, true));
        let table = |name| Some(TableReference::bare(name));
        let fields = vec![(table("t"), field()), (table("u"), field())];
        let schema = DFSchema::new_with_metadata(fields, HashMap::new()).unwrap();
        let columns = Columns::of(&schema);
        for table in [None, Some("t"), Some("u"), Some("other")] {
            let column = Column::new(table, "a");
            assert_eq!(columns.place(&column), schema.maybe_index_of_column(&column));
        }
    }

    #[test]
    fn a_column_that_is_not_there_is_an_error() {
        for missing in [column(None, "nothing"), column(Some("other"), "a")] {
            assert!(projection(vec![missing], input()).is_err());
        }
    }
}
