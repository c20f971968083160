//! Parses the messages of the queue: S3 event notifications, sent directly, through SNS, or from EventBridge.

use serde::Deserialize;
use serde_json::Value;

/// A new object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) bucket: String,
    pub(crate) key: String,
    pub(crate) e_tag: String,
    pub(crate) sequencer: String,
}

impl Notice {
    /// Returns the object's name in the list of indexed objects.
    pub(crate) fn name(&self) -> String {
        format!("{} {} {} {}", self.bucket, self.e_tag, self.sequencer, self.key)
    }
}

#[derive(Deserialize)]
struct Records {
    #[serde(rename = "Records")]
    records: Vec<Record>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Record {
    #[serde(default)]
    event_name: String,
    s3: Option<Detail>,
}

#[derive(Deserialize)]
struct Detail {
    bucket: Bucket,
    object: Object,
}

#[derive(Deserialize)]
struct Bucket {
    name: String,
}

#[derive(Deserialize)]
struct Object {
    key: String,
    #[serde(default, alias = "eTag", alias = "etag")]
    e_tag: String,
    #[serde(default)]
    sequencer: String,
}

impl Detail {
    fn notice(self, decode: bool) -> Notice {
        let key = if decode { decoded(&self.object.key) } else { self.object.key };
        Notice {
            bucket: self.bucket.name,
            key,
            e_tag: self.object.e_tag,
            sequencer: self.object.sequencer,
        }
    }
}

/// Returns the new objects of a message; none for test messages and for events other than new objects. `None`
/// for a message that is not a notification.
pub(crate) fn notices(body: &str) -> Option<Vec<Notice>> {
    read(body, 0)
}

fn read(body: &str, depth: usize) -> Option<Vec<Notice>> {
    let value: Value = serde_json::from_str(body).ok()?;
    if let Some(inner) = value["Message"].as_str().filter(|_| depth < 2) {
        return read(inner, depth + 1);
    }
    if value["Event"] == "s3:TestEvent" {
        return Some(Vec::new());
    }
    if value.get("detail-type").is_some() {
        if value["detail-type"] != "Object Created" {
            return Some(Vec::new());
        }
        let detail: Detail = serde_json::from_value(value["detail"].clone()).ok()?;
        return Some(vec![detail.notice(false)]);
    }
    let records: Records = serde_json::from_value(value).ok()?;
    let is_new =
        |record: &Record| record.event_name.trim_start_matches("s3:").starts_with("ObjectCreated:");
    let new = records.records.into_iter().filter(is_new);
    new.map(|record| Some(record.s3?.notice(true))).collect()
}

/// Keys of event notifications are encoded as in forms.
fn decoded(key: &str) -> String {
    let mut bytes = Vec::with_capacity(key.len());
    let mut rest = key.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        let hex = after.get(..2).and_then(|two| std::str::from_utf8(two).ok());
        let code = hex.and_then(|two| u8::from_str_radix(two, 16).ok());
        match (first, code) {
            (b'+', _) => bytes.push(b' '),
            (b'%', Some(byte)) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            _ => bytes.push(*first),
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const RECORD: &str = r#"{"Records":[
        {"eventName":"ObjectCreated:Put","s3":{"bucket":{"name":"logs"},
         "object":{"key":"a%2Fb+c/%C3%A4.gz","size":5,"eTag":"e1","sequencer":"7"}}},
        {"eventName":"ObjectRemoved:Delete","s3":{"bucket":{"name":"logs"},"object":{"key":"x"}}}]}"#;

    fn expected() -> Notice {
        let text = |text: &str| text.to_owned();
        Notice {
            bucket: text("logs"),
            key: text("a/b c/ä.gz"),
            e_tag: text("e1"),
            sequencer: text("7"),
        }
    }

    #[test]
    fn new_objects_are_found_bare_and_through_sns() {
        assert_eq!(notices(RECORD).unwrap(), [expected()]);
        let wrapped = serde_json::json!({ "Type": "Notification", "Message": RECORD }).to_string();
        assert_eq!(notices(&wrapped).unwrap(), [expected()]);
    }

    #[test]
    fn event_bridge_says_it_differently() {
        let body = r#"{"detail-type":"Object Created","detail":{"bucket":{"name":"logs"},
            "object":{"key":"a/b c/ä.gz","etag":"e1","sequencer":"7"}}}"#;
        assert_eq!(notices(body).unwrap(), [expected()]);
    }

    #[test]
    fn tests_of_the_connection_say_nothing_and_other_messages_are_refused() {
        assert_eq!(notices(r#"{"Service":"Amazon S3","Event":"s3:TestEvent"}"#).unwrap(), []);
        for body in ["", "hello", "{}", "[1]", r#"{"Records":[{"eventName":"ObjectCreated:Put"}]}"#]
        {
            assert_eq!(notices(body), None, "{body}");
        }
    }
}
