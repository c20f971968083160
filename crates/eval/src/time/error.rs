//! Errors of times, time formats and zones, with their position and a hint.

/// A time, format or zone that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A time expression cannot be read.
    #[error("bad time \"{text}\" at position {at}: {reason}; {hint}")]
    Time {
        /// The whole expression.
        text: String,
        /// Byte position of the error.
        at: usize,
        /// The reason of the error.
        reason: String,
        /// The valid forms.
        hint: String,
    },
    /// A time format has a specifier that cannot be used for reading times.
    #[error("bad time format \"{format}\" at position {at}: %{specifier} cannot be parsed")]
    Format {
        /// The whole format.
        format: String,
        /// Byte position of the specifier.
        at: usize,
        /// The specifier without its percent sign.
        specifier: String,
    },
    /// A time zone is not known.
    #[error(
        "unknown time zone \"{name}\"; use an IANA name such as Europe/Berlin, an offset such as +02:00, or UTC"
    )]
    Zone {
        /// The name as given.
        name: String,
    },
}
