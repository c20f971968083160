//! `multikv`: a row for each line of the tables in the text of events.
//!
//! Split: runs at the search head, over all rows, as the column names are in the texts.

use eval::tabular::Reading;
use spl::ast::MultikvCommand;
use tables::text::multikv::Multikv;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};
use context::stage::Breaker;

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
        let op = Multikv {
            reading,
            fields: self.fields.clone(),
            filter: self.filter.iter().map(|text| text.to_lowercase()).collect(),
            copy_fields: self.copyattrs,
            keep_original: !self.rmorig,
        };
        Ok(Step::Materialize(frame, Breaker::table(op)))
    }
}
