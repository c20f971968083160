//! `typer` and `tags`: event types and tags as fields.
//!
//! Split: both run where the rows are.

use std::collections::HashMap;

use exprs::kernel::multi;
use exprs::required_fields::wildcard;
use frames::Frame;
use spl::ast::TagsCommand;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::event_types::{self, TAG};
use context::planning::PlanningContext;

impl CommandPlan for TagsCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name("tag");
        fields.patterns(&self.fields);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        tags(self, input.frame, input.env).map(Step::Next)
    }
}

pub(super) fn typer(frame: Frame, env: &PlanningContext<'_>) -> Result<Frame, Error> {
    event_types::Wanted::event_types(env).add(frame, env)
}

pub(super) fn tags(
    command: &TagsCommand,
    frame: Frame,
    env: &PlanningContext<'_>,
) -> Result<Frame, Error> {
    let named = |field: &str| {
        command.fields.is_empty()
            || command.fields.iter().any(|pattern| wildcard(&pattern.text, field))
    };
    let allowed =
        |tag: &String| command.allowed_tags.is_empty() || command.allowed_tags.contains(tag);
    let mut fields: Vec<String> = Vec::new();
    let mut tags: HashMap<(usize, String), Vec<String>> = HashMap::new();
    for tagged in env.context.knowledge.tagged_values() {
        if !named(&tagged.field) {
            continue;
        }
        let at = fields.iter().position(|field| *field == tagged.field).unwrap_or_else(|| {
            fields.push(tagged.field.clone());
            fields.len() - 1
        });
        let kept = tagged.tags.into_iter().filter(allowed);
        tags.entry((at, tagged.value.to_lowercase())).or_default().extend(kept);
    }
    let (names, values) = (command.inclname, command.inclvalue);
    let groups: Vec<(String, Vec<usize>)> = match &command.outputfield {
        Some(output) => vec![(output.clone(), (0..fields.len()).collect())],
        None => {
            fields.iter().enumerate().map(|(at, f)| (format!("{TAG}::{f}"), vec![at])).collect()
        }
    };
    let tags = std::sync::Arc::new(tags);
    let mut outputs = Vec::new();
    for (name, places) in groups {
        let arguments = places.iter().map(|at| frame.field(&fields[*at])).collect();
        let parameters = format!("{name} {names} {values} {:p}", std::sync::Arc::as_ptr(&tags));
        let (tags, fields) = (std::sync::Arc::clone(&tags), fields.clone());
        let function = multi("tags_command", move |row, out| {
            let mut all: Vec<String> = Vec::new();
            for (argument, at) in places.iter().enumerate() {
                row.value(argument).each_text(|text| {
                    let Some(found) = tags.get(&(*at, text.to_lowercase())) else { return };
                    for tag in found {
                        let mut shown = String::new();
                        if names {
                            shown += &format!("{}::", fields[*at]);
                        }
                        if values {
                            shown += &format!("{text}::");
                        }
                        shown += tag;
                        if !all.contains(&shown) {
                            all.push(shown);
                        }
                    }
                });
            }
            all.iter().for_each(|tag| out.append_value(tag));
            Some(())
        });
        outputs.push((name, function.with(parameters).call(arguments)));
    }
    frame.with_columns(outputs)
}
