//! External lookups.

use karst_scripts::{ExternalLookup, look_up};

use super::*;

#[tokio::test]
async fn an_external_lookup_fills_in_the_fields_that_are_not_asked_with() {
    let app = App::new();
    let text = r#"
import csv, sys
reader = csv.DictReader(sys.stdin)
assert sys.argv[1:] == ["host", "ip"], sys.argv
writer = csv.DictWriter(sys.stdout, reader.fieldnames)
writer.writeheader()
for row in reader:
    if row["host"]: row["ip"] = "10.0.0." + row["host"][-1]; writer.writerow(row)
"#;
    let mut script = app.command("x.py", text, Protocol::Chunked).script;
    script.arguments = vec!["host".to_owned(), "ip".to_owned()];
    let lookup = ExternalLookup { script, fields: vec!["host".to_owned(), "ip".to_owned()] };
    let mut keys = numbers(3);
    keys.columns[0].name = "host".to_owned();
    let found = look_up(&lookup, &keys, &Settings::default()).await.unwrap();
    assert_eq!(values(&[found], "ip"), ["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
}
