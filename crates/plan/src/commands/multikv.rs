//! `multikv`: a row for each line of the tables in the text of events.
//!
//! Split: runs at the search head, over all rows, as the columns stand in the texts.

use async_trait::async_trait;
use spl::ast::MultikvCommand;

use super::discover::{Existing, FoundFields};
use super::{CommandPlan, Input, OutputFields, Place, RequiredFields, Step};
use crate::pipeline::PlanningContext;
use crate::stage::{Breaker, Rows, TableOp};
use crate::{Error, MessageKind};
use tables::check_cells;
use tables::text::tabular::{self, Reading};

impl CommandPlan for MultikvCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Collected
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        if let Some(conf) = &self.conf {
            return Err(Error::at("stanzas of multikv.conf are not supported", conf.span));
        }
        let header = self.forceheader.map(|line| usize::try_from(line - 1).unwrap_or(usize::MAX));
        let reading = Reading {
            header,
            nameless: self.noheader,
            several: self.multitable && header.is_none(),
        };
        let filter = self.filter.iter().map(|text| text.to_lowercase()).collect();
        Ok(Step::Materialize(
            frame,
            Breaker::table(Multikv { command: self.clone(), reading, filter }),
        ))
    }
}

const RAW: &str = "_raw";

#[derive(Debug)]
struct Multikv {
    command: MultikvCommand,
    reading: Reading,
    /// Texts of which a row holds one, in lower case.
    filter: Vec<String>,
}

#[async_trait]
impl TableOp for Multikv {
    async fn apply(&self, rows: Rows, env: &PlanningContext<'_>) -> Result<Rows, Error> {
        let texts = rows.texts(RAW)?;
        let most = env.context.limits.stage_rows;
        let mut found = FoundFields::new(env.context.limits.columns);
        let mut places = Vec::new();
        let mut lines: Vec<Option<String>> = Vec::new();
        for (place, text) in texts.iter().enumerate() {
            let copied = self.command.copyattrs.then_some(place);
            tabular::rows(
                text.as_deref().unwrap_or_default(),
                &self.reading,
                &mut |line, values| {
                    if lines.len() > most || !self.wants(line) {
                        return;
                    }
                    for (name, value) in values {
                        if self.command.fields.is_empty()
                            || self.command.fields.iter().any(|field| field == name)
                        {
                            found.add(lines.len(), name, value, false);
                        }
                    }
                    lines.push(Some(line.to_owned()));
                    places.push(copied);
                },
            );
            if !self.command.rmorig {
                lines.push(text.clone());
                places.push(Some(place));
            }
            if lines.len() > most {
                let message = format!("multikv makes more than {most} rows (limit stage_rows)");
                return Err(Error::Exhausted { message });
            }
        }
        if found.too_many {
            env.log.add(MessageKind::Warning, "multikv left out columns (limit columns)");
        }
        check_cells(places.len(), found.len(), env.context.limits.memory_bytes)?;
        let mut result = match self.command.copyattrs || !self.command.rmorig {
            true => rows.take_or_null(&places)?,
            false => Rows::blank(places.len()),
        };
        result.set_texts(RAW, lines);
        found.put(&mut result, Existing::Replaced)?;
        Ok(result)
    }
}

impl Multikv {
    fn wants(&self, line: &str) -> bool {
        let line = line.to_lowercase();
        self.filter.is_empty() || self.filter.iter().any(|text| line.contains(text))
    }
}
