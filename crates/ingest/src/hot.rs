//! Hot buckets: events in memory that are searchable at once, until their bucket is in the catalog.

pub(crate) mod aside;
pub(crate) mod attempts;
pub(crate) mod indexed;
pub(crate) mod lanes;
pub(crate) mod limits;
pub(crate) mod one_object;
pub(crate) mod put;
pub(crate) mod recovery;
pub(crate) mod roll;
pub(crate) mod rows;
pub(crate) mod sift;
pub(crate) mod spool;
pub(crate) mod store;
pub(crate) mod stored;
pub(crate) mod upload;
