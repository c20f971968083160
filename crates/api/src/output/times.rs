//! `output_time_format`: the form of `_time` in rows.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use knowledge::time::{LocalClock, TimeFormat};
use model::{EventTime, columns};
use search::{Page, Value};

use crate::params::Params;

/// A form of times, in a time zone.
#[derive(Debug)]
pub(crate) struct OutputTimes {
    format: TimeFormat,
    clock: LocalClock,
}

impl OutputTimes {
    /// Returns the requested form; `None` leaves times in ISO 8601.
    pub(crate) fn of(params: &Params, zone: &TimeZone) -> Option<Self> {
        let format = TimeFormat::parse(params.text("output_time_format")?);
        Some(Self { format, clock: LocalClock::new(zone.clone()) })
    }

    /// Writes the times of a page. A text in `_time` that is not a time stays.
    pub(crate) fn write(&self, mut page: Page) -> Page {
        let place = page.fields.iter().position(|field| field == columns::TIME);
        let Some(place) = place else { return page };
        for row in &mut page.rows {
            if let Some(Some(Value::One(text))) = row.get_mut(place)
                && let Ok(time) = text.parse::<Timestamp>()
            {
                let mut written = String::new();
                let time = EventTime(time.as_microsecond());
                self.format.strftime(time, &self.clock, &mut written);
                *text = written;
            }
        }
        page
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn times_of_a_page_are_written_in_the_format_and_texts_stay() {
        let params = Params::of(&[("output_time_format", "%s %H:%M %z")]);
        let zone = TimeZone::get("Asia/Tokyo").unwrap();
        let times = OutputTimes::of(&params, &zone).unwrap();
        let cell = |text: &str| Some(Value::One(text.to_owned()));
        let iso = "2026-11-20T21:00:00.000+00:00";
        let rows = vec![vec![cell(iso), cell(iso)], vec![cell("late"), None], vec![None, None]];
        let page = Page { fields: vec!["n".to_owned(), "_time".to_owned()], rows };
        let written = times.write(page);
        assert_eq!(written.rows[0], [cell(iso), cell("1795208400 06:00 +0900")]);
        assert_eq!(written.rows[1], [cell("late"), None]);
        assert!(OutputTimes::of(&Params::default(), &zone).is_none());
    }
}
