//! `mcollect` and `meventcollect`: write the rows to an index as metric data points, and pass them on.
//!
//! Split: runs at the search head, over all rows. The data points of a row become one event.

use exprs::column::Values;
use frames::Frame;
use futures::future::BoxFuture;
use model::{EventTime, IndexName, columns};
use spl::ast::{McollectCommand, MetricSplit, Span};

use super::metrics::{METRIC, POINT, VALUE};
use super::{CommandPlan, Input, OutputFields, Place, RequiredFields, Step};
use crate::value::parse_number;
use crate::{CollectedEvent, Error, MessageKind};
use context::indexes::absence;
use context::planning::PlanningContext;
use context::stage::{Breaker, Rows, TableOp};

impl CommandPlan for McollectCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.all();
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan("mcollect", self, input.span(), input.frame, input.env)
    }
}

/// The text of events whose data points are in their fields.
const TEXT: &str = "metric";
/// Default source type of data points.
const SOURCETYPE: &str = "metrics_csv";

/// Plans `mcollect`, or the equivalent command of this name.
pub(super) fn plan(
    name: &'static str,
    command: &McollectCommand,
    span: Span,
    frame: Frame,
    env: &PlanningContext<'_>,
) -> Result<Step, Error> {
    let given = &command.index;
    let index = IndexName::new(&given.node)
        .map_err(|error| Error::at(format!("index=: {error}"), given.span))?;
    index.check_open().map_err(|error| Error::at(error.to_string(), given.span))?;
    if !env.context.source.indexes().contains(&index) {
        let disabled = env.context.source.disabled_indexes();
        return Err(Error::at(absence(index.as_str(), &disabled), given.span));
    }
    if command.split == MetricSplit::All && command.dimensions.is_empty() {
        let message = "split=true needs the names of the dimensions; all other fields are measures";
        return Err(Error::at(message, span));
    }
    let op = Mcollect { name, command: command.clone(), index };
    Ok(Step::Materialize(frame, Breaker::table(op)))
}

#[derive(Debug)]
struct Mcollect {
    /// The name of the command, for messages.
    name: &'static str,
    command: McollectCommand,
    index: IndexName,
}

impl TableOp for Mcollect {
    fn apply<'a>(
        &'a self,
        rows: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            if rows.count == 0 || env.is_dry_run() {
                return Ok(rows);
            }
            let events = self.events(&rows, env)?;
            if events.len() < rows.count {
                let text = format!(
                    "{} left out {} of {} rows, which have no measure{}",
                    self.name,
                    rows.count - events.len(),
                    rows.count,
                    self.command
                        .prefix_field
                        .as_ref()
                        .map_or_else(String::new, |field| format!(" or no {}", field.node))
                );
                env.log.add(MessageKind::Warning, text);
            }
            env.context.host.collect(&self.index, events).await?;
            Ok(rows)
        })
    }
}

/// The fields of a row.
type Cells<'r> = Vec<(&'r str, &'r [String])>;

impl Mcollect {
    fn events(&self, rows: &Rows, env: &PlanningContext<'_>) -> Result<Vec<CollectedEvent>, Error> {
        let times = match rows.column(columns::TIME) {
            Some(column) => Some(Values::new(&column.array)?),
            None => None,
        };
        let [hosts, sources] = [columns::HOST, columns::SOURCE].map(|name| rows.texts(name));
        let (hosts, sources) = (hosts?, sources?);
        let server = env.context.host.server_name();
        let mut fields = Vec::new();
        for name in rows.names() {
            if !name.starts_with('_') || name == VALUE {
                let cells = rows.lists(&name)?;
                fields.push((name, cells));
            }
        }
        let mut events = Vec::with_capacity(rows.count);
        for row in 0..rows.count {
            let cells: Cells<'_> = fields
                .iter()
                .map(|(name, cells)| (name.as_str(), cells[row].as_slice()))
                .filter(|(_, values)| !values.is_empty())
                .collect();
            let Some(fields) = self.fields(&cells) else { continue };
            let seconds = times.as_ref().and_then(|times| times.get(row).number());
            let pick = |given: &Option<String>, own: &Option<String>, default: &str| {
                given.clone().or_else(|| own.clone()).unwrap_or_else(|| default.to_owned())
            };
            events.push(CollectedEvent {
                time: seconds.map_or(env.context.now, EventTime::from_seconds),
                raw: TEXT.to_owned(),
                host: pick(&self.command.host, &hosts[row], &server),
                source: pick(&self.command.source, &sources[row], "search"),
                sourcetype: pick(&self.command.sourcetype, &None, SOURCETYPE),
                fields,
            });
        }
        Ok(events)
    }

    /// Returns the indexed fields of a row's event; `None` if the row has no measure.
    fn fields(&self, cells: &Cells<'_>) -> Option<Vec<(String, String)>> {
        let prefix = match &self.command.prefix_field {
            None => String::new(),
            Some(field) => {
                let (_, values) = cells.iter().find(|(name, _)| *name == field.node)?;
                format!("{}.", values.first()?)
            }
        };
        let mut fields = Vec::new();
        for (name, values) in cells {
            if let Some(value) = self.measure(name, values) {
                fields.push(match *name {
                    VALUE | METRIC => ((*name).to_owned(), value.to_owned()),
                    name => {
                        let name = name.strip_prefix(POINT).unwrap_or(name);
                        (format!("{POINT}{prefix}{name}"), value.to_owned())
                    }
                });
            }
        }
        let named = |name: &str| fields.iter().any(|(known, _)| known == name);
        let complete = named(METRIC) && named(VALUE);
        if !complete {
            fields.retain(|(name, _)| name != METRIC && name != VALUE);
        }
        if fields.is_empty() {
            return None;
        }
        for (name, values) in cells.iter().filter(|(name, values)| self.is_dimension(name, values))
        {
            fields.extend(values.iter().map(|value| ((*name).to_owned(), value.clone())));
        }
        fields.extend(self.command.marker.iter().flat_map(|text| pairs(text)));
        Some(fields)
    }

    fn is_listed(&self, name: &str) -> bool {
        self.command.dimensions.iter().any(|pattern| pattern.matches(name))
    }

    fn is_prefix(&self, name: &str) -> bool {
        self.command.prefix_field.as_ref().is_some_and(|field| field.node == name)
    }

    /// Returns the number if the field is a measure, or the name of the metric if the field is `metric_name`.
    fn measure<'v>(&self, name: &str, values: &'v [String]) -> Option<&'v str> {
        let [value] = values else { return None };
        let is_number = parse_number(value).is_some();
        let takes = match self.command.split {
            MetricSplit::Named => match name {
                METRIC => true,
                VALUE => is_number,
                other => is_number && other.starts_with(POINT),
            },
            MetricSplit::All | MetricSplit::Numbers => {
                let other = name.starts_with('_') || self.is_listed(name) || self.is_prefix(name);
                is_number && !other && !columns::ORIGIN_AND_INDEX.contains(&name) && name != METRIC
            }
        };
        takes.then_some(value.as_str())
    }

    fn is_dimension(&self, name: &str, values: &[String]) -> bool {
        let own = name.starts_with('_') || name == METRIC || name.starts_with(POINT);
        if own || columns::ORIGIN_AND_INDEX.contains(&name) || self.is_prefix(name) {
            return false;
        }
        match self.command.split {
            MetricSplit::All => self.is_listed(name),
            MetricSplit::Named => self.command.dimensions.is_empty() || self.is_listed(name),
            MetricSplit::Numbers => self.measure(name, values).is_none(),
        }
    }
}

/// Parses `a=1, b="x"`.
fn pairs(text: &str) -> Vec<(String, String)> {
    let pairs = text.split(',').filter_map(|pair| pair.split_once('='));
    let clean = |text: &str| text.trim().trim_matches('"').to_owned();
    pairs.map(|(name, value)| (clean(name), clean(value))).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(arguments: &str, cells: &[(&str, &str)]) -> Option<Vec<(String, String)>> {
        let pipeline = spl::parse(&format!("* | mcollect index=m {arguments}")).expect(arguments);
        let spl::ast::Command::Mcollect(command) = &pipeline.commands[1].node else {
            panic!("mcollect expected")
        };
        let index = IndexName::new("m").expect("a name");
        let values: Vec<Vec<String>> =
            cells.iter().map(|(_, value)| vec![(*value).to_owned()]).collect();
        let cells = cells.iter().zip(&values).map(|((name, _), list)| (*name, list.as_slice()));
        Mcollect { name: "mcollect", command: command.clone(), index }.fields(&cells.collect())
    }

    fn check(arguments: &str, cells: &[(&str, &str)], expected: &[(&str, &str)]) {
        let own = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        assert_eq!(fields(arguments, cells), Some(expected.iter().map(own).collect()));
    }

    #[test]
    fn a_point_by_itself_keeps_its_form() {
        let row = [("metric_name", "cpu"), ("_value", "5"), ("app", "x"), ("host", "h")];
        check("", &row, &[("metric_name", "cpu"), ("_value", "5"), ("app", "x")]);
        assert_eq!(fields("", &[("metric_name", "cpu"), ("_value", "high")]), None);
    }

    #[test]
    fn named_measures_are_taken_beside_the_dimensions_listed() {
        let row = [("metric_name:cpu", "5"), ("app", "x"), ("zone", "z")];
        check("app", &row, &[("metric_name:cpu", "5"), ("app", "x")]);
    }

    #[test]
    fn split_makes_measures_of_numbers() {
        let row = [("name", "q1"), ("size", "5"), ("max", "7"), ("word", "w")];
        let expected = [("metric_name:q1.size", "5"), ("metric_name:q1.max", "7")];
        check("split=true prefix_field=name name", &row, &expected);
        let expected = [
            ("metric_name:size", "5"),
            ("name", "q1"),
            ("max", "7"),
            ("word", "w"),
            ("report", "r"),
        ];
        check("split=allnums marker=\"report=r\" max", &row, &expected);
        assert_eq!(fields("split=true prefix_field=none a", &row), None);
    }
}
