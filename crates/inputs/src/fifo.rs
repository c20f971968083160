//! Named pipes: reads the data that programs write into them.
//!
//! The pipe is also kept open for writing, so that it does not end when its last writer leaves. A pipe does
//! not keep its data: data that was read but is not safe when Karst is killed is lost.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use model::IndexName;
use runtime::Shutdown;
use tokio::net::unix::pipe;

use crate::exec::take_stream;
use crate::{Error, InputMeta, Sink, StreamKey};

/// Interval between checks for a missing pipe.
const RETRY: Duration = Duration::from_secs(5);

/// A named pipe.
#[derive(Debug, Clone)]
pub struct FifoInput {
    /// The path of the pipe.
    pub path: PathBuf,
    /// The index of events.
    pub index: IndexName,
    /// The host of events.
    pub host: Arc<str>,
    /// Their source.
    pub source: Arc<str>,
    /// Their format; `None`: recognised.
    pub sourcetype: Option<Arc<str>>,
}

impl FifoInput {
    /// Reads the pipe until the signal to stop.
    pub async fn run(self, sink: Arc<dyn Sink>, shutdown: Shutdown) {
        let mut told = false;
        loop {
            let failure = tokio::select! {
                read = self.read(Arc::clone(&sink)) => read.err(),
                () = shutdown.stopped() => return,
            };
            match failure {
                Some(Error::Closed | Error::Unacknowledged) => return,
                Some(error) if !told => {
                    tracing::warn!(path = %self.path.display(), %error, "waiting for a named pipe");
                    told = true;
                }
                Some(_) => {}
                None => told = false,
            }
            if !shutdown.sleep(RETRY).await {
                return;
            }
        }
    }

    async fn read(&self, sink: Arc<dyn Sink>) -> Result<(), Error> {
        let mut options = pipe::OpenOptions::new();
        #[cfg(target_os = "linux")]
        options.read_write(true);
        let pipe = options.open_receiver(&self.path);
        let pipe = pipe.map_err(|error| Error::read(self.path.display(), error))?;
        let meta = Arc::new(InputMeta {
            index: self.index.clone(),
            host: Arc::clone(&self.host),
            source: Arc::clone(&self.source),
            sourcetype: self.sourcetype.clone(),
        });
        let stream = StreamKey(
            format!("fifo:{}:{}", self.path.display(), runtime::random::time_ordered_uuid()).into(),
        );
        take_stream(pipe, meta, stream, sink).await
    }
}
