//! Who may do what, asked of the whole REST service in this process: every path and every command by
//! every role, and what outsiders found open.

#![allow(clippy::disallowed_methods)]
#![allow(clippy::unwrap_used)]

mod accounts;
mod jobs;
mod matrix;
mod objects;
mod page;
mod quotas;
mod server;
