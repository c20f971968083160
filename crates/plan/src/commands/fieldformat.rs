//! `fieldformat`: what is shown for fields, while commands see what they hold.
//!
//! Split: runs at the search head, over the rows of the result.

use spl::ast::FieldformatCommand;

use super::eval::storable;
use crate::Error;
use crate::expr::compile;
use crate::frame::Frame;
use crate::pipeline::Env;

pub(super) fn plan(
    command: &FieldformatCommand,
    mut frame: Frame,
    env: &Env<'_>,
) -> Result<Frame, Error> {
    for assignment in &command.assignments {
        // Mistakes are told here, where their place is known.
        storable(compile(&assignment.expr, &env.scope(&frame))?, assignment.expr.span)?;
        frame.formats.set(&assignment.field.node, assignment.expr.clone());
    }
    Ok(frame)
}
