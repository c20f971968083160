//! Indexers that are only their copies, behind real ports.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use bytes::Bytes;
use catalog::{Catalog, Commit, Takeover};
use cluster::{Placement, SiteFactor};
use futures::TryStreamExt;
use karst_replication::{
    Connect, Copies, Parts, Peer, ReplicaService, ReplicaStore, Replicas, Settings,
};
use model::IndexerId;
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{Error, ObjectStore, ObjectStoreExt, PutMode, PutOptions, PutPayload};
use parking_lot::Mutex;
use testkit::TestDir;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{JoinHandle, JoinSet};
use tonic::transport::Endpoint;
use tonic::transport::server::TcpIncoming;
use transport::Served;

/// The owner of the journal; the others have the numbers behind it.
pub(crate) const OWNER: IndexerId = id(0);

pub(crate) const fn id(number: u128) -> IndexerId {
    IndexerId(uuid::Uuid::from_u128(number))
}

struct Serving {
    address: String,
    /// The service, and the connections to it, which would outlive the service.
    tasks: [JoinHandle<()>; 2],
}

/// A cluster of an owner and others that may have copies.
pub(crate) struct Cluster {
    pub(crate) catalog: Catalog,
    root: TestDir,
    peers: Arc<Mutex<BTreeMap<IndexerId, Serving>>>,
    /// Where those that are stopped were.
    stopped: BTreeMap<IndexerId, String>,
    placement: Placement,
    /// The sites of those that are not in `default`.
    sites: BTreeMap<IndexerId, String>,
    /// Those that are being taken out of the cluster.
    pub(crate) leaving: Arc<Mutex<BTreeSet<IndexerId>>>,
    /// Those that are not in the list of the cluster.
    pub(crate) unlisted: Arc<Mutex<BTreeSet<IndexerId>>>,
    /// Those whose address another process has, as the list of the cluster says.
    pub(crate) replaced: Arc<Mutex<BTreeSet<IndexerId>>>,
    /// Those that an administrator has removed.
    pub(crate) removed: Arc<Mutex<BTreeSet<IndexerId>>>,
    /// Whether copies that are lost stay lost.
    pub(crate) pauses: Arc<AtomicBool>,
}

impl Cluster {
    pub(crate) async fn start(peers: u128, factor: usize) -> Self {
        let placement = Placement { factor, ..Placement::default() };
        Self::with(peers, placement, BTreeMap::new()).await
    }

    /// A cluster with an indexer for each site of these, the owner's the first one.
    pub(crate) async fn in_sites(factor: &str, sites: &[&str]) -> Self {
        let sites = (0..).map(id).zip(sites.iter().map(|&site| site.to_owned())).collect();
        let factor = SiteFactor::parse(factor).unwrap();
        let placement = Placement { multisite: true, sites: factor, ..Placement::default() };
        let others = BTreeMap::len(&sites) as u128 - 1;
        Self::with(others, placement, sites).await
    }

    async fn with(peers: u128, placement: Placement, sites: BTreeMap<IndexerId, String>) -> Self {
        let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let clock = Arc::new(runtime::SystemClock);
        let catalog = Catalog::open(store, "catalog", catalog::Settings::default(), clock);
        let mut cluster = Self {
            catalog: catalog.await.unwrap(),
            root: TestDir::new(),
            peers: Arc::default(),
            stopped: BTreeMap::new(),
            placement,
            sites,
            leaving: Arc::default(),
            unlisted: Arc::default(),
            replaced: Arc::default(),
            removed: Arc::default(),
            pauses: Arc::default(),
        };
        for number in 1..=peers {
            cluster.run(id(number)).await;
        }
        cluster
    }

    /// Starts an indexer with what is on its disk, where it was before.
    pub(crate) async fn run(&mut self, peer: IndexerId) {
        let known = self.stopped.remove(&peer).and_then(|address| address.parse().ok());
        let serving = self.serve(peer, known).await;
        self.peers.lock().insert(peer, serving);
    }

    async fn serve(&self, peer: IndexerId, place: Option<SocketAddr>) -> Serving {
        let copies = Copies::open(&self.root.join(&peer.0.to_string())).unwrap();
        let place = place.unwrap_or_else(|| SocketAddr::from(([127, 0, 0, 1], 0)));
        let outside = TcpListener::bind(place).await.unwrap();
        let inside = TcpListener::bind(SocketAddr::from(([127, 0, 0, 1], 0))).await.unwrap();
        let behind = inside.local_addr().unwrap();
        let address = outside.local_addr().unwrap().to_string();
        let service = tokio::spawn(async move {
            let server = tonic::transport::Server::builder()
                .add_service(Served(ReplicaService::new(copies, peer)));
            server
                .serve_with_incoming(TcpIncoming::from(inside).with_nodelay(Some(true)))
                .await
                .unwrap();
        });
        let connections = tokio::spawn(async move {
            let mut connections = JoinSet::new();
            while let Ok((mut client, _)) = outside.accept().await {
                connections.spawn(async move {
                    let mut server = TcpStream::connect(behind).await.unwrap();
                    // Without, each answer may wait 40 ms for an acknowledgement.
                    client.set_nodelay(true).unwrap();
                    server.set_nodelay(true).unwrap();
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                });
            }
        });
        Serving { address, tasks: [connections, service] }
    }

    /// Ends it as by a kill. It stays in the list of the cluster.
    pub(crate) async fn stop(&mut self, peer: IndexerId) {
        let serving = self.peers.lock().remove(&peer);
        if let Some(Serving { address, tasks }) = serving {
            for task in tasks {
                task.abort();
                let _ = task.await;
            }
            self.stopped.insert(peer, address);
        }
    }

    /// Its machine gets another disk.
    pub(crate) async fn lose_disk(&mut self, peer: IndexerId) {
        self.stop(peer).await;
        let _ = std::fs::remove_dir_all(self.root.join(&peer.0.to_string()));
    }

    /// Starts another indexer at the address of one that is lost and stays in the list of the cluster.
    pub(crate) async fn run_in_place_of(&mut self, lost: IndexerId, other: IndexerId) {
        let place = self.stopped[&lost].parse().unwrap();
        let serving = self.serve(other, Some(place)).await;
        self.peers.lock().insert(other, serving);
    }

    /// The indexers that have a copy of the journal of the owner on their disks.
    pub(crate) fn holders(&self) -> Vec<IndexerId> {
        let has_copy = |peer: &IndexerId| {
            let copies = self.root.join(&format!("{}/replicas/{}", peer.0, OWNER.0));
            std::fs::read_dir(copies).is_ok_and(|mut copies| copies.next().is_some())
        };
        (0..9).map(id).filter(has_copy).collect()
    }

    pub(crate) fn running(&self) -> Vec<IndexerId> {
        self.peers.lock().keys().copied().collect()
    }

    /// What a recovery finds that reaches only this indexer; nobody else notices.
    pub(crate) async fn found_at(&self, peer: IndexerId) -> BTreeMap<u64, String> {
        let serving = self.serve(peer, None).await;
        let address = serving.address.clone();
        let log = self.log((id(9), None), move || vec![(peer, address.clone())]);
        let found = log.objects().await.unwrap();
        serving.tasks.iter().for_each(JoinHandle::abort);
        found
    }

    /// The journals as a process sees them, in a new life of it.
    pub(crate) fn seen_by(&self, own: IndexerId) -> Log {
        let peers = Arc::clone(&self.peers);
        let stopped = self.stopped.clone();
        let addresses = move || {
            let peers = peers.lock();
            let running = peers.iter().map(|(peer, serving)| (*peer, serving.address.clone()));
            let mut all: BTreeMap<IndexerId, String> = stopped.clone();
            all.extend(running);
            all.into_iter().filter(|(peer, _)| *peer != own).collect()
        };
        self.log((own, None), addresses)
    }

    /// The same for an indexer that has copies itself.
    pub(crate) fn seen_by_holder(&self, own: IndexerId) -> Log {
        let copies = Copies::open(&self.root.join(&own.0.to_string())).unwrap();
        self.log((own, Some(copies)), Vec::new)
    }

    fn log(
        &self,
        (own, copies): (IndexerId, Option<Copies>),
        addresses: impl Fn() -> Vec<(IndexerId, String)> + Send + Sync + 'static,
    ) -> Log {
        let connect = |address: &str| {
            let endpoint = Endpoint::from_shared(format!("http://{address}")).unwrap();
            Ok(endpoint.connect_timeout(Duration::from_millis(200)).connect_lazy())
        };
        // Owners give up soon, and are tried again; who recovers has to wait for a busy machine.
        let timeout =
            if own == OWNER { Duration::from_millis(500) } else { Duration::from_secs(30) };
        let settings = Settings { timeout, placement: self.placement.clone() };
        let pauses = Arc::clone(&self.pauses);
        let (sites, leaving) = (self.sites.clone(), Arc::clone(&self.leaving));
        let (unlisted, removed) = (Arc::clone(&self.unlisted), Arc::clone(&self.removed));
        let replaced = Arc::clone(&self.replaced);
        let site_of = move |of: IndexerId| sites.get(&of).cloned().unwrap_or_default();
        let site = site_of(own);
        let peers = move || {
            let (leaving, replaced) = (leaving.lock(), replaced.lock());
            let peer = |(id, address)| {
                let (leaves, is_replaced) = (leaving.contains(&id), replaced.contains(&id));
                Peer { id, address, site: site_of(id), leaves, is_replaced }
            };
            let unlisted = unlisted.lock();
            let listed = addresses().into_iter().filter(|(id, _)| !unlisted.contains(id));
            listed.map(peer).collect()
        };
        let replicas = Arc::new(Replicas::new(Parts {
            own,
            site,
            catalog: self.catalog.clone(),
            peers: Arc::new(peers),
            connect: Connect::Channels(Arc::new(connect)),
            pauses: Arc::new(move || pauses.load(Ordering::Relaxed)),
            copies,
            removed: Arc::new(move |id| removed.lock().contains(&id)),
            identities: Arc::new(runtime::random::uuid),
            settings,
        }));
        Log { store: ReplicaStore(Arc::clone(&replicas)), replicas }
    }

    /// Who has copies of the journal of the owner.
    pub(crate) fn members(&self) -> Vec<IndexerId> {
        let document = self.catalog.snapshot().document("replicas", &OWNER.0.to_string());
        let members = document.map(|document| document["members"].clone()).unwrap_or_default();
        let peers = members.as_array().into_iter().flatten();
        let peers = peers.map(|member| member["peer"].as_str().unwrap().parse().unwrap());
        peers.map(IndexerId).collect()
    }

    /// What the catalog says of the copies of the owner.
    pub(crate) fn document(&self) -> serde_json::Value {
        let document = self.catalog.snapshot().document("replicas", &OWNER.0.to_string());
        (*document.unwrap()).clone()
    }

    /// Another indexer owns the sets of the owner.
    pub(crate) async fn take_over(&self) {
        let epoch = catalog::OWN_EPOCH + 1;
        let taken = Takeover { indexer: OWNER, set: 0, epoch, owner: id(1) };
        let commit = Commit { take_over: vec![taken], ..Commit::default() };
        self.catalog.commit(commit).await.unwrap();
    }
}

/// The journals, as a process sees them.
pub(crate) struct Log {
    pub(crate) store: ReplicaStore,
    pub(crate) replicas: Arc<Replicas>,
}

fn path(number: u64) -> Path {
    Path::from(format!("journal/{}/{number:020}.journal", OWNER.0))
}

impl Log {
    pub(crate) async fn put(&self, number: u64, text: &str) -> Result<(), Error> {
        let payload = PutPayload::from(Bytes::copy_from_slice(text.as_bytes()));
        let options = PutOptions::from(PutMode::Create);
        self.store.put_opts(&path(number), payload, options).await.map(drop)
    }

    /// Puts until it is done.
    pub(crate) async fn put_again(&self, number: u64, text: &str) {
        for _ in 0..200 {
            match self.put(number, text).await {
                Ok(()) => return,
                Err(Error::Generic { .. }) => tokio::time::sleep(Duration::from_millis(20)).await,
                Err(error) => panic!("{error}"),
            }
        }
        panic!("object {number} is not put: {:?}", self.put(number, text).await);
    }

    /// Puts until it is done or refused for good.
    pub(crate) async fn put_again_or_refused(&self, number: u64, text: &str) -> Result<(), Error> {
        for _ in 0..200 {
            match self.put(number, text).await {
                Err(Error::Generic { .. }) => tokio::time::sleep(Duration::from_millis(20)).await,
                done => return done,
            }
        }
        self.put(number, text).await
    }

    /// All objects, by number; those that seal are empty.
    pub(crate) async fn objects(&self) -> Result<BTreeMap<u64, String>, Error> {
        let folder = Path::from(format!("journal/{}", OWNER.0));
        let listed: Vec<_> = self.store.list(Some(&folder)).try_collect().await?;
        let mut objects = BTreeMap::new();
        for meta in listed {
            let number = meta.location.filename().unwrap().strip_suffix(".journal").unwrap();
            let text = match meta.size {
                0 => Bytes::new(),
                _ => self.store.get(&meta.location).await?.bytes().await?,
            };
            objects.insert(number.parse().unwrap(), String::from_utf8(text.to_vec()).unwrap());
        }
        Ok(objects)
    }

    pub(crate) async fn delete(&self, numbers: &[u64]) {
        let paths: Vec<_> = numbers.iter().map(|number| Ok(path(*number))).collect();
        let paths = futures::StreamExt::boxed(futures::stream::iter(paths));
        self.store.delete_stream(paths).try_collect::<Vec<_>>().await.unwrap();
    }
}
