//! `outputtext`: copies the text of an event to the field `_xml`.
//!
//! Split: runs where the rows are.

use exprs::kernel::text;
use model::columns;
use spl::ast::OutputtextCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};

impl CommandPlan for OutputtextCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        let raw = frame.field(columns::RAW);
        let value = match self.usexml {
            false => raw,
            true => text("xml_escape", |row, out| {
                for c in row.text(0)?.chars() {
                    match c {
                        '&' => out.push_str("&amp;"),
                        '<' => out.push_str("&lt;"),
                        '>' => out.push_str("&gt;"),
                        other => out.push(other),
                    }
                }
                Some(())
            })
            .call(vec![raw]),
        };
        frame.with_columns(vec![(TARGET.to_owned(), value)]).map(Step::Next)
    }
}

const TARGET: &str = "_xml";
