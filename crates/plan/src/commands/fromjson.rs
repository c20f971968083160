//! `fromjson`: the keys of a JSON object as fields; nested objects stay JSON.
//!
//! Split: as for all fields whose names are in texts, see `discover`.

use std::sync::Arc;

use eval::json::json_text;
use serde_json::{Map, Value};
use spl::ast::FromjsonCommand;

use super::discover::{Discovery, Existing, Finder};
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};

impl CommandPlan for FromjsonCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(&self.field.node);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let Input { frame, rest, env, .. } = input;
        let discovery = Discovery {
            command: "fromjson",
            inputs: vec![self.field.node.clone()],
            finder: Arc::new(Keys { prefix: self.prefix.clone() }),
            several: |_| false,
            existing: Existing::Replaced,
        };
        discovery.plan(frame, rest, env)
    }
}

#[derive(Debug)]
struct Keys {
    prefix: String,
}

impl Finder for Keys {
    fn identity(&self) -> String {
        format!("fromjson {}", self.prefix)
    }

    fn find(&self, texts: &[Option<&str>], visit: &mut dyn FnMut(&str, &str)) -> Option<String> {
        let text = texts.first().copied().flatten()?;
        let object: Map<String, Value> = serde_json::from_str(text).ok()?;
        for (key, value) in &object {
            if let Some(value) = json_text(value) {
                visit(&format!("{}{key}", self.prefix), &value);
            }
        }
        None
    }
}
