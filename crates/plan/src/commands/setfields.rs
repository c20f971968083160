//! `setfields`: the same values in all rows.
//!
//! Split: runs where the rows are.

use spl::ast::SetfieldsCommand;

use super::eval::{convert, is_time};
use crate::Error;
use crate::expr::Typed;
use crate::frame::Frame;
use crate::types::ValueType;

pub(super) fn plan(command: &SetfieldsCommand, mut frame: Frame) -> Result<Frame, Error> {
    for (field, text) in &command.values {
        let value = Typed::text(text);
        let is_time = is_time(&field.node);
        let value = if is_time { convert(value, ValueType::Time) } else { value };
        frame = frame.with_columns(vec![(field.node.clone(), value)])?;
    }
    Ok(frame)
}
