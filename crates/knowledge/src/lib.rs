//! Rules about data that are known before it arrives: time formats, source types, and rules for cutting text
//! into events and fields, compiled from `.conf` files.
//!
//! Pure: no I/O. Leaves to others: reading the files (`conf`), running the rules over streams (`ingest`),
//! planning with them (`plan`).

mod breaking;
mod charset;
mod custom_commands;
mod datamodels;
mod error;
pub mod extract;
mod forms;
pub mod fuzzing;
pub mod index_time;
mod indexes;
mod knowledge;
mod lookups;
mod merging;
mod modular;
mod origins;
mod parsing;
mod props;
mod searching;
pub mod settings;
pub mod sourcetype;
pub mod structured;
mod tagging;
pub mod timestamp;
mod unnamed;

pub use breaking::{EventBreaking, FROM_INDEXER};
pub use charset::Charset;
pub use custom_commands::CustomCommand;
pub use datamodels::{Calculation, DataModel, Dataset, ModelField};
pub use error::Error;
pub use eval::{Groups, Pattern, time};
pub use extract::{
    Extraction, ExtractionLimit, ExtractionLimits, Extractor, FieldRules, KvMode, Wanted,
};
pub use index_time::IndexTimeRules;
pub use indexes::IndexSettings;
pub use knowledge::{CalculatedField, InForce, Knowledge, OF_FIELDS, TRIED};
pub use lookups::{
    AutomaticLookup, LookupDefinition, LookupPlace, LookupProgram, LookupTime, MatchType,
};
pub use merging::{Begins, MergeRules, MergeState};
pub use origins::OriginRules;
pub use parsing::{LineBreaker, ParsingRules};
pub use props::{LOOKS_LIKE_PATTERN, StanzaMatcher};
pub use searching::MultivalueRules;
pub use settings::indexes::AckLevel;
pub use tagging::{EventType, TaggedValue};
