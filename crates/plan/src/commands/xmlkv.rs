//! `xmlkv`: the simple elements of XML as fields.
//!
//! Split: as for all fields whose names are in texts, see `discover`.

use std::sync::Arc;

use exprs::required_fields::field_or;
use spl::ast::XmlkvCommand;
use tables::text::xml::simple_elements;

use super::discover::{Discovery, Existing, Finder};
use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};

impl CommandPlan for XmlkvCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(field_or(&self.field, "_raw"));
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let Input { frame, rest, env, .. } = input;
        let field = self.field.as_ref().map_or("_raw", |field| field.node.as_str());
        let discovery = Discovery {
            command: "xmlkv",
            inputs: vec![field.to_owned()],
            finder: Arc::new(Elements),
            several: |_| true,
            existing: Existing::Replaced,
        };
        discovery.plan(frame, rest, env)
    }
}

#[derive(Debug)]
struct Elements;

impl Finder for Elements {
    fn identity(&self) -> String {
        "xmlkv".to_owned()
    }

    fn find(&self, texts: &[Option<&str>], visit: &mut dyn FnMut(&str, &str)) -> Option<String> {
        if let Some(Some(text)) = texts.first() {
            simple_elements(text, visit);
        }
        None
    }
}
