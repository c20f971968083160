//! Placement of the copies of a journal: how many indexers have one, and in which sites.
//!
//! A pure function: its input is the sites of the indexers that have copies and of those that may get one,
//! and its output is the indexers that get one, or what is lacking.

use std::collections::BTreeMap;
use std::fmt;

use conf::{FromValue, Type, Value};

/// The site of a process that has none configured.
pub const NO_SITE: &str = "default";
/// Maximum number of copies.
const MOST: usize = 16;

conf::settings! {
    /// How many indexers have the journal of an indexer, and in which sites.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct Placement {
        "server"["clustering"] {
            /// Number of indexers, including the receiving one, that have an event of an index with
            /// `ackLevel = replicated` in their journals when it is acknowledged. While fewer indexers
            /// respond, acknowledgements wait until the bucket of the events is stored. With `multisite`,
            /// `site_replication_factor` applies instead.
            "replication_factor" => pub factor: usize = "3", Type::range(1, 16);
            /// Whether `site_replication_factor` applies instead of `replication_factor`. Each indexer then
            /// needs a site (`[general] site`). The value must be the same on all indexers.
            "multisite" => pub multisite: bool = "false", Type::Boolean;
            /// Number of indexers that have an event in their journals with `multisite`: in the site of the
            /// receiving indexer, including this indexer (`origin`), in named sites, and in all sites
            /// (`total`). The remaining copies up to `total` are in sites other than that of the receiving
            /// indexer, first in sites without a number. If the site of the receiving indexer also has a
            /// number, the larger of both applies.
            "site_replication_factor" => pub sites: SiteFactor = "origin:2,total:3", FORM;
        }
    }
}

const FORM: Type = Type::Form {
    expected: "origin and total with numbers, between them sites, such as origin:2,total:3 or \
               origin:1,site2:1,total:3; total is at least the sum of the others, and at most 16",
    fits: |text| SiteFactor::parse(text).is_some(),
};

/// The number of copies by site: `origin:2,total:3`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SiteFactor {
    origin: usize,
    named: BTreeMap<String, usize>,
    total: usize,
}

impl SiteFactor {
    /// Parses the setting; returns `None` if its syntax is invalid or it cannot be satisfied.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut counts = BTreeMap::new();
        for entry in text.split(',') {
            let (site, count) = entry.split_once(':')?;
            let (site, count) = (site.trim(), count.trim().parse::<usize>().ok()?);
            let is_known = site == "origin" || site == "total" || is_site(site);
            let is_new = counts.insert(site.to_owned(), count).is_none();
            if !is_known || !is_new || !(1..=MOST).contains(&count) {
                return None;
            }
        }
        let (origin, total) = (counts.remove("origin")?, counts.remove("total")?);
        let least = origin + counts.values().sum::<usize>();
        (least <= total).then_some(Self { origin, named: counts, total })
    }

    /// Returns the number of indexers in the site of the owner, including the owner.
    fn at_origin(&self, origin: &str) -> usize {
        self.named.get(origin).map_or(self.origin, |named| self.origin.max(*named))
    }

    /// Returns the minimum number of copies in other sites.
    fn elsewhere<'s>(&'s self, origin: &'s str) -> impl Iterator<Item = (&'s str, usize)> {
        let others = self.named.iter().filter(move |(site, _)| *site != origin);
        others.map(|(site, count)| (site.as_str(), *count))
    }
}

impl fmt::Display for SiteFactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "origin:{}", self.origin)?;
        for (site, count) in &self.named {
            write!(f, ",{site}:{count}")?;
        }
        write!(f, ",total:{}", self.total)
    }
}

impl FromValue for SiteFactor {
    fn from_value(value: Value<'_>) -> Option<Self> {
        match value {
            Value::Text(text) => Self::parse(text),
            _ => None,
        }
    }
}

/// Whether a text is a valid name of a site: `site1`, as in Splunk, or the name of a zone.
#[must_use]
pub fn is_site(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    let is_word = matches!(text, "origin" | "total");
    (1..=63).contains(&text.len()) && text.chars().all(is_part) && !is_word
}

impl Placement {
    /// Returns the number of indexers that have a journal, including its owner.
    #[must_use]
    pub fn total(&self) -> usize {
        if self.multisite { self.sites.total } else { self.factor }
    }

    /// Returns the settings in effect, as they are written in the configuration.
    #[must_use]
    pub fn setting(&self) -> String {
        match self.multisite {
            true => format!("site_replication_factor = {}", self.sites),
            false => "replication_factor".to_owned(),
        }
    }

    /// Returns which of the copies in these sites count, for an owner in the site `origin`. The others are
    /// superfluous, or in sites where none is wanted.
    #[must_use]
    pub fn kept(&self, origin: &str, held: &[&str]) -> Vec<bool> {
        let mut room = Room::new(self, origin);
        held.iter().map(|site| room.take(site)).collect()
    }

    /// Returns the indexers that get a copy, by index in `free`, which lists their sites in the order of
    /// preference. All copies in `held` must count ([`kept`](Self::kept)). Returns none if nothing is
    /// lacking.
    ///
    /// # Errors
    /// What is lacking that these indexers cannot provide.
    pub fn choose(&self, origin: &str, held: &[&str], free: &[&str]) -> Result<Vec<usize>, String> {
        let mut room = Room::new(self, origin);
        for site in held {
            room.take(site);
        }
        let mut chosen: Vec<usize> = Vec::new();
        // First the sites with unmet needs: the remaining copies may go to these sites, too.
        for (place, site) in free.iter().enumerate() {
            if room.needs(site) && room.take(site) {
                chosen.push(place);
            }
        }
        while room.spare > 0 {
            let is_free =
                |place: &usize| !chosen.contains(place) && room.has_spare_for(free[*place]);
            let best = (0..free.len()).filter(is_free);
            let Some(best) = best.min_by_key(|place| (room.weight(free[*place]), *place)) else {
                break;
            };
            room.take(free[best]);
            chosen.push(best);
        }
        let lacking = room.lacking();
        if lacking.is_empty() { Ok(chosen) } else { Err(lacking.join(", ")) }
    }

    /// Returns what an indexer in the first of these sites would lack if these were all indexers; `None` if
    /// each of them can have its copies.
    #[must_use]
    pub fn unmet(&self, sites: &[&str]) -> Option<String> {
        sites.iter().enumerate().find_map(|(own, origin)| {
            let others = sites.iter().enumerate().filter(|(place, _)| *place != own);
            let others: Vec<&str> = others.map(|(_, site)| *site).collect();
            let lacking = self.choose(origin, &[], &others).err()?;
            Some(match self.multisite {
                true => format!("for indexers in {origin}, {lacking}"),
                false => lacking,
            })
        })
    }
}

/// The copies that an owner still needs.
struct Room<'p> {
    origin: &'p str,
    multisite: bool,
    /// Number of missing copies by site, for sites with a number.
    needed: BTreeMap<&'p str, usize>,
    /// Number of missing copies that may be anywhere else.
    spare: usize,
    /// Number of existing copies by site.
    there: BTreeMap<String, usize>,
    named: Vec<&'p str>,
}

impl<'p> Room<'p> {
    fn new(placement: &'p Placement, origin: &'p str) -> Self {
        let (mut needed, mut named) = (BTreeMap::new(), Vec::new());
        let mut spare = placement.total().saturating_sub(1);
        if placement.multisite {
            let at_origin = placement.sites.at_origin(origin);
            spare = placement.sites.total - at_origin;
            // The owner itself is one of them.
            needed.insert(origin, at_origin - 1);
            for (site, count) in placement.sites.elsewhere(origin) {
                needed.insert(site, count);
                named.push(site);
                spare -= count;
            }
        }
        let multisite = placement.multisite;
        Self { origin, multisite, needed, spare, there: BTreeMap::new(), named }
    }

    fn needs(&self, site: &str) -> bool {
        self.needed.get(site).is_some_and(|count| *count > 0)
    }

    fn has_spare_for(&self, site: &str) -> bool {
        self.spare > 0 && (!self.multisite || site != self.origin)
    }

    /// Counts a copy in a site. Returns whether it is wanted.
    fn take(&mut self, site: &str) -> bool {
        let needs = self.needs(site);
        let is_wanted = needs || self.has_spare_for(site);
        match self.needed.get_mut(site).filter(|_| needs) {
            Some(count) => *count -= 1,
            None => self.spare -= usize::from(is_wanted),
        }
        if is_wanted {
            *self.there.entry(site.to_owned()).or_default() += 1;
        }
        is_wanted
    }

    /// Returns the order of preference of a site for the next copy that may be anywhere: sites without a
    /// number first, then those with the fewest copies. Without `multisite`, all sites are equal.
    fn weight(&self, site: &str) -> (bool, usize) {
        if !self.multisite {
            return (false, 0);
        }
        (self.named.contains(&site), self.there.get(site).copied().unwrap_or_default())
    }

    fn lacking(&self) -> Vec<String> {
        let needed = self.needed.iter().filter(|(_, count)| **count > 0);
        let mut lacking: Vec<String> =
            needed.map(|(site, count)| format!("{count} more in {site}")).collect();
        if self.spare > 0 {
            lacking.push(match self.multisite {
                true => format!("{} more in other sites than {}", self.spare, self.origin),
                false => format!("{} more", self.spare),
            });
        }
        lacking
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sites(text: &str) -> Placement {
        let sites = SiteFactor::parse(text).expect("a value");
        Placement { multisite: true, sites, ..Placement::default() }
    }

    fn copies(factor: usize) -> Placement {
        Placement { factor, ..Placement::default() }
    }

    /// Returns the sites of the chosen indexers.
    fn chosen<'s>(
        placement: &Placement,
        origin: &str,
        held: &[&str],
        free: &[&'s str],
    ) -> Vec<&'s str> {
        let chosen = placement.choose(origin, held, free).expect("enough");
        chosen.into_iter().map(|place| free[place]).collect()
    }

    #[test]
    fn without_sites_the_first_ones_that_are_asked_have_copies_wherever_they_are() {
        assert_eq!(copies(3).choose("a", &[], &["b", "a", "b", "c"]), Ok(vec![0, 1]));
        assert_eq!(copies(3).choose("a", &["a"], &["b", "b"]), Ok(vec![0]));
        assert_eq!(copies(3).choose("a", &["a", "b"], &["b"]), Ok(vec![]));
        assert_eq!(copies(1).choose("a", &[], &[]), Ok(vec![]));
        assert_eq!(copies(3).choose("a", &[], &["b"]), Err("1 more".to_owned()));
    }

    #[test]
    fn what_is_not_at_the_origin_is_in_other_sites() {
        let placement = sites("origin:2,total:3");
        assert_eq!(placement.choose("a", &[], &["a", "a", "b", "b"]), Ok(vec![0, 2]));
        assert_eq!(placement.choose("b", &[], &["a", "a", "b", "b"]), Ok(vec![2, 0]));
        assert_eq!(placement.choose("a", &["b"], &["b", "a"]), Ok(vec![1]));
        assert_eq!(placement.choose("a", &["b", "a"], &["b", "a"]), Ok(vec![]));
    }

    #[test]
    fn what_sites_lack_is_said() {
        let placement = sites("origin:2,total:3");
        let lacking = |free: &[&str]| placement.choose("a", &[], free).expect_err("too few");
        assert_eq!(lacking(&["a", "a"]), "1 more in other sites than a");
        assert_eq!(lacking(&["b", "b"]), "1 more in a");
        assert_eq!(lacking(&[]), "1 more in a, 1 more in other sites than a");
        let named = sites("origin:1,c:1,total:2");
        assert_eq!(named.choose("a", &[], &["b"]), Err("1 more in c".to_owned()));
    }

    #[test]
    fn copies_elsewhere_are_spread_and_sites_with_a_number_have_theirs() {
        let free = ["b", "b", "b", "c", "c", "d"];
        assert_eq!(chosen(&sites("origin:1,total:4"), "a", &[], &free), ["b", "c", "d"]);
        assert_eq!(chosen(&sites("origin:1,total:5"), "a", &[], &free), ["b", "c", "d", "b"]);
        assert_eq!(chosen(&sites("origin:1,d:1,total:3"), "a", &[], &free), ["d", "b"]);
        assert_eq!(chosen(&sites("origin:1,b:2,total:4"), "a", &[], &free), ["b", "b", "c"]);
        // Sites with a number get the rest if there are no others.
        assert_eq!(chosen(&sites("origin:1,b:1,total:3"), "a", &[], &["b", "b"]), ["b", "b"]);
    }

    #[test]
    fn an_origin_with_a_number_has_the_larger_of_both() {
        let placement = sites("origin:1,a:2,b:1,total:4");
        assert_eq!(chosen(&placement, "a", &[], &["b", "a", "c", "b"]), ["b", "a", "c"]);
        assert_eq!(chosen(&placement, "b", &[], &["a", "c", "a", "b"]), ["a", "a", "c"]);
    }

    #[test]
    fn copies_count_where_they_are_wanted() {
        let placement = sites("origin:2,total:3");
        assert_eq!(placement.kept("a", &["a", "b"]), [true, true]);
        assert_eq!(placement.kept("a", &["a", "a"]), [true, false], "both in its own site");
        assert_eq!(placement.kept("a", &["b", "c"]), [true, false]);
        assert_eq!(copies(2).kept("a", &["b", "c"]), [true, false], "more than wanted");
        let named = sites("origin:1,c:1,total:3");
        assert_eq!(named.kept("a", &["b", "b", "c"]), [true, false, true], "c has its own");
    }

    /// For any sites, the chosen copies complete the placement, and then nothing is lacking.
    #[test]
    fn a_choice_is_complete_and_no_larger_than_it_has_to_be() {
        let names = ["a", "b", "c"];
        for text in
            ["origin:1,total:1", "origin:2,total:3", "origin:1,b:1,total:4", "origin:3,total:5"]
        {
            let placement = sites(text);
            for number in 0..3_usize.pow(6) {
                let free: Vec<&str> =
                    (0..6_u32).map(|n| names[number / 3_usize.pow(n) % 3]).collect();
                for origin in names {
                    let Ok(chosen) = placement.choose(origin, &[], &free) else { continue };
                    let held: Vec<&str> = chosen.iter().map(|place| free[*place]).collect();
                    assert_eq!(held.len() + 1, placement.total(), "{text} {origin} {free:?}");
                    assert!(placement.kept(origin, &held).into_iter().all(|kept| kept));
                    assert_eq!(placement.choose(origin, &held, &free), Ok(vec![]));
                }
            }
        }
    }

    #[test]
    fn a_cluster_that_cannot_meet_it_is_told() {
        assert_eq!(copies(3).unmet(&["a", "a", "a"]), None);
        assert_eq!(copies(3).unmet(&["a", "a"]).as_deref(), Some("1 more"));
        let placement = sites("origin:2,total:3");
        assert_eq!(placement.unmet(&["a", "a", "b", "b"]), None);
        let unmet = placement.unmet(&["a", "a", "b"]);
        assert_eq!(unmet.as_deref(), Some("for indexers in b, 1 more in b"));
        assert_eq!(placement.unmet(&[]), None);
    }

    #[test]
    fn values_are_read_and_written() {
        let read = |text| SiteFactor::parse(text).map(|factor| factor.to_string());
        for text in
            ["origin:2,total:3", "origin:1,site1:1,site2:2,total:4", "origin:1,eu-1.a:1,total:2"]
        {
            assert_eq!(read(text).as_deref(), Some(text));
        }
        assert_eq!(read(" total: 3, origin:2 ").as_deref(), Some("origin:2,total:3"));
        for wrong in [
            "",
            "3",
            "origin:2",
            "total:3",
            "origin:2,total:1",
            "origin:1,site1:2,total:2",
            "origin:0,total:1",
            "origin:1,total:17",
            "origin:1,origin:1,total:3",
            "origin:1,a b:1,total:3",
            "origin:x,total:3",
            "origin:1,total:3,",
        ] {
            assert_eq!(SiteFactor::parse(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_wrong_setting_is_refused_with_an_example() {
        let text = "[clustering]\nsite_replication_factor = origin:2\n";
        let layers = conf::Layers::builtin().with(conf::Layer::SystemLocal, "server", text);
        let error = Placement::read(&layers).expect_err("no total").to_string();
        assert!(
            error.contains("origin:2,total:3") && error.contains("site_replication_factor"),
            "{error}"
        );
    }

    #[test]
    fn names_of_sites() {
        for site in ["site1", "eu-central-1a", "default"] {
            assert!(is_site(site), "{site}");
        }
        for wrong in ["", "origin", "total", "a b", "a:1", "a,b"] {
            assert!(!is_site(wrong), "{wrong}");
        }
    }
}
