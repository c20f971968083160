//! `KV_MODE = xml`: elements by path (`Event.System.EventID`), attributes as `path{@name}`.

use std::borrow::Cow;
use std::ops::ControlFlow;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

const DEPTH: usize = 64;

type Visit<'v, 'a> = &'v mut dyn FnMut(&str, Cow<'a, str>) -> ControlFlow<()>;

/// Visits every text and attribute in order, up to where the text stops being XML.
pub(super) fn walk<'a>(raw: &'a str, visit: Visit<'_, 'a>) -> ControlFlow<()> {
    let mut reader = Reader::from_str(raw);
    let mut path = String::new();
    let mut lengths: Vec<usize> = Vec::new();
    let mut text = String::new();
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag)) => {
                text.clear();
                if lengths.len() == DEPTH {
                    return ControlFlow::Continue(());
                }
                lengths.push(path.len());
                enter(&mut path, &tag);
                attributes(&path, &tag, visit)?;
            }
            Ok(Event::Empty(tag)) => {
                let length = path.len();
                enter(&mut path, &tag);
                attributes(&path, &tag, visit)?;
                path.truncate(length);
            }
            Ok(Event::Text(part)) => text.push_str(&String::from_utf8_lossy(&part)),
            Ok(Event::CData(part)) => text.push_str(&String::from_utf8_lossy(&part)),
            Ok(Event::GeneralRef(name)) => entity(&String::from_utf8_lossy(&name), &mut text),
            Ok(Event::End(_)) => {
                if !text.trim().is_empty() {
                    visit(&path, Cow::Owned(text.trim().to_owned()))?;
                }
                text.clear();
                path.truncate(lengths.pop().unwrap_or(0));
            }
            Ok(Event::Eof) | Err(_) => return ControlFlow::Continue(()),
            Ok(_) => {}
        }
    }
}

fn enter(path: &mut String, tag: &BytesStart<'_>) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(&String::from_utf8_lossy(tag.name().as_ref()));
}

fn attributes<'a>(path: &str, tag: &BytesStart<'_>, visit: Visit<'_, 'a>) -> ControlFlow<()> {
    for attribute in tag.attributes().flatten() {
        let name = String::from_utf8_lossy(attribute.key.as_ref()).into_owned();
        let raw = String::from_utf8_lossy(&attribute.value).into_owned();
        let value = quick_xml::escape::unescape(&raw).map_or_else(|_| raw.clone(), Cow::into_owned);
        if !value.is_empty() {
            visit(&format!("{path}{{@{name}}}"), Cow::Owned(value))?;
        }
    }
    ControlFlow::Continue(())
}

fn entity(name: &str, out: &mut String) {
    let whole = format!("&{name};");
    match quick_xml::escape::unescape(&whole) {
        Ok(text) => out.push_str(&text),
        Err(_) => out.push_str(&whole),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_and_attributes_are_named_by_path() {
        let raw = "<Event><System><Provider Name='a &amp; b'/><ID>4 &lt; 5</ID></System></Event>";
        let mut out = Vec::new();
        let _ = walk(raw, &mut |name, value| {
            out.push(format!("{name}={value}"));
            ControlFlow::Continue(())
        });
        assert_eq!(out, ["Event.System.Provider{@Name}=a & b", "Event.System.ID=4 < 5"]);
    }

    #[test]
    fn broken_xml_gives_what_precedes_the_fault() {
        let mut names = Vec::new();
        let _ = walk("<a><b>1</b><c", &mut |name, _| {
            names.push(name.to_owned());
            ControlFlow::Continue(())
        });
        assert_eq!(names, ["a.b"]);
    }
}
