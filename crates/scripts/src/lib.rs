//! Runs programs of apps in searches: custom search commands (`commands.conf`, protocols 1 and 2) and
//! external lookups (`external_cmd` in `transforms.conf`).
//!
//! Guarantees: a program runs in a process group of its own, with Splunk's variables only, within limits of
//! memory, time and output, and on Linux in a sandbox of files and network; it is killed with all its child
//! processes when its run is dropped.
//! The end of its stderr is kept up to a limit and included in errors. Not here: the list of programs
//! (`knowledge`), the permission to run them, and the use of their rows in a search (`plan`, `search`).
//!
//! ```text
//! Table -> CSV -> stdin of the program -> stdout -> CSV -> Table
//!           chunked.rs: one process for a run, a request and an answer per chunk
//!           legacy.rs:  one process per chunk
//!           external.rs: one process per table of keys
//! ```

mod arguments;
mod chunked;
mod command;
mod definition;
mod error;
mod external;
mod legacy;
mod messages;
mod modules;
mod names;
mod program;
mod sandbox;
mod settings;
mod table;

pub use arguments::Arguments;
pub use command::CommandRun;
pub use definition::{Behaviour, Command, Legacy, Protocol, SearchInfo, SessionKey};
pub use error::Error;
pub use external::{ExternalLookup, look_up};
pub use messages::{Answer, Level, Message};
pub use names::{DNS_LOOKUP, look_up_names};
pub use program::Script;
pub use settings::{DECLARED, Sandbox, Settings};
pub use table::{Column, Table};
