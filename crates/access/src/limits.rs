//! Search limits of roles: Splunk's quotas, time windows and search filters.

use std::collections::BTreeMap;
use std::time::Duration;

/// The name and the settings of a role, from which its limits are read.
pub(crate) type RoleSettings<'a> = (&'a str, &'a BTreeMap<String, String>);

/// Numeric settings of a role, and their defaults.
pub const NUMBERS: &[(&str, i64)] = &[
    ("cumulativeSrchJobsQuota", 0),
    ("srchDiskQuota", 100),
    ("srchJobsQuota", 3),
    ("srchTimeEarliest", -1),
    ("srchTimeWin", -1),
];
/// The least value of a setting with this default: only windows of time can be unset, as -1.
#[must_use]
pub fn least(default: i64) -> i64 {
    default.min(0)
}

/// The setting of a role's search filter.
pub const FILTER: &str = "srchFilter";

/// Quotas of built-in roles that differ from [`NUMBERS`], by role.
pub(crate) const BUILT_IN: &[(&str, &str, &str)] = &[
    ("admin", "srchJobsQuota", "50"),
    ("admin", "srchDiskQuota", "10000"),
    ("admin", FILTER, "*"),
    ("power", "srchJobsQuota", "10"),
    ("power", "srchDiskQuota", "500"),
];

/// The combined limits of all roles of a user: the largest quotas and widest windows.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchLimits {
    /// `srchJobsQuota`: concurrent searches of the user; `None` is no limit.
    pub jobs: Option<usize>,
    /// `cumulativeSrchJobsQuota`: concurrent searches of all users of a role, by role.
    pub jobs_of_role: BTreeMap<String, usize>,
    /// `srchDiskQuota`: size in bytes of the results of the user's jobs.
    pub result_bytes: Option<u64>,
    /// `srchTimeWin`: maximum time range of a search, counted back from its end.
    pub window: Option<Duration>,
    /// `srchTimeEarliest`: how far back from now a search may go.
    pub earliest: Option<Duration>,
    /// `srchFilter`: filter that is added to the user's searches, in SPL.
    pub filter: Option<String>,
}

impl SearchLimits {
    /// The limits of these roles, including imported ones.
    pub(crate) fn of(roles: &[RoleSettings<'_>]) -> Self {
        let of_role = |role: &RoleSettings<'_>| {
            let quota = usize::try_from(number(*role, "cumulativeSrchJobsQuota")).ok();
            quota.filter(|quota| *quota > 0).map(|quota| (role.0.to_owned(), quota))
        };
        Self {
            // A quota of 0 means no limit, as in Splunk.
            jobs: least_bounded(roles, "srchJobsQuota").and_then(|n| usize::try_from(n).ok()),
            jobs_of_role: roles.iter().filter_map(of_role).collect(),
            result_bytes: least_bounded(roles, "srchDiskQuota")
                .and_then(|megabytes| u64::try_from(megabytes).ok())
                .map(|megabytes| megabytes.saturating_mul(1 << 20)),
            window: span(roles, "srchTimeWin"),
            earliest: span(roles, "srchTimeEarliest"),
            filter: filter(roles),
        }
    }

    /// Checks that the other limits are at least as strict as these.
    pub(crate) fn covers(&self, other: &Self) -> Result<(), String> {
        if self.filter.is_some() && self.filter != other.filter {
            return Err(format!("access to events outside {FILTER}"));
        }
        let wider = |mine: Option<Duration>, theirs: Option<Duration>| match (mine, theirs) {
            (None, _) => false,
            (Some(mine), Some(theirs)) => theirs > mine,
            (Some(_), None) => true,
        };
        if wider(self.window, other.window) || wider(self.earliest, other.earliest) {
            return Err("access to times outside srchTimeWin or srchTimeEarliest".to_owned());
        }
        Ok(())
    }
}

fn number((_, settings): RoleSettings<'_>, name: &str) -> i64 {
    let default = NUMBERS.iter().find(|(known, _)| *known == name).map_or(0, |(_, number)| *number);
    let number = settings.get(name).and_then(|text| text.parse::<i64>().ok());
    // Earlier versions stored negative quotas.
    number.filter(|number| *number >= least(default)).unwrap_or(default)
}

/// The largest quota of the roles; `None` if one of them has no limit.
fn least_bounded(roles: &[RoleSettings<'_>], name: &str) -> Option<i64> {
    let numbers: Vec<i64> = roles.iter().map(|role| number(*role, name)).collect();
    if numbers.contains(&0) { None } else { numbers.into_iter().max().or(Some(0)) }
}

/// The widest window of the roles: 0 means no limit, -1 is unset.
fn span(roles: &[RoleSettings<'_>], name: &str) -> Option<Duration> {
    let numbers: Vec<i64> = roles.iter().map(|role| number(*role, name)).collect();
    if numbers.contains(&0) {
        return None;
    }
    let seconds = numbers.into_iter().filter(|seconds| *seconds > 0).max()?;
    u64::try_from(seconds).ok().map(Duration::from_secs)
}

/// The combined filters of the roles: `*` allows everything, an empty filter is unset.
fn filter(roles: &[RoleSettings<'_>]) -> Option<String> {
    let said = roles.iter().filter_map(|(_, settings)| settings.get(FILTER));
    let mut filters: Vec<&str> = said.map(|text| text.trim()).filter(|t| !t.is_empty()).collect();
    filters.sort_unstable();
    filters.dedup();
    if filters.is_empty() || filters.contains(&"*") {
        return None;
    }
    Some(filters.iter().map(|text| format!("({text})")).collect::<Vec<_>>().join(" OR "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limits(roles: &[(&str, &[(&str, &str)])]) -> SearchLimits {
        let owned = |settings: &[(&str, &str)]| -> BTreeMap<String, String> {
            settings.iter().map(|(key, text)| ((*key).to_owned(), (*text).to_owned())).collect()
        };
        let roles: Vec<_> = roles.iter().map(|(name, settings)| (*name, owned(settings))).collect();
        let roles: Vec<_> = roles.iter().map(|(name, settings)| (*name, settings)).collect();
        SearchLimits::of(&roles)
    }

    #[test]
    fn the_most_of_all_roles_counts() {
        let limits = limits(&[
            ("a", &[("srchJobsQuota", "2"), ("srchTimeWin", "60"), (FILTER, "host=a")]),
            ("b", &[("srchDiskQuota", "7"), ("srchTimeWin", "3600"), (FILTER, "host=b")]),
        ]);
        assert_eq!((limits.jobs, limits.result_bytes), (Some(3), Some(100 << 20)));
        assert_eq!(limits.window, Some(Duration::from_secs(3_600)));
        assert_eq!(limits.filter.as_deref(), Some("(host=a) OR (host=b)"));
    }

    #[test]
    fn a_negative_quota_is_not_no_limit() {
        let limits = limits(&[("a", &[("srchJobsQuota", "-1"), ("srchDiskQuota", "-5")])]);
        assert_eq!((limits.jobs, limits.result_bytes), (Some(3), Some(100 << 20)));
    }

    #[test]
    fn zero_and_a_star_take_limits_away_and_silence_does_not() {
        let held: (&str, &[_]) = ("held", &[("srchTimeWin", "60"), (FILTER, "host=a")]);
        let silent = limits(&[held, ("silent", &[])]);
        assert_eq!(silent.window, Some(Duration::from_secs(60)));
        assert_eq!(silent.filter.as_deref(), Some("(host=a)"));
        let free = &[("srchTimeWin", "0"), (FILTER, "*"), ("srchJobsQuota", "0")];
        let free = limits(&[held, ("free", free)]);
        assert_eq!((free.window, free.filter.clone(), free.jobs), (None, None, None));
        assert!(free.covers(&silent).is_ok() && silent.covers(&free).is_err());
    }
}
