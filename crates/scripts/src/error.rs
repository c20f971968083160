//! Errors of programs of apps.

use model::ErrorKind;

/// An error of a program. Its text names the program, as in `the command "x" (/.../bin/x.py)`.
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
    /// The operating system cannot start the program, or a pipe to it fails.
    #[error("{program} cannot be run: {source}")]
    Start {
        /// The program.
        program: String,
        /// The reason.
        source: std::io::Error,
    },
    /// The system cannot restrict the program as the settings require.
    #[error("{program} is not run, because sandbox = required in limits.conf [scripts]: {reason}")]
    Unrestricted {
        /// The program.
        program: String,
        /// The reason.
        reason: String,
    },
    /// The program ended before it answered.
    #[error("{program} ended without an answer, {ended}{}", complaint(said))]
    Ended {
        /// The program.
        program: String,
        /// As in `with exit code 1`.
        ended: String,
        /// Its error message, or the end of stderr.
        said: String,
    },
    /// The program imports a Python module that is missing.
    #[error("{}: {program} ended {ended}{}", absence(module), complaint(said))]
    Module {
        /// The program.
        program: String,
        /// The name of the module.
        module: String,
        /// As in `with exit code 1`.
        ended: String,
        /// The end of stderr.
        said: String,
    },
    /// The program did not answer in time and was killed.
    #[error(
        "{program} did not answer within {seconds} s ({setting}) and was killed{}",
        complaint(said)
    )]
    Silent {
        /// The program.
        program: String,
        /// The time limit in seconds.
        seconds: u64,
        /// The setting of the limit.
        setting: &'static str,
        /// The end of stderr.
        said: String,
    },
    /// An answer does not begin with `chunked 1.0,<length>,<length>`.
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
    /// The output exceeds its limit.
    #[error("{program} printed more than {limit} bytes ({setting}) and was killed")]
    TooLarge {
        /// The program.
        program: String,
        /// The limit.
        limit: u64,
        /// The setting of the limit.
        setting: &'static str,
    },
    /// The metadata is not a JSON object.
    #[error("the metadata of an answer of {program} are not valid JSON: {reason}")]
    Metadata {
        /// The program.
        program: String,
        /// The reason.
        reason: String,
    },
    /// The rows are not valid CSV.
    #[error("the rows of {program} are not valid CSV: {reason}")]
    Csv {
        /// The program.
        program: String,
        /// The reason, with the line.
        reason: String,
    },
    /// No name server answers.
    #[error("the lookup \"dnslookup\": no name server answers ({reason}): check /etc/resolv.conf")]
    Names {
        /// The reason.
        reason: String,
    },
    /// The program reports an error of its own.
    #[error("{program}: {message}")]
    Refused {
        /// The program.
        program: String,
        /// Its message.
        message: String,
    },
}

impl Error {
    /// The error for a program that ended before it answered; `said` is its error message, or the end of
    /// stderr.
    pub(crate) fn of_end(program: String, ended: String, said: String) -> Self {
        match missing_module(&said) {
            Some(module) => Self::Module { program, module, ended, said },
            None => Self::Ended { program, ended, said },
        }
    }

    /// The kind of the error, which tells the caller how to react.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Silent { .. } | Self::TooLarge { .. } => ErrorKind::Exhausted,
            _ => ErrorKind::Invalid,
        }
    }
}

/// The module that a Python program could not import, from the end of its traceback.
fn missing_module(said: &str) -> Option<String> {
    said.lines().rev().find_map(|line| {
        let line = line.trim();
        if let Some(name) = line.strip_prefix("ModuleNotFoundError: No module named '") {
            return name.split('\'').next().filter(|name| !name.is_empty()).map(str::to_owned);
        }
        // The packages of apps have other causes, such as cycles.
        let (package, name) = missing_name(line)?;
        let is_splunk = package.split('.').next() == Some("splunk");
        is_splunk.then(|| format!("{package}.{name}"))
    })
}

/// The module and the name in the error of `from splunk import search`, or of a call of a function that a
/// module does not have.
fn missing_name(line: &str) -> Option<(&str, &str)> {
    if let Some(reason) = line.strip_prefix("ImportError: cannot import name '") {
        let (name, rest) = reason.split_once("' from '")?;
        return Some((rest.split('\'').next()?, name));
    }
    let reason = line.strip_prefix("AttributeError: module '")?;
    let (package, rest) = reason.split_once("' has no attribute '")?;
    Some((package, rest.split('\'').next()?))
}

fn absence(module: &str) -> String {
    match module.split('.').next() {
        Some("splunk") => {
            format!("the Python module \"{module}\" is part of Splunk, and Karst does not have it")
        }
        _ => format!(
            "the Python module \"{module}\" is missing (install it for the interpreter of python in \
             limits.conf [scripts], or name its directory in sandbox_read there if the sandbox denies it)"
        ),
    }
}

fn complaint(said: &str) -> String {
    match said.trim() {
        "" => String::new(),
        said => format!(": {said}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_module_is_named_first() {
        let text = |module: &str| {
            let said = format!(
                "Traceback (most recent call last):\n  File \"x.py\", line 1, in <module>\n\
                 ModuleNotFoundError: No module named '{module}'"
            );
            let program = "the command \"x\" (/x.py)".to_owned();
            Error::of_end(program, "with exit code 1".to_owned(), said).to_string()
        };
        let splunk = "the Python module \"splunk.clilib\" is part of Splunk, and Karst does not have it: the \
                      command \"x\" (/x.py) ended with exit code 1: Traceback";
        assert!(text("splunk.clilib").starts_with(splunk), "{}", text("splunk.clilib"));
        for (error, module) in [
            ("AttributeError: module 'splunk.rest' has no attribute 'x'", Some("splunk.rest.x")),
            ("AttributeError: module 'json' has no attribute 'x'", None),
        ] {
            assert_eq!(missing_module(error).as_deref(), module, "{error}");
        }
        let other = "the Python module \"splunklib\" is missing (install it for";
        assert!(text("splunklib").starts_with(other), "{}", text("splunklib"));
    }

    #[test]
    fn other_ends_say_what_the_program_said() {
        let ended = Error::of_end("x".to_owned(), "by signal 9".to_owned(), "no".to_owned());
        assert_eq!(ended.to_string(), "x ended without an answer, by signal 9: no");
    }
}
