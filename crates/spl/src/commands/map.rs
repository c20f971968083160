//! `map`: runs a search for each row.

use super::{CommandDefinition, CommandKind, CommandRight, Takes};
use crate::ast::{Command, Spanned};
use crate::display::{Arguments, field_name, quoted};
use crate::parser::{Parsed, Parser};
use std::fmt;

/// `map search="..."|[...]|<saved search> [maxsearches=]`.
#[derive(Debug, Clone, PartialEq)]
pub struct MapCommand {
    /// The search to run.
    pub search: MapSearch,
    /// `maxsearches=` (default 10).
    pub maxsearches: u64,
}

/// The search that `map` runs; `$field$` in it stands for a value of the row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum MapSearch {
    /// `search="..."`: a complete search.
    Text(Spanned<String>),
    /// `[...]`, as written.
    Template(Spanned<String>),
    /// The name of a saved search.
    Saved(Spanned<String>),
}

/// The registry entry.
pub(crate) const DEFINITION: CommandDefinition = CommandDefinition {
    name: "map",
    aliases: &[],
    summary: "runs a search for each row",
    syntax: "map search=\"<search>\" | [<subsearch>] | <saved search> [maxsearches=<n>]",
    kind: CommandKind::Dataset,
    right: CommandRight::FREE,
    options: OPTIONS,
    takes: Takes::Fields,
    parse,
};

const OPTIONS: &[&str] = &["search", "maxsearches"];

fn parse(p: &mut Parser<'_>) -> Parsed<Command> {
    let (mut search, mut maxsearches) = (None, 10);
    loop {
        p.skip_separators();
        if p.at_end() {
            break;
        }
        let bracket = p.attempt(|p| {
            let named = p.option_name().is_none_or(|name| name.node.eq_ignore_ascii_case("search"));
            p.skip_space();
            (named && p.peek() == Some('[')).then_some(())
        });
        let found = if bracket.is_some() {
            Some(MapSearch::Template(p.raw_group("a search in square brackets")?))
        } else if p.peek() == Some('"') {
            Some(MapSearch::Saved(p.quoted('"')?))
        } else if let Some(option) = p.option(OPTIONS)? {
            match option.name {
                "search" => {
                    // Unescaped quotes inside of the value belong to the same word if no blank follows.
                    let mut search = option.spanned();
                    p.join_parts(&mut search.node, false)?;
                    Some(MapSearch::Text(search))
                }
                _ => {
                    maxsearches = option.number()?;
                    None
                }
            }
        } else {
            Some(MapSearch::Saved(p.text_argument("a search")?))
        };
        if found.is_some() && search.is_some() {
            return Err(p.unexpected("one search only, and options"));
        }
        search = search.or(found);
    }
    let search = search.ok_or_else(|| p.unexpected("search=\"<search>\""))?;
    Ok(Command::Map(MapCommand { search, maxsearches }))
}

impl fmt::Display for MapCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut arguments = Arguments::default();
        if self.maxsearches != 10 {
            arguments.option("maxsearches", self.maxsearches);
        }
        match &self.search {
            MapSearch::Text(text) => arguments.push(format_args!("search={}", quoted(&text.node))),
            MapSearch::Template(text) => arguments.push(format_args!("[{}]", text.node)),
            MapSearch::Saved(name) => arguments.push(field_name(&name.node)),
        };
        arguments.write(f)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{accepts, refuses, same};

    #[test]
    fn quotes_inside_are_not_part_of_the_search() {
        same(
            r#"* | map search="search name="web" earliest=-1h | stats count as "n"" maxsearches=2"#,
            r#"* | map search="search name=web earliest=-1h | stats count as n" maxsearches=2"#,
        );
    }

    #[test]
    fn accepts_its_forms() {
        accepts(&[
            r#"* | map search="search index=a user=$user$ earliest=$e$" maxsearches=100"#,
            r#"* | map maxsearches=5 search="| makeresults | eval f=\"$field$\", d=\"\\d+\"""#,
            r#"* | map [makeresults | eval f="$field$", b="]"] maxsearches=3"#,
            "* | map search=[search index=a [search b]]",
            "* | map mysearch",
            "* | map \"my search\" maxsearches=1",
        ]);
    }

    #[test]
    fn refuses_mistakes_at_their_place() {
        refuses("* | map", "search=\"<search>\"", "");
        refuses("* | map maxsearches=2", "search=\"<search>\"", "");
        refuses("* | map [search a", "is not closed", "[");
        refuses("* | map serch=\"x\"", "unknown option 'serch'", "serch");
    }
}
