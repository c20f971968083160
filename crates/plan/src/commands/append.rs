//! `append` and `appendpipe`: rows of another pipeline follow.
//!
//! Split: the search head joins the results; the subsearch of `append` splits like any search.

use spl::ast::{AppendCommand, AppendpipeCommand};

use super::Step;
use crate::frame::Frame;
use crate::stage::Finish;
use crate::stage::append::{Append, Appendpipe};

pub(super) fn append(command: &AppendCommand, frame: Frame) -> Step {
    let pipeline = command.subsearch.pipeline.clone();
    let limit = command.maxout.filter(|maxout| *maxout > 0);
    Step::Finish(frame, Finish::table(Append { pipeline, limit }))
}

pub(super) fn appendpipe(command: &AppendpipeCommand, frame: Frame) -> Step {
    Step::Finish(frame, Finish::table(Appendpipe(command.subsearch.pipeline.clone())))
}
