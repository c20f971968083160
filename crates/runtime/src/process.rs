//! Process-wide functions.

use std::ffi::OsString;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::time::Duration;

/// Restarts the program in the same process (exec), with the same arguments and environment. All
/// open files are closed. Returns only on failure.
#[must_use]
pub fn begin_again() -> io::Error {
    match same_program() {
        Ok(mut again) => again.exec(),
        Err(error) => error,
    }
}

/// The same with a variable that tells the next start something; `None` removes it.
#[must_use]
pub fn begin_again_with(variable: &str, value: Option<&str>) -> io::Error {
    match (same_program(), value) {
        (Ok(mut again), Some(value)) => again.env(variable, value).exec(),
        (Ok(mut again), None) => again.env_remove(variable).exec(),
        (Err(error), _) => error,
    }
}

fn same_program() -> io::Result<Command> {
    let mut arguments = std::env::args_os();
    let mut again = Command::new(std::env::current_exe()?);
    again.arg0(arguments.next().unwrap_or_else(|| OsString::from("karst")));
    again.args(arguments);
    Ok(again)
}

/// Returns the memory available to this process in bytes: that of the machine, or the lowest limit of its
/// control groups (containers, systemd services); `None` if unknown.
#[must_use]
pub fn memory() -> Option<u64> {
    limit(|path| std::fs::read_to_string(path).ok())
}

/// Computes the limit from the contents of system files.
fn limit(read: impl Fn(&str) -> Option<String>) -> Option<u64> {
    let machine = read("/proc/meminfo")?;
    let total = machine.lines().find_map(|line| line.strip_prefix("MemTotal:"))?;
    let total = total.trim().strip_suffix("kB")?.trim().parse::<u64>().ok()? << 10;
    let groups = read("/proc/self/cgroup").unwrap_or_default();
    let mut files = Vec::new();
    for line in groups.lines() {
        // Fields: number, controllers (empty in version 2), path.
        let mut parts = line.splitn(3, ':').skip(1);
        let (Some(controllers), Some(path)) = (parts.next(), parts.next()) else { continue };
        let (root, name) = match controllers {
            "" => ("/sys/fs/cgroup", "memory.max"),
            _ if controllers.split(',').any(|controller| controller == "memory") => {
                ("/sys/fs/cgroup/memory", "memory.limit_in_bytes")
            }
            _ => continue,
        };
        // Every parent group limits it, too.
        let mut path = path.trim_end_matches('/');
        while !path.is_empty() {
            files.push(format!("{root}{path}/{name}"));
            path = path.rsplit_once('/').map_or("", |(above, _)| above);
        }
    }
    // In a container the path may be that of the host; there, its own group is the root.
    files.push("/sys/fs/cgroup/memory.max".to_owned());
    files.push("/sys/fs/cgroup/memory/memory.limit_in_bytes".to_owned());
    let limits = files.iter().filter_map(|file| read(file)?.trim().parse::<u64>().ok());
    Some(limits.fold(total, u64::min))
}

/// Returns the CPU time that the calling thread has used.
#[must_use]
pub fn thread_cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    #[allow(unsafe_code, reason = "the call writes to the value that it is given")]
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    if failed != 0 {
        return Duration::ZERO;
    }
    let seconds = u64::try_from(time.tv_sec).unwrap_or(0);
    Duration::new(seconds, u32::try_from(time.tv_nsec).unwrap_or(0))
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
/// The process does not exist, or belongs to another user.
pub fn terminate(pid: u32) -> io::Result<()> {
    // 0 and negative numbers mean process groups.
    let pid = libc::pid_t::try_from(pid).ok().filter(|pid| *pid > 0);
    let pid = pid.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    #[allow(unsafe_code, reason = "kill takes two numbers and touches no memory of this process")]
    let sent = unsafe { libc::kill(pid, libc::SIGTERM) };
    if sent == 0 {
        return Ok(());
    }
    let error = io::Error::last_os_error();
    // The standard library has no error kind for it.
    if error.raw_os_error() == Some(libc::ESRCH) {
        return Err(io::ErrorKind::NotFound.into());
    }
    Err(error)
}

/// How a process group is ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ending {
    /// Asks the programs to end (SIGTERM).
    Ask,
    /// Ends the programs at once (SIGKILL).
    Kill,
}

/// Sends a signal to all processes of a group, which is identified by its leader.
///
/// # Errors
/// The group has no processes, or they belong to another user.
pub fn end_group(leader: u32, ending: Ending) -> io::Result<()> {
    let leader = i32::try_from(leader).map_err(io::Error::other)?;
    // 0 and 1 mean the group of this process and all processes.
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

#[cfg(test)]
mod tests {
    use super::*;

    fn of(files: &[(&str, &str)]) -> Option<u64> {
        let known = |path: &str| files.iter().find(|(name, _)| *name == path);
        limit(|path| known(path).map(|(_, text)| (*text).to_owned()))
    }

    #[test]
    fn memory_is_that_of_the_machine_or_the_lowest_limit_of_the_groups() {
        let machine = ("/proc/meminfo", "MemTotal:        8192 kB\nMemFree: 1 kB\n");
        let service = ("/proc/self/cgroup", "0::/system.slice/karst.service\n");
        let slice = ("/sys/fs/cgroup/system.slice/memory.max", "3000000\n");
        let own = ("/sys/fs/cgroup/system.slice/karst.service/memory.max", "max\n");
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[machine]), Some(8 << 20));
        assert_eq!(of(&[machine, service, own]), Some(8 << 20));
        assert_eq!(of(&[machine, service, own, slice]), Some(3_000_000));
        let root = ("/sys/fs/cgroup/memory.max", "2000000\n");
        assert_eq!(of(&[machine, ("/proc/self/cgroup", "0::/\n"), root]), Some(2_000_000));
    }

    #[test]
    fn groups_of_version_1_are_read_where_their_controller_is() {
        let machine = ("/proc/meminfo", "MemTotal:        8192 kB\n");
        let groups = ("/proc/self/cgroup", "5:cpu:/a\n4:memory:/pods/p\n0::/x\n");
        let none = ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "9223372036854771712\n");
        assert_eq!(of(&[machine, groups, none]), Some(8 << 20));
        let pod = ("/sys/fs/cgroup/memory/pods/p/memory.limit_in_bytes", "4000000\n");
        assert_eq!(of(&[machine, groups, none, pod]), Some(4_000_000));
    }
}
