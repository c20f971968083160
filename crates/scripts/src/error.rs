//! Errors of programs of apps.

use model::ErrorKind;

/// Why a program has no answer. Each names the program, as in `the command "x" (/.../bin/x.py)`.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The file does not exist.
    #[error(
        "{program} does not exist: check filename in commands.conf, or external_cmd in transforms.conf, of the app"
    )]
    Missing {
        /// The program.
        program: String,
    },
    /// The operating system does not start it, or a pipe to it fails.
    #[error("{program} cannot be run: {source}")]
    Start {
        /// The program.
        program: String,
        /// The reason.
        source: std::io::Error,
    },
    /// It ended before it had answered.
    #[error("{program} ended without an answer, {ended}{}", complaint(said))]
    Ended {
        /// The program.
        program: String,
        /// As in `with exit code 1`.
        ended: String,
        /// Its message, or the end of stderr.
        said: String,
    },
    /// It did not answer in time and was killed.
    #[error(
        "{program} did not answer within {seconds} s ({setting}) and was killed{}",
        complaint(said)
    )]
    Silent {
        /// The program.
        program: String,
        /// How long it was waited for.
        seconds: u64,
        /// The setting that says so.
        setting: &'static str,
        /// The end of stderr.
        said: String,
    },
    /// An answer begins with something else than `chunked 1.0,<length>,<length>`.
    #[error(
        "{program} answers with \"{line}\" where \"chunked 1.0,<bytes of metadata>,<bytes of CSV>\" is expected: \
         it has to print nothing else, and commands.conf must not have chunked = true for a program of \
         protocol 1{}",
        complaint(said)
    )]
    Header {
        /// The program.
        program: String,
        /// The line, shortened.
        line: String,
        /// The end of stderr.
        said: String,
    },
    /// More output than allowed.
    #[error("{program} printed more than {limit} bytes ({setting}) and was killed")]
    TooLarge {
        /// The program.
        program: String,
        /// The limit.
        limit: u64,
        /// The setting that has it.
        setting: &'static str,
    },
    /// Metadata that are not a JSON object.
    #[error("the metadata of an answer of {program} are not valid JSON: {reason}")]
    Metadata {
        /// The program.
        program: String,
        /// What is wrong.
        reason: String,
    },
    /// Rows that are not CSV.
    #[error("the rows of {program} are not valid CSV: {reason}")]
    Csv {
        /// The program.
        program: String,
        /// What is wrong, with the line.
        reason: String,
    },
    /// Nobody answers questions for names.
    #[error("the lookup \"dnslookup\": no name server answers ({reason}): check /etc/resolv.conf")]
    Names {
        /// What is wrong.
        reason: String,
    },
    /// It says itself what is wrong.
    #[error("{program}: {message}")]
    Refused {
        /// The program.
        program: String,
        /// Its message.
        message: String,
    },
}

impl Error {
    /// What the caller can do.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Silent { .. } | Self::TooLarge { .. } => ErrorKind::Exhausted,
            _ => ErrorKind::Invalid,
        }
    }
}

fn complaint(said: &str) -> String {
    match said.trim() {
        "" => String::new(),
        said => format!(": {said}"),
    }
}
