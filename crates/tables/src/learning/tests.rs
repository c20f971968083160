//! Tests of fitted models, and of reading them back from rows.

#![allow(clippy::unwrap_used)]

use spl::Span;

use super::*;

fn rows(columns: &[(&str, &[&str])]) -> Rows {
    let mut rows = Rows::blank(columns[0].1.len());
    for (name, texts) in columns {
        let texts = texts.iter().map(|text| (!text.is_empty()).then(|| (*text).to_owned()));
        rows.set_texts(name, texts.collect::<Vec<_>>());
    }
    rows
}

fn fitted(algorithm: Algorithm, target: Option<&str>, fields: &[&str], rows: &Rows) -> Model {
    fitted_with(algorithm, target, fields, &Settings::default(), rows)
}

fn fitted_with(
    algorithm: Algorithm,
    target: Option<&str>,
    fields: &[&str],
    settings: &Settings,
    rows: &Rows,
) -> Model {
    let fields: Vec<FieldPattern> =
        fields.iter().map(|name| FieldPattern::new(*name, Span::default())).collect();
    let learning = Learning { settings, stop: &Stop::default() };
    let model = Model::fit(algorithm, target, &fields, &[], learning, rows).unwrap();
    assert_eq!(Model::of_rows(&model.to_rows()).unwrap(), model);
    model
}

fn numbers(model: &Model, rows: Rows, name: &str) -> Vec<Option<f64>> {
    model.apply(rows, &Settings::default(), None).unwrap().numbers(name).unwrap()
}

#[test]
fn a_linear_regression_finds_the_line() {
    let known = rows(&[("x", &["1", "2", "3", "4"]), ("y", &["5", "7", "9", "11"])]);
    let model = fitted(Algorithm::LinearRegression, Some("y"), &["x"], &known);
    let found = numbers(&model, rows(&[("x", &["10", "", "0"])]), "predicted(y)");
    assert!((found[0].unwrap() - 23.0).abs() < 1e-6 && found[1].is_none());
    assert!((found[2].unwrap() - 3.0).abs() < 1e-6);
}

#[test]
fn texts_are_inputs_of_a_regression() {
    let known = rows(&[
        ("os", &["a", "b", "c", "a"]),
        ("x", &["1", "1", "1", "2"]),
        ("y", &["1", "11", "21", "2"]),
    ]);
    let model = fitted(Algorithm::LinearRegression, Some("y"), &["x", "os"], &known);
    let found = numbers(&model, rows(&[("os", &["c"]), ("x", &["5"])]), "predicted(y)");
    assert!((found[0].unwrap() - 25.0).abs() < 1e-3, "{found:?}");
}

#[test]
fn a_logistic_regression_tells_classes_apart() {
    let known = rows(&[
        ("x", &["1", "2", "3", "10", "11", "12"]),
        ("class", &["low", "low", "low", "high", "high", "high"]),
    ]);
    let model = fitted(Algorithm::LogisticRegression, Some("class"), &["x"], &known);
    let applied = model.apply(rows(&[("x", &["0", "20", ""])]), &Settings::default(), Some("c"));
    let classes = applied.unwrap().texts("c").unwrap();
    assert_eq!(classes, [Some("low".to_owned()), Some("high".to_owned()), None]);
}

#[test]
fn a_scaler_gives_mean_0_and_deviation_1() {
    let known = rows(&[("x", &["1", "3"])]);
    let model = fitted(Algorithm::StandardScaler, None, &["x"], &known);
    assert_eq!(numbers(&model, known, "SS_x"), [Some(-1.0), Some(1.0)]);
}

#[test]
fn k_means_finds_groups() {
    let known = rows(&[("x", &["1", "2", "101", "102"])]);
    let settings = Settings { clusters: 2, ..Settings::default() };
    let model = fitted_with(Algorithm::KMeans, None, &["x"], &settings, &known);
    let found = numbers(&model, known, "cluster");
    assert_eq!((found[0], found[2]), (found[1], found[3]));
    assert_ne!(found[0], found[2]);
}

#[test]
fn rare_values_are_outliers_of_a_density_function() {
    let known = rows(&[("x", &["9", "10", "11", "10", "9", "11", "10", "10"])]);
    let settings = Settings { distribution: Distribution::Normal, ..Settings::default() };
    let model = fitted_with(Algorithm::DensityFunction, None, &["x"], &settings, &known);
    let found = numbers(&model, rows(&[("x", &["10", "15", "5"])]), "IsOutlier(x)");
    assert_eq!(found, [Some(0.0), Some(1.0), Some(1.0)]);
}

#[test]
fn rows_that_are_no_model_are_refused() {
    assert!(Model::of_rows(&rows(&[("part", &["x"])])).is_err());
    assert!(Model::of_rows(&Rows::blank(0)).is_err());
}
