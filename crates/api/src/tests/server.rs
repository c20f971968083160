//! The REST service over stores in memory and a directory of the test's own.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use access::{
    Accounts, ApiTokens, AuthenticationSettings, Authority, HecTokens, NewUser, Permissions, Roles,
    Secrets, ServerSettings,
};
use apps::{Apps, Suppressions};
use axum::body::{Body, to_bytes};
use axum::http::{Method, Request, StatusCode, header};
use catalog::Catalog;
use conf::{Layer, Layers};
use ingest::{IndexCatalog, Ingest};
use inputs::configured::{Base, Bound, Configured, InputDependencies, Parts, RunningInputs};
use inputs::monitor::MonitorStatus;
use knowledge::Knowledge;
use model::IndexerId;
use object_store::ObjectStore;
use object_store::memory::InMemory;
use runtime::{Clock, SystemClock};
use search::{Dependencies, SearchService};
use serde_json::Value;
use testkit::TestDir;
use tower::ServiceExt;

use crate::{ApiState, ServerInfo};

/// Settings with secrets in them, known ones and one that no program knows.
const INPUTS: &str = "[http://conftok]\ntoken = 8f0c-secret\n[splunktcptoken://fwd]\ntoken = 77aa-secret\n\
                      [tcp-ssl://9999]\nsslPassword = tls-secret\ndisabled = 1\n\
                      [script:///made]\ndisabled = 1\n\
                      [splunktcp://9997]\ndisabled = 1\naws_access_key = AKIA-secret\nindex = main\n";

/// The key of the deployment server.
pub(crate) const DEPLOYMENT_KEY: &str = "a key";

pub(crate) struct Server {
    pub(crate) state: ApiState,
    _data: TestDir,
}

/// The response to a request.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|_| panic!("no JSON: {}", self.text))
    }
}

#[derive(Debug)]
struct Direct(Arc<dyn ObjectStore>);

impl search::Objects for Direct {
    fn counted(&self, _: &Arc<cache::SearchReads>) -> Arc<dyn ObjectStore> {
        Arc::clone(&self.0)
    }

    fn direct(&self) -> Option<Arc<dyn ObjectStore>> {
        Some(Arc::clone(&self.0))
    }
}

#[derive(Debug)]
struct Nothing;

impl crate::CacheView for Nothing {
    fn counters(&self) -> Vec<(&'static str, u64)> {
        Vec::new()
    }
}

impl crate::MetricsView for Nothing {
    fn render(&self) -> String {
        String::new()
    }
}

impl crate::LogLevels for Nothing {
    fn all(&self) -> Vec<(String, String)> {
        vec![("Api".to_owned(), "INFO".to_owned())]
    }
    fn set(&self, name: &str, _: &str) -> bool {
        name == "Api"
    }
}

#[derive(Debug)]
struct Observed;

impl crate::Observations for Observed {
    fn of(&self, component: &str) -> Vec<serde_json::Map<String, Value>> {
        let data = match component {
            "Hostwide" => serde_json::json!({"mem": 10.0, "mem_used": 2.5}),
            "PerProcess" => serde_json::json!({"pid": 7, "process": "splunkd"}),
            _ => serde_json::json!({"mount_point": "/data", "capacity": 10.0}),
        };
        data.as_object().cloned().into_iter().collect()
    }
}

impl crate::ConsoleFiles for Nothing {
    fn file(&self, path: &str) -> Option<(bytes::Bytes, String)> {
        (path == "index.html").then(|| ("the page".into(), "text/html".to_owned()))
    }
    fn packed(&self, _: &str) -> Option<bytes::Bytes> {
        None
    }
}

impl Server {
    /// A server with the users `admin`, `power`, `user`, `can_delete` and `nos` (no capability), and the
    /// indexes `open` and `closed`, an event in each.
    pub(crate) async fn start() -> Self {
        let server = Self::with_admin().await;
        Box::pin(server.fill()).await;
        server
    }

    /// A server with the user `admin` and the index `main`.
    pub(crate) async fn with_admin() -> Self {
        // The state of a server is large, and so is the future that makes it.
        Box::pin(Self::assemble()).await
    }

    async fn assemble() -> Self {
        let data = TestDir::new();
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let clock: Arc<dyn Clock> = Arc::new(SystemClock);
        let knowledge = Arc::new(Knowledge::new(layers()));
        let opened = Catalog::open(
            Arc::clone(&store),
            "catalog",
            catalog::Settings::default(),
            Arc::clone(&clock),
        );
        let catalog = opened.await.unwrap();
        let ingest = Ingest::start(ingest::Parts {
            data: data.path().to_owned(),
            indexer: IndexerId(uuid::Uuid::nil()),
            store: Arc::clone(&store),
            replicas: None,
            catalog: Arc::new(catalog.clone()),
            knowledge: Arc::clone(&knowledge),
            clock: Arc::clone(&clock),
            settings: ingest::Settings::default(),
        });
        let ingest = Arc::new(ingest.await.unwrap());
        let indexes = Arc::new(IndexCatalog::load(catalog.clone(), &knowledge).await.unwrap());
        let copies = data.path().join("installed");
        let installed = apps::InstalledApps::new(
            catalog.clone(),
            Arc::clone(&store),
            copies,
            Arc::clone(&clock),
        );
        let parts = apps::Parts {
            catalog: catalog.clone(),
            store: Arc::clone(&store),
            knowledge: Arc::clone(&knowledge),
            directory: Some(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/conf").into()),
            shared: false,
            installed: Some(Arc::new(installed)),
            ignored: Vec::new(),
            tolerate: |_| Vec::new(),
        };
        let apps = Apps::open(parts).unwrap();
        let search = SearchService::new(
            Dependencies {
                catalog: catalog.clone(),
                hot: Arc::new(bucket::LocalHot(ingest.hot())),
                views: bucket::OpenViews::default(),
                objects: Arc::new(Direct(store)),
                apps: apps.clone(),
                host: Arc::new(plan::EventsOnly),
                indexes: Arc::clone(&indexes) as Arc<dyn catalog::IndexNames>,
                workers: None,
                clock: Arc::clone(&clock),
                threads: search::SearchThreads::of(tokio::runtime::Handle::current()),
                tracer: runtime::trace::Tracer::default(),
            },
            search::Settings::default(),
        );
        let home = data.path().to_owned();
        let state =
            state(search.unwrap(), ingest, indexes, apps, knowledge, catalog, clock, home).await;
        let admin = NewUser {
            name: "admin".to_owned(),
            password: "changeme-1".to_owned(),
            roles: vec!["admin".to_owned()],
        };
        state.accounts.put(admin).await.unwrap();
        Self { state, _data: data }
    }

    async fn fill(&self) {
        self.made("/services/authorization/roles", &[("name", "nothing")]).await;
        for (name, role) in
            [("power", "power"), ("user", "user"), ("can_delete", "can_delete"), ("nos", "nothing")]
        {
            self.user(name, role).await;
        }
        for index in ["open", "closed"] {
            self.made("/services/data/indexes", &[("name", index)]).await;
            let path =
                format!("/services/receivers/simple?index={index}&sourcetype=st&host=h_{index}");
            let body = format!("word_{index} n=1");
            let sent = self.send("admin", Method::POST, &path, &body).await;
            assert!(sent.status.is_success(), "{sent:?}");
        }
    }

    pub(crate) async fn user(&self, name: &str, role: &str) {
        let form = [("name", name), ("password", "changeme-1"), ("roles", role)];
        self.made("/services/authentication/users", &form).await;
    }

    /// A role that imports `user`'s capabilities one by one, so that its indexes are its own.
    pub(crate) async fn role(&self, name: &str, settings: &[(&str, &str)]) {
        let capabilities = access::capabilities::USER.join(",");
        let mut form = vec![("name", name), ("capabilities", capabilities.as_str())];
        form.extend(settings);
        self.made("/services/authorization/roles", &form).await;
        self.user(name, name).await;
    }

    async fn made(&self, path: &str, form: &[(&str, &str)]) {
        let answer = self.post("admin", path, form).await;
        assert_eq!(answer.status, StatusCode::CREATED, "{path}: {answer:?}");
    }

    pub(crate) async fn get(&self, user: &str, path: &str) -> Answer {
        self.send(user, Method::GET, path, "").await
    }

    pub(crate) async fn post(&self, user: &str, path: &str, form: &[(&str, &str)]) -> Answer {
        let body = form_urlencoded::Serializer::new(String::new()).extend_pairs(form).finish();
        let separator = if path.contains('?') { '&' } else { '?' };
        let path = format!("{path}{separator}output_mode=json");
        self.send(user, Method::POST, &path, &body).await
    }

    /// The rows of a search as text.
    pub(crate) async fn search(&self, user: &str, search: &str) -> Answer {
        let form = [("search", search), ("exec_mode", "oneshot"), ("count", "0")];
        self.post(user, "/services/search/jobs", &form).await
    }

    /// A finished job's id.
    pub(crate) async fn job(&self, user: &str, search: &str) -> String {
        let form = [("search", search), ("exec_mode", "blocking")];
        let answer = self.post(user, "/services/search/jobs", &form).await;
        answer.json()["sid"].as_str().unwrap_or_else(|| panic!("{answer:?}")).to_owned()
    }

    /// Sends a request with any body; without credentials if the user's name is empty.
    pub(crate) async fn send(&self, user: &str, method: Method, path: &str, body: &str) -> Answer {
        let session = (!user.is_empty()).then(|| self.state.accounts.local_session(user));
        let answer = self.send_with(session.as_deref(), method, path, body).await;
        session.iter().for_each(|key| self.state.accounts.close_local_session(key));
        answer
    }

    /// Sends a request with the key of a session.
    pub(crate) async fn send_with(
        &self,
        key: Option<&str>,
        method: Method,
        path: &str,
        body: &str,
    ) -> Answer {
        let mut request = Request::builder().method(method).uri(path);
        if let Some(key) = key {
            request = request.header(header::AUTHORIZATION, format!("Splunk {key}"));
        }
        let request = request.body(Body::from(body.to_owned())).unwrap();
        let Ok(answer) = crate::rest_router(self.state.clone()).oneshot(request).await;
        let status = answer.status();
        let bytes = to_bytes(answer.into_body(), 64 << 20).await.unwrap();
        Answer { status, text: String::from_utf8_lossy(&bytes).into_owned() }
    }
}

#[allow(clippy::too_many_arguments)]
async fn state(
    search: SearchService,
    ingest: Arc<Ingest>,
    indexes: Arc<IndexCatalog>,
    apps: Apps,
    knowledge: Arc<Knowledge>,
    catalog: Catalog,
    clock: Arc<dyn Clock>,
    home: PathBuf,
) -> ApiState {
    let settings = Arc::new(crate::Settings::default());
    let authentication = AuthenticationSettings::default();
    let accounts = Accounts::load(catalog.clone(), authentication, Arc::clone(&clock));
    let accounts = accounts.await.unwrap();
    let api_tokens = ApiTokens::load(catalog.clone(), "test", &[7; ApiTokens::KEY_BYTES]).unwrap();
    let accounts = Arc::new(accounts);
    let roles = Arc::new(Roles::load(catalog.clone()).unwrap());
    let permissions = Arc::new(Permissions::load(catalog.clone(), BTreeMap::new()).unwrap());
    let authority =
        Authority::new(Arc::clone(&accounts), Arc::clone(&roles), Arc::clone(&permissions));
    let key = Secrets::new_key().unwrap();
    let inputs = running_inputs(&ingest, &indexes, home.join("inputs")).await;
    let deployment = deployment_server(&home);
    ApiState {
        search,
        ingest,
        directory: None,
        copy_fixups: Arc::default(),
        status_streams: crate::StatusStreams::default(),
        heads: None,
        indexers: None,
        accounts,
        roles,
        authority,
        api_tokens: Arc::new(api_tokens),
        tokens: Arc::new(HecTokens::load(catalog.clone()).await.unwrap()),
        messages: Arc::default(),
        server_settings: Arc::new(
            ServerSettings::load(catalog.clone(), settings.session_timeout).unwrap(),
        ),
        loggers: Arc::new(Nothing),
        deployment,
        discovery: Arc::new(
            deployment::IndexerDiscovery::read(&Layers::builtin(), Some(DEPLOYMENT_KEY)).unwrap(),
        ),
        audit: Arc::new(audit(home.join("audit"), &clock).await),
        control: crate::Control::default(),
        indexes,
        knowledge,
        apps,
        ending_apps: crate::EndingApps::default(),
        declared: Arc::new(declared()),
        intake: Arc::new(intake()),
        permissions,
        secrets: Arc::new(Secrets::load(catalog.clone(), &key).unwrap()),
        app_reports: Arc::new(NoReports),
        suppressions: Arc::new(Suppressions::load(catalog.clone()).unwrap()),
        catalog,
        cache: Arc::new(Nothing),
        metrics: Arc::new(Nothing),
        observations: Arc::new(Observed),
        inputs,
        files: MonitorStatus::default(),
        clock,
        shutdown: runtime::Shutdown::default(),
        health: runtime::health::Health::default(),
        info: Arc::new(ServerInfo {
            server_name: "test".to_owned(),
            host: "test-host".to_owned(),
            guid: String::new(),
            cores: 1,
            startup_time: 0,
            home,
            management_port: 8089,
            web_port: 8000,
            web_tls: false,
            memory: crate::MemoryLimits::default(),
            site: "site1".to_owned(),
            placement: cluster::Placement::default(),
        }),
        request_memory: runtime::Budget::new(256 << 20, Duration::from_secs(60)),
        settings,
        console: Arc::new(Nothing),
    }
}

/// The configuration files.
fn layers() -> Layers {
    let archive = "[main]\ncoldToFrozenDir = archived\n";
    let inputs = Layers::builtin().with(Layer::SystemLocal, "inputs", INPUTS);
    inputs.with(Layer::SystemLocal, "indexes", archive)
}

/// The settings of some parts, and one that the command line sets.
fn declared() -> crate::Declared {
    let registry = conf::Registry::new(&[
        knowledge::settings::DECLARED,
        inputs::settings::DECLARED,
        ingest::DECLARED,
        search::DECLARED,
        &[cache::Settings::SETTINGS, plan::Limits::SETTINGS],
        crate::DECLARED,
    ]);
    let flag = crate::FlagSetting {
        conf: "server",
        stanza: "cachemanager",
        name: "dram_size",
        value: "64".to_owned(),
        flag: "--cache-dram-mib (KARST_CACHE_DRAM_MIB)",
    };
    crate::Declared { registry, flags: vec![flag], started: Vec::new() }.started_with(&layers())
}

/// The ports that an indexer has, one of them off.
fn intake() -> crate::Intake {
    let port = |kind, address: Option<&str>, flag, variable| crate::IntakePort {
        kind,
        address: address.map(|address| address.parse().unwrap()),
        tls: true,
        flag,
        variable,
    };
    let hec = Some("0.0.0.0:8088");
    crate::Intake {
        is_indexer: true,
        ports: vec![
            port(crate::IntakeKind::Hec, hec, "--hec-address", "KARST_HEC_ADDRESS"),
            port(crate::IntakeKind::OtlpGrpc, None, "--otlp-grpc", "KARST_OTLP_GRPC"),
        ],
        ..crate::Intake::default()
    }
}

/// A deployment server that has the app `base` for everybody.
fn deployment_server(home: &Path) -> Arc<deployment::DeploymentServer> {
    let work = home.join("deployment");
    let app = work.join("deployment-apps/base/default");
    std::fs::create_dir_all(&app).unwrap();
    std::fs::write(app.join("inputs.conf"), "[monitor:///var/log]\n").unwrap();
    let classes = "[serverClass:all]\nwhitelist.0 = *\n[serverClass:all:app:base]\n";
    let server = deployment::DeploymentServer::new(deployment::Parts {
        conf_dir: None,
        layers: Layers::builtin().with(Layer::SystemLocal, "serverclass", classes),
        work,
        token: Some(DEPLOYMENT_KEY.to_owned()),
        server_name: "test".to_owned(),
    });
    server.reload(1).unwrap();
    Arc::new(server)
}

/// Inputs that run, none at first.
async fn running_inputs(
    ingest: &Arc<Ingest>,
    indexes: &Arc<IndexCatalog>,
    state: PathBuf,
) -> RunningInputs {
    let indexes = Arc::clone(indexes);
    let running = RunningInputs::new(InputDependencies {
        host: "test".into(),
        monitor: inputs::monitor::MonitorSettings::default(),
        parts: Parts {
            state,
            aws: BTreeMap::new(),
            files: MonitorStatus::default(),
            own: inputs::OwnDirectories::default(),
        },
        sink: Arc::clone(ingest) as Arc<dyn inputs::Sink>,
        check_index: Arc::new(move |index| indexes.check_takes(index)),
    });
    let base = Base {
        always: Configured::default(),
        forwarders: Arc::new(drop),
        tls: None,
        shutdown: runtime::Shutdown::default(),
    };
    let nothing = conf::Effective { conf: "inputs".to_owned(), stanzas: Vec::new() };
    running.start(base, &nothing, Bound::default()).await;
    running
}

async fn audit(folder: PathBuf, clock: &Arc<dyn Clock>) -> crate::Audit {
    let key = audit::Key::new(&[7; audit::Key::BYTES]);
    let settings = audit::Settings::default();
    let log = audit::AuditLog::open(folder, key, settings, Arc::clone(clock), Vec::new());
    crate::Audit::new(log.await.unwrap().log, crate::Proxies::default(), 10)
}

/// Finds nothing wrong in apps.
#[derive(Debug)]
struct NoReports;

impl crate::AppReports for NoReports {
    fn report(&self, package: &apps::Package) -> apps::Installed {
        apps::report(package, apps::Target::Server, &conf::Registry::new(&[]))
    }

    fn searches(&self, _: &apps::Package) -> Vec<apps::AppSearch> {
        Vec::new()
    }

    fn check_searches(
        &self,
        _: &[apps::AppSearch],
        _: &Knowledge,
        _: &Knowledge,
    ) -> apps::SearchCheck {
        apps::SearchCheck::default()
    }

    fn mistakes(&self, _: &Knowledge, _: &[conf::Warning]) -> Vec<(Option<String>, String)> {
        Vec::new()
    }

    fn warnings(&self, _: &Knowledge, _: &std::collections::BTreeSet<&str>) -> Vec<String> {
        Vec::new()
    }

    fn ignored(&self, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn notes(&self, _: &str) -> Vec<String> {
        Vec::new()
    }

    fn read(&self) -> Result<apps::FileRules, String> {
        let rules = Arc::new(Knowledge::new(layers()));
        Ok(apps::FileRules { rules, ignored: Arc::default() })
    }
}
