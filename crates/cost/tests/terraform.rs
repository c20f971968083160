//! The model computes the same as the Terraform module: its variables with their defaults, and every run of
//! its tests, read from the files of the module. The prices in the console's dashboard are the same, too.
#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use karst_cost::{Bill, Input, Inputs, PriceList, round};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap()
}

#[test]
fn every_run_of_the_modules_tests_holds() {
    let text = read("terraform/modules/cost/tests/cost.tftest.hcl");
    let prices = PriceList::built_in().unwrap();
    let (shared, runs) = runs(&text);
    let mut checked = 0;
    for run in &runs {
        let variables: BTreeMap<_, _> = shared.iter().chain(&run.variables).collect();
        let inputs = inputs(&variables, &prices);
        if run.refused.is_empty() {
            let bill = Bill::of(&inputs.unwrap(), &prices).unwrap();
            for condition in &run.conditions {
                for part in condition.split(" && ") {
                    checked += usize::from(holds(part, &bill, &prices, &run.name));
                }
            }
        } else {
            let error = inputs.unwrap_err().to_string();
            assert!(run.refused.iter().any(|name| error.contains(name)), "{}: {error}", run.name);
        }
    }
    assert!(runs.len() >= 13 && checked >= 30, "{} runs, {checked} conditions", runs.len());
}

#[test]
fn inputs_are_the_variables_of_the_module_with_their_defaults() {
    let text = read("terraform/modules/cost/variables.tf");
    let mut variables: BTreeMap<String, Option<f64>> = BTreeMap::new();
    let mut name = String::new();
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("variable \"") {
            name = rest.split('"').next().unwrap().to_owned();
            variables.insert(name.clone(), None);
        } else if let Some((key, value)) = line.trim().split_once('=')
            && key.trim() == "default"
        {
            variables.insert(name.clone(), Some(value.trim().parse().unwrap()));
        }
    }
    variables.remove("nodes").unwrap();
    let own = Input::ALL.map(|input| (input.name().to_owned(), input.default_value()));
    assert_eq!(variables, BTreeMap::from(own));
}

#[test]
fn parts_are_those_of_the_module() {
    let text = read("terraform/modules/cost/main.tf");
    let block = text.split_once("  parts = {").unwrap().1.split_once("\n  }").unwrap().0;
    let names = block.lines().filter_map(|line| line.split_once(" = "));
    let names: Vec<&str> = names.map(|(name, _)| name.trim()).collect();
    let prices = PriceList::built_in().unwrap();
    let mut inputs = Inputs::default();
    inputs.set("raw_gb_per_day", "1").unwrap();
    inputs.set_nodes([""], &prices).unwrap();
    let bill = Bill::of(&inputs, &prices).unwrap();
    let own: Vec<&str> = bill.parts.iter().map(|part| part.name).collect();
    assert_eq!(own, names);
}

#[test]
fn the_examples_of_the_console_are_the_same_prices() {
    let text = read("services/console/src/monitor/prices.ts");
    let prices = PriceList::built_in().unwrap();
    for (key, price) in [
        ("get", prices.s3_get * 1_000.0),
        ("put", prices.s3_put * 1_000.0),
        ("gb_month", prices.s3_gb_month[0].price),
    ] {
        let start = format!("key: '{key}', usd: ");
        let rest = text.split_once(&start).unwrap_or_else(|| panic!("no {start}")).1;
        let usd: f64 = rest.split(',').next().unwrap().parse().unwrap();
        assert!((usd - price).abs() < 1e-12, "{key}: {usd}, not {price}");
    }
}

/// A run of a test file.
#[derive(Debug, Default)]
struct Run {
    name: String,
    variables: BTreeMap<String, String>,
    conditions: Vec<String>,
    /// The variables whose values are refused.
    refused: Vec<String>,
}

/// The variables of all runs, and the runs. In these files, each line is one statement.
fn runs(text: &str) -> (BTreeMap<String, String>, Vec<Run>) {
    let mut shared = BTreeMap::new();
    let mut runs: Vec<Run> = Vec::new();
    let mut in_variables = false;
    for line in text.lines().map(str::trim).filter(|line| !line.starts_with('#')) {
        if let Some(rest) = line.strip_prefix("run \"") {
            let name = rest.split('"').next().unwrap().to_owned();
            runs.push(Run { name, ..Run::default() });
        } else if line == "variables {" {
            in_variables = true;
        } else if line == "}" {
            in_variables = false;
        } else if let Some((key, value)) = line.split_once('=') {
            let (key, value) = (key.trim(), value.trim());
            if in_variables {
                let variables = runs.last_mut().map_or(&mut shared, |run| &mut run.variables);
                variables.insert(key.to_owned(), value.to_owned());
            } else if key == "condition" {
                runs.last_mut().unwrap().conditions.push(value.to_owned());
            } else if key == "expect_failures" {
                let names = value.trim_matches(['[', ']']).split(", ");
                let names = names.filter_map(|name| name.strip_prefix("var.").map(str::to_owned));
                runs.last_mut().unwrap().refused.extend(names);
            }
        }
    }
    (shared, runs)
}

fn inputs(
    variables: &BTreeMap<&String, &String>,
    prices: &PriceList,
) -> Result<Inputs, karst_cost::Error> {
    let mut inputs = Inputs::default();
    for (name, value) in variables {
        if name.as_str() == "nodes" {
            let nodes = value.trim_matches(['{', '}', ' ']).replace('"', "");
            inputs.set_nodes(nodes.split(", "), prices)?;
        } else {
            inputs.set(name, value)?;
        }
    }
    Ok(inputs)
}

/// The value of an output of the module.
fn output(name: &str, bill: &Bill) -> f64 {
    match name {
        "total" => round(bill.total, 2),
        "per_raw_gb" => round(bill.per_raw_gb, 4),
        "stored_gb" => round(bill.stored_gb, 0),
        part => round(bill.dollars(part).unwrap_or_else(|| panic!("no part {part}")), 2),
    }
}

/// Asserts a condition. Returns whether it is a condition on numbers.
fn holds(condition: &str, bill: &Bill, prices: &PriceList, run: &str) -> bool {
    if condition.contains("sum([") {
        // The total equals the sum by construction.
        return false;
    }
    if let Some((_, date)) = condition.split_once("prices_as_of == ") {
        assert_eq!(date.trim_matches('"'), prices.as_of, "{run}");
        return false;
    }
    let known = (|| {
        let name = condition.split_once("output.monthly_cost.")?.1;
        let end = name.find([' ', ')'])?;
        let (name, rest) = name.split_at(end);
        let own = output(name, bill);
        let number = |text: &str| text.trim().parse::<f64>().ok();
        if let Some(value) = rest.strip_prefix(" == ") {
            return Some((own - number(value)?, 1e-9));
        }
        let (rest, bound) = rest.split_once(") < ")?;
        let distance = match rest.strip_prefix(" / ") {
            Some(rest) => own / number(rest.strip_suffix(" - 1")?)? - 1.0,
            None => own - number(rest.strip_prefix(" - ")?)?,
        };
        Some((distance, number(bound)?))
    })();
    let Some((distance, bound)) = known else {
        panic!("{run}: this test does not understand: {condition}");
    };
    assert!(distance.abs() < bound, "{run}: {condition}: off by {distance}; {bill:?}");
    true
}
