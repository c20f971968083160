//! `fit`: trains a model on all rows, and stores it for `apply`.
//!
//! Split: runs at the search head, over all rows. A model is stored as a lookup file, so it has an owner, an
//! app and permissions.

use futures::future::BoxFuture;
use spl::ast::{Field, FitCommand, Spanned};
use tables::learning::{ALGORITHMS, Algorithm, Distribution, Learning, Model, Settings};

use super::{CommandPlan, Input, OutputFields, Place, RequiredFields, Step};
use crate::{Error, LookupSource, LookupWrite, MessageKind, MessageLog};
use context::planning::PlanningContext;
use context::stage::{Breaker, Rows, TableOp};

impl CommandPlan for FitCommand {
    fn place(&self) -> Place {
        Place::SearchHead
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.patterns(&self.fields);
        fields.fields(&self.target);
        fields.fields(&self.by);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let name = &self.algorithm;
        let Some(algorithm) = Algorithm::find(&name.node) else {
            let known = ALGORITHMS.map(|(name, _)| name).join(", ");
            let message =
                format!("fit has no algorithm \"{}\"; the algorithms are {known}", name.node);
            return Err(Error::at(message, name.span));
        };
        if algorithm.has_target() != self.target.is_some() {
            let message = match self.target {
                None => format!("{} needs the field to predict: <field> from", algorithm.name()),
                Some(_) => format!("{} predicts no field: leave out FROM", algorithm.name()),
            };
            return Err(Error::at(message, name.span));
        }
        if !self.by.is_empty() && algorithm != Algorithm::DensityFunction {
            let message = format!("{} has no BY", algorithm.name());
            return Err(Error::at(message, name.span));
        }
        let settings = settings(&self.parameters, input.env.log)?;
        let file = self.model.as_ref().map(file_of).transpose()?;
        let op = Fit { command: self.clone(), algorithm, settings, file };
        Ok(Step::Materialize(input.frame, Breaker::table(op)))
    }
}

#[derive(Debug)]
struct Fit {
    command: FitCommand,
    algorithm: Algorithm,
    settings: Settings,
    /// The file in which the model is stored.
    file: Option<LookupSource>,
}

impl TableOp for Fit {
    fn apply<'a>(
        &'a self,
        rows: Rows,
        env: &'a PlanningContext<'a>,
    ) -> BoxFuture<'a, Result<Rows, Error>> {
        Box::pin(async move {
            let target = self.command.target.as_ref().map(|field| field.node.as_str());
            let by: Vec<String> = self.command.by.iter().map(|field| field.node.clone()).collect();
            let fields = &self.command.fields;
            let learning =
                Learning { settings: &self.settings, stop: &env.context.planning.stop() };
            let model = Model::fit(self.algorithm, target, fields, &by, learning, &rows)?;
            if let Some(file) = self.file.as_ref().filter(|_| !env.is_dry_run()) {
                let write = LookupWrite::Replace;
                env.context.host.write_lookup(file, model.to_rows(), write).await?;
            }
            Ok(model.apply(rows, &self.settings, self.command.alias.as_deref())?)
        })
    }
}

/// Returns the lookup file of a model.
pub(super) fn file_of(model: &Spanned<String>) -> Result<LookupSource, Error> {
    // `app:` shares a model within its app, which is the default for lookup files.
    let name = model.node.strip_prefix("app:").unwrap_or(&model.node);
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || !name.chars().all(is_name) || name.starts_with('.') {
        let message = "the name of a model has letters, digits, '_', '-' and '.'";
        return Err(Error::at(message, model.span));
    }
    Ok(LookupSource::File(format!("__mlspl_{name}.csv")))
}

/// Parameters of Splunk's algorithms that have no effect here.
const IGNORED: [&str; 14] = [
    "c",
    "full_samples",
    "max_iter",
    "metric",
    "n_init",
    "partial_fit",
    "penalty",
    "probabilities",
    "random_state",
    "sample",
    "show_options",
    "solver",
    "supervise_split_by",
    "tol",
];

/// Converts the parameters of the command to settings.
pub(super) fn settings(
    parameters: &[(Field, Spanned<String>)],
    log: &MessageLog,
) -> Result<Settings, Error> {
    let mut settings = Settings::default();
    let (mut lower, mut upper) = (None, None);
    for (name, value) in parameters {
        let invalid = |expected: &str| {
            let message = format!("{} expects {expected}, not \"{}\"", name.node, value.node);
            Error::at(message, value.span)
        };
        let boolean = || spl::boolean(&value.node).ok_or_else(|| invalid("true or false"));
        let share = || {
            let share = value.node.parse::<f64>().ok().filter(|share| (0.0..1.0).contains(share));
            share.ok_or_else(|| invalid("a number from 0 to 1"))
        };
        match name.node.to_ascii_lowercase().as_str() {
            "k" => settings.clusters = value.node.parse().map_err(|_| invalid("a whole number"))?,
            "dist" => {
                settings.distribution = match value.node.to_ascii_lowercase().as_str() {
                    "auto" => Distribution::Auto,
                    "norm" => Distribution::Normal,
                    "expon" => Distribution::Exponential,
                    _ => return Err(invalid("auto, norm or expon")),
                }
            }
            "threshold" => {
                let half = share()? / 2.0;
                (lower, upper) = (lower.or(Some(half)), upper.or(Some(half)));
            }
            "lower_threshold" => lower = Some(share()?),
            "upper_threshold" => upper = Some(share()?),
            "show_density" => settings.show_density = boolean()?,
            "fit_intercept" => settings.intercept = boolean()?,
            "with_mean" => settings.with_mean = boolean()?,
            "with_std" => settings.with_deviation = boolean()?,
            known if IGNORED.contains(&known) => {
                let text = format!("the parameter {} has no effect", name.node);
                log.add(MessageKind::Warning, text);
            }
            _ => {
                let message = format!("there is no parameter \"{}\"", name.node);
                return Err(Error::at(message, name.span));
            }
        }
    }
    if lower.is_some() || upper.is_some() {
        settings.thresholds = Some((lower.unwrap_or(0.0), upper.unwrap_or(0.0)));
    }
    Ok(settings)
}
