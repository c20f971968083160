//! `regex`: keeps rows whose field matches a regular expression.
//!
//! Split: runs where the rows are, pruned by texts that every match contains.

use exprs::predicate::{RegexTest, regex};
use spl::ast::RegexCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};

impl CommandPlan for RegexCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.fields(&self.field);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let Input { frame, env, .. } = input;
        let test = RegexTest::new(&self.pattern.node, self.negated).map_err(|reason| {
            let message = format!("the regular expression is not valid: {reason}");
            Error::at(message, self.pattern.span)
        })?;
        let name = self.field.as_ref().map_or("_raw", |field| field.node.as_str());
        let condition = regex(name, test, &env.scope(&frame));
        frame.filter(condition).map(Step::Next)
    }
}
