//! `format` and `return`: the filter that rows stand for, as a subsearch gives it.
//!
//! Split: both run at the search head, over all rows.

use async_trait::async_trait;
use spl::ast::{FormatCommand, ReturnCommand, Returned, ReturnedForm};

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use crate::context::PlanningContext;
use crate::frame::Frame;
use crate::stage::{Breaker, Rows, TableOp};
use crate::subsearch::{Format, comparison};

impl CommandPlan for FormatCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.all();
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        Ok(format(self, input.frame))
    }
}

/// The field with the filter.
const TARGET: &str = "search";

pub(super) fn format(command: &FormatCommand, frame: Frame) -> Step {
    let [row_prefix, column_prefix, column_separator, column_end, row_separator, row_end] =
        command.frame.clone();
    let format = Format {
        row_prefix,
        column_prefix,
        column_separator,
        column_end,
        row_separator,
        row_end,
        mvsep: command.mvsep.clone(),
        emptystr: command.emptystr.clone(),
    };
    let most = match command.maxresults {
        0 => usize::MAX,
        most => usize::try_from(most).unwrap_or(usize::MAX),
    };
    Step::Materialize(frame, Breaker::table(Formatted { format, most }))
}

#[derive(Debug)]
struct Formatted {
    format: Format,
    /// Rows at most.
    most: usize,
}

#[async_trait]
impl TableOp for Formatted {
    async fn apply(&self, rows: Rows, _: &PlanningContext<'_>) -> Result<Rows, Error> {
        let rows = rows.slice(0, self.most);
        Ok(one(self.format.text(&rows)?))
    }
}

/// The only row of a filter.
fn one(text: String) -> Rows {
    let mut rows = Rows::blank(1);
    rows.set_texts(TARGET, [Some(text)]);
    rows
}

pub(super) fn returned(command: &ReturnCommand, frame: Frame) -> Step {
    let most = usize::try_from(command.count).unwrap_or(usize::MAX);
    let frame = frame.limit(most);
    Step::Materialize(frame, Breaker::table(ReturnedRows(command.fields.clone())))
}

#[derive(Debug)]
struct ReturnedRows(Vec<Returned>);

#[async_trait]
impl TableOp for ReturnedRows {
    async fn apply(&self, rows: Rows, _: &PlanningContext<'_>) -> Result<Rows, Error> {
        let mut columns = Vec::with_capacity(self.0.len());
        for Returned { field, form } in &self.0 {
            columns.push((field.node.as_str(), form, rows.lists(&field.node)?));
        }
        let mut filters = Vec::with_capacity(rows.count);
        for row in 0..rows.count {
            let mut terms = Vec::new();
            for (field, form, cells) in &columns {
                terms.extend(term(field, form, &cells[row]));
            }
            if !terms.is_empty() {
                filters.push(terms.join(" "));
            }
        }
        if filters.is_empty() {
            return Ok(one(Format::default().emptystr));
        }
        if let [filter] = filters.as_slice() {
            return Ok(one(filter.clone()));
        }
        let filters: Vec<String> = filters.iter().map(|filter| format!("({filter})")).collect();
        Ok(one(filters.join(" OR ")))
    }
}

/// What a field adds to the filter of a row; any of several values will do.
fn term(field: &str, form: &ReturnedForm, values: &[String]) -> Option<String> {
    let term = |value: &String| match form {
        ReturnedForm::Named => comparison(field, value),
        ReturnedForm::Alias(alias) => comparison(alias, value),
        ReturnedForm::Value => value.clone(),
    };
    match values {
        [] => None,
        [value] => Some(term(value)),
        several => {
            let terms: Vec<String> = several.iter().map(term).collect();
            Some(format!("({})", terms.join(" OR ")))
        }
    }
}
