//! `map`: runs a search for each row, with values of the row inserted into its text.
//!
//! Split: the search head runs one search after the other; each splits like any search.

use futures::future::BoxFuture;
use spl::Span;
use spl::ast::{Command, MapCommand, MapSearch, Spanned};
use tables::check_count;
use tables::text::template::{Kind, Scan};

use super::savedsearch::Saved;
use super::{CommandPlan, Input, OutputFields, Place, RequiredFields, Step};
use crate::{Error, MessageKind};
use context::placeholders::is_name;
use context::planning::PlanningContext;
use context::stage::inner::{Bounds, Inner};
use context::stage::stack::Stack;
use context::stage::{Breaker, Rows, TableOp};
use context::subsearch;

impl CommandPlan for MapCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        match required(self) {
            Some(names) => names.iter().for_each(|name| fields.name(name)),
            None => fields.all(),
        }
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Replaced
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let Input { frame, rest, .. } = input;
        let map = Map { command: self.clone(), tail: rest.to_vec() };
        Ok(Step::Materialize(frame, Breaker::table(map)))
    }
}

/// The placeholder for the number of the run.
const SERIAL: &str = "_serial_id";

/// The fields whose values a search needs; `None` if they are known only when it runs.
fn required(command: &MapCommand) -> Option<Vec<String>> {
    let (MapSearch::Text(text) | MapSearch::Template(text)) = &command.search else { return None };
    let mut names = Vec::new();
    let _ = filled(&text.node, |name| {
        names.push(name.to_owned());
        Some(String::new())
    });
    Some(names)
}

#[derive(Debug)]
struct Map {
    command: MapCommand,
    /// The commands through which the rows pass afterwards.
    tail: Vec<Spanned<Command>>,
}

impl TableOp for Map {
    fn apply<'a>(
        &'a self,
        rows: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            let most = usize::try_from(self.command.maxsearches).unwrap_or(usize::MAX);
            let runs = rows.count.min(most);
            if runs < rows.count {
                let text = format!(
                    "map ran {runs} searches for {} rows: maxsearches={most} allows no more",
                    rows.count
                );
                env.log.add(MessageKind::Warning, text);
            }
            let mut context = env.context.clone();
            let mut saved = None;
            let (template, span) = match &self.command.search {
                MapSearch::Text(text) => (text.node.clone(), text.span),
                MapSearch::Template(text) => (as_search(&text.node), text.span),
                MapSearch::Saved(name) => {
                    let found = Saved::find(&name.node, name.span, env)?;
                    (context.range, context.index_range) = (found.range, found.index_range);
                    let text = found.text.clone();
                    saved = Some(found);
                    (text, name.span)
                }
            };
            let env = env.within(&context);
            let mut stack = Stack::new(&env)?;
            let mut count = 0;
            for row in 0..runs {
                let one = rows.slice(row, 1);
                let text = search(&template, saved.as_ref(), &one, row + 1, span)?;
                let parsed = subsearch::parse_placed(&text, Some(span), env.subsearches(), &env);
                let pipeline = parsed.await?;
                let bounds = Bounds::default();
                let inner = Inner { pipeline, tail: self.tail.clone(), bounds, command: "map" };
                let part = inner.all_rows(&env).await?;
                count += part.count;
                check_count(count, env.context.limits.stage_rows)?;
                stack.push(part)?;
            }
            stack.stacked(env.context.limits.stage_rows)
        })
    }
}

/// Returns the template with the values of a row; where it has none, with those of the saved search that the
/// template is the text of. There, `$args.name$` is the field of this name, or else as `$name$`.
fn search(
    template: &str,
    saved: Option<&Saved>,
    row: &Rows,
    run: usize,
    span: Span,
) -> Result<String, Error> {
    let of_row = |name: &str| row.texts(name).ok()?.into_iter().next().flatten();
    let value = |name: &str| {
        if name == SERIAL {
            return Some(run.to_string());
        }
        let short = argument(saved, name);
        let found = of_row(name).or_else(|| of_row(short?));
        found.or_else(|| saved?.default(short.unwrap_or(name)).map(str::to_owned))
    };
    filled(template, value).map_err(|name| {
        let or = argument(saved, &name).map(|short| format!(" or \"{short}\"")).unwrap_or_default();
        Error::at(
            format!("map needs a value for ${name}$, and a row has no field \"{name}\"{or}"),
            span,
        )
    })
}

/// The name of the argument of `$args.name$` in a saved search.
fn argument<'n>(saved: Option<&Saved>, name: &'n str) -> Option<&'n str> {
    saved.and_then(|_| name.strip_prefix("args."))
}

/// Replaces `$name$` with values and `$$` with `$`; fails with the first name that has no value.
fn filled(template: &str, mut value: impl FnMut(&str) -> Option<String>) -> Result<String, String> {
    let mut scan = Scan::new(template);
    while let Some(token) = scan.next(token) {
        let Token { length, name } = token;
        let Some(name) = name else {
            scan.put(length, "$");
            continue;
        };
        let Some(text) = value(&name) else { return Err(name) };
        let kind = if matches!(&*name, "search" | "query") { Kind::Terms } else { Kind::Value };
        let alone = scan.alone(length, |_| false);
        let piece = scan.fit(&text, alone, kind);
        scan.put(length, &piece);
    }
    Ok(scan.out)
}

/// A placeholder in a template.
struct Token {
    length: usize,
    /// The name of the field; `None` for `$$`.
    name: Option<String>,
}

fn token(rest: &str) -> Option<Token> {
    let behind = rest.strip_prefix('$')?;
    if behind.starts_with('$') {
        return Some(Token { length: 2, name: None });
    }
    let name = &behind[..behind.find('$')?];
    // Spaces are allowed within a name, but not at its ends.
    let words = name.split(' ').all(|word| !word.is_empty());
    let is_name = words && is_name(&name.replace(' ', "_"));
    is_name.then(|| Token { length: name.len() + 2, name: Some(name.to_owned()) })
}

/// Converts the text of a subsearch to that of a search: in brackets, the first command needs no pipe.
fn as_search(text: &str) -> String {
    let word: String =
        text.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '_').collect();
    let behind = text[word.len()..].trim_start();
    let is_command = spl::commands::find(&word.to_ascii_lowercase()).is_some()
        && !behind.starts_with(['=', '<', '>', '!', '.', ':', '-']);
    if is_command { format!("| {text}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(template: &str) -> Result<String, String> {
        filled(template, |name| match name {
            "a" => Some("x".to_owned()),
            "b c" => Some("y \"z\"".to_owned()),
            "search" => Some("( a=1 )".to_owned()),
            _ => None,
        })
    }

    #[test]
    fn values_stay_in_one_piece() {
        let text = |template: &str| of(template).expect(template);
        assert_eq!(text("search u=$a$ v=\"$b c$\""), "search u=x v=\"y \\\"z\\\"\"");
        assert_eq!(text("search v=$b c$ $search$"), "search v=\"y \\\"z\\\"\" ( a=1 )");
        assert_eq!(text("x_$a$ $$a$$ ^a$"), "x_x $a$ ^a$");
        assert_eq!(of("u=$nope$"), Err("nope".to_owned()));
    }

    #[test]
    fn brackets_need_no_pipe() {
        assert_eq!(as_search("makeresults | eval a=1"), "| makeresults | eval a=1");
        assert_eq!(as_search("index=a"), "index=a");
        assert_eq!(as_search("head=5"), "head=5");
        assert_eq!(as_search("| search a"), "| search a");
    }
}
