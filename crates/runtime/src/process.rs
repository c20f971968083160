//! Process-wide functions.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;

/// Restarts the program in the same process (exec), with the same arguments and environment. All
/// open files are closed. Returns only on failure.
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

/// Bytes of memory available to this process: that of the machine, or the limit of its container;
/// `None` if unknown.
#[must_use]
pub fn memory() -> Option<u64> {
    let machine = std::fs::read_to_string("/proc/meminfo").ok()?;
    let total = machine.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let total = total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10;
    let files = ["/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"];
    let limit = files.iter().find_map(|file| std::fs::read_to_string(file).ok());
    let limit = limit.and_then(|limit| limit.trim().parse::<u64>().ok());
    Some(limit.map_or(total, |limit| limit.min(total)))
}

/// Makes all files and directories created by this process and its children private to its user,
/// whatever umask it was started with. Call it before starting threads or creating files.
pub fn make_files_private() {
    // Neither the standard library nor rustix without its feature `process` (which would rebuild half of
    // what Karst depends on) can set it.
    #[allow(unsafe_code, reason = "umask takes a number, touches no memory and cannot fail")]
    let _before = unsafe { libc::umask(0o077) };
}

/// Asks a process to end (SIGTERM).
///
/// # Errors
/// If there is none, or it belongs to another user.
pub fn terminate(pid: u32) -> io::Result<()> {
    // 0 and negative numbers are groups of processes.
    let pid = libc::pid_t::try_from(pid).ok().filter(|pid| *pid > 0);
    let pid = pid.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    #[allow(unsafe_code, reason = "kill takes two numbers and touches no memory of this process")]
    let sent = unsafe { libc::kill(pid, libc::SIGTERM) };
    if sent == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    // The standard library has no kind for it.
    if error.raw_os_error() == Some(libc::ESRCH) {
        return Err(io::ErrorKind::NotFound.into());
    }
    Err(error)
}

/// How a process group is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// The programs are asked to end (SIGTERM).
    Ask,
    /// The programs end at once (SIGKILL).
    Kill,
}

/// Sends a signal to all programs of a group, which is named by the process that it began with.
///
/// # Errors
/// If the group has no processes, or they belong to another user.
pub fn end_group(leader: u32, ending: Ending) -> io::Result<()> {
    let leader = i32::try_from(leader).map_err(io::Error::other)?;
    // 0 and 1 mean this process's own group and every process there is.
    if leader <= 1 {
        return Err(io::Error::other("not a process group that this process started"));
    }
    let signal = match ending {
        Ending::Ask => libc::SIGTERM,
        Ending::Kill => libc::SIGKILL,
    };
    #[allow(unsafe_code, reason = "kill takes two numbers and touches no memory")]
    let sent = unsafe { libc::kill(-leader, signal) };
    if sent == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}
