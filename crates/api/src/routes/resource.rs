//! Collections of named objects: list, show, `_new`, create, edit, remove and actions, the same for all.
//!
//! A [`Resource`] defines the properties of its objects; paging, filters, sorting, output formats, links and
//! statuses are here and in `feed`.

use std::future::{Future, ready};

use axum::http::StatusCode;
use axum::response::Response;

use super::feed;
use super::reload;
use crate::atom::{Attributes, Entry};
use crate::call::Call;
use crate::effects::RELOAD;
use crate::error::RestError;
use crate::rights::Need;
use crate::routing::{Methods, Routes};

/// The names of a kind of objects.
pub(crate) struct About {
    /// The title of its feeds.
    pub(crate) title: &'static str,
    /// Its path.
    pub(crate) path: &'static str,
    /// The name of one object, with its article.
    pub(crate) one: &'static str,
    /// Several.
    pub(crate) many: &'static str,
}

/// The rights for the operations of a resource; `None` if it does not have the operation.
#[derive(Clone, Copy, Default)]
pub(crate) struct Access {
    pub(crate) list: Option<Need>,
    pub(crate) create: Option<Need>,
    pub(crate) show: Option<Need>,
    pub(crate) edit: Option<Need>,
    pub(crate) remove: Option<Need>,
    /// `GET {name}/acl`.
    pub(crate) acl: Option<Need>,
    /// `POST {name}/{action}`.
    pub(crate) act: Option<Need>,
}

/// The response to a removal.
pub(crate) enum Removal {
    /// The objects that are left.
    Rest,
    /// A feed without entries.
    Nothing,
}

type Answer<T> = Result<T, RestError>;

/// A kind of objects. Operations that [`Access`] does not have are never called.
pub(crate) trait Resource: Sync + 'static {
    /// An object.
    type Item: Send + Sync;

    fn about(&self) -> About;

    /// Title and path of the feed, for a kind whose path has open segments.
    fn place(&self, _: &Call) -> Answer<(String, String)> {
        let about = self.about();
        Ok((about.title.to_owned(), about.path.to_owned()))
    }

    /// Refuses calls below a namespace in which the kind has no objects. Actions are not checked.
    fn check(&self, _: &Call) -> Answer<()> {
        Ok(())
    }

    /// Returns the response to removals.
    fn removal(&self) -> Removal {
        Removal::Nothing
    }

    /// Whether the objects are in files, which `_reload` reads again. `_acl` is answered with an empty feed.
    fn reloads(&self) -> bool {
        false
    }

    /// Returns the parameters of a new object, which `_new` shows. `None`: there is no `_new`.
    fn template(&self, _: &Call) -> Answer<Option<Attributes>> {
        Ok(None)
    }

    /// The object as clients see it.
    fn entry(&self, call: &Call, item: &Self::Item) -> Answer<Entry>;

    /// Several objects as clients see them.
    fn entries(&self, call: &Call, items: &[Self::Item]) -> Answer<Vec<Entry>> {
        items.iter().map(|item| self.entry(call, item)).collect()
    }

    /// Whether the caller may see the object: [`Self::list`] and [`Self::find`] may return more. Changes
    /// check their rights themselves, and refuse instead of hiding.
    fn may_see(&self, _: &Call, _: &Self::Item) -> bool {
        true
    }

    /// All objects.
    fn list(&self, call: &Call) -> impl Future<Output = Answer<Vec<Self::Item>>> + Send;

    /// The page of objects that the call asks for, and the number of all that the caller may see, for kinds
    /// whose objects are expensive to read; `None` if the page cannot be told without [`Self::list`].
    fn page(
        &self,
        _: &Call,
    ) -> impl Future<Output = Answer<Option<(Vec<Self::Item>, usize)>>> + Send {
        ready(Ok(None))
    }

    /// The object that the path names. Several namespaces may have one each: the first is the one that is
    /// changed.
    fn find(&self, call: &Call) -> impl Future<Output = Answer<Vec<Self::Item>>> + Send;

    /// The object in another form than an entry, if the call asks for that.
    fn plain(
        &self,
        _: &Call,
        _: &Self::Item,
    ) -> impl Future<Output = Answer<Option<Response>>> + Send {
        ready(Ok(None))
    }

    fn create(&self, _: &Call) -> impl Future<Output = Answer<Self::Item>> + Send {
        ready(Err(absent()))
    }

    /// Returns warnings about an object that was created or changed.
    fn warnings(&self, _: &Call, _: &Self::Item) -> Vec<String> {
        Vec::new()
    }

    /// Returns warnings about the removal of an object that is still there.
    fn removal_warnings(&self, _: &Call, _: &Self::Item) -> Vec<String> {
        Vec::new()
    }

    fn edit(&self, _: &Call, _: Self::Item) -> impl Future<Output = Answer<Self::Item>> + Send {
        ready(Err(absent()))
    }

    fn remove(&self, _: &Call, _: Self::Item) -> impl Future<Output = Answer<()>> + Send {
        ready(Err(absent()))
    }

    /// The status of a removal of an object that does not exist.
    fn removal_of_none(&self) -> StatusCode {
        StatusCode::NOT_FOUND
    }

    /// The actions, for the documents.
    fn actions(&self) -> &'static str {
        "Acts on it"
    }

    /// Performs the action in the last segment of the path. `None`: the response is an empty feed.
    fn act(
        &self,
        _: &Call,
        _: Self::Item,
        _: &str,
    ) -> impl Future<Output = Answer<Option<Self::Item>>> + Send {
        ready(Err(absent()))
    }
}

fn absent() -> RestError {
    RestError::new(StatusCode::METHOD_NOT_ALLOWED, "ERROR", "Method Not Allowed")
}

impl Routes {
    /// The routes of a resource: the collection, its members, and their actions.
    pub(crate) fn resource<R: Resource>(
        self,
        path: &str,
        resource: &'static R,
        access: &Access,
    ) -> Self {
        let About { one, many, .. } = resource.about();
        let mut collection = Methods::default();
        if let Some(need) = access.list {
            let handler = move |call: Call| list(resource, call);
            collection = collection.get(need, &format!("Lists {many}"), handler);
        }
        if let Some(need) = access.create {
            let handler = move |call: Call| create(resource, call);
            collection = collection.post(need, &format!("Creates {one}"), handler);
        }
        let mut member = Methods::default();
        if let Some(need) = access.show {
            let handler = move |call: Call| show(resource, call);
            member = member.get(need, &format!("Shows {one}"), handler);
        }
        if let Some(need) = access.edit {
            let handler = move |call: Call| edit(resource, call);
            member = member.post(need, &format!("Changes {one}"), handler);
        }
        if let Some(need) = access.remove {
            let handler = move |call: Call| remove(resource, call);
            member = member.delete(need, &format!("Removes {one}"), handler);
        }
        let mut actions = Methods::default();
        if let Some(need) = access.acl {
            let handler = move |call: Call| acl(resource, call);
            actions = actions.get(need, "`acl`: shows its owner and permissions", handler);
        }
        if let Some(need) = access.act {
            let handler = move |call: Call| act(resource, call);
            actions = actions.post(need, resource.actions(), handler);
        }
        let routes = self.at(path, collection).at(&format!("{path}/{{name}}"), member);
        if access.acl.is_none() && access.act.is_none() {
            return routes;
        }
        routes.at(&format!("{path}/{{name}}/{{action}}"), actions)
    }
}

async fn list<R: Resource>(resource: &'static R, call: Call) -> Answer<Response> {
    resource.check(&call)?;
    let (title, path) = resource.place(&call)?;
    if let Some((items, total)) = resource.page(&call).await? {
        let entries = resource.entries(&call, &items)?;
        let page = (|_: usize| entries.into_iter(), total);
        return feed::respond_page(&title, &path, page, &call.params);
    }
    let mut items = resource.list(&call).await?;
    items.retain(|item| resource.may_see(&call, item));
    let entries = resource.entries(&call, &items)?;
    feed::respond(&title, &path, entries, &call.params)
}

async fn show<R: Resource>(resource: &'static R, call: Call) -> Answer<Response> {
    resource.check(&call)?;
    let (title, path) = resource.place(&call)?;
    if call.name() == "_new"
        && let Some(attributes) = resource.template(&call)?
    {
        return feed::respond_template(&title, &path, attributes, &call.params);
    }
    match call.name() {
        RELOAD if resource.reloads() => return reload::respond(&title, &path, &call).await,
        "_acl" if resource.reloads() => {
            return feed::respond_empty(&title, &path, &call.params);
        }
        _ => {}
    }
    let (call, found) = located(resource, call).await;
    let mut items = found?;
    items.retain(|item| resource.may_see(&call, item));
    let Some(item) = items.first() else { return Err(RestError::no_object(call.name())) };
    if let Some(response) = resource.plain(&call, item).await? {
        return Ok(response);
    }
    let entries = resource.entries(&call, &items)?;
    feed::respond(&title, &path, entries, &call.params.only_format())
}

async fn create<R: Resource>(resource: &'static R, call: Call) -> Answer<Response> {
    resource.check(&call)?;
    let (title, path) = resource.place(&call)?;
    let item = resource.create(&call).await?;
    let (entry, warnings) = (resource.entry(&call, &item)?, resource.warnings(&call, &item));
    let mut response = feed::respond_warned(&title, &path, entry, warnings, &call.params)?;
    *response.status_mut() = StatusCode::CREATED;
    Ok(response)
}

/// The objects that the path names, and the call with the name that found them.
async fn located<R: Resource>(resource: &R, call: Call) -> (Call, Answer<Vec<R::Item>>) {
    let found = resource.find(&call).await;
    let missing = match &found {
        Ok(items) => items.is_empty(),
        Err(error) => error.status == StatusCode::NOT_FOUND,
    };
    if let Some(other) = call.with_slashes().filter(|_| missing) {
        let meant = resource.find(&other).await;
        if meant.as_ref().is_ok_and(|items| !items.is_empty()) {
            return (other, meant);
        }
    }
    (call, found)
}

async fn first<R: Resource>(resource: &R, call: Call) -> (Call, Answer<R::Item>) {
    let (call, found) = located(resource, call).await;
    let first = found.and_then(|items| {
        items.into_iter().next().ok_or_else(|| RestError::no_object(call.name()))
    });
    (call, first)
}

async fn edit<R: Resource>(resource: &'static R, call: Call) -> Answer<Response> {
    resource.check(&call)?;
    let (title, path) = resource.place(&call)?;
    if resource.reloads() && call.name() == RELOAD {
        return reload::respond(&title, &path, &call).await;
    }
    let (call, item) = first(resource, call).await;
    let item = resource.edit(&call, item?).await?;
    let (entry, warnings) = (resource.entry(&call, &item)?, resource.warnings(&call, &item));
    feed::respond_warned(&title, &path, entry, warnings, &call.params)
}

async fn remove<R: Resource>(resource: &'static R, call: Call) -> Answer<Response> {
    resource.check(&call)?;
    let (title, path) = resource.place(&call)?;
    let (call, item) = first(resource, call).await;
    let item = item.map_err(|error| match error.status {
        StatusCode::NOT_FOUND => RestError { status: resource.removal_of_none(), ..error },
        _ => error,
    })?;
    let warnings = resource.removal_warnings(&call, &item);
    resource.remove(&call, item).await?;
    match resource.removal() {
        Removal::Rest => list(resource, call).await,
        Removal::Nothing => {
            let params = call.params.only_format();
            feed::respond_incomplete(&title, &path, Vec::new(), warnings, &params)
        }
    }
}

async fn acl<R: Resource>(resource: &'static R, call: Call) -> Answer<Response> {
    match call.segment("action") {
        "acl" => show(resource, call).await,
        action => Err(RestError::no_object(action)),
    }
}

async fn act<R: Resource>(resource: &'static R, call: Call) -> Answer<Response> {
    let (title, path) = resource.place(&call)?;
    let (call, item) = first(resource, call).await;
    let item = item?;
    if resource.reloads() && call.segment("action") == RELOAD {
        return reload::respond(&title, &path, &call).await;
    }
    match resource.act(&call, item, call.segment("action")).await? {
        Some(item) => feed::respond_one(&title, &path, resource.entry(&call, &item)?, &call.params),
        None => feed::respond_empty(&title, &path, &call.params),
    }
}
