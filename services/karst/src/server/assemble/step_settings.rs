//! Settings of the parts of the server, each with its share of the memory.

use anyhow::Result;
use conf::Layers;
use runtime::Budget;

use super::{Base, spill_directory};
use crate::server::directories::Directories;
use crate::server::memory::Memory;
use crate::server::{ingest_conf, request_conf, store_conf};

/// Settings of the parts of the server.
#[derive(Debug)]
pub(super) struct StepSettings {
    pub(super) search: search::Settings,
    pub(super) ingest: ingest::Settings,
    pub(super) cache: cache::Settings,
    pub(super) catalog: catalog::Settings,
    pub(super) peers: peers::Settings,
    pub(super) own_events: introspection::Settings,
    pub(super) request_memory: Budget,
}

impl StepSettings {
    pub(super) async fn read(
        base: &Base<'_>,
        (memory, directories): (&Memory, &Directories),
        mut search: search::Settings,
    ) -> Result<Self> {
        let Base { options, layers, .. } = *base;
        search.spill_directory = Some(spill_directory(base.data()).await?);
        memory.limit_search(&mut search);
        let mut ingest = ingest_conf::settings(layers, options)?;
        memory.limit_ingest(&mut ingest);
        let mut cache = store_conf::cache(layers, options)?;
        memory.limit_cache(&mut cache);
        cache.directory = directories.cache().to_owned();
        let mut catalog = catalog::Settings::read(layers)?;
        memory.limit_catalog(&mut catalog);
        let mut peers = peers::Settings::read(layers)?;
        memory.limit_peers(&mut peers);
        let own_events = introspection::Settings::read(layers)?;
        let request_memory = request_conf::budget(layers, memory.requests())?;
        Ok(Self { search, ingest, cache, catalog, peers, own_events, request_memory })
    }

    /// Changes the settings of searches as they were changed over REST. The layers have the changes, which
    /// are known only after the catalog is open. Invalid ones do not prevent a start. Returns whether the
    /// changes are in force.
    pub(super) fn change(search: &mut search::Settings, layers: &Layers, memory: &Memory) -> bool {
        let read = search::Settings::of(&layers.of_server());
        let is_valid = read.is_ok();
        match read {
            Ok(now) => *search = search.changed(&now),
            Err(error) => tracing::warn!("settings of searches from REST are ignored: {error}"),
        }
        memory.limit_search(search);
        is_valid
    }
}

#[cfg(test)]
mod tests {
    use conf::Layer;

    use super::*;

    #[test]
    fn stored_settings_of_the_system_are_in_force_and_objects_of_apps_are_not() {
        let text = "[search]\nmax_count = 7\nttl = soon";
        let layers = Layers::builtin()
            .with(Layer::AppStored("search".to_owned()), "limits", text)
            .with(Layer::SystemStored, "limits", "[search]\nttl = 9");
        let mut search = search::Settings::default();
        assert!(StepSettings::change(&mut search, &layers, &Memory::default()));
        assert_eq!(search.ttl.as_secs(), 9);
        assert_eq!(search.max_count, search::Settings::default().max_count);
        let invalid = layers.with(Layer::SystemStored, "limits", "[stats]\nlist_maxsize = x");
        assert!(!StepSettings::change(&mut search, &invalid, &Memory::default()));
        assert_eq!(search.ttl.as_secs(), 9);
    }
}
