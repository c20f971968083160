//! `cluster`: groups similar events.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::Command;
use crate::display::{Arguments, quoted};
use crate::parser::{OptionValue, Parsed, Parser};
use std::fmt;

/// `cluster [t=] [delims=] [showcount=] [countfield=] [labelfield=] [field=] [labelonly=] [match=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct ClusterCommand {
    /// `t=`: minimum similarity of events in a cluster, between 0 and 1, as text (default 0.8).
    pub t: String,
    /// `delims=`: characters that separate terms; all except letters, digits and `_` if absent.
    pub delims: Option<String>,
    /// `showcount=`: whether the size of clusters is shown (default false).
    pub showcount: bool,
    /// `countfield=`: the field for the size of the cluster (default `cluster_count`).
    pub countfield: String,
    /// `labelfield=`: the field for the number of the cluster (default `cluster_label`).
    pub labelfield: String,
    /// `field=`: the field that is compared (default `_raw`).
    pub field: String,
    /// `labelonly=`: whether all events are kept, instead of one per cluster (default false).
    pub labelonly: bool,
    /// `match=` (default termlist).
    pub matching: ClusterMatch,
}

/// How texts are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClusterMatch {
    /// Terms in their order.
    TermList,
    /// Terms in any order.
    TermSet,
    /// Runs of three characters.
    NgramSet,
}

impl ClusterMatch {
    /// Returns the name as written.
    pub fn name(self) -> &'static str {
        match self {
            Self::TermList => "termlist",
            Self::TermSet => "termset",
            Self::NgramSet => "ngramset",
        }
    }
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "cluster",
    aliases: &["slc"],
    summary: "clusters similar events",
    syntax: "cluster [t=<number>] [delims=<characters>] [showcount=<bool>] [countfield=<field>] \
             [labelfield=<field>] [field=<field>] [labelonly=<bool>] \
             [match=termlist|termset|ngramset]",
    kind: CommandKind::Dataset,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] =
    &["t", "delims", "showcount", "countfield", "labelfield", "field", "labelonly", "match"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = ClusterCommand {
        t: "0.8".to_owned(),
        delims: None,
        showcount: false,
        countfield: "cluster_count".to_owned(),
        labelfield: "cluster_label".to_owned(),
        field: "_raw".to_owned(),
        labelonly: false,
        matching: ClusterMatch::TermList,
    };
    loop {
        p.skip_separators();
        if p.at_end() {
            return Ok(Command::Cluster(command));
        }
        match p.option(OPTIONS)? {
            Some(option) => accept(&mut command, &option)?,
            None => return Err(p.unexpected("an option such as t=0.9")),
        }
    }
}

fn accept(command: &mut ClusterCommand, option: &OptionValue) -> Parsed<()> {
    match option.name {
        "t" => {
            command.t = option.decimal()?;
            if !command.t.parse::<f64>().is_ok_and(|t| 0.0 < t && t < 1.0) {
                return Err(option.error("a number between 0 and 1"));
            }
        }
        "delims" => command.delims = Some(option.text()),
        "showcount" => command.showcount = option.boolean()?,
        "countfield" => command.countfield = option.field()?.node,
        "labelfield" => command.labelfield = option.field()?.node,
        "field" => command.field = option.field()?.node,
        "labelonly" => command.labelonly = option.boolean()?,
        _ => {
            let all = [ClusterMatch::TermList, ClusterMatch::TermSet, ClusterMatch::NgramSet];
            let found = all.into_iter().find(|m| m.name().eq_ignore_ascii_case(&option.value));
            command.matching =
                found.ok_or_else(|| option.error("termlist, termset or ngramset"))?;
        }
    }
    Ok(())
}

impl fmt::Display for ClusterCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        arguments.option("t", &self.t);
        if let Some(delims) = &self.delims {
            arguments.push(format_args!("delims={}", quoted(delims)));
        }
        arguments
            .flag("showcount", self.showcount, false)
            .option("countfield", &self.countfield)
            .option("labelfield", &self.labelfield)
            .option("field", &self.field)
            .flag("labelonly", self.labelonly, false)
            .option("match", self.matching.name())
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | cluster",
            "* | cluster t=0.9 showcount=t delims=\" ;\\\"\" match=TermSet",
            "* | cluster labelonly=true countfield=n labelfield=c field=\"a b\"",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | cluster t=1.5", "a number between 0 and 1", "1.5");
        refuses("* | cluster match=words", "termlist, termset or ngramset", "words");
        refuses("* | cluster host", "expected an option", "host");
    }
}
