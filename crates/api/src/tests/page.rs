//! `docs/rights.md` is generated from the tables of rights. `KARST_BLESS=1` writes it.

use std::fmt::Write;
use std::fs;

use access::capabilities;
use plan::rights::{free, guarded};

use crate::rights::{MORE, Need};
use crate::routing::Operations;

const PAGE: &str = "../../docs/rights.md";
const ROLES: [&str; 4] = ["admin", "power", "user", "can_delete"];

fn holds(role: &str, capability: &str) -> bool {
    let user = capabilities::USER.contains(&capability);
    match role {
        "admin" => true,
        "power" => user || capabilities::POWER.contains(&capability),
        "can_delete" => capability == "delete_by_keyword",
        _ => user,
    }
}

fn cell(need: Need) -> String {
    match need {
        Need::Open => "no login".to_owned(),
        Need::Session => "any user".to_owned(),
        Need::Own => "any user, own data".to_owned(),
        Need::Object => "any user, by permissions".to_owned(),
        Need::May(capability) => format!("`{capability}`"),
        Need::Change(capability) => format!("`{capability}`, by permissions"),
    }
}

fn needs(operations: &Operations) -> impl Iterator<Item = Need> + '_ {
    operations.iter().flatten().map(|operation| operation.need)
}

fn yes(is: bool) -> &'static str {
    if is { "yes" } else { "" }
}

fn required_by(capability: &str) -> Vec<String> {
    let mut found = Vec::new();
    let names = |need: Need| need.capability() == Some(capability);
    let paths = crate::routes::all().into_paths();
    let paths = paths.iter().filter(|(_, operations)| needs(operations).any(names)).count();
    if paths > 0 {
        found.push(if paths == 1 { "1 path".to_owned() } else { format!("{paths} paths") });
    }
    let commands = guarded().into_iter().filter(|(_, right)| right.capability == Some(capability));
    found.extend(commands.map(|(name, _)| format!("`{name}`")));
    let more = MORE.iter().filter(|(name, _)| *name == capability);
    found.extend(more.map(|(_, what)| (*what).to_owned()));
    found
}

fn page() -> String {
    let mut out = String::from(
        "# Access rights\n\n\
         This page lists the capabilities that paths and commands require, and the built-in roles that have \
         them. It is generated from the tables\n\
         that the server enforces. Tests compare it with these tables, and send a request for every path and \
         every guarded command as each built-in role.\n\
         The role `can_delete` is meant to be combined with another role, because it does not include \
         `search`. A role without capabilities has access only\n\
         to the paths marked *no login* or *any user*.\n\n\
         - *own data*: the response contains only what belongs to the caller, unless a capability in the \
         first table extends it.\n\
         - *by permissions*: an object can be read and changed by its owner, and by the roles named in its \
         `perms.read` and `perms.write`. Users with\n  `admin_all_objects` can read and change all \
         objects.\n\n\
         ## Capabilities\n\n| capability | required by | admin | power | user | can_delete |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for name in capabilities::ALL {
        let has: Vec<&str> = ROLES.iter().map(|role| yes(holds(role, name))).collect();
        let by = required_by(name).join(", ");
        writeln!(out, "| `{name}` | {by} | {} |", has.join(" | ")).unwrap();
    }
    out.push_str(
        "\n## Commands\n\nAll commands require `search`. A command that writes is refused in a search that is \
         sent with GET. A command that reads bucket summaries\ninstead of events is refused to users whose \
         roles have a `srchFilter`, because the filter cannot be applied to summaries.\n\n\
         | command | required capability | writes | reads summaries | admin | power | user | can_delete |\n\
         | --- | --- | --- | --- | --- | --- | --- | --- |\n",
    );
    for (name, right) in guarded() {
        let capability = right.capability.unwrap_or("search");
        let has: Vec<&str> = ROLES.iter().map(|role| yes(holds(role, capability))).collect();
        let (writes, unfiltered) = (yes(right.writes), yes(right.unfiltered));
        let has = has.join(" | ");
        writeln!(out, "| `{name}` | `{capability}` | {writes} | {unfiltered} | {has} |").unwrap();
    }
    let free: Vec<String> = free().iter().map(|name| format!("`{name}`")).collect();
    write!(out, "\nThe other commands require only `search`: {}.\n", free.join(", ")).unwrap();
    out.push_str("\n## Paths\n\n| path | GET | POST | DELETE |\n| --- | --- | --- | --- |\n");
    for (path, operations) in crate::routes::all().into_paths() {
        let cells = operations.map(|one| one.map(|one| cell(one.need)).unwrap_or_default());
        writeln!(out, "| `{path}` | {} |", cells.join(" | ")).unwrap();
    }
    out
}

#[test]
fn the_page_is_what_the_tables_say() {
    let page = page();
    if std::env::var_os("KARST_BLESS").is_some() {
        fs::write(PAGE, &page).unwrap();
    }
    let kept = fs::read_to_string(PAGE).unwrap_or_default();
    assert!(
        kept == page,
        "docs/rights.md differs from the tables: run this test with KARST_BLESS=1"
    );
}

#[test]
fn every_capability_is_required_somewhere() {
    let unused: Vec<_> =
        capabilities::ALL.iter().filter(|name| required_by(name).is_empty()).collect();
    assert!(unused.is_empty(), "listed, but not required by anything: {unused:?}");
    let paths = crate::routes::all().into_paths();
    let required = paths.iter().flat_map(|(_, operations)| needs(operations));
    let required = required.filter_map(Need::capability);
    let required = required.chain(guarded().into_iter().filter_map(|(_, right)| right.capability));
    let unknown: Vec<_> = required.filter(|name| !capabilities::ALL.contains(name)).collect();
    assert!(unknown.is_empty(), "required, but cannot be granted: {unknown:?}");
}

#[test]
fn the_additional_capabilities_are_checked_in_the_code() {
    let mut sources = String::new();
    for folder in ["src", "src/routes", "src/routes/objects", "../access/src", "../search/src"] {
        for file in fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            if path.is_file() && !path.ends_with("rights.rs") && !path.ends_with("capabilities.rs")
            {
                sources.push_str(&fs::read_to_string(path).unwrap());
            }
        }
    }
    for (name, _) in MORE {
        assert!(sources.contains(&format!("\"{name}\"")), "{name} is not checked anywhere");
    }
}
