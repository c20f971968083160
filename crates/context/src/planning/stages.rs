//! Stages: a plan, what becomes of its rows, and the commands that are planned once they are known.

use std::collections::HashSet;
use std::fmt::Debug;
use std::sync::Arc;

use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::ExecutionPlan;
use exprs::types::ValueType;
use frames::{Formats, Frame, Rows, TypeErased};
use futures::future::BoxFuture;
use model::{IndexName, TimeRange};
use serde::{Deserialize, Serialize};
use spl::ast::{Command, Spanned};
use tables::{Note, Operation, Values};

use super::PlanningContext;
use crate::plan_context::PlanContext;
use frames::{
    Error, FieldFilter, Message, MessageKind, MessageLog, OutputColumn, ResultKind, Session,
};

/// Returns the error about more rows than a stage may hold.
pub(crate) fn too_many_rows(limit: usize) -> Error {
    let message = format!(
        "the search holds more than {limit} rows at once (a fixed limit); \
         narrow it or aggregate before this command"
    );
    Error::Exhausted { message }
}

/// What a command does with all rows of a stage at once.
pub trait TableOp: Debug + Send + Sync {
    /// The rows that come of rows.
    fn apply<'a>(
        &'a self,
        rows: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>>;

    /// Returns the rows of the command where the stage has more rows than it may hold, without reading them;
    /// `None` if the command needs all rows of the stage.
    fn apply_to_many<'a>(
        &'a self,
        _: &'a PlanningContext<'a>,
    ) -> Option<BoxFuture<'a, Result<Rows, Error>>> {
        None
    }
}

impl<T: Operation> TableOp for T {
    fn apply<'a>(
        &'a self,
        rows: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            let limits = &env.context.limits;
            let mut context = tables::Context::new(tables::Limits {
                rows: limits.stage_rows,
                columns: limits.columns,
                bins: limits.bins,
                bytes: limits.memory_bytes,
            })
            .until(env.context.planning.stop());
            let rows = Operation::apply(self, rows, &mut context);
            for note in context.notes {
                match note {
                    Note::Info(text) => env.log.add(MessageKind::Info, text),
                    Note::Warning(text) => env.log.add(MessageKind::Warning, text),
                }
            }
            Ok(rows?)
        })
    }
}

/// A pipeline breaker: what happens with the rows of a stage.
#[derive(Debug, Clone)]
pub enum Breaker {
    /// A command makes other rows of them.
    Table(Arc<dyn TableOp>),
    /// The only row holds the least and the greatest value of a field of this frame, which goes on.
    Extent(TypeErased<Frame>),
    /// The only row says of each field that may be in this frame in how many rows it has a value; the frame
    /// goes on without fields that have none.
    Present(TypeErased<Frame>),
}

/// The part of a pipeline that is planned once the rows before it are known.
#[derive(Debug, Clone)]
pub struct Remainder {
    pub breaker: Breaker,
    pub commands: Vec<Spanned<Command>>,
    pub context: PlanContext,
    /// How fields are shown at the end.
    pub formats: Formats,
    /// The fields whose texts the search has composed.
    pub composed: HashSet<String>,
}

impl Remainder {
    /// The frame that the rest of the pipeline works on. `None` stands for more rows than a stage may hold.
    pub async fn frame(
        &self,
        rows: Option<Rows>,
        env: &PlanningContext<'_>,
    ) -> Result<Frame, Error> {
        let mut frame = match rows {
            Some(rows) => self.breaker.apply(rows, env).await?,
            None => self.breaker.apply_to_many(env).await?,
        };
        if matches!(self.breaker, Breaker::Table(_)) {
            frame.formats = self.formats.clone();
            // Other values than texts are those of the command.
            let is_text = |name: &&String| frame.kind(name) == Some(ValueType::Text);
            let composed: Vec<String> = self.composed.iter().filter(is_text).cloned().collect();
            frame = frame.with_composed(composed);
        }
        Ok(frame)
    }
}

/// What a stage has looked up about rows that the next one reads again. Who knows it can plan the next stage
/// without running the first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum LookedUp {
    /// The least and the greatest value of a field, as bits of an `f64`, so that no text of them differs;
    /// `None` if no row has one.
    Extent(Option<[u64; 2]>),
    /// The fields of which some row has a value.
    Present(Vec<String>),
}

impl Breaker {
    /// Whether the stage only looks something up about rows that the next one reads again.
    pub fn reads_again(&self) -> bool {
        matches!(self, Self::Extent(_) | Self::Present(_))
    }

    /// What the rows of the stage say about those that the next one reads again, if it reads them again.
    pub fn looked_up(&self, rows: &Rows) -> Result<Option<LookedUp>, Error> {
        Ok(match self {
            Self::Table(_) => None,
            Self::Extent(_) => {
                let extent = rows.extent()?;
                let extent = extent.map(|(low, high)| [low.to_bits(), high.to_bits()]);
                Some(LookedUp::Extent(extent))
            }
            Self::Present(frame) => {
                let mut empty = HashSet::new();
                // By the columns: to look for each by its name takes long where there are thousands.
                for column in rows.columns.iter().filter(|_| rows.count > 0) {
                    if Values::new(&column.array)?.get(0).number() == Some(0.0) {
                        empty.insert(column.name.as_str());
                    }
                }
                let mut kept = frame.names();
                kept.retain(|name| !empty.contains(name.as_str()));
                Some(LookedUp::Present(kept))
            }
        })
    }

    /// The frame of the next stage, for what a stage like this has looked up.
    pub fn knowing(&self, looked_up: &LookedUp) -> Result<Frame, Error> {
        match (self, looked_up) {
            (Self::Extent(frame), LookedUp::Extent(extent)) => {
                let mut frame = (**frame).clone();
                frame.extent =
                    Some(extent.map(|[low, high]| (f64::from_bits(low), f64::from_bits(high))));
                Ok(frame)
            }
            (Self::Present(frame), LookedUp::Present(kept)) => (**frame).clone().present(kept),
            _ => Err(Error::internal("the search has another stage here")),
        }
    }

    /// A command over all rows.
    pub fn table(op: impl TableOp + 'static) -> Self {
        Self::Table(Arc::new(op))
    }

    /// The frame of the next stage if the stage before has more rows than a stage may hold.
    async fn apply_to_many(&self, env: &PlanningContext<'_>) -> Result<Frame, Error> {
        let limits = &env.context.limits;
        let made = match self {
            Self::Table(op) => op.apply_to_many(env),
            Self::Extent(_) | Self::Present(_) => None,
        };
        let Some(made) = made else { return Err(too_many_rows(limits.stage_rows)) };
        let rows = made.await?;
        rows.check_bytes(limits.memory_bytes)?;
        Frame::of_rows(rows)
    }

    /// Turns the rows of the stage before into the frame of the next.
    pub async fn apply(&self, rows: Rows, env: &PlanningContext<'_>) -> Result<Frame, Error> {
        match self {
            Self::Table(op) => {
                let rows = op.apply(rows, env).await?;
                rows.check_bytes(env.context.limits.memory_bytes)?;
                Frame::of_rows(rows)
            }
            Self::Extent(_) | Self::Present(_) => match self.looked_up(&rows)? {
                Some(looked_up) => self.knowing(&looked_up),
                None => Err(Error::internal("a stage that only looks something up")),
            },
        }
    }
}

/// One stage, ready to run.
#[derive(Debug, Clone)]
pub struct StagePlan {
    pub plan: TypeErased<LogicalPlan>,
    pub columns: Vec<OutputColumn>,
    pub kind: ResultKind,
    pub filter: FieldFilter,
    /// Plan and columns without the formats of fields, if there are any.
    pub unformatted: Option<(TypeErased<LogicalPlan>, Vec<OutputColumn>)>,
    pub rest: Option<Remainder>,
}

/// What a generating command starts from.
#[derive(Debug)]
pub struct SourceRows {
    pub frame: Frame,
    pub range: TimeRange,
    pub indexes: Vec<IndexName>,
    pub messages: Vec<Message>,
}

impl SourceRows {
    /// No rows and no fields.
    pub fn nothing(env: &PlanningContext<'_>) -> Result<Self, Error> {
        let frame = Frame::of_rows(Rows::blank(0))?;
        let range = env.context.range;
        Ok(Self { frame, range, indexes: Vec::new(), messages: Vec::new() })
    }
}

/// A search, planned. It runs with `plan::execute`.
#[derive(Debug, Clone)]
pub struct PlannedSearch {
    /// The first stage, which reads the events; without `rest` also the last.
    pub plan: TypeErased<LogicalPlan>,
    /// What the rows of the whole search are.
    pub kind: ResultKind,
    /// Columns of `plan`, in order.
    pub columns: Vec<OutputColumn>,
    /// For events: which of the fields not among `columns` are shown.
    pub hidden_fields: FieldFilter,
    /// Time range of the events read.
    pub range: TimeRange,
    /// Indexes read.
    pub indexes: Vec<IndexName>,
    /// What planning has to say; running may add to it ([`messages`](super::Completed::messages)).
    pub messages: Vec<Message>,
    /// Words and phrases to mark in `_raw`.
    pub highlight: Vec<String>,
    /// The search as it was understood.
    pub normalized: String,
    /// What happens to the rows of `plan` before they are results; `None` if they are.
    pub rest: Option<Remainder>,
    /// The first stage and its columns without the formats of fields, if there are any.
    pub unformatted: Option<(TypeErased<LogicalPlan>, Vec<OutputColumn>)>,
    /// Where operators of `plan` leave their messages.
    pub log: MessageLog,
}

impl PlannedSearch {
    /// Removes display formats, which only apply to the result of the outermost search.
    #[must_use]
    pub fn without_formats(mut self) -> Self {
        if let Some((plan, columns)) = self.unformatted.take() {
            (self.plan, self.columns) = (plan, columns);
        }
        self
    }

    /// The plan of the first stage as it runs in a session.
    ///
    /// # Errors
    /// If the engine refuses the plan, or planning takes too long.
    pub async fn physical_plan(&self, session: &Session) -> Result<Arc<dyn ExecutionPlan>, Error> {
        Ok(session.physical_plan(&self.plan).await?)
    }

    /// Where operators leave their messages.
    #[must_use]
    pub fn log(&self) -> &MessageLog {
        &self.log
    }

    /// The first stage.
    pub fn stage(&self) -> StagePlan {
        StagePlan {
            plan: self.plan.clone(),
            columns: self.columns.clone(),
            kind: self.kind,
            filter: self.hidden_fields.clone(),
            unformatted: self.unformatted.clone(),
            rest: self.rest.clone(),
        }
    }
}
