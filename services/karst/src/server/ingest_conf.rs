//! Settings of ingest, from `server.conf` and `indexes.conf`, overridden by the command line.

use anyhow::Result;
use conf::Layers;
use ingest::Settings;

use crate::config::{ServerOptions, aws_variables};

/// The effective settings.
pub(crate) fn settings(layers: &Layers, options: &ServerOptions) -> Result<Settings> {
    let mut settings = Settings::read(layers)?;
    if let Some(sets) = options.parallel_ingestion_pipelines {
        settings.parallel_ingestion_pipelines = sets;
    }
    if let Some(mib) = options.max_data_size_mib {
        settings.max_data_size = mib << 20;
    }
    settings.lifecycle.archive_options.variables = aws_variables();
    Ok(settings)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use anyhow::bail;
    use clap::Parser;
    use conf::Layer;
    use ingest::Codec;

    use super::*;
    use crate::config::{Arguments, Command};

    #[test]
    fn files_set_what_the_command_line_does_not() {
        let conf = "[general]\nparallelIngestionPipelines = 2\n[queue]\nmaxSize = 8MB\n\
                    [diskUsage]\nminFreeSpace = 100\n[ingest]\njournalCodec = none\n\
                    mergeCpuPercent = 50\nmaxSpoolSize = 7";
        let settings = read(conf, &["--max-data-size-mib", "3"]).unwrap();
        assert_eq!(settings.parallel_ingestion_pipelines, 2);
        assert_eq!((settings.queue_size, settings.min_free_space), (8 << 20, 100 << 20));
        assert_eq!((settings.journal_codec, settings.max_spool_size), (Codec::None, 7 << 20));
        assert_eq!((settings.lifecycle.merge_cpu_percent, settings.max_data_size), (50, 3 << 20));
        let given = read(conf, &["--parallel-ingestion-pipelines", "5"]).unwrap();
        assert_eq!(given.parallel_ingestion_pipelines, 5);
    }

    #[test]
    fn a_bad_value_names_its_place() {
        let error = read("[queue]\nmaxSize = much", &[]).unwrap_err().to_string();
        assert!(error.contains("maxSize = much"), "{error}");
    }

    fn read(conf: &str, arguments: &[&str]) -> Result<Settings> {
        let layers = Layers::builtin().with(Layer::SystemLocal, "server", conf);
        let arguments = ["karst", "server"].iter().chain(arguments);
        let Command::Server(options) = Arguments::try_parse_from(arguments)?.command else {
            bail!("not the server")
        };
        settings(&layers, &options)
    }
}
