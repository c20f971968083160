//! Merges rows that differ in a single field into one row with all values of that field.

use arrow::row::{RowConverter, SortField};
use hashbrown::HashMap;

use crate::error::Error;
use crate::operation::{Context, Operation};
use crate::rows::Rows;

/// The first of the rows that differ only in one field, with the values of all of them.
#[derive(Debug)]
pub struct Mvcombine {
    /// The field.
    pub field: String,
    /// The separator, if the values are joined into one text.
    pub joined: Option<String>,
}

impl Operation for Mvcombine {
    fn apply(&self, rows: Rows, _: &mut Context) -> Result<Rows, Error> {
        if rows.column(&self.field).is_none() || rows.count == 0 {
            return Ok(rows);
        }
        // The arrival time of events does not distinguish them.
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
