//! Searches of dashboards: Simple XML, and the JSON in an element of newer dashboards.

use quick_xml::Reader;
use quick_xml::events::Event;

use super::json;
use super::{Found, search};

/// Elements whose text is a search.
const ELEMENTS: [&[u8]; 4] = [b"query", b"searchString", b"searchTemplate", b"searchPostProcess"];

/// The searches of a dashboard. Invalid XML ends the reading.
pub(super) fn searches(text: &str) -> Vec<Found> {
    let mut reader = Reader::from_str(text);
    reader.config_mut().check_end_names = false;
    let mut found = Vec::new();
    let mut open: Option<Open> = None;
    loop {
        let Ok(event) = reader.read_event() else { return found };
        let at = usize::try_from(reader.buffer_position()).unwrap_or(usize::MAX);
        match event {
            Event::Eof => return found,
            Event::Start(tag) => {
                let name = tag.local_name();
                let name = name.as_ref();
                let is_search = ELEMENTS.contains(&name);
                if is_search || name == b"definition" {
                    let line = text[..at.min(text.len())].matches('\n').count() + 1;
                    open = Some(Open { line, is_search, text: String::new() });
                }
            }
            Event::End(_) => found.extend(open.take().into_iter().flat_map(Open::close)),
            Event::Text(piece) => {
                let piece = String::from_utf8_lossy(&piece).into_owned();
                open.iter_mut().for_each(|open| open.text.push_str(&piece));
            }
            Event::CData(piece) => {
                let piece = String::from_utf8_lossy(&piece).into_owned();
                open.iter_mut().for_each(|open| open.text.push_str(&piece));
            }
            Event::GeneralRef(name) => {
                let name = String::from_utf8_lossy(&name).into_owned();
                open.iter_mut().for_each(|open| open.text.push_str(&resolved(&name)));
            }
            _ => {}
        }
    }
}

/// An open element whose text is collected.
struct Open {
    line: usize,
    is_search: bool,
    text: String,
}

impl Open {
    fn close(self) -> Vec<Found> {
        if self.is_search {
            let text = self.text.trim_start_matches(['\r', '\n']);
            let skipped = self.text[..self.text.len() - text.len()].matches('\n').count();
            return vec![search(self.line + skipped, "", text.trim_end())];
        }
        if !self.text.trim_start().starts_with('{') {
            return Vec::new();
        }
        let mut found = json::searches(&self.text);
        found.iter_mut().for_each(|search| search.line += self.line - 1);
        found
    }
}

/// Resolves an entity or character reference; unknown ones are kept.
fn resolved(name: &str) -> String {
    let character = match name {
        "lt" => Some('<'),
        "gt" => Some('>'),
        "amp" => Some('&'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let code = name.strip_prefix('#').and_then(|code| match code.strip_prefix('x') {
                Some(hex) => u32::from_str_radix(hex, 16).ok(),
                None => code.parse().ok(),
            });
            code.and_then(char::from_u32)
        }
    };
    character.map_or_else(|| format!("&{name};"), String::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queries_of_simple_xml_are_found() {
        let text = "<form>\n<search><query>index=a x&gt;1\n| head</query></search>\n\
                    <searchString><![CDATA[\n| where a<1]]></searchString>\n</form>";
        let found: Vec<(usize, String)> =
            searches(text).into_iter().map(|s| (s.line, s.text)).collect();
        let wanted = [(2, "index=a x>1\n| head".to_owned()), (5, "| where a<1".to_owned())];
        assert_eq!(found, wanted);
    }

    #[test]
    fn queries_of_newer_dashboards_are_found() {
        let text = "<dashboard version=\"2\">\n<definition><![CDATA[{\"dataSources\":{\"d\":\n\
                    {\"options\":{\"query\":\"index=a \\\"x\\\"\"}}}}]]></definition></dashboard>";
        let found = searches(text);
        assert_eq!((found[0].line, found[0].text.as_str()), (3, "index=a \"x\""));
    }
}
