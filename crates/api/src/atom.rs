//! Splunk's REST envelope: a feed of entries with typed content, as Atom XML or JSON.

use jiff::Timestamp;
use quick_xml::escape::escape;
use runtime::{Clock, SystemClock};
use serde_json::{Map, Value, json};

use crate::output::xml_text;

/// The Splunk REST level the API follows; clients choose paths and features by it.
pub(crate) const REST_VERSION: &str = "9.4.0";

/// The namespaces of a document's first element.
const NAMESPACES: &str = " xmlns=\"http://www.w3.org/2005/Atom\" \
                          xmlns:s=\"http://dev.splunk.com/ns/rest\" \
                          xmlns:opensearch=\"http://a9.com/-/spec/opensearch/1.1/\"";

/// Owner, sharing and permissions of an object (`eai:acl`).
#[derive(Debug, Clone)]
pub(crate) struct Acl {
    pub(crate) owner: String,
    pub(crate) app: String,
    /// `user`, `app`, `global` or `system`.
    pub(crate) sharing: String,
    /// Roles that read and roles that write; none for a private object.
    pub(crate) perms: Option<(Vec<String>, Vec<String>)>,
    pub(crate) removable: bool,
    pub(crate) writable: bool,
}

/// The parameters of an object's kind (`eai:attributes`).
#[derive(Debug, Clone, Default)]
pub(crate) struct Attributes {
    pub(crate) required: Vec<String>,
    pub(crate) optional: Vec<String>,
    pub(crate) wildcard: Vec<String>,
}

/// One object: a job, an index, a user.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// Path of the entry, e.g. `/services/search/jobs/1`.
    pub(crate) id: String,
    pub(crate) acl: Acl,
    pub(crate) updated: String,
    /// Link relations offered besides `alternate`, and their paths.
    pub(crate) links: Vec<(String, String)>,
    pub(crate) attributes: Attributes,
    pub(crate) content: Map<String, Value>,
}

/// A page of entries.
#[derive(Debug, Clone)]
pub(crate) struct Feed {
    pub(crate) title: String,
    pub(crate) id: String,
    pub(crate) updated: String,
    pub(crate) entries: Vec<Entry>,
    pub(crate) total: usize,
    pub(crate) offset: usize,
    pub(crate) per_page: usize,
    pub(crate) messages: Vec<Message>,
}

/// A message for the caller.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    /// `INFO` or `WARN`.
    pub(crate) severity: &'static str,
    pub(crate) text: String,
}

impl Message {
    pub(crate) fn info(text: impl Into<String>) -> Self {
        Self { severity: "INFO", text: text.into() }
    }

    pub(crate) fn warning(text: impl Into<String>) -> Self {
        Self { severity: "WARN", text: text.into() }
    }
}

impl Default for Acl {
    /// The permissions of an object without an owner, which everybody sees and administrators change.
    fn default() -> Self {
        Self {
            owner: "nobody".to_owned(),
            app: "search".to_owned(),
            sharing: "global".to_owned(),
            perms: Some((vec!["*".to_owned()], vec!["admin".to_owned()])),
            removable: true,
            writable: true,
        }
    }
}

impl Acl {
    /// Returns the permissions of an object that belongs to the server as a whole.
    pub(crate) fn system() -> Self {
        Self { app: "system".to_owned(), sharing: "system".to_owned(), ..Self::default() }
    }

    fn json(&self) -> Value {
        let perms = self.perms.as_ref();
        json!({
            "app": self.app, "owner": self.owner, "sharing": self.sharing,
            "modifiable": self.writable, "can_write": self.writable, "can_list": true,
            "can_change_perms": self.writable, "can_share_app": true, "can_share_global": true,
            "can_share_user": true, "removable": self.removable, "ttl": "600",
            "perms": perms.map(|(read, write)| json!({"read": read, "write": write})),
        })
    }
}

impl Attributes {
    /// Creates the attributes from the names of the parameters.
    pub(crate) fn new(required: &[&str], optional: &[&str], wildcard: &[&str]) -> Self {
        let owned = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        Self { required: owned(required), optional: owned(optional), wildcard: owned(wildcard) }
    }

    fn eai(&self) -> Value {
        json!({
            "optionalFields": self.optional, "requiredFields": self.required,
            "wildcardFields": self.wildcard,
        })
    }

    fn json(&self) -> Value {
        json!({
            "required": self.required, "optional": self.optional, "wildcard": self.wildcard,
        })
    }
}

impl Entry {
    /// An object of a collection, which nobody owns and everybody sees.
    pub(crate) fn new(path: &str, name: &str, content: Map<String, Value>) -> Self {
        Self {
            name: name.to_owned(),
            id: format!("{path}/{}", segment(name)),
            acl: Acl::default(),
            updated: now(),
            links: Vec::new(),
            attributes: Attributes::default(),
            content,
        }
    }

    /// Adds links to the resources below the entry's path.
    pub(crate) fn linking(mut self, below: &[&str]) -> Self {
        let links = below.iter().map(|rel| ((*rel).to_owned(), format!("{}/{rel}", self.id)));
        self.links.extend(links);
        self
    }

    /// Adds the link of an object that the caller may only read.
    pub(crate) fn readable(mut self) -> Self {
        self.links.push(("list".to_owned(), self.id.clone()));
        self
    }

    /// Adds the links of a changeable object: read, edit, and remove.
    pub(crate) fn editable(mut self) -> Self {
        let id = self.id.clone();
        let mut rels = vec!["list", "edit"];
        if self.acl.removable {
            rels.push("remove");
        }
        self.links.extend(rels.into_iter().map(|rel| (rel.to_owned(), id.clone())));
        self
    }

    pub(crate) fn with_acl(mut self, acl: Acl) -> Self {
        self.acl = acl;
        self
    }

    pub(crate) fn with_attributes(mut self, attributes: Attributes) -> Self {
        self.attributes = attributes;
        self
    }

    fn links(&self) -> impl Iterator<Item = (&str, &str)> {
        let others = self.links.iter().map(|(rel, href)| (rel.as_str(), href.as_str()));
        std::iter::once(("alternate", self.id.as_str())).chain(others)
    }

    fn json(&self) -> Value {
        let links: Map<String, Value> =
            self.links().map(|(rel, href)| (rel.to_owned(), Value::from(href))).collect();
        json!({
            "name": self.name, "id": self.id, "updated": self.updated, "published": self.updated,
            "links": links, "author": self.acl.owner, "acl": self.acl.json(),
            "fields": self.attributes.json(), "content": self.content,
        })
    }

    /// Writes the entry without a feed (a job's status is not wrapped in one).
    pub(crate) fn xml(&self, with_namespace: bool) -> String {
        let namespaces = if with_namespace { NAMESPACES } else { "" };
        let mut out = format!(
            "<entry{namespaces}>\n<title>{}</title>\n<id>{}</id>\n<updated>{}</updated>\n",
            xml_text(&self.name),
            xml_text(&self.id),
            escape(self.updated.as_str()),
        );
        for (rel, href) in self.links() {
            out.push_str(&format!("<link href=\"{}\" rel=\"{}\"/>\n", escape(href), escape(rel)));
        }
        out.push_str(&format!(
            "<published>{}</published>\n<author><name>{}</name></author>\n\
             <content type=\"text/xml\">\n",
            escape(self.updated.as_str()),
            xml_text(&self.acl.owner),
        ));
        let mut content = self.content.clone();
        content.insert("eai:acl".to_owned(), self.acl.json());
        content.insert("eai:attributes".to_owned(), self.attributes.eai());
        value_xml(&Value::Object(content), &mut out);
        out.push_str("</content>\n</entry>\n");
        out
    }
}

impl Feed {
    fn links(&self) -> [(&'static str, String); 3] {
        let below = |name: &str| format!("{}/{name}", self.id);
        [("create", below("_new")), ("_reload", below("_reload")), ("_acl", below("_acl"))]
    }

    fn messages(&self) -> Vec<Value> {
        let message = |one: &Message| json!({ "type": one.severity, "text": one.text });
        self.messages.iter().map(message).collect()
    }

    pub(crate) fn json(&self) -> Value {
        let links: Map<String, Value> =
            self.links().into_iter().map(|(rel, href)| (rel.to_owned(), href.into())).collect();
        json!({
            "links": links, "origin": self.id, "updated": self.updated,
            "generator": {"build": env!("CARGO_PKG_VERSION"), "version": REST_VERSION},
            "entry": self.entries.iter().map(Entry::json).collect::<Vec<_>>(),
            "paging": {"total": self.total, "perPage": self.per_page, "offset": self.offset},
            "messages": self.messages(),
        })
    }

    pub(crate) fn xml(&self) -> String {
        let mut out = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<feed{NAMESPACES}>\n<title>{}</title>\n\
             <id>{}</id>\n<updated>{}</updated>\n<generator build=\"{}\" \
             version=\"{REST_VERSION}\"/>\n<author>\n<name>Splunk</name>\n</author>\n",
            xml_text(&self.title),
            xml_text(&self.id),
            escape(self.updated.as_str()),
            env!("CARGO_PKG_VERSION"),
        );
        for (rel, href) in self.links() {
            out.push_str(&format!("<link href=\"{}\" rel=\"{rel}\"/>\n", escape(&href)));
        }
        out.push_str(&format!(
            "<opensearch:totalResults>{}</opensearch:totalResults>\n<opensearch:itemsPerPage>{}\
             </opensearch:itemsPerPage>\n<opensearch:startIndex>{}</opensearch:startIndex>\n\
             ",
            self.total, self.per_page, self.offset,
        ));
        match self.messages.as_slice() {
            [] => out.push_str("<s:messages/>\n"),
            messages => {
                out.push_str("<s:messages>\n");
                for Message { severity, text } in messages {
                    let text = xml_text(text);
                    out.push_str(&format!("<s:msg type=\"{severity}\">{text}</s:msg>\n"));
                }
                out.push_str("</s:messages>\n");
            }
        }
        for entry in &self.entries {
            out.push_str(&entry.xml(false));
        }
        out.push_str("</feed>\n");
        out
    }
}

/// A JSON value in Splunk's XML: dicts, lists, and scalars as text (true is `1`).
pub(crate) fn value_xml(value: &Value, out: &mut String) {
    match value {
        Value::Null => {}
        Value::Bool(flag) => out.push(if *flag { '1' } else { '0' }),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => out.push_str(&xml_text(text)),
        Value::Array(items) => {
            out.push_str("<s:list>");
            for item in items {
                out.push_str("<s:item>");
                value_xml(item, out);
                out.push_str("</s:item>");
            }
            out.push_str("</s:list>");
        }
        Value::Object(entries) => {
            out.push_str("<s:dict>\n");
            for (name, item) in entries {
                out.push_str(&format!("<s:key name=\"{}\">", xml_text(name)));
                value_xml(item, out);
                out.push_str("</s:key>\n");
            }
            out.push_str("</s:dict>");
        }
    }
}

/// Returns the update time of an entry without a known one.
pub(crate) fn now() -> String {
    let now = SystemClock.now().0;
    let now = Timestamp::from_microsecond(now).unwrap_or_default();
    now.strftime("%Y-%m-%dT%H:%M:%S+00:00").to_string()
}

/// A name as one segment of a path: everything escaped that could end it or means something in a URL. A
/// slash is escaped twice, as in Splunk: its clients take one escape away and keep the path.
pub(crate) fn segment(name: &str) -> String {
    let mut out = String::with_capacity(name.len());
    for byte in name.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' | b':' | b'@' => {
                out.push(char::from(byte));
            }
            b'/' => out.push_str("%252F"),
            _ => out.push_str(&format!("%{byte:02X}")),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_in_a_path_is_one_segment_whatever_it_holds() {
        assert_eq!(segment("a b/c%d(1)"), "a%20b%252Fc%25d%281%29");
        assert_eq!(segment("TailingProcessor:FileStatus"), "TailingProcessor:FileStatus");
    }
}
