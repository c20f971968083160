//! `xmlunescape`: replaces XML character references in all texts of a row.
//!
//! Split: runs where the rows are.

use exprs::kernel::text_of_each;
use exprs::types::ValueType;
use spl::ast::XmlunescapeCommand;
use tables::text::xml::unescape;

use super::{CommandPlan, Error, Input, OutputFields, Place, RequiredFields, Step};

impl CommandPlan for XmlunescapeCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, _: &mut RequiredFields) {}

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        let frame = input.frame;
        let is_text = |name: &str, kind| {
            let internal = name.starts_with('_') && name != "_raw";
            matches!(kind, ValueType::Text | ValueType::Multi) && !internal
        };
        let columns = frame.columns().iter().filter(|column| is_text(&column.name, column.kind));
        let values = columns.map(|column| {
            let unescaped = text_of_each("xmlunescape", |row, out| {
                unescape(&row.text(0)?, out);
                Some(())
            });
            (column.name.clone(), unescaped.call(vec![frame.field(&column.name)]))
        });
        let values = values.collect();
        frame.with_changed(values).map(Step::Next)
    }
}
