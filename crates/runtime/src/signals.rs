//! The signals of a program: requests to end (SIGTERM, SIGINT) and SIGHUP, from the start of the program and
//! across an exec.
//!
//! ```text
//! old image: leave_pending() -> exec -> new image: hold() -> listen() -> threads, children
//! ```
//!
//! Guarantees: a signal that arrives after [`leave_pending`] or [`hold`] stays pending until [`listen`], also
//! across the exec. Otherwise it would be lost: process 1 of a container ignores signals without a handler,
//! and any other process would end at once, without an exit code.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;
use std::{io, mem, ptr};

use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};

const SIGNALS: [libc::c_int; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP];

/// Maximum time for a received signal to reach its listener: longer than the 100 ms for which a container may
/// have to wait for its share of the CPU.
pub const ON_ITS_WAY: Duration = Duration::from_millis(250);

/// The thread that has called [`leave_pending`].
static MAIN: AtomicUsize = AtomicUsize::new(0);

/// The listeners of the program. They work in every runtime.
#[derive(Debug)]
pub struct Listeners {
    /// The listener for signals that ask the program to end.
    pub stop: Stop,
    /// The listener for SIGHUP.
    pub hangups: Signal,
}

/// A listener for SIGTERM and SIGINT.
#[derive(Debug)]
pub struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    /// Waits for one of the signals. If the future is dropped, no signal is lost.
    pub async fn arrived(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Blocks the signals in the calling thread and in threads that it starts: they stay pending until
/// [`listen`]. Call it in the main thread before anything else.
///
/// # Errors
/// The system call failed.
pub fn hold() -> io::Result<()> {
    change_mask(libc::SIG_BLOCK)
}

/// Creates the listeners and ends [`hold`]: pending signals are delivered. Call it in the main thread before
/// other threads and programs are started, because they inherit the blocked signals.
///
/// # Errors
/// The listeners cannot be created.
pub fn listen() -> io::Result<Listeners> {
    // A listener must be created inside a runtime, but does not need it afterwards.
    let runtime = Builder::new_current_thread().enable_io().build()?;
    let inside = runtime.enter();
    let stop = Stop {
        terminate: signal(SignalKind::terminate())?,
        interrupt: signal(SignalKind::interrupt())?,
    };
    let hangups = signal(SignalKind::hangup())?;
    drop(inside);
    change_mask(libc::SIG_UNBLOCK)?;
    Ok(Listeners { stop, hangups })
}

/// Stops the handling of signals in all threads: they stay pending for the image with which the main thread
/// replaces this one. The listeners are not notified any more. Call it in the main thread.
///
/// # Errors
/// The system call failed.
pub fn leave_pending() -> io::Result<()> {
    hold()?;
    #[allow(unsafe_code, reason = "the call always succeeds")]
    let main = unsafe { libc::pthread_self() };
    // Stored before the handler that reads it is installed.
    MAIN.store(main as usize, Ordering::SeqCst);
    for signal in SIGNALS {
        #[allow(unsafe_code, reason = "the structure has numbers only, for which zero is valid")]
        let mut action: libc::sigaction = unsafe { mem::zeroed() };
        action.sa_sigaction = to_main_thread as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        #[allow(unsafe_code, reason = "the calls use the value, and the handler may interrupt all")]
        let failed = unsafe {
            let _ = libc::sigemptyset(&raw mut action.sa_mask);
            libc::sigaction(signal, &raw const action, ptr::null_mut())
        };
        if failed != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Handles a signal in a thread that does not block it: forwards it to the main thread, which does.
extern "C" fn to_main_thread(signal: libc::c_int) {
    let main = MAIN.load(Ordering::SeqCst) as libc::pthread_t;
    #[allow(unsafe_code, reason = "the thread exists, and handlers may call this")]
    let _ = unsafe { libc::pthread_kill(main, signal) };
}

fn change_mask(how: libc::c_int) -> io::Result<()> {
    #[allow(unsafe_code, reason = "the calls read and write the set alone")]
    let failed = unsafe {
        let mut set: libc::sigset_t = mem::zeroed();
        let _ = libc::sigemptyset(&raw mut set);
        for signal in SIGNALS {
            let _ = libc::sigaddset(&raw mut set, signal);
        }
        libc::pthread_sigmask(how, &raw const set, ptr::null_mut())
    };
    // The function returns the error number.
    if failed == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(failed)) }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::sync::mpsc;
    use std::thread;

    use super::*;

    #[test]
    fn a_signal_that_another_thread_receives_is_pending_in_the_one_that_leaves_it() {
        let (left, is_left) = mpsc::channel::<()>();
        // Started before the signals are blocked here, because a thread inherits that.
        let other = thread::spawn(move || {
            is_left.recv().unwrap();
            #[allow(unsafe_code, reason = "the handler of the signal is the one of this module")]
            let failed = unsafe { libc::raise(libc::SIGHUP) };
            failed
        });
        leave_pending().unwrap();
        left.send(()).unwrap();
        assert_eq!(other.join().unwrap(), 0);
        #[allow(unsafe_code, reason = "the calls read and write the set alone")]
        let is_pending = unsafe {
            let mut set: libc::sigset_t = mem::zeroed();
            let _ = libc::sigpending(&raw mut set);
            libc::sigismember(&raw const set, libc::SIGHUP)
        };
        assert_eq!(is_pending, 1);
        for signal in SIGNALS {
            #[allow(unsafe_code, reason = "a signal that is ignored is not pending any more")]
            unsafe {
                let _ = libc::signal(signal, libc::SIG_IGN);
                let _ = libc::signal(signal, libc::SIG_DFL);
            }
        }
        change_mask(libc::SIG_UNBLOCK).unwrap();
    }
}
