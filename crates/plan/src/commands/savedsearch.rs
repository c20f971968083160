//! `savedsearch`: expands to the commands of a saved search.
//!
//! Split: as those commands.

use futures::future::BoxFuture;
use knowledge::time::TimeModifier;
use model::{EventTime, TimeRange};
use spl::Span;
use spl::ast::SavedsearchCommand;

use super::{
    CommandPlan, Expanded, First, Input, Origin, OutputFields, Place, RequiredFields, Step,
};
use crate::Error;
use context::placeholders::fill_placeholders;
use context::planning::PlanningContext;
use context::subsearch;

impl CommandPlan for SavedsearchCommand {
    fn place(&self) -> Place {
        Place::Generating(Origin::Expanded)
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn expand<'a>(&'a self, first: First<'a>) -> BoxFuture<'a, Result<Option<Expanded>, Error>> {
        Box::pin(async move { expand(self, first.span, first.env).await.map(Some) })
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        input.only_begins()
    }
}

/// The configuration file of saved searches.
const FILE: &str = "savedsearches";

pub(super) async fn expand(
    command: &SavedsearchCommand,
    span: Span,
    env: &PlanningContext<'_>,
) -> Result<Expanded, Error> {
    let saved = Saved::find(&command.name.node, command.name.span, env)?;
    let value = |name: &str| {
        let given = |(key, _): &&(String, String)| key.strip_prefix("args.").unwrap_or(key) == name;
        let found = command.arguments.iter().find(given);
        let found = found.map(|(_, value)| value.as_str());
        found.or_else(|| saved.default(name)).map(str::to_owned)
    };
    let text = if command.nosubstitution {
        saved.text.clone()
    } else {
        fill_placeholders(&saved.text, value).map_err(|name| {
            let message = format!(
                "the saved search \"{}\" has ${name}$ in it: write {name}=\"...\" after its name; if it is not a \
                 placeholder, write $${name}$$ in the saved search",
                command.name.node
            );
            Error::at(message, span)
        })?
    };
    let mut context = env.context.clone();
    (context.range, context.index_range) = (saved.range, saved.index_range);
    let inner = env.within(&context);
    let pipeline = subsearch::parse_placed(&text, Some(span), env.subsearches(), &inner).await?;
    Ok(Expanded::of(pipeline.commands, &inner))
}

/// A saved search.
#[derive(Debug)]
pub(super) struct Saved {
    /// The text of the search.
    pub(super) text: String,
    /// Its own values of `$name$`: the settings `args.name`.
    arguments: Vec<(String, String)>,
    /// The time range: that of the outer search, or its own if there is none.
    pub(super) range: TimeRange,
    /// The range of `_indextime`, in the same way.
    pub(super) index_range: TimeRange,
}

impl Saved {
    /// Finds the saved search of a name.
    pub(super) fn find(name: &str, span: Span, env: &PlanningContext<'_>) -> Result<Self, Error> {
        let conf = env.context.knowledge.conf(FILE);
        let Some(stanza) = conf.stanzas.iter().find(|stanza| stanza.name == name) else {
            return Err(Error::at(format!("there is no saved search \"{name}\""), span));
        };
        let setting = |key: &str| stanza.get(key).map(|entry| entry.value.clone());
        let text = setting("search").filter(|text| !text.trim().is_empty());
        let Some(text) = text else {
            return Err(Error::at(format!("the saved search \"{name}\" has no search"), span));
        };
        let time = |key: &str, all: EventTime| match setting(key) {
            Some(text) if !matches!(text.trim(), "" | "0") => {
                let time = TimeModifier::parse(&text)
                    .and_then(|time| time.resolve(env.context.now, &env.context.timezone));
                time.map_err(|error| {
                    let message = format!("{key} of the saved search \"{name}\": {error}");
                    Error::at(message, span)
                })
            }
            _ => Ok(all),
        };
        let range_of = |outer: TimeRange, earliest, latest| -> Result<TimeRange, Error> {
            if outer != TimeRange::ALL {
                return Ok(outer);
            }
            let (earliest, latest) =
                (time(earliest, EventTime::MIN)?, time(latest, EventTime::MAX)?);
            Ok(TimeRange { earliest, latest })
        };
        let (range, index_range) = (env.context.range, env.context.index_range);
        let range = range_of(range, "dispatch.earliest_time", "dispatch.latest_time")?;
        let index_range =
            range_of(index_range, "dispatch.index_earliest", "dispatch.index_latest")?;
        let own = stanza.entries.iter().filter(|entry| entry.key.starts_with("args."));
        let arguments = own.map(|entry| (entry.key.clone(), entry.value.clone())).collect();
        Ok(Self { text, arguments, range, index_range })
    }

    /// Returns its own value of `$name$`.
    pub(super) fn default(&self, name: &str) -> Option<&str> {
        let mut own = self.arguments.iter();
        let found = own.find(|(key, _)| key.strip_prefix("args.") == Some(name));
        found.map(|(_, value)| value.as_str())
    }
}
