//! `datamodel`: describes data models, or returns the events of a dataset.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Field};
use crate::display::{Arguments, field_name};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `datamodel [<model> [<dataset> [search|flat|acceleration_search]]] [options]`.
#[derive(Debug, Clone, PartialEq)]
pub struct DatamodelCommand {
    /// The model; if absent, all models are listed.
    pub model: Option<Field>,
    /// The dataset.
    pub dataset: Option<Field>,
    /// The action; if absent, the dataset is described.
    pub mode: Option<DatamodelMode>,
}

/// The action of `datamodel` on a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatamodelMode {
    /// Returns its events; field names have the dataset as prefix.
    Search,
    /// Returns its events with the original field names.
    Flat,
    /// The same as `Search`.
    AccelerationSearch,
}

impl DatamodelMode {
    const ALL: [(&'static str, Self); 3] = [
        ("search", Self::Search),
        ("flat", Self::Flat),
        ("acceleration_search", Self::AccelerationSearch),
    ];
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "datamodel",
    aliases: &[],
    summary: "describes data models, or returns the events of a dataset",
    syntax: "datamodel [<model> [<dataset> [search | flat | acceleration_search]]] [strict_fields=<bool>] [allow_old_summaries=<bool>] [summariesonly=<bool>]",
    kind: CommandKind::Generating,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["strict_fields", "allow_old_summaries", "summariesonly"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut names = Vec::new();
    let mut mode = None;
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        if let Some(option) = p.option(OPTIONS)? {
            // Data models have no separate summaries, so the option has no effect.
            option.boolean()?;
            continue;
        }
        if names.len() < 2 {
            names.push(p.field("the name of a data model")?);
            continue;
        }
        let found = DatamodelMode::ALL.iter().find(|(word, _)| p.eat_keyword(word));
        match found {
            Some((_, found)) if mode.is_none() => mode = Some(*found),
            _ => return Err(p.unexpected("search, flat or acceleration_search")),
        }
    }
    let mut names = names.into_iter();
    let (model, dataset) = (names.next(), names.next());
    Ok(Command::Datamodel(DatamodelCommand { model, dataset, mode }))
}

impl fmt::Display for DatamodelCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        for name in self.model.iter().chain(&self.dataset) {
            arguments.push(field_name(&name.node));
        }
        let word = DatamodelMode::ALL.iter().find(|(_, mode)| self.mode == Some(*mode));
        if let Some((word, _)) = word {
            arguments.push(word);
        }
        arguments.write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "| datamodel",
            "| datamodel Web",
            "| datamodel Web Web",
            "| datamodel Web Proxy search | search Web.status=404",
            "| datamodel summariesonly=t Web Web flat strict_fields=false",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("| datamodel Web Web find", "search, flat or acceleration_search", "find");
        refuses("| datamodel Web Web search strict=t", "unknown option 'strict'", "strict");
    }
}
