//! External lookups: `external_cmd = <program> <argument>...` in `transforms.conf`.
//!
//! The program gets CSV with all fields of the lookup, in which the requested cells are empty, and prints
//! CSV with these filled in. For each row, it may print no row or several rows.

use std::path::Path;
use std::time::Duration;

use crate::command::WAIT_SETTING;
use crate::error::Error;
use crate::legacy::finish;
use crate::program::{Process, Script};
use crate::settings::Settings;
use crate::table::{Column, Table};

/// A lookup that is answered by a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExternalLookup {
    /// The program with the arguments of `external_cmd`.
    pub script: Script,
    /// All fields of the lookup (`fields_list`).
    pub fields: Vec<String>,
}

/// The rows that the program finds for the keys. `keys` has some of the fields of the lookup.
///
/// # Errors
/// If the program is missing, fails, or does not print CSV.
pub async fn look_up(
    lookup: &ExternalLookup,
    keys: &Table,
    settings: &Settings,
) -> Result<Table, Error> {
    let described = || lookup.script.described();
    let failed = |source| Error::Start { program: described(), source };
    let scratch = tempfile::Builder::new().prefix("karst-script-").tempdir().map_err(failed)?;
    let path: &Path = scratch.path();
    let column = |field: &String| {
        let known = keys.column(field);
        let values =
            known.map_or_else(|| vec![Vec::new(); keys.count], |known| known.values.clone());
        Column { name: field.clone(), values }
    };
    let asked = Table { columns: lookup.fields.iter().map(column).collect(), count: keys.count };
    let mut process = Process::start(&lookup.script, &[], path, settings)?;
    let wait: (Duration, &'static str) = (settings.answer_time, WAIT_SETTING);
    let body = asked.to_csv(false);
    let printed = finish(&mut process, &[&body], wait, settings.output_bytes).await?;
    Table::of_csv(&printed).map_err(|reason| Error::Csv { program: described(), reason })
}
