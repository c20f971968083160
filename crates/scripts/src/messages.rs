//! The answer of a program: rows, and messages for the user.

use serde_json::Value;

use crate::table::Table;

/// The severity of a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// For the author of the program.
    Debug,
    /// For the user.
    Info,
    /// The result is incomplete.
    Warn,
    /// The program has failed.
    Error,
}

/// A message of a program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// Its severity.
    pub level: Level,
    /// Its text.
    pub text: String,
}

/// The answer of a program to a chunk of rows.
#[derive(Debug, Clone, Default)]
pub struct Answer {
    /// Its rows.
    pub rows: Table,
    /// Whether the program accepts no further rows and returns none.
    pub finished: bool,
    /// Its messages.
    pub messages: Vec<Message>,
}

impl Message {
    pub(crate) fn new(level: &str, text: impl Into<String>) -> Self {
        let level = match level.to_ascii_uppercase().as_str() {
            "DEBUG" => Level::Debug,
            "INFO" => Level::Info,
            "WARN" | "WARNING" => Level::Warn,
            _ => Level::Error,
        };
        Self { level, text: text.into() }
    }

    /// Whether the message is shown to the user of the search.
    #[must_use]
    pub fn is_for_users(&self) -> bool {
        self.level != Level::Debug
    }

    /// Reads the messages in `"inspector": {"messages": [["ERROR", "text"], ...]}`.
    pub(crate) fn of_metadata(metadata: &Value) -> Vec<Self> {
        let listed = metadata["inspector"]["messages"].as_array();
        let message = |pair: &Value| {
            let (level, text) = (pair.get(0)?.as_str()?, pair.get(1)?.as_str()?);
            Some(Self::new(level, text))
        };
        listed.into_iter().flatten().filter_map(message).collect()
    }

    /// The texts of all errors, joined.
    pub(crate) fn errors(messages: &[Self]) -> String {
        let errors = messages.iter().filter(|message| message.level == Level::Error);
        errors.map(|message| message.text.as_str()).collect::<Vec<_>>().join("; ")
    }
}
