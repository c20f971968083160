//! `outputtext`: the text of an event in the field `_xml`.
//!
//! Split: runs where the rows are.

use model::columns;
use spl::ast::OutputtextCommand;

use super::{CommandPlan, Input, Step};
use crate::Error;
use crate::expr::kernel::text;
use crate::frame::Frame;
use crate::place::Place;
use crate::required_fields::{OutputFields, RequiredFields};

impl CommandPlan for OutputtextCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(self, input.frame).map(Step::Next)
    }
}

const TARGET: &str = "_xml";

pub(super) fn plan(command: &OutputtextCommand, frame: Frame) -> Result<Frame, Error> {
    let raw = frame.field(columns::RAW);
    let value = match command.usexml {
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
    frame.with_columns(vec![(TARGET.to_owned(), value)])
}
