//! The object store as a process sees it: requests take time and fail. A failed request may be executed all
//! the same, perhaps after later requests.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use futures::stream::{self, BoxStream};
use futures::{StreamExt, TryStreamExt};
use object_store::path::Path;
use object_store::{
    Attributes, CopyOptions, Error, GetOptions, GetResult, GetResultPayload, ListResult,
    MultipartUpload, ObjectMeta, ObjectStore, PutMode, PutMultipartOptions, PutOptions, PutPayload,
    PutResult, Result,
};

use crate::Mutant;
use crate::process::Pid;
use crate::world::World;

const STORE: &str = "simulated";

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Store {
    pub(crate) world: Arc<World>,
    pub(crate) pid: Pid,
}

impl fmt::Display for Store {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the store as {} sees it", self.pid)
    }
}

fn failed(reason: &'static str) -> Error {
    Error::Generic { store: STORE, source: reason.into() }
}

fn unsupported(operation: &str) -> Error {
    Error::NotImplemented { operation: operation.to_owned(), implementer: STORE.to_owned() }
}

fn meta(location: Path, size: u64) -> ObjectMeta {
    ObjectMeta { location, last_modified: Default::default(), size, e_tag: None, version: None }
}

/// The fate of a request.
enum Fate {
    Done,
    /// It fails and is not executed.
    Refused,
    /// It fails, but is executed after a delay.
    Unknown(Duration),
}

impl Store {
    fn fate(&self) -> Fate {
        let mut state = self.world.state();
        let weather = state.weather;
        if state.storeless.contains(&self.pid) || state.chance.permille(weather.refused) {
            Fate::Refused
        } else if state.chance.permille(weather.unknown) {
            let late = state.chance.permille(300);
            Fate::Unknown(if late { state.chance.millis(100, 20_000) } else { Duration::ZERO })
        } else {
            Fate::Done
        }
    }

    /// Waits for the time of a read, which may fail.
    async fn read(&self) -> Result<()> {
        self.world.sleep(3, 25).await;
        match self.fate() {
            Fate::Done | Fate::Unknown(_) => Ok(()),
            Fate::Refused => Err(failed("the store does not answer")),
        }
    }

    /// Changes the objects. The change happens even if the calling process ends.
    async fn write<T: Send + 'static>(
        &self,
        change: impl FnOnce(&World) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (there, back) = (self.world.millis(2, 15), self.world.millis(2, 15));
        let fate = self.fate();
        if let Fate::Refused = fate {
            tokio::time::sleep(there + back).await;
            return Err(failed("the store does not answer"));
        }
        let late = if let Fate::Unknown(late) = fate { late } else { Duration::ZERO };
        let (world, done) = (Arc::clone(&self.world), tokio::sync::oneshot::channel());
        self.world.tasks.spawn(async move {
            tokio::time::sleep(there + late).await;
            // The caller may have ended.
            let _ = done.0.send(change(&world));
        });
        if let Fate::Unknown(_) = fate {
            tokio::time::sleep(there + back).await;
            return Err(failed("the answer is lost"));
        }
        let done = done.1.await.unwrap_or_else(|_| Err(failed("the world ends")));
        tokio::time::sleep(back).await;
        done
    }
}

#[async_trait]
impl ObjectStore for Store {
    async fn put_opts(
        &self,
        location: &Path,
        payload: PutPayload,
        options: PutOptions,
    ) -> Result<PutResult> {
        let (path, data) = (location.to_string(), Bytes::from(payload));
        let is_new = options.mode == PutMode::Create;
        self.write(move |world| {
            let is_new = is_new && !world.is(Mutant::PutsWithoutCondition);
            let mut state = world.state();
            if is_new && state.objects.contains_key(&path) {
                return Err(Error::AlreadyExists { path, source: "it is there".into() });
            }
            state.objects.insert(path, data);
            Ok(PutResult { e_tag: None, version: None })
        })
        .await
    }

    async fn put_multipart_opts(
        &self,
        _: &Path,
        _: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        Err(unsupported("uploads in parts"))
    }

    async fn get_opts(&self, location: &Path, _: GetOptions) -> Result<GetResult> {
        self.read().await?;
        let found = self.world.state().objects.get(location.as_ref()).cloned();
        let absent =
            || Error::NotFound { path: location.to_string(), source: "no such object".into() };
        let data = found.ok_or_else(absent)?;
        let size = data.len() as u64;
        let payload = GetResultPayload::Stream(stream::once(async { Ok(data) }).boxed());
        let (meta, attributes) = (meta(location.clone(), size), Attributes::new());
        Ok(GetResult { payload, meta, range: 0..size, attributes })
    }

    fn delete_stream(
        &self,
        locations: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        let own = self.clone();
        let deleted = locations.and_then(move |location| {
            let own = own.clone();
            async move {
                let path = location.to_string();
                let delete = move |world: &World| {
                    world.state().objects.remove(&path);
                    world.deleted(&path);
                    Ok(())
                };
                own.write(delete).await?;
                Ok(location)
            }
        });
        deleted.boxed()
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        let (own, prefix) = (self.clone(), prefix.map(|path| format!("{path}/")));
        let listed = async move {
            own.read().await?;
            let prefix = prefix.unwrap_or_default();
            let state = own.world.state();
            let within = state.objects.range(prefix.clone()..);
            let within = within.take_while(|(path, _)| path.starts_with(&prefix));
            let metas: Vec<_> = within
                .map(|(path, data)| Ok(meta(Path::from(path.as_str()), data.len() as u64)))
                .collect();
            Ok::<_, Error>(stream::iter(metas))
        };
        stream::once(listed).try_flatten().boxed()
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.read().await?;
        let prefix = prefix.map(|path| format!("{path}/")).unwrap_or_default();
        let state = self.world.state();
        let mut result = ListResult { common_prefixes: Vec::new(), objects: Vec::new() };
        for (path, data) in state.objects.range(prefix.clone()..) {
            let Some(rest) = path.strip_prefix(&prefix) else { break };
            match rest.split_once('/') {
                Some((folder, _)) => {
                    result.common_prefixes.push(Path::from(format!("{prefix}{folder}")));
                }
                None => result.objects.push(meta(Path::from(path.as_str()), data.len() as u64)),
            }
        }
        result.common_prefixes.dedup();
        Ok(result)
    }

    async fn copy_opts(&self, _: &Path, _: &Path, _: CopyOptions) -> Result<()> {
        Err(unsupported("copies"))
    }
}
