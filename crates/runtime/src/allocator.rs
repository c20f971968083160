//! Settings of the allocator, which reads them before a program begins.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Makes the program begin again, as the same process, with settings of the allocator in its
/// environment; returns at once where they are all there. What the operator has set stays.
///
/// # Errors
/// The program cannot be found or begun again; it can go on as it is.
pub fn begin_again_with(settings: &[(&str, &str)]) -> io::Result<()> {
    let missing = || settings.iter().filter(|(name, _)| std::env::var_os(name).is_none());
    if missing().next().is_none() {
        return Ok(());
    }
    let mut arguments = std::env::args_os();
    let mut again = Command::new(std::env::current_exe()?);
    again.arg0(arguments.next().unwrap_or_else(|| OsString::from("karst")));
    Err(again.args(arguments).envs(missing().copied()).exec())
}
