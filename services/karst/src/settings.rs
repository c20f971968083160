//! All declared settings of the server: for warnings, `btool`, apps, and the pages in `docs/conf`.

use conf::{Registry, Setting};

use crate::server;

/// Settings of Splunk's `server.conf` that have no effect.
const UNUSED: &[Setting] = &conf::without_effect(
    "server",
    [
        "available_sites",
        "cipherSuite",
        "enableSplunkdSSL",
        "eviction_policy",
        "hotlist_recency_secs",
        "indexerWeightByDiskCapacity",
        "master_uri",
        "max_fixup_time_ms",
        "port",
        "search_factor",
        "serverCert",
        "site_search_factor",
        "sslPassword",
        "sslVersions",
    ],
);

/// The settings of all crates of the server.
pub(crate) fn registry() -> Registry {
    Registry::new(&[
        &[runtime::store::Options::SETTINGS, catalog::LeaseSettings::SETTINGS],
        &[catalog::Settings::SETTINGS],
        &[audit::Settings::SETTINGS, cache::Settings::SETTINGS, plan::Limits::SETTINGS],
        knowledge::settings::DECLARED,
        search::DECLARED,
        saml::DECLARED,
        access::settings::DECLARED,
        inputs::settings::DECLARED,
        ingest::DECLARED,
        introspection::DECLARED,
        peers::DECLARED,
        replication::DECLARED,
        cluster::DECLARED,
        deployment::DECLARED,
        &[transport::Settings::SETTINGS],
        api::DECLARED,
        server::DECLARED,
        &[UNUSED],
    ])
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::disallowed_methods)]
mod tests {
    use std::collections::BTreeSet;
    use std::fs;
    use std::path::{Path, PathBuf};

    use conf::{Effect, Layers};

    use super::*;

    fn root() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
    }

    #[test]
    fn pages_are_written_from_the_declarations() {
        let registry = registry();
        for conf in registry.confs() {
            let path = root().join(format!("docs/conf/{conf}.md"));
            let page = registry.page(conf);
            if std::env::var_os("KARST_BLESS").is_some() {
                fs::write(&path, page).unwrap();
                continue;
            }
            let written = fs::read_to_string(&path).unwrap_or_default();
            assert!(written == page, "docs/conf/{conf}.md: run this test with KARST_BLESS=1");
        }
    }

    #[test]
    fn every_setting_is_declared_once_for_a_stanza_and_described() {
        let registry = registry();
        for conf in registry.confs() {
            let mut seen = BTreeSet::new();
            for setting in registry.settings(conf) {
                let Setting { stanza, name, default, kind, .. } = *setting;
                assert!(seen.insert((stanza, name)), "{conf}.conf [{stanza}] {name} twice");
                let description = setting.description();
                assert!(description.len() > 10, "{conf}.conf [{stanza}] {name}: {description}");
                let fits = default.is_empty() || kind.read(default).is_some();
                assert!(fits, "{conf}.conf [{stanza}] {name}: the default {default}");
            }
            let unused = registry.settings(conf).filter(|one| one.effect == Effect::None);
            for name in unused.map(|setting| setting.name) {
                let used = registry
                    .settings(conf)
                    .any(|one| one.effect != Effect::None && one.name == name);
                assert!(!used, "{conf}.conf {name} is declared, too");
            }
        }
    }

    #[test]
    fn built_in_files_repeat_the_declared_defaults() {
        let (registry, layers) = (registry(), Layers::builtin());
        for conf in registry.confs() {
            for (_, stanza) in layers.stanzas(conf) {
                assert_eq!(registry.check(conf, stanza), []);
                assert_eq!(registry.invalid(conf, stanza), []);
                // Source types and the like have values of their own.
                if conf != "limits" && conf != "server" && stanza.name != "default" {
                    continue;
                }
                for entry in &stanza.entries {
                    let setting = registry.find(conf, &stanza.name, &entry.key).unwrap();
                    assert_eq!(entry.value, setting.default, "{}", entry.place);
                }
            }
        }
    }

    /// A declaration that is read but not listed would be reported as unknown.
    #[test]
    fn every_declaration_in_the_code_is_listed() {
        let registry = registry();
        let mut found = 0;
        for folder in fs::read_dir(root().join("crates")).unwrap() {
            found += check(&folder.unwrap().path().join("src"), &registry);
        }
        found += check(&root().join("services/karst/src"), &registry);
        assert!(found > 250, "{found}");
    }

    fn check(path: &Path, registry: &Registry) -> usize {
        if path.is_dir() {
            let entries = fs::read_dir(path).unwrap();
            return entries.map(|entry| check(&entry.unwrap().path(), registry)).sum();
        }
        let text = fs::read_to_string(path).unwrap_or_default();
        if path.ends_with("conf/src/declare.rs")
            || !text.contains("conf::settings! {") && !text.contains("conf::keys! {")
        {
            return 0;
        }
        let (mut conf, mut found) = ("", 0);
        for line in text.lines().map(str::trim) {
            let quoted = |at: usize| line.split('"').nth(at).unwrap_or_default();
            if line.starts_with('"') && line.ends_with("\"] {") {
                conf = quoted(1);
            }
            let name = match line.split_once(" = \"") {
                _ if line.starts_with('"') && line.contains(" => pub ") => quoted(1),
                Some((key, _)) if key.starts_with(|c: char| c.is_ascii_uppercase()) => quoted(1),
                _ => continue,
            };
            found += 1;
            let known = registry.settings(conf).any(|setting| setting.name == name);
            assert!(known, "{}: {conf}.conf {name} is missing in DECLARED", path.display());
        }
        found
    }
}
