//! Timestamps by a file of patterns (`DATETIME_CONFIG = /etc/apps/x/local/datetime.xml`).
//!
//! The file defines regular expressions and the meaning of their groups (`<define name extract>`, with
//! `<text>` and `<use>`), and lists those for times (`<timePatterns>`) and dates (`<datePatterns>`). The time
//! of an event comes from the first match of each list; a missing date is completed as usual.

use std::collections::HashMap;

use quick_xml::Reader;
use quick_xml::events::{BytesStart, Event};

use eval::Pattern;
use eval::time::{Fields, abbreviation_offset, parse_offset};

/// Maximum depth of definitions that use each other.
const DEPTH: usize = 16;
const MONTHS: [&str; 12] =
    ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];

/// The patterns of a file, compiled.
#[derive(Debug, Clone)]
pub struct DatetimePatterns {
    times: Vec<Extracting>,
    dates: Vec<Extracting>,
}

/// A pattern and the meaning of its groups.
#[derive(Debug, Clone)]
struct Extracting {
    pattern: Pattern,
    groups: Vec<Part>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    Year,
    Month,
    MonthName,
    Day,
    Hour,
    Minute,
    Second,
    Fraction,
    HalfDay,
    Zone,
    Epoch,
    Ignored,
}

impl Part {
    fn parse(name: &str) -> Result<Self, String> {
        Ok(match name {
            "year" => Self::Year,
            "month" => Self::Month,
            "litmonth" => Self::MonthName,
            "day" => Self::Day,
            "hour" => Self::Hour,
            "minute" => Self::Minute,
            "second" => Self::Second,
            "subsecond" => Self::Fraction,
            "ampm" => Self::HalfDay,
            "zone" => Self::Zone,
            "utcepoch" => Self::Epoch,
            "ignored_sep" | "ignored" | "litday" => Self::Ignored,
            other => return Err(format!("extract=\"{other}\" is not known")),
        })
    }
}

/// A definition as it is written.
#[derive(Debug, Default)]
struct Definition {
    extract: String,
    parts: Vec<Piece>,
}

#[derive(Debug)]
enum Piece {
    Text(String),
    Use(String),
}

/// The position of the reader in the XML.
#[derive(Debug, PartialEq, Eq)]
enum Place {
    Outside,
    Definition(String),
    Times,
    Dates,
}

#[derive(Debug, Default)]
struct Lists {
    definitions: HashMap<String, Definition>,
    times: Vec<String>,
    dates: Vec<String>,
}

impl DatetimePatterns {
    /// Compiles the text of a file.
    ///
    /// # Errors
    /// A message that says what is wrong with the file.
    pub fn compile(xml: &str) -> Result<Self, String> {
        let lists = read(xml)?;
        let compile = |names: &[String]| {
            names.iter().map(|name| lists.compile(name)).collect::<Result<Vec<_>, _>>()
        };
        let (times, dates) = (compile(&lists.times)?, compile(&lists.dates)?);
        if times.is_empty() && dates.is_empty() {
            return Err("it lists neither timePatterns nor datePatterns".to_owned());
        }
        Ok(Self { times, dates })
    }

    /// Returns the parts of the timestamp in a text.
    pub(super) fn read(&self, text: &str) -> Option<Fields> {
        let mut fields = Fields::default();
        let first = |list: &[Extracting], fields: &mut Fields| {
            list.iter().any(|extracting| extracting.read(text, fields))
        };
        let dated = first(&self.dates, &mut fields);
        if fields.epoch.is_some() {
            return Some(fields);
        }
        let timed = first(&self.times, &mut fields);
        (dated || timed).then_some(fields)
    }
}

impl Lists {
    fn compile(&self, name: &str) -> Result<Extracting, String> {
        let definition =
            self.definitions.get(name).ok_or_else(|| format!("{name} is used but not defined"))?;
        let mut text = String::new();
        self.write(name, DEPTH, &mut text)?;
        let pattern =
            Pattern::compile(&text).map_err(|reason| format!("the pattern of {name}: {reason}"))?;
        let names = definition.extract.split([',', ' ']).filter(|name| !name.is_empty());
        let groups = names.map(Part::parse).collect::<Result<Vec<_>, _>>()?;
        Ok(Extracting { pattern, groups })
    }

    fn write(&self, name: &str, depth: usize, out: &mut String) -> Result<(), String> {
        let definition =
            self.definitions.get(name).ok_or_else(|| format!("{name} is used but not defined"))?;
        if depth == 0 {
            return Err(format!("{name} is defined in terms of itself"));
        }
        for part in &definition.parts {
            match part {
                Piece::Text(text) => out.push_str(text),
                Piece::Use(other) => self.write(other, depth - 1, out)?,
            }
        }
        Ok(())
    }
}

fn attribute(tag: &BytesStart<'_>, wanted: &str) -> String {
    let found = tag.attributes().flatten().find(|a| a.key.as_ref() == wanted.as_bytes());
    found.map(|a| String::from_utf8_lossy(&a.value).into_owned()).unwrap_or_default()
}

fn read(xml: &str) -> Result<Lists, String> {
    let mut reader = Reader::from_str(xml);
    let mut lists = Lists::default();
    let mut place = Place::Outside;
    let mut in_text = false;
    loop {
        match reader.read_event() {
            Ok(Event::Start(tag)) => match tag.name().as_ref() {
                b"define" => {
                    let name = attribute(&tag, "name");
                    let definition =
                        Definition { extract: attribute(&tag, "extract"), parts: Vec::new() };
                    lists.definitions.insert(name.clone(), definition);
                    place = Place::Definition(name);
                }
                b"timePatterns" => place = Place::Times,
                b"datePatterns" => place = Place::Dates,
                b"text" => in_text = true,
                b"use" => lists.uses(&place, attribute(&tag, "name")),
                _ => {}
            },
            Ok(Event::Empty(tag)) if tag.name().as_ref() == b"use" => {
                lists.uses(&place, attribute(&tag, "name"));
            }
            Ok(Event::End(tag)) => match tag.name().as_ref() {
                b"text" => in_text = false,
                b"define" | b"timePatterns" | b"datePatterns" => place = Place::Outside,
                _ => {}
            },
            Ok(Event::CData(text)) if in_text => {
                lists.text(&place, &String::from_utf8_lossy(&text));
            }
            Ok(Event::Text(text)) if in_text => {
                lists.text(&place, &String::from_utf8_lossy(&text));
            }
            Ok(Event::Eof) => return Ok(lists),
            Ok(_) => {}
            Err(error) => return Err(format!("invalid XML: {error}")),
        }
    }
}

impl Lists {
    fn uses(&mut self, place: &Place, name: String) {
        match place {
            Place::Times => self.times.push(name),
            Place::Dates => self.dates.push(name),
            Place::Definition(own) => {
                if let Some(definition) = self.definitions.get_mut(own) {
                    definition.parts.push(Piece::Use(name));
                }
            }
            Place::Outside => {}
        }
    }

    fn text(&mut self, place: &Place, text: &str) {
        if let Place::Definition(own) = place
            && let Some(definition) = self.definitions.get_mut(own)
        {
            definition.parts.push(Piece::Text(text.to_owned()));
        }
    }
}

impl Extracting {
    /// Fills in the parts of the first match; returns false if no pattern matches, or if the match is not a
    /// valid time.
    fn read(&self, text: &str, fields: &mut Fields) -> bool {
        let Some(groups) = self.pattern.groups_at(text, 0) else { return false };
        let mut filled = *fields;
        for (at, part) in self.groups.iter().enumerate() {
            let Some(value) = groups.get(at + 1).filter(|value| !value.is_empty()) else {
                continue;
            };
            if fill(*part, value, &mut filled).is_none() {
                return false;
            }
        }
        *fields = filled;
        true
    }
}

fn fill(part: Part, text: &str, fields: &mut Fields) -> Option<()> {
    let number = || text.trim().parse::<i64>().ok();
    match part {
        Part::Year => {
            let year = number()?;
            fields.year = Some(match (year, text.trim().len()) {
                (short @ 0..=68, ..=2) => 2000 + short,
                (short, ..=2) => 1900 + short,
                (long, _) => long,
            });
        }
        Part::Month => fields.month = Some(number().filter(|month| (1..=12).contains(month))?),
        Part::MonthName => {
            let short = text.get(..3)?.to_ascii_lowercase();
            let at = MONTHS.iter().position(|month| *month == short)?;
            fields.month = i64::try_from(at + 1).ok();
        }
        Part::Day => fields.day = Some(number().filter(|day| (1..=31).contains(day))?),
        Part::Hour => fields.hour = number()?,
        Part::Minute => fields.minute = number()?,
        Part::Second => fields.second = number()?,
        Part::Fraction => {
            let digits: String = text.chars().filter(char::is_ascii_digit).take(6).collect();
            fields.micros = format!("{digits:0<6}").parse().ok()?;
        }
        Part::HalfDay => fields.pm = Some(text.trim_start().to_ascii_lowercase().starts_with('p')),
        Part::Zone => {
            let zone = text.trim().as_bytes();
            fields.offset = parse_offset(zone)
                .map(|(offset, _)| offset)
                .or_else(|| abbreviation_offset(zone))
                .or(fields.offset);
        }
        Part::Epoch => fields.epoch = Some(number()?),
        Part::Ignored => {}
    }
    Some(())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]
    use super::*;

    const FILE: &str = r#"<datetime>
        <define name="_d" extract="day"><text><![CDATA[(\d\d)]]></text></define>
        <define name="_date" extract="year, day, litmonth">
            <text><![CDATA[(\d{4})-]]></text><use name="_d"/><text>-(\w{3})</text>
        </define>
        <define name="_time" extract="hour, minute, subsecond, ampm, zone">
            <text><![CDATA[T(\d+)h(\d\d)(?:\.(\d+))?([ap]m)?\s*([+-]\d{4}|[A-Z]{3})?]]></text>
        </define>
        <timePatterns><use name="_time"/></timePatterns>
        <datePatterns><use name="_date"/></datePatterns>
    </datetime>"#;

    #[test]
    fn parts_are_found_by_the_patterns_of_a_file() {
        let patterns = DatetimePatterns::compile(FILE).unwrap();
        let fields = patterns.read("x 2024-05-Feb T3h04.5pm +0100 y").unwrap();
        let date = (fields.year, fields.month, fields.day);
        assert_eq!(date, (Some(2024), Some(2), Some(5)));
        assert_eq!((fields.hour, fields.minute, fields.micros), (3, 4, 500_000));
        assert_eq!((fields.pm, fields.offset), (Some(true), Some(3600)));
        assert!(patterns.read("T9h30").is_some_and(|fields| fields.year.is_none()));
        assert!(patterns.read("nothing").is_none());
    }

    #[test]
    fn mistakes_are_named() {
        for (xml, part) in [
            ("<datetime></datetime>", "neither timePatterns"),
            ("<a><timePatterns><use name=\"x\"/></timePatterns></a>", "x is used but not defined"),
            ("<a", "invalid XML"),
        ] {
            let message = DatetimePatterns::compile(xml).unwrap_err();
            assert!(message.contains(part), "{message}");
        }
        let looped = "<a><define name=\"x\"><use name=\"x\"/></define>\
                      <timePatterns><use name=\"x\"/></timePatterns></a>";
        assert!(DatetimePatterns::compile(looped).unwrap_err().contains("in terms of itself"));
    }
}
