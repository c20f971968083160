//! Protocol 1: one process per chunk, which gets arguments, a header and CSV, and prints CSV.

use std::fmt::Write;
use std::path::Path;

use crate::definition::{Behaviour, Command, Legacy, SearchInfo};
use crate::error::Error;
use crate::messages::{Answer, Message};
use crate::program::{OUTPUT_SETTING, Process, hinted};
use crate::settings::Settings;
use crate::table::Table;

/// The arguments of a process.
#[derive(Debug)]
pub(crate) struct Call<'r> {
    pub(crate) command: &'r Command,
    pub(crate) legacy: Legacy,
    pub(crate) info: &'r SearchInfo,
    pub(crate) scratch: &'r Path,
    pub(crate) settings: &'r Settings,
}

/// Asks a program for its properties.
pub(crate) async fn ask(call: &Call<'_>) -> Result<Behaviour, Error> {
    let (header, body) = call.run(Some("__GETINFO__"), &Table::default()).await?;
    let messages = messages(&header);
    let errors = Message::errors(&messages);
    if !errors.is_empty() {
        return Err(call.refused(errors));
    }
    let table = call.table(&body)?;
    let is = |name: &str, default: bool| {
        let value = table.column(name).and_then(|column| column.values.first()?.first());
        value.map_or(default, |value| conf::boolean(value).unwrap_or(default))
    };
    let default = call.legacy.behaviour;
    Ok(Behaviour {
        generating: is("generating", default.generating),
        streaming: is("streaming", default.streaming),
    })
}

/// Sends rows to a program.
pub(crate) async fn execute(call: &Call<'_>, rows: &Table) -> Result<Answer, Error> {
    let action = call.legacy.supports_getinfo.then_some("__EXECUTE__");
    let (header, body) = call.run(action, rows).await?;
    let rows = call.table(&body)?;
    let messages = messages(&header);
    let errors = Message::errors(&messages);
    if rows.count == 0 && !errors.is_empty() {
        return Err(call.refused(errors));
    }
    Ok(Answer { rows, finished: true, messages })
}

impl Call<'_> {
    /// Runs the program once; returns the header that it printed, and its rows.
    async fn run(&self, action: Option<&str>, rows: &Table) -> Result<(String, Vec<u8>), Error> {
        let Self { command, legacy, info, settings, .. } = self;
        let given = if legacy.supports_rawargs { &info.raw_arguments } else { &info.arguments };
        let mut arguments: Vec<String> = action.map(str::to_owned).into_iter().collect();
        arguments.extend(given.iter().cloned());
        let header = if legacy.enableheader { self.header() } else { String::new() };
        let body = rows.to_csv(legacy.supports_multivalues);
        let mut process = Process::start(&command.script, &arguments, self.scratch, settings)?;
        let printed =
            converse(&mut process, &[header.as_bytes(), &body], command, settings).await?;
        // `splunk.Intersplunk` prints messages whatever the setting is.
        match legacy.outputheader || begins_with_message(&printed) {
            true => Ok(split(&printed)),
            false => Ok((String::new(), printed)),
        }
    }

    fn header(&self) -> String {
        let info = self.info;
        let path = self.scratch.join(INFO).display().to_string();
        let auth = auth_string(info);
        let mut text = String::new();
        for (name, value) in [
            ("authString", auth.as_str()),
            ("sessionKey", info.session_key.text()),
            ("owner", &info.owner),
            ("namespace", &info.app),
            ("sid", &info.sid),
            ("splunkVersion", &info.version),
            ("search", &info.search),
            ("infoPath", &path),
            ("keywords", ""),
            ("preview", "0"),
            ("truncated", "0"),
            ("allowStream", "1"),
        ] {
            // Writing to a string cannot fail.
            let _ = writeln!(text, "{name}:{}", percent_encoded(value));
        }
        text.push('\n');
        text
    }

    fn refused(&self, errors: String) -> Error {
        let message = hinted(errors, self.settings.is_restricted());
        Error::Refused { program: self.command.script.described(), message }
    }

    fn table(&self, bytes: &[u8]) -> Result<Table, Error> {
        let program = || self.command.script.described();
        Table::of_csv(bytes).map_err(|reason| Error::Csv { program: program(), reason })
    }
}

/// Sends the input, reads the output, and checks the exit status.
async fn converse(
    process: &mut Process,
    parts: &[&[u8]],
    command: &Command,
    settings: &Settings,
) -> Result<Vec<u8>, Error> {
    let (wait, setting) = command.answer_time(settings);
    finish(process, parts, (wait, setting), settings.output_bytes).await
}

/// Like [`converse`], for any program.
pub(crate) async fn finish(
    process: &mut Process,
    parts: &[&[u8]],
    (wait, setting): (std::time::Duration, &'static str),
    most: u64,
) -> Result<Vec<u8>, Error> {
    let whole = tokio::time::timeout(wait, process.converse(parts, most, OUTPUT_SETTING));
    let printed = match whole.await {
        Ok(Ok(printed)) => printed,
        Ok(Err(broken)) => return Err(process.failed(broken, String::new()).await),
        Err(_) => return Err(process.silent(wait, setting).await),
    };
    let status = process.end().await?;
    match status.success() {
        true => Ok(printed),
        false => Err(process.ended(status, String::new()).await),
    }
}

/// Splits the output into a header and the rows after the first empty line. Without an empty line, it has
/// rows only.
fn split(printed: &[u8]) -> (String, Vec<u8>) {
    let mut at = 0;
    for line in printed.split_inclusive(|byte| *byte == b'\n') {
        at += line.len();
        if line.trim_ascii().is_empty() {
            let header = String::from_utf8_lossy(&printed[..at]).into_owned();
            return (header, printed[at..].to_vec());
        }
    }
    (String::new(), printed.to_vec())
}

/// Whether the output begins with a message, which no CSV of a program does.
fn begins_with_message(printed: &[u8]) -> bool {
    ["error", "warn", "info", "debug"].iter().any(|level| {
        let rest = printed.strip_prefix(level.as_bytes());
        rest.is_some_and(|rest| rest.starts_with(b"_message="))
    })
}

/// The messages of a header: lines `error_message=...`, `warn_message=...`, `info_message=...`.
fn messages(header: &str) -> Vec<Message> {
    let message = |line: &str| {
        let (name, text) = line.split_once('=')?;
        let level = name.trim().strip_suffix("_message")?;
        Some(Message::new(level, text.trim()))
    };
    header.lines().filter_map(message).collect()
}

/// The file with information about the search.
const INFO: &str = "info.csv";

/// Writes the information about the search to a file, for programs that read it.
pub(crate) fn write_info(info: &SearchInfo, scratch: &Path) -> std::io::Result<()> {
    let columns = [
        ("_sid", info.sid.as_str()),
        ("_ppc.app", &info.app),
        ("_ppc.user", &info.owner),
        ("_auth_token", info.session_key.text()),
        ("_splunkd_uri", &info.uri),
        ("_search_et", &info.earliest),
        ("_search_lt", &info.latest),
        ("rt_earliest", ""),
        ("rt_latest", ""),
    ];
    let mut writer = csv::Writer::from_path(scratch.join(INFO)).map_err(std::io::Error::other)?;
    writer.write_record(columns.map(|(name, _)| name)).map_err(std::io::Error::other)?;
    writer.write_record(columns.map(|(_, value)| value)).map_err(std::io::Error::other)?;
    writer.flush()
}

/// The user and the key of the session as Splunk writes them in the header; empty without a session.
fn auth_string(info: &SearchInfo) -> String {
    let key = info.session_key.text();
    if key.is_empty() {
        return String::new();
    }
    let user = info.owner.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;");
    format!(
        "<auth><userId>{user}</userId><username>{user}</username><authToken>{key}</authToken></auth>"
    )
}

/// Encodes all characters except letters, digits and `_.-~/` as `%<hex>`, so that a value stays on one
/// line.
pub(crate) fn percent_encoded(text: &str) -> String {
    let mut encoded = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'.' | b'-' | b'~' | b'/' => {
                encoded.push(char::from(byte));
            }
            // Writing to a string cannot fail.
            _ => drop(write!(encoded, "%{byte:02X}")),
        }
    }
    encoded
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_ends_with_the_first_empty_line() {
        let (header, rows) = split(b"error_message=no\r\ninfo_message = x = y\r\n\r\na\r\n1\r\n");
        assert_eq!(rows, b"a\r\n1\r\n");
        let found = messages(&header);
        assert_eq!(found, [Message::new("ERROR", "no"), Message::new("INFO", "x = y")]);
        assert_eq!(split(b"a\n1\n"), (String::new(), b"a\n1\n".to_vec()));
        assert_eq!(split(b"\r\na\n").1, b"a\n");
    }

    #[test]
    fn values_of_the_header_stay_on_their_line() {
        assert_eq!(
            percent_encoded("search x=\"a\nb\" | é"),
            "search%20x%3D%22a%0Ab%22%20%7C%20%C3%A9"
        );
    }
}
