//! Limits of programs of apps: `limits.conf [scripts]`.

use std::path::PathBuf;
use std::time::Duration;

use conf::{FromValue, Setting, Type, Unit, Value};

/// The search path for interpreters.
pub(crate) const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Whether programs are restricted to some files.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sandbox {
    /// As far as the system can.
    Auto,
    /// Always: if the system cannot, they do not run.
    Required,
    /// Never.
    Off,
}

impl FromValue for Sandbox {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Text("auto") => Some(Self::Auto),
            Value::Text("required") => Some(Self::Required),
            Value::Text("off") => Some(Self::Off),
            _ => None,
        }
    }
}

conf::settings! {
    /// Limits for programs of apps.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Settings {
        "limits"["scripts"] {
            /// Python interpreter for custom search commands and external lookups that end in `.py`: a
            /// path, or a name that is searched in `/usr/local/bin`, `/usr/bin` and `/bin`.
            "python" => pub python: String = "python3", Type::Text;
            /// Time limit for one response of a program; above it, the program is killed and the search
            /// fails. `maxwait` in commands.conf sets a shorter limit for one command.
            "maxwait" => pub answer_time: Duration = "600", Type::seconds(1);
            /// Maximum memory (address space) of one program.
            "max_mem_usage_mb" => pub memory_bytes: u64 = "1024", Type::megabytes(16);
            /// Maximum size of a file that a program writes.
            "max_file_size_mb" => pub file_bytes: u64 = "1024", Type::megabytes(1);
            /// Maximum size of one response of a program. `maxchunksize` in commands.conf sets a lower
            /// limit for one command.
            "maxchunksize" => pub answer_bytes: u64 = "268435456", Type::of(Unit::Bytes, 1024, i64::MAX);
            /// Maximum size of the output of one run of a program.
            "max_output_mb" => pub output_bytes: u64 = "4096", Type::megabytes(1);
            /// Whether programs are restricted to the directories of the system, their app, the code of apps
            /// beside it and a temporary directory, which needs Linux with Landlock. `auto`: as far as the
            /// kernel can; a warning at the start of the server says what it cannot. `required`: programs do
            /// not run unless the kernel can restrict them completely. `off`: programs may use all files
            /// that the server may use.
            "sandbox" => pub sandbox: Sandbox = "auto", Type::Choice(&["auto", "required", "off"]);
            /// Further files and directories that programs in the sandbox may read and execute.
            "sandbox_read" => pub sandbox_read: Vec<String> = "", Type::LIST;
            /// Further files and directories that programs in the sandbox may read, execute and write.
            "sandbox_write" => pub sandbox_write: Vec<String> = "", Type::LIST;
            /// Whether programs in the sandbox may open and accept TCP connections. `false` needs Linux 6.7.
            "sandbox_network" => pub sandbox_network: bool = "true", Type::Boolean;
        }
        fixed {
            /// Directories and files of the server, which programs in the sandbox may not read although they
            /// are below a directory of the system. Apps in them are not concerned.
            pub private_paths: Vec<PathBuf> = Vec::new();
            /// Maximum number of bytes from the end of stderr in an error message.
            pub complaint_bytes: usize = 4 << 10;
            /// Time limit for the end of a program after its last answer.
            pub end_time: Duration = Duration::from_secs(10);
        }
    }
}

impl Settings {
    /// Whether programs may open TCP connections.
    #[must_use]
    pub fn has_network(&self) -> bool {
        self.sandbox_network || self.sandbox == Sandbox::Off
    }
}

/// All declarations of this crate.
pub const DECLARED: &[&[Setting]] = &[Settings::SETTINGS];
