//! The command line as the API reports it: the settings that flags replace, and the ports for events.

use ::inputs::configured::TlsSettings;
use api::{Declared, FlagSetting, Intake, IntakeKind, IntakePort};
use conf::Layers;

use super::forwarding;
use super::roles::Roles;
use crate::config::ServerOptions;

/// Returns all declared settings, and those that the command line sets in place of files, with those derived
/// from the memory limit.
pub(crate) fn declared(options: &ServerOptions, derived: Vec<FlagSetting>) -> Declared {
    let mut flags = derived;
    let mut add = |value: Option<String>, stanza, name, flag| {
        let set = value.map(|value| FlagSetting { conf: "server", stanza, name, value, flag });
        flags.extend(set);
    };
    add(
        options.parallel_ingestion_pipelines.map(|sets| sets.to_string()),
        "general",
        "parallelIngestionPipelines",
        "--parallel-ingestion-pipelines (KARST_PARALLEL_INGESTION_PIPELINES)",
    );
    let site = options.site.clone().filter(|site| !site.is_empty());
    add(site, "general", "site", "--site (KARST_SITE)");
    let name = options.server_name.clone().filter(|name| !name.is_empty());
    add(name, "general", "serverName", "--server-name (KARST_SERVER_NAME)");
    add(
        options.max_data_size_mib.map(|mib| format!("{mib}MB")),
        "ingest",
        "maxBucketSize",
        "--max-data-size-mib (KARST_MAX_DATA_SIZE_MIB)",
    );
    add(
        options.cache_dram_mib.map(|mib| mib.to_string()),
        "cachemanager",
        "dram_size",
        "--cache-dram-mib (KARST_CACHE_DRAM_MIB)",
    );
    add(
        options.cache_nvme_mib.map(|mib| mib.to_string()),
        "cachemanager",
        "max_cache_size",
        "--cache-nvme-mib (KARST_CACHE_NVME_MIB)",
    );
    add(
        options.metrics_token.clone(),
        "httpServer",
        "metricsToken",
        "--metrics-token or --metrics-token-file (KARST_METRICS_TOKEN, KARST_METRICS_TOKEN_FILE)",
    );
    Declared { registry: crate::settings::registry(), flags, started: Vec::new() }
}

/// Returns the ports that receive events, and those that are off.
pub(crate) fn intake(options: &ServerOptions, layers: &Layers, roles: Roles) -> Intake {
    // If there are mistakes in it, no sender is accepted.
    let input_tls = TlsSettings::read(&layers.effective("inputs")).unwrap_or_default();
    let hec = |kind, address: Option<_>, flag, variable| {
        let tls = address.is_some_and(|address| options.hec_tls.at(address));
        IntakePort { kind, address, tls, flag, variable }
    };
    let (forwarding, tls) = forwarding::address(options).unzip();
    Intake {
        is_indexer: roles.indexer,
        has_own_certificate: options.tls_cert.is_some(),
        forwarders_need_token: options.forwarding_token.is_some(),
        inputs_need_certificate: input_tls.client_ca.is_some(),
        ports: vec![
            hec(IntakeKind::Hec, Some(options.hec_address), "--hec-address", "KARST_HEC_ADDRESS"),
            hec(IntakeKind::OtlpGrpc, options.otlp_grpc, "--otlp-grpc", "KARST_OTLP_GRPC"),
            hec(IntakeKind::OtlpHttp, options.otlp_http, "--otlp-http", "KARST_OTLP_HTTP"),
            hec(
                IntakeKind::Elasticsearch,
                options.elasticsearch,
                "--elasticsearch",
                "KARST_ELASTICSEARCH",
            ),
            hec(IntakeKind::Loki, options.loki, "--loki", "KARST_LOKI"),
            IntakePort {
                kind: IntakeKind::Forwarders,
                address: forwarding,
                tls: tls.unwrap_or(options.forwarding_tls),
                flag: "--forwarding-address",
                variable: "KARST_FORWARDING_ADDRESS",
            },
            IntakePort {
                kind: IntakeKind::Management,
                address: Some(options.management_address),
                tls: !options.management_plain,
                flag: "--management-address",
                variable: "KARST_MANAGEMENT_ADDRESS",
            },
        ],
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::Parser;
    use conf::Layers;

    use super::*;
    use crate::config::{Arguments, Command};
    use crate::server::{http_conf, ingest_conf, store_conf};

    fn options(flags: &[&str]) -> ServerOptions {
        let arguments = Arguments::parse_from([&["karst", "server"], flags].concat());
        let Command::Server(options) = arguments.command else { unreachable!("it is server") };
        *options
    }

    #[test]
    fn what_flags_set_is_declared_and_means_what_the_file_would_mean() {
        let flags = [
            "--parallel-ingestion-pipelines=3",
            "--max-data-size-mib=5",
            "--cache-dram-mib=64",
            "--cache-nvme-mib=7",
            "--metrics-token=secret",
            "--site=site2",
            "--server-name=indexer2",
        ];
        let options = options(&flags);
        let Declared { registry, flags, .. } = declared(&options, Vec::new());
        assert_eq!(flags.len(), 7);
        let mut layers = Layers::builtin();
        for FlagSetting { conf, stanza, name, value, .. } in &flags {
            let setting = registry.find(conf, stanza, name).unwrap();
            assert_eq!((setting.stanza, setting.name), (*stanza, *name));
            let text = format!("[{stanza}]\n{name} = {value}\n");
            layers = layers.with(conf::Layer::SystemLocal, conf, &text);
        }
        let none = self::options(&[]);
        let same = |of: &ServerOptions, layers: &Layers| {
            let ingest = ingest_conf::settings(layers, of).unwrap();
            let cache = store_conf::cache(layers, of).unwrap();
            let http = http_conf::settings(layers, of).unwrap();
            (
                (ingest.parallel_ingestion_pipelines, ingest.max_data_size),
                (cache.dram_bytes, cache.nvme_bytes),
                http.metrics_token,
            )
        };
        assert_eq!(same(&options, &Layers::builtin()), same(&none, &layers));
        assert_eq!(declared(&none, Vec::new()).flags, []);
        let of_a_label_that_is_missing = self::options(&["--site="]);
        assert_eq!(declared(&of_a_label_that_is_missing, Vec::new()).flags, []);
    }

    #[test]
    fn ports_are_on_off_plain_and_with_tls_as_the_flags_say() {
        let options = options(&[
            "--otlp-grpc=0.0.0.0:4317",
            "--loki=127.0.0.1:3100",
            "--forwarding-address=0.0.0.0:9997",
        ]);
        let roles = Roles { control_plane: true, indexer: true, search_head: true };
        let intake = intake(&options, &Layers::builtin(), roles);
        let told = |kind| {
            let port = intake.ports.iter().find(|port| port.kind == kind).unwrap();
            (port.address.map(|address| address.port()), port.tls)
        };
        assert_eq!(told(IntakeKind::Hec), (Some(8088), false));
        assert_eq!(told(IntakeKind::OtlpGrpc), (Some(4317), true));
        assert_eq!(told(IntakeKind::Elasticsearch), (None, false));
        assert_eq!(told(IntakeKind::Loki), (Some(3100), false));
        assert_eq!(told(IntakeKind::Forwarders), (Some(9997), false));
        assert_eq!(told(IntakeKind::Management), (Some(8089), true));
    }
}
