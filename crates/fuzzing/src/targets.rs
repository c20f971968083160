//! The decoders under test, each with valid inputs.

mod inputs;
mod logins;
mod searches;
mod stored;
mod texts;

/// A decoder under test.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// Decodes an input; errors are expected.
    pub decode: fn(&[u8]),
    /// Valid inputs.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Byte sequences with a meaning in the format.
    pub words: &'static [&'static str],
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// All targets.
pub const ALL: &[Target] = &[
    inputs::HEC_EVENT,
    inputs::PACKED,
    inputs::SYSLOG,
    inputs::OTLP_PROTOBUF,
    inputs::OTLP_JSON,
    inputs::BULK,
    inputs::LOKI,
    inputs::FORWARDED,
    inputs::SCHEDULE,
    inputs::MONITORED_PATH,
    logins::SAML,
    stored::JOURNAL,
    stored::REMOTE_JOURNAL,
    stored::BUCKET,
    stored::PAGES,
    stored::CATALOG,
    stored::CONF,
    stored::APP,
    stored::STATES,
    texts::EXPRESSION,
    texts::TIME_FORMAT,
    texts::PATTERN,
    texts::SED,
    texts::JSON,
    texts::TIMESTAMP,
    texts::FIELDS,
    texts::XPATH,
    searches::SEARCH,
];
