//! Explains a search before it runs: its commands, its index expression, its plan, and its SQL equivalent.

use datafusion::logical_expr::{Expr, LogicalPlan};
use plan::{CommandKind, Outline, PlannedSearch};
use serde::Serialize;

use crate::inspect::hides_events;
use crate::jobs::JobRequest;
use crate::scan::index_expression;
use crate::{Error, Estimate, SearchService};

/// The explanation of a search.
#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    /// The normalized search text.
    pub normalized: String,
    /// Its commands in order.
    pub commands: Vec<ExplainedCommand>,
    /// Start of the time range in epoch seconds; `None` is unbounded.
    pub earliest: Option<f64>,
    /// End of the time range in epoch seconds; `None` is unbounded.
    pub latest: Option<f64>,
    /// Indexes read.
    pub indexes: Vec<String>,
    /// Conditions that are evaluated in the scan; empty for users with a search filter.
    pub filters: Vec<String>,
    /// The expression that the term index evaluates, in the form of the job inspector; empty for users with a
    /// search filter.
    pub index_expression: String,
    /// The plan up to the first command that must see all rows; empty for users with a search filter.
    pub plan: String,
    /// The search in SQL, if there is an equivalent.
    pub sql: Option<ExplainedSql>,
    /// Why there is no equivalent in SQL.
    pub no_sql: Option<String>,
    /// Messages of the planner.
    pub messages: Vec<String>,
    /// The estimated cost; `None` if the first stage reads no stored events, or outside of a server.
    pub estimate: Option<Estimate>,
}

/// The explanation of a command.
#[derive(Debug, Clone, Serialize)]
pub struct ExplainedCommand {
    /// The registered name.
    pub name: &'static str,
    /// The normalized text of the command.
    pub text: String,
    /// The type of the command: `streaming`, `transforming`, ...
    pub kind: &'static str,
    /// Where the command runs, in words.
    pub runs: &'static str,
}

/// A search in SQL.
#[derive(Debug, Clone, Serialize)]
pub struct ExplainedSql {
    /// One `SELECT`.
    pub query: String,
    /// The parameter `earliest` of the SQL request.
    pub earliest: Option<String>,
    /// The parameter `latest` of the SQL request.
    pub latest: Option<String>,
    /// Assumptions under which the query is equivalent.
    pub notes: Vec<String>,
}

impl Explanation {
    /// Assembles the explanation of a search.
    #[must_use]
    pub fn new(outline: Outline, planned: &PlannedSearch) -> Self {
        let commands = outline.commands.iter().map(|command| ExplainedCommand {
            name: command.name,
            text: command.text.clone(),
            kind: if command.generates { "generating" } else { kind_text(command.kind) },
            runs: command.place.text(),
        });
        let seconds = |micros: i64, none: i64| {
            #[allow(clippy::cast_precision_loss, reason = "for people")]
            let seconds = micros as f64 / 1e6;
            (micros != none).then_some(seconds)
        };
        let filters = scan_filters(&planned.plan);
        let (sql, no_sql) = match outline.sql {
            Ok(sql) => {
                let plan::SqlText { query, earliest, latest, notes } = sql;
                (Some(ExplainedSql { query, earliest, latest, notes }), None)
            }
            Err(reason) => (None, Some(reason.to_string())),
        };
        let all = model::TimeRange::ALL;
        Self {
            normalized: outline.normalized,
            commands: commands.collect(),
            earliest: seconds(planned.range.earliest.0, all.earliest.0),
            latest: seconds(planned.range.latest.0, all.latest.0),
            indexes: planned.indexes.iter().map(ToString::to_string).collect(),
            index_expression: index_expression(&filters),
            filters: filters.iter().map(ToString::to_string).collect(),
            plan: planned.plan.display_indent().to_string(),
            sql,
            no_sql,
            messages: planned.messages.iter().map(|message| message.text.clone()).collect(),
            estimate: None,
        }
    }

    /// Removes all that depends on events that a search filter hides: bucket summaries, from which the fields
    /// of the plan and the estimate come, also count these events.
    fn without_hidden(mut self) -> Self {
        self.filters.clear();
        self.index_expression.clear();
        self.plan.clear();
        self.estimate = None;
        self
    }
}

fn kind_text(kind: CommandKind) -> &'static str {
    match kind {
        CommandKind::Streaming => "streaming",
        CommandKind::Centralised => "centralised streaming",
        CommandKind::Transforming => "transforming",
        CommandKind::Dataset => "dataset processing",
        CommandKind::Generating => "generating",
    }
}

/// Returns the conditions directly above the scan of events.
fn scan_filters(plan: &LogicalPlan) -> Vec<Expr> {
    let mut filters = Vec::new();
    let mut node = plan;
    loop {
        match node {
            LogicalPlan::Filter(filter) => filters.push(filter.predicate.clone()),
            LogicalPlan::TableScan(scan) => {
                filters.extend(scan.filters.iter().cloned());
                filters.reverse();
                return filters;
            }
            // A condition above another operator is not a condition on stored events.
            _ => filters.clear(),
        }
        match node.inputs().as_slice() {
            [only] => node = only,
            _ => return Vec::new(),
        }
    }
}

impl SearchService {
    /// Returns the commands and arguments of a search, without planning it.
    ///
    /// # Errors
    /// [`Error::Search`] if the text is not SPL. A command that does not exist is named in Splunk's
    /// words, which clients know.
    pub fn outline(&self, request: &JobRequest) -> Result<Outline, Error> {
        let knowledge = self.knowledge_of(request);
        plan::outline(&request.search, &knowledge).map_err(|error| {
            let kind = error.kind();
            let text = unknown_command(&error).unwrap_or_else(|| error.render(&request.search));
            Error::Search { text, kind }
        })
    }

    /// Adds the leading pipe that REST clients omit before a command, including commands of apps. Returns
    /// `None` if there is nothing to add.
    #[must_use]
    pub fn with_pipe(&self, request: &JobRequest) -> Option<String> {
        plan::with_pipe(&request.search, &self.custom_commands(request))
    }

    /// Whether a text begins with a command that is available in the app and with the rights of the request.
    #[must_use]
    pub fn begins_with_command(&self, text: &str, request: &JobRequest) -> bool {
        plan::begins_with_command(text, &self.custom_commands(request))
    }

    fn custom_commands(&self, request: &JobRequest) -> plan::CustomCommands {
        plan::CustomCommands::of(self.knowledge_of(request).custom_command_names())
    }

    /// Plans a search and explains how it would run and what it would cost. Subsearches do not run.
    ///
    /// # Errors
    /// As [`Self::dispatch`].
    pub async fn explain(&self, request: &JobRequest) -> Result<Explanation, Error> {
        let knowledge = self.knowledge_of(request);
        let found = plan::outline(&request.search, &knowledge);
        let outline = found.map_err(|error| Error::of_search(&error, &request.search))?;
        let planned = self.check(request).await?;
        let explanation = Explanation::new(outline, &planned);
        if hides_events(&request.rights) {
            return Ok(explanation.without_hidden());
        }
        Ok(Explanation { estimate: self.estimate(&planned).await, ..explanation })
    }
}

/// Returns the first message if it is about an unknown command.
fn unknown_command(error: &plan::Error) -> Option<String> {
    let plan::Error::Syntax(diagnostics) = error else { return None };
    let message = &diagnostics.first()?.message;
    message.starts_with("Unknown search command ").then(|| message.clone())
}
