//! The process as a whole.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Makes the program begin again, as the same process, with the same arguments and environment.
/// Everything it holds open is closed. Returns only if that cannot be done.
#[must_use]
pub fn begin_again() -> io::Error {
    let program = match std::env::current_exe() {
        Ok(program) => program,
        Err(error) => return error,
    };
    let mut arguments = std::env::args_os();
    let mut again = Command::new(program);
    again.arg0(arguments.next().unwrap_or_else(|| OsString::from("karst")));
    again.args(arguments).exec()
}
