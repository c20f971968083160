//! `kmeans`: clusters rows with similar numbers.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, FieldPattern};
use crate::display::{Arguments, field_patterns};
use crate::parser::{OptionValue, Parsed, Parser};
use std::fmt;

/// `kmeans [reps=] [maxiters=] [t=] [k=] [cfield=] [dt=] [showcentroid=] [fields]`.
#[derive(Debug, Clone, PartialEq)]
pub struct KmeansCommand {
    /// `reps=`: number of attempts (default 10).
    pub reps: u64,
    /// `maxiters=`: maximum number of steps of an attempt (default 10000).
    pub maxiters: u64,
    /// `t=`: the change below which an attempt ends, as text (default 0).
    pub t: String,
    /// `k=`: minimum number of clusters (default 2).
    pub least: u64,
    /// Maximum number of clusters.
    pub greatest: u64,
    /// `cfield=`: the field for the number of the cluster (default `CLUSTERNUM`).
    pub cfield: String,
    /// `dt=`: the distance function (default sqeuclidean).
    pub distance: KmeansDistance,
    /// `showcentroid=` (default true).
    pub showcentroid: bool,
    /// All numeric fields if empty.
    pub fields: Vec<FieldPattern>,
}

/// The distance functions for two rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KmeansDistance {
    /// The sum of the absolute differences.
    Cityblock,
    /// The sum of the squares of the differences.
    Squared,
    /// One minus the cosine of the angle.
    Cosine,
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "kmeans",
    aliases: &[],
    summary: "clusters rows by numeric fields",
    syntax: "kmeans [k=<n>|k=<n>-<m>] [reps=<n>] [maxiters=<n>] [t=<number>] [cfield=<field>] \
             [dt=cityblock|sqeuclidean|cosine] [showcentroid=<bool>] [<field>...]",
    kind: CommandKind::Dataset,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["reps", "maxiters", "t", "k", "cfield", "dt", "showcentroid"];

/// Maximum number of clusters.
const MOST: u64 = 1000;
/// Maximum number of cluster counts that are tried.
const WIDEST: u64 = 100;

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let mut command = KmeansCommand {
        reps: 10,
        maxiters: 10_000,
        t: "0".to_owned(),
        least: 2,
        greatest: 2,
        cfield: "CLUSTERNUM".to_owned(),
        distance: KmeansDistance::Squared,
        showcentroid: true,
        fields: Vec::new(),
    };
    loop {
        p.skip_separators();
        if p.at_end() {
            return Ok(Command::Kmeans(command));
        }
        match p.option(OPTIONS)? {
            Some(option) => accept(&mut command, &option)?,
            None => command.fields.push(p.field_pattern("a field name or an option")?),
        }
    }
}

fn accept(command: &mut KmeansCommand, option: &OptionValue) -> Parsed<()> {
    match option.name {
        "reps" => command.reps = option.number()?.max(1),
        "maxiters" => command.maxiters = option.number()?.max(1),
        "t" => command.t = option.decimal()?,
        "k" => (command.least, command.greatest) = range(option)?,
        "cfield" => command.cfield = option.field()?.node,
        "dt" => {
            command.distance = match option.value.to_ascii_lowercase().as_str() {
                "l1" | "l1norm" | "cityblock" | "cb" => KmeansDistance::Cityblock,
                "l2" | "l2norm" | "sq" | "sqeuclidean" => KmeansDistance::Squared,
                "cos" | "cosine" => KmeansDistance::Cosine,
                _ => return Err(option.error("cityblock, sqeuclidean or cosine")),
            }
        }
        _ => command.showcentroid = option.boolean()?,
    }
    Ok(())
}

/// Parses `4` or `2-8`.
fn range(option: &OptionValue) -> Parsed<(u64, u64)> {
    let (least, greatest) = option.value.split_once('-').unwrap_or((&option.value, &option.value));
    match (least.trim().parse::<u64>(), greatest.trim().parse::<u64>()) {
        (Ok(least), Ok(greatest))
            if least > 1 && least <= greatest && greatest <= MOST && greatest - least <= WIDEST =>
        {
            Ok((least, greatest))
        }
        _ => Err(option.error("a number from 2 to 1000, or a range of at most 100 of them")),
    }
}

impl fmt::Display for KmeansCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let distance = match self.distance {
            KmeansDistance::Cityblock => "cityblock",
            KmeansDistance::Squared => "sqeuclidean",
            KmeansDistance::Cosine => "cosine",
        };
        Arguments::default()
            .push(format_args!("k={}-{}", self.least, self.greatest))
            .option("reps", self.reps)
            .option("maxiters", self.maxiters)
            .option("t", &self.t)
            .option("cfield", &self.cfield)
            .option("dt", distance)
            .flag("showcentroid", self.showcentroid, true)
            .push(field_patterns(&self.fields))
            .write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            "* | kmeans",
            "* | kmeans k=4 date_hour date_minute",
            "* | kmeans k=2-5 reps=3 maxiters=10 t=0.1 cfield=c dt=cos showcentroid=f a",
        ]);
        same("* | kmeans dt=l1", "* | kmeans dt=CityBlock k=2");
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | kmeans k=1", "from 2 to 1000", "1");
        refuses("* | kmeans k=2-200", "at most 100", "2-200");
        refuses("* | kmeans dt=far", "cityblock, sqeuclidean or cosine", "far");
    }
}
