//! `replace`: replaces values that match a wildcard pattern.
//!
//! Split: runs where the rows are.

use exprs::kernel::text_of_each;
use exprs::types::ValueType;
use spl::ast::{PatternPart, ReplaceCommand, SearchPattern};

use super::fields::expand_or_all;
use super::required::reaches_source;
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};

impl CommandPlan for ReplaceCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.patterns_or_all(&self.fields);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn changes_source(&self) -> bool {
        self.fields.is_empty() || self.fields.iter().any(reaches_source)
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        let mut values = Vec::new();
        for name in expand_or_all(&self.fields, &frame) {
            if matches!(frame.kind(&name), None | Some(ValueType::Time)) {
                continue;
            }
            let pairs: Vec<(String, SearchPattern)> = self
                .replacements
                .iter()
                .map(|replacement| (replacement.old.text(), replacement.new.clone()))
                .collect();
            let parameters = format!("{pairs:?}");
            let function = text_of_each("replace_values", move |row, out| {
                let value = row.text(0)?;
                replaced(&value, &pairs, out);
                Some(())
            });
            values.push((name.clone(), function.with(parameters).call(vec![frame.field(&name)])));
        }
        frame.with_changed(values).map(Step::Next)
    }
}

/// Replaces a value by the first pattern that matches all of it.
fn replaced(value: &str, pairs: &[(String, SearchPattern)], out: &mut String) {
    for (old, new) in pairs {
        let pattern = spl::ast::FieldPattern::new(old.as_str(), spl::Span::default());
        if let Some(captures) = pattern.captures(value) {
            let mut captures = captures.into_iter();
            for part in &new.parts {
                match part {
                    PatternPart::Literal(text) => out.push_str(text),
                    PatternPart::Any => out.push_str(captures.next().unwrap_or("")),
                }
            }
            return;
        }
    }
    out.push_str(value);
}
