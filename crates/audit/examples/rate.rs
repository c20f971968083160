//! Measures how many records per second the trail takes if each caller waits until its record is synced:
//! `cargo run -p karst-audit --example rate [directory]`.
#![allow(clippy::disallowed_methods)]

use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use karst_audit::{AuditLog, Error, Info, Key, Record, Settings};
use runtime::SystemClock;

/// Minimum rate with 64 waiting writers, in records per second.
const BAR: f64 = 2_000.0;
const TIME: Duration = Duration::from_secs(3);

#[tokio::main]
async fn main() -> Result<(), Error> {
    let folder = std::env::args().nth(1).map_or_else(std::env::temp_dir, PathBuf::from);
    for writers in [1, 8, 64] {
        let directory = folder.join(format!("audit-rate-{}-{writers}", std::process::id()));
        let rate = measure(directory.clone(), writers).await?;
        let bar = if writers == 64 { format!(" (bar: {BAR:.0})") } else { String::new() };
        println!("{writers:>3} writers: {rate:>8.0} records/s{bar}");
        let _ = std::fs::remove_dir_all(directory);
    }
    Ok(())
}

async fn measure(directory: PathBuf, writers: usize) -> Result<f64, Error> {
    let (key, clock) = (Key::new(&[7; Key::BYTES]), Arc::new(SystemClock));
    let opened = AuditLog::open(directory, key, Settings::default(), clock, Vec::new()).await?;
    let begun = Instant::now();
    let tasks: Vec<_> = (0..writers)
        .map(|_| {
            let log = opened.log.clone();
            tokio::spawn(async move {
                let mut records = 0_u64;
                while begun.elapsed() < TIME {
                    let record = Record::new("ann", "edit_index", Info::Succeeded)
                        .with("object", "main")
                        .with("clientip", "10.0.0.9")
                        .with("arguments", "frozenTimePeriodInSecs=86400");
                    log.append(record).await?;
                    records += 1;
                }
                Ok::<_, Error>(records)
            })
        })
        .collect();
    let mut records = 0;
    for task in tasks {
        records += task.await.map_err(|_| Error::Closed)??;
    }
    let rate = records as f64 / begun.elapsed().as_secs_f64();
    opened.log.close().await;
    Ok(rate)
}
