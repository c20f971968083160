//! A sink that cuts lines, keeps them in memory, and acknowledges at once or when it is told to.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use inputs::{Acknowledgement, Error, Input, InputMeta, Receipt, Sink, SinkLimits, StreamKey};
use model::ErrorKind;
use parking_lot::Mutex;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Recorder {
    state: Mutex<State>,
}

#[derive(Debug, Default)]
struct State {
    unfinished: HashMap<StreamKey, Vec<u8>>,
    lines: Vec<(Arc<InputMeta>, String)>,
    inputs: usize,
    bytes: usize,
    /// Inputs to refuse from now on.
    refuse: usize,
    idle: Duration,
}

impl Recorder {
    /// Its streams may be silent for that long.
    pub(crate) fn new(idle: Duration) -> Arc<Self> {
        let recorder = Self::default();
        recorder.state.lock().idle = idle;
        Arc::new(recorder)
    }

    pub(crate) fn sink(self: &Arc<Self>) -> Arc<dyn Sink> {
        Arc::clone(self) as Arc<dyn Sink>
    }

    /// The next inputs fail after they were taken.
    pub(crate) fn fail(&self, inputs: usize) {
        self.state.lock().refuse = inputs;
    }

    pub(crate) fn lines(&self) -> Vec<String> {
        let state = self.state.lock();
        state.lines.iter().map(|(_, line)| line.clone()).collect()
    }

    pub(crate) fn sorted(&self) -> Vec<String> {
        let mut lines = self.lines();
        lines.sort();
        lines
    }

    pub(crate) fn origins(&self) -> Vec<Arc<InputMeta>> {
        let state = self.state.lock();
        let mut origins: Vec<_> = state.lines.iter().map(|(origin, _)| origin.clone()).collect();
        origins.dedup();
        origins
    }

    /// How many inputs with how many bytes came.
    pub(crate) fn traffic(&self) -> (usize, usize) {
        let state = self.state.lock();
        (state.inputs, state.bytes)
    }
}

impl State {
    fn take(&mut self, input: Input) -> Result<Receipt, Error> {
        self.inputs += 1;
        if self.refuse > 0 {
            self.refuse -= 1;
            let reason = "the disk is full".into();
            return Err(Error::Refused { kind: ErrorKind::Unavailable, reason });
        }
        let before = self.lines.len();
        let mut pending = 0;
        match input {
            Input::Raw { origin, stream, bytes, end, .. } => {
                self.bytes += bytes.len();
                let mut text = self.unfinished.remove(&stream).unwrap_or_default();
                text.extend_from_slice(&bytes);
                while let Some(end) = text.iter().position(|byte| *byte == b'\n') {
                    let rest = text.split_off(end + 1);
                    text.pop();
                    self.lines.push((origin.clone(), String::from_utf8(text).unwrap()));
                    text = rest;
                }
                if end && !text.is_empty() {
                    self.lines.push((origin, String::from_utf8(text).unwrap()));
                } else if !text.is_empty() {
                    pending = text.len() as u64;
                    self.unfinished.insert(stream, text);
                }
            }
            Input::Events { events, .. } => {
                for (row, origin) in events.each_origin().enumerate() {
                    let line = String::from_utf8(events.text(row).to_vec()).unwrap();
                    self.lines.push((origin.clone(), line));
                }
            }
        }
        let events = (self.lines.len() - before) as u64;
        Ok(Receipt { events, pending, ..Receipt::default() })
    }
}

impl Sink for Recorder {
    fn enqueue<'a>(
        &'a self,
        input: Input,
        _: Duration,
    ) -> BoxFuture<'a, Result<Acknowledgement, Error>> {
        Box::pin(async move {
            let (done, acknowledgement) = Acknowledgement::new();
            let outcome = self.state.lock().take(input);
            done.send(outcome).unwrap();
            Ok(acknowledgement)
        })
    }

    fn recognise(&self, source: &str, _: &[u8]) -> Arc<str> {
        let ending = source.rsplit('.').next().unwrap_or_default();
        format!("seen-{ending}").into()
    }

    fn limits(&self) -> SinkLimits {
        let stream_idle = self.state.lock().idle;
        SinkLimits { queue_wait: Duration::from_secs(1), stream_idle }
    }
}

/// A sink that never has room.
#[derive(Debug)]
pub(crate) struct Stalled;

impl Sink for Stalled {
    fn enqueue<'a>(
        &'a self,
        _: Input,
        _: Duration,
    ) -> BoxFuture<'a, Result<Acknowledgement, Error>> {
        Box::pin(std::future::pending())
    }

    fn recognise(&self, _: &str, _: &[u8]) -> Arc<str> {
        "any".into()
    }

    fn limits(&self) -> SinkLimits {
        let second = Duration::from_secs(1);
        SinkLimits { queue_wait: second, stream_idle: second }
    }
}
