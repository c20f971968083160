//! Why an expression cannot be compiled: the user's mistake with its place in the text, or a defect.

use std::ops::Range;

use datafusion::error::DataFusionError;

/// An error of compiling an expression, a filter or an aggregation.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// It asks for something that does not exist or make sense.
    #[error("{message}")]
    Invalid {
        /// What is wrong and how to fix it.
        message: String,
        /// The place in the search text, in bytes.
        span: Option<Range<usize>>,
    },
    /// The query engine failed.
    #[error("query engine: {0}")]
    Engine(#[from] DataFusionError),
    /// A defect.
    #[error("internal planning error: {message}")]
    Internal {
        /// What was assumed and does not hold.
        message: String,
    },
}

impl Error {
    /// A mistake in the search, at a place.
    pub fn invalid(message: impl Into<String>, span: Range<usize>) -> Self {
        Self::Invalid { message: message.into(), span: Some(span) }
    }

    /// A mistake in the search, at a node of the syntax tree.
    pub fn at(message: impl Into<String>, span: spl::ast::Span) -> Self {
        Self::invalid(message, span.start..span.end)
    }

    /// A mistake in the search that no place can be told of.
    pub fn invalid_anywhere(message: impl Into<String>) -> Self {
        Self::Invalid { message: message.into(), span: None }
    }

    /// A defect.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::Internal { message: message.into() }
    }
}
