//! How much raw text a CPU-second takes through the whole path: lines, journal, hot bucket,
//! encoding, upload.
//!
//! `cargo run -p karst-ingest --example ingest_rate -- [MB] [FILE_OR_DIRECTORY]` prints MB/s per
//! CPU-second of one core, for generated lines of about 300 bytes or for the files.
#![allow(clippy::disallowed_methods)]

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use catalog::Catalog;
use inputs::{Input, InputMeta, Sink, StreamKey};
use karst_ingest::{Codec, Ingest, Parts, Settings};
use knowledge::Knowledge;
use model::{IndexName, IndexerId};
use object_store::local::LocalFileSystem;
use runtime::SystemClock;

/// The program's allocator, so that rates are comparable.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Failure = Box<dyn std::error::Error>;

#[tokio::main]
async fn main() -> Result<(), Failure> {
    let mut arguments = std::env::args().skip(1);
    let megabytes: usize = arguments.next().map_or(Ok(200), |text| text.parse())?;
    let path = arguments.next().map(PathBuf::from);
    let sources = match &path {
        Some(path) => samples(path, megabytes << 20)?,
        None => vec![("generated".to_owned(), generated(megabytes << 20))],
    };
    // The first run pays for memory that later ones find mapped: it is not one to compare with.
    for codec in [Codec::None, Codec::Lz4, Codec::Zstd, Codec::None] {
        run(&sources, codec).await?;
    }
    Ok(())
}

async fn run(sources: &[(String, Bytes)], codec: Codec) -> Result<(), Failure> {
    let data = tempfile::tempdir()?;
    let root = data.path().join("store");
    fs::create_dir_all(&root)?;
    let store = Arc::new(LocalFileSystem::new_with_prefix(&root)?);
    let clock = Arc::new(SystemClock);
    let settings = catalog::Settings::default();
    let catalog = Catalog::open(store.clone(), "catalog", settings, clock.clone()).await?;
    let parts = Parts {
        data: data.path().to_owned(),
        indexer: IndexerId(uuid::Uuid::now_v7()),
        store,
        replicas: None,
        catalog: Arc::new(catalog),
        knowledge: Arc::new(Knowledge::builtin()),
        clock,
        settings: Settings { journal_codec: codec, ..Settings::default() },
    };
    let ingest = Ingest::start(parts).await?;
    let (began, cpu) = (Instant::now(), cpu_seconds()?);
    let (mut events, mut bytes) = (0, 0);
    for (name, text) in sources {
        let receipt = push(&ingest, name, text.clone()).await?;
        events += receipt.0;
        bytes += receipt.1;
    }
    let accepted = (began.elapsed(), cpu_seconds()? - cpu);
    ingest.roll_all(None).await?;
    let stored = (began.elapsed(), cpu_seconds()? - cpu);
    let queues = ingest.list_queues();
    print_rate(codec, "acknowledged", bytes, events, accepted);
    print_rate(codec, "stored", bytes, events, stored);
    for queue in queues {
        println!("    {:9} blocked {:?}", queue.stage, queue.blocked);
    }
    println!("    stored bytes per raw byte {:.3}", size_of(&root)? as f64 / bytes as f64);
    Ok(())
}

async fn push(ingest: &Ingest, name: &str, mut text: Bytes) -> Result<(u64, u64), Failure> {
    let origin = Arc::new(InputMeta {
        index: IndexName::new("main")?,
        host: "web01".into(),
        source: name.into(),
        sourcetype: None,
    });
    let stream = StreamKey(name.into());
    let mut waiting = Vec::new();
    while !text.is_empty() {
        let bytes = text.split_to(text.len().min(1 << 20));
        let (origin, stream, end) = (Arc::clone(&origin), stream.clone(), text.is_empty());
        let input = Input::Raw { origin, stream, bytes, modified: None, end };
        waiting.push(ingest.enqueue(input, Duration::MAX).await?);
    }
    let mut total = (0, 0);
    for acknowledgement in waiting {
        let receipt = acknowledgement.wait().await?;
        total.0 += receipt.events;
        total.1 += receipt.bytes;
    }
    Ok(total)
}

fn print_rate(codec: Codec, what: &str, bytes: u64, events: u64, (wall, cpu): (Duration, f64)) {
    let megabytes = bytes as f64 / 1e6;
    println!(
        "{codec:?} {what}: {megabytes:.0} MB, {events} events, wall {:.2} s, cpu {cpu:.2} s, \
         {:.1} MB per CPU-second, {:.1} MB/s",
        wall.as_secs_f64(),
        megabytes / cpu,
        megabytes / wall.as_secs_f64()
    );
}

/// CPU time of all threads of this process.
fn cpu_seconds() -> Result<f64, Failure> {
    let stat = fs::read_to_string("/proc/self/stat")?;
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let ticks: f64 = fields[11].parse::<f64>()? + fields[12].parse::<f64>()?;
    // The kernel's unit of accounting is a hundredth of a second on every Linux.
    Ok(ticks / 100.0)
}

fn generated(size: usize) -> Bytes {
    let mut text = Vec::with_capacity(size + 512);
    let mut seed = 1u64;
    let mut number = || {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        seed >> 33
    };
    let mut count = 0u64;
    while text.len() < size {
        let (second, milli) = (count / 500 % 86_400, count * 2 % 1000);
        let line = format!(
            "2026-11-19T{:02}:{:02}:{:02}.{milli:03}Z host=web{:03} level={} method={} \
             path=/api/v1/items/{} status={} latency_ms={} bytes={} user_id={} session={:016x} \
             id={count} referer=\"https://shop.example.com/category/{}\" agent=\"Mozilla/5.0 \
             (X11; Linux x86_64) AppleWebKit/537.36\"\n",
            second / 3600,
            second / 60 % 60,
            second % 60,
            number() % 200,
            ["INFO", "WARN", "ERROR"][number() as usize % 3],
            ["GET", "POST", "PUT"][number() as usize % 3],
            number() % 5000,
            [200, 200, 200, 404, 500][number() as usize % 5],
            number() % 2000,
            number() % 100_000,
            number() % 1_000_000,
            number() * 4_294_967_311,
            number() % 40,
        );
        text.extend_from_slice(line.as_bytes());
        count += 1;
    }
    text.into()
}

/// Each file, repeated until all together have about `size` bytes.
fn samples(path: &Path, size: usize) -> Result<Vec<(String, Bytes)>, Failure> {
    let mut files = Vec::new();
    if path.is_dir() {
        for entry in fs::read_dir(path)? {
            files.push(entry?.path());
        }
        files.sort();
    } else {
        files.push(path.to_owned());
    }
    let share = size / files.len().max(1);
    let mut sources = Vec::new();
    for file in files {
        let text = fs::read(&file)?;
        let times = share.div_ceil(text.len().max(1));
        sources.push((file.display().to_string(), text.repeat(times).into()));
    }
    Ok(sources)
}

fn size_of(directory: &Path) -> Result<u64, Failure> {
    let mut size = 0;
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let metadata = entry.metadata()?;
        size += if metadata.is_dir() { size_of(&entry.path())? } else { metadata.len() };
    }
    Ok(size)
}
