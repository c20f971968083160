//! Errors of commands over tables: invalid values, a limit, or a defect.

use std::ops::Range;

use arrow::datatypes::DataType;
use arrow::error::ArrowError;
use spl::Span;

/// An error of a command over a table.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The rows do not allow the operation.
    #[error("{message}")]
    Invalid {
        /// The cause and a remedy.
        message: String,
        /// The byte range in the search text.
        span: Option<Range<usize>>,
    },
    /// A limit was reached; the message names it.
    #[error("{message}")]
    Exhausted {
        /// The limit, its value and its setting.
        message: String,
    },
    /// The search was cancelled.
    #[error("the search was cancelled")]
    Cancelled,
    /// SPL has no equivalent of the Arrow type.
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
        /// The violated assumption.
        message: String,
    },
}

impl Error {
    /// Returns an error about a node of the syntax tree.
    pub fn at(message: impl Into<String>, span: Span) -> Self {
        Self::Invalid { message: message.into(), span: Some(span.start..span.end) }
    }

    /// Returns an error about the search without a position.
    pub fn invalid_anywhere(message: impl Into<String>) -> Self {
        Self::Invalid { message: message.into(), span: None }
    }

    /// Returns an error for a defect.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::Internal { message: message.into() }
    }
}
