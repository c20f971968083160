//! `metasearch`: where and when events are that satisfy terms.
//!
//! Split: as `search`, of which only the fixed fields of events are read.

use spl::Span;
use spl::ast::{Command, FieldPattern, MetasearchCommand, Spanned, TableCommand};

use super::begin::Expanded;
use crate::pipeline::Env;

/// What is told of an event.
const FIELDS: [&str; 5] = ["_time", "host", "index", "source", "sourcetype"];

pub(super) fn expand(command: &MetasearchCommand, span: Span, env: &Env<'_>) -> Expanded {
    let fields = FIELDS.iter().map(|name| FieldPattern::new(*name, span)).collect();
    let commands = vec![
        Spanned::new(Command::Search(command.search.clone()), span),
        Spanned::new(Command::Table(TableCommand { fields }), span),
    ];
    Expanded { commands, range: env.context.range }
}
