//! `mvfilter(condition)` and `mvmap(field, expression)`: an expression for each value of a field.
//!
//! Guarantees: the inner expression is compiled once during planning, and evaluated once per batch over all
//! values of all rows.

use std::fmt;
use std::sync::{Arc, OnceLock};

use arrow::array::{Array, ArrayBuilder, ArrayRef, StringViewBuilder, UInt64Array};
use arrow::compute::take;
use arrow::datatypes::{DataType, Field, Schema};
use arrow::record_batch::{RecordBatch, RecordBatchOptions};
use datafusion::common::config::ConfigOptions;
use datafusion::common::{DFSchema, Result as EngineResult};
use datafusion::execution::context::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use model::EventTime;
use spl::ast::{Call, Expr, ExprKind, Span};

use crate::Error;
use crate::column::{Argument, Values, read};
use crate::kernel::{Texts, inner};
use crate::ledger::Meter;
use crate::types::{ArrowType, ValueType};
use crate::{AskedLookup, Report, Scope, Typed, compile};

/// Size in bytes of a value in all columns over which the inner expression is evaluated: its view, its row
/// number, its result.
const VALUE: usize = 48;

/// The scope of the inner expression, in which the field is a single text.
struct Inner<'a> {
    outer: &'a dyn Scope,
    field: &'a str,
}

impl Scope for Inner<'_> {
    fn field(&self, name: &str) -> Option<ValueType> {
        if name == self.field { Some(ValueType::Text) } else { self.outer.field(name) }
    }

    fn fields(&self) -> Vec<String> {
        self.outer.fields()
    }

    fn lookup(&self, table: &str, inputs: &[String]) -> Option<Arc<dyn AskedLookup>> {
        self.outer.lookup(table, inputs)
    }

    fn report(&self) -> Option<Report> {
        self.outer.report()
    }

    fn now(&self) -> EventTime {
        self.outer.now()
    }

    fn timezone(&self) -> &jiff::tz::TimeZone {
        self.outer.timezone()
    }
}

/// Collects the names of all fields that an expression reads.
fn fields(expr: &Expr, found: &mut Vec<String>) {
    expr.walk(&mut |expr| match &expr.kind {
        ExprKind::Field(field) if !found.contains(&field.name) => found.push(field.name.clone()),
        _ => {}
    });
}

fn at(span: Span, message: impl Into<String>) -> Error {
    Error::invalid(message, span.start..span.end)
}

pub(super) fn mvfilter(call: &Call, span: Span, scope: &dyn Scope) -> Result<Typed, Error> {
    let mut names = Vec::new();
    fields(&call.arguments[0], &mut names);
    let [name] = names.as_slice() else {
        return Err(at(span, "the condition of mvfilter() reads exactly one field"));
    };
    let Some(kind) = scope.field(name) else { return Ok(Typed::null(ValueType::Multi)) };
    let values = Typed::column(name, kind);
    build("mvfilter", &call.arguments[0], (name, values), scope, true)
}

/// Compiles `mvmap`. The values are those of a field, or of an expression over one field; in both cases, the
/// field's name refers to a single value within the inner expression.
pub(super) fn mvmap(call: &Call, span: Span, scope: &dyn Scope) -> Result<Typed, Error> {
    let mut names = Vec::new();
    fields(&call.arguments[0], &mut names);
    let named = call.arguments.get(2).map(|third| &third.kind);
    let name = match (named, names.as_slice()) {
        (Some(ExprKind::Field(field)), _) => &field.name,
        (Some(ExprKind::String(name)), _) => name,
        (None, [name]) => name,
        _ => return Err(at(span, "the first argument of mvmap() reads exactly one field")),
    };
    let values = compile(&call.arguments[0], scope)?;
    if values.kind == ValueType::Null {
        return Ok(Typed::null(ValueType::Multi));
    }
    build("mvmap", &call.arguments[1], (name, values.shown()), scope, false)
}

/// The inner expression and the columns that it reads: the field's value first, then the others.
struct Each {
    expr: datafusion::logical_expr::Expr,
    schema: Arc<Schema>,
    physical: OnceLock<Arc<dyn PhysicalExpr>>,
    /// Whether the expression filters the values instead of mapping them.
    filters: bool,
}

impl fmt::Debug for Each {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Each({})", self.expr)
    }
}

fn build(
    name: &'static str,
    each: &Expr,
    (field, values): (&str, Typed),
    scope: &dyn Scope,
    filters: bool,
) -> Result<Typed, Error> {
    let mut names = Vec::new();
    fields(each, &mut names);
    names.retain(|other| other != field);
    let others = names.into_iter().filter_map(|other| Some((scope.field(&other)?, other)));
    let others: Vec<_> = others.collect();
    let value = compile(each, &Inner { outer: scope, field })?;
    let value = value.shown().to(if filters { ValueType::Boolean } else { ValueType::Text });
    let own = Field::new(field, DataType::Utf8View, true);
    let read = others.iter().map(|(kind, other)| Field::new(other, kind.data_type(), true));
    let schema = Arc::new(Schema::new(std::iter::once(own).chain(read).collect::<Vec<_>>()));
    let parameters = format!("{field}: {}", value.expr);
    let each = Each { expr: value.expr, schema, physical: OnceLock::new(), filters };
    each.plan(&Arc::new(ConfigOptions::new()))?;
    let run = move |arguments: &[Argument], rows, config: &Arc<ConfigOptions>| {
        each.run(arguments, rows, config)
    };
    let function = inner(name, ValueType::Multi, run);
    let mut arguments = vec![values];
    arguments.extend(others.iter().map(|(kind, other)| Typed::column(other, *kind)));
    Ok(function.with(parameters).call(arguments))
}

impl Each {
    /// Returns the expression, planned for a session with these options.
    fn plan(&self, config: &Arc<ConfigOptions>) -> EngineResult<Arc<dyn PhysicalExpr>> {
        let schema = DFSchema::try_from(Arc::clone(&self.schema))?;
        let context = PhysicalPlanningContext::default();
        let mut props = ExecutionProps::new();
        props.config_options = Some(Arc::clone(config));
        create_physical_expr(&self.expr, &schema, &props, &context)
    }

    /// Returns the planned expression, which is cached: a function runs only in the session of its search.
    fn physical(&self, config: &Arc<ConfigOptions>) -> EngineResult<&Arc<dyn PhysicalExpr>> {
        if let Some(ready) = self.physical.get() {
            return Ok(ready);
        }
        let physical = self.plan(config)?;
        Ok(self.physical.get_or_init(|| physical))
    }

    fn run(
        &self,
        arguments: &[Argument],
        rows: usize,
        config: &Arc<ConfigOptions>,
    ) -> EngineResult<ArrayRef> {
        let mut meter = Meter::new(config);
        let mut texts = StringViewBuilder::new();
        let mut owners = Vec::new();
        let mut counted = 0;
        for row in 0..rows {
            arguments[0].get(row).each_text(|text| {
                texts.append_value(text);
                owners.push(row as u64);
            });
            let copied = owners.len() - counted;
            counted = owners.len();
            meter.add(copied * VALUE)?;
        }
        let texts = texts.finish();
        let results = self.evaluate(&texts, &owners, &arguments[1..], (rows, config))?;
        let mut built = Texts::with_capacity(StringViewBuilder::new(), rows);
        let mut at = 0;
        for row in 0..rows {
            let before = built.values().len();
            let mut bytes = 0;
            while at < owners.len() && owners[at] == row as u64 {
                match (self.filters, results.get(at)) {
                    (true, kept) if kept.truth() == Some(true) => {
                        bytes += VALUE + texts.value(at).len();
                        built.values().append_value(texts.value(at));
                    }
                    (true, _) => {}
                    (false, mapped) => mapped.each_text(|text| {
                        bytes += VALUE + text.len();
                        built.values().append_value(text);
                    }),
                }
                at += 1;
            }
            meter.add(bytes)?;
            let some = built.values().len() > before;
            built.append(some);
        }
        Ok(Arc::new(built.finish()))
    }

    /// Evaluates the inner expression for every value, with the other columns repeated accordingly.
    fn evaluate(
        &self,
        texts: &arrow::array::StringViewArray,
        owners: &[u64],
        others: &[Argument],
        (rows, config): (usize, &Arc<ConfigOptions>),
    ) -> EngineResult<Values> {
        let mut columns: Vec<ArrayRef> = vec![Arc::new(texts.clone())];
        let every = UInt64Array::from(owners.to_vec());
        let first = UInt64Array::from(vec![0; owners.len()]);
        for other in others {
            let Some(array) = other.values.array() else {
                columns.push(arrow::array::new_null_array(&DataType::Null, owners.len()));
                continue;
            };
            let places = if other.constant { &first } else { &every };
            debug_assert!(other.constant || array.len() == rows);
            columns.push(take(&array, places, None)?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(owners.len()));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&self.schema), columns, &options)?;
        let result = self.physical(config)?.evaluate(&batch)?.into_array(owners.len())?;
        read(&result)
    }
}
