//! Fields without columns are extracted only from texts that may have them: a stored bucket answers as it did
//! when it was hot.

use std::sync::Arc;

use bucket::WriteOptions;
use catalog::Commit;
use conf::{Layer, Layers};
use karst_spectest::SpecEvent;
use knowledge::Knowledge;
use model::IndexName;
use object_store::ObjectStore;
use object_store::memory::InMemory;

use crate::support::{done, hot, log_event, open, put, service};

const ROWS: usize = 160;

/// `rare` has an alias and is in texts of `app`; `sent` is in no text; `both` is in texts of `web` and sent
/// with events of `web` and `app`; `code` is in texts of `old`, which searches call `new`.
const RULES: &str = "
[app]
FIELDALIAS-level = rare AS level
[old]
rename = new
[new]
EXTRACT-code = code:(?<code>\\d+)
";

fn event(at: usize) -> SpecEvent {
    let (sourcetype, text) = match at % 16 {
        0 => ("app", format!("rare=r{}", at / 16 % 3)),
        5 | 9 => ("web", format!("late:x{} both=text", at / 16 % 3)),
        1 | 13 => ("web", format!("late:x{}", at / 16 % 3)),
        2 | 6 | 10 | 14 => ("old", format!("code:{}", at % 5)),
        _ => ("app", "plain".to_owned()),
    };
    let sent = match at % 16 {
        1 => vec![("both", "sent"), ("sent", "yes")],
        3 | 9 => vec![("both", "sent")],
        13 => vec![("sent", "yes")],
        _ => Vec::new(),
    };
    let field = |(name, value): (&str, &str)| (name.to_owned(), vec![value.to_owned()]);
    SpecEvent {
        raw: format!("n={at} {text}"),
        sourcetype: sourcetype.to_owned(),
        fields: sent.into_iter().map(field).collect(),
        ..log_event(at)
    }
}

fn knowledge(props: &str) -> Arc<Knowledge> {
    let layers = Layers::builtin().with(Layer::SystemLocal, "props", props);
    Arc::new(Knowledge::new(layers))
}

const SEARCHES: [&str; 14] = [
    "search rare=r1 | sort 0 n | table n, rare, level, sourcetype",
    "search rare=* | stats count by rare, sourcetype | sort rare, sourcetype",
    "search rare!=r0 | sort 0 n | table n, rare",
    "search NOT rare=* | stats count by sourcetype | sort sourcetype",
    "search level=r0 | sort 0 n | table n, level",
    "search * | stats count by level | sort level",
    "search sent=yes | stats count by sourcetype | sort sourcetype",
    "search both=sent | sort 0 n | table n, both, sourcetype",
    "search both=text | sort 0 n | table n, both, sourcetype",
    "search both!=text | stats count by both, sourcetype | sort both, sourcetype",
    "search sourcetype=new code=3 | sort 0 n | table n, code, sourcetype",
    "search code=* | stats count by code, sourcetype | sort code",
    "search * | stats count(rare), count(level), count(sent), count(both), count(code) by sourcetype",
    "search * | sort 0 n | table n, rare, level, sent, both, code, sourcetype",
];

#[tokio::test(flavor = "multi_thread")]
async fn answers_with_fields_without_columns_are_those_of_hot_rows() {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let events: Vec<SpecEvent> = (0..ROWS).map(event).collect();
    // Only what is in each event has a column.
    let options = WriteOptions { column_rows_per_value: 1, ..WriteOptions::default() };
    let written_by = knowledge(RULES);
    let entry = put(&store, &events, &written_by, &options).await;
    for name in ["rare", "level", "code"] {
        let field = entry.summary.field(name).unwrap();
        assert!(field.column.is_none() && !field.indexed, "{name}");
    }
    for name in ["sent", "both"] {
        assert!(entry.summary.field(name).unwrap().indexed, "{name}");
    }
    let catalog = open(&store).await;
    catalog.commit(Commit { add: vec![entry], ..Commit::default() }).await.unwrap();
    // Rules that change later: texts of another source type have the field, the alias is of another field, or
    // nothing has an alias or another name.
    let later = format!("{RULES}[web]\nEXTRACT-late = late:(?<rare>\\w+)\n");
    let alias = RULES.replace("rare AS level", "n AS level");
    for rules in [RULES, later.as_str(), alias.as_str(), ""] {
        let today = if rules == RULES { Arc::clone(&written_by) } else { knowledge(rules) };
        let names = vec![IndexName::new("main").unwrap()];
        let objects = Arc::clone(&store);
        let stored = service(catalog.clone(), Vec::new(), objects, &today, names.clone());
        let empty: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
        let nothing = open(&empty).await;
        let before = service(nothing, vec![hot(&events)], empty, &today, names);
        for search in SEARCHES {
            let expected = done(&before, search).await.page(0, ROWS).rows;
            let found = done(&stored, search).await.page(0, ROWS).rows;
            assert_eq!(found, expected, "{search} by the rules {rules}");
            assert!(!expected.is_empty() || rules != RULES, "{search}");
        }
    }
}

/// `maxcols` counts the fields that are asked for: what it cuts off of a bucket's fields, a search finds.
#[tokio::test(flavor = "multi_thread")]
async fn fields_beyond_maxcols_are_found_in_stored_rows_as_in_hot_ones() {
    let layers = Layers::builtin().with(Layer::SystemLocal, "limits", "[kv]\nmaxcols = 2");
    let rules = Arc::new(Knowledge::new(layers));
    let events: Vec<SpecEvent> =
        (0..40).map(|at| SpecEvent { raw: format!("n={at} b=2 c=3"), ..event(3) }).collect();
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let entry = put(&store, &events, &rules, &WriteOptions::default()).await;
    assert!(!entry.summary.fields_complete);
    let catalog = open(&store).await;
    catalog.commit(Commit { add: vec![entry], ..Commit::default() }).await.unwrap();
    let names = vec![IndexName::new("main").unwrap()];
    let stored = service(catalog, Vec::new(), Arc::clone(&store), &rules, names.clone());
    let empty: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let before = service(open(&empty).await, vec![hot(&events)], empty, &rules, names);
    for search in
        ["search c=3 | stats count", "search * | stats count(c)", "search b=2 c=3 | stats count"]
    {
        let expected = done(&before, search).await.page(0, 1).rows;
        let found = done(&stored, search).await.page(0, 1).rows;
        assert_eq!(found, expected, "{search}");
        assert!(format!("{found:?}").contains("40"), "{search}: {found:?}");
    }
}
