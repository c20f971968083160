//! `append` and `appendpipe`: rows of another pipeline follow.
//!
//! Split: the search head joins the results; the subsearch of `append` splits like any search.

use spl::ast::{AppendCommand, AppendpipeCommand, Command, Spanned};

use super::Step;
use crate::frame::Frame;
use crate::stage::Finish;
use crate::stage::append::{Append, Appendpipe};
use crate::stage::inner::{Bounds, Inner};

pub(super) fn append(command: &AppendCommand, frame: Frame, tail: Vec<Spanned<Command>>) -> Step {
    let pipeline = (*command.subsearch.pipeline).clone();
    let bounds = Bounds { rows: command.maxout, seconds: command.maxtime };
    let inner = Inner { pipeline, tail, bounds, command: "append" };
    Step::Finish(frame, Finish::table(Append(inner)))
}

pub(super) fn appendpipe(command: &AppendpipeCommand, frame: Frame) -> Step {
    Step::Finish(frame, Finish::table(Appendpipe(command.subsearch.pipeline.clone())))
}
