//! `xpath`: extracts values from XML with an XPath expression.
//!
//! Split: runs where the rows are.

use exprs::kernel::{Row, Several, multi};
use exprs::required_fields::field_or;
use spl::ast::XpathCommand;
use tables::text::xml::XPath;

use super::required::is_source;
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};

impl CommandPlan for XpathCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(field_or(&self.field, "_raw"));
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn changes_source(&self) -> bool {
        is_source(field_or(&self.outfield, "xpath"))
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        let path = XPath::parse(&self.path.node).map_err(|reason| {
            let message = format!("xpath does not support the path: {reason}");
            Error::at(message, self.path.span)
        })?;
        let field = self.field.as_ref().map_or("_raw", |field| field.node.as_str());
        let target = self.outfield.as_ref().map_or("xpath", |field| field.node.as_str());
        let default = self.default.clone();
        let parameters = format!("{} {default:?}", self.path.node);
        let found = multi("xpath", move |row: Row<'_>, out: &mut Several<'_>| {
            let mut some = false;
            row.value(0).each_text(|text| {
                path.visit(text, &mut |value| {
                    out.append_value(value);
                    some = true;
                });
            });
            if !some && let Some(default) = &default {
                out.append_value(default);
            }
            Some(())
        });
        let value = found.with(parameters).call(vec![frame.field(field)]);
        frame.with_columns(vec![(target.to_owned(), value)]).map(Step::Next)
    }
}
