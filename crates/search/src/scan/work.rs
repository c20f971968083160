//! From stored rows to rows of the plan: filters first, extraction only for what survives them.

use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;

use arrow::array::{
    Array, ArrayRef, AsArray, BooleanArray, ListBuilder, RecordBatch, RecordBatchOptions,
    StringViewArray, StringViewBuilder, new_null_array,
};
use arrow::compute::{cast, filter, filter_record_batch, prep_null_mask_filter};
use arrow::datatypes::{DataType, Int64Type, SchemaRef, TimestampMicrosecondType};
use datafusion::common::DFSchema;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::context::ExecutionProps;
use datafusion::logical_expr::Expr;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};
use knowledge::Knowledge;
use model::{ColumnKind, IndexName, columns};
use plan::value::NumberText;

use super::FIXED;
use super::fields::{WantedField, extract};
use super::integers::IntegerTest;
use super::unit::FieldPlace;
use crate::report::ScanReport;

/// Whether every bucket stores the column.
fn is_stored(name: &str) -> bool {
    name != columns::INDEX && FIXED.contains(&name)
}

/// A filter, and the working columns it reads.
#[derive(Debug)]
struct Conjunct {
    expr: Arc<dyn PhysicalExpr>,
    reads: Vec<usize>,
    /// If it compares a field, how integers that are stored as such are compared.
    integers: Option<IntegerTest>,
}

/// What a scan does with every batch of rows, compiled once per plan.
#[derive(Debug)]
pub(super) struct Work {
    /// The columns filters and output need, a projection of the table's.
    schema: SchemaRef,
    conjuncts: Vec<Conjunct>,
    /// Positions of the output columns among the working ones.
    output: Vec<usize>,
    pub(super) output_schema: SchemaRef,
    knowledge: Arc<Knowledge>,
    report: Arc<ScanReport>,
}

impl Work {
    pub(super) fn compile(
        table: &SchemaRef,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        knowledge: Arc<Knowledge>,
        report: Arc<ScanReport>,
    ) -> Result<Self> {
        let all: Vec<usize> = (0..table.fields().len()).collect();
        let output = projection.unwrap_or(&all);
        let mut needed: Vec<usize> = output.clone();
        needed.push(table.index_of(columns::TIME)?);
        for column in filters.iter().flat_map(Expr::column_refs) {
            needed.push(table.index_of(&column.name)?);
        }
        needed.sort_unstable();
        needed.dedup();
        let schema = Arc::new(table.project(&needed)?);
        let names = DFSchema::try_from(schema.as_ref().clone())?;
        let (props, context) = (ExecutionProps::new(), PhysicalPlanningContext::default());
        let compile = |filter: &Expr| -> Result<Conjunct> {
            let bare = unqualified(filter.clone())?;
            let expr = create_physical_expr(&bare, &names, &props, &context)?;
            let reads = collect_columns(&expr).iter().map(|column| column.index()).collect();
            Ok(Conjunct { expr, reads, integers: IntegerTest::of(filter) })
        };
        let mut conjuncts = filters.iter().map(compile).collect::<Result<Vec<_>>>()?;
        let raw = schema.index_of(columns::RAW).ok();
        // Filters over small columns first: they leave less text to look into.
        conjuncts.sort_by_key(|conjunct| raw.is_some_and(|raw| conjunct.reads.contains(&raw)));
        let position = |column: &usize| needed.binary_search(column).unwrap_or_default();
        let output: Vec<usize> = output.iter().map(position).collect();
        let output_schema = Arc::new(schema.project(&output)?);
        Ok(Self { schema, conjuncts, output, output_schema, knowledge, report })
    }

    /// Whether nobody wants to see the rows, but to know how many there are.
    pub(super) fn only_counts(&self) -> bool {
        self.output.is_empty()
    }

    /// So many rows without columns.
    pub(super) fn counted(&self, rows: usize) -> Result<RecordBatch> {
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::clone(&self.output_schema);
        Ok(RecordBatch::try_new_with_options(schema, Vec::new(), &options)?)
    }

    /// Which columns to read from an object, given where its fields are.
    pub(super) fn stored_columns<'a>(&'a self, place: &dyn Fn(&str) -> FieldPlace) -> Vec<&'a str> {
        let mut names: Vec<&str> = Vec::new();
        let mut extracts = false;
        for field in self.schema.fields() {
            let name = field.name().as_str();
            if is_stored(name) {
                names.push(name);
            } else if name != columns::INDEX {
                match place(name) {
                    FieldPlace::Column(_) => names.push(name),
                    FieldPlace::Absent => {}
                    FieldPlace::Raw { indexed } => {
                        extracts = true;
                        names.extend(indexed.map(|_| name));
                    }
                }
            }
        }
        if extracts {
            let origin = [columns::RAW, columns::HOST, columns::SOURCE, columns::SOURCETYPE];
            let missing: Vec<&str> = origin.into_iter().filter(|n| !names.contains(n)).collect();
            names.extend(missing);
        }
        names
    }

    /// The rows of the plan that these stored rows give; `None` if no row passes.
    pub(super) fn process(
        &self,
        mut stored: RecordBatch,
        index: &IndexName,
        place: &dyn Fn(&str) -> FieldPlace,
    ) -> Result<Option<RecordBatch>> {
        self.report.events_scanned.fetch_add(stored.num_rows() as u64, Relaxed);
        let mut decided = vec![false; self.conjuncts.len()];
        for (conjunct, decided) in self.conjuncts.iter().zip(&mut decided) {
            let Some(mask) = conjunct.integers.as_ref().and_then(|test| test.mask(&stored, place))
            else {
                continue;
            };
            *decided = true;
            if mask.true_count() < mask.len() {
                stored = filter_record_batch(&stored, &mask)?;
            }
            if stored.num_rows() == 0 {
                return Ok(None);
            }
        }
        let mut ready: Vec<Option<ArrayRef>> =
            self.schema.fields().iter().map(|f| self.ready(f, &stored, index, place)).collect();
        let (first, later): (Vec<&Conjunct>, Vec<&Conjunct>) = self
            .conjuncts
            .iter()
            .zip(decided)
            .filter_map(|(conjunct, decided)| (!decided).then_some(conjunct))
            .partition(|conjunct| conjunct.reads.iter().all(|column| ready[*column].is_some()));
        for conjunct in first {
            let batch = self.batch_with_gaps(&ready, stored.num_rows())?;
            let Some(mask) = conjunct.mask(&batch)? else { continue };
            stored = filter_record_batch(&stored, &mask)?;
            for column in ready.iter_mut().flatten() {
                *column = filter(column, &mask)?;
            }
            if stored.num_rows() == 0 {
                return Ok(None);
            }
        }
        self.fill_gaps(&mut ready, &stored, place)?;
        let mut batch = self.batch_with_gaps(&ready, stored.num_rows())?;
        for conjunct in later {
            if let Some(mask) = conjunct.mask(&batch)? {
                batch = filter_record_batch(&batch, &mask)?;
            }
        }
        if batch.num_rows() == 0 {
            return Ok(None);
        }
        self.count(&batch);
        Ok(Some(batch.project(&self.output)?))
    }

    /// A working column, if it can be had without extraction.
    fn ready(
        &self,
        field: &arrow::datatypes::Field,
        stored: &RecordBatch,
        index: &IndexName,
        place: &dyn Fn(&str) -> FieldPlace,
    ) -> Option<ArrayRef> {
        let name = field.name().as_str();
        let rows = stored.num_rows();
        if name == columns::INDEX {
            let values = std::iter::repeat_n(index.as_str(), rows);
            return Some(Arc::new(StringViewArray::from_iter_values(values)));
        }
        if is_stored(name) {
            return convert(stored.column_by_name(name)?, field.data_type());
        }
        match place(name) {
            FieldPlace::Column(kind) => {
                field_column(stored.column_by_name(name)?, kind, field.data_type())
            }
            FieldPlace::Absent => Some(new_null_array(field.data_type(), rows)),
            FieldPlace::Raw { .. } => None,
        }
    }

    fn fill_gaps(
        &self,
        ready: &mut [Option<ArrayRef>],
        stored: &RecordBatch,
        place: &dyn Fn(&str) -> FieldPlace,
    ) -> Result<()> {
        let gaps: Vec<usize> = (0..ready.len()).filter(|at| ready[*at].is_none()).collect();
        if gaps.is_empty() {
            return Ok(());
        }
        let wanted: Vec<WantedField> = gaps
            .iter()
            .map(|at| {
                let field = self.schema.field(*at);
                let multivalue = matches!(field.data_type(), DataType::List(_));
                WantedField { name: field.name().clone(), multivalue }
            })
            .collect();
        let extracted = extract(stored, &wanted, &self.knowledge);
        let (extracted, cut) = extracted.ok_or_else(|| {
            DataFusionError::Internal("a bucket lacks the columns to extract from".to_owned())
        })?;
        if let Some(limit) = cut {
            self.report.warn(format!(
                "some events have more fields or text than extraction takes; raise {} in limits.conf \
                 [kv]",
                limit.setting()
            ));
        }
        for ((at, field), column) in gaps.into_iter().zip(&wanted).zip(extracted) {
            ready[at] = Some(match place(&field.name) {
                FieldPlace::Raw { indexed: Some(kind) } => {
                    let data_type = self.schema.field(at).data_type();
                    let sent = stored
                        .column_by_name(&field.name)
                        .and_then(|sent| field_column(sent, kind, data_type));
                    match sent {
                        Some(sent) => prefer(&sent, &column)?,
                        None => column,
                    }
                }
                _ => column,
            });
        }
        Ok(())
    }

    /// The working batch, with nulls for columns that are not there yet (and that nobody reads).
    fn batch_with_gaps(&self, ready: &[Option<ArrayRef>], rows: usize) -> Result<RecordBatch> {
        let columns = ready.iter().zip(self.schema.fields()).map(|(column, field)| {
            column.clone().unwrap_or_else(|| new_null_array(field.data_type(), rows))
        });
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let schema = Arc::clone(&self.schema);
        Ok(RecordBatch::try_new_with_options(schema, columns.collect(), &options)?)
    }

    fn count(&self, batch: &RecordBatch) {
        self.report.events_matched.fetch_add(batch.num_rows() as u64, Relaxed);
        let times = batch
            .column_by_name(columns::TIME)
            .and_then(|column| column.as_primitive_opt::<TimestampMicrosecondType>());
        if let Some(times) = times {
            self.report.count_times(times.values().iter().copied());
        }
    }
}

impl Conjunct {
    /// Which rows pass; `None` if all do.
    fn mask(&self, batch: &RecordBatch) -> Result<Option<BooleanArray>> {
        let value = self.expr.evaluate(batch)?.into_array(batch.num_rows())?;
        let mask = value.as_boolean_opt().ok_or_else(|| {
            DataFusionError::Internal(format!("the filter {} is not a condition", self.expr))
        })?;
        let mask = match mask.null_count() {
            0 => mask.clone(),
            _ => prep_null_mask_filter(mask),
        };
        Ok((mask.true_count() < mask.len()).then_some(mask))
    }
}

/// Filters arrive with the table's name on their columns; a scan has one table only.
fn unqualified(expr: Expr) -> Result<Expr> {
    use datafusion::common::tree_node::{Transformed, TreeNode};
    let bare = |node: Expr| {
        Ok(match node {
            Expr::Column(column) => Transformed::yes(Expr::Column(
                datafusion::common::Column::new_unqualified(column.name),
            )),
            other => Transformed::no(other),
        })
    };
    Ok(expr.transform(bare)?.data)
}

fn convert(column: &ArrayRef, to: &DataType) -> Option<ArrayRef> {
    if column.data_type() == to { Some(Arc::clone(column)) } else { cast(column, to).ok() }
}

/// A field's stored column in the type the plan expects of the field.
fn field_column(column: &ArrayRef, kind: ColumnKind, to: &DataType) -> Option<ArrayRef> {
    let wants_list = matches!(to, DataType::List(_));
    match kind {
        ColumnKind::Multivalue if wants_list => convert(column, to),
        ColumnKind::Multivalue => Some(first_values(column)),
        ColumnKind::Text | ColumnKind::Integer => {
            let text: ArrayRef = match column.data_type() {
                DataType::Int64 => Arc::new(integer_texts(column)),
                _ => convert(column, &DataType::Utf8View)?,
            };
            Some(if wants_list { singletons(&text) } else { text })
        }
    }
}

fn integer_texts(column: &ArrayRef) -> StringViewArray {
    let numbers = column.as_primitive::<Int64Type>();
    numbers.iter().map(|number| number.map(NumberText::integer)).collect::<TextColumn>().0.finish()
}

#[derive(Default)]
struct TextColumn(StringViewBuilder);

impl FromIterator<Option<NumberText>> for TextColumn {
    fn from_iter<I: IntoIterator<Item = Option<NumberText>>>(texts: I) -> Self {
        let mut column = Self::default();
        for text in texts {
            column.0.append_option(text.as_deref());
        }
        column
    }
}

fn first_values(column: &ArrayRef) -> ArrayRef {
    let lists = column.as_list::<i32>();
    let mut builder = StringViewBuilder::with_capacity(lists.len());
    for row in 0..lists.len() {
        let items = lists.value(row);
        let first = (lists.is_valid(row) && !items.is_empty())
            .then(|| items.as_string_view_opt().map(|texts| texts.value(0).to_owned()))
            .flatten();
        builder.append_option(first);
    }
    Arc::new(builder.finish())
}

fn singletons(texts: &ArrayRef) -> ArrayRef {
    let mut builder = ListBuilder::new(StringViewBuilder::new());
    for text in texts.as_string_view() {
        if let Some(text) = text {
            builder.values().append_value(text);
        }
        builder.append(text.is_some());
    }
    Arc::new(builder.finish())
}

/// The first column's values, and the second's where it has none.
fn prefer(first: &ArrayRef, second: &ArrayRef) -> Result<ArrayRef> {
    let has_first = arrow::compute::is_not_null(first)?;
    Ok(arrow::compute::kernels::zip::zip(&has_first, first, second)?)
}
