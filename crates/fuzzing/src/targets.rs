//! What is thrown at, with bytes that are right to begin with.

mod inputs;
mod stored;
mod texts;

/// A decoder under fire.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name on the command line.
    pub name: &'static str,
    /// Decodes an input; refusing is right.
    pub decode: fn(&[u8]),
    /// Inputs that are right.
    pub seeds: fn() -> Vec<Vec<u8>>,
    /// Bytes that mean something to it.
    pub words: &'static [&'static str],
}

impl std::fmt::Debug for Target {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}

/// All of them.
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
];
