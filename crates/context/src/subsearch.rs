//! Subsearches whose result stands in the text of the search around them: they run before it is read to
//! its end.

use knowledge::Knowledge;
use spl::ast::Pipeline;
use tables::text::filter::Format;
pub use tables::text::filter::quoted;

use crate::planning::{Planning, PlanningContext, Subsearches, plan_before};
use crate::rights;
use crate::run::{run_inner, within_time};
use frames::{Error, MessageKind};

/// The placeholder for the result of a subsearch that does not run: a term, a number, a value.
const SKIPPED: &str = "1";
/// Further placeholders for positions where the grammar does not allow the first: arguments of `eval`,
/// `stats`, `rename`, `replace` and `rex`.
const SKIPPED_ARGUMENTS: [&str; 5] = ["x=1", "count", "x AS y", "x WITH y", "\"(?<x>.)\""];

/// Parses the text of a search, macros included, and runs its subsearches.
pub async fn parse(
    text: &str,
    subsearches: Subsearches<'_>,
    env: &PlanningContext<'_>,
) -> Result<Pipeline, Error> {
    parse_placed(text, None, subsearches, env).await
}

/// Parses a text at a position of the search, such as that of a saved search; see [`parse`].
pub fn parse_placed<'p>(
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
    let mut resolution = begin(text, place, &env.context.knowledge)?;
    loop {
        let waiting = match resolution {
            spl::Resolution::Whole(pipeline) => {
                // Reported before anything runs.
                pipeline
                    .commands
                    .iter()
                    .try_for_each(|command| rights::check(command, env.context))?;
                return Ok(pipeline);
            }
            spl::Resolution::Needs(waiting) => waiting,
        };
        let result = match subsearches {
            Subsearches::Skip => {
                resolution = skipped(&waiting)?;
                continue;
            }
            Subsearches::Refuse => {
                let text = "the search has a subsearch whose result is not in its text";
                return Err(Error::invalid_anywhere(text));
            }
            Subsearches::Run(session) => {
                let env = env.running(session).deeper()?;
                result(&waiting, &env).await?
            }
        };
        resolution = waiting.resolve(&result)?;
    }
}

/// Continues without the result of a subsearch, with the first placeholder that fits.
fn skipped(waiting: &spl::Unresolved) -> Result<spl::Resolution, Error> {
    // A range with an early end would end before it begins.
    let text = if waiting.is_latest() { "now" } else { SKIPPED };
    let any = || SKIPPED_ARGUMENTS.iter().find_map(|text| waiting.resolve(text).ok());
    Ok(waiting.resolve(text).or_else(|error| any().ok_or(error))?)
}

/// Reports the mistakes in the text of a search that are found before its first subsearch runs.
///
/// # Errors
/// As [`parse`].
pub fn check(text: &str, knowledge: &Knowledge) -> Result<(), Error> {
    begin(text, None, knowledge).map(drop)
}

fn begin(
    text: &str,
    place: Option<spl::Span>,
    knowledge: &Knowledge,
) -> Result<spl::Resolution, Error> {
    let macros = crate::macros::Macros::of(knowledge);
    let macros = Some(&macros as &dyn spl::MacroResolver);
    let commands = spl::CustomCommands::of(knowledge.custom_command_names());
    let commands = Some(&commands);
    let options = spl::ParseOptions { macros, commands, place, ..spl::ParseOptions::default() };
    Ok(spl::parse_resolving(text, &options)?)
}

/// Converts the rows of a subsearch to a filter, or to a value where one is expected.
async fn result(waiting: &spl::Unresolved, env: &PlanningContext<'_>) -> Result<String, Error> {
    let planned = plan_before(waiting.pipeline(), None, env).await?;
    let run = run_inner(planned, None, env);
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
    let format = Format::default();
    Ok(if waiting.is_value() { format.value(&rows)? } else { format.text(&rows)? })
}
