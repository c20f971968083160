//! `scrub`: anonymizes events by replacing letters and digits in identifying words.
//!
//! Split: runs where the rows are. The replacement of a word depends only on the word and the search, so
//! equal words stay equal within a result, and differ between searches.

use exprs::kernel::text_of_each;
use exprs::types::ValueType;
use model::columns;
use spl::ast::ScrubCommand;
use tables::text::scrub::scrub;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};

impl CommandPlan for ScrubCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.all();
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let Input { mut frame, env, .. } = input;
        let salt = env.context.sid.clone();
        let kept = |name: &str| {
            name.starts_with("date_")
                || (name.starts_with('_') && name != columns::RAW)
                || matches!(name, "index" | "sourcetype" | "splunk_server" | "punct" | "linecount")
        };
        let is_text = |kind| matches!(kind, ValueType::Text | ValueType::Multi);
        let columns = frame.columns().iter().filter(|c| is_text(c.kind) && !kept(&c.name));
        let values = columns.map(|column| {
            let salted = salt.clone();
            let scrubbed = text_of_each("scrub", move |row, out| {
                scrub(&row.text(0)?, &salted, out);
                Some(())
            });
            let value = scrubbed.with(salt.clone()).call(vec![frame.field(&column.name)]);
            (column.name.clone(), value)
        });
        let values = values.collect();
        // No further fields may be read from the source, as those would not be anonymized.
        frame.open = false;
        frame.with_changed(values).map(Step::Next)
    }
}
