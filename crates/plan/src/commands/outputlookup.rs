//! `outputlookup` and `outputcsv`: write the rows to a lookup, and pass them on.
//!
//! Split: runs at the search head, over all rows.

use exprs::column::Values;
use frames::Frame;
use futures::future::BoxFuture;
use spl::ast::OutputlookupCommand;

use super::inputlookup::Named;
use super::{CommandPlan, Input, OutputFields, Place, RequiredFields, Step};
use crate::{Error, LookupSource, LookupWrite, MessageKind};
use context::lookup;
use context::planning::PlanningContext;
use context::stage::{Breaker, Rows, TableOp};

/// The field with the key of a record in a collection.
const KEY: &str = "_key";

impl CommandPlan for OutputlookupCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.all();
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(self, Named::Lookup, input.frame, input.env)
    }
}

pub(super) fn plan(
    command: &OutputlookupCommand,
    named: Named,
    frame: Frame,
    env: &PlanningContext<'_>,
) -> Result<Step, Error> {
    let name = &command.name.node;
    let (source, fields) = match named {
        Named::File => (LookupSource::File(file_name(name)), Vec::new()),
        Named::Lookup => {
            let definition = lookup::table(name, env.context);
            let definition =
                definition.map_err(|error| Error::at(error.to_string(), command.name.span))?;
            let source = lookup::source(&definition);
            let source = source.map_err(|error| Error::at(error.to_string(), command.name.span))?;
            (source, definition.fields)
        }
    };
    if let Some(key) = &command.key_field
        && matches!(source, LookupSource::File(_))
        && !command.append
    {
        let text = format!(
            "outputlookup writes the whole file: key_field={} has a meaning only with append=true, or with \
             a collection of the KV store",
            key.node
        );
        env.log.add(MessageKind::Warning, text);
    }
    let op = Output { command: command.clone(), source, fields };
    Ok(Step::Materialize(frame, Breaker::table(op)))
}

/// Returns the name of a file, with its extension added if it is missing.
pub(super) fn file_name(name: &str) -> String {
    let ended = [".csv", ".csv.gz"].iter().any(|end| name.ends_with(end));
    if ended { name.to_owned() } else { format!("{name}.csv") }
}

/// Returns the rows that have a value in at least one column: other rows would become empty records of a
/// collection.
fn with_values(rows: Rows) -> Result<Rows, Error> {
    let columns: Vec<Values> =
        rows.columns.iter().map(|column| Values::new(&column.array)).collect::<Result<_, _>>()?;
    let has_value = |row: &usize| columns.iter().any(|values| !values.get(*row).is_null());
    let places: Vec<usize> = (0..rows.count).filter(has_value).collect();
    if places.len() == rows.count { Ok(rows) } else { Ok(rows.take(&places)?) }
}

#[derive(Debug)]
struct Output {
    command: OutputlookupCommand,
    source: LookupSource,
    /// The fields of a collection; empty for all fields.
    fields: Vec<String>,
}

impl Output {
    /// Sets the keys of the records of a collection from the values of `key_field`, if the rows have this
    /// field. The field itself is stored only if it is a field of the collection, so the key is set before
    /// other fields are removed.
    fn set_keys(&self, rows: &mut Rows, env: &PlanningContext<'_>) -> bool {
        let Some(field) = &self.command.key_field else { return false };
        let Some(column) = rows.column(&field.node).cloned() else {
            if rows.count > 0 {
                let text = format!(
                    "outputlookup: no row has the field {} of key_field=, so each run adds new records: \
                     compute the field before, or correct its name",
                    field.node
                );
                env.log.add(MessageKind::Warning, text);
            }
            return false;
        };
        rows.set(KEY, column.kind, column.array);
        true
    }
}

impl TableOp for Output {
    fn apply<'a>(
        &'a self,
        rows: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            if env.is_dry_run() {
                return Ok(rows);
            }
            let mut written = rows.clone();
            let is_file = matches!(self.source, LookupSource::File(_));
            let has_keys = !is_file && self.set_keys(&mut written, env);
            let shown = |name: &str| !name.starts_with('_') || name == "_time" || name == "_raw";
            written.columns.retain(|column| {
                let wanted = self.fields.is_empty() || self.fields.contains(&column.name);
                column.name == KEY || (wanted && (shown(&column.name) || !is_file))
            });
            if !is_file {
                written = with_values(written)?;
            }
            if let Some(max) =
                self.command.max.map(|max| usize::try_from(max).unwrap_or(usize::MAX))
                && written.count > max
            {
                let text = format!("the first {max} of {} rows were written (max=)", written.count);
                env.log.add(MessageKind::Warning, text);
                written = written.slice(0, max);
            }
            let keeps_old = written.count == 0 && !self.command.override_if_empty;
            if keeps_old && !self.command.create_empty {
                return Ok(rows);
            }
            let write = match &self.command.key_field {
                Some(field) if has_keys || (is_file && self.command.append) => {
                    LookupWrite::Upsert(field.node.clone())
                }
                Some(_) if !is_file => LookupWrite::Append,
                _ if self.command.append || keeps_old => LookupWrite::Append,
                _ => LookupWrite::Replace,
            };
            env.context.host.write_lookup(&self.source, written, write).await?;
            Ok(rows)
        })
    }
}
