//! `abstract`: the lines of an event's text that contain the most search words.
//!
//! Split: runs where the rows are.

use exprs::kernel::text;
use frames::Frame;
use spl::ast::AbstractCommand;
use tables::text::excerpt::shorten;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};

impl CommandPlan for AbstractCommand {
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

const RAW: &str = "_raw";

pub(super) fn plan(command: &AbstractCommand, frame: Frame) -> Result<Frame, Error> {
    if frame.kind(RAW).is_none() {
        return Ok(frame);
    }
    let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
    let words = frame.words.iter().map(|word| word.replace('*', "").to_lowercase());
    let words: Vec<String> =
        words.filter(|word| !word.is_empty()).take(count(command.maxterms)).collect();
    let lines = count(command.maxlines);
    let parameters = format!("{lines} {words:?}");
    let shorten = text("abstract", move |row, out| {
        shorten(&row.text(0)?, &words, lines, out);
        Some(())
    });
    let value = shorten.with(parameters).call(vec![frame.field(RAW)]);
    frame.with_columns(vec![(RAW.to_owned(), value)])
}
