//! One file per REST resource: its routes with their rights, the request, the domain call and the response.

mod addresses;
mod api_tokens;
mod app_files;
pub(crate) mod apps;
mod auth;
mod buckets;
pub(crate) mod bundle;
mod cluster;
mod cluster_control;
mod cluster_fixup;
mod cluster_offline;
mod cluster_views;
pub(crate) mod cluster_watch;
mod complete;
mod concurrency_settings;
pub(crate) mod console;
mod cost;
mod data_indexes;
pub(crate) mod data_inputs;
mod declared_settings;
pub(crate) mod deployment_broker;
mod deployment_server;
mod directory;
mod explain;
mod export;
mod feed;
pub(crate) mod health;
mod hec_tokens;
mod indexer_discovery;
mod indexes_extended;
mod inputstatus;
mod job_entry;
mod job_heads;
mod job_status;
mod job_stream;
mod jobs;
mod kvstore;
mod lookups;
mod maintenance;
mod messages;
mod metrics;
mod object_directory;
mod objects;
mod observations;
mod oidc;
mod parser;
mod passwords;
pub(crate) mod preview;
mod properties;
mod props;
mod receivers;
mod reload;
mod resource;
mod results;
mod roles;
mod saml;
mod saved_searches;
mod search_bundle;
mod search_peers;
mod server;
mod settings;
mod single_sign_on;
pub(crate) mod sql;
mod users;

use crate::routing::Routes;
#[cfg(test)]
use crate::tests::cases::Case;

/// Collects the declarations of the files: their routes, and the requests of tests.
macro_rules! routes {
    ($(#[$doc:meta] $group:ident: $($file:ident),* $(,)?;)*) => {
    $(
        #[$doc]
        pub(crate) fn $group() -> Routes {
            Routes::default()$(.merge($file::routes()))*
        }
    )*

        /// All routes.
        #[cfg(test)]
        pub(crate) fn all() -> Routes {
            Routes::default()$(.merge($group()))*
        }

        /// Returns the test requests with their responses, file by file.
        #[cfg(test)]
        pub(crate) fn cases() -> Vec<(&'static str, Vec<Case>)> {
            vec![$($((stringify!($file), $file::cases()),)*)*]
        }
    };
}

routes! {
    /// Routes that are answered to everybody, without reading a body.
    open: app_files, health, metrics;

    /// Routes by which a session begins.
    login: auth, oidc, saml, single_sign_on;

    /// Routes of machines without a session, which prove a key of their own with each request.
    keyed: deployment_broker, indexer_discovery;

    /// Routes that require a session, with their other declarations.
    guarded:
        addresses,
        api_tokens,
        apps,
        buckets,
        bundle,
        cluster,
        cluster_control,
        cluster_fixup,
        cluster_offline,
        cluster_views,
        complete,
        concurrency_settings,
        cost,
        data_indexes,
        data_inputs,
        declared_settings,
        deployment_server,
        directory,
        explain,
        export,
        hec_tokens,
        indexes_extended,
        inputstatus,
        job_status,
        job_stream,
        jobs,
        kvstore,
        lookups,
        maintenance,
        messages,
        object_directory,
        objects,
        observations,
        parser,
        passwords,
        preview,
        properties,
        props,
        receivers,
        results,
        roles,
        saved_searches,
        search_peers,
        server,
        settings,
        sql,
        users;
}
