//! Stanzas of inputs that read: files, programs, pipes, objects.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use super::stanza::Keys;
use crate::exec::{Schedule, ScriptInput};
use crate::fifo::FifoInput;
use crate::monitor::{HostFrom, MonitorTarget, Salt};
use crate::s3::{Decoder, SqsInput};

/// `[monitor://<path>]`.
pub(super) fn monitor(keys: &mut Keys<'_>, path: &str, host: &Arc<str>) -> Option<MonitorTarget> {
    let path = path.trim();
    if path.is_empty() {
        keys.wrong("path", "a path after monitor://");
        return None;
    }
    let index = keys.index();
    let host = keys.host().unwrap_or_else(|| Arc::clone(host));
    let mut target = match MonitorTarget::new(path, index, host) {
        Ok(target) => target,
        Err(reason) => {
            keys.wrong("path", format!("a path with the wildcards * and ...: {reason}"));
            return None;
        }
    };
    target.host_from = host_from(keys);
    target.source = keys.shared("source");
    target.sourcetype = keys.shared("sourcetype");
    // The old names of the lists are still met.
    target.whitelist = keys.pattern("whitelist").or_else(|| keys.pattern("_whitelist"));
    target.blacklist = keys.pattern("blacklist").or_else(|| keys.pattern("_blacklist"));
    target.recursive = keys.boolean("recursive").unwrap_or(true);
    target.follow_symlink = keys.boolean("followSymlink").unwrap_or(true);
    target.salt = match keys.text("crcSalt") {
        None => Salt::None,
        Some("<SOURCE>") => Salt::Source,
        Some(text) => Salt::Text(text.to_owned()),
    };
    let allowed = "a number of bytes from 256 to 1048576";
    let length = |text: &str| text.parse().ok().filter(|bytes| (256..=1 << 20).contains(bytes));
    target.init_crc_length = keys.read("initCrcLength", allowed, length).unwrap_or(256);
    target.ignore_older_than = keys.duration("ignoreOlderThan");
    target.follow_tail = keys.boolean("followTail").unwrap_or(false);
    target.time_before_close = keys.number("time_before_close").map(Duration::from_secs);
    Some(target)
}

/// `[batch://<path>]`.
pub(super) fn batch(keys: &mut Keys<'_>, path: &str, host: &Arc<str>) -> Option<MonitorTarget> {
    if keys.text("move_policy") != Some("sinkhole") {
        keys.wrong(
            "move_policy",
            "sinkhole: files of [batch://...] are deleted when they are safe",
        );
        return None;
    }
    let mut target = monitor(keys, path, host)?;
    target.delete_when_read = true;
    target.follow_tail = false;
    Some(target)
}

fn host_from(keys: &mut Keys<'_>) -> HostFrom {
    if let Some(pattern) = keys.pattern("host_regex") {
        if pattern.names().len() < 2 {
            keys.wrong("host_regex", "a regular expression with a group, the host");
        }
        return HostFrom::Path(pattern);
    }
    let place = |text: &str| text.parse().ok().filter(|place| *place > 0);
    match keys.read("host_segment", "a number from 1", place) {
        Some(place) => HostFrom::Segment(place),
        None => HostFrom::Setting,
    }
}

/// `[script://<command>]`.
pub(super) fn script(keys: &mut Keys<'_>, command: &str, host: &Arc<str>) -> Option<ScriptInput> {
    let mut words = command.split_whitespace().map(str::to_owned);
    let Some(program) = words.next() else {
        keys.wrong("command", "a program after script://");
        return None;
    };
    let mut program = PathBuf::from(program);
    if program.is_relative()
        && let Some(folder) = keys.app_folder()
    {
        program = folder.join(program);
    }
    let expected = "seconds from 0, -1 for once, or a cron expression of five fields";
    let schedule = keys.read("interval", expected, Schedule::parse);
    Some(ScriptInput {
        name: keys.name().to_owned(),
        program,
        arguments: words.collect(),
        schedule: schedule.unwrap_or(Schedule::Every(Duration::from_secs(60))),
        index: keys.index(),
        host: keys.host().unwrap_or_else(|| Arc::clone(host)),
        source: keys.shared("source").unwrap_or_else(|| command.trim().into()),
        sourcetype: keys.shared("sourcetype"),
        environment: Vec::new(),
    })
}

/// `[fifo://<path>]`.
pub(super) fn fifo(keys: &mut Keys<'_>, path: &str, host: &Arc<str>) -> FifoInput {
    FifoInput {
        path: PathBuf::from(path.trim()),
        index: keys.index(),
        host: keys.host().unwrap_or_else(|| Arc::clone(host)),
        source: keys.shared("source").unwrap_or_else(|| path.trim().into()),
        sourcetype: keys.shared("sourcetype"),
    }
}

/// `[aws_sqs_based_s3://<name>]`, with the keys of Splunk's add-on for AWS.
pub(super) fn sqs(keys: &mut Keys<'_>, name: &str, host: &Arc<str>) -> Option<SqsInput> {
    let Some(url) = keys.text("sqs_queue_url") else {
        keys.wrong("sqs_queue_url", "the address of a queue");
        return None;
    };
    let mut input = SqsInput::new(name, url, keys.index());
    let batch = |text: &str| text.parse().ok().filter(|size| (1..=10).contains(size));
    if let Some(size) = keys.read("sqs_batch_size", "a number from 1 to 10", batch) {
        input.batch_size = size;
    }
    if let Some(time) = keys.read("sqs_visibility_timeout", "seconds from 10 to 43200", visibility)
    {
        input.visibility_timeout = time;
    }
    let known = "CustomLogs, or CloudTrail";
    if let Some(decoder) = keys.read("s3_file_decoder", known, Decoder::parse) {
        input.decoder = decoder;
    }
    input.host = keys.host().unwrap_or_else(|| Arc::clone(host));
    input.source = keys.shared("source");
    input.sourcetype = keys.shared("sourcetype");
    input.region = keys.text("sqs_queue_region").map(str::to_owned);
    input.sqs_endpoint = keys.text("sqs_private_endpoint_url").map(str::to_owned);
    input.s3_endpoint = keys.text("s3_private_endpoint_url").map(str::to_owned);
    Some(input)
}

fn visibility(text: &str) -> Option<Duration> {
    let seconds = text.parse().ok().filter(|seconds| (10..=43_200).contains(seconds))?;
    Some(Duration::from_secs(seconds))
}
