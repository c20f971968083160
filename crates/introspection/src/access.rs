//! splunkd_access.log: a line per answered request of REST, in Splunk's form.

use std::time::Duration;

use jiff::Timestamp;
use model::EventTime;

use crate::line::escape;
use crate::{Log, OwnEvent};

/// Longest method, user name and version; the rest is cut.
const MAX_WORD: usize = 100;
/// Longest path with its query.
const MAX_URI: usize = 2 << 10;
/// Longest name of a client program.
const MAX_AGENT: usize = 200;

/// A request that was answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Access {
    /// When its response ended.
    pub time: EventTime,
    /// The address of the client.
    pub client: String,
    /// The user; `None` if it is unknown.
    pub user: Option<String>,
    /// The method.
    pub method: String,
    /// Path and query, without secrets.
    pub uri: String,
    /// The version of HTTP, such as `HTTP/1.1`.
    pub version: String,
    /// The status of the response.
    pub status: u16,
    /// The bytes of the response's body that were sent.
    pub bytes: u64,
    /// The program of the client, as it calls itself.
    pub agent: Option<String>,
    /// The time from the header of the request to the end of the response.
    pub spent: Duration,
}

impl Access {
    /// Its line.
    #[must_use]
    pub fn event(&self) -> OwnEvent {
        let moment = Timestamp::from_microsecond(self.time.0).unwrap_or_default();
        let moment = moment.strftime("%d/%b/%Y:%H:%M:%S%.3f +0000");
        let user = self.user.as_deref().filter(|user| !user.is_empty()).unwrap_or("-");
        let (user, method) = (word(user), word(&self.method));
        let (uri, version) = (target(&self.uri), word(&self.version));
        let mut text = format!(
            "{} - {user} [{moment}] \"{method} {uri} {version}\" {} {} \"-\" \"",
            self.client, self.status, self.bytes
        );
        let agent = self.agent.as_deref().filter(|agent| !agent.is_empty());
        escape(&mut text, agent.unwrap_or("-"), MAX_AGENT);
        text.push_str(&format!("\" - {}ms", self.spent.as_millis()));
        OwnEvent { log: Log::Access, time: self.time, text, points: None }
    }
}

/// A text without control characters.
fn word(text: &str) -> String {
    let text = &text[..text.floor_char_boundary(MAX_WORD)];
    text.replace(char::is_control, " ")
}

/// A URI without the characters that end it in the line.
fn target(uri: &str) -> String {
    let mut text = String::with_capacity(uri.len());
    for letter in uri[..uri.floor_char_boundary(MAX_URI)].chars() {
        match letter {
            '"' => text.push_str("%22"),
            letter if letter.is_control() || letter.is_whitespace() => text.push_str("%20"),
            letter => text.push(letter),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn access() -> Access {
        Access {
            time: EventTime(1_795_342_500_123_456),
            client: "10.0.0.9".into(),
            user: Some("ann".into()),
            method: "GET".into(),
            uri: "/services/server/info?output_mode=json".into(),
            version: "HTTP/1.1".into(),
            status: 200,
            bytes: 1_566,
            agent: Some("curl/8.5.0".into()),
            spent: Duration::from_micros(1_900),
        }
    }

    #[test]
    fn a_line_is_splunks() {
        let event = access().event();
        assert_eq!(
            event.text,
            "10.0.0.9 - ann [22/Nov/2026:10:15:00.123 +0000] \"GET /services/server/info?output_mode=json \
             HTTP/1.1\" 200 1566 \"-\" \"curl/8.5.0\" - 1ms"
        );
        assert_eq!((event.log, event.time), (Log::Access, EventTime(1_795_342_500_123_456)));
        let unknown = Access { user: None, agent: None, ..access() }.event();
        assert!(unknown.text.starts_with("10.0.0.9 - - [22/Nov"), "{}", unknown.text);
        assert!(unknown.text.ends_with(" 1566 \"-\" \"-\" - 1ms"), "{}", unknown.text);
    }

    #[test]
    fn a_client_cannot_forge_the_rest_of_its_line() {
        let uri = "/a\" 200 9 \"-\" x\n".to_owned();
        let agent = Some("a \"b\"\n200".to_owned());
        let text = Access { uri, agent, ..access() }.event().text;
        assert!(text.contains("\"GET /a%22%20200%209%20%22-%22%20x%20 HTTP/1.1\" 200 1566 "));
        assert!(text.ends_with("\"a \\\"b\\\" 200\" - 1ms"), "{text}");
        let long = Access { uri: "ü".repeat(MAX_URI), ..access() }.event().text;
        assert!(long.len() < MAX_URI + 200, "{}", long.len());
    }
}
