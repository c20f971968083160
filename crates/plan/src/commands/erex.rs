//! `erex`: values like given examples.
//!
//! Split: runs at the search head, over all rows: a regular expression is learnt from the rows that
//! hold an example (`learning`), then applied to all.

mod learning;

use async_trait::async_trait;
use spl::ast::ErexCommand;

use super::{CommandPlan, Input, OutputFields, Place, RequiredFields, Step};
use crate::context::PlanningContext;
use crate::stage::{Breaker, Rows, TableOp};
use crate::{Error, MessageKind};

impl CommandPlan for ErexCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(&self.fromfield);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        Ok(Step::Materialize(frame, Breaker::table(Erex(self.clone()))))
    }
}

#[derive(Debug)]
struct Erex(ErexCommand);

#[async_trait]
impl TableOp for Erex {
    async fn apply(&self, mut rows: Rows, env: &PlanningContext<'_>) -> Result<Rows, Error> {
        let command = &self.0;
        let texts = rows.texts(&command.fromfield)?;
        let most = usize::try_from(command.maxtrainers).unwrap_or(usize::MAX);
        let texts_with =
            |text: &&str| command.examples.iter().any(|example| text.contains(example.as_str()));
        let trainers: Vec<&str> = texts.iter().flatten().map(String::as_str).collect();
        let with: Vec<&str> = trainers.iter().copied().filter(texts_with).take(most).collect();
        if with.is_empty() && rows.count > 0 {
            let message = format!("no \"{}\" holds one of the examples of erex", command.fromfield);
            return Err(Error::at(message, command.field.span));
        }
        let others: Vec<&str> =
            trainers.iter().copied().filter(|text| !texts_with(text)).take(most).collect();
        let found = learning::learn(&with, &others, &command.examples, &command.counterexamples);
        let Some(pattern) = found else {
            if rows.count == 0 {
                return Ok(rows);
            }
            let message = "erex found no regular expression for these examples; try others";
            return Err(Error::at(message, command.field.span));
        };
        let from = match command.fromfield.as_str() {
            "_raw" => String::new(),
            other => format!("field={other} "),
        };
        let named = pattern.as_str().replacen("(?P<value>", &format!("(?<{}>", name(command)), 1);
        env.log.add(MessageKind::Info, format!("erex learned: | rex {from}\"{named}\""));
        let value = |text: &Option<String>| {
            let found = pattern.captures(text.as_ref()?)?;
            Some(found.name("value")?.as_str().to_owned())
        };
        rows.set_texts(&command.field.node, texts.iter().map(value).collect::<Vec<_>>());
        Ok(rows)
    }
}

/// The field as the name of a group.
fn name(command: &ErexCommand) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    command.field.node.chars().map(plain).collect()
}
