//! `deploymentclient.conf`: the deployment server, the interval of requests, and the connection.

use std::path::PathBuf;
use std::time::Duration;

use conf::{Layers, Reader, Setting, Type, Unit};
use deployment::Key;

use crate::outputs::{Endpoint, Outputs, Server, TlsSettings, URI, address_of};
use crate::{Error, settings as outputs};

const CLIENT: &str = "deployment-client";
const TARGET: &str = "target-broker:deploymentServer";
const SECONDS: Type = Type::of(Unit::Seconds, 1, 86_400);

conf::keys! {
    "deploymentclient"["deployment-client"] {
        /// Whether the deployment client is disabled.
        DISABLED: bool = "disabled", "false", Type::Boolean;
        /// Name that whitelists are matched against. Default: the identity of the forwarder.
        CLIENT_NAME: Option<String> = "clientName", "", Type::Text;
        /// Interval between requests to the deployment server, with a random variation of 10 %.
        INTERVAL: Duration = "phoneHomeIntervalInSecs", "60", SECONDS;
        /// Maximum size of the files of an app, which are in memory during the installation; larger apps
        /// are refused.
        MAX_APP_SIZE: u64 = "maxAppSize", "100MB", Type::size(1);
        /// Maximum number of files of an app.
        MAX_APP_FILES: usize = "maxAppFiles", "10000", Type::range(1, 1_000_000);
    }
    "deploymentclient"["target-broker:deploymentServer"] {
        /// The deployment server: `host:port` of its management API, or `https://host:port`. With
        /// `http://`, connections are not encrypted.
        TARGET_URI: Option<String> = "targetUri", "", Type::Text;
    }
    "deploymentclient"["deployment-client, target-broker:deploymentServer"] {
        /// Time limit for connecting.
        CONNECT_TIMEOUT: Duration = "connect_timeout", "20", SECONDS;
        /// Maximum time without data from the server.
        RECV_TIMEOUT: Duration = "recv_timeout", "60", SECONDS;
        /// Whether the server's certificate is verified. Default: true if a file of certificates is set.
        /// Responses are always signed with the shared key.
        VERIFY: Option<bool> = "sslVerifyServerCert", "", Type::Boolean;
        /// File with trusted certificates.
        CA_FILE: Option<String> = "caCertFile", "", Type::Text;
        /// The same setting, with its name in `outputs.conf`.
        ROOT_CA: Option<String> = "sslRootCAPath", "", Type::Text;
        /// Name in the server's certificate, if it differs from the name in `targetUri`.
        COMMON_NAME: Option<String> = "sslCommonNameToCheck", "", Type::Text;
    }
}

/// Settings of Splunk's file that have no effect: apps are kept below the data directory, and Karst's
/// protocol has one request for each purpose.
const UNUSED: &[Setting] = &conf::without_effect(
    "deploymentclient",
    [
        "appEventsResyncIntervalInSecs",
        "cipherSuite",
        "ecdhCurves",
        "endpoint",
        "handshakeReplySubscriptionRetry",
        "handshakeRetryIntervalInSecs",
        "reloadDSOnAppInstall",
        "repositoryLocation",
        "send_timeout",
        "serverEndpointPolicy",
        "serverRepositoryLocationPolicy",
        "sslAltNameToCheck",
        "sslVerifyServerName",
        "sslVersions",
        "workingDir",
    ],
);

/// The declarations of this file.
pub(crate) const DECLARED: &[&[Setting]] = &[SETTINGS, UNUSED];

/// The connection to a forwarder's deployment server.
#[derive(Debug, Clone)]
pub(crate) struct ClientSettings {
    /// The server, for display.
    pub(crate) uri: String,
    pub(crate) endpoint: Endpoint,
    pub(crate) name: Option<String>,
    pub(crate) interval: Duration,
    pub(crate) limits: deployment::Limits,
    /// `None` if there is no key, without which no request can be made.
    pub(crate) key: Option<Key>,
}

impl ClientSettings {
    /// Reads the settings; `None` if no deployment server is configured.
    ///
    /// # Errors
    /// The first error, with its place.
    pub(crate) fn read(layers: &Layers) -> Result<Option<Self>, Error> {
        let conf = layers.effective("deploymentclient");
        let client = Reader::new(&conf, CLIENT);
        let target = Reader::new(&conf, TARGET).or(CLIENT);
        let uri = target.get(&TARGET_URI)?;
        let Some(uri) = uri.filter(|_| !client.get(&DISABLED).unwrap_or(false)) else {
            client.get(&DISABLED)?;
            return Ok(None);
        };
        let Some((address, is_plain)) = address_of(&uri) else {
            return Err(target.wrong(&TARGET_URI, URI).into());
        };
        let root = target.get(&CA_FILE)?.or(target.get(&ROOT_CA)?).map(PathBuf::from);
        let verify = target.get(&VERIFY)?.unwrap_or(root.is_some());
        if verify && root.is_none() && !is_plain {
            let expected = "caCertFile, a file of trusted certificates, beside it";
            return Err(target.wrong(&VERIFY, expected).into());
        }
        let name = target.get(&COMMON_NAME)?;
        let tls = (!is_plain).then(|| TlsSettings { root: root.filter(|_| verify), name });
        let token = forwarding_token(layers);
        let key = Key::read(layers, token.as_deref());
        Ok(Some(Self {
            endpoint: Endpoint {
                server: Server { address, tls, id: None },
                connect_timeout: target.get(&CONNECT_TIMEOUT)?,
                recv_timeout: target.get(&RECV_TIMEOUT)?,
            },
            uri,
            name: client.get(&CLIENT_NAME)?,
            interval: client.get(&INTERVAL)?,
            limits: deployment::Limits {
                bytes: client.get(&MAX_APP_SIZE)?,
                files: client.get(&MAX_APP_FILES)?,
            },
            key: key.map_err(|error| Error::setting("server.conf", error.to_string()))?,
        }))
    }
}

/// The token for indexers: that of the default groups, or of `[tcpout]`.
fn forwarding_token(layers: &Layers) -> Option<String> {
    let conf = layers.effective("outputs");
    let general = Reader::new(&conf, "tcpout").get(&outputs::TOKEN).ok().flatten();
    let of_groups = || {
        let outputs = Outputs::read(&conf).ok()?;
        let mut groups = outputs.default_groups.iter().filter_map(|at| outputs.groups.get(*at));
        groups.find_map(|group| Some(group.token.clone()).filter(|token| !token.is_empty()))
    };
    general.or_else(of_groups)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use conf::Layer;

    use super::*;

    fn read(text: &str) -> Result<Option<ClientSettings>, Error> {
        let layers = Layers::builtin().with(Layer::SystemLocal, "deploymentclient", text);
        ClientSettings::read(&layers)
    }

    #[test]
    fn the_server_is_asked_with_tls_unless_it_says_http() {
        let of = |text: &str| read(text).unwrap().unwrap();
        let target = "[target-broker:deploymentServer]\ntargetUri = ";
        let plain = of(&format!("{target}http://ds:8089\n")).endpoint.server;
        assert_eq!((plain.address.as_str(), plain.tls), ("ds:8089", None));
        for uri in ["ds:8089", "https://ds:8089/"] {
            let one = of(&format!("{target}{uri}\n")).endpoint.server;
            assert_eq!(one.address, "ds:8089");
            assert_eq!(one.tls, Some(TlsSettings { root: None, name: None }));
        }
        let text = "[deployment-client]\nclientName = web\nphoneHomeIntervalInSecs = 5\nmaxAppSize = 1MB\n\
                    caCertFile = /ca.pem\n[target-broker:deploymentServer]\ntargetUri = ds:8089\n\
                    sslCommonNameToCheck = karst\n";
        let one = of(text);
        let tls = TlsSettings { root: Some("/ca.pem".into()), name: Some("karst".to_owned()) };
        assert_eq!((one.endpoint.server.tls, one.name.as_deref()), (Some(tls), Some("web")));
        assert_eq!((one.interval.as_secs(), one.limits.bytes), (5, 1 << 20));
    }

    #[test]
    fn without_a_target_or_disabled_nobody_is_asked() {
        for text in [
            "",
            "[deployment-client]\nclientName = a\n",
            "[deployment-client]\ndisabled = 1\n[target-broker:deploymentServer]\ntargetUri = a:1\n",
        ] {
            assert!(read(text).unwrap().is_none(), "{text}");
        }
    }

    #[test]
    fn mistakes_are_named_with_their_place() {
        let target = "[target-broker:deploymentServer]\n";
        for (text, part) in [
            ("targetUri = ds", "expected host:port"),
            ("targetUri = ds:8089/x", "expected host:port"),
            ("targetUri = ftp://ds:8089", "expected host:port"),
            ("targetUri = ds:1\nsslVerifyServerCert = true", "caCertFile"),
            ("targetUri = ds:1\nrecv_timeout = soon", "a whole number of seconds"),
        ] {
            let error = read(&format!("{target}{text}")).unwrap_err().to_string();
            assert!(error.contains(part) && error.contains("deploymentclient.conf:"), "{error}");
        }
    }

    #[test]
    fn the_key_is_its_own_or_that_of_the_outputs() {
        let target = "[target-broker:deploymentServer]\ntargetUri = ds:1\n";
        let has = |outputs: &str, server: &str| {
            let layers = Layers::builtin()
                .with(Layer::SystemLocal, "deploymentclient", target)
                .with(Layer::SystemLocal, "outputs", outputs)
                .with(Layer::SystemLocal, "server", server);
            let key = ClientSettings::read(&layers).unwrap().unwrap().key;
            key.map(|key| key.sign("a", b"b"))
        };
        let of = |secret: &str| Key::of(secret).map(|key| key.sign("a", b"b"));
        let group = "[tcpout]\ndefaultGroup = a\n[tcpout:a]\nserver = b:1\ntoken = group\n";
        assert_eq!(has("", ""), None);
        assert_eq!(has(group, ""), of("group"));
        assert_eq!(has("[tcpout]\ntoken = all\n", ""), of("all"));
        assert_eq!(has(group, "[deployment]\npass4SymmKey = own\n"), of("own"));
    }
}
