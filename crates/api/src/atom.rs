//! Splunk's REST envelope: a feed of entries with typed content, as Atom XML or JSON.

use quick_xml::escape::escape;
use serde_json::{Map, Value, json};

/// The Splunk REST level the API follows; clients choose paths and features by it.
pub(crate) const REST_VERSION: &str = "9.4.0";

/// One thing: a job, an index, a user.
#[derive(Debug, Clone)]
pub(crate) struct Entry {
    pub(crate) name: String,
    /// Path of the entry, e.g. `/services/search/jobs/1`.
    pub(crate) id: String,
    pub(crate) owner: String,
    pub(crate) app: String,
    pub(crate) updated: String,
    /// Link relations offered besides `alternate`, e.g. `control`.
    pub(crate) links: Vec<&'static str>,
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
}

impl Entry {
    fn acl(&self) -> Value {
        json!({
            "app": self.app, "owner": self.owner, "sharing": "global", "modifiable": true,
            "can_write": true, "can_share_app": true, "can_share_global": true,
            "can_share_user": false, "removable": true, "ttl": "600",
            "perms": {"read": ["*"], "write": ["admin"]},
        })
    }

    fn links(&self) -> Vec<(String, String)> {
        let alternate = ("alternate".to_owned(), self.id.clone());
        let others = self.links.iter().map(|rel| ((*rel).to_owned(), format!("{}/{rel}", self.id)));
        std::iter::once(alternate).chain(others).collect()
    }

    fn json(&self) -> Value {
        let links: Map<String, Value> =
            self.links().into_iter().map(|(rel, href)| (rel, Value::String(href))).collect();
        json!({
            "name": self.name, "id": self.id, "updated": self.updated, "published": self.updated,
            "links": links, "author": self.owner, "acl": self.acl(),
            "content": self.content,
        })
    }

    /// The entry on its own (a job's status is not wrapped in a feed).
    pub(crate) fn xml(&self, with_namespace: bool) -> String {
        let namespaces = if with_namespace {
            " xmlns=\"http://www.w3.org/2005/Atom\" xmlns:s=\"http://dev.splunk.com/ns/rest\" \
             xmlns:opensearch=\"http://a9.com/-/spec/opensearch/1.1/\""
        } else {
            ""
        };
        let mut out = format!(
            "<entry{namespaces}><title>{}</title><id>{}</id><updated>{}</updated>",
            escape(self.name.as_str()),
            escape(self.id.as_str()),
            escape(self.updated.as_str()),
        );
        for (rel, href) in self.links() {
            out.push_str(&format!("<link href=\"{}\" rel=\"{}\"/>", escape(&href), escape(&rel)));
        }
        out.push_str(&format!(
            "<published>{}</published><author><name>{}</name></author><content type=\"text/xml\">",
            escape(self.updated.as_str()),
            escape(self.owner.as_str()),
        ));
        let mut content = self.content.clone();
        content.insert("eai:acl".to_owned(), self.acl());
        value_xml(&Value::Object(content), &mut out);
        out.push_str("</content></entry>");
        out
    }
}

impl Feed {
    pub(crate) fn json(&self) -> Value {
        json!({
            "links": {}, "origin": self.id, "updated": self.updated,
            "generator": {"build": env!("CARGO_PKG_VERSION"), "version": REST_VERSION},
            "entry": self.entries.iter().map(Entry::json).collect::<Vec<_>>(),
            "paging": {"total": self.total, "perPage": self.per_page, "offset": self.offset},
            "messages": [],
        })
    }

    pub(crate) fn xml(&self) -> String {
        let mut out = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<feed \
             xmlns=\"http://www.w3.org/2005/Atom\" xmlns:s=\"http://dev.splunk.com/ns/rest\" \
             xmlns:opensearch=\"http://a9.com/-/spec/opensearch/1.1/\"><title>{}</title><id>{}</id>\
             <updated>{}</updated><generator build=\"{}\" version=\"{REST_VERSION}\"/><author>\
             <name>Splunk</name></author><opensearch:totalResults>{}</opensearch:totalResults>\
             <opensearch:itemsPerPage>{}</opensearch:itemsPerPage><opensearch:startIndex>{}\
             </opensearch:startIndex><s:messages/>",
            escape(self.title.as_str()),
            escape(self.id.as_str()),
            escape(self.updated.as_str()),
            env!("CARGO_PKG_VERSION"),
            self.total,
            self.per_page,
            self.offset,
        );
        for entry in &self.entries {
            out.push_str(&entry.xml(false));
        }
        out.push_str("</feed>");
        out
    }
}

/// A JSON value in Splunk's XML: dicts, lists, and scalars as text (true is `1`).
fn value_xml(value: &Value, out: &mut String) {
    match value {
        Value::Null => {}
        Value::Bool(flag) => out.push(if *flag { '1' } else { '0' }),
        Value::Number(number) => out.push_str(&number.to_string()),
        Value::String(text) => out.push_str(&escape(text.as_str())),
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
            out.push_str("<s:dict>");
            for (name, item) in entries {
                out.push_str(&format!("<s:key name=\"{}\">", escape(name.as_str())));
                value_xml(item, out);
                out.push_str("</s:key>");
            }
            out.push_str("</s:dict>");
        }
    }
}
