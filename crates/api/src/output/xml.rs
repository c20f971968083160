//! Rows as Splunk's XML of results.

use std::io::Write;

use search::{Page, Value};

use super::{Columns, ResponseMeta, RowFormat, severity, xml_text};

#[derive(Debug)]
pub(super) struct Results {
    meta: ResponseMeta,
    fields: Vec<String>,
    /// The number of the next row.
    next: usize,
}

impl Results {
    pub(super) fn new(meta: ResponseMeta, fields: Vec<String>) -> Self {
        Self { next: meta.offset, meta, fields }
    }
}

// Writing into memory cannot fail.
impl RowFormat for Results {
    fn head(&mut self, out: &mut Vec<u8>) {
        let preview = u8::from(self.meta.preview);
        let _ = write!(
            out,
            "<?xml version='1.0' encoding='UTF-8'?>\n<results preview='{preview}'>\n\
             <meta>\n<fieldOrder>\n"
        );
        for field in &self.fields {
            let _ = writeln!(out, "<field>{}</field>", xml_text(field));
        }
        let _ = write!(out, "</fieldOrder>\n</meta>\n");
        if !self.meta.messages.is_empty() {
            let _ = writeln!(out, "<messages>");
            for message in &self.meta.messages {
                let (kind, text) = (severity(message.kind), xml_text(&message.text));
                let _ = writeln!(out, "<msg type='{kind}'>{text}</msg>");
            }
            let _ = writeln!(out, "</messages>");
        }
    }

    fn rows(&mut self, page: &Page, out: &mut Vec<u8>) {
        let columns = Columns::of(&self.fields, page);
        for row in &page.rows {
            let _ = writeln!(out, "<result offset='{}'>", self.next);
            for (field, value) in columns.values(row) {
                write_field(field, value, out);
            }
            let _ = writeln!(out, "</result>");
            self.next += 1;
        }
    }

    fn end(&mut self) -> Vec<Vec<u8>> {
        vec![b"</results>\n".to_vec()]
    }
}

fn write_field(field: &str, value: &Value, out: &mut Vec<u8>) {
    let _ = write!(out, "<field k='{}'>", xml_text(field));
    match value {
        Value::One(text) if field == "_raw" => {
            let _ = write!(out, "<v xml:space='preserve' trunc='0'>{}</v>", xml_text(text));
        }
        Value::One(text) => write_text(text, out),
        Value::Many(texts) => texts.iter().for_each(|text| write_text(text, out)),
        // Only SQL has lists, and it is not written as XML.
        Value::List(_) => write_text(&value.joined(), out),
    }
    let _ = writeln!(out, "</field>");
}

fn write_text(text: &str, out: &mut Vec<u8>) {
    let _ = write!(out, "<value><text>{}</text></value>", xml_text(text));
}
