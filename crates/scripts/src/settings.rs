//! Limits of programs of apps: `limits.conf [scripts]`.

use std::time::Duration;

use conf::{Setting, Type, Unit};

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
        }
        fixed {
            /// Maximum number of bytes from the end of stderr in an error message.
            pub complaint_bytes: usize = 4 << 10;
            /// Time limit for the end of a program after its last answer.
            pub end_time: Duration = Duration::from_secs(10);
        }
    }
}

/// All declarations of this crate.
pub const DECLARED: &[&[Setting]] = &[Settings::SETTINGS];
