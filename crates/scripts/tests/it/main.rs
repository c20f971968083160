//! Programs as in real apps: in Python and shell, with and without Splunk's SDK.
#![allow(clippy::unwrap_used, clippy::disallowed_methods, missing_docs)]

mod external;
mod failures;
mod intersplunk;
mod protocols;
mod sandbox;
mod sdk;

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use karst_scripts::{
    Answer, Behaviour, Column, Command, CommandRun, Error, Legacy, Message, Protocol, Script,
    SearchInfo, SessionKey, Settings, Table,
};
use tempfile::TempDir;

/// An app with programs.
struct App {
    directory: TempDir,
}

impl App {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("bin")).unwrap();
        Self { directory }
    }

    fn bin(&self) -> PathBuf {
        self.directory.path().join("bin")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.bin().join(name)
    }

    /// The command of a program with this text.
    fn command(&self, file: &str, text: &str, protocol: Protocol) -> Command {
        let path = self.path(file);
        std::fs::write(&path, text).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        command(&path, protocol)
    }
}

fn command(file: &Path, protocol: Protocol) -> Command {
    let script = Script {
        label: "the command \"x\"".to_owned(),
        file: file.to_owned(),
        arguments: Vec::new(),
        environment: vec![("SPLUNK_HOME".to_owned(), "/opt/here".to_owned())],
    };
    let name = "x".to_owned();
    Command { name, script, protocol, maxinputs: 3, maxwait: None, maxchunksize: None }
}

fn legacy() -> Legacy {
    Legacy {
        enableheader: false,
        outputheader: false,
        supports_getinfo: false,
        supports_rawargs: false,
        supports_multivalues: true,
        behaviour: Behaviour { generating: false, streaming: true },
    }
}

fn info(arguments: &[&str]) -> SearchInfo {
    let plain = |text: &&str| text.replace('"', "");
    SearchInfo {
        sid: "1.2".to_owned(),
        app: "search".to_owned(),
        owner: "admin".to_owned(),
        search: "index=main | x \"é\"".to_owned(),
        earliest: "0".to_owned(),
        latest: "0".to_owned(),
        version: "9.4.0".to_owned(),
        raw_arguments: arguments.iter().map(|text| (*text).to_owned()).collect(),
        arguments: arguments.iter().map(plain).collect(),
        ..SearchInfo::default()
    }
}

/// Rows of one field with the numbers from 1.
fn numbers(count: usize) -> Table {
    let values = (1..=count).map(|number| vec![number.to_string()]).collect();
    Table { columns: vec![Column { name: "n".to_owned(), values }], count }
}

fn part(table: &Table, from: usize, to: usize) -> Table {
    let column = |column: &Column| Column {
        name: column.name.clone(),
        values: column.values[from..to].to_vec(),
    };
    Table { columns: table.columns.iter().map(column).collect(), count: to - from }
}

/// The values of a field in all rows; multivalues are joined by `+`.
fn values(tables: &[Table], field: &str) -> Vec<String> {
    let columns = tables.iter().filter_map(|table| table.column(field));
    columns.flat_map(|column| column.values.iter().map(|values| values.join("+"))).collect()
}

/// Runs all rows through a command, as a search does.
async fn run(
    command: Command,
    info: SearchInfo,
    rows: &Table,
    settings: &Settings,
) -> Result<(Vec<Table>, Vec<Message>, Behaviour), Error> {
    let (mut run, mut messages) = CommandRun::start(command, info, settings).await?;
    let behaviour = run.behaviour();
    let mut tables = Vec::new();
    let mut from = 0;
    loop {
        let to = rows.count.min(from + run.chunk_rows());
        let last = to == rows.count && !behaviour.generating;
        let Answer { rows: made, finished, messages: said } =
            run.execute(&part(rows, from, to), last).await?;
        tables.push(made);
        messages.extend(said);
        if finished || last {
            break;
        }
        from = to;
    }
    run.end().await?;
    Ok((tables, messages, behaviour))
}
