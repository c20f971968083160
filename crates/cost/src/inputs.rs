//! The inputs of the model: the variables of the Terraform module, each with the source of its value.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::{Error, PriceList};

/// A numeric input.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Input {
    /// Volume of event text per day.
    RawGbPerDay,
    /// Retention in days.
    RetentionDays,
    /// Bytes in object storage per byte of text.
    StoredPerRaw,
    /// Event text per bucket at upload.
    BucketGb,
    /// PUT requests per upload and commit.
    PartsPerBucket,
    /// Buckets that searches read from object storage per day.
    SearchedBucketsPerDay,
    /// Number of indexers.
    Indexers,
    /// PUT requests per indexer for its journal, per second.
    JournalPutsPerSecond,
    /// PUT and LIST requests of the cluster that do not depend on events, per second.
    OtherPutsPerSecond,
    /// GET requests of the cluster that do not depend on events, per second.
    OtherGetsPerSecond,
    /// Copies of the journal in other zones.
    CopiesInOtherZones,
    /// Bytes of the journal per byte of text.
    JournalPerRaw,
    /// EBS volume per node.
    DiskGib,
    /// Number of NAT gateways.
    NatGateways,
    /// Number of network load balancers.
    LoadBalancers,
    /// Number of KMS keys.
    KmsKeys,
}

/// Name, unit, default and lower bound of an input.
type Declared = (&'static str, &'static str, Option<f64>, Least);

#[derive(Debug, Clone, Copy, PartialEq)]
enum Least {
    Above(f64),
    From(f64),
}

impl Input {
    /// All inputs, in display order.
    pub const ALL: [Self; 16] = [
        Self::RawGbPerDay,
        Self::RetentionDays,
        Self::StoredPerRaw,
        Self::BucketGb,
        Self::PartsPerBucket,
        Self::SearchedBucketsPerDay,
        Self::Indexers,
        Self::JournalPutsPerSecond,
        Self::OtherPutsPerSecond,
        Self::OtherGetsPerSecond,
        Self::CopiesInOtherZones,
        Self::JournalPerRaw,
        Self::DiskGib,
        Self::NatGateways,
        Self::LoadBalancers,
        Self::KmsKeys,
    ];

    const fn declared(self) -> Declared {
        use Least::{Above, From};
        match self {
            Self::RawGbPerDay => ("raw_gb_per_day", "GB per day", None, Above(0.0)),
            Self::RetentionDays => ("retention_days", "days", Some(90.0), From(1.0)),
            Self::StoredPerRaw => {
                ("stored_per_raw", "bytes per byte of text", Some(0.23), From(0.0))
            }
            Self::BucketGb => ("bucket_gb", "GB of text", Some(0.2), Above(0.0)),
            Self::PartsPerBucket => ("parts_per_bucket", "PUT per bucket", Some(2.0), From(0.0)),
            Self::SearchedBucketsPerDay => {
                ("searched_buckets_per_day", "GET per day", Some(100_000.0), From(0.0))
            }
            Self::Indexers => ("indexers", "", Some(1.0), From(1.0)),
            Self::JournalPutsPerSecond => {
                ("journal_puts_per_second", "PUT per second and indexer", Some(3.8), From(0.0))
            }
            Self::OtherPutsPerSecond => {
                ("other_puts_per_second", "PUT per second", Some(1.2), From(0.0))
            }
            Self::OtherGetsPerSecond => {
                ("other_gets_per_second", "GET per second", Some(1.0), From(0.0))
            }
            Self::CopiesInOtherZones => ("copies_in_other_zones", "", Some(0.0), From(0.0)),
            Self::JournalPerRaw => {
                ("journal_per_raw", "bytes per byte of text", Some(0.27), From(0.0))
            }
            Self::DiskGib => ("disk_gib", "GiB per node", Some(50.0), From(0.0)),
            Self::NatGateways => ("nat_gateways", "", Some(1.0), From(0.0)),
            Self::LoadBalancers => ("load_balancers", "", Some(2.0), From(0.0)),
            Self::KmsKeys => ("kms_keys", "", Some(2.0), From(0.0)),
        }
    }

    /// The name of the Terraform variable and the parameter; with hyphens that of the option.
    #[must_use]
    pub const fn name(self) -> &'static str {
        self.declared().0
    }

    /// The unit; empty for counts.
    #[must_use]
    pub const fn unit(self) -> &'static str {
        self.declared().1
    }

    /// The default; `None` if the value has to be given or measured.
    #[must_use]
    pub const fn default_value(self) -> Option<f64> {
        self.declared().2
    }

    /// The input with a name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|input| input.name() == name)
    }

    /// Parses a value.
    ///
    /// # Errors
    /// [`Error::Invalid`] if the text is not a number within the range.
    pub fn parse(self, text: &str) -> Result<f64, Error> {
        let least = self.declared().3;
        let number = text.trim().parse::<f64>().ok().filter(|number| number.is_finite());
        let fits = |number: &f64| match least {
            Least::Above(bound) => *number > bound,
            Least::From(bound) => *number >= bound,
        };
        number.filter(fits).ok_or_else(|| Error::Invalid {
            name: self.name(),
            given: text.to_owned(),
            expected: match least {
                Least::Above(bound) => format!("a number greater than {bound}"),
                Least::From(bound) => format!("a number of {bound} or more"),
            },
        })
    }
}

/// The source of a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Source {
    /// The default of the model.
    Default,
    /// Measured by the server.
    Measured,
    /// Taken from the server's configuration.
    Configured,
    /// Set by the caller.
    Set,
}

impl Source {
    /// The name in the report.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Measured => "measured",
            Self::Configured => "configured",
            Self::Set => "set",
        }
    }
}

/// The value of an input.
#[derive(Debug, Clone, PartialEq)]
pub struct Value {
    /// The number.
    pub number: f64,
    /// The source of the number.
    pub source: Source,
    /// How it was measured; empty if not applicable.
    pub how: String,
}

/// The inputs of a bill.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Inputs {
    values: BTreeMap<Input, Value>,
    /// Number of nodes by instance type; `None` if not specified.
    pub nodes: Option<BTreeMap<String, u32>>,
}

impl Inputs {
    /// The effective value; `None` if the input is not set and has no default.
    #[must_use]
    pub fn get(&self, input: Input) -> Option<Value> {
        let default = |number| Value { number, source: Source::Default, how: String::new() };
        self.values.get(&input).cloned().or_else(|| input.default_value().map(default))
    }

    /// The effective number; 0 for an unknown volume, for which there is no bill.
    pub(crate) fn number(&self, input: Input) -> f64 {
        self.get(input).map_or(0.0, |value| value.number)
    }

    /// Sets a value from text, overriding a measured one.
    ///
    /// # Errors
    /// [`Error::Unknown`], [`Error::Invalid`].
    pub fn set(&mut self, name: &str, text: &str) -> Result<(), Error> {
        let input = Input::named(name).ok_or_else(|| Error::Unknown {
            name: name.to_owned(),
            known: Input::ALL.map(Input::name).join(", ") + ", nodes",
        })?;
        self.put(input, input.parse(text)?, Source::Set, String::new());
        Ok(())
    }

    /// Sets a value that the caller did not give.
    pub(crate) fn put(&mut self, input: Input, number: f64, source: Source, how: String) {
        self.values.insert(input, Value { number, source, how });
    }

    /// Sets the nodes from texts such as `i8g.xlarge=3`; an empty text means no nodes.
    ///
    /// # Errors
    /// [`Error::InstanceType`] for a type without a price, [`Error::Invalid`] for other invalid texts.
    pub fn set_nodes<'a>(
        &mut self,
        texts: impl IntoIterator<Item = &'a str>,
        prices: &PriceList,
    ) -> Result<(), Error> {
        let mut nodes = BTreeMap::new();
        for text in texts.into_iter().map(str::trim).filter(|text| !text.is_empty()) {
            let invalid = |expected: &str| Error::Invalid {
                name: "nodes",
                given: text.to_owned(),
                expected: expected.to_owned(),
            };
            let (kind, number) = text
                .split_once('=')
                .ok_or_else(|| invalid("TYPE=NUMBER, for example i8g.xlarge=3"))?;
            let number: u32 = number
                .trim()
                .parse()
                .map_err(|_| invalid("TYPE=NUMBER with a whole number of 0 or more"))?;
            let kind = kind.trim();
            if !prices.instance_hour.contains_key(kind) {
                let known: Vec<&str> = prices.instance_hour.keys().map(String::as_str).collect();
                return Err(Error::InstanceType {
                    given: kind.to_owned(),
                    as_of: prices.as_of.clone(),
                    known: known.join(", "),
                });
            }
            if nodes.insert(kind.to_owned(), number).is_some() {
                return Err(invalid("a type that is named once"));
            }
        }
        self.nodes = Some(nodes);
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn refused(name: &str, text: &str) -> String {
        Inputs::default().set(name, text).unwrap_err().to_string()
    }

    #[test]
    fn a_value_outside_of_its_range_is_refused_with_the_range() {
        assert_eq!(
            refused("retention_days", "0"),
            "retention_days: \"0\" is not a number of 1 or more"
        );
        assert_eq!(
            refused("raw_gb_per_day", "0"),
            "raw_gb_per_day: \"0\" is not a number greater than 0"
        );
        for text in ["-1", "much", "", "NaN", "inf"] {
            assert!(refused("kms_keys", text).contains("a number of 0 or more"), "{text}");
        }
    }

    #[test]
    fn an_unknown_name_is_refused_with_those_that_are_known() {
        let text = refused("retention", "30");
        assert!(text.contains("\"retention\" is not an input"), "{text}");
        assert!(
            text.contains("retention_days, stored_per_raw") && text.ends_with(", nodes"),
            "{text}"
        );
    }

    #[test]
    fn a_type_without_a_price_is_refused_with_those_that_have_one() {
        let prices = PriceList::built_in().unwrap();
        let mut inputs = Inputs::default();
        let mut refused = |text: &str| inputs.set_nodes([text], &prices).unwrap_err().to_string();
        let text = refused("x1.large=3");
        assert!(text.contains("no instance type \"x1.large\""), "{text}");
        assert!(text.contains("i8g.xlarge, ") && text.contains(&prices.as_of), "{text}");
        assert!(refused("i8g.xlarge").contains("for example i8g.xlarge=3"));
        assert!(refused("i8g.xlarge=-1").contains("a whole number of 0 or more"));
        assert!(refused("i8g.xlarge=1.5").contains("a whole number of 0 or more"));
        let twice = inputs.set_nodes(["i8g.xlarge=1", "i8g.xlarge=2"], &prices).unwrap_err();
        assert!(twice.to_string().contains("named once"), "{twice}");
        inputs.set_nodes(["i8g.xlarge=3", " m8gd.large = 2"], &prices).unwrap();
        assert_eq!(inputs.nodes.unwrap().into_values().collect::<Vec<_>>(), [3, 2]);
    }

    #[test]
    fn a_given_value_takes_precedence_over_a_measured_one() {
        let mut inputs = Inputs::default();
        assert_eq!(inputs.get(Input::RawGbPerDay), None);
        assert_eq!(inputs.get(Input::RetentionDays).unwrap().source, Source::Default);
        inputs.put(Input::RetentionDays, 7.0, Source::Configured, "x".to_owned());
        assert_eq!(inputs.get(Input::RetentionDays).unwrap().number, 7.0);
        inputs.set("retention_days", "30").unwrap();
        let value = inputs.get(Input::RetentionDays).unwrap();
        assert_eq!((value.number, value.source), (30.0, Source::Set));
    }
}
