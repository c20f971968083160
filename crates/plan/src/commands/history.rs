//! `history`: the searches run so far.
//!
//! Split: runs at the search head.

use spl::ast::HistoryCommand;

use crate::Error;
use crate::pipeline::{Env, Start};

pub(super) async fn start(command: &HistoryCommand, env: &Env<'_>) -> Result<Start, Error> {
    let mut rows = env.context.surroundings.history().await?;
    if command.events && rows.column("_raw").is_none() {
        let texts = rows.texts("search")?;
        rows.set_texts("_raw", texts);
    }
    Ok(Start {
        frame: rows.into_frame()?,
        range: env.context.range,
        indexes: Vec::new(),
        messages: Vec::new(),
    })
}
