//! The events that a process writes about itself, under Splunk's names: `metrics.log`,
//! `license_usage.log`, `splunkd.log` and `splunkd_access.log` for the index `_internal`,
//! `resource_usage.log` and `disk_objects.log` for `_introspection`. The numbers of `metrics.log` are also
//! data points for `_metrics`.
//!
//! ```text
//! counters, queues, tallies, /proc -> Sample -> MetricsLog, License, ... -> OwnEvent -> (services: ingest)
//! ```
//!
//! Pure except for `/proc`, which [`Proc`] reads: numbers in, texts out. Counters only grow; a log keeps
//! the previous values and writes the differences. `services` decides when events are written and where.
//! `docs/own-events.md` has all names and fields.
#![cfg_attr(test, allow(clippy::disallowed_methods))]

mod access;
mod counters;
mod disk_objects;
mod license;
mod line;
mod metrics_log;
mod points;
mod proc;
mod resource_usage;
mod settings;
mod splunkd_log;

pub use access::Access;
pub use counters::Counters;
pub use disk_objects::{StoredIndex, disk_objects};
pub use license::License;
pub use metrics_log::{Concurrency, Instance, MetricsLog, Sample};
pub use points::Points;
pub use proc::Proc;
pub use resource_usage::{ResourceUsage, RunningSearch};
pub use settings::{DECLARED, DiskObjects, Metrics, Resources, Settings};
pub use splunkd_log::SplunkdLog;

use model::EventTime;

/// The log of an own event.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Log {
    /// Throughput, queues, caches.
    Metrics,
    /// Bytes indexed.
    LicenseUsage,
    /// Warnings and errors.
    Splunkd,
    /// Requests of REST.
    Access,
    /// Use of the machine and the process.
    ResourceUsage,
    /// Indexes and file systems.
    DiskObjects,
}

impl Log {
    /// The index of its events.
    #[must_use]
    pub const fn index(self) -> &'static str {
        match self {
            Self::Metrics | Self::LicenseUsage | Self::Splunkd | Self::Access => "_internal",
            Self::ResourceUsage | Self::DiskObjects => "_introspection",
        }
    }

    /// The source of its events: the name of Splunk's log file.
    #[must_use]
    pub const fn source(self) -> &'static str {
        match self {
            Self::Metrics => "/var/log/splunk/metrics.log",
            Self::LicenseUsage => "/var/log/splunk/license_usage.log",
            Self::Splunkd => "/var/log/splunk/splunkd.log",
            Self::Access => "/var/log/splunk/splunkd_access.log",
            Self::ResourceUsage => "/var/log/introspection/resource_usage.log",
            Self::DiskObjects => "/var/log/introspection/disk_objects.log",
        }
    }

    /// The source type of its events.
    #[must_use]
    pub const fn sourcetype(self) -> &'static str {
        match self {
            Self::Metrics | Self::LicenseUsage | Self::Splunkd => "splunkd",
            Self::Access => "splunkd_access",
            Self::ResourceUsage => "splunk_resource_usage",
            Self::DiskObjects => "splunk_disk_objects",
        }
    }
}

/// An event about this process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OwnEvent {
    /// The log of the event.
    pub log: Log,
    /// The time of the event.
    pub time: EventTime,
    /// Its text.
    pub text: String,
    /// Its numbers for the index `_metrics`, if it has some.
    pub points: Option<Points>,
}
