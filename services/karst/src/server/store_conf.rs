//! Settings of the cache and object storage, from `server.conf` and `indexes.conf`, overridden by
//! the command line.

use anyhow::Result;
use knowledge::layers::Layers;
use runtime::store::Options;

use super::conf::{self, Key, key, megabytes, milliseconds, size};
use crate::config::{ServerOptions, aws_variables};

/// Bytes in memory.
fn bytes(count: u64) -> Option<usize> {
    usize::try_from(count).ok()
}

const CACHE: &[Key<cache::Settings>] = &[
    key("server", "cachemanager", "max_cache_size", |to, text| {
        to.nvme_bytes = bytes(megabytes(text)?)?;
        Some(())
    }),
    key("server", "cachemanager", "eviction_padding", |to, text| {
        to.nvme_reserve_bytes = bytes(megabytes(text)?)?;
        Some(())
    }),
    key("server", "cachemanager", "dram_size", |to, text| {
        to.dram_bytes = bytes(megabytes(text)?)?;
        Some(())
    }),
    key("server", "cachemanager", "index_percent", |to, text| {
        to.index_percent = text.parse().ok()?;
        Some(())
    }),
    key("server", "cachemanager", "block_size", |to, text| {
        to.block_bytes = bytes(size(text)?)?;
        Some(())
    }),
    key("server", "cachemanager", "index_block_size", |to, text| {
        to.index_block_bytes = bytes(size(text)?)?;
        Some(())
    }),
    key("server", "cachemanager", "max_request_size", |to, text| {
        to.fetch_bytes = bytes(size(text)?)?;
        Some(())
    }),
    key("server", "cachemanager", "request_gap", |to, text| {
        to.gap_bytes = bytes(size(text)?)?;
        Some(())
    }),
    key("server", "cachemanager", "max_concurrent_downloads", |to, text| {
        to.parallel_fetches = text.parse().ok()?;
        Some(())
    }),
    key("server", "cachemanager", "hedge_percent", |to, text| {
        to.hedge_percent = text.parse().ok()?;
        Some(())
    }),
    key("server", "cachemanager", "hedge_min_delay_ms", |to, text| {
        to.hedge_min_delay = milliseconds(text)?;
        Some(())
    }),
    key("server", "cachemanager", "write_buffer_size", |to, text| {
        to.nvme_buffer_bytes = bytes(size(text)?)?;
        Some(())
    }),
];

const STORE: &[Key<Options>] = &[
    key("indexes", "default", "remote.s3.max_count.max_retries_per_part", |to, text| {
        to.retries = text.parse().ok()?;
        Some(())
    }),
    key("indexes", "default", "remote.s3.retry_timeout", |to, text| {
        to.retry_time = milliseconds(text)?;
        Some(())
    }),
    key("indexes", "default", "remote.s3.timeout.connect", |to, text| {
        to.connect_timeout = milliseconds(text)?;
        Some(())
    }),
    key("indexes", "default", "remote.s3.timeout.read", |to, text| {
        to.timeout = milliseconds(text)?;
        Some(())
    }),
];

/// The settings of object storage.
pub(crate) fn store(layers: &Layers) -> Result<Options> {
    let mut options = Options { variables: aws_variables(), ..Options::default() };
    conf::apply(STORE, layers, &mut options)?;
    Ok(options)
}

/// The settings of the cache.
pub(crate) fn cache(layers: &Layers, options: &ServerOptions) -> Result<cache::Settings> {
    let mut settings = cache::Settings {
        nvme_bytes: 4096 << 20,
        directory: options.data.data_dir.join("cache"),
        ..cache::Settings::default()
    };
    conf::apply(CACHE, layers, &mut settings)?;
    if let Some(mib) = options.cache_dram_mib {
        settings.dram_bytes = mib << 20;
    }
    if let Some(mib) = options.cache_nvme_mib {
        settings.nvme_bytes = mib << 20;
    }
    Ok(settings)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::time::Duration;

    use anyhow::bail;
    use clap::Parser;
    use knowledge::layers::Layer;

    use super::*;
    use crate::config::{Arguments, Command};

    #[test]
    fn files_set_what_the_command_line_does_not() {
        let conf = "[cachemanager]\nmax_cache_size = 100\ndram_size = 300\nblock_size = 128KB\n\
                    hedge_percent = 2.5\nmax_concurrent_downloads = 7";
        let settings = read_cache(conf, &["--cache-dram-mib", "64"]).unwrap();
        assert_eq!((settings.nvme_bytes, settings.dram_bytes), (100 << 20, 64 << 20));
        assert_eq!((settings.block_bytes, settings.parallel_fetches), (128 << 10, 7));
        assert!((settings.hedge_percent - 2.5).abs() < 1e-9);
        assert_eq!(read_cache("", &[]).unwrap().nvme_bytes, 4096 << 20);
    }

    #[test]
    fn retries_and_timeouts_are_those_of_the_file() {
        let conf = "[default]\nremote.s3.max_count.max_retries_per_part = 2\n\
                    remote.s3.timeout.connect = 250";
        let options = store(&Layers::builtin().with(Layer::SystemLocal, "indexes", conf)).unwrap();
        assert_eq!((options.retries, options.connect_timeout), (2, Duration::from_millis(250)));
    }

    #[test]
    fn a_bad_value_names_its_place() {
        let error = read_cache("[cachemanager]\nblock_size = big", &[]).unwrap_err().to_string();
        assert!(error.contains("block_size = big"), "{error}");
    }

    #[test]
    fn every_key_is_known_to_the_registry() {
        let keys = CACHE.iter().map(|key| (key.conf, key.name));
        for (conf, name) in keys.chain(STORE.iter().map(|key| (key.conf, key.name))) {
            let known = knowledge::registry::find(conf, name);
            assert!(known.is_some_and(|setting| setting.honoured), "{name}");
        }
    }

    fn read_cache(conf: &str, arguments: &[&str]) -> Result<cache::Settings> {
        let layers = Layers::builtin().with(Layer::SystemLocal, "server", conf);
        let arguments = ["karst", "server"].iter().chain(arguments);
        let Command::Server(options) = Arguments::try_parse_from(arguments)?.command else {
            bail!("not the server")
        };
        cache(&layers, &options)
    }
}
