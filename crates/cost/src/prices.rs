//! The price list: one file, shared with the Terraform module.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::Error;

/// Prices in US dollars, with their date and region.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct PriceList {
    /// The date of the prices.
    pub as_of: String,
    /// The AWS region of the prices.
    pub region: String,
    /// The source of the prices.
    pub source: String,
    /// Per instance and hour, by type.
    pub instance_hour: BTreeMap<String, f64>,
    /// Per GB and month in object storage, by tier.
    pub s3_gb_month: Vec<Tier>,
    /// Per PUT, POST or LIST request.
    pub s3_put: f64,
    /// Per GET or HEAD request.
    pub s3_get: f64,
    /// Per GB sent to another zone, including both directions.
    pub cross_zone_gb: f64,
    /// Per hour of a Kubernetes control plane.
    pub eks_hour: f64,
    /// Per hour of a NAT gateway.
    pub nat_hour: f64,
    /// Per hour of a network load balancer.
    pub nlb_hour: f64,
    /// Per GB of disk and month.
    pub ebs_gb_month: f64,
    /// Per KMS key and month.
    pub kms_key_month: f64,
}

/// A price tier of storage.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
pub struct Tier {
    /// Total in GB at which the tier ends; `None` for the last one.
    pub up_to_gb: Option<f64>,
    /// Dollars per GB and month.
    pub price: f64,
}

impl PriceList {
    /// The built-in list, `terraform/modules/cost/prices.json`.
    ///
    /// # Errors
    /// [`Error::Prices`]; cannot happen in a program that passed its tests.
    pub fn built_in() -> Result<Self, Error> {
        Self::read(include_str!("../../../terraform/modules/cost/prices.json"))
    }

    /// Parses a list in the format of the built-in one.
    ///
    /// # Errors
    /// [`Error::Prices`] with the position.
    pub fn read(json: &str) -> Result<Self, Error> {
        let list: Self =
            serde_json::from_str(json).map_err(|error| Error::Prices(error.to_string()))?;
        let invalid = |text: &str| Err(Error::Prices(text.to_owned()));
        let others = [list.s3_put, list.s3_get, list.cross_zone_gb, list.eks_hour, list.nat_hour];
        let others =
            others.into_iter().chain([list.nlb_hour, list.ebs_gb_month, list.kms_key_month]);
        let tiers = list.s3_gb_month.iter().map(|tier| tier.price);
        let mut all = list.instance_hour.values().copied().chain(tiers).chain(others);
        if all.any(|price| price < 0.0) {
            return invalid("a price is less than 0");
        }
        let ends: Vec<f64> =
            list.s3_gb_month.iter().map(|tier| tier.up_to_gb.unwrap_or(f64::INFINITY)).collect();
        let grow = ends.windows(2).all(|pair| pair[0] < pair[1]);
        if !grow || ends.last() != Some(&f64::INFINITY) {
            return invalid(
                "s3_gb_month: up_to_gb must grow from tier to tier and be null in the last one",
            );
        }
        Ok(list)
    }

    /// Dollars per month for this volume in object storage.
    pub(crate) fn storage(&self, gigabytes: f64) -> f64 {
        let mut from = 0.0;
        let mut dollars = 0.0;
        for tier in &self.s3_gb_month {
            let to = tier.up_to_gb.unwrap_or(gigabytes).min(gigabytes);
            dollars += (to - from).max(0.0) * tier.price;
            from = tier.up_to_gb.unwrap_or(from);
        }
        dollars
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_built_in_list_has_a_date_and_its_tiers_grow() {
        let list = PriceList::built_in().unwrap();
        assert!(list.as_of.len() == 10 && list.region == "us-east-1", "{list:?}");
        assert!((list.storage(51_200.0) - 1_177.6).abs() < 1e-9);
        assert!((list.storage(51_201.0) - 1_177.622).abs() < 1e-9);
        assert!((list.storage(512_100.0) - 11_317.3).abs() < 1e-9);
    }

    #[test]
    fn a_list_without_an_end_or_with_a_negative_price_is_refused() {
        let text = include_str!("../../../terraform/modules/cost/prices.json");
        let refused = |from: &str, to: &str| PriceList::read(&text.replace(from, to)).unwrap_err();
        assert!(refused("null", "600000").to_string().contains("null in the last"));
        assert!(
            refused("\"eks_hour\": 0.10", "\"eks_hour\": -1").to_string().contains("less than 0")
        );
        assert!(refused("\"s3_put\"", "\"s3_putt\"").to_string().contains("s3_put"));
    }
}
