//! `karst list cache`: reads from DRAM, NVMe and S3, once or at an interval.

use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use serde_json::Value;

use super::client::Client;
use super::table::{Rows, print_rows};
use crate::config::Output;

const PATH: &str = "/services/server/status/cache?output_mode=json";
const HEADER: [&str; 6] = ["time", "total KB", "DRAM KB", "NVMe KB", "S3 KB", "hit rate"];

/// Bytes per tier: since the server started, or between two samples.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Read {
    dram: u64,
    nvme: u64,
    store: u64,
}

impl Read {
    fn of(counters: &Value) -> Self {
        let bytes = |name: &str| counters[name].as_u64().unwrap_or(0);
        Self { dram: bytes("dram_bytes"), nvme: bytes("nvme_bytes"), store: bytes("store_bytes") }
    }

    fn total(self) -> u64 {
        self.dram + self.nvme + self.store
    }

    /// The difference from an earlier sample. After a restart of the server the counters are lower;
    /// then all of it is new.
    fn since(self, before: Self) -> Self {
        if self.total() < before.total() {
            return self;
        }
        Self {
            dram: self.dram.saturating_sub(before.dram),
            nvme: self.nvme.saturating_sub(before.nvme),
            store: self.store.saturating_sub(before.store),
        }
    }

    #[allow(clippy::cast_precision_loss)]
    fn line(self, time: &str) -> String {
        let kb = |bytes: u64| bytes.div_ceil(1024).to_string();
        let rate = match self.total() {
            0 => "-".to_owned(),
            total => format!("{:.1} %", 100.0 * (total - self.store) as f64 / total as f64),
        };
        let [total, dram, nvme, store] = [self.total(), self.dram, self.nvme, self.store].map(kb);
        aligned([time, &total, &dram, &nvme, &store, &rate])
    }
}

/// Names of the columns where programs read them.
const FIELDS: [&str; 5] = ["time", "total_bytes", "dram_bytes", "nvme_bytes", "store_bytes"];

fn show(read: Read, time: &str, output: Output, first: bool) -> Result<()> {
    if output == Output::Table {
        let mut out = std::io::stdout().lock();
        if first {
            writeln!(out, "{}", aligned(HEADER))?;
        }
        // With an interval, the command ends when the reader of its output does.
        writeln!(out, "{}", read.line(time))?;
        return Ok(());
    }
    let numbers = [read.total(), read.dram, read.nvme, read.store].map(Value::from);
    let row = std::iter::once(Value::from(time)).chain(numbers).collect();
    let rows = Rows { fields: FIELDS.map(str::to_owned).into(), rows: vec![row] };
    print_rows(&mut std::io::stdout().lock(), &rows, output, false, &[], first)
}

fn aligned(cells: [&str; 6]) -> String {
    let [time, total, dram, nvme, store, rate] = cells;
    format!("{time:<19} {total:>12} {dram:>12} {nvme:>12} {store:>12} {rate:>9}")
}

/// Prints the reads since the server started, or a line per interval until Ctrl-C.
#[expect(clippy::disallowed_methods, reason = "the clock of the person who looks")]
pub(super) async fn print(
    client: &Client,
    interval: Option<u64>,
    output: Option<Output>,
) -> Result<ExitCode> {
    let output = output.unwrap_or(Output::Table);
    let mut before = look(client).await?;
    let Some(seconds) = interval else {
        show(before, "since start", output, true)?;
        return Ok(ExitCode::SUCCESS);
    };
    if output == Output::Table {
        println!("{}", aligned(HEADER));
    }
    let mut ticks = tokio::time::interval(Duration::from_secs(seconds));
    ticks.tick().await;
    let mut first = output != Output::Table;
    loop {
        tokio::select! {
            _ = ticks.tick() => {}
            _ = tokio::signal::ctrl_c() => return Ok(ExitCode::SUCCESS),
        }
        let now = look(client).await?;
        let time = jiff::Zoned::now().strftime("%Y-%m-%d %H:%M:%S").to_string();
        show(now.since(before), &time, output, first)?;
        first = false;
        before = now;
    }
}

async fn look(client: &Client) -> Result<Read> {
    Ok(Read::of(&client.get(PATH).await?["entry"][0]["content"]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_has_what_was_read_in_between() {
        let before = Read { dram: 1 << 20, nvme: 0, store: 4096 };
        let now = Read { dram: (1 << 20) + 2048, nvme: 1024, store: 5120 };
        let cells: Vec<_> =
            now.since(before).line("12:00").split_whitespace().map(str::to_owned).collect();
        assert_eq!(cells, ["12:00", "4", "2", "1", "1", "75.0", "%"]);
        assert!(now.since(now).line("12:01").trim_end().ends_with('-'));
    }

    #[test]
    fn a_server_that_began_again_has_read_everything_since() {
        let now = Read { dram: 10, nvme: 20, store: 30 };
        assert_eq!(now.since(Read { dram: 1000, ..now }), now);
    }
}
