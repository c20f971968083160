//! The signals of a program: those that ask it to end (SIGTERM, SIGINT) and SIGHUP, from its first moment and
//! over an exec.
//!
//! ```text
//! old image: leave_pending() -> exec -> new image: hold() -> listen() -> threads, children
//! ```
//!
//! Guarantees: a signal that arrives after [`leave_pending`] or [`hold`] stays pending until [`listen`], also
//! over the exec. Otherwise it would be lost: process 1 of a container ignores signals that it does not
//! handle yet, and another process would end at once, without an exit code.

use std::{io, mem, ptr};

use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};

const SIGNALS: [libc::c_int; 3] = [libc::SIGTERM, libc::SIGINT, libc::SIGHUP];

/// The listeners of the program. Every runtime wakes them.
#[derive(Debug)]
pub struct Listeners {
    /// For the signals that ask the program to end.
    pub stop: Stop,
    /// For SIGHUP.
    pub hangups: Signal,
}

/// A listener for SIGTERM and SIGINT.
#[derive(Debug)]
pub struct Stop {
    terminate: Signal,
    interrupt: Signal,
}

impl Stop {
    /// Waits for one of the signals; none is lost if the caller gives up.
    pub async fn arrived(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

/// Blocks the signals in the calling thread and those that it starts: they stay pending until [`listen`].
/// Call it first of all, in the main thread.
///
/// # Errors
/// If the system refuses it.
pub fn hold() -> io::Result<()> {
    change_mask(libc::SIG_BLOCK)
}

/// Opens the listeners, and ends [`hold`]: signals that are pending arrive. Call it in the main thread,
/// before other threads and programs are started: they inherit which signals are blocked.
///
/// # Errors
/// If the system gives no listeners.
pub fn listen() -> io::Result<Listeners> {
    // A listener is opened inside of a runtime, and does not need it any more then.
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

/// From here on no thread of this process handles the signals: they stay pending for the image that the main
/// thread replaces this one with. The listeners are told of no further one. Call it in the main thread.
///
/// # Errors
/// If the system refuses it.
pub fn leave_pending() -> io::Result<()> {
    hold()?;
    for signal in SIGNALS {
        #[allow(unsafe_code, reason = "the structure has numbers only, for which zero is valid")]
        let mut action: libc::sigaction = unsafe { mem::zeroed() };
        action.sa_sigaction = to_main_thread as *const () as libc::sighandler_t;
        action.sa_flags = libc::SA_RESTART;
        #[allow(unsafe_code, reason = "the call reads a value, and the handler may interrupt all")]
        let failed = unsafe { libc::sigaction(signal, &raw const action, ptr::null_mut()) };
        if failed != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(())
}

/// Handles a signal in a thread that does not block it: hands it to the main thread, which does.
extern "C" fn to_main_thread(signal: libc::c_int) {
    #[allow(unsafe_code, reason = "both calls take numbers only and are safe in signal handlers")]
    unsafe {
        let main = libc::c_long::from(libc::getpid());
        let _ = libc::syscall(libc::SYS_tgkill, main, main, libc::c_long::from(signal));
    }
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
    // It gives the number of the error.
    if failed == 0 { Ok(()) } else { Err(io::Error::from_raw_os_error(failed)) }
}
