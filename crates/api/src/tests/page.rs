//! `docs/rights.md` is what the tables say. `KARST_BLESS=1` writes it.

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
        Need::Open => "everybody".to_owned(),
        Need::Session => "users".to_owned(),
        Need::Own => "users: their own".to_owned(),
        Need::Object => "users: by permissions".to_owned(),
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

fn asked_by(capability: &str) -> Vec<String> {
    let mut found = Vec::new();
    let names = |need: Need| need.capability() == Some(capability);
    let paths = crate::routes::all().into_paths();
    let paths = paths.iter().filter(|(_, operations)| needs(operations).any(names)).count();
    if paths > 0 {
        found.push(format!("{paths} paths"));
    }
    let commands = guarded().into_iter().filter(|(_, right)| right.capability == Some(capability));
    found.extend(commands.map(|(name, _)| format!("`{name}`")));
    let more = MORE.iter().filter(|(name, _)| *name == capability);
    found.extend(more.map(|(_, what)| (*what).to_owned()));
    found
}

fn page() -> String {
    let mut out = String::from(
        "# Rights\n\nWho may ask what. This page is made from the tables that the server enforces; a test \
         compares them and asks every path and every guarded command as every built-in role. The role \
         `can_delete` is given beside another, which brings `search`; a role without capabilities reaches \
         what says \"users\".\n\n\
         *their own*: the answer holds what is the user's own, or more with a capability of the first table. \
         *by permissions*: each object is read and changed by its owner and by the roles that its \
         `perms.read` and `perms.write` name; whoever has `admin_all_objects` reads and changes all.\n\n\
         ## Capabilities\n\n| capability | asked by | admin | power | user | can_delete |\n\
         | --- | --- | --- | --- | --- | --- |\n",
    );
    for name in capabilities::ALL {
        let has: Vec<&str> = ROLES.iter().map(|role| yes(holds(role, name))).collect();
        let asked = asked_by(name).join(", ");
        writeln!(out, "| `{name}` | {asked} | {} |", has.join(" | ")).unwrap();
    }
    out.push_str(
        "\n## Commands\n\nAll need `search`. A command that changes something is refused in a search that is \
         sent with GET; one that reads what buckets say of themselves is refused to users with a \
         `srchFilter`.\n\n\
         | command | needs | changes something | reads summaries | admin | power | user | can_delete |\n\
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
    write!(out, "\nThe others need nothing more: {}.\n", free.join(", ")).unwrap();
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
        "docs/rights.md is not what the tables say: run this test with KARST_BLESS=1"
    );
}

#[test]
fn nothing_is_offered_that_nothing_asks_for() {
    let unasked: Vec<_> =
        capabilities::ALL.iter().filter(|name| asked_by(name).is_empty()).collect();
    assert!(unasked.is_empty(), "listed, but asked by nothing: {unasked:?}");
    let paths = crate::routes::all().into_paths();
    let asked = paths.iter().flat_map(|(_, operations)| needs(operations));
    let asked = asked.filter_map(Need::capability);
    let asked = asked.chain(guarded().into_iter().filter_map(|(_, right)| right.capability));
    let unknown: Vec<_> = asked.filter(|name| !capabilities::ALL.contains(name)).collect();
    assert!(unknown.is_empty(), "asked, but cannot be granted: {unknown:?}");
}

#[test]
fn what_the_page_says_of_routes_is_asked_in_their_code() {
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
        assert!(sources.contains(&format!("\"{name}\"")), "{name} is asked nowhere");
    }
}
