//! Search-time field extraction, in Splunk's order: `EXTRACT`, `REPORT`, `KV_MODE`, `FIELDALIAS`.
//!
//! Guarantees: if an earlier rule found a field, later rules do not change it (except with `MV_ADD`, and
//! except for arrays and repeated names in JSON); reaching a limit is reported; no input causes a panic or
//! more than linear memory. The fixed fields (`host`, `source`, `sourcetype`, `index`, `_raw`, `_time`,
//! `_indextime`) are never produced. Leaves to others: calculated fields, whose expressions
//! [`FieldRules::evals`] passes to the planner.

mod aliases;
mod extractor;
mod json;
mod kv;
mod rules;
mod run;
mod seen;
#[cfg(test)]
mod tests;
mod transform;

use conf::{Type, Unit};

pub use extractor::Extractor;
pub use kv::KvMode;
pub use rules::{FieldRules, Wanted};

pub(crate) use aliases::{Alias, Aliases};
pub(crate) use rules::FieldRulesBuilder;
pub(crate) use seen::hash;
pub(crate) use transform::{Reading, Transform, parse_format};

/// Visits every scalar of an event that is a JSON object, with its path.
pub(crate) fn json_scalars<'a>(
    raw: &'a str,
    visit: &mut dyn FnMut(&str, std::borrow::Cow<'a, str>) -> std::ops::ControlFlow<()>,
) {
    if let Some(object) = json::parse(raw) {
        let _ = json::walk(object, visit, &mut |_| {}, &|_| true);
    }
}

/// A part of every fingerprint. It is increased whenever the same rules give other fields than before.
pub(crate) const CODE_VERSION: u64 = 1;

/// Names that extraction never produces.
const FIXED: &[&str] = &model::columns::ALL;

conf::settings! {
    /// Bounds of extraction from one event. Zero means no limit. The form of `Debug` is part of fingerprints.
    #[derive(Debug, Clone, Copy, PartialEq, Eq)]
    pub struct ExtractionLimits {
        "limits"["kv"] {
            /// Maximum number of fields of one event; 0 for no limit. Splunk: 512.
            "maxcols" => pub columns: usize = "10000", Type::number(0);
            /// Maximum number of fields that automatic extraction takes from one event; 0 for no limit.
            /// Splunk: 100.
            "limit" => pub automatic: usize = "10000", Type::number(0);
            /// Number of bytes of an event that automatic extraction reads; 0 for all. Splunk: 10240.
            "maxchars" => pub chars: usize = "1048576", Type::of(Unit::Bytes, 0, i64::MAX);
        }
    }
}

/// The result of an extraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[must_use]
pub struct Extraction {
    /// Number of values that were produced.
    pub values: usize,
    /// The limit that was reached, if any.
    pub cut: Option<ExtractionLimit>,
    /// Whether `maxcols` dropped fields. An extraction of fewer fields may still find them, because it counts
    /// only its own fields; the other limits do not depend on the wanted fields.
    pub lacks_columns: bool,
}

/// A limit of extraction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExtractionLimit {
    /// `maxcols`.
    Columns,
    /// `limit`.
    Automatic,
    /// `maxchars`.
    Chars,
    /// The maximum depth of JSON, which is fixed.
    Depth,
}

impl ExtractionLimit {
    /// Returns the message of a search: the setting to raise, or what to use instead.
    #[must_use]
    pub fn message(self) -> String {
        let setting = match self {
            Self::Columns => "maxcols",
            Self::Automatic => "limit",
            Self::Chars => "maxchars",
            Self::Depth => {
                return format!(
                    "some events are JSON with fields nested deeper than {} levels, which are not \
                     extracted; use spath with path=",
                    json::DEPTH
                );
            }
        };
        format!(
            "some events have more fields or text than the limit of extraction; raise limits.conf \
             [kv] {setting}"
        )
    }
}
