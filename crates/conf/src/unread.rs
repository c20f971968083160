//! Files of Splunk that Karst does not read, each with its replacement.
//!
//! A file in which an administrator grants rights or sends alerts must not be ignored silently. Files that
//! only affect the pages of Splunk (`ui-tour` and others) are not listed.

use crate::file::Warning;
use crate::layers::Layers;

/// Names without `.conf`, in order, with the alternatives in Karst.
const UNREAD: &[(&str, &str)] = &[
    ("alert_actions", "alert actions are not run"),
    ("audit", "the audit trail is set up in server.conf [audit]"),
    (
        "authorize",
        "create roles over REST (/services/authorization/roles) or in the console; roles of apps are not used",
    ),
    ("crawl", "name the files in inputs.conf"),
    ("event_renderers", "events are shown without it"),
    ("federated", "there are no searches of other deployments"),
    ("health", "the limits of the health report cannot be changed"),
    ("literals", "texts of the console cannot be changed"),
    ("livetail", "there is no live tail"),
    ("messages", "texts of messages cannot be changed"),
    ("metric_alerts", "alert actions are not run"),
    ("metric_rollups", "metrics are not rolled up"),
    ("outputs", "the server forwards no events; karst-forwarder does"),
    ("passwords", "store passwords over REST (/services/storage/passwords)"),
    ("procmon-filters", "there is no input of processes of Windows"),
    ("pubsub", "there is no such service"),
    ("regmon-filters", "there is no input of the registry of Windows"),
    ("restmap", "REST endpoints of apps are not served"),
    ("segmenters", "the segmentation of events cannot be changed"),
    ("source-classifier", "source types are recognized without it"),
    ("sourcetypes", "source types are recognized without it"),
    ("splunk-launch", "set variables of the environment where the program is started"),
    ("telemetry", "no telemetry is sent"),
    ("user-seed", "create users with karst user"),
    ("wmi", "there is no WMI input"),
    ("workload_policy", "searches are limited in limits.conf and by the quotas of roles"),
    ("workload_pools", "searches are limited in limits.conf and by the quotas of roles"),
    ("workload_rules", "searches are limited in limits.conf and by the quotas of roles"),
];

/// A warning for each of these files that has settings. `is_read`: whether this program reads a file.
pub(crate) fn warnings(layers: &Layers, is_read: impl Fn(&str) -> bool) -> Vec<Warning> {
    let mut warnings = Vec::new();
    for (conf, instead) in UNREAD.iter().filter(|(conf, _)| !is_read(conf)) {
        let mut last: Option<&str> = None;
        for (_, stanza) in layers.stanzas(conf) {
            // Stanzas of the same file are consecutive.
            if stanza.entries.is_empty() || last == Some(&*stanza.place.file) {
                continue;
            }
            last = Some(&stanza.place.file);
            let text = format!("{conf}.conf is not read: {instead}");
            warnings.push(Warning { place: stanza.place.clone(), text });
        }
    }
    warnings
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layers::Layer;

    #[test]
    fn a_file_that_is_not_read_is_reported_once() {
        let app = Layer::AppDefault("a".to_owned());
        let layers = Layers::default()
            .with(Layer::SystemLocal, "authorize", "[role_x]\nsearch = enabled\n[role_y]\na = b\n")
            .with(app, "authorize", "[role_z]\nsearch = enabled\n")
            .with(Layer::SystemLocal, "outputs", "[tcpout]\nserver = a:1\n")
            .with(Layer::SystemLocal, "wmi", "[settings]\n");
        let shown: Vec<String> =
            warnings(&layers, |conf| conf == "outputs").iter().map(ToString::to_string).collect();
        assert_eq!(shown.len(), 2, "{shown:?}");
        assert!(
            shown[0].starts_with("system/local/authorize.conf:1: authorize.conf is not read: ")
        );
        assert!(shown[1].starts_with("apps/a/default/authorize.conf:1: "), "{shown:?}");
        assert!(shown[0].contains("/services/authorization/roles"), "{shown:?}");
    }

    #[test]
    fn names_are_sorted_and_unique() {
        assert!(UNREAD.is_sorted_by(|a, b| a.0 < b.0));
    }
}
