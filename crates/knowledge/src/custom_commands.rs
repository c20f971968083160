//! Custom search commands as `commands.conf` of apps defines them.
//!
//! Guarantees: a command belongs to one app, and its file is in that app's directory `bin`.
//! Leaves to others: running it (`scripts`).

use std::collections::BTreeSet;
use std::time::Duration;

use conf::Reader;

use crate::knowledge::Knowledge;
use crate::settings::commands as keys;

/// The name of the file, without `.conf`.
const FILE: &str = "commands";

/// A custom search command.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools, reason = "each is a setting")]
pub struct CustomCommand {
    /// Its name in a search.
    pub name: String,
    /// The app that contains the program.
    pub app: String,
    /// The file name of the program, in the directory `bin` of the app.
    pub file: String,
    /// Arguments before those of the search.
    pub arguments: Vec<String>,
    /// Whether the program uses protocol 2.
    pub chunked: bool,
    /// Maximum number of rows passed to the program at once.
    pub maxinputs: usize,
    /// Time limit for a response of the program; `None` if it is not set.
    pub maxwait: Option<Duration>,
    /// Maximum size of a response in bytes; `None` if it is not set.
    pub maxchunksize: Option<u64>,
    /// Protocol 1: whether the program generates rows.
    pub generating: bool,
    /// Protocol 1: whether the program processes each row independently.
    pub streaming: bool,
    /// Protocol 1: whether the input of the program starts with a header.
    pub enableheader: bool,
    /// Protocol 1: whether the header has a session key.
    pub passauth: bool,
    /// Protocol 1: whether the output of the program starts with a header.
    pub outputheader: bool,
    /// Protocol 1: whether the program is asked for its properties (`__GETINFO__`).
    pub supports_getinfo: bool,
    /// Protocol 1: whether arguments keep their quotes.
    pub supports_rawargs: bool,
    /// Protocol 1: whether rows have columns for multivalue fields.
    pub supports_multivalues: bool,
}

impl CustomCommand {
    /// Whether the program gets a session key of the user. Protocol 2 always has one.
    #[must_use]
    pub fn gets_session(&self) -> bool {
        self.chunked || (self.passauth && self.enableheader)
    }
}

impl Knowledge {
    /// Returns the names of all custom commands that apps define.
    #[must_use]
    pub fn custom_command_names(&self) -> BTreeSet<String> {
        let of_apps = self.layers().stanzas(FILE).filter(|(layer, _)| layer.app().is_some());
        of_apps.map(|(_, stanza)| stanza.name.clone()).filter(|name| name != "default").collect()
    }

    /// Returns the custom command with this name; `None` if no app defines it.
    ///
    /// # Errors
    /// If a setting of the command is invalid; the message has its place.
    pub fn custom_command(&self, name: &str) -> Result<Option<CustomCommand>, String> {
        let mut stanzas = self.layers().stanzas(FILE);
        let app = stanzas.find_map(|(layer, stanza)| (stanza.name == name).then(|| layer.app())?);
        let Some(app) = app else { return Ok(None) };
        let conf = self.conf(FILE);
        let reader = Reader::new(&conf, name);
        let invalid = |error: conf::Invalid| error.to_string();
        let is = |key: &conf::Key<bool>| reader.get(key).map_err(invalid);
        let file = reader.text(&keys::FILENAME).map_or_else(|| format!("{name}.py"), str::to_owned);
        if file.contains('/') || file == ".." || file.is_empty() {
            return Err(format!(
                "commands.conf [{name}] filename = {file}: expected the name of a file in the directory bin of \
                 the app {app}"
            ));
        }
        let mut arguments: Vec<(u64, String)> = Vec::new();
        let prefix = keys::ARGUMENT.name().trim_end_matches('*');
        for entry in conf.stanza(name).into_iter().flat_map(|stanza| &stanza.entries) {
            let number = entry.key.strip_prefix(prefix).and_then(|number| number.parse().ok());
            if let Some(number) = number {
                arguments.push((number, entry.value.trim().to_owned()));
            }
        }
        arguments.sort();
        let maxinputs = reader.get(&keys::MAXINPUTS).map_err(invalid)?;
        let maxwait = reader.get(&keys::MAXWAIT).map_err(invalid)?;
        let maxchunksize = reader.get(&keys::MAXCHUNKSIZE).map_err(invalid)?;
        let generating = reader.get(&keys::GENERATING).map_err(invalid)?;
        Ok(Some(CustomCommand {
            name: name.to_owned(),
            app: app.to_owned(),
            file,
            arguments: arguments.into_iter().map(|(_, argument)| argument).collect(),
            chunked: is(&keys::CHUNKED)?,
            maxinputs: if maxinputs == 0 { usize::MAX } else { maxinputs },
            maxwait: (!maxwait.is_zero()).then_some(maxwait),
            maxchunksize: (maxchunksize > 0).then_some(maxchunksize),
            generating: generating.eq_ignore_ascii_case("stream")
                || conf::boolean(&generating) == Some(true),
            streaming: is(&keys::STREAMING)?,
            enableheader: is(&keys::ENABLEHEADER)?,
            passauth: is(&keys::PASSAUTH)?,
            outputheader: is(&keys::OUTPUTHEADER)?,
            supports_getinfo: is(&keys::SUPPORTS_GETINFO)?,
            supports_rawargs: is(&keys::SUPPORTS_RAWARGS)?,
            supports_multivalues: is(&keys::SUPPORTS_MULTIVALUES)?,
        }))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::{Layer, Layers};

    use super::*;

    fn knowledge(text: &str) -> Knowledge {
        let layer = Layer::AppDefault("tools".to_owned());
        Knowledge::new(Layers::builtin().with(layer, "commands", text))
    }

    #[test]
    fn a_stanza_of_an_app_is_a_command() {
        let found = knowledge(
            "[shout]\nchunked = true\ncommand.arg.2 = b\ncommand.arg.1 = a\nmaxwait = 5\n[old]\nfilename = o.pl\n\
             generating = stream\nmaxinputs = 0\n",
        );
        let names: Vec<String> = found.custom_command_names().into_iter().collect();
        assert_eq!(names, ["old", "shout"]);
        let shout = found.custom_command("shout").unwrap().unwrap();
        assert_eq!((shout.app.as_str(), shout.file.as_str()), ("tools", "shout.py"));
        assert_eq!(shout.arguments, ["a", "b"]);
        assert_eq!((shout.chunked, shout.maxinputs), (true, 50_000));
        assert_eq!(shout.maxwait, Some(Duration::from_secs(5)));
        let old = found.custom_command("old").unwrap().unwrap();
        assert!(old.generating && old.enableheader && !old.chunked);
        assert_eq!((old.file.as_str(), old.maxinputs), ("o.pl", usize::MAX));
        assert_eq!(found.custom_command("other"), Ok(None));
    }

    #[test]
    fn programs_of_protocol_1_get_a_session_if_their_stanza_says_so() {
        let found = knowledge(
            "[two]\nchunked = true\n[one]\npassauth = true\n[none]\npassauth = false\n[default]\n\
             [headless]\npassauth = true\nenableheader = false\n",
        );
        let gets = |name: &str| found.custom_command(name).unwrap().unwrap().gets_session();
        let all = ["two", "one", "none", "headless"];
        assert_eq!(all.map(gets), [true, true, false, false]);
    }

    #[test]
    fn a_program_outside_of_the_app_is_refused() {
        let found = knowledge("[x]\nfilename = ../../other/bin/x.py\n");
        let error = found.custom_command("x").unwrap_err();
        assert!(error.contains("[x] filename = ../../other/bin/x.py"), "{error}");
    }
}
