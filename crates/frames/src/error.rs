//! Errors of planning or running a search: an invalid search with the position in its text, a limit, or a
//! defect.

use std::ops::Range;

use model::ErrorKind;

/// An error of planning or running a search.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The text is not SPL.
    #[error("{0}")]
    Syntax(#[from] spl::Diagnostics),
    /// The search is syntactically valid, but refers to something that does not exist or is meaningless.
    #[error("{message}")]
    Invalid {
        /// The cause and a remedy.
        message: String,
        /// The byte range in the search text.
        span: Option<Range<usize>>,
    },
    /// The user lacks the permission.
    #[error("{message}")]
    Forbidden {
        /// The missing capability or permission.
        message: String,
        /// The byte range in the search text.
        span: Option<Range<usize>>,
    },
    /// A limit was reached; the message names the limit.
    #[error("{message}")]
    Exhausted {
        /// The limit, its value and its setting.
        message: String,
    },
    /// The search was cancelled while it was planned.
    #[error("the search was cancelled")]
    Cancelled,
    /// Stored events are unavailable.
    #[error("{message}")]
    Source {
        /// The failure.
        message: String,
        /// The kind of the error for the caller.
        kind: ErrorKind,
    },
    /// The query engine failed.
    #[error("query engine: {0}")]
    Engine(#[source] Box<datafusion::error::DataFusionError>),
    /// A defect in the planner.
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

    /// Returns an error about a missing permission, at a node of the syntax tree.
    pub fn forbidden(message: impl Into<String>, span: spl::ast::Span) -> Self {
        Self::Forbidden { message: message.into(), span: Some(span.start..span.end) }
    }

    /// Returns an error about a missing permission, without a position.
    pub fn forbidden_anywhere(message: impl Into<String>) -> Self {
        Self::Forbidden { message: message.into(), span: None }
    }

    /// Returns an error for a defect.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::Internal { message: message.into() }
    }

    /// Returns the kind of the error for the caller.
    #[must_use]
    pub fn kind(&self) -> ErrorKind {
        match self {
            Self::Syntax(_) | Self::Invalid { .. } | Self::Cancelled => ErrorKind::Invalid,
            Self::Forbidden { .. } => ErrorKind::Forbidden,
            Self::Exhausted { .. } => ErrorKind::Exhausted,
            Self::Source { kind, .. } => *kind,
            Self::Engine(error) => engine_kind(error),
            Self::Internal { .. } => ErrorKind::Internal,
        }
    }

    /// Returns the byte range in the search text, if there is one.
    #[must_use]
    pub fn span(&self) -> Option<Range<usize>> {
        match self {
            Self::Syntax(diagnostics) => {
                diagnostics.0.first().map(|found| found.span.start..found.span.end)
            }
            Self::Invalid { span, .. } | Self::Forbidden { span, .. } => span.clone(),
            _ => None,
        }
    }

    /// Renders the error with the line of the search that it refers to, in the form of syntax errors.
    #[must_use]
    pub fn render(&self, text: &str) -> String {
        match (self, self.span()) {
            (Self::Syntax(diagnostics), _) => diagnostics.render(text),
            (_, Some(span)) => {
                let span = spl::ast::Span::new(span.start, span.end);
                spl::Diagnostic::new(self.to_string(), span).render(text)
            }
            (_, None) => self.to_string(),
        }
    }
}

fn engine_kind(error: &datafusion::error::DataFusionError) -> ErrorKind {
    use datafusion::error::DataFusionError as E;
    match error.find_root() {
        E::ResourcesExhausted(_) => ErrorKind::Exhausted,
        E::ObjectStore(_) | E::IoError(_) => ErrorKind::Unavailable,
        E::External(source) => match source.downcast_ref::<Error>() {
            Some(own) => own.kind(),
            None if is_stopped(source.as_ref()) => ErrorKind::Invalid,
            None => ErrorKind::Internal,
        },
        E::Execution(_) => ErrorKind::Invalid,
        _ => ErrorKind::Internal,
    }
}

/// Whether a cancelled search caused the error of a function.
fn is_stopped(source: &(dyn std::error::Error + Send + Sync + 'static)) -> bool {
    matches!(source.downcast_ref(), Some(tables::Error::Cancelled))
}

/// Whether an error of the engine wraps an error of Karst, from a rule or an operator.
fn is_own(error: &datafusion::error::DataFusionError) -> bool {
    use datafusion::error::DataFusionError as E;
    matches!(
        error.find_root(),
        E::External(source) if source.is::<Error>() || is_stopped(source.as_ref())
    )
}

impl From<exprs::Error> for Error {
    fn from(error: exprs::Error) -> Self {
        match error {
            exprs::Error::Invalid { message, span } => Self::Invalid { message, span },
            exprs::Error::Engine(error) => error.into(),
            exprs::Error::Internal { message } => Self::Internal { message },
        }
    }
}

/// The engine's name for the spill limit.
const SPILL_LIMIT: &str = "max_temp_directory_size";

impl From<datafusion::error::DataFusionError> for Error {
    fn from(error: datafusion::error::DataFusionError) -> Self {
        use datafusion::error::DataFusionError as E;
        match error {
            E::Context(_, inner) if is_own(&inner) => Self::from(*inner),
            E::External(source) if is_stopped(source.as_ref()) => Self::Cancelled,
            E::External(source) => match source.downcast::<Self>() {
                Ok(own) => *own,
                Err(other) => Self::Engine(Box::new(E::External(other))),
            },
            other => match other.find_root() {
                E::ResourcesExhausted(reason) => {
                    Self::Exhausted { message: crate::exhausted::explained(reason) }
                }
                // The error arrives wrapped by the writer of spill files.
                _ if other.to_string().contains(SPILL_LIMIT) => Self::Exhausted {
                    message: "searches have spilled as much to disk as they may together: narrow the search, or \
                              raise max_spill_mb in limits.conf [search]"
                        .to_owned(),
                },
                _ => Self::Engine(Box::new(other)),
            },
        }
    }
}

impl From<tables::Error> for Error {
    fn from(error: tables::Error) -> Self {
        match error {
            tables::Error::Invalid { message, span } => Self::Invalid { message, span },
            tables::Error::Exhausted { message } => Self::Exhausted { message },
            tables::Error::Arrow(error) => error.into(),
            tables::Error::Internal { message } => Self::Internal { message },
            tables::Error::Cancelled => Self::Cancelled,
            other @ tables::Error::NotAValue { .. } => {
                datafusion::common::exec_datafusion_err!("{other}").into()
            }
        }
    }
}

impl From<arrow::error::ArrowError> for Error {
    fn from(error: arrow::error::ArrowError) -> Self {
        datafusion::error::DataFusionError::from(error).into()
    }
}

impl From<Error> for datafusion::error::DataFusionError {
    fn from(error: Error) -> Self {
        Self::External(Box::new(error))
    }
}
