//! Accounts, roles, tokens and secrets of the server.

use std::sync::Arc;

use access::{
    Accounts, ApiTokens, AuthenticationSettings, Authority, HecTokens, Permissions, Roles, Secrets,
    ServerSettings,
};
use anyhow::Result;
use catalog::Catalog;
use knowledge::Knowledge;

use super::{Base, api_settings, host_name};
use crate::server::cluster::Cluster;
use crate::server::http_conf::HttpServer;
use crate::server::identity;

/// Users, roles and permissions.
#[derive(Debug)]
pub(super) struct Access {
    pub(super) accounts: Arc<Accounts>,
    pub(super) roles: Arc<Roles>,
    pub(super) permissions: Arc<Permissions>,
    pub(super) authority: Authority,
    pub(super) tokens: Arc<HecTokens>,
    pub(super) api_tokens: Arc<ApiTokens>,
    pub(super) secrets: Arc<Secrets>,
    pub(super) server_settings: Arc<ServerSettings>,
    pub(super) settings: Arc<api::Settings>,
}

impl Access {
    pub(super) async fn load(
        base: &Base<'_>,
        (catalog, cluster): (&Catalog, &Cluster),
        rules: &Knowledge,
        (authentication, http): (AuthenticationSettings, &HttpServer),
    ) -> Result<Self> {
        let session_timeout = authentication.sessions.idle;
        let settings = Arc::new(api::Settings { session_timeout, ..api_settings(http) });
        let server_settings = ServerSettings::load(catalog.clone(), session_timeout)?;
        let timeout = server_settings.session_timeout().unwrap_or(session_timeout);
        let clock = Arc::clone(&base.clock);
        let mut accounts = Accounts::load(catalog.clone(), authentication, clock).await?;
        accounts.set_session_timeout(timeout);
        if cluster.is_one_of_many() {
            accounts.share_sessions();
        } else {
            accounts.keep_sessions();
        }
        let token_key = match cluster.key("tokens") {
            Some(key) => key,
            None => identity::token_key(base.data())?,
        };
        let secret_key = match cluster.key("secrets") {
            Some(key) => key,
            None => identity::secret_key(base.data())?,
        };
        let accounts = Arc::new(accounts);
        let roles = Arc::new(Roles::load(catalog.clone())?);
        let metadata = rules.layers().access();
        let permissions = Arc::new(Permissions::load(catalog.clone(), metadata)?);
        let authority =
            Authority::new(Arc::clone(&accounts), Arc::clone(&roles), Arc::clone(&permissions));
        Ok(Self {
            accounts,
            roles,
            permissions,
            authority,
            tokens: Arc::new(HecTokens::load(catalog.clone()).await?),
            api_tokens: Arc::new(ApiTokens::load(catalog.clone(), &host_name(), &token_key)?),
            secrets: Arc::new(Secrets::load(catalog.clone(), &secret_key)?),
            server_settings: Arc::new(server_settings),
            settings,
        })
    }
}
