//! The proxy of the tests as a program, for benchmarks and tests in other languages.
//!
//! It prints its endpoint as the first line. For every line on standard input, it prints the counts since
//! the previous one as a JSON line. It ends when its input ends.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::Result;
use clap::Parser;
use karst_testkit::{Faults, ProxyCounts, S3Proxy};
use tokio::io::{AsyncBufReadExt, BufReader};

/// A slow and unreliable way to an S3 server.
#[derive(Debug, Parser)]
struct Arguments {
    /// The server, for example http://127.0.0.1:9000.
    upstream: String,
    /// Where to listen; port 0 is any free one.
    #[arg(long, default_value = "127.0.0.1:0")]
    listen: SocketAddr,
    /// Wait before the first byte of an answer, in milliseconds.
    #[arg(long, default_value_t = 0)]
    latency_ms: u64,
    /// Requests that fail with 500 or 503, in percent.
    #[arg(long, default_value_t = 0.0)]
    errors: f64,
    /// Requests that are refused with SlowDown, in percent.
    #[arg(long, default_value_t = 0.0)]
    slow_down: f64,
    /// Bodies that break off, in percent.
    #[arg(long, default_value_t = 0.0)]
    cut: f64,
    /// Selects which requests these are.
    #[arg(long, default_value_t = 0)]
    seed: u64,
}

#[tokio::main(worker_threads = 2)]
async fn main() -> Result<()> {
    let arguments = Arguments::parse();
    let faults = Faults {
        latency: Duration::from_millis(arguments.latency_ms),
        error_percent: arguments.errors,
        slow_down_percent: arguments.slow_down,
        cut_percent: arguments.cut,
        seed: arguments.seed,
    };
    let proxy = S3Proxy::listen(arguments.listen, &arguments.upstream, faults).await?;
    println!("{}", proxy.endpoint());
    let mut lines = BufReader::new(tokio::io::stdin()).lines();
    while lines.next_line().await?.is_some() {
        let counts = proxy.counts();
        proxy.reset();
        println!("{}", json(&counts));
    }
    Ok(())
}

fn json(counts: &ProxyCounts) -> serde_json::Value {
    serde_json::json!({
        "get": counts.get, "head": counts.head, "list": counts.list, "put": counts.put,
        "other": counts.other, "errors": counts.errors, "slow_downs": counts.slow_downs,
        "cuts": counts.cuts, "sent": counts.sent, "most_at_once": counts.most_at_once,
    })
}
