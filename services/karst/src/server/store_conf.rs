//! Settings of the cache and object storage, from `server.conf` and `indexes.conf`, overridden by
//! the command line.

use anyhow::Result;
use conf::Layers;
use runtime::store::Options;

use crate::config::{ServerOptions, aws_variables};

/// The settings of object storage.
pub(crate) fn store(layers: &Layers) -> Result<Options> {
    Ok(Options { variables: aws_variables(), ..Options::read(layers)? })
}

/// The settings of the cache.
pub(crate) fn cache(layers: &Layers, options: &ServerOptions) -> Result<cache::Settings> {
    let mut settings = cache::Settings::read(layers)?;
    settings.directory = options.data.data_dir.join("cache");
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
    use conf::Layer;

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

    fn read_cache(conf: &str, arguments: &[&str]) -> Result<cache::Settings> {
        let layers = Layers::builtin().with(Layer::SystemLocal, "server", conf);
        let arguments = ["karst", "server"].iter().chain(arguments);
        let Command::Server(options) = Arguments::try_parse_from(arguments)?.command else {
            bail!("not the server")
        };
        cache(&layers, &options)
    }
}
