//! `script`: programs of apps are not run; the rows stay as they are, and a message says so.
//!
//! Split: nothing is left to do anywhere.

use spl::ast::ScriptCommand;

use crate::MessageKind;
use crate::frame::Frame;
use crate::pipeline::Env;

pub(super) fn plan(command: &ScriptCommand, frame: Frame, env: &Env<'_>) -> Frame {
    let name = command.name();
    let text =
        format!("the script \"{name}\" was not run, and its rows are as they were before it");
    env.log.add(MessageKind::Warning, text);
    frame
}
