//! Hot buckets: events in memory that are searchable at once, until their bucket is in the catalog.

pub(crate) mod limits;
pub(crate) mod recovery;
pub(crate) mod rows;
pub(crate) mod store;
pub(crate) mod upload;
