//! Stanzas of inputs that read: files, programs, pipes, objects.

use std::path::PathBuf;
use std::sync::Arc;

use super::stanza::Keys;
use crate::exec::ScriptInput;
use crate::fifo::FifoInput;
use crate::monitor::{HostFrom, MonitorTarget, Salt};
use crate::s3::SqsInput;
use crate::settings;

/// `[monitor://<path>]`.
pub(super) fn monitor(keys: &mut Keys<'_>, path: &str, host: &Arc<str>) -> Option<MonitorTarget> {
    let path = path.trim();
    if path.is_empty() {
        keys.wrong_name("path", "a path after monitor://");
        return None;
    }
    let index = keys.index();
    let host = keys.host().unwrap_or_else(|| Arc::clone(host));
    let mut target = match MonitorTarget::new(path, index, host) {
        Ok(target) => target,
        Err(reason) => {
            keys.wrong_name("path", format!("a path with the wildcards * and ...: {reason}"));
            return None;
        }
    };
    target.host_from = host_from(keys);
    target.source = keys.shared(&settings::SOURCE);
    target.sourcetype = keys.shared(&settings::SOURCETYPE);
    // The old names of the lists are still met.
    target.whitelist =
        keys.pattern(&settings::WHITELIST).or_else(|| keys.pattern(&settings::OLD_WHITELIST));
    target.blacklist =
        keys.pattern(&settings::BLACKLIST).or_else(|| keys.pattern(&settings::OLD_BLACKLIST));
    target.recursive = keys.get(&settings::RECURSIVE);
    target.follow_symlink = keys.get(&settings::FOLLOW_SYMLINK);
    target.salt = match keys.get(&settings::CRC_SALT).as_deref() {
        None => Salt::None,
        Some("<SOURCE>") => Salt::Source,
        Some(text) => Salt::Text(text.to_owned()),
    };
    target.init_crc_length = keys.get(&settings::INIT_CRC_LENGTH);
    target.ignore_older_than =
        Some(keys.get(&settings::IGNORE_OLDER_THAN)).filter(|age| !age.is_zero());
    target.follow_tail = keys.get(&settings::FOLLOW_TAIL);
    target.time_before_close = keys.get(&settings::TIME_BEFORE_CLOSE);
    Some(target)
}

/// `[batch://<path>]`.
pub(super) fn batch(keys: &mut Keys<'_>, path: &str, host: &Arc<str>) -> Option<MonitorTarget> {
    if keys.shared(&settings::MOVE_POLICY).is_none_or(|policy| &*policy != "sinkhole") {
        let expected =
            "sinkhole: files of [batch://...] are deleted after their events are durable";
        keys.wrong(&settings::MOVE_POLICY, expected);
        return None;
    }
    let mut target = monitor(keys, path, host)?;
    target.delete_when_read = true;
    target.follow_tail = false;
    Some(target)
}

fn host_from(keys: &mut Keys<'_>) -> HostFrom {
    if let Some(pattern) = keys.pattern(&settings::HOST_REGEX) {
        if pattern.names().len() < 2 {
            keys.wrong(&settings::HOST_REGEX, "a regular expression with a group, the host");
        }
        return HostFrom::Path(pattern);
    }
    match keys.get(&settings::HOST_SEGMENT) {
        Some(place) => HostFrom::Segment(place),
        None => HostFrom::Setting,
    }
}

/// `[script://<command>]`.
pub(super) fn script(keys: &mut Keys<'_>, command: &str, host: &Arc<str>) -> Option<ScriptInput> {
    let mut words = command.split_whitespace().map(str::to_owned);
    let Some(program) = words.next() else {
        keys.wrong_name("command", "a program after script://");
        return None;
    };
    let mut program = PathBuf::from(program);
    if program.is_relative()
        && let Some(folder) = keys.app_folder()
    {
        program = folder.join(program);
    }
    Some(ScriptInput {
        name: keys.name().to_owned(),
        program,
        arguments: words.collect(),
        schedule: keys.get(&settings::INTERVAL),
        index: keys.index(),
        host: keys.host().unwrap_or_else(|| Arc::clone(host)),
        source: keys.shared(&settings::SOURCE).unwrap_or_else(|| command.trim().into()),
        sourcetype: keys.shared(&settings::SOURCETYPE),
        environment: keys.variables(),
    })
}

/// `[fifo://<path>]`.
pub(super) fn fifo(keys: &mut Keys<'_>, path: &str, host: &Arc<str>) -> FifoInput {
    FifoInput {
        path: PathBuf::from(path.trim()),
        index: keys.index(),
        host: keys.host().unwrap_or_else(|| Arc::clone(host)),
        source: keys.shared(&settings::SOURCE).unwrap_or_else(|| path.trim().into()),
        sourcetype: keys.shared(&settings::SOURCETYPE),
    }
}

/// `[aws_sqs_based_s3://<name>]`, with the keys of Splunk's add-on for AWS.
pub(super) fn sqs(keys: &mut Keys<'_>, name: &str, host: &Arc<str>) -> Option<SqsInput> {
    let Some(url) = keys.shared(&settings::SQS_QUEUE_URL) else {
        keys.wrong(&settings::SQS_QUEUE_URL, "the address of a queue");
        return None;
    };
    let mut input = SqsInput::new(name, &url, keys.index());
    input.batch_size = keys.get(&settings::SQS_BATCH_SIZE);
    input.visibility_timeout = keys.get(&settings::SQS_VISIBILITY);
    input.decoder = keys.get(&settings::S3_DECODER);
    input.host = keys.host().unwrap_or_else(|| Arc::clone(host));
    input.source = keys.shared(&settings::SOURCE);
    input.sourcetype = keys.shared(&settings::SOURCETYPE);
    input.region = keys.get(&settings::SQS_QUEUE_REGION);
    input.sqs_endpoint = keys.get(&settings::SQS_ENDPOINT);
    input.s3_endpoint = keys.get(&settings::S3_ENDPOINT);
    Some(input)
}
