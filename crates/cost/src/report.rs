//! The bill with its inputs as JSON, as the REST API returns it and `karst cost` prints it.

use serde_json::{Map, Value, json};

use crate::{Bill, Input, Inputs, Part, PriceList, round};

impl Bill {
    /// `monthly_cost` (as the output of Terraform), `of` (the factors of each part), `not_priced` (parts with
    /// the reason), `inputs` (name, value, unit, source, how), `nodes`.
    #[must_use]
    pub fn report(&self, inputs: &Inputs, prices: &PriceList) -> Value {
        let dollars = |part: &Part| (part.name.to_owned(), json!(round(part.dollars, 2)));
        let mut monthly: Map<String, Value> = self.parts.iter().map(dollars).collect();
        let mut add = |name: &str, value: Value| monthly.insert(name.to_owned(), value);
        add("total", json!(round(self.total, 2)));
        add("per_raw_gb", json!(round(self.per_raw_gb, 4)));
        add("stored_gb", json!(round(self.stored_gb, 0)));
        add("prices_as_of", json!(prices.as_of));
        add("prices_are_for", json!(prices.region));
        let how = |part: &Part| (part.name.to_owned(), json!(part.how));
        let left_out = self.left_out.iter().flat_map(|left| {
            left.names.iter().map(|name| ((*name).to_owned(), json!(left.reason)))
        });
        let shown = Input::ALL.into_iter().filter_map(|input| {
            let value = inputs.get(input)?;
            Some(json!({
                "name": input.name(),
                "value": value.number,
                "unit": input.unit(),
                "source": value.source.name(),
                "how": value.how,
            }))
        });
        json!({
            "monthly_cost": monthly,
            "of": self.parts.iter().map(how).collect::<Map<_, _>>(),
            "not_priced": left_out.collect::<Map<_, _>>(),
            "inputs": shown.collect::<Vec<_>>(),
            "nodes": inputs.nodes,
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_report_has_rounded_dollars_and_the_source_of_each_input() {
        let prices = PriceList::built_in().unwrap();
        let mut inputs = Inputs::default();
        inputs.set("raw_gb_per_day", "10000").unwrap();
        let report = Bill::of(&inputs, &prices).unwrap().report(&inputs, &prices);
        assert_eq!(report["monthly_cost"]["storage"], 4605.2);
        assert_eq!(report["monthly_cost"]["prices_as_of"], prices.as_of);
        assert_eq!(report["monthly_cost"]["nodes"], Value::Null);
        assert!(report["not_priced"]["nodes"].as_str().unwrap().contains("i8g.xlarge=3"));
        assert_eq!(report["inputs"][0]["source"], "set");
        assert_eq!(report["inputs"][1]["source"], "default");
        assert_eq!(report["inputs"].as_array().unwrap().len(), Input::ALL.len());
    }
}
