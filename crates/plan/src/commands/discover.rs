//! Fields whose names are in the texts of rows, as extracted by `extract`, `xmlkv` and `fromjson`.
//!
//! Split: if the field names are known, or the rest of the search names all fields that it needs, values are
//! extracted where the rows are. Otherwise, the search head reads all rows first, as the columns depend on
//! them.

use std::fmt::Debug;
use std::sync::Arc;

use frames::{Frame, column};
use futures::future::BoxFuture;
use model::columns::ORIGIN_AND_INDEX;
use spl::ast::{Command, Spanned};
use tables::check_cells;
pub(super) use tables::text::found::Existing;
use tables::text::found::FoundFields;

use super::Step;
use super::required::{choose_fields, required_by};
use crate::{Error, MessageKind, MessageLog};
use context::planning::PlanningContext;
use context::stage::{Breaker, Rows, TableOp};
use exprs::Typed;
use exprs::column::Value;
use exprs::kernel::{Row, Several, multi, text};
use exprs::types::ValueType;

/// A field extraction from the texts of a row.
pub(super) trait Finder: Debug + Send + Sync {
    /// Identifies the finder: a text that contains everything, except the texts, on which its result depends.
    fn identity(&self) -> String;

    /// Calls `visit` with each field and its value; returns the name of the limit that truncated the result,
    /// if any.
    fn find(&self, texts: &[Option<&str>], visit: &mut dyn FnMut(&str, &str)) -> Option<String>;

    /// Names of all fields that it can find; `None` if the names are in the texts.
    fn names(&self) -> Option<Vec<String>> {
        None
    }
}

/// A field extraction: its finder, inputs and outputs.
#[derive(Debug, Clone)]
pub(super) struct Discovery {
    /// The name of the command, for messages.
    pub(super) command: &'static str,
    /// The fields whose texts are read.
    pub(super) inputs: Vec<String>,
    pub(super) finder: Arc<dyn Finder>,
    /// Whether the field of this name becomes multivalue if it occurs several times; otherwise, its first
    /// value is used.
    pub(super) several: fn(&str) -> bool,
    pub(super) existing: Existing,
}

impl Discovery {
    pub(super) fn plan(
        self,
        frame: Frame,
        rest: &[Spanned<Command>],
        env: &PlanningContext<'_>,
    ) -> Result<Step, Error> {
        let names = self.finder.names().or_else(|| {
            let later = required_by(rest);
            (choose_fields(rest) && later.patterns.is_empty()).then_some(later.names)
        });
        match names {
            Some(names) => self.named(names, frame, env).map(Step::Next),
            None => Ok(Step::Materialize(frame, Breaker::table(self))),
        }
    }

    /// Adds the fields of these names only.
    pub(super) fn named(
        self,
        mut names: Vec<String>,
        frame: Frame,
        env: &PlanningContext<'_>,
    ) -> Result<Frame, Error> {
        let fixed = |name: &String| ORIGIN_AND_INDEX.contains(&name.as_str());
        names.retain(|name| !(name.starts_with('_') || frame.open && fixed(name)));
        if names.is_empty() {
            return Ok(frame);
        }
        let arguments = self.inputs.iter().map(|input| frame.field(input)).collect();
        let found = self.pairs(&names, env.log.clone()).call(arguments);
        let (frame, hidden) = frame.with_hidden(vec![("found", found.expr)])?;
        let values = names.into_iter().map(|name| {
            let found = Typed::new(column(&hidden[0]), ValueType::Multi);
            let value = self.pick(&name, found, &frame);
            (name, value)
        });
        let values = values.collect();
        let frame = frame.with_columns(values)?.without_hidden(&hidden);
        let mut kept = frame.names();
        let all = kept.len();
        kept.retain(|name| !self.scratch().any(|scratch| scratch == name));
        if kept.len() == all { Ok(frame) } else { frame.select(&kept) }
    }

    /// The inputs that were created for this extraction only, under reserved names.
    fn scratch(&self) -> impl Iterator<Item = &str> {
        self.inputs.iter().map(String::as_str).filter(|name| name.starts_with("__"))
    }

    /// A column that lists all names and values, alternating, so that each text is read once for all fields.
    fn pairs(&self, names: &[String], log: MessageLog) -> exprs::kernel::EvalFunction {
        let mut names = names.to_vec();
        names.sort_unstable();
        let parameters = format!("{} {names:?}", self.finder.identity());
        let discovery = self.clone();
        let function = multi("discover", move |row: Row<'_>, out: &mut Several<'_>| {
            let texts: Vec<_> = (0..discovery.inputs.len()).map(|at| row.text(at)).collect();
            let texts: Vec<Option<&str>> = texts.iter().map(|text| text.as_deref()).collect();
            let cut = discovery.finder.find(&texts, &mut |name, value| {
                if names.binary_search_by(|known| known.as_str().cmp(name)).is_ok() {
                    out.append_value(name);
                    out.append_value(value);
                }
            });
            if let Some(limit) = cut {
                discovery.report(&limit, &log);
            }
            Some(())
        });
        function.with(parameters)
    }

    fn report(&self, limit: &str, log: &MessageLog) {
        let text = format!("{} left out fields of some rows ({limit})", self.command);
        log.add(MessageKind::Warning, text);
    }

    /// Selects the values of one field from the pairs.
    fn pick(&self, name: &str, found: Typed, frame: &Frame) -> Typed {
        let (existing, several, wanted) = (self.existing, (self.several)(name), name.to_owned());
        let old = frame.field(name);
        let parameters = format!("{existing:?} {several} {name}");
        let is_list = several || existing == Existing::Extended || old.kind == ValueType::Multi;
        if !is_list {
            let pick = text("found", move |row, out| {
                let old = row.value(1);
                if existing == Existing::Kept && !old.is_null() {
                    old.each_text(|text| out.push_str(text));
                    return Some(());
                }
                let mut new = values_of(row.value(0), &wanted);
                match new.next() {
                    Some(value) => out.push_str(value),
                    None => out.push_str(&old.text()?),
                }
                Some(())
            });
            return pick.with(parameters).call(vec![found, old]);
        }
        let pick = multi("found_all", move |row, out: &mut Several<'_>| {
            let most = if several { usize::MAX } else { 1 };
            let new: Vec<&str> = values_of(row.value(0), &wanted).take(most).collect();
            let old = row.value(1);
            if new.is_empty() || existing != Existing::Replaced {
                old.each_text(|text| out.append_value(text));
            }
            if old.is_null() || existing != Existing::Kept {
                new.into_iter().for_each(|text| out.append_value(text));
            }
            Some(())
        });
        pick.with(parameters).call(vec![found, old])
    }
}

/// The values of a name in a list of alternating names and values.
fn values_of<'a>(pairs: Value<'a>, name: &'a str) -> impl Iterator<Item = &'a str> {
    let (list, count) = match pairs {
        Value::Multi(list) => (Some(list), list.len() / 2),
        _ => (None, 0),
    };
    (0..count).filter_map(move |pair| {
        let list = list?;
        (list.get(2 * pair) == name).then(|| list.get(2 * pair + 1))
    })
}

impl TableOp for Discovery {
    fn apply<'a>(
        &'a self,
        mut rows: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            let inputs: Vec<_> =
                self.inputs.iter().map(|input| rows.texts(input)).collect::<Result<_, _>>()?;
            let mut found = FoundFields::new(env.context.limits.columns);
            for row in 0..rows.count {
                let texts: Vec<Option<&str>> =
                    inputs.iter().map(|input| input[row].as_deref()).collect();
                let cut = self.finder.find(&texts, &mut |name, value| {
                    found.add(row, name, value, (self.several)(name));
                });
                if let Some(limit) = cut {
                    self.report(&limit, env.log);
                }
            }
            if found.too_many {
                let limit = env.context.limits.columns;
                self.report(&format!("at most {limit} columns, a fixed limit"), env.log);
            }
            check_cells(rows.count, found.len(), env.context.limits.memory_bytes)?;
            found.put(&mut rows, self.existing)?;
            self.scratch().for_each(|name| rows.remove(name));
            Ok(rows)
        })
    }
}
