//! `diff`: how two rows differ, line by line.
//!
//! Split: runs at the search head, over the first rows.

use async_trait::async_trait;
use exprs::required_fields::field_or;
use spl::ast::DiffCommand;

use super::{CommandPlan, Input, OutputFields, Place, RequiredFields, Step};
use crate::context::PlanningContext;
use crate::lines::{Style, difference};
use crate::stage::{Breaker, Rows, TableOp};
use crate::{Error, MessageKind};

impl CommandPlan for DiffCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(field_or(&self.attribute, "_raw"));
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        let last = self.position1.max(self.position2);
        let frame = frame.limit(usize::try_from(last).unwrap_or(usize::MAX));
        Ok(Step::Materialize(frame, Breaker::table(Diff(self.clone()))))
    }
}

const RAW: &str = "_raw";

#[derive(Debug)]
struct Diff(DiffCommand);

#[async_trait]
impl TableOp for Diff {
    async fn apply(&self, rows: Rows, env: &PlanningContext<'_>) -> Result<Rows, Error> {
        let command = &self.0;
        let field = command.attribute.as_ref().map_or(RAW, |field| field.node.as_str());
        let texts = rows.texts(field)?;
        let text = |position: u64| {
            let at = usize::try_from(position - 1).ok()?;
            texts.get(at).map(|text| text.as_deref().unwrap_or_default())
        };
        let mut result = Rows::blank(0);
        let (Some(one), Some(two)) = (text(command.position1), text(command.position2)) else {
            let (one, two, count) = (command.position1, command.position2, rows.count);
            let message = format!("diff compares rows {one} and {two}, but there are only {count}");
            env.log.add(MessageKind::Warning, message);
            return Ok(result);
        };
        let style = if command.context { Style::Context } else { Style::Unified };
        let cut = |text: &'_ str| match command.maxlen {
            0 => text.len(),
            most => text.floor_char_boundary(usize::try_from(most).unwrap_or(usize::MAX)),
        };
        let (one_end, two_end) = (cut(one), cut(two));
        if one_end < one.len() || two_end < two.len() {
            let message = format!("diff compared the first {} bytes (maxlen)", command.maxlen);
            env.log.add(MessageKind::Warning, message);
        }
        let found = difference(&one[..one_end], &two[..two_end], style);
        let text = match (found, command.diffheader) {
            (None, _) => "Results are the same".to_owned(),
            (Some(found), false) => found,
            (Some(found), true) => {
                let (first, second) = style.marks();
                let (one, two) = (command.position1, command.position2);
                format!("{first} result {one}\n{second} result {two}\n{found}")
            }
        };
        result.count = 1;
        result.set_texts(RAW, [Some(text)]);
        Ok(result)
    }
}
