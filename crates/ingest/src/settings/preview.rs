//! Limits of previews, which read a text as it would be taken in and keep nothing.

use conf::{Type, Unit};

conf::settings! {
    /// How much of a text a preview reads and shows.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct PreviewSettings {
        "limits"["indexpreview"] {
            /// Maximum number of bytes of a text that a preview reads; the rest is ignored. Events are
            /// shown until the size of their texts and fields reaches four times this limit.
            "max_preview_bytes" => pub max_bytes: usize = "2000000", BYTES;
            /// Maximum number of events that a preview shows; further events are only counted.
            "max_results_perchunk" => pub max_events: usize = "2500", Type::number(1);
        }
    }
}

/// Below the size of a batch, in one of which a text passes the stages.
const BYTES: Type = Type::of(Unit::Bytes, 1, 1 << 28);
