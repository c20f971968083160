//! Custom commands of apps for searches: the rows of a search as a program reads them, and back.
//!
//! Guarantees: the rows that a program makes are held to the limits of the search while they arrive. Leaves
//! the program itself to the crate `scripts`.

use std::path::Path;

use model::{ErrorKind, TimeRange};
use plan::{Error, Message, MessageKind, ProgramSession, Rows, ScriptRequest};
use scripts::{
    Answer, Arguments, Behaviour, Column, Command, CommandRun, Legacy, Level, Protocol, Script,
    SearchInfo, SessionKey, Settings, Table,
};

/// The version of Splunk that is reported to programs.
const VERSION: &str = "9.4.0";
/// The field with the time of a row.
const TIME: &str = "_time";
/// Estimated size of a value in bytes, without its text.
const VALUE_BYTES: usize = 16;

/// The user and the search on whose behalf a program runs.
pub(crate) struct Asking<'s> {
    pub(crate) sid: &'s str,
    pub(crate) app: &'s str,
    pub(crate) owner: &'s str,
    pub(crate) search: &'s str,
    /// The configuration directory, which contains the apps.
    pub(crate) directory: Option<&'s Path>,
    pub(crate) settings: &'s Settings,
    /// The session that the program gets.
    pub(crate) session: Option<&'s dyn ProgramSession>,
}

/// Runs a custom command over rows and returns its rows.
pub(crate) async fn run(
    request: &ScriptRequest,
    asking: &Asking<'_>,
    rows: Rows,
) -> Result<(Rows, Vec<Message>), Error> {
    let name = request.command.name.as_str();
    let mut messages = Vec::new();
    let arguments = Arguments::of(&request.arguments);
    let mut run = start(request, asking, &arguments, &mut messages).await?;
    if run.behaviour().generating && !request.first {
        let text = format!("the command \"{name}\" makes rows and can only begin a search");
        return Err(Error::invalid_anywhere(text));
    }
    let rows = match run.preop() {
        None => rows,
        Some((before, arguments)) if before == name => {
            let mut part = start(request, asking, &arguments, &mut messages).await?;
            let made = all(&mut part, request, &rows, &mut messages).await?;
            part.end().await.map_err(failed)?;
            made
        }
        Some((before, _)) => {
            let text = format!(
                "the command \"{name}\" needs the search \"{before}\" before it (streaming_preop), which is not \
                 supported: write it in front of {name}"
            );
            return Err(Error::invalid_anywhere(text));
        }
    };
    let made = all(&mut run, request, &rows, &mut messages).await?;
    run.end().await.map_err(failed)?;
    Ok((made, messages))
}

async fn start(
    request: &ScriptRequest,
    asking: &Asking<'_>,
    arguments: &Arguments,
    messages: &mut Vec<Message>,
) -> Result<CommandRun, Error> {
    let command = command(request, asking)?;
    let info = info(arguments, request.range, asking);
    let (run, said) = CommandRun::start(command, info, asking.settings).await.map_err(failed)?;
    tell(&request.command.name, said, messages);
    Ok(run)
}

/// Sends all rows to a program and collects the rows that it returns.
async fn all(
    run: &mut CommandRun,
    request: &ScriptRequest,
    rows: &Rows,
    messages: &mut Vec<Message>,
) -> Result<Rows, Error> {
    let name = request.command.name.as_str();
    let behaviour = run.behaviour();
    let mut parts = Vec::new();
    let (mut count, mut bytes, mut from) = (0, 0, 0);
    loop {
        let part = rows.slice(from, run.chunk_rows());
        from += part.count;
        let last = (from >= rows.count && !behaviour.generating) || run.takes_one_request();
        if last && from < rows.count {
            let text = format!(
                "the command \"{name}\" got {from} of {} rows: raise maxinputs in commands.conf [{name}]",
                rows.count
            );
            messages.push(Message { kind: MessageKind::Warning, text });
        }
        let answer = run.execute(&table(&part)?, last).await.map_err(failed)?;
        let Answer { rows: made, finished, messages: said } = answer;
        tell(name, said, messages);
        count += made.count;
        bytes += size(&made);
        if count > request.max_rows || bytes > request.max_bytes {
            let message = format!(
                "the command \"{name}\" makes more than {} rows or {} MB, which is what a search may hold: raise \
                 max_mem_usage_mb in limits.conf [search], or give it fewer rows",
                request.max_rows,
                request.max_bytes >> 20
            );
            return Err(Error::Exhausted { message });
        }
        if made.count > 0 {
            parts.push(of_table(made));
        }
        if finished || last {
            break;
        }
    }
    Ok(Rows::stacked(parts, request.max_rows)?)
}

/// Builds the command that runs the program of a custom command.
fn command(request: &ScriptRequest, asking: &Asking<'_>) -> Result<Command, Error> {
    let found = &request.command;
    let label = format!("the command \"{}\"", found.name);
    let script = script(label, asking.directory, &found.app, &found.file, &found.arguments)?;
    let legacy = Legacy {
        enableheader: found.enableheader,
        outputheader: found.outputheader,
        supports_getinfo: found.supports_getinfo,
        supports_rawargs: found.supports_rawargs,
        supports_multivalues: found.supports_multivalues,
        behaviour: Behaviour { generating: found.generating, streaming: found.streaming },
    };
    Ok(Command {
        name: found.name.clone(),
        script,
        protocol: if found.chunked { Protocol::Chunked } else { Protocol::Legacy(legacy) },
        maxinputs: found.maxinputs,
        maxwait: found.maxwait,
        maxchunksize: found.maxchunksize,
    })
}

/// Locates a program in the `bin` directory of an app. `label` is the name used in messages.
pub(crate) fn script(
    label: String,
    directory: Option<&Path>,
    app: &str,
    file: &str,
    arguments: &[String],
) -> Result<Script, Error> {
    let directory = directory.ok_or_else(|| {
        let text = format!(
            "{label} of the app {app} cannot be run: the server has no directory of apps (--conf-dir)"
        );
        Error::invalid_anywhere(text)
    })?;
    let etc = directory.display().to_string();
    // Programs get the variables of a Splunk installation whose `etc` is the configuration directory.
    let home = match directory.file_name().is_some_and(|name| name == "etc") {
        true => directory.parent().unwrap_or(directory).display().to_string(),
        false => etc.clone(),
    };
    Ok(Script {
        label,
        file: directory.join("apps").join(app).join("bin").join(file),
        arguments: arguments.to_vec(),
        environment: vec![
            ("SPLUNK_HOME".to_owned(), home),
            ("SPLUNK_ETC".to_owned(), etc),
            ("SPLUNK_VERSION".to_owned(), VERSION.to_owned()),
        ],
    })
}

fn info(arguments: &Arguments, range: TimeRange, asking: &Asking<'_>) -> SearchInfo {
    let seconds = |time: model::EventTime, open: model::EventTime| match time == open {
        true => "0".to_owned(),
        false => format!("{:.6}", time.seconds()),
    };
    SearchInfo {
        sid: asking.sid.to_owned(),
        app: asking.app.to_owned(),
        owner: asking.owner.to_owned(),
        search: asking.search.to_owned(),
        earliest: seconds(range.earliest, TimeRange::ALL.earliest),
        latest: seconds(range.latest, TimeRange::ALL.latest),
        version: VERSION.to_owned(),
        uri: asking.session.map(|session| session.uri().to_owned()).unwrap_or_default(),
        session_key: SessionKey::new(
            asking.session.map(|session| session.key().to_owned()).unwrap_or_default(),
        ),
        raw_arguments: arguments.raw.clone(),
        arguments: arguments.plain.clone(),
    }
}

/// Converts rows to the table that a program reads.
pub(crate) fn table(rows: &Rows) -> Result<Table, Error> {
    let names = rows.names().into_iter().filter(|name| !name.starts_with("__"));
    let column = |name: String| Ok(Column { values: rows.lists(&name)?, name });
    Ok(Table { columns: names.map(column).collect::<Result<_, Error>>()?, count: rows.count })
}

/// Converts the table that a program has printed to rows.
pub(crate) fn of_table(table: Table) -> Rows {
    let mut rows = Rows::blank(table.count);
    for Column { name, values } in table.columns {
        match times(&name, &values) {
            Some(times) => rows.set_times(&name, times),
            None => rows.set_lists(&name, values),
        }
    }
    rows
}

/// Parses a column of times into microseconds; `None` if the column is not `_time` or contains other texts.
fn times(name: &str, values: &[Vec<String>]) -> Option<Vec<Option<i64>>> {
    if name != TIME {
        return None;
    }
    let time = |values: &Vec<String>| match values.as_slice() {
        [] => Some(None),
        [text] => {
            let seconds: f64 = text.trim().parse().ok()?;
            Some(Some(model::EventTime::from_seconds(seconds).0))
        }
        _ => None,
    };
    values.iter().map(time).collect()
}

fn size(table: &Table) -> usize {
    let of_row = |values: &Vec<String>| -> usize {
        values.iter().map(|value| value.len() + VALUE_BYTES).sum()
    };
    table.columns.iter().map(|column| column.values.iter().map(of_row).sum::<usize>()).sum()
}

/// Adds the messages of a program to those for the user.
fn tell(name: &str, said: Vec<scripts::Message>, messages: &mut Vec<Message>) {
    for message in said.into_iter().filter(scripts::Message::is_for_users) {
        let kind =
            if message.level == Level::Info { MessageKind::Info } else { MessageKind::Warning };
        messages.push(Message { kind, text: format!("{name}: {}", message.text) });
    }
}

pub(crate) fn failed(error: scripts::Error) -> Error {
    match error.kind() {
        ErrorKind::Exhausted => Error::Exhausted { message: error.to_string() },
        _ => Error::invalid_anywhere(error.to_string()),
    }
}
