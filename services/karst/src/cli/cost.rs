//! `karst cost`: the monthly bill, with the rates of a server or with defaults.

use std::process::ExitCode;

use anyhow::{Context, Result};
use cost::{Bill, Inputs, PriceList};
use serde_json::{Map, Value};

use super::client::Client;
use super::table::{Rows, print_listing};
use crate::config::{CostOptions, Output};

const PATH: &str = "/services/server/cost";

/// Prints the bill and its inputs.
pub(crate) async fn cost(options: CostOptions) -> Result<ExitCode> {
    let given = given(&options)?;
    let report = if options.offline {
        offline(&given)?
    } else {
        let mut query = form_urlencoded::Serializer::new(String::new());
        query.append_pair("output_mode", "json").extend_pairs(&given);
        if let Some(earliest) = &options.earliest {
            query.append_pair("earliest_time", earliest);
        }
        let path = format!("{PATH}?{}", query.finish());
        Client::new(&options.client)?.get(&path).await?["entry"][0]["content"].take()
    };
    match options.format.output {
        None | Some(Output::Table) => show(&report)?,
        output => print_listing(&listing(&report), output)?,
    }
    Ok(ExitCode::SUCCESS)
}

/// Names and values of the inputs that the options set.
fn given(options: &CostOptions) -> Result<Vec<(String, String)>> {
    let named =
        [("raw_gb_per_day", &options.raw_gb_per_day), ("retention_days", &options.retention_days)];
    let mut given: Vec<(String, String)> = named
        .into_iter()
        .filter_map(|(name, value)| Some((name.to_owned(), value.clone()?)))
        .collect();
    for text in &options.inputs {
        let (name, value) = text.split_once('=').with_context(|| {
            format!("--set {text}: INPUT=VALUE, for example stored_per_raw=0.2")
        })?;
        given.push((name.trim().to_owned(), value.to_owned()));
    }
    given.extend(options.nodes.iter().map(|node| ("nodes".to_owned(), node.clone())));
    Ok(given)
}

/// The bill without a server.
fn offline(given: &[(String, String)]) -> Result<Value> {
    let prices = PriceList::built_in()?;
    let mut inputs = Inputs::default();
    let (nodes, numbers): (Vec<_>, Vec<_>) = given.iter().partition(|(name, _)| name == "nodes");
    for (name, value) in numbers {
        inputs.set(name, value)?;
    }
    if !nodes.is_empty() {
        let nodes = nodes.iter().flat_map(|(_, texts)| texts.split(','));
        inputs.set_nodes(nodes, &prices)?;
    }
    Ok(Bill::of(&inputs, &prices)?.report(&inputs, &prices))
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// The parts of the bill: name, dollars and factors.
fn parts(report: &Value) -> Vec<Vec<Value>> {
    let row = |(name, how): (&String, &Value)| {
        vec![name.as_str().into(), report["monthly_cost"][name].clone(), how.clone()]
    };
    members(&report["of"]).map(row).collect()
}

/// Prints two tables, and notes about the total.
fn show(report: &Value) -> Result<()> {
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    let monthly = &report["monthly_cost"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let mut rows = parts(report);
    let per_gb = format!("{} $ per GB of text", monthly["per_raw_gb"]);
    rows.push(vec!["total".into(), monthly["total"].clone(), per_gb.into()]);
    for row in &mut rows {
        row[1] = format!("{:.2}", row[1].as_f64().unwrap_or_default()).into();
    }
    print_listing(&Rows { fields: names(&["cost", "$ a month", "of"]), rows }, None)?;
    println!(
        "\nPrices of {}, {}, on demand, without taxes and discounts.",
        text(&monthly["prices_as_of"]),
        text(&monthly["prices_are_for"])
    );
    if let Some((_, reason)) = members(&report["not_priced"]).next() {
        let left_out: Vec<&str> =
            members(&report["not_priced"]).map(|(name, _)| name.as_str()).collect();
        println!("Not in the total: {} ({}).", left_out.join(", "), text(reason));
    }
    if let Some(reason) = report["not_measured"].as_str() {
        println!("Not measured: {reason}.");
    }
    println!();
    let input = |input: &Value| {
        let value = significant(input["value"].as_f64().unwrap_or_default());
        let named = ["unit", "source", "how"].map(|name| input[name].clone());
        [input["name"].clone(), value.into()].into_iter().chain(named).collect()
    };
    let rows = report["inputs"].as_array().into_iter().flatten().map(input).collect();
    print_listing(&Rows { fields: names(&["input", "value", "unit", "source", "how"]), rows }, None)
}

/// Returns all items in one listing, for programs.
fn listing(report: &Value) -> Rows {
    let fields = ["kind", "name", "value", "unit", "source", "how"].map(str::to_owned).into();
    let mut rows: Vec<Vec<Value>> = Vec::new();
    let mut add = |kind: &str, name: &Value, rest: [Value; 4]| {
        rows.push([kind.into(), name.clone()].into_iter().chain(rest).collect());
    };
    for (name, value) in members(&report["monthly_cost"]) {
        let how = report["of"][name].clone();
        add("cost", &name.as_str().into(), [value.clone(), unit(name).into(), Value::Null, how]);
    }
    for (name, reason) in members(&report["not_priced"]) {
        let nothing = [Value::Null, Value::Null, Value::Null, reason.clone()];
        add("not_priced", &name.as_str().into(), nothing);
    }
    for input in report["inputs"].as_array().into_iter().flatten() {
        let rest = ["value", "unit", "source", "how"].map(|name| input[name].clone());
        add("input", &input["name"], rest);
    }
    for (name, number) in report["nodes"].as_object().unwrap_or(&Map::new()) {
        let rest = [number.clone(), "nodes".into(), "set".into(), Value::Null];
        add("input", &name.as_str().into(), rest);
    }
    if let Some(reason) = report["not_measured"].as_str() {
        let rest = [Value::Null, Value::Null, Value::Null, reason.into()];
        add("not_measured", &"rates".into(), rest);
    }
    Rows { fields, rows }
}

/// The unit of a value of `monthly_cost`.
fn unit(name: &str) -> &'static str {
    match name {
        "per_raw_gb" => "USD per GB",
        "stored_gb" => "GB",
        "prices_as_of" | "prices_are_for" => "",
        _ => "USD per month",
    }
}

/// Four significant digits.
fn significant(number: f64) -> String {
    if number.fract() == 0.0 || number >= 1_000.0 {
        return format!("{number:.0}");
    }
    let digits = if number >= 100.0 {
        1
    } else if number >= 10.0 {
        2
    } else if number >= 1.0 {
        3
    } else {
        4
    };
    format!("{number:.digits$}")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn pairs(given: &[(&str, &str)]) -> Vec<(String, String)> {
        given.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn a_bill_without_a_server_has_defaults_and_says_what_is_missing() {
        let report = offline(&pairs(&[("raw_gb_per_day", "10000")])).unwrap();
        let rows = listing(&report).rows;
        let row = |kind: &str, name: &str| {
            rows.iter().find(|row| row[0] == kind && row[1] == name).unwrap().clone()
        };
        assert_eq!(row("cost", "storage")[2..4], [Value::from(4605.2), "USD per month".into()]);
        assert_eq!(row("input", "retention_days")[4], "default");
        assert!(row("not_priced", "nodes")[5].as_str().unwrap().contains("i8g.xlarge=3"));
    }

    #[test]
    fn nodes_may_be_given_more_than_once() {
        let given = [("raw_gb_per_day", "1"), ("nodes", "i8g.xlarge=3"), ("nodes", "m8gd.large=2")];
        let report = offline(&pairs(&given)).unwrap();
        assert_eq!(report["nodes"]["m8gd.large"], 2);
        let refused = offline(&pairs(&[("raw_gb_per_day", "1"), ("nodes", "x1=3")])).unwrap_err();
        assert!(refused.to_string().contains("no instance type \"x1\""), "{refused}");
    }

    #[test]
    fn values_have_the_digits_that_matter() {
        let shown = [191.93, 0.23041, 3.0, 2_184.0, 12.345].map(significant);
        assert_eq!(shown, ["191.9", "0.2304", "3", "2184", "12.35"]);
    }
}
