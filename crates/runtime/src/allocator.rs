//! Settings of the allocator, which reads them before the program starts.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Restarts the program in the same process (exec) with the allocator settings in its environment;
/// returns at once if they are already set. Settings of the operator take precedence.
///
/// # Errors
/// The program cannot be found or restarted; it can continue without the settings.
#[expect(clippy::disallowed_methods, reason = "the allocator reads the environment alone")]
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
