//! Apps: their `.conf` files and what is made beside them at run time - macros, saved searches, lookups,
//! collections - as searches see them and REST changes them.
//!
//! Guarantees: a change is durable when it is answered, and the next search sees it; what a user sees depends
//! on the user and the app alone ([`Namespace`]). Files of apps are never written: what is changed stands in
//! the catalog and in object storage, so a search head keeps nothing. Apps that are installed at run time
//! ([`Apps::install`], [`Apps::apply_bundle`]) are in object storage, too, and in force in all processes.
//! Leaves to others: what settings mean (`knowledge`), who may change them (`api`).
//!
//! ```text
//! files of apps ----+
//! installed apps ---+--> Layers --view(user, app)--> Knowledge   (searches)
//! catalog objects --+
//! object storage: installed/<app>/<digest>, lookups/<owner>/<app>/<file>,
//!                 collections/<owner>/<app>/<name>/<number>
//! ```

mod apps;
mod blocking;
mod bundle;
#[cfg(test)]
mod bundle_tests;
mod collections;
mod conf_changes;
mod conf_lines;
#[cfg(test)]
mod copies_tests;
mod digest;
#[cfg(test)]
mod disabled_tests;
mod documents;
mod error;
#[cfg(test)]
mod export_tests;
mod exported_files;
mod gains;
mod install;
mod installation;
mod installed;
#[cfg(test)]
mod installed_tests;
mod listing;
mod lookup_files;
mod lookups;
mod media_types;
mod models;
mod namespace;
mod objects;
mod package;
mod pages;
mod python;
mod query;
pub mod redaction;
mod room;
mod rules;
mod searches;
pub mod simple_xml;
mod spool;
mod static_files;
mod suppressions;
#[cfg(test)]
mod tests;
mod transfer;
#[cfg(test)]
mod transfer_tests;
mod views;

pub use apps::{
    AppFiles, AppInfo, Applied, Apps, Export, ExportTurn, FileRules, ObjectChange, Parts, Reloaded,
    Tolerate,
};
pub use bundle::{Applier, Applying, BundleLock, Change, Validated, read_bundle};
pub use collections::{Collection, MAX_BATCH};
pub use documents::{FieldTypes, changed_names};
pub use error::Error;
pub use gains::Gain;
pub use install::{Install, Installed, Remark, Target, counts_installed, install, report};
pub use installation::{Bundle, Bundles, Installation};
pub use installed::InstalledApps;
pub use lookup_files::{LookupBytes, LookupFile};
pub use media_types::media_type;
pub use namespace::{NOBODY, Namespace, SEARCH, SYSTEM, Sharing};
pub use objects::{ConfObject, Settings};
pub use package::{Listed, Package, PackedFile};
pub use pages::TEXT;
pub use query::{Page, Query};
pub use room::Room;
pub use searches::{AppSearch, Missing, SearchCheck};
pub use spool::{Archive, Spool};
pub use static_files::StaticFile;
pub use suppressions::Suppressions;
pub use transfer::{Changes, InEffect, pack_changes};
