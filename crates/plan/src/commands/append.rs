//! `append` and `appendpipe`: rows of another pipeline follow.
//!
//! Split: the search head joins the results; the subsearch of `append` splits like any search.

use spl::ast::{AppendCommand, AppendpipeCommand};

use super::Step;
use crate::frame::Frame;
use crate::stage::Finish;

pub(super) fn append(command: &AppendCommand, frame: Frame) -> Step {
    let pipeline = command.subsearch.pipeline.clone();
    Step::Finish(frame, Finish::Append(pipeline, command.maxout.filter(|maxout| *maxout > 0)))
}

pub(super) fn appendpipe(command: &AppendpipeCommand, frame: Frame) -> Step {
    Step::Finish(frame, Finish::Appendpipe(command.subsearch.pipeline.clone()))
}
