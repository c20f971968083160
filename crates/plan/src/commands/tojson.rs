//! `tojson`: a JSON object for each row.
//!
//! Split: runs where the rows are.

use exprs::kernel::text;
use frames::Frame;
use spl::ast::{JsonKind, TojsonCommand};
use tables::text::json::{of_value, quoted};

use super::required::is_source;
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Rest, Step};

impl CommandPlan for TojsonCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        if self.fields.is_empty() {
            fields.all();
        }
        self.fields.iter().for_each(|(_, field)| fields.pattern(&field.text));
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn changes_source(&self) -> bool {
        is_source(&self.output_field)
    }

    fn needs_presence(&self, frame: &Frame, _: Rest<'_>) -> bool {
        self.fill_null && frame.possible().next().is_some()
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        let mut fields = fields(self, &frame);
        // As in Splunk, keys are sorted by name.
        fields.sort_by(|(one, _), (two, _)| one.cmp(two));
        let arguments = fields.iter().map(|(name, _)| frame.field(name)).collect();
        let parameters = format!("{fields:?} {}", self.fill_null);
        let fill_null = self.fill_null;
        let members = fields.into_iter().map(|(name, kind)| (format!("{}:", quoted(&name)), kind));
        let members: Vec<(String, JsonKind)> = members.collect();
        let object = text("tojson", move |row, out| {
            out.push('{');
            for (at, (key, kind)) in members.iter().enumerate() {
                let Some(json) = of_value(row.value(at), *kind, fill_null) else { continue };
                if out.len() > 1 {
                    out.push(',');
                }
                out.push_str(key);
                out.push_str(&json);
            }
            out.push('}');
            Some(())
        });
        let value = object.with(parameters).call(arguments);
        frame.with_columns(vec![(self.output_field.clone(), value)]).map(Step::Next)
    }
}

/// The fields of the objects and their JSON types; if a field is named twice, the first type applies.
fn fields(command: &TojsonCommand, frame: &Frame) -> Vec<(String, JsonKind)> {
    let mut fields: Vec<(String, JsonKind)> = Vec::new();
    let wanted = |name: &str| command.include_internal || !name.starts_with('_');
    for name in frame.names().into_iter().filter(|name| wanted(name)) {
        let named = command.fields.iter().find(|(_, pattern)| pattern.matches(&name));
        match named {
            Some((kind, _)) => fields.push((name, kind.unwrap_or(command.default_type))),
            None if command.fields.is_empty() => fields.push((name, command.default_type)),
            None => {}
        }
    }
    fields
}
