//! `findtypes` and `typelearner`: suggest event types.
//!
//! Split: run at the search head, over all rows. Events with the same source type and the same punctuation
//! form a group; a group is characterized by words that all of its events and few other events contain.

use frames::Frame;
use spl::ast::{FindtypesCommand, TypelearnerCommand};
use tables::analysis::findtypes::Learner;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::stage::Breaker;

impl CommandPlan for FindtypesCommand {
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
        Ok(findtypes(self, input.frame))
    }
}

/// Number of punctuation characters that are compared.
const PUNCTUATION: usize = 15;

pub(super) fn findtypes(command: &FindtypesCommand, frame: Frame) -> Step {
    let op = Learner {
        field: None,
        length: Some(PUNCTUATION),
        words: command.useraw,
        uncovered: command.notcovered,
        most: usize::try_from(command.max).unwrap_or(usize::MAX),
    };
    Step::Materialize(frame, Breaker::table(op))
}

pub(super) fn typelearner(command: &TypelearnerCommand, frame: Frame) -> Step {
    let op = Learner {
        field: command.field.as_ref().map(|field| field.node.clone()),
        length: usize::try_from(command.maxlen).ok(),
        words: true,
        uncovered: false,
        most: usize::MAX,
    };
    Step::Materialize(frame, Breaker::table(op))
}
