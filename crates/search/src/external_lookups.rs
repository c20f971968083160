//! External lookups for searches: the values of events as a program of an app reads them, and its rows.
//!
//! Leaves the program itself to the crate `scripts`, and which values it is asked for to `plan`.

use std::path::Path;

use plan::{Error, LookupQuestion, Rows};
use scripts::{ExternalLookup, Settings};

use crate::custom_commands::{failed, of_table, script, table};

/// Returns the rows that the program of a lookup outputs for the values of some of its fields.
pub(crate) async fn ask(
    question: &LookupQuestion,
    directory: Option<&Path>,
    settings: &Settings,
    keys: Rows,
) -> Result<Rows, Error> {
    let LookupQuestion { name, program, fields } = question;
    if program.built_in() == Some(scripts::DNS_LOOKUP) {
        let found = scripts::look_up_names(&table(&keys)?, settings).await.map_err(failed)?;
        return Ok(of_table(found));
    }
    let label = format!("the program of the lookup [{name}] of the app {}", program.app);
    let script = script(label, directory, &program.app, &program.file, &program.arguments)?;
    let lookup = ExternalLookup { script, fields: fields.clone() };
    let found = scripts::look_up(&lookup, &table(&keys)?, settings).await.map_err(failed)?;
    Ok(of_table(found))
}
