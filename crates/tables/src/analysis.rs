//! Statistics over the fields of all rows: one module per command, with the command's options as a struct
//! that implements [`Operation`](crate::Operation).

pub mod analyzefields;
pub mod anomalies;
pub mod anomalousvalue;
pub mod anomalydetection;
pub mod arules;
pub mod associate;
pub mod cluster;
pub mod cofilter;
pub mod concurrency;
pub mod contingency;
pub mod correlate;
pub mod fieldsummary;
pub mod findtypes;
pub mod folderize;
pub mod gauge;
pub mod kmeans;
pub mod outlier;
pub mod overlap;
pub(crate) mod statistics;
