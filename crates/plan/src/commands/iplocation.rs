//! `iplocation`: adds the geographic location of IP addresses.
//!
//! Split: runs where the rows are.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;

use arrow::array::{ArrayRef, StringViewBuilder};
use exprs::column::Argument;
use exprs::kernel::{columns, text};
use exprs::types::ValueType;
use frames::Frame;
use spl::ast::IplocationCommand;

use super::{CommandPlan, Input, OutputFields, Place, RequiredFields, Step};
use crate::{Error, Host, Location, MessageKind};
use context::planning::PlanningContext;

impl CommandPlan for IplocationCommand {
    fn place(&self) -> Place {
        Place::Streaming
    }

    fn required_fields(&self, fields: &mut RequiredFields) {
        fields.name(&self.field.node);
    }

    fn output_fields(&self) -> OutputFields {
        OutputFields::Unchanged
    }

    fn plan(&self, input: Input<'_>) -> Result<Step, Error> {
        plan(self, input.frame, input.env).map(Step::Next)
    }
}

/// The separator between the parts of a location.
const SEPARATOR: char = '\u{1f}';

/// The fields in the order of their names, each with its part of a location and whether it is always added.
const FIELDS: [(&str, Part, bool); 8] = [
    ("City", Part::City, true),
    ("Continent", Part::Continent, false),
    ("Country", Part::Country, true),
    ("MetroCode", Part::MetroCode, false),
    ("Region", Part::Region, true),
    ("Timezone", Part::Timezone, false),
    ("lat", Part::Latitude, true),
    ("lon", Part::Longitude, true),
];

#[derive(Debug, Clone, Copy)]
enum Part {
    City,
    Continent,
    Country,
    MetroCode,
    Region,
    Timezone,
    Latitude,
    Longitude,
}

pub(super) fn plan(
    command: &IplocationCommand,
    frame: Frame,
    env: &PlanningContext<'_>,
) -> Result<Frame, Error> {
    if command.lang.is_some() {
        let text = "iplocation has names of places in only one language (lang)";
        env.log.add(MessageKind::Warning, text);
    }
    let host = Arc::clone(&env.context.host);
    let located = columns("locate", ValueType::Text, move |arguments, rows| {
        Ok(locations(arguments, rows, host.as_ref()))
    });
    let located = located.call(vec![frame.field(&command.field.node)]);
    let (frame, hidden) = frame.with_hidden(vec![("location", located.expr)])?;
    let source = exprs::Typed::column(&hidden[0], ValueType::Text);
    let mut values = Vec::new();
    for (at, (name, _, always)) in FIELDS.iter().enumerate() {
        if *always || command.allfields {
            let part = text("location_part", move |row, out| {
                let location = row.text(0)?;
                let part = location.split(SEPARATOR).nth(at)?;
                // If the location is known, unknown texts are empty and unknown numbers are missing.
                if at >= 6 && part.is_empty() {
                    return None;
                }
                out.push_str(part);
                Some(())
            });
            let value = part.with(at.to_string()).call(vec![source.clone()]);
            values.push((format!("{}{name}", command.prefix), value));
        }
    }
    Ok(frame.with_columns(values)?.without_hidden(&hidden))
}

/// Returns the parts of the location of each address, joined; null if the location is unknown. Each distinct
/// address is looked up once.
fn locations(arguments: &[Argument], rows: usize, host: &dyn Host) -> ArrayRef {
    let mut known: HashMap<String, Option<String>> = HashMap::new();
    let mut built = StringViewBuilder::with_capacity(rows);
    for row in 0..rows {
        let Some(text) = arguments[0].get(row).text() else {
            built.append_null();
            continue;
        };
        if let Some(found) = known.get(&*text) {
            built.append_option(found.as_deref());
            continue;
        }
        let location = address(&text).and_then(|address| host.locate(address));
        let joined = location.map(|location| joined(&location));
        built.append_option(joined.as_deref());
        known.insert(text.to_string(), joined);
    }
    Arc::new(built.finish())
}

/// Parses the address in `10.1.2.3`, `2001:db8::1` or `10.1.2.0/24`.
fn address(text: &str) -> Option<IpAddr> {
    let address = text.split_once('/').map_or(text, |(address, _)| address);
    address.trim().parse().ok()
}

fn joined(location: &Location) -> String {
    let degrees = |degrees: Option<f64>| degrees.map(|degrees| format!("{degrees:.5}"));
    let part = |part: Part| match part {
        Part::City => location.city.clone(),
        Part::Continent => location.continent.clone(),
        Part::Country => location.country.clone(),
        Part::MetroCode => location.metro_code.clone(),
        Part::Region => location.region.clone(),
        Part::Timezone => location.timezone.clone(),
        Part::Latitude => degrees(location.latitude),
        Part::Longitude => degrees(location.longitude),
    };
    let parts = FIELDS.iter().map(|(_, name, _)| part(*name).unwrap_or_default());
    parts.collect::<Vec<_>>().join(&SEPARATOR.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use arrow::array::{Array, AsArray, StringViewArray};
    use datafusion::logical_expr::ColumnarValue;

    #[derive(Debug)]
    struct Springfield;

    impl Host for Springfield {
        fn locate(&self, address: IpAddr) -> Option<Location> {
            (address.to_string() == "192.0.2.1").then(|| Location {
                city: Some("Springfield".to_owned()),
                latitude: Some(44.5),
                ..Location::default()
            })
        }
    }

    #[test]
    fn an_address_is_located_by_its_text() {
        let texts = ["192.0.2.1", "192.0.2.1/24", "10.0.0.1", "no address"];
        let texts: ArrayRef = Arc::new(StringViewArray::from(texts.to_vec()));
        let argument = Argument::new(&ColumnarValue::Array(texts)).unwrap();
        let found = locations(&[argument], 4, &Springfield);
        let found = found.as_string_view();
        let parts: Vec<&str> = found.value(0).split(SEPARATOR).collect();
        assert_eq!(parts, ["Springfield", "", "", "", "", "", "44.50000", ""]);
        assert_eq!(found.value(1), found.value(0));
        assert!(found.is_null(2) && found.is_null(3));
    }
}
