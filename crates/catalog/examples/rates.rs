//! Commits a second over a directory and over S3, written one by one and in groups, in the process that leads
//! and from followers: `cargo run -p karst-catalog --example rates [seconds]`. And what opening a catalog
//! takes, in a process of its own, and finding buckets and their summaries in it: `... --example rates open
//! <buckets> <hosts of each>`; `fill <directory> <buckets> <hosts>` and `reopen <directory>` do the same in
//! two steps.
#![allow(clippy::disallowed_methods)]

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use karst_catalog::{Catalog, Commit, Error, JournalRange, Settings};
use model::{
    BucketEntry, BucketHeader, BucketId, BucketState, BucketSummary, EventTime, IndexName,
    IndexerId, JournalPosition, Lane, StreamId, TimeRange, ValueCount,
};
use object_store::ObjectStore;
use object_store::local::LocalFileSystem;
use object_store::memory::InMemory;
use runtime::Shutdown;
use runtime::store::{DurableLocal, Options};
use testkit::{Faults, S3Proxy, S3Server, TestDir};
use transport::{Credentials, Transport};

/// Committers of the bar.
const COMMITTERS: u16 = 64;
/// Followers that they are spread over, where they are not in the process that leads.
const FOLLOWERS: usize = 4;
/// Changes of which it is measured how long followers lack them.
const FED: u64 = 1_000;
/// Commits a second that the catalog has to take from them over S3, and their slowest hundredth in ms.
const BAR: (f64, f64) = (500.0, 60.0);
/// The earliest event of large catalogs, and the time between two buckets, in microseconds.
const START: i64 = 1_700_000_000_000_000;
const BUCKET_TIME: i64 = 31_536_000;
/// A request to S3 as it is in a cloud.
const SLOW: Duration = Duration::from_millis(16);

#[tokio::main]
async fn main() -> Result<(), Error> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [command, buckets, hosts] = &arguments[..]
        && command == "open"
    {
        let number = |text: &str| text.parse().unwrap_or(1_000);
        return open_large(number(buckets), number(hosts)).await;
    }
    if let [command, directory, buckets, hosts] = &arguments[..]
        && command == "fill"
    {
        let number = |text: &str| text.parse().unwrap_or(1_000);
        return fill(directory.as_ref(), number(buckets), number(hosts)).await;
    }
    if let [command, directory, rest @ ..] = &arguments[..]
        && command == "reopen"
    {
        return reopen(directory.as_ref(), rest.is_empty()).await;
    }
    if let [command, directory] = &arguments[..]
        && command == "pack"
    {
        return pack(directory.as_ref()).await;
    }
    let seconds = arguments.first().and_then(|text| text.parse().ok()).unwrap_or(5);
    let time = Duration::from_secs(seconds);
    println!("| store | commits in one write, at most | commits/s | p50 ms | p99 ms | writes/s |");
    println!("| --- | --- | --- | --- | --- | --- |");
    let directory = TestDir::new();
    let server = S3Server::start().await;
    let local = DurableLocal::open(directory.path()).expect("a directory");
    let mut stores: Vec<(&str, Arc<dyn ObjectStore>)> = vec![("directory", Arc::new(local))];
    let mut proxies = Vec::new();
    if let Some(server) = &server {
        let slow = Faults { latency: SLOW, ..Faults::default() };
        let proxy = S3Proxy::before(server, slow).await;
        let open = |variables| {
            let options = Options { variables, ..Options::default() };
            runtime::store::open(&server.url("rates"), &options).expect("the server runs").store
        };
        stores.push(("S3", open(server.variables())));
        stores.push(("S3, 16 ms a request", open(proxy.variables(server))));
        proxies.push(proxy);
    }
    for (name, store) in stores {
        for group_commits in [1, Settings::default().group_commits] {
            let settings = Settings { group_commits, ..Settings::default() };
            let path = format!("{}-{group_commits}", name.replace([' ', ','], "-"));
            let clock = Arc::new(runtime::SystemClock);
            let leader = Catalog::open(Arc::clone(&store), &path, settings, clock).await?;
            let own = std::slice::from_ref(&leader);
            measure(name, &group_commits.to_string(), (&leader, own), time).await?;
            leader.close().await?;
        }
        let path = format!("{}-followers", name.replace([' ', ','], "-"));
        let most = Settings::default().group_commits.to_string();
        let (leader, followers) = cluster(Arc::clone(&store), &path).await?;
        let remote = format!("{name}, from {FOLLOWERS} followers");
        measure(&remote, &most, (&leader, &followers), time).await?;
        leader.close().await?;
    }
    feed().await?;
    let (commits, slowest) = BAR;
    println!("\n{COMMITTERS} committers. Bar over S3: {commits} commits/s, p99 {slowest} ms.");
    Ok(())
}

/// A leader, and followers over encrypted connections.
async fn cluster(
    store: Arc<dyn ObjectStore>,
    path: &str,
) -> Result<(Catalog, Vec<Catalog>), Error> {
    let clock = Arc::new(runtime::SystemClock);
    let leader = Catalog::open(store, path, Settings::default(), clock.clone()).await?;
    let directory = TestDir::new();
    let place = directory.path().join("credentials");
    let credentials = Credentials::create(&place, clock.as_ref());
    let settings = transport::Settings::read(&conf::Layers::builtin()).expect("the defaults");
    let transport = credentials.and_then(|credentials| Transport::new(&credentials, settings));
    let transport = transport.expect("credentials that were just made");
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = listener.local_addr().expect("it is bound").to_string();
    let (serving, routes) = (transport.clone(), tonic::service::Routes::new(leader.service()));
    tokio::spawn(async move { serving.serve(listener, routes, &Shutdown::new()).await });
    let mut followers = Vec::new();
    for _ in 0..FOLLOWERS {
        let (addresses, clock) = ([address.clone()], clock.clone());
        let follower = Catalog::follow(&addresses, &transport, Settings::default(), clock);
        followers.push(follower.await?);
    }
    Ok((leader, followers))
}

/// How long followers lack a change that the leader has: the last one of them each time.
async fn feed() -> Result<(), Error> {
    let (leader, followers) = cluster(Arc::new(InMemory::new()), "feed").await?;
    let mut times = Vec::new();
    for number in 0..FED {
        leader.commit(commit(number.into(), 0, number + 1)).await?;
        let (begun, wanted) = (Instant::now(), leader.snapshot().number());
        for follower in &followers {
            let mut seen = follower.subscribe();
            let _ = seen.wait_for(|snapshot| snapshot.number() >= wanted).await;
        }
        times.push(begun.elapsed().as_secs_f64() * 1e3);
    }
    times.sort_by(f64::total_cmp);
    let (p50, p99) = (at(&times, 0.5), at(&times, 0.99));
    println!(
        "\nA commit has reached {FOLLOWERS} followers {p50:.2} ms after the leader (p99 {p99:.2} ms; bar 50)."
    );
    leader.close().await
}

/// Has committers commit to catalogs, those of the leader or of its followers.
async fn measure(
    name: &str,
    most: &str,
    (leader, catalogs): (&Catalog, &[Catalog]),
    time: Duration,
) -> Result<(), Error> {
    let before = leader.snapshot().number();
    let begun = Instant::now();
    let tasks: Vec<_> = (0..COMMITTERS)
        .map(|set| {
            let catalog = catalogs[usize::from(set) % catalogs.len()].clone();
            tokio::spawn(async move {
                let mut times = Vec::new();
                let mut position = 0;
                while begun.elapsed() < time {
                    position += 1;
                    let number = u128::from(set) << 64 | u128::from(position);
                    let start = Instant::now();
                    catalog.commit(commit(number, set, position)).await?;
                    times.push(start.elapsed().as_secs_f64() * 1e3);
                }
                Ok::<_, Error>(times)
            })
        })
        .collect();
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await.expect("the task ends")?);
    }
    let seconds = begun.elapsed().as_secs_f64();
    let writes = (leader.snapshot().number() - before) as f64 / seconds;
    times.sort_by(f64::total_cmp);
    let (commits, p50, p99) = (times.len() as f64 / seconds, at(&times, 0.5), at(&times, 0.99));
    println!("| {name} | {most} | {commits:.0} | {p50:.1} | {p99:.1} | {writes:.0} |");
    Ok(())
}

fn at(times: &[f64], part: f64) -> f64 {
    times[((times.len() - 1) as f64 * part) as usize]
}

/// A bucket with the next record of a stream.
fn commit(number: u128, set: u16, position: u64) -> Commit {
    let index = IndexName::new("main").expect("it is a name");
    let indexer = IndexerId(uuid::Uuid::from_u128(1));
    let stream = StreamId { indexer, set, index, lane: Lane::FIRST };
    let position = JournalPosition(position);
    let range = JournalRange { stream, from: Some(position), upto: position, epoch: 0 };
    Commit { add: vec![bucket(number, 3)], ranges: vec![range], ..Commit::default() }
}

fn bucket(number: u128, hosts: usize) -> BucketEntry {
    let index = IndexName::new("main").expect("it is a name");
    let id = id_of(number);
    // A million buckets are a year.
    let time = EventTime(START + (number as i64) * BUCKET_TIME);
    let vary = |upto: u64| random(number as usize) as u64 % upto;
    let later = |time: EventTime, micros: u64| EventTime(time.0.wrapping_add_unsigned(micros));
    // Numbers that are equal in all buckets would take no memory.
    let (first_time, last_time) = (later(time, vary(30_000_000)), later(time, 60_000_000));
    let value = |value: String| ValueCount {
        value,
        count: 50,
        first_time: time,
        last_time: time,
        recent_time: time,
    };
    let field = |at: usize| model::FieldSummary {
        name: format!("field_{at}"),
        count: 1_000,
        column: Some(model::ColumnKind::Text),
        indexed: false,
        multivalue: false,
        distinct: Some(17),
    };
    let summary = BucketSummary {
        // As those that are merged no more.
        rows: 2_000_000 + vary(100_000),
        raw_bytes: 500_000_000 + vary(20_000_000),
        first_time,
        last_time,
        first_index_time: later(first_time, vary(1_000_000)),
        last_index_time: later(last_time, vary(2_000_000)),
        hosts: (0..hosts).map(|at| value(format!("host-{at:04}.example.com"))).collect(),
        sources: vec![value("/var/log/messages".to_owned())],
        sourcetypes: vec![value("syslog".to_owned())],
        fields: (0..12).map(field).collect(),
        fields_complete: true,
        rules: vec![("syslog".to_owned(), 77)],
    };
    let (path, summary, size) = (String::new(), Arc::new(summary), 75_000_000 + vary(9_000_000));
    let mut entry = BucketEntry { id, path, index, size, state: BucketState::Warm, summary };
    // Where objects usually are.
    entry.path = BucketHeader { other_path: None, ..BucketHeader::of(&entry) }.path();
    entry
}

/// Ordered by time, and random in the last bits, as those of buckets are.
fn id_of(number: u128) -> BucketId {
    let milliseconds = (START as u128 + number * BUCKET_TIME as u128) / 1_000;
    let random = (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let random = u128::from(random ^ (random >> 29)) >> 2;
    BucketId(uuid::Uuid::from_u128(milliseconds << 80 | 7 << 76 | 2 << 62 | random))
}

/// Looks buckets up in a random order, and the same in a table that has nothing but their IDs; goes through
/// all of them, and copies as many bytes as they take.
fn look_up(catalog: &Catalog) {
    const LOOKS: usize = 1_000_000;
    /// Bytes of the columns of a bucket.
    const BYTES: usize = 57;
    let snapshot = catalog.snapshot();
    let ids: Vec<BucketId> = snapshot.overlapping(&[], &TimeRange::ALL).map(|one| one.id).collect();
    let wanted: Vec<BucketId> = (0..LOOKS).map(|look| ids[random(look) % ids.len()]).collect();
    let nanos = |begun: Instant, times: usize| begun.elapsed().as_secs_f64() * 1e9 / times as f64;
    let begun = Instant::now();
    let table: HashMap<BucketId, usize> =
        ids.iter().enumerate().map(|(at, id)| (*id, at)).collect();
    let inserting = nanos(begun, ids.len());
    let (mut own, mut bare) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        let begun = Instant::now();
        let found = wanted.iter().filter(|id| snapshot.bucket(**id).is_some()).count();
        own.push(nanos(begun, LOOKS));
        let begun = Instant::now();
        let sum: usize = wanted.iter().map(|id| table[id]).sum();
        bare.push(nanos(begun, LOOKS));
        assert!(found == LOOKS && sum > 0, "all are there");
    }
    own.sort_by(f64::total_cmp);
    bare.sort_by(f64::total_cmp);
    let (own, bare) = (own[1], bare[1]);
    println!(
        "  a random ID: {own:.0} ns, in a bare table {bare:.0} ns: {:.2} times; inserting into that: \
         {inserting:.0} ns",
        own / bare
    );
    let begun = Instant::now();
    let rows: u64 = snapshot.overlapping(&[], &TimeRange::ALL).map(|one| one.rows).sum();
    let headers = nanos(begun, ids.len());
    let indexes: Vec<IndexName> = snapshot.indexes().cloned().collect();
    let begun = Instant::now();
    let selected = snapshot.searchable_in(&indexes, &TimeRange::ALL, |_| false);
    let chosen = nanos(begun, ids.len());
    let from = vec![1_u8; BYTES * LOOKS];
    let mut to = vec![2_u8; BYTES * LOOKS];
    let begun = Instant::now();
    to.copy_from_slice(&from);
    let copying = nanos(begun, LOOKS);
    assert!(rows > 0 && selected.excluded == ids.len() as u64 && to[LOOKS] == 1, "all are there");
    println!(
        "  one after the other: {headers:.0} ns as headers, {chosen:.1} ns only chosen; copying {BYTES} \
         bytes: {copying:.1} ns"
    );
}

/// A number that looks random, always the same.
fn random(number: usize) -> usize {
    let mixed = (number as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let mixed = (mixed ^ (mixed >> 31)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    (mixed ^ (mixed >> 29)) as usize
}

/// Makes a catalog in a directory, which is then the object store of a server without events.
async fn fill(directory: &Path, buckets: usize, hosts: usize) -> Result<(), Error> {
    // Without the syncs that make each commit durable: only opening is measured.
    let catalog = open(directory, true).await?;
    let begun = Instant::now();
    let numbers: Vec<u128> = (0..buckets as u128).collect();
    for some in numbers.chunks(1_000) {
        let add = some.iter().map(|number| bucket(*number, hosts)).collect();
        catalog.commit(Commit { add, ..Commit::default() }).await?;
    }
    catalog.close().await?;
    let seconds = begun.elapsed().as_secs_f64();
    println!("filled in {seconds:.0} s, {:.1} µs each", seconds * 1e6 / buckets as f64);
    Ok(())
}

/// Makes a catalog in a directory and opens it in another process.
async fn open_large(buckets: usize, hosts: usize) -> Result<(), Error> {
    let directory = TestDir::new();
    fill(directory.path(), buckets, hosts).await?;
    let program = std::env::current_exe().expect("this program has a path");
    // The second one may find the files in the memory of the system.
    for how in [&["headers"][..], &[]] {
        print!("{buckets} buckets of {hosts} hosts: ");
        let mut child = std::process::Command::new(&program);
        child.arg("reopen").arg(directory.path()).args(how).status().expect("it runs");
    }
    Ok(())
}

/// Packs all headers of a catalog.
async fn pack(directory: &Path) -> Result<(), Error> {
    let catalog = open(directory, true).await?;
    let begun = Instant::now();
    catalog.pack().await?;
    let (seconds, buckets) = (begun.elapsed().as_secs_f64(), catalog.snapshot().len());
    let peak = memory("VmHWM:");
    println!("{buckets} packed in {seconds:.2} s, {peak} MB at most");
    catalog.close().await
}

/// Opens a catalog from its packs, or header by header.
async fn reopen(directory: &Path, uses_packs: bool) -> Result<(), Error> {
    let before = resident();
    let begun = Instant::now();
    let catalog = open(directory, uses_packs).await?;
    let seconds = begun.elapsed().as_secs_f64();
    let buckets = catalog.snapshot().len();
    let megabytes = resident() - before;
    let peak = memory("VmHWM:");
    let how = if uses_packs { "from packs" } else { "header by header" };
    let each = seconds * 1e9 / buckets.max(1) as f64;
    println!(
        "{buckets} open {how} in {seconds:.2} s, {each:.0} ns each, {megabytes} MB, {peak} MB at most"
    );
    look_up(&catalog);
    let all = buckets as i64 * BUCKET_TIME;
    let hour = 3_600_000_000;
    for (name, length) in [("an hour", hour), ("a day", hour * 24)] {
        for (place, from) in [("the newest", all - length), ("in the middle", all / 2)] {
            let earliest = EventTime(START + from);
            let range = TimeRange { earliest, latest: EventTime(earliest.0 + length) };
            prune(&catalog, &format!("{name}, {place}"), range).await?;
        }
    }
    prune(&catalog, "all headers, without summaries", TimeRange::ALL).await
}

/// What planning does with a time range: it looks for the headers, and reads the summaries of those.
async fn prune(catalog: &Catalog, name: &str, range: TimeRange) -> Result<(), Error> {
    let mut times = Vec::new();
    let mut found = 0;
    for _ in 0..3 {
        let begun = Instant::now();
        let snapshot = catalog.snapshot();
        let ids: Vec<BucketId> =
            snapshot.overlapping(&[], &range).map(|bucket| bucket.id).collect();
        if range != TimeRange::ALL {
            catalog.summaries(&ids).await?;
        }
        times.push(format!("{:.2}", begun.elapsed().as_secs_f64() * 1e3));
        found = ids.len();
    }
    println!("  {name}: {found} buckets, {} ms (first, second, third time)", times.join(", "));
    Ok(())
}

async fn open(directory: &Path, uses_packs: bool) -> Result<Catalog, Error> {
    let store = LocalFileSystem::new_with_prefix(directory).expect("it exists");
    let default = Settings::default();
    let settings = Settings {
        fold_commits: 8,
        // Filling writes faster than anything else.
        compaction_interval: Duration::from_secs(1),
        pack_changes: if uses_packs { default.pack_changes } else { 0 },
        ..default
    };
    Catalog::open(Arc::new(store), "catalog", settings, Arc::new(runtime::SystemClock)).await
}

/// Resident memory of this process in MB.
fn resident() -> u64 {
    memory("VmRSS:")
}

fn memory(line: &str) -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|found| found.strip_prefix(line));
    let kilobytes = line.and_then(|text| text.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) / 1024
}
