//! Intervals of own events. Names are those of Splunk, if Splunk has the setting.

use std::time::Duration;

use conf::{Setting, Type};

conf::settings! {
    /// Events of metrics.log, license_usage.log and splunkd_access.log.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Metrics {
        "limits"["metrics"] {
            /// Whether the server's events about itself are disabled. Its log and the audit trail are not
            /// affected.
            "disabled" => pub disabled: bool = "false", Type::Boolean;
            /// Interval between events of metrics.log, license_usage.log and splunkd_access.log.
            "interval" => pub interval: Duration = "30", Type::seconds(1);
            /// Maximum number of series per group in metrics.log, largest first. Splunk: 10.
            "maxseries" => pub max_series: usize = "200", Type::number(1);
        }
    }
}

conf::settings! {
    /// Events of resource_usage.log.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Resources {
        "server"["introspection:generator:resource_usage"] {
            /// Whether events about the machine and the process are disabled.
            "disabled" => pub disabled: bool = "false", Type::Boolean;
            /// Interval between events about the machine and the process. Splunk: 10.
            "collectionPeriodInSecs" => pub period: Duration = "30", Type::seconds(1);
        }
    }
}

conf::settings! {
    /// Events of disk_objects.log.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct DiskObjects {
        "server"["introspection:generator:disk_objects"] {
            /// Whether events about indexes and file systems are disabled.
            "disabled" => pub disabled: bool = "false", Type::Boolean;
            /// Interval between events about indexes and file systems.
            "collectionPeriodInSecs" => pub period: Duration = "600", Type::seconds(1);
        }
    }
}

/// Settings of all own events.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Settings {
    /// Settings of metrics.log, license_usage.log and splunkd_access.log; `disabled` applies to all logs.
    pub metrics: Metrics,
    /// Settings of resource_usage.log.
    pub resources: Resources,
    /// Settings of disk_objects.log.
    pub disk_objects: DiskObjects,
}

impl Settings {
    /// Reads the settings from `.conf` files.
    ///
    /// # Errors
    /// The first invalid value, with its place.
    pub fn read(layers: &conf::Layers) -> Result<Self, conf::Invalid> {
        Ok(Self {
            metrics: Metrics::read(layers)?,
            resources: Resources::read(layers)?,
            disk_objects: DiskObjects::read(layers)?,
        })
    }
}

/// All declarations of this crate.
pub const DECLARED: &[&[Setting]] =
    &[Metrics::SETTINGS, Resources::SETTINGS, DiskObjects::SETTINGS];
