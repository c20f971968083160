//! Errors of compiling an expression: an invalid expression with the position in its text, or a defect.

use std::ops::Range;

use datafusion::error::DataFusionError;

/// An error of compiling an expression, a filter or an aggregation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The expression refers to something that does not exist or is meaningless.
    #[error("{message}")]
    Invalid {
        /// The cause and a remedy.
        message: String,
        /// The byte range in the search text.
        span: Option<Range<usize>>,
    },
    /// The query engine failed.
    #[error("query engine: {0}")]
    Engine(#[from] DataFusionError),
    /// A defect.
    #[error("internal planning error: {message}")]
    Internal {
        /// The violated assumption.
        message: String,
    },
}

impl Error {
    /// Returns an error about a byte range of the search.
    pub fn invalid(message: impl Into<String>, span: Range<usize>) -> Self {
        Self::Invalid { message: message.into(), span: Some(span) }
    }

    /// Returns an error about a node of the syntax tree.
    pub fn at(message: impl Into<String>, span: spl::ast::Span) -> Self {
        Self::invalid(message, span.start..span.end)
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
