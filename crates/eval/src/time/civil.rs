//! Calendar arithmetic, and incomplete times that a reference time completes.

use model::EventTime;

use super::zone::LocalClock;

/// Seconds of a day.
pub const DAY: i64 = 86_400;

/// Returns the number of days from 1970-01-01 to a date of the proleptic Gregorian calendar.
#[must_use]
pub fn days_from_civil(year: i64, month: i64, day: i64) -> i64 {
    let shifted = if month <= 2 { year - 1 } else { year };
    let era = shifted.div_euclid(400);
    let year_of_era = shifted.rem_euclid(400);
    let month_from_march = (month + 9) % 12;
    let day_of_year = (153 * month_from_march + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// Returns the date (year, month, day) of a day number.
#[must_use]
pub fn civil_from_days(days: i64) -> (i64, i64, i64) {
    let shifted = days + 719_468;
    let era = shifted.div_euclid(146_097);
    let day_of_era = shifted.rem_euclid(146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + i64::from(month <= 2);
    (year, month, day)
}

/// Returns whether a year has a 29 February.
fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Returns the number of days of a month.
#[must_use]
pub fn month_days(year: i64, month: i64) -> i64 {
    match month {
        2 => 28 + i64::from(is_leap(year)),
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The parts of a time as it was written; missing parts are `None` or zero.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Fields {
    /// Year with its century.
    pub year: Option<i64>,
    /// Month, 1 to 12.
    pub month: Option<i64>,
    /// Day of the month, 1 to 31.
    pub day: Option<i64>,
    /// Day of the year, 1 to 366.
    pub day_of_year: Option<i64>,
    /// Hour, 0 to 23, or 1 to 12 together with `pm`.
    pub hour: i64,
    /// Minute.
    pub minute: i64,
    /// Second, 60 for a leap second.
    pub second: i64,
    /// Microseconds of the second.
    pub micros: i64,
    /// Whether the hour is after noon.
    pub pm: Option<bool>,
    /// Seconds east of UTC.
    pub offset: Option<i64>,
    /// Epoch seconds; if present, all other parts are ignored.
    pub epoch: Option<i64>,
}

/// Maximum time by which a time without a year may be after the reference, to allow for clock differences.
const AHEAD_SECONDS: i64 = 2 * DAY;

impl Fields {
    /// Returns the point in time. A missing year becomes the latest one that puts the time at most two days
    /// after the reference; a missing date becomes that of the reference. Returns `None` if the parts are not
    /// a valid date, or if there is a year and a month without a day.
    #[must_use]
    pub fn resolve(&self, clock: &mut LocalClock, reference: EventTime) -> Option<EventTime> {
        let seconds = match self.epoch {
            Some(seconds) => seconds,
            None => self.local_to_epoch(clock, reference)?,
        };
        Some(EventTime(seconds.checked_mul(1_000_000)?.checked_add(self.micros)?))
    }

    fn hour24(&self) -> Option<i64> {
        match self.pm {
            None => Some(self.hour),
            Some(_) if self.hour > 12 => Some(self.hour),
            Some(false) => Some(self.hour % 12),
            Some(true) => Some(self.hour % 12 + 12),
        }
        .filter(|hour| *hour < 24)
    }

    fn local_to_epoch(&self, clock: &mut LocalClock, reference: EventTime) -> Option<i64> {
        let of_day = self.hour24()? * 3600 + self.minute * 60 + self.second;
        let reference = reference.0.div_euclid(1_000_000);
        if let Some(year) = self.year {
            return self.epoch_of(self.days(year)?, of_day, clock);
        }
        let today = clock.local_seconds(reference).div_euclid(DAY);
        if self.month.is_none() && self.day.is_none() && self.day_of_year.is_none() {
            return self.epoch_of(today, of_day, clock);
        }
        let (this_year, this_month, _) = civil_from_days(today);
        let dated = Self { month: self.month.or(Some(this_month)), ..*self };
        for year in (this_year - 8..=this_year + 1).rev() {
            let Some(days) = dated.days(year) else { continue };
            let epoch = self.epoch_of(days, of_day, clock)?;
            if epoch <= reference + AHEAD_SECONDS {
                return Some(epoch);
            }
        }
        None
    }

    fn epoch_of(&self, days: i64, of_day: i64, clock: &mut LocalClock) -> Option<i64> {
        let local = days * DAY + of_day;
        match self.offset {
            Some(offset) => Some(local - offset),
            None => clock.epoch_seconds(local),
        }
    }

    fn days(&self, year: i64) -> Option<i64> {
        if let (None, Some(day)) = (self.month, self.day_of_year) {
            let valid = day >= 1 && day <= 365 + i64::from(is_leap(year));
            return valid.then(|| days_from_civil(year, 1, 1) + day - 1);
        }
        let (month, day) = (self.month?, self.day?);
        let valid = (1..=12).contains(&month) && day >= 1 && day <= month_days(year, month);
        valid.then(|| days_from_civil(year, month, day))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_are_inverse() {
        for days in (-800_000..800_000).step_by(97) {
            let (year, month, day) = civil_from_days(days);
            assert_eq!(days_from_civil(year, month, day), days);
        }
        assert_eq!(civil_from_days(0), (1970, 1, 1));
        assert_eq!(civil_from_days(11_016), (2000, 2, 29));
    }

    fn resolve(fields: Fields, reference: i64) -> Option<i64> {
        let mut clock = LocalClock::utc();
        fields.resolve(&mut clock, EventTime(reference * 1_000_000)).map(|t| t.0 / 1_000_000)
    }

    #[test]
    fn a_time_without_a_year_takes_the_latest_that_is_not_ahead() {
        let reference = days_from_civil(2026, 1, 1) * DAY;
        let dated = |month, day| Fields { month: Some(month), day: Some(day), ..Fields::default() };
        let expect = |y, m, d| Some(days_from_civil(y, m, d) * DAY);
        assert_eq!(resolve(dated(12, 31), reference), expect(2025, 12, 31));
        assert_eq!(resolve(dated(1, 2), reference), expect(2026, 1, 2));
        assert_eq!(resolve(dated(1, 5), reference), expect(2025, 1, 5));
        assert_eq!(resolve(dated(2, 29), reference), expect(2024, 2, 29));
    }

    #[test]
    fn a_time_without_a_date_takes_the_references_day() {
        let reference = days_from_civil(2026, 1, 1) * DAY + 5000;
        let fields = Fields { hour: 3, pm: Some(true), ..Fields::default() };
        assert_eq!(resolve(fields, reference), Some(days_from_civil(2026, 1, 1) * DAY + 15 * 3600));
    }

    #[test]
    fn impossible_dates_are_refused() {
        let fields =
            Fields { year: Some(2025), month: Some(2), day: Some(29), ..Fields::default() };
        assert_eq!(resolve(fields, 0), None);
        let no_day = Fields { year: Some(2025), month: Some(2), ..Fields::default() };
        assert_eq!(resolve(no_day, 0), None);
    }
}
