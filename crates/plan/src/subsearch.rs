//! Subsearches whose result stands in the text of the search around them: they run before it is read to
//! its end.

use spl::ast::Pipeline;

use crate::context::{Planning, PlanningContext, Subsearches, plan_before};
use crate::rows::Rows;
use crate::run::{run_to_rows, within_time};
use crate::{Error, MessageKind, rights};

/// What stands for the result of a subsearch that does not run: a term, a number, a value.
const SKIPPED: &str = "1";

/// Parses the text of a search, macros included, and runs its subsearches.
pub(crate) async fn parse(
    text: &str,
    subsearches: Subsearches<'_>,
    env: &PlanningContext<'_>,
) -> Result<Pipeline, Error> {
    parse_placed(text, None, subsearches, env).await
}

/// As [`parse`], of a text that stands at a place of the search, such as that of a saved one.
pub(crate) fn parse_placed<'p>(
    text: &'p str,
    place: Option<spl::Span>,
    subsearches: Subsearches<'p>,
    env: &'p PlanningContext<'_>,
) -> Planning<'p, Pipeline> {
    Box::pin(resolved(text, place, subsearches, env))
}

async fn resolved(
    text: &str,
    place: Option<spl::Span>,
    subsearches: Subsearches<'_>,
    env: &PlanningContext<'_>,
) -> Result<Pipeline, Error> {
    let mut resolution = begin(text, place, env)?;
    loop {
        let waiting = match resolution {
            spl::Resolution::Whole(pipeline) => {
                // Said before anything runs, not once the rows are there.
                pipeline
                    .commands
                    .iter()
                    .try_for_each(|command| rights::check(command, env.context))?;
                return Ok(pipeline);
            }
            spl::Resolution::Needs(waiting) => waiting,
        };
        let result = match subsearches {
            Subsearches::Skip => SKIPPED.to_owned(),
            Subsearches::Run(session) => {
                let env = env.running(session).deeper()?;
                result(waiting.pipeline(), &env).await?
            }
        };
        resolution = waiting.resolve(&result)?;
    }
}

fn begin(
    text: &str,
    place: Option<spl::Span>,
    env: &PlanningContext<'_>,
) -> Result<spl::Resolution, Error> {
    let macros = crate::macros::Macros::of(&env.context.knowledge);
    let macros = Some(&macros as &dyn spl::MacroResolver);
    let options = spl::ParseOptions { macros, place, ..spl::ParseOptions::default() };
    Ok(spl::parse_resolving(text, &options)?)
}

/// The rows of a subsearch as a filter.
async fn result(pipeline: &Pipeline, env: &PlanningContext<'_>) -> Result<String, Error> {
    let planned = plan_before(pipeline, None, env).await?;
    let run = run_to_rows(planned.stage(), env);
    let mut rows = within_time("search", None, env, run).await?;
    let most = env.context.limits.subsearch_rows;
    if rows.count > most {
        let text = format!(
            "a subsearch gave {} rows; the first {most} are used (maxout in limits.conf [subsearch])",
            rows.count
        );
        env.log.add(MessageKind::Warning, text);
        rows = rows.slice(0, most);
    }
    Format::default().text(&rows)
}

/// How rows become a filter, as the options of `format` say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Format {
    pub(crate) row_prefix: String,
    pub(crate) column_prefix: String,
    pub(crate) column_separator: String,
    pub(crate) column_end: String,
    pub(crate) row_separator: String,
    pub(crate) row_end: String,
    /// Between the values of one field.
    pub(crate) mvsep: String,
    /// What stands for no rows.
    pub(crate) emptystr: String,
}

impl Default for Format {
    fn default() -> Self {
        let [row_prefix, column_prefix, column_separator, column_end, row_separator, row_end] =
            ["(", "(", "AND", ")", "OR", ")"].map(str::to_owned);
        Self {
            row_prefix,
            column_prefix,
            column_separator,
            column_end,
            row_separator,
            row_end,
            mvsep: "OR".to_owned(),
            emptystr: "NOT ( )".to_owned(),
        }
    }
}

/// Fields whose values are terms of a search, not values of a field.
const VERBATIM: [&str; 2] = ["search", "query"];

impl Format {
    /// The filter that the rows stand for.
    pub(crate) fn text(&self, rows: &Rows) -> Result<String, Error> {
        let shown = |name: &&String| !name.starts_with('_');
        let names: Vec<String> = rows.names().iter().filter(shown).cloned().collect();
        let mut columns = Vec::with_capacity(names.len());
        for name in &names {
            columns.push((name, rows.lists(name)?));
        }
        // What `return` and `format` give is the filter itself.
        if let ([(name, cells)], 1) = (columns.as_slice(), rows.count)
            && VERBATIM.contains(&name.as_str())
            && let [text] = cells[0].as_slice()
        {
            return Ok(text.clone());
        }
        let mut filters = Vec::with_capacity(rows.count);
        for row in 0..rows.count {
            let terms: Vec<String> = columns
                .iter()
                .filter(|(_, cells)| !cells[row].is_empty())
                .map(|(name, cells)| self.term(name, &cells[row]))
                .collect();
            if !terms.is_empty() {
                let terms = terms.join(&format!(" {} ", self.column_separator));
                filters.push(format!("{} {terms} {}", self.column_prefix, self.column_end));
            }
        }
        if filters.is_empty() {
            return Ok(self.emptystr.clone());
        }
        let filters = filters.join(&format!(" {} ", self.row_separator));
        Ok(format!("{} {filters} {}", self.row_prefix, self.row_end))
    }

    fn term(&self, name: &str, values: &[String]) -> String {
        let term = |value: &String| match VERBATIM.contains(&name) {
            true => value.clone(),
            false => comparison(name, value),
        };
        match values {
            [value] => term(value),
            several => {
                let terms: Vec<String> = several.iter().map(term).collect();
                format!("({})", terms.join(&format!(" {} ", self.mvsep)))
            }
        }
    }
}

/// `name="value"`.
pub(crate) fn comparison(name: &str, value: &str) -> String {
    let bare = name.chars().all(|c| c.is_alphanumeric() || "_.:{}@#-".contains(c));
    let name = if bare { name.to_owned() } else { quoted(name) };
    format!("{name}={}", quoted(value))
}

/// A text in double quotes.
pub(crate) fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
