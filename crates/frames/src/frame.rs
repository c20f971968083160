//! A frame: the rows of a pipeline, as a logical plan with named, typed columns.
//!
//! Guarantees: visible columns have distinct names and keep their display order; rows are ordered by hidden
//! copies of the sort columns, so a command cannot change the order by accident. Names are exact: they are
//! never parsed as SQL identifiers.

pub(crate) mod computed;
mod formats;
mod places;
pub(crate) mod schemas;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use arrow::datatypes::DataType;
use datafusion::common::{Column, DFSchema, TableReference};
use datafusion::logical_expr::expr::Sort as SortExpr;
use datafusion::logical_expr::{
    EmptyRelation, Expr, Extension, Filter, Limit, LogicalPlan, Projection, Sort, cast, lit,
};
use exprs::Typed;
use exprs::present::{all_present, keys_present};
use exprs::types::{ArrowType, ValueType};

pub use formats::Formats;
use places::Places;
use schemas::aggregation;
pub use schemas::projection;

use crate::stream::StreamNode;
use crate::{Error, FieldFilter, OutputColumn, ResultKind};

/// A visible column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FrameColumn {
    /// The exact name of the field.
    pub name: String,
    /// The type of its values.
    pub kind: ValueType,
}

/// A hidden sort column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OrderKey {
    pub(crate) column: String,
    pub(crate) descending: bool,
    pub(crate) nulls_first: bool,
}

impl OrderKey {
    fn reversed(&self) -> Self {
        Self {
            column: self.column.clone(),
            descending: !self.descending,
            nulls_first: !self.nulls_first,
        }
    }

    fn expr(&self) -> SortExpr {
        SortExpr::new(column(&self.column), !self.descending, self.nulls_first)
    }
}

/// Rows with their columns and order.
#[derive(Debug, Clone)]
pub struct Frame {
    plan: LogicalPlan,
    columns: Vec<FrameColumn>,
    places: Places,
    order: Vec<OrderKey>,
    hidden: Vec<String>,
    /// Columns of fields that the source may not have.
    possible: HashSet<String>,
    /// Possible columns that stay in the result even if no row has a value.
    named: HashSet<String>,
    /// Columns of composed texts, which are not numbers.
    composed: HashSet<String>,
    /// Whether a command has set the order of the columns; otherwise they are listed by name.
    ordered: bool,
    /// Whether rows are still events of the source.
    pub open: bool,
    /// The filter for further fields that are displayed with events.
    pub filter: FieldFilter,
    /// Minimum and maximum of the field that the next command asked for; the inner `None` means that the
    /// field has no values.
    pub extent: Option<Option<(f64, f64)>>,
    /// Minimum and maximum of `_time` in microseconds, if the next command asked for those of another field,
    /// too.
    pub time_extent: Option<Option<(f64, f64)>>,
    /// Display formats of fields.
    pub formats: Formats,
    /// Words and phrases that the search looks for.
    pub words: Vec<String>,
    next: usize,
}

/// Returns a column by its exact name.
pub fn column(name: &str) -> Expr {
    Expr::Column(Column::new_unqualified(name))
}

/// Returns the null of a type.
pub fn null(kind: ValueType) -> Result<Expr, Error> {
    Ok(lit(datafusion::common::ScalarValue::try_from(&kind.data_type())?))
}

impl Frame {
    /// Creates a frame over a plan whose columns are all visible and whose rows have no order.
    pub fn new(plan: LogicalPlan, columns: Vec<FrameColumn>) -> Self {
        Self {
            plan,
            columns,
            places: Places::default(),
            order: Vec::new(),
            hidden: Vec::new(),
            possible: HashSet::new(),
            named: HashSet::new(),
            composed: HashSet::new(),
            ordered: true,
            open: false,
            filter: FieldFilter::default(),
            extent: None,
            time_extent: None,
            formats: Formats::default(),
            words: Vec::new(),
            next: 0,
        }
    }

    /// Creates a frame over a scan of `table`. Columns of the table become visible columns, and the rows are
    /// ordered by table columns (name, descending).
    pub fn of_table(
        scan: LogicalPlan,
        table: &str,
        columns: Vec<FrameColumn>,
        order: Vec<(&str, bool)>,
    ) -> Result<Self, Error> {
        // Names of tables are parsed as SQL: once, not for each column.
        let table = TableReference::from(table);
        let of = |name: &str| Expr::Column(Column::new(Some(table.clone()), name));
        let schema = scan.schema().clone();
        let types: HashMap<&str, &DataType> = schema
            .fields()
            .iter()
            .map(|field| (field.name().as_str(), field.data_type()))
            .collect();
        let mut exprs = Vec::with_capacity(columns.len() + order.len());
        for FrameColumn { name, kind } in &columns {
            let wanted = kind.data_type();
            let is_same = types.get(name.as_str()).is_some_and(|found| **found == wanted);
            let expr = if is_same { of(name) } else { cast(of(name), wanted) };
            exprs.push(expr.alias(name));
        }
        let mut frame = Self::new(scan, columns);
        for (name, descending) in order {
            let hidden = frame.fresh("order");
            exprs.push(of(name).alias(&hidden));
            frame.hidden.push(hidden.clone());
            frame.order.push(OrderKey { column: hidden, descending, nulls_first: false });
        }
        frame.project_exprs(exprs)?;
        Ok(frame)
    }

    /// Returns the plan so far, with hidden columns and without the order.
    pub fn plan(&self) -> &LogicalPlan {
        &self.plan
    }

    /// Returns the visible columns.
    pub fn columns(&self) -> &[FrameColumn] {
        &self.columns
    }

    /// Returns the visible columns in listing order: the order that a command set, otherwise by name.
    pub fn listed(&self) -> Vec<&FrameColumn> {
        let mut columns: Vec<&FrameColumn> = self.columns.iter().collect();
        if !self.ordered {
            columns.sort_by_key(|column| (!column.name.starts_with('_'), &column.name));
        }
        columns
    }

    /// Lists the columns by name until a command sets an order.
    pub fn unordered(mut self) -> Self {
        self.ordered = false;
        self
    }

    /// Lists the columns in their current order.
    pub fn in_order(mut self) -> Self {
        self.ordered = true;
        self
    }

    /// Returns the names of the visible columns.
    pub fn names(&self) -> Vec<String> {
        self.columns.iter().map(|column| column.name.clone()).collect()
    }

    /// Returns the type of a visible column.
    pub fn kind(&self, name: &str) -> Option<ValueType> {
        self.places.of(name, &self.columns).map(|at| self.columns[at].kind)
    }

    /// Returns a visible column; nulls if it does not exist.
    pub fn field(&self, name: &str) -> Typed {
        match self.kind(name) {
            Some(kind) => Typed { expr: column(name), kind },
            None => {
                Typed { expr: lit(datafusion::common::ScalarValue::Null), kind: ValueType::Null }
            }
        }
    }

    /// Returns all columns of the plan, including hidden ones.
    pub fn schema(&self) -> &DFSchema {
        self.plan.schema()
    }

    /// Returns the order of the rows as sort expressions.
    pub fn sort_exprs(&self) -> Vec<SortExpr> {
        self.order.iter().map(OrderKey::expr).collect()
    }

    /// Returns an unused column name.
    pub fn fresh(&mut self, stem: &str) -> String {
        self.next += 1;
        format!("__{stem}{}", self.next)
    }

    /// Returns the hidden columns that projections must keep.
    fn carried(&self) -> Vec<Expr> {
        self.hidden.iter().map(|name| column(name)).collect()
    }

    fn project_exprs(&mut self, exprs: Vec<Expr>) -> Result<(), Error> {
        let plan = std::mem::take(&mut self.plan);
        self.plan = LogicalPlan::Projection(projected(exprs, plan)?);
        Ok(())
    }

    /// Replaces the visible columns by expressions over the current ones.
    pub fn project(mut self, outputs: Vec<(String, Typed)>) -> Result<Self, Error> {
        let mut exprs = Vec::with_capacity(outputs.len() + self.hidden.len());
        let mut columns = Vec::with_capacity(outputs.len());
        let mut seen = HashSet::new();
        let (mut possible, mut named) = (HashSet::new(), HashSet::new());
        let mut composed = HashSet::new();
        for (name, Typed { expr, kind }) in outputs {
            if !seen.insert(name.clone()) {
                return Err(Error::internal(format!("two columns named \"{name}\"")));
            }
            if let Expr::Column(of) = &expr {
                if self.possible.contains(&of.name) {
                    possible.insert(name.clone());
                }
                if self.named.contains(&of.name) {
                    named.insert(name.clone());
                }
                if self.composed.contains(&of.name) {
                    composed.insert(name.clone());
                }
            }
            let (expr, kind) = match kind {
                ValueType::Null => (null(ValueType::Text)?, ValueType::Text),
                kind => (expr, kind),
            };
            exprs.push(rename(expr, &name));
            columns.push(FrameColumn { name, kind });
        }
        exprs.extend(self.carried());
        self.project_exprs(exprs)?;
        (self.columns, self.places) = (columns, Places::default());
        (self.possible, self.named, self.composed) = (possible, named, composed);
        Ok(self)
    }

    /// Marks columns as composed texts, which are not numbers.
    pub fn with_composed(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.composed.extend(names);
        self
    }

    /// Whether a column has composed texts.
    pub fn is_composed(&self, name: &str) -> bool {
        self.composed.contains(name)
    }

    /// Returns the columns of composed texts.
    pub fn composed(&self) -> &HashSet<String> {
        &self.composed
    }

    /// Whether a column is omitted from the result if no row has a value.
    pub fn is_possible(&self, name: &str) -> bool {
        self.possible.contains(name) && !self.named.contains(name)
    }

    /// Returns the visible columns that are omitted from the result if no row has a value, in order.
    pub fn possible(&self) -> impl Iterator<Item = &FrameColumn> {
        self.columns.iter().filter(|column| self.is_possible(&column.name))
    }

    /// Marks columns to be omitted from the result if no row has a value.
    pub fn if_present(mut self, names: impl IntoIterator<Item = String>) -> Self {
        self.possible.extend(names);
        self
    }

    /// Selects these columns, and keeps the `named` ones in the result even without values. Rows that have no
    /// columns other than these, and no value in any of them, are not part of the result.
    pub fn select_named(self, names: &[String], named: &[&str]) -> Result<Self, Error> {
        let known: HashSet<String> = self.names().into_iter().collect();
        let mut frame = self.select(names)?;
        let unknown = named.iter().filter(|name| !known.contains(**name));
        frame.possible.extend(unknown.map(|name| (*name).to_owned()));
        frame.named.extend(named.iter().map(|name| (*name).to_owned()));
        Ok(frame.in_order())
    }

    /// Selects these columns, which are known to have values.
    pub fn present(self, names: &[String]) -> Result<Self, Error> {
        let mut frame = self.select(names)?;
        frame.possible.retain(|name| frame.named.contains(name));
        Ok(frame)
    }

    /// Sets columns: existing ones keep their position, new ones are appended.
    pub fn with_columns(self, values: Vec<(String, Typed)>) -> Result<Self, Error> {
        let same = |c: &FrameColumn| (c.name.clone(), Typed::column(&c.name, c.kind));
        let mut outputs: Vec<(String, Typed)> = self.columns.iter().map(same).collect();
        let mut places: HashMap<String, usize> =
            outputs.iter().enumerate().map(|(at, (name, _))| (name.clone(), at)).collect();
        for (name, value) in values {
            match places.get(&name) {
                Some(at) => outputs[*at].1 = value,
                None => {
                    places.insert(name.clone(), outputs.len());
                    outputs.push((name, value));
                }
            }
        }
        self.project(outputs)
    }

    /// Sets columns to expressions that are null where the old values are, so that columns that may be
    /// omitted keep this property.
    pub fn with_changed(self, values: Vec<(String, Typed)>) -> Result<Self, Error> {
        let changed = values.iter().map(|(name, _)| name.clone());
        let possible: Vec<String> = changed.filter(|name| self.is_possible(name)).collect();
        Ok(self.with_columns(values)?.if_present(possible))
    }

    /// Selects visible columns in this order; unknown names become null columns.
    pub fn select(self, names: &[String]) -> Result<Self, Error> {
        let kinds: HashMap<&str, ValueType> =
            self.columns.iter().map(|column| (column.name.as_str(), column.kind)).collect();
        let field = |name: &String| match kinds.get(name.as_str()) {
            Some(kind) => Typed::column(name, *kind),
            None => Typed::null(ValueType::Null),
        };
        let outputs = names.iter().map(|name| (name.clone(), field(name))).collect();
        self.project(outputs)
    }

    /// Adds hidden columns and returns their names.
    pub fn with_hidden(mut self, values: Vec<(&str, Expr)>) -> Result<(Self, Vec<String>), Error> {
        let mut exprs: Vec<Expr> = self.columns.iter().map(|c| column(&c.name)).collect();
        exprs.extend(self.carried());
        let mut names = Vec::with_capacity(values.len());
        for (stem, expr) in values {
            let name = self.fresh(stem);
            exprs.push(expr.alias(&name));
            names.push(name);
        }
        self.project_exprs(exprs)?;
        self.hidden.extend(names.iter().cloned());
        Ok((self, names))
    }

    /// Removes hidden columns that a command made for itself.
    pub fn without_hidden(mut self, names: &[String]) -> Self {
        let forgotten: HashSet<&String> = names.iter().collect();
        self.hidden.retain(|name| !forgotten.contains(name));
        self
    }

    /// Keeps the rows that satisfy a condition.
    pub fn filter(mut self, condition: Expr) -> Result<Self, Error> {
        let input = Arc::new(self.plan.clone());
        self.plan = LogicalPlan::Filter(Filter::try_new(condition, input)?);
        Ok(self)
    }

    /// Keeps the rows that have values in all of these columns. The next operator must read the columns, as
    /// keys of groups: then those that the plan computes are tested after they are computed.
    pub fn with_keys<'n>(self, names: impl IntoIterator<Item = &'n str>) -> Result<Self, Error> {
        let names: Vec<&str> = names.into_iter().collect();
        let computed = computed::computed(&self.plan, &names);
        let is_computed = |name: &&str| computed.contains(name);
        let (made, read): (Vec<&str>, Vec<&str>) = names.into_iter().partition(is_computed);
        let fields =
            |names: Vec<&str>| names.into_iter().map(|name| self.field(name).expr).collect();
        let tests = [all_present(fields(read)), keys_present(fields(made))];
        match tests.into_iter().flatten().reduce(Expr::and) {
            Some(condition) => self.filter(condition),
            None => Ok(self),
        }
    }

    /// Sorts the rows by expressions. With `keep_ties`, the previous order decides between equal rows.
    pub fn order_by(self, keys: Vec<(Expr, bool, bool)>, keep_ties: bool) -> Result<Self, Error> {
        let values = keys.iter().map(|(expr, _, _)| ("order", expr.clone())).collect();
        let (mut frame, names) = self.with_hidden(values)?;
        let new = names.into_iter().zip(keys).map(|(column, (_, descending, nulls_first))| {
            OrderKey { column, descending, nulls_first }
        });
        let ties = std::mem::take(&mut frame.order);
        frame.order = new.collect();
        if keep_ties {
            frame.order.extend(ties);
        } else {
            let ties: Vec<String> = ties.into_iter().map(|key| key.column).collect();
            frame = frame.without_hidden(&ties);
        }
        Ok(frame)
    }

    /// Adds a hidden column as the last sort key.
    pub fn order_after(mut self, column: &str) -> Result<Self, Error> {
        if !self.hidden.iter().any(|hidden| hidden == column) {
            return Err(Error::internal(format!("no hidden column {column}")));
        }
        let column = column.to_owned();
        self.order.push(OrderKey { column, descending: false, nulls_first: false });
        Ok(self)
    }

    /// Reverses the order.
    pub fn reverse(mut self) -> Self {
        self.order = self.order.iter().map(OrderKey::reversed).collect();
        self
    }

    /// Keeps the first rows in the frame's order.
    pub fn limit(mut self, rows: usize) -> Self {
        if !self.order.is_empty() {
            self.plan = self.sorted_plan(Some(rows));
        }
        self.plan = LogicalPlan::Limit(Limit {
            skip: None,
            fetch: Some(Box::new(lit(i64::try_from(rows).unwrap_or(i64::MAX)))),
            input: Arc::new(self.plan),
        });
        self
    }

    fn sorted_plan(&self, fetch: Option<usize>) -> LogicalPlan {
        if self.order.is_empty() {
            return self.plan.clone();
        }
        let (expr, input) = (self.sort_exprs(), Arc::new(self.plan.clone()));
        LogicalPlan::Sort(Sort { expr, input, fetch })
    }

    /// Adds a stream operator, which receives the rows in order.
    pub fn stream(mut self, node: StreamNode) -> Self {
        self.plan = LogicalPlan::Extension(Extension { node: Arc::new(node) });
        self
    }

    /// Keeps hidden columns that the plan has added.
    pub fn adopt_hidden(mut self, added: &[String]) -> Self {
        self.hidden.extend(added.iter().cloned());
        self
    }

    /// Groups rows; the columns of the result are the keys, followed by the values; visible ones have their
    /// own names. Aggregate calls may occur anywhere in the expressions of `values`.
    pub fn aggregate(
        mut self,
        keys: Vec<(String, Typed)>,
        values: Vec<(String, Typed)>,
    ) -> Result<Self, Error> {
        let mut inner = Vec::new();
        let mut outputs = Vec::new();
        let mut group = Vec::new();
        let mut composed = HashSet::new();
        for (name, Typed { expr, kind }) in keys {
            let key = self.fresh("key");
            if matches!(&expr, Expr::Column(of) if self.composed.contains(&of.name)) {
                composed.insert(key.clone());
            }
            group.push(expr.alias(&key));
            outputs.push((name, Typed { expr: column(&key), kind }));
        }
        for (name, Typed { expr, kind }) in values {
            let expr = self.lift_aggregates(expr, &mut inner)?;
            outputs.push((name, Typed { expr, kind }));
        }
        self.composed = composed;
        let input = Arc::new(self.plan.clone());
        if inner.is_empty() && group.is_empty() {
            // The wildcards match no field, so there is nothing to aggregate.
            self.plan = LogicalPlan::EmptyRelation(EmptyRelation {
                produce_one_row: false,
                schema: Arc::new(DFSchema::empty()),
            });
            (self.columns, self.places) = (Vec::new(), Places::default());
            self.possible.clear();
            self.named.clear();
            self.order.clear();
            self.hidden.clear();
            self.open = false;
            self.filter = FieldFilter::default();
            self.formats = Formats::default();
            return Ok(self.in_order());
        }
        self.plan = LogicalPlan::Aggregate(aggregation(input, group, inner)?);
        self.order.clear();
        self.hidden.clear();
        self.open = false;
        self.filter = FieldFilter::default();
        self.formats = Formats::default();
        self.in_order().project(outputs)
    }

    /// Replaces the aggregate calls in an expression by columns and collects them.
    pub fn lift_aggregates(&mut self, expr: Expr, inner: &mut Vec<Expr>) -> Result<Expr, Error> {
        use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
        let lifted = expr.transform_down(|node| {
            if matches!(node, Expr::AggregateFunction(_)) {
                let name = self.fresh("agg");
                inner.push(node.alias(&name));
                return Ok(Transformed::new(column(&name), true, TreeNodeRecursion::Jump));
            }
            Ok(Transformed::no(node))
        })?;
        Ok(lifted.data)
    }

    /// Replaces the plan by one with the same columns and additional ones; the caller adopts the additional
    /// ones.
    pub fn map_plan(
        mut self,
        change: impl FnOnce(LogicalPlan) -> Result<LogicalPlan, Error>,
    ) -> Result<Self, Error> {
        self.plan = change(self.plan)?;
        Ok(self)
    }

    /// Sets the type of a visible column after the plan below has changed it.
    pub fn set_kind(&mut self, name: &str, kind: ValueType) {
        if let Some(at) = self.places.of(name, &self.columns) {
            self.columns[at].kind = kind;
        }
    }

    /// Returns the finished plan, with visible columns only and with rows in order.
    pub fn finish(&self) -> Result<(LogicalPlan, Vec<OutputColumn>), Error> {
        let sorted = self.sorted_plan(None);
        let listed = if self.open { self.columns.iter().collect() } else { self.listed() };
        let exprs = listed.iter().map(|c| column(&c.name)).collect::<Vec<_>>();
        let plan = LogicalPlan::Projection(projected(exprs, sorted)?);
        let columns = listed.into_iter().map(|column| OutputColumn {
            name: column.name.clone(),
            value_type: column.kind,
            shown: !column.name.starts_with('_') || matches!(&*column.name, "_time" | "_raw"),
            possible: self.possible.contains(&column.name),
            named: self.named.contains(&column.name),
            absent: false,
        });
        Ok((plan, columns.collect()))
    }

    /// Returns the kind of the rows.
    pub fn result_kind(&self) -> ResultKind {
        if self.open && self.kind("_raw").is_some() {
            ResultKind::Events
        } else {
            ResultKind::Report
        }
    }
}

/// Builds a projection. If the input is a projection whose values are each used at most once, both are
/// merged, so that chains of `eval`, `rename` and `rex` are only as deep as their nested computations.
fn projected(exprs: Vec<Expr>, plan: LogicalPlan) -> Result<Projection, Error> {
    let LogicalPlan::Projection(below) = plan else {
        return Ok(projection(exprs, Arc::new(plan))?);
    };
    let fields = below.schema.iter().zip(&below.expr);
    let is_plain = below.schema.iter().all(|(table, _)| table.is_none());
    let below_of: HashMap<&str, &Expr> =
        fields.map(|((_, field), expr)| (field.name().as_str(), expr)).collect();
    if !is_plain || !can_be_one(&exprs, &below_of) {
        return Ok(projection(exprs, Arc::new(LogicalPlan::Projection(below)))?);
    }
    let one = exprs.into_iter().map(|expr| through(expr, &below_of));
    let one = one.collect::<Result<Vec<_>, Error>>()?;
    Ok(projection(one, Arc::clone(&below.input))?)
}

/// Size of a constant in bytes from which on it is referenced as a column instead of being inlined.
const LONG_LITERAL: usize = 256;

/// Whether a projection can be merged with the one below: every computed value is used only once, as a plain
/// column.
fn can_be_one(exprs: &[Expr], below: &HashMap<&str, &Expr>) -> bool {
    let computed = |column: &Column| {
        let found = below.get(column.name.as_str()).map(|expr| unaliased(expr));
        let is_plain = match found {
            Some(Expr::Column(_)) => true,
            // A long text is not inlined in each expression that reads it.
            Some(Expr::Literal(value, _)) => value.size() < LONG_LITERAL,
            _ => false,
        };
        column.relation.is_some() || !is_plain
    };
    let mut handed = HashSet::new();
    exprs.iter().all(|expr| match unaliased(expr) {
        Expr::Column(column) if computed(column) => {
            column.relation.is_none()
                && below.contains_key(column.name.as_str())
                && handed.insert(column.name.as_str())
        }
        expr => !expr.column_refs().into_iter().any(computed),
    })
}

fn unaliased(expr: &Expr) -> &Expr {
    match expr {
        Expr::Alias(alias) => unaliased(&alias.expr),
        other => other,
    }
}

/// Rewrites an expression over a projection's columns for the input of the projection.
fn through(expr: Expr, below: &HashMap<&str, &Expr>) -> Result<Expr, Error> {
    use datafusion::common::tree_node::{Transformed, TreeNode};
    let name = expr.schema_name().to_string();
    let value = match expr {
        Expr::Alias(alias) => *alias.expr,
        other => other,
    };
    let replaced = value.transform_up(|expr| match &expr {
        Expr::Column(column) => match below.get(column.name.as_str()) {
            Some(found) => Ok(Transformed::yes(unaliased(found).clone())),
            None => Ok(Transformed::no(expr)),
        },
        _ => Ok(Transformed::no(expr)),
    })?;
    Ok(rename(replaced.data, &name))
}

fn rename(expr: Expr, name: &str) -> Expr {
    match expr {
        Expr::Column(found) if found.relation.is_none() && found.name == name => {
            Expr::Column(found)
        }
        other => other.alias(name),
    }
}
