//! Printing: `println!` and `eprintln!` of this program, which do not panic when the reader of a pipe has
//! ended.
//!
//! With `| head` or `| true`, the reader of a pipe ends before the command does. The command then continues:
//! its changes and its exit code do not depend on the reader of its output. Commands that print rows until
//! they are stopped write to standard output themselves, and end with the error of the pipe (`main`).

use std::fmt::Arguments;
use std::io::{self, ErrorKind, Write};

/// Like the macro of the standard library, but without a panic when the reader has ended.
macro_rules! println {
    () => {{
        $crate::output::line(format_args!(""));
    }};
    ($($text:tt)*) => {{
        $crate::output::line(format_args!($($text)*));
    }};
}

/// Like the macro of the standard library, but without a panic when the reader has ended.
macro_rules! eprintln {
    ($($text:tt)*) => {{
        $crate::output::error_line(format_args!($($text)*));
    }};
}

/// Prints a line to standard output.
///
/// # Panics
/// The line cannot be written, for example because the disk is full: the output must not lack it silently.
pub(crate) fn line(text: Arguments<'_>) {
    if let Err(error) = write_line(&mut io::stdout().lock(), text) {
        panic!("cannot write to standard output: {error}");
    }
}

/// Prints a line to standard error. A failure of this cannot be reported.
pub(crate) fn error_line(text: Arguments<'_>) {
    let _ = write_line(&mut io::stderr().lock(), text);
}

fn write_line(to: &mut impl Write, text: Arguments<'_>) -> io::Result<()> {
    match writeln!(to, "{text}") {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Fails at every write.
    struct Failing(ErrorKind);

    impl Write for Failing {
        fn write(&mut self, _: &[u8]) -> io::Result<usize> {
            Err(self.0.into())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn only_a_reader_that_has_gone_is_ignored() {
        let write = |kind| write_line(&mut Failing(kind), format_args!("a line"));
        assert!(write(ErrorKind::BrokenPipe).is_ok());
        assert!(write(ErrorKind::StorageFull).is_err());
    }
}
