//! The sandbox of programs that searches start: what of this server is private, and whether it is complete.

use std::path::PathBuf;

use runtime::metrics as names;

use super::inputs::written_directories;
use crate::config::ServerOptions;

/// Keeps the files of this server from programs, and reports what the system cannot restrict.
pub(crate) fn restrict(settings: &mut search::Settings, options: &ServerOptions) {
    settings.scripts.private_paths = private_paths(options);
    let reason = settings.scripts.unrestricted();
    let complete = if reason.is_none() { 1.0 } else { 0.0 };
    metrics::gauge!(names::SCRIPTS_RESTRICTED).set(complete);
    if let Some(reason) = reason {
        tracing::warn!(%reason, "programs of apps run without a complete sandbox");
    }
}

/// The directories that the server writes to, its configuration, keys and passwords.
fn private_paths(options: &ServerOptions) -> Vec<PathBuf> {
    let given = [
        &options.conf_dir,
        &options.cluster_dir,
        &options.tls_key,
        &options.password_file,
        &options.hec_token_file,
        &options.metrics_token_file,
    ];
    written_directories(options).into_iter().chain(given.into_iter().flatten().cloned()).collect()
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use clap::Parser;

    use super::*;
    use crate::config::{Arguments, Command};

    #[test]
    fn data_configuration_and_keys_are_private() {
        let words = [
            "karst",
            "server",
            "--data-dir=/opt/karst/data",
            "--conf-dir=/opt/karst/etc",
            "--cache-dir=/opt/fast",
            "--tls-cert=/opt/tls/cert.pem",
            "--tls-key=/opt/tls/key.pem",
        ];
        let Command::Server(options) = Arguments::parse_from(words).command else {
            unreachable!("it is server")
        };
        let mut settings = search::Settings::default();
        restrict(&mut settings, &options);
        let private = settings.scripts.private_paths;
        for path in ["/opt/karst/data", "/opt/karst/etc", "/opt/fast/cache", "/opt/tls/key.pem"] {
            assert!(private.iter().any(|one| one == Path::new(path)), "{path}: {private:?}");
        }
        assert!(!private.iter().any(|one| one == Path::new("/opt/tls/cert.pem")));
    }
}
