//! `kvform`: the fields of a form, see `knowledge::Knowledge::form`.
//!
//! Split: as for all fields whose names are in texts, see `discover`; the field names of forms are known.

use std::collections::BTreeMap;
use std::sync::Arc;

use exprs::required_fields::field_or;
use knowledge::Extractor;
use spl::ast::{KvformCommand, Span};

use super::discover::{Discovery, Existing, Finder};
use super::{CommandPlan, Input, OutputFields, Place, RequiredFields, Step};
use crate::{Error, MessageKind};
use context::planning::PlanningContext;

impl CommandPlan for KvformCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        if self.form.is_none() {
            fields.name(field_or(&self.field, "sourcetype"));
        }
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let span = input.span();
        let Input { frame, rest, env, .. } = input;
        let mut inputs = vec!["_raw".to_owned()];
        let by_name = match &self.form {
            Some(name) => BTreeMap::from([(name.clone(), form(name, span, env)?)]),
            None => {
                inputs
                    .push(self.field.as_ref().map_or("sourcetype", |field| &field.node).to_owned());
                all(span, env)?
            }
        };
        let forms = Forms { only: self.form.clone(), by_name };
        let discovery = Discovery {
            command: "kvform",
            inputs,
            finder: Arc::new(forms),
            several: |_| false,
            existing: Existing::Kept,
        };
        discovery.plan(frame, rest, env)
    }
}

fn form(name: &str, span: Span, env: &PlanningContext<'_>) -> Result<Extractor, Error> {
    match env.context.knowledge.form(name) {
        Some(Ok(form)) => Ok(form),
        Some(Err(reason)) => {
            Err(Error::at(format!("the form \"{name}\" cannot be used: {reason}"), span))
        }
        None => {
            let message = format!(
                "there is no form \"{name}\": no file {name}.form in a default or local directory of the \
                 configuration"
            );
            Err(Error::at(message, span))
        }
    }
}

fn all(span: Span, env: &PlanningContext<'_>) -> Result<BTreeMap<String, Extractor>, Error> {
    let names = env.context.knowledge.form_names();
    if names.is_empty() {
        let text = "kvform: there are no forms, files <name>.form in a default or local directory of the \
                    configuration";
        env.log.add(MessageKind::Warning, text);
    }
    names.into_iter().map(|name| Ok((name.to_owned(), form(name, span, env)?))).collect()
}

#[derive(Debug)]
struct Forms {
    /// The name of the form of all rows; if `None`, the second text contains the name of the row's form.
    only: Option<String>,
    by_name: BTreeMap<String, Extractor>,
}

impl Finder for Forms {
    fn identity(&self) -> String {
        format!("kvform {}", self.only.as_deref().unwrap_or_default())
    }

    fn names(&self) -> Option<Vec<String>> {
        let names: Option<Vec<_>> = self.by_name.values().map(Extractor::names).collect();
        let mut names = names?.concat();
        names.sort_unstable();
        names.dedup();
        Some(names)
    }

    fn find(&self, texts: &[Option<&str>], visit: &mut dyn FnMut(&str, &str)) -> Option<String> {
        let name = self.only.as_deref().or_else(|| texts.get(1).copied().flatten());
        let form = name.and_then(|name| self.by_name.get(name));
        if let (Some(form), Some(Some(text))) = (form, texts.first()) {
            form.find(text, &mut |name, value| visit(name, &value));
        }
        None
    }
}
