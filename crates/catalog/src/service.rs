//! The leader's side of the catalog in a cluster: the gRPC service `karst.catalog.v1.Catalog`
//! (`schemas/proto/catalog.proto`). The server that hosts it is responsible for encryption and
//! authentication.

use std::collections::VecDeque;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use futures::StreamExt;
use futures::stream::{self, BoxStream};
use protocol::catalog::{
    CommitRequest, CommitResponse, FollowRequest, FollowResponse, SummariesRequest,
    SummariesResponse,
};
use tokio::sync::watch;
use tonic::Status;
use transport::{Answer, Call, Methods, Served};

use crate::codec::{self, Damage};
use crate::error::Result;
use crate::feed::{self, Kinds, Whole};
use crate::wire::{
    self, COMMIT, FOLLOW, MAX_IDS, MAX_MESSAGE, PART, SERVICE, SUMMARIES, Wanted, bytes_of, pair,
};
use crate::writer::Writer;
use crate::{Catalog, Error, Renewals, Snapshot};

/// The catalog of this process as a service for others. Clones share it.
#[derive(Debug, Clone)]
pub struct CatalogService {
    catalog: Catalog,
}

impl Catalog {
    /// Returns the gRPC service for followers. While this process follows another one, the service refuses
    /// them.
    #[must_use]
    pub fn service(&self) -> Served<CatalogService> {
        if let Ok(writer) = self.writer() {
            writer.feed_followers();
        }
        Served(CatalogService { catalog: self.clone() })
    }

    /// Sets the lease under which this process leads: while it is not renewed, followers get no updates.
    pub fn held_with(&self, renewals: Renewals) {
        if let Ok(writer) = self.writer() {
            *writer.renewals.lock() = Some(renewals);
        }
    }
}

impl CatalogService {
    async fn commit(self, request: CommitRequest) -> Result<CommitResponse> {
        let writer = self.catalog.writer()?;
        refuse_other(&writer, request.store_id.as_deref())?;
        match wire::wanted(request).map_err(|damage| unreadable(&writer, damage))? {
            Wanted::Commit(commit) => writer.commit(commit).await?,
            Wanted::Documents(documents) => writer.documents(documents).await?,
        }
        // Published before the change was answered.
        Ok(CommitResponse { number: writer.view.borrow().number() })
    }

    fn follow(self, request: FollowRequest) -> Result<BoxStream<'static, Reply<FollowResponse>>> {
        let writer = self.catalog.writer()?;
        let renewals = writer.renewals.lock().clone();
        if let Some(age) = renewals.as_ref().and_then(Renewals::overdue) {
            return Err(unrenewed(&writer, age));
        }
        let changes = writer.view.subscribe();
        let number = changes.borrow().number();
        let store_id = refuse_other(&writer, request.store_id.as_deref())?;
        if let Some(newer) = request.number.filter(|theirs| *theirs > number) {
            let reason = format!("its state {number} is older than the follower's state {newer}");
            let path = writer.path.clone();
            return Err(Error::Store { path, what: "be followed", reason });
        }
        let following = Following {
            ended: writer.ended.subscribe(),
            writer,
            changes,
            kinds: Kinds(request.kinds.to_vec()),
            sent: request.number,
            store_id,
            whole: None,
            ready: VecDeque::new(),
        };
        let responses = stream::try_unfold(following, |mut following| async {
            match following.next().await {
                Ok(mut response) => {
                    response.store_id = following.store_id.take();
                    Ok(Some((response, following)))
                }
                Err(error) => Err(wire::status(&error)),
            }
        });
        Ok(responses.boxed())
    }

    async fn summaries(
        self,
        request: SummariesRequest,
    ) -> Result<BoxStream<'static, Reply<SummariesResponse>>> {
        let writer = self.catalog.writer()?;
        if request.ids.len() > MAX_IDS {
            let reason = format!("it names {} buckets, at most {MAX_IDS}", request.ids.len());
            return Err(writer.invalid("a request for summaries", &reason));
        }
        let ids = request.ids.iter().map(|id| wire::id_of(id));
        let ids: std::result::Result<Vec<_>, Damage> = ids.collect();
        let ids = ids.map_err(|damage| unreadable(&writer, damage))?;
        let found = writer.summaries(&ids).await?;
        let mut responses = vec![SummariesResponse::default()];
        let mut bytes = 0;
        for (id, summary) in ids.into_iter().zip(found) {
            let Some(summary) = summary else { continue };
            let (value, _) =
                codec::summary_value(&summary).map_err(|damage| unreadable(&writer, damage))?;
            let summary = pair(codec::summary_key(id), value);
            bytes += bytes_of(&summary);
            if bytes > PART {
                responses.push(SummariesResponse::default());
                bytes = bytes_of(&summary);
            }
            if let Some(last) = responses.last_mut() {
                last.summaries.push(summary);
            }
        }
        Ok(stream::iter(responses.into_iter().map(Ok)).boxed())
    }
}

fn unrenewed(writer: &Writer, age: Duration) -> Error {
    let renewals = writer.renewals.lock().clone();
    let said = renewals.as_ref().and_then(Renewals::reason);
    let said = said.map(|said| format!(" ({said})")).unwrap_or_default();
    let reason = format!(
        "its lease is lost, or was last renewed {} s ago{said}, so another process may lead; check that it \
         reaches object storage",
        age.as_secs()
    );
    Error::Store { path: writer.path.clone(), what: "be followed", reason }
}

/// Refuses a follower of another catalog: regardless of the numbers, this catalog must not replace its state
/// or accept its changes. Returns the identity of this catalog.
fn refuse_other(writer: &Writer, theirs: Option<&str>) -> Result<Option<String>> {
    let own = writer.view.borrow().store_id().map(|id| id.to_string());
    match theirs {
        Some(theirs) if own.as_deref() != Some(theirs) => {
            let (path, own) = (&writer.path, own.as_deref().unwrap_or("none"));
            let reason = format!(
                "catalog \"{path}\" is another one than the follower's: its id is {own}, and the follower's \
                 {theirs}; start all control planes with the --object-store of the cluster"
            );
            Err(Error::OtherCatalog { reason })
        }
        _ => Ok(own),
    }
}

fn unreadable(writer: &Writer, damage: Damage) -> Error {
    match damage.at(&writer.path, b"request") {
        Error::Corrupt { reason, .. } => writer.invalid("a request", &reason),
        other => other,
    }
}

type Reply<T> = std::result::Result<T, Status>;

/// The feed of one follower.
struct Following {
    writer: Arc<Writer>,
    changes: watch::Receiver<Arc<Snapshot>>,
    ended: watch::Receiver<Option<Error>>,
    kinds: Kinds,
    /// The number of the state that the follower has; `None` if it has no state.
    sent: Option<u64>,
    /// The identity of the catalog, to be sent with the first response.
    store_id: Option<String>,
    /// The remaining messages of a complete state.
    whole: Option<(u64, Whole)>,
    /// The remaining messages of a write.
    ready: VecDeque<FollowResponse>,
}

impl Following {
    async fn next(&mut self) -> Result<FollowResponse> {
        loop {
            if let Some(response) = self.ready.pop_front() {
                return Ok(response);
            }
            if let Some((number, whole)) = &mut self.whole {
                if let Some(response) = whole.next() {
                    return response.map_err(|damage| damage.at(&self.writer.path, b"state"));
                }
                self.sent = Some(*number);
                self.whole = None;
            }
            let newest = Arc::clone(&self.changes.borrow_and_update());
            match self.sent {
                Some(sent) if sent >= newest.number() => self.wait().await?,
                Some(sent) => {
                    let delta = self.writer.feed.lock().as_ref().and_then(|feed| feed.after(sent));
                    match delta {
                        Some(delta) => {
                            self.ready = delta.responses(&self.kinds);
                            self.sent = Some(sent + 1);
                        }
                        None => self.send_whole(&newest),
                    }
                }
                None => self.send_whole(&newest),
            }
        }
    }

    fn send_whole(&mut self, newest: &Arc<Snapshot>) {
        self.whole = Some((newest.number(), feed::whole(newest, &self.kinds)));
    }

    /// Waits for the next write; fails once this process no longer leads, or can no longer be sure that it
    /// does.
    async fn wait(&mut self) -> Result<()> {
        let fenced = Error::Fenced { path: self.writer.path.clone() };
        let renewals = self.writer.renewals.lock().clone();
        let overdue = async {
            match renewals {
                Some(renewals) => renewals.until_overdue().await,
                None => pending().await,
            }
        };
        tokio::select! {
            changed = self.changes.changed() => changed.map_err(|_| fenced),
            // The sender is in the writer, which this value holds.
            _ = self.ended.wait_for(Option::is_some) => Err(fenced),
            age = overdue => Err(unrenewed(&self.writer, age)),
        }
    }
}

impl Methods for CatalogService {
    const NAME: &'static str = SERVICE;
    const MAX_MESSAGE: usize = MAX_MESSAGE;

    async fn answer(self, call: Call) -> Answer {
        match call.method() {
            COMMIT => {
                let commit = async move |request| self.commit(request).await.map_err(told);
                call.unary(commit).await
            }
            FOLLOW => {
                let follow = async move |request| self.follow(request).map_err(told);
                call.stream(follow).await
            }
            SUMMARIES => {
                let summaries = async move |request| self.summaries(request).await.map_err(told);
                call.stream(summaries).await
            }
            _ => call.unknown(),
        }
    }
}

fn told(error: Error) -> Status {
    wire::status(&error)
}
