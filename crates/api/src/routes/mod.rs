//! One file per REST resource: request to domain call to answer.

pub(crate) mod apps;
pub(crate) mod auth;
pub(crate) mod buckets;
pub(crate) mod complete;
pub(crate) mod console;
pub(crate) mod data_indexes;
mod feed;
pub(crate) mod health;
pub(crate) mod hec_tokens;
pub(crate) mod inputstatus;
mod job_entry;
pub(crate) mod jobs;
pub(crate) mod messages;
pub(crate) mod metrics;
pub(crate) mod parser;
pub(crate) mod receivers;
pub(crate) mod server;
pub(crate) mod sql;
pub(crate) mod users;
