//! `foreach`: runs a template of commands for each of several fields, or for each value of a field.
//!
//! Split: as the commands of the template; iterating over the values of a field runs at the search head.

mod items;

use std::collections::{HashMap, HashSet};

use frames::Frame;
use futures::future::BoxFuture;
use spl::ast::{
    Assignment, Call, Command, Expr, ExprKind, FieldRef, ForeachCommand, ForeachMode, Spanned,
};
use spl::{CommandKind, ParseOptions};

use self::items::Items;
use super::eval_named::pieces;
use super::required::required_by;
use super::{
    CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Rest, Step, of, presence,
};
use context::planning::{PlanningContext, plan_stage};
use context::run::run_to_rows;
use context::stage::{Breaker, Rows, TableOp};
use tables::text::template::{Replacement, named};

impl CommandPlan for ForeachCommand {
    /// The place of the commands of the template; a template that cannot be parsed is refused when it is
    /// planned.
    fn place(&self) -> Place {
        let streams = |found: &Spanned<Command>| of(&found.node).place() == Place::Streaming;
        match any(self).is_none_or(|commands| commands.iter().all(streams)) {
            true => Place::Streaming,
            false => Place::SearchHead,
        }
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        match self.mode {
            ForeachMode::Multifield => fields.patterns(&self.fields),
            _ => self.fields.iter().for_each(|field| fields.name(&field.text)),
        }
        match required(self) {
            Some(inner) if !self.fields.is_empty() => fields.merge(inner),
            _ => fields.all(),
        }
    }

    fn output_fields(&self) -> OutputFields {
        match self.mode {
            ForeachMode::Multifield => OutputFields::Unchanged,
            _ => OutputFields::Collected,
        }
    }

    fn needs_presence(&self, frame: &Frame, _: Rest<'_>) -> bool {
        let multifield = self.mode == ForeachMode::Multifield && !self.fields.is_empty();
        multifield && presence::reaches(&self.fields, frame)
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        if self.mode != ForeachMode::Multifield {
            return Ok(Step::Materialize(frame, Breaker::table(Items::new(self)?)));
        }
        let mut commands = Vec::new();
        for found in matches(self, &frame) {
            commands.extend(found.commands(self)?);
        }
        if commands.len() <= AT_ONCE {
            return Ok(Step::Replace(frame, commands));
        }
        Ok(Step::Materialize(frame, Breaker::table(Parts(parts(&commands)))))
    }
}

/// Maximum number of commands that are planned together. Longer lists are split into parts that run over
/// collected rows, one after the other: a plan of thousands of steps takes too long to optimize.
const AT_ONCE: usize = 64;

/// Number of assignments that are planned together over collected rows, with only the columns of their
/// fields. An assignment that reads the result of another one becomes a projection of all columns above that
/// of the other: with 400 fields and 400 assignments, these projections took 11 s.
const ASSIGNED_AT_ONCE: usize = 8;

/// The replacement of placeholders when the required fields of a template are determined.
const ANY: &str = "any9placeholder";

/// Returns the commands of a template with [`ANY`] for its placeholders; `None` if it cannot be parsed.
fn any(command: &ForeachCommand) -> Option<Vec<Spanned<Command>>> {
    let placeholders = &command.placeholders;
    let all = [&placeholders.field, &placeholders.matched, &placeholders.item, &placeholders.iter];
    let replacements: Vec<Replacement<'_>> = all
        .into_iter()
        .chain(&placeholders.segments)
        .map(|placeholder| replacement(placeholder, ANY))
        .collect();
    parse(&named(&command.template.node, &replacements), command).ok()
}

/// Returns the fields that the commands of a template require, whatever its placeholders are replaced with;
/// `None` if that is unknown.
fn required(command: &ForeachCommand) -> Option<RequiredFields> {
    let commands = any(command)?;
    let mut required = required_by(&commands);
    let names = std::mem::take(&mut required.names);
    for name in names {
        match name.contains(ANY) {
            true => required.patterns.push(name.replace(ANY, "*")),
            false => required.names.push(name),
        }
    }
    required.patterns.iter_mut().for_each(|pattern| *pattern = pattern.replace(ANY, "*"));
    Some(required)
}

/// A field to which the template is applied.
#[derive(Debug)]
struct Match {
    field: String,
    /// The text that each wildcard matches.
    captures: Vec<String>,
}

/// Returns the matching fields, each once: exact names in the order of the command, others in the order of
/// the frame.
fn matches(command: &ForeachCommand, frame: &Frame) -> Vec<Match> {
    let mut found: Vec<Match> = Vec::new();
    let mut known: HashSet<String> = HashSet::new();
    let mut add = |field: &str, captures: Vec<&str>| {
        if known.insert(field.to_owned()) {
            let captures = captures.into_iter().map(str::to_owned).collect();
            found.push(Match { field: field.to_owned(), captures });
        }
    };
    for pattern in &command.fields {
        if !pattern.has_wildcard() {
            add(&pattern.text, Vec::new());
            continue;
        }
        for name in frame.names() {
            let hidden = name.starts_with('_') && !pattern.text.starts_with('_');
            if let Some(captures) = pattern.captures(&name).filter(|_| !hidden) {
                add(&name, captures);
            }
        }
    }
    found
}

fn replacement<'r>(placeholder: &'r str, text: &str) -> Replacement<'r> {
    Replacement { placeholder, text: text.to_owned() }
}

impl Match {
    /// Returns the commands of the template for this field.
    fn commands(&self, command: &ForeachCommand) -> Result<Vec<Spanned<Command>>, Error> {
        let placeholders = &command.placeholders;
        let mut replacements = vec![
            replacement(&placeholders.field, &self.field),
            replacement(&placeholders.matched, &self.captures.concat()),
        ];
        for (segment, text) in placeholders.segments.iter().zip(&self.captures) {
            replacements.push(replacement(segment, text));
        }
        let mut commands = parse(&named(&command.template.node, &replacements), command)?;
        commands.iter_mut().for_each(|found| adding(&mut found.node, &self.field));
        Ok(commands)
    }
}

/// Parses the commands of a template whose placeholders are replaced.
fn parse(text: &str, command: &ForeachCommand) -> Result<Vec<Spanned<Command>>, Error> {
    let options = ParseOptions { place: Some(command.template.span), ..ParseOptions::default() };
    let commands = spl::parse_commands(text, &options)?.commands;
    let streams = |kind| matches!(kind, CommandKind::Streaming | CommandKind::Centralised);
    match commands.iter().find(|found| !streams(found.node.definition().kind)) {
        Some(other) => {
            let message =
                format!("foreach runs streaming commands only, not {}", other.node.name());
            Err(Error::at(message, command.template.span))
        }
        None => Ok(commands),
    }
}

/// Changes an assignment that accumulates into its own field (`total=total+x`) so that it keeps the old value
/// in rows that lack the template's field; otherwise, its result would be null there.
fn adding(command: &mut Command, field: &str) {
    let Command::Eval(eval) = command else { return };
    for Assignment { field: target, expr } in &mut eval.assignments {
        let mut required = RequiredFields::default();
        required.expr(expr);
        let required = |name: &str| required.names.iter().any(|known| known == name);
        if target.node == field || !required(field) || !required(&target.node) {
            continue;
        }
        let span = expr.span;
        let name = |name: &str| {
            let field = FieldRef { name: name.to_owned(), quoted: true };
            Expr { kind: ExprKind::Field(field), span }
        };
        let call = |function: &str, arguments: Vec<Expr>| {
            let function = Spanned::new(function.to_owned(), span);
            Expr { kind: ExprKind::Call(Call { function, arguments }), span }
        };
        let lacks = call("isnull", vec![name(field)]);
        let kept = call("coalesce", vec![expr.clone(), name(&target.node)]);
        *expr = call("if", vec![lacks, kept, expr.clone()]);
    }
}

/// Lists of commands, each of which runs over the rows of the previous one.
#[derive(Debug)]
struct Parts(Vec<Part>);

/// Commands that are planned together over collected rows.
#[derive(Debug)]
struct Part {
    commands: Vec<Spanned<Command>>,
    /// The fields that are read and set, if the commands affect no others; `None` if they may read or set any
    /// field.
    fields: Option<HashSet<String>>,
}

/// Splits commands into parts.
fn parts(commands: &[Spanned<Command>]) -> Vec<Part> {
    let fields: Option<Vec<Vec<String>>> =
        commands.iter().map(|found| assigned(&found.node)).collect();
    let mut parts = Vec::new();
    match fields {
        Some(fields) => {
            let several = commands.chunks(ASSIGNED_AT_ONCE).zip(fields.chunks(ASSIGNED_AT_ONCE));
            for (commands, fields) in several {
                let fields = Some(fields.iter().flatten().cloned().collect());
                parts.push(Part { commands: commands.to_vec(), fields });
            }
        }
        None => {
            for commands in commands.chunks(AT_ONCE) {
                parts.push(Part { commands: commands.to_vec(), fields: None });
            }
        }
    }
    parts
}

/// Returns the fields that assignments read and set; `None` for other commands, and for assignments that may
/// read any field.
fn assigned(command: &Command) -> Option<Vec<String>> {
    let Command::Eval(eval) = command else { return None };
    let mut fields = RequiredFields::default();
    for Assignment { field, expr } in &eval.assignments {
        if pieces(&field.node).is_some() || reads_unnamed(expr) {
            return None;
        }
        fields.name(&field.node);
        fields.expr(expr);
    }
    fields.patterns.is_empty().then_some(fields.names)
}

/// Whether an expression may read fields that it does not name: a filter looks for its words in several
/// fields, and a time-based lookup reads `_time`.
fn reads_unnamed(expr: &Expr) -> bool {
    let reads = matches!(
        &expr.kind,
        ExprKind::Call(call) if matches!(call.function.node.as_str(), "searchmatch" | "lookup")
    );
    reads || expr.children().into_iter().any(reads_unnamed)
}

impl Part {
    /// Runs the commands over these rows.
    async fn apply(&self, rows: Rows, env: &PlanningContext<'_>) -> Result<Rows, Error> {
        let Some(fields) = &self.fields else {
            let stage = plan_stage(Frame::of_rows(rows)?, &self.commands, env).await?;
            return run_to_rows(stage, env).await;
        };
        let named = rows.columns.iter().filter(|column| fields.contains(&column.name));
        let few = Rows { columns: named.cloned().collect(), count: rows.count };
        let stage = plan_stage(Frame::of_rows(few)?, &self.commands, env).await?;
        Ok(with_columns_of(rows, run_to_rows(stage, env).await?))
    }
}

/// Replaces or adds the columns of other rows, of which there are equally many: columns of the same name are
/// replaced in place, others are appended.
fn with_columns_of(mut rows: Rows, others: Rows) -> Rows {
    let places: HashMap<String, usize> =
        rows.columns.iter().enumerate().map(|(at, column)| (column.name.clone(), at)).collect();
    for column in others.columns {
        match places.get(&column.name) {
            Some(at) => rows.columns[*at] = column,
            None => rows.columns.push(column),
        }
    }
    rows
}

impl TableOp for Parts {
    fn apply<'a>(
        &'a self,
        mut rows: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            for part in &self.0 {
                rows = part.apply(rows, env).await?;
            }
            Ok(rows)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parts_of(template: &str, count: usize) -> Vec<Part> {
        let text: Vec<String> =
            (0..count).map(|at| template.replace("FIELD", &format!("f{at}"))).collect();
        let commands = spl::parse_commands(&text.join(" | "), &ParseOptions::default());
        parts(&commands.expect("the template is valid").commands)
    }

    #[test]
    fn many_assignments_are_planned_with_the_columns_of_their_fields_alone() {
        let parts = parts_of("eval t=coalesce(t,0)+FIELD", 400);
        assert_eq!(parts.iter().map(|part| part.commands.len()).sum::<usize>(), 400);
        for part in &parts {
            let fields = part.fields.as_ref().expect("the fields are known");
            assert!(fields.contains("t"));
            assert_eq!(fields.len(), part.commands.len() + 1);
        }
    }

    #[test]
    fn commands_that_may_change_any_field_are_planned_with_all_columns() {
        for template in [
            "eval t=1 | rename FIELD AS x_FIELD",
            "eval {FIELD}=1",
            "eval t=tojson()",
            "eval t=if(searchmatch(\"FIELD\"), 1, 0)",
            "eval t=lookup(\"a.csv\", json_object(\"a\", FIELD), json_array(\"b\"))",
        ] {
            let parts = parts_of(template, 100);
            assert!(parts.iter().all(|part| part.fields.is_none()), "{template}");
            assert!(parts.iter().all(|part| part.commands.len() <= AT_ONCE), "{template}");
        }
    }
}
