//! `/services/deployment/server`: the forwarders that phone home, server classes, apps, and reading them
//! again.

use axum::response::Response;
use deployment::{Client, ClientApp, KnownApp, View};
use model::ErrorKind;
use serde_json::{Map, Value, json};

use super::feed;
use super::resource::{About, Access, Resource};
use crate::ApiState;
use crate::atom::Entry;
use crate::call::Call;
use crate::error::RestError;
use crate::rights::Need::May;
use crate::routing::{Routes, get, post};
#[cfg(test)]
use crate::tests::cases::{Case, case};
use crate::work::work_on_part;

const CLIENTS: &str = "/services/deployment/server/clients";
const MACHINES: &str = "/services/deployment/server/clients/countClients_by_machineType";
const CLASSES: &str = "/services/deployment/server/serverclasses";
const APPS: &str = "/services/deployment/server/applications";
const CONFIG: &str = "/services/deployment/server/config";
const RELOAD: &str = "/services/deployment/server/config/_reload";

pub(super) fn routes() -> Routes {
    let see = May("list_deployment_server");
    let edit = May("edit_deployment_server");
    let shown = Access { list: Some(see), show: Some(see), ..Access::default() };
    let removable = Access { remove: Some(edit), ..shown };
    Routes::default()
        .resource(CLIENTS, &Clients, &removable)
        .at(MACHINES, get(see, "Number of forwarders by machine type", machines))
        .resource(CLASSES, &Classes, &shown)
        .resource(APPS, &Applications, &shown)
        .at(CONFIG, get(see, "State of the deployment server", config))
        .at(RELOAD, post(edit, "Reloads serverclass.conf and the apps", reload))
}

/// Returns the settings that were read last.
fn view(state: &ApiState) -> Result<View, RestError> {
    state.deployment.view().ok_or_else(|| {
        let reason = state.deployment.error();
        let reason = reason.unwrap_or_else(|| "it has not been read yet".to_owned());
        let text = format!("the deployment server has no configuration: {reason}");
        RestError::of_kind(ErrorKind::Unavailable, text)
    })
}

struct Clients;

fn application(name: &str, app: &ClientApp) -> Value {
    json!({
        "action": app.action(),
        "appname": name,
        "checksum": app.wanted,
        "failedReason": app.failed,
        "installedChecksum": app.installed,
        "restartSplunkd": app.restart,
        "result": app.result(),
        "serverclasses": app.classes,
        "size": app.bytes,
        "stateOnClient": app.state,
    })
}

impl Resource for Clients {
    type Item = Client;

    fn about(&self) -> About {
        let (one, many) = ("a forwarder that has phoned home", "forwarders that have phoned home");
        About { title: "deploymentserverclients", path: CLIENTS, one, many }
    }

    fn entry(&self, _: &Call, client: &Client) -> Result<Entry, RestError> {
        let facts = &client.facts;
        let apps: Map<String, Value> =
            client.apps.iter().map(|(name, app)| (name.clone(), application(name, app))).collect();
        let classes: Map<String, Value> =
            client.classes.iter().map(|name| (name.clone(), json!({}))).collect();
        let content = json!({
            "applications": apps,
            "averagePhoneHomeInterval": client.average_interval(),
            "build": client.build,
            "clientName": facts.client_name,
            // Names of addresses are not looked up.
            "dns": facts.hostname,
            "guid": facts.guid,
            "hostname": facts.hostname,
            "id": facts.guid,
            "instanceId": facts.guid,
            "instanceName": facts.hostname,
            "ip": facts.ip,
            "lastPhoneHomeTime": client.last,
            "name": facts.guid,
            "serverClasses": classes,
            "splunkVersion": client.build,
            "utsname": facts.utsname,
        });
        Ok(Entry::new(CLIENTS, &facts.guid, feed::content(content)).editable())
    }

    async fn list(&self, call: &Call) -> Result<Vec<Client>, RestError> {
        let mut clients = call.state.deployment.clients();
        if let Some(class) = call.params.text("serverclasses") {
            clients.retain(|client| {
                class.split(',').any(|name| client.classes.iter().any(|c| c == name))
            });
        }
        if call.params.flag("hasDeploymentError") {
            clients.retain(|client| client.apps.values().any(|app| app.failed.is_some()));
        }
        Ok(clients)
    }

    async fn find(&self, call: &Call) -> Result<Vec<Client>, RestError> {
        Ok(call.state.deployment.client(call.name()).into_iter().collect())
    }

    /// The forwarder is listed again when it phones home again.
    async fn remove(&self, call: &Call, client: Client) -> Result<(), RestError> {
        call.state.deployment.forget(&client.facts.guid);
        Ok(())
    }
}

async fn machines(call: Call) -> Result<Response, RestError> {
    let counts = call.state.deployment.counts().by_machine_type;
    let name = "countClients_by_machineType";
    let entry = Entry::new(CLIENTS, name, feed::content(json!(counts)));
    feed::respond_one("deploymentserverclients", MACHINES, entry, &call.params)
}

struct Classes;

impl Resource for Classes {
    /// The class, when it was read, and how many forwarders are in it.
    type Item = (deployment::ClassRule, i64, usize);

    fn about(&self) -> About {
        let (one, many) = ("a server class", "server classes");
        About { title: "deploymentserverclasses", path: CLASSES, one, many }
    }

    fn entry(
        &self,
        call: &Call,
        (class, loaded, clients): &Self::Item,
    ) -> Result<Entry, RestError> {
        let (mut apps, mut machines) = (Map::new(), Vec::new());
        for rule in &class.apps {
            let shown = json!({
                "excludeFromUpdate": rule.exclude,
                "restartSplunkd": rule.restart,
                "stateOnClient": rule.state.as_str(),
            });
            apps.insert(rule.app.clone(), shown);
        }
        machines.extend(class.machine_types());
        let mut content = feed::content(json!({
            "applications": apps,
            "blacklist-size": class.patterns(false).count(),
            "clients": clients,
            "continueMatching": class.continue_matching,
            "currentDownloads": call.state.deployment.downloads(),
            "excludeFromUpdate": class.exclude(),
            "filterType": class.filter_type().as_str(),
            "loadTime": loaded,
            "machineTypesFilter": machines.join(","),
            "repositoryLocation": class.repository,
            "restartSplunkd": class.restarts(),
            "stateOnClient": class.state().as_str(),
            "whitelist-size": class.patterns(true).count(),
        }));
        for (list, whitelist) in [("whitelist", true), ("blacklist", false)] {
            for (number, pattern) in class.patterns(whitelist) {
                content.insert(format!("{list}.{number}"), json!(pattern));
            }
        }
        Ok(Entry::new(CLASSES, &class.name, content))
    }

    async fn list(&self, call: &Call) -> Result<Vec<Self::Item>, RestError> {
        let view = view(&call.state)?;
        let counts = call.state.deployment.counts().by_class;
        let counted = |class: &deployment::ClassRule| {
            let clients = counts.get(&class.name).copied().unwrap_or(0);
            (class.clone(), view.loaded, clients)
        };
        Ok(view.classes.classes.iter().map(counted).collect())
    }

    async fn find(&self, call: &Call) -> Result<Vec<Self::Item>, RestError> {
        let mut found = self.list(call).await?;
        found.retain(|(class, ..)| class.name == call.name());
        Ok(found)
    }
}

/// An app, the classes that have it, and how many forwarders have it or could not put it in force.
struct Application {
    name: String,
    app: KnownApp,
    classes: Vec<String>,
    installed: usize,
    failed: usize,
}

struct Applications;

impl Resource for Applications {
    type Item = Application;

    fn about(&self) -> About {
        let (one, many) = ("an app for forwarders", "apps for forwarders");
        About { title: "deploymentserverapplications", path: APPS, one, many }
    }

    fn entry(&self, call: &Call, one: &Application) -> Result<Entry, RestError> {
        let Application { name, app, classes, installed, failed } = one;
        let content = app.content.as_ref();
        let content = json!({
            "checksum": content.map(|content| content.checksum.clone()).ok(),
            "clients": installed,
            "currentDownloads": call.state.deployment.downloads(),
            "failedClients": failed,
            // Why it is not handed out.
            "failedReason": content.err(),
            "files": content.map(|content| content.files).ok(),
            "loadTime": app.loaded,
            "serverclasses": classes,
            "size": content.map(|content| content.bytes).ok(),
        });
        Ok(Entry::new(APPS, name, feed::content(content)))
    }

    async fn list(&self, call: &Call) -> Result<Vec<Self::Item>, RestError> {
        let counts = call.state.deployment.counts();
        let counted = |(name, (app, classes)): (String, (KnownApp, Vec<String>))| Application {
            installed: counts.installed.get(&name).copied().unwrap_or(0),
            failed: counts.failed.get(&name).copied().unwrap_or(0),
            name,
            app,
            classes,
        };
        Ok(view(&call.state)?.apps.into_iter().map(counted).collect())
    }

    async fn find(&self, call: &Call) -> Result<Vec<Self::Item>, RestError> {
        let mut found = self.list(call).await?;
        found.retain(|one| one.name == call.name());
        Ok(found)
    }
}

fn state_of(call: &Call) -> Result<Response, RestError> {
    let view = view(&call.state)?;
    let repositories: Vec<String> =
        view.repositories.iter().map(|path| path.display().to_string()).collect();
    let content = json!({
        "clients": call.state.deployment.counts().clients,
        "currentDownloads": call.state.deployment.downloads(),
        "disabled": !view.enabled,
        // The error of the last reading, after which the earlier settings stay in force.
        "error": view.error,
        "loadTime": view.loaded,
        "maxConcurrentDownloads": view.classes.max_downloads,
        "messages": call.state.deployment.remarks(),
        "repositoryLocation": repositories,
    });
    let entry = Entry::new(CONFIG, "config", feed::content(content));
    feed::respond_one("deploymentserverconfig", CONFIG, entry, &call.params)
}

async fn config(call: Call) -> Result<Response, RestError> {
    state_of(&call)
}

async fn reload(call: Call) -> Result<Response, RestError> {
    let (server, now) = (call.state.deployment.clone(), call.now());
    let read = work_on_part(move || server.reload(now)).await;
    read.map_err(|_| RestError::stopping())??;
    state_of(&call)
}

/// Requests and their answers.
#[cfg(test)]
pub(super) fn cases() -> Vec<Case> {
    vec![
        case(&format!("GET {CLIENTS}"), "", 200, "\"entry\":[]"),
        case(&format!("GET {CLIENTS}?sort_mode=size"), "", 400, "unknown sort_mode"),
        case(&format!("GET {CLIENTS}/none"), "", 404, "Could not find object id=none"),
        case(&format!("DELETE {CLIENTS}/none"), "", 404, "Could not find object id=none"),
        case(&format!("GET {MACHINES}"), "", 200, "\"content\":{"),
        case(&format!("GET {MACHINES}?output_mode=none"), "", 400, "unknown output_mode"),
        case(&format!("GET {CLASSES}"), "", 200, "\"name\":\"all\""),
        case(&format!("GET {CLASSES}?count=x"), "", 400, "must be a whole number"),
        case(&format!("GET {CLASSES}/all"), "", 200, "\"whitelist.0\":\"*\""),
        case(&format!("GET {CLASSES}/none"), "", 404, "Could not find object id=none"),
        case(&format!("GET {APPS}"), "", 200, "\"name\":\"base\""),
        case(&format!("GET {APPS}?count=x"), "", 400, "must be a whole number"),
        case(&format!("GET {APPS}/base"), "", 200, "\"serverclasses\":[\"all\"]"),
        case(&format!("GET {APPS}/none"), "", 404, "Could not find object id=none"),
        case(&format!("GET {CONFIG}"), "", 200, "\"disabled\":false"),
        case(&format!("GET {CONFIG}?output_mode=none"), "", 400, "unknown output_mode"),
        case(&format!("POST {RELOAD}"), "", 200, "\"disabled\":false"),
        case(&format!("POST {RELOAD}?output_mode=none"), "", 400, "unknown output_mode"),
    ]
}
