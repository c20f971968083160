//! Why a command over a table failed: the values of the search, a limit, or a defect.

use std::ops::Range;

use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use spl::Span;

/// An error of a command over a table.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The command cannot do that with these rows.
    #[error("{message}")]
    Invalid {
        /// What is wrong and how to fix it.
        message: String,
        /// The place in the search text, in bytes.
        span: Option<Range<usize>>,
    },
    /// A limit was reached; the message names it.
    #[error("{message}")]
    Exhausted {
        /// Which limit, its value and its setting.
        message: String,
    },
    /// Nobody waits for the rows any more.
    #[error("the search was cancelled")]
    Cancelled,
    /// SPL has no values of a type of Arrow.
    #[error("a column of type {data_type} is not an SPL value")]
    NotAValue {
        /// The type of the column.
        data_type: DataType,
    },
    /// A function of Arrow failed.
    #[error(transparent)]
    Arrow(#[from] ArrowError),
    /// A defect.
    #[error("{message}")]
    Internal {
        /// What was assumed and does not hold.
        message: String,
    },
}

impl Error {
    /// A mistake in the search, at a node of the syntax tree.
    pub fn at(message: impl Into<String>, span: Span) -> Self {
        Self::Invalid { message: message.into(), span: Some(span.start..span.end) }
    }

    /// A mistake in the search that has no place in its text.
    pub fn invalid_anywhere(message: impl Into<String>) -> Self {
        Self::Invalid { message: message.into(), span: None }
    }

    /// A defect.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::Internal { message: message.into() }
    }
}
