//! `tojson`: a JSON object of each row.
//!
//! Split: runs where the rows are.

use exprs::column::Value;
use exprs::kernel::text;
use serde_json::Value as Json;
use spl::ast::{JsonKind, TojsonCommand};

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use crate::frame::Frame;

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

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        let mut fields = fields(self, &frame);
        // As in Splunk's objects, keys are in the order of their names.
        fields.sort_by(|(one, _), (two, _)| one.cmp(two));
        let arguments = fields.iter().map(|(name, _)| frame.field(name)).collect();
        let parameters = format!("{fields:?} {}", self.fill_null);
        let fill_null = self.fill_null;
        let members = fields.into_iter().map(|(name, kind)| (format!("{}:", quoted(&name)), kind));
        let members: Vec<(String, JsonKind)> = members.collect();
        let object = text("tojson", move |row, out| {
            out.push('{');
            for (at, (key, kind)) in members.iter().enumerate() {
                let Some(json) = json(row.value(at), *kind, fill_null) else { continue };
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

/// The fields of the objects and what is made of them; a field named twice is of the first kind.
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

/// The JSON of a field: an array of several values; nothing where no value fits its kind.
fn json(value: Value<'_>, kind: JsonKind, fill_null: bool) -> Option<String> {
    let mut texts = Vec::new();
    value.each_text(|text| {
        let json = of_text(text, kind);
        texts.extend(json.or_else(|| fill_null.then(|| "null".to_owned())));
    });
    match (value.count(), texts.len()) {
        (_, 0) => None,
        (1, _) => texts.pop(),
        _ => Some(format!("[{}]", texts.join(","))),
    }
}

/// The JSON of one value; `None` where it does not fit its kind.
fn of_text(text: &str, kind: JsonKind) -> Option<String> {
    match kind {
        JsonKind::Str => Some(quoted(text)),
        JsonKind::Num => number(text),
        JsonKind::None => Some(number(text).unwrap_or_else(|| quoted(text))),
        JsonKind::Bool => truth(text).map(|truth| truth.to_string()),
        JsonKind::Json => whole(text),
        JsonKind::Auto => {
            let lower = text.to_ascii_lowercase();
            if matches!(lower.as_str(), "true" | "false" | "null") {
                return Some(lower);
            }
            let found =
                number(text).or_else(|| whole(text).filter(|_| text.starts_with(['{', '['])));
            Some(found.unwrap_or_else(|| quoted(text)))
        }
    }
}

fn quoted(text: &str) -> String {
    Json::from(text).to_string()
}

/// The text itself, where JSON reads it as a number.
fn number(text: &str) -> Option<String> {
    let text = text.trim();
    let begins = text.starts_with(|c: char| c == '-' || c.is_ascii_digit());
    let is_number = begins && serde_json::from_str::<serde_json::Number>(text).is_ok();
    is_number.then(|| text.to_owned())
}

fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "t" | "yes" => Some(true),
        "false" | "f" | "no" => Some(false),
        _ => crate::value::parse_number(text).map(|number| number != 0.0),
    }
}

/// The text as JSON without blanks.
fn whole(text: &str) -> Option<String> {
    serde_json::from_str::<Json>(text).ok().map(|json| json.to_string())
}
