//! `folderize`: groups hierarchical values, such as paths, by their prefixes.
//!
//! Split: runs at the search head, over all rows.

use spl::ast::FolderizeCommand;
use tables::analysis::folderize::Folderize;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::stage::Breaker;

impl CommandPlan for FolderizeCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(&self.attr.node);
        fields.name(&self.size);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let count = |number: u64| usize::try_from(number).unwrap_or(usize::MAX);
        let op = Folderize {
            field: self.attr.node.clone(),
            size: self.size.clone(),
            separator: self.sep.node.clone(),
            least: count(self.minfolders),
            most: count(self.maxfolders),
        };
        let frame = input.frame;
        Ok(Step::Materialize(frame, Breaker::table(op)))
    }
}
