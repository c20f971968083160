//! Settings of ingest, from `server.conf` and `indexes.conf`, overridden by the command line.

use anyhow::Result;
use ingest::{Codec, Settings};
use knowledge::layers::Layers;

use super::conf::{self, Key, key, megabytes, milliseconds, seconds, size};
use crate::config::{ServerOptions, aws_variables};

const KEYS: &[Key<Settings>] = &[
    key("server", "general", "parallelIngestionPipelines", |to, text| {
        to.parallel_ingestion_pipelines = text.parse().ok()?;
        Some(())
    }),
    key("server", "queue", "maxSize", |to, text| {
        to.queue_size = size(text)?;
        Some(())
    }),
    key("server", "diskUsage", "minFreeSpace", |to, text| {
        to.min_free_space = megabytes(text)?;
        Some(())
    }),
    key("indexes", "default", "rotatePeriodInSecs", |to, text| {
        to.lifecycle.rotate_period = seconds(text).filter(|time| !time.is_zero())?;
        Some(())
    }),
    key("server", "ingest", "journalCodec", |to, text| {
        to.journal_codec = match text {
            "none" => Codec::None,
            "lz4" => Codec::Lz4,
            "zstd" => Codec::Zstd,
            _ => return None,
        };
        Some(())
    }),
    key("server", "ingest", "journalGroupIntervalMs", |to, text| {
        to.journal_group_interval = milliseconds(text)?;
        Some(())
    }),
    key("server", "ingest", "journalGroupSize", |to, text| {
        to.journal_group_size = usize::try_from(size(text)?).ok()?;
        Some(())
    }),
    key("server", "ingest", "journalSegmentSize", |to, text| {
        to.journal_segment_size = size(text)?;
        Some(())
    }),
    key("server", "ingest", "maxJournalSize", |to, text| {
        to.max_journal_size = size(text)?;
        Some(())
    }),
    key("server", "ingest", "queueWaitSecs", |to, text| {
        to.queue_wait = seconds(text)?;
        Some(())
    }),
    key("server", "ingest", "maxEventSize", |to, text| {
        to.max_event_size = usize::try_from(size(text)?).ok()?;
        Some(())
    }),
    key("server", "ingest", "maxRejectedSize", |to, text| {
        to.max_rejected_size = size(text)?;
        Some(())
    }),
    key("server", "ingest", "maxEventFields", |to, text| {
        to.max_event_fields = text.parse().ok()?;
        Some(())
    }),
    key("server", "ingest", "maxFieldNameSize", |to, text| {
        to.max_field_name_size = usize::try_from(size(text)?).ok()?;
        Some(())
    }),
    key("server", "ingest", "maxEventDepth", |to, text| {
        to.max_event_depth = text.parse().ok()?;
        Some(())
    }),
    key("server", "ingest", "maxHotMemory", |to, text| {
        to.max_hot_memory = size(text)?;
        Some(())
    }),
    key("server", "ingest", "maxBucketSize", |to, text| {
        to.max_data_size = size(text)?;
        Some(())
    }),
    key("server", "ingest", "maxSpoolSize", |to, text| {
        to.max_spool_size = megabytes(text)?;
        Some(())
    }),
    key("server", "ingest", "remoteAckIntervalSecs", |to, text| {
        to.remote_ack_interval = seconds(text)?;
        Some(())
    }),
    key("server", "ingest", "encodeConcurrency", |to, text| {
        to.encode_concurrency = text.parse().ok()?;
        Some(())
    }),
    key("server", "ingest", "uploadConcurrency", |to, text| {
        to.upload_concurrency = text.parse().ok()?;
        Some(())
    }),
    key("server", "ingest", "multipartThreshold", |to, text| {
        to.multipart_threshold = size(text)?;
        Some(())
    }),
    key("server", "ingest", "mergeConcurrency", |to, text| {
        to.lifecycle.merge_concurrency = text.parse().ok()?;
        Some(())
    }),
    key("server", "ingest", "mergeCpuPercent", |to, text| {
        to.lifecycle.merge_cpu_percent =
            text.parse().ok().filter(|percent| (1..=100).contains(percent))?;
        Some(())
    }),
    key("server", "ingest", "mergeMaxBytes", |to, text| {
        to.lifecycle.merge_max_bytes = size(text)?;
        Some(())
    }),
    key("server", "ingest", "mergeMinBuckets", |to, text| {
        to.lifecycle.merge_min_buckets = text.parse().ok()?;
        Some(())
    }),
    key("server", "ingest", "mergeMinAgeSecs", |to, text| {
        to.lifecycle.merge_min_age = seconds(text)?;
        Some(())
    }),
    key("server", "ingest", "mergeDeleteGraceSecs", |to, text| {
        to.lifecycle.merge_delete_grace = seconds(text)?;
        Some(())
    }),
];

/// The effective settings.
pub(crate) fn settings(layers: &Layers, options: &ServerOptions) -> Result<Settings> {
    let mut settings = Settings::default();
    conf::apply(KEYS, layers, &mut settings)?;
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
    use knowledge::layers::Layer;

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

    #[test]
    fn every_key_is_known_to_the_registry() {
        for key in KEYS {
            let known = knowledge::registry::find(key.conf, key.name);
            assert!(known.is_some_and(|setting| setting.honoured), "{}", key.name);
        }
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
