//! `transpose`, `untable`, `xyseries`: rows and columns change places.
//!
//! Split: all run at the search head, over all rows; `transpose` over the first ones.

use frames::Frame;
use spl::ast::{TransposeCommand, UntableCommand, XyseriesCommand};

use super::Step;
use context::stage::{Breaker, Transpose, Untable, Xyseries};
use tables::NameFormat;

pub(super) fn transpose(command: &TransposeCommand, frame: Frame) -> Step {
    // Only these rows are shown: the limit ends the scan early.
    let frame = match usize::try_from(command.limit) {
        Ok(rows) if rows > 0 => frame.limit(rows),
        _ => frame,
    };
    let transpose = Transpose {
        limit: command.limit,
        column_name: command.column_name.clone(),
        header_field: command.header_field.as_ref().map(|field| field.node.clone()),
        include_empty: command.include_empty,
    };
    Step::Materialize(frame, Breaker::table(transpose))
}

pub(super) fn untable(command: &UntableCommand, frame: Frame) -> Step {
    let untable = Untable {
        row: command.row.node.clone(),
        name: command.name.node.clone(),
        value: command.value.node.clone(),
    };
    Step::Materialize(frame, Breaker::table(untable))
}

pub(super) fn xyseries(command: &XyseriesCommand, frame: Frame) -> Step {
    let xyseries = Xyseries {
        x: command.x.node.clone(),
        series: command.series.node.clone(),
        values: command.values.iter().map(|field| field.node.clone()).collect(),
        names: NameFormat {
            separator: command.sep.clone().unwrap_or_else(|| ": ".to_owned()),
            template: command.format.clone(),
        },
    };
    Step::Materialize(frame, Breaker::table(xyseries))
}
