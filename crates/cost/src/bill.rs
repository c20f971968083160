//! The bill: the formulas of `terraform/modules/cost/main.tf`, per billed item.

use serde::Serialize;

use crate::{Error, Input, Inputs, MONTH_DAYS, MONTH_HOURS, PriceList};

/// The monthly cost of one billed item.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Part {
    /// The name in the output `monthly_cost` of Terraform.
    pub name: &'static str,
    /// Dollars per month, unrounded.
    pub dollars: f64,
    /// The factors, as text for the reader.
    pub how: String,
}

/// Parts that cannot be priced because an input is missing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct LeftOut {
    /// The parts.
    pub names: Vec<&'static str>,
    /// The reason, and what helps.
    pub reason: String,
}

/// The monthly bill.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bill {
    /// The parts, in the order of the Terraform module.
    pub parts: Vec<Part>,
    /// Parts missing in the total.
    pub left_out: Vec<LeftOut>,
    /// Dollars per month, the sum of the parts.
    pub total: f64,
    /// Dollars per GB of event text.
    pub per_raw_gb: f64,
    /// GB in object storage after one full retention period.
    pub stored_gb: f64,
    /// PUT, POST and LIST requests per month.
    pub puts: f64,
    /// GET and HEAD requests per month.
    pub gets: f64,
}

/// The parts that depend on the number of nodes.
const OF_NODES: [&str; 5] = ["nodes", "kubernetes", "network", "disks", "keys"];

impl Bill {
    /// Computes the bill of the inputs. Without nodes, it has storage, requests and traffic only.
    ///
    /// # Errors
    /// [`Error::NoVolume`] if the volume is neither given nor measured, [`Error::InstanceType`].
    pub fn of(inputs: &Inputs, prices: &PriceList) -> Result<Self, Error> {
        if inputs.get(Input::RawGbPerDay).is_none() {
            return Err(Error::NoVolume { reason: "set raw_gb_per_day".to_owned() });
        }
        let of = |input| inputs.number(input);
        let volume = of(Input::RawGbPerDay);
        let stored_gb = volume * of(Input::StoredPerRaw) * of(Input::RetentionDays);
        let (puts, gets) = requests(inputs);
        let mut parts = vec![
            Part {
                name: "storage",
                dollars: prices.storage(stored_gb),
                how: format!("{} GB in object storage", shown(stored_gb)),
            },
            Part {
                name: "requests",
                dollars: puts * prices.s3_put + gets * prices.s3_get,
                how: format!("{} PUT and LIST, {} GET", shown(puts.round()), shown(gets.round())),
            },
        ];
        let mut left_out = Vec::new();
        match &inputs.nodes {
            Some(_) => {
                let (nodes, others) = of_nodes(inputs, prices)?;
                parts.insert(0, nodes);
                parts.extend(others);
            }
            None => left_out.push(LeftOut {
                names: OF_NODES.to_vec(),
                reason: "no nodes are given: name them by type, for example i8g.xlarge=3"
                    .to_owned(),
            }),
        }
        let crossing =
            MONTH_DAYS * volume * of(Input::JournalPerRaw) * of(Input::CopiesInOtherZones);
        parts.push(Part {
            name: "traffic",
            dollars: crossing * prices.cross_zone_gb,
            how: format!("{} GB of journals to other zones", shown(crossing)),
        });
        let total: f64 = parts.iter().map(|part| part.dollars).sum();
        let per_raw_gb = total / (volume * MONTH_DAYS);
        Ok(Self { parts, left_out, total, per_raw_gb, stored_gb, puts, gets })
    }

    /// Dollars per month of a part; `None` if it is left out.
    #[must_use]
    pub fn dollars(&self, name: &str) -> Option<f64> {
        self.parts.iter().find(|part| part.name == name).map(|part| part.dollars)
    }
}

/// PUT and GET requests per month: of buckets and their merges, of journals, and those that do not depend
/// on events.
fn requests(inputs: &Inputs) -> (f64, f64) {
    /// Merges write half of the buckets once more.
    const MERGES: f64 = 1.5;
    let of = |input| inputs.number(input);
    let month = MONTH_DAYS * 86_400.0;
    let buckets = of(Input::RawGbPerDay) / of(Input::BucketGb);
    let journals = of(Input::Indexers) * of(Input::JournalPutsPerSecond);
    let puts = MONTH_DAYS * buckets * of(Input::PartsPerBucket) * MERGES
        + month * (journals + of(Input::OtherPutsPerSecond));
    let gets =
        MONTH_DAYS * of(Input::SearchedBucketsPerDay) + month * of(Input::OtherGetsPerSecond);
    (puts, gets)
}

/// PUT requests per second for buckets and their merges.
pub(crate) fn bucket_puts(inputs: &Inputs) -> f64 {
    let mut alone = inputs.clone();
    for input in [Input::JournalPutsPerSecond, Input::OtherPutsPerSecond] {
        alone.put(input, 0.0, crate::Source::Default, String::new());
    }
    requests(&alone).0 / (MONTH_DAYS * 86_400.0)
}

/// The cost of the instances, and of the other parts of their cluster.
fn of_nodes(inputs: &Inputs, prices: &PriceList) -> Result<(Part, [Part; 4]), Error> {
    let of = |input| inputs.number(input);
    let mut hourly = 0.0;
    let mut number = 0.0;
    let mut names = Vec::new();
    for (kind, count) in inputs.nodes.iter().flatten() {
        let price = prices.instance_hour.get(kind).ok_or_else(|| Error::InstanceType {
            given: kind.clone(),
            as_of: prices.as_of.clone(),
            known: prices.instance_hour.keys().cloned().collect::<Vec<_>>().join(", "),
        })?;
        hourly += price * f64::from(*count);
        number += f64::from(*count);
        names.push(format!("{count} {kind}"));
    }
    let disks = number * of(Input::DiskGib);
    let (nat, balancers) = (of(Input::NatGateways), of(Input::LoadBalancers));
    let part = |name, dollars, how| Part { name, dollars, how };
    let nodes = if names.is_empty() { "no nodes".to_owned() } else { names.join(", ") };
    Ok((
        part("nodes", hourly * MONTH_HOURS, nodes),
        [
            part(
                "kubernetes",
                prices.eks_hour * MONTH_HOURS,
                "the control plane of EKS".to_owned(),
            ),
            part(
                "network",
                (nat * prices.nat_hour + balancers * prices.nlb_hour) * MONTH_HOURS,
                format!("{} NAT gateways, {} load balancers", shown(nat), shown(balancers)),
            ),
            part("disks", disks * prices.ebs_gb_month, format!("{} GiB of EBS", shown(disks))),
            part(
                "keys",
                of(Input::KmsKeys) * prices.kms_key_month,
                format!("{} keys", shown(of(Input::KmsKeys))),
            ),
        ],
    ))
}

/// Rounds a number like Terraform: to `places` decimal places, halves upwards.
#[must_use]
pub fn round(number: f64, places: i32) -> f64 {
    let scale = 10_f64.powi(places);
    (number * scale + 0.5).floor() / scale
}

/// Formats a number: large numbers without decimals and with grouped digits, small ones with three
/// significant digits.
fn shown(number: f64) -> String {
    let digits = match number {
        _ if number >= 100.0 || number.fract() == 0.0 => format!("{number:.0}"),
        _ if number >= 1.0 => format!("{number:.1}"),
        _ => format!("{number:.3}"),
    };
    let (whole, rest) = digits.split_at(digits.find('.').unwrap_or(digits.len()));
    let mut grouped = String::with_capacity(digits.len() + digits.len() / 3);
    for (at, digit) in whole.chars().enumerate() {
        if at > 0 && (whole.len() - at) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    grouped + rest
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn without_nodes_storage_requests_and_traffic_are_priced_and_the_rest_is_named() {
        let prices = PriceList::built_in().unwrap();
        let mut inputs = Inputs::default();
        inputs.set("raw_gb_per_day", "100").unwrap();
        let bill = Bill::of(&inputs, &prices).unwrap();
        let names: Vec<_> = bill.parts.iter().map(|part| part.name).collect();
        assert_eq!(names, ["storage", "requests", "traffic"]);
        assert_eq!(bill.left_out[0].names, OF_NODES);
        assert!(bill.left_out[0].reason.contains("i8g.xlarge=3"));
        assert!(
            (bill.total - bill.parts.iter().map(|part| part.dollars).sum::<f64>()).abs() < 1e-9
        );
        inputs.set_nodes([""], &prices).unwrap();
        let bill = Bill::of(&inputs, &prices).unwrap();
        assert_eq!((bill.left_out.len(), bill.parts.len()), (0, 8));
        assert_eq!(bill.dollars("nodes"), Some(0.0));
    }

    #[test]
    fn without_a_volume_there_is_no_bill() {
        let refused = Bill::of(&Inputs::default(), &PriceList::built_in().unwrap()).unwrap_err();
        assert!(refused.to_string().contains("set raw_gb_per_day"), "{refused}");
    }

    #[test]
    fn numbers_are_grouped_and_keep_the_digits_that_matter() {
        let shown: Vec<String> = [0.0, 0.0456, 3.0, 3.25, 123.4, 1_234_567.0].map(shown).into();
        assert_eq!(shown, ["0", "0.046", "3", "3.2", "123", "1,234,567"]);
        assert_eq!(round(6_012.864, 2), 6_012.86);
        assert_eq!(round(0.26904, 4), 0.269);
    }
}
