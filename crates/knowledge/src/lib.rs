//! What Karst knows of data before it sees it: `.conf` layers, time formats, source types, and the
//! rules that cut text into events and fields.
//!
//! Pure: the only I/O is [`layers::Layers::read`], which reads a directory of `.conf` files. Leaves to
//! others: running the rules over streams (`ingest`), planning with them (`plan`).

pub mod conf;
mod datamodels;
mod error;
pub mod extract;
mod forms;
pub mod index_time;
mod indexes;
mod knowledge;
pub mod layers;
mod lookups;
mod metadata;
mod modular;
mod parsing;
mod props;
pub mod registry;
mod searching;
pub mod sourcetype;
pub mod structured;
mod tagging;
pub mod timestamp;

pub use datamodels::{Calculation, DataModel, Dataset, ModelField};
pub use error::Error;
pub use eval::{Groups, Pattern, time};
pub use extract::{
    Extraction, ExtractionLimit, ExtractionLimits, Extractor, FieldRules, KvMode, Wanted,
};
pub use index_time::IndexTimeRules;
pub use indexes::{AckLevel, IndexSettings};
pub use knowledge::{CalculatedField, Knowledge};
pub use lookups::{AutomaticLookup, LookupDefinition, LookupPlace, LookupTime, MatchType};
pub use metadata::Access;
pub use parsing::{Charset, LineBreaker, ParsingRules};
pub use props::StanzaMatcher;
pub use tagging::{EventType, TaggedValue};
