//! `.conf` files: their syntax, their layers, and the settings in them, each declared once.
//!
//! A declaration ([`settings!`], [`keys!`]) has stanza, key, type, default and description. It yields the
//! field of a struct, its default, the reader with its errors, the warnings of `btool`, the pages in
//! `docs/conf` and the data of forms ([`Setting`]). Not here: the effects of settings, and the list of
//! crates with settings (`services/karst/src/settings.rs`).
//!
//! Pure: the only I/O is [`Layers::read`], which reads a directory of `.conf` files.
//!
//! ```text
//! file (syntax) -> layers (which file's value counts) -> reader (typed values by declaration)
//!                                                     -> registry (warnings, pages, forms)
//! ```

mod declare;
mod error;
mod file;
mod layers;
mod metadata;
mod page;
mod reader;
mod registry;
mod setting;
mod unread;
mod values;

pub use error::{Error, Invalid};
pub use file::{ConfFile, Entry, Place, Stanza, Warning};
pub use layers::{Effective, Files, Layer, Layers};
pub use metadata::Access;
pub use reader::{Confs, Reader};
pub use registry::{LEFT_OUT, Registry, nearest_name};
pub use setting::{Effect, FromValue, Key, Setting, Type, Unit, Value, notes, without_effect};
pub use values::{boolean, size, time_span};
