//! `mvcombine`: one row of rows that differ in one field only, with all values of that field.
//!
//! Split: runs at the search head, over all rows.

use arrow::row::{RowConverter, SortField};
use async_trait::async_trait;
use hashbrown::HashMap;
use spl::ast::{Command, MvcombineCommand};

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use crate::context::PlanningContext;
use crate::stage::{Breaker, Rows, TableOp};

impl CommandPlan for MvcombineCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(&self.field.node);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let Input { frame, rest, .. } = input;
        let field = self.field.node.clone();
        // Between values there is nothing to see of a delimiter until `nomv` makes one text of them.
        let joined = match rest.first().map(|next| &next.node) {
            Some(Command::Nomv(next)) if next.field.node == field => self.delim.clone(),
            _ => None,
        };
        Ok(Step::Materialize(frame, Breaker::table(Mvcombine { field, joined })))
    }
}

#[derive(Debug)]
struct Mvcombine {
    field: String,
    /// Between the values, if they become one text.
    joined: Option<String>,
}

#[async_trait]
impl TableOp for Mvcombine {
    async fn apply(&self, rows: Rows, _: &PlanningContext<'_>) -> Result<Rows, Error> {
        if rows.column(&self.field).is_none() || rows.count == 0 {
            return Ok(rows);
        }
        // When an event arrived is no part of what it says.
        let others = |name: &str| name != self.field && name != "_indextime";
        let others: Vec<_> = rows.columns.iter().filter(|c| others(&c.name)).collect();
        let types = others.iter().map(|c| SortField::new(c.array.data_type().clone()));
        let converter = RowConverter::new(types.collect())?;
        let arrays: Vec<_> = others.iter().map(|c| c.array.clone()).collect();
        let keys = match arrays.is_empty() {
            true => None,
            false => Some(converter.convert_columns(&arrays)?),
        };
        let mut lists = rows.lists(&self.field)?;
        let mut first = Vec::new();
        let mut combined: Vec<Vec<String>> = Vec::new();
        let mut groups: HashMap<Vec<u8>, usize> = HashMap::new();
        for (row, list) in lists.iter_mut().enumerate() {
            let key = keys.as_ref().map_or(Vec::new(), |keys| keys.row(row).data().to_vec());
            let group = *groups.entry(key).or_insert_with(|| {
                first.push(row);
                combined.push(Vec::new());
                first.len() - 1
            });
            combined[group].append(list);
        }
        if let Some(delimiter) = &self.joined {
            for list in combined.iter_mut().filter(|list| list.len() > 1) {
                *list = vec![list.join(delimiter)];
            }
        }
        let mut rows = rows.take(&first)?;
        rows.set_lists(&self.field, combined);
        Ok(rows)
    }
}
