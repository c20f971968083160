//! Previews say what the stages do, and why.

use conf::{Layer, Layers};
use knowledge::Knowledge;
use knowledge::sourcetype::RecognisedBy;
use model::IndexName;
use runtime::SystemClock;

use super::*;
use crate::Settings;

#[test]
fn an_event_has_its_place_its_time_and_the_reason_for_both() {
    let text = "2026-11-20 10:00:00 a\n  at frame 1\nno date\n2026-11-20 10:00:01 b";
    let preview = previewed("st", "", text);
    let spans: Vec<_> = preview.events.iter().map(|event| &text[event.span.clone()]).collect();
    assert_eq!(spans, ["2026-11-20 10:00:00 a\n  at frame 1\nno date", "2026-11-20 10:00:01 b"]);
    let [first, second] = preview.events.as_slice() else { panic!("{preview:?}") };
    assert_eq!((first.began, second.began), (Began::Beginning, Began::Date));
    assert_eq!((first.line, second.line), (1, 4));
    let shown = |event: &PreviewedEvent| match event.time_from {
        TimeFrom::Text(Some((from, to))) => text[from..to].to_owned(),
        _ => String::new(),
    };
    assert_eq!(shown(first), "2026-11-20 10:00:00");
    assert_eq!(shown(second), "2026-11-20 10:00:01");
    assert_eq!((preview.cut_events, preview.kept_events), (2, 2));
    assert_eq!(first.kept[0].raw, spans[0]);
}

#[test]
fn an_event_without_a_time_says_where_its_time_comes_from_and_why() {
    let rules = "SHOULD_LINEMERGE = false\nTIME_PREFIX = at=";
    let preview = previewed("st", rules, "first\nat=2026-11-20 10:00:00\n2026-11-20 10:00:00");
    let told: Vec<_> =
        preview.events.iter().map(|event| (event.time_from, event.no_time)).collect();
    let no_prefix = Some(NoTime::NoPrefix);
    assert_eq!(
        told,
        [
            (TimeFrom::Arrival, no_prefix),
            (TimeFrom::Text(Some((9, 28))), None),
            (TimeFrom::Before, no_prefix),
        ]
    );
    assert_eq!(preview.findings.undated, 2);
    let current = previewed("st", "DATETIME_CONFIG = CURRENT", "2026-11-20 10:00:00 a");
    let event = &current.events[0];
    assert_eq!((event.no_time, event.dated), (Some(NoTime::NotLookedFor), true));
}

#[test]
fn a_table_shows_its_fields_and_the_line_that_is_its_header() {
    let text = "Name,Order Date\nx,2026-11-20 10:00:00\ny,\n";
    let mut sample = sample(None, text);
    sample.origin.source = "/data/orders.csv".into();
    let preview = preview(&Knowledge::builtin(), sample);
    let recognised = preview.recognised.as_ref().unwrap();
    assert_eq!((&*preview.sourcetype, &recognised.by), ("csv", &RecognisedBy::FileName));
    assert_eq!(preview.skipped, [SkippedLine { span: 0..15, line: 1 }]);
    assert_eq!((preview.skipped_lines, preview.findings.headers), (1, 1));
    let [first, second] = preview.events.as_slice() else { panic!("{preview:?}") };
    assert_eq!(first.time_field.as_deref(), Some("Order Date"));
    let fields: Vec<_> =
        first.kept[0].fields.iter().map(|(name, value)| (&**name, &**value)).collect();
    assert_eq!(fields, [("Name", "x"), ("Order Date", "2026-11-20 10:00:00")]);
    assert_eq!((second.time_from, second.no_time), (TimeFrom::Before, None));
    assert_eq!(second.line, 3);
}

#[test]
fn what_is_cut_dropped_cloned_or_far_from_now_is_said() {
    let rules = "SHOULD_LINEMERGE = false\nTRUNCATE = 25\nTRANSFORMS-a = drop, clone\n\
                 SEDCMD-a = s/secret/***/\n[copy]\nSHOULD_LINEMERGE = false";
    let transforms = "[drop]\nREGEX = debug\nDEST_KEY = queue\nFORMAT = nullQueue\n\
                      [clone]\nREGEX = twice\nCLONE_SOURCETYPE = copy\nDEST_KEY = _raw\nFORMAT = $0";
    let text = "2026-11-20 10:00:00 debug\n2026-11-20 10:00:00 twice\n2026-11-20 10:00:00 and much \
                more\nsecret\n1999-11-20 10:00:00 far";
    let layers = Layers::builtin()
        .with(Layer::SystemLocal, "props", &format!("[st]\n{rules}"))
        .with(Layer::SystemLocal, "transforms", transforms);
    let preview = preview(&Knowledge::new(layers), sample(Some("st"), text));
    let kept: Vec<_> = preview.events.iter().map(|event| event.kept.len()).collect();
    assert_eq!(kept, [0, 2, 1, 1, 1]);
    assert_eq!((preview.cut_events, preview.kept_events), (5, 5));
    let cut: Vec<_> = preview.events.iter().map(|event| event.cut).collect();
    assert_eq!(cut, [false, false, true, false, false]);
    assert_eq!(preview.events[2].kept[0].raw, "2026-11-20 10:00:00 and m");
    let types: Vec<_> =
        preview.events[1].kept.iter().map(|event| &*event.origin.sourcetype).collect();
    assert!(types.contains(&"st") && types.contains(&"copy"), "{types:?}");
    let far: Vec<_> = preview.events.iter().flat_map(|event| &event.kept).collect();
    assert!(far.iter().all(|event| event.quarantined == event.raw.ends_with("far")), "{far:?}");
    assert_eq!(preview.events[3].kept[0].raw, "***");
}

#[test]
fn more_events_than_are_wanted_are_counted() {
    let text = "2026-11-20 10:00:00 a\n".repeat(10);
    let mut sample = sample(Some("st"), &text);
    sample.events = 3;
    let by_count = preview(&Knowledge::builtin(), sample.clone());
    assert_eq!((by_count.events.len(), by_count.cut_events, by_count.kept_events), (3, 10, 10));
    sample.shown_bytes = 30;
    let by_bytes = preview(&Knowledge::builtin(), sample);
    assert_eq!((by_bytes.events.len(), by_bytes.kept_events), (2, 10));
}

#[test]
fn other_character_sets_and_nothing_at_all_are_read() {
    let mut sample = sample(Some("st"), "");
    assert!(preview(&Knowledge::builtin(), sample.clone()).events.is_empty());
    sample.bytes = Bytes::from_static(b"\xff\xfea\0\xe4\0");
    let marked = preview(&Knowledge::builtin(), sample.clone());
    assert_eq!((marked.charset, marked.events[0].kept[0].raw.as_str()), ("UTF-16LE", "aä"));
    assert_eq!((&*marked.text, marked.repaired), ("aä".as_bytes(), false));
    sample.bytes = Bytes::from_static(b"a \xff b");
    let repaired = preview(&Knowledge::builtin(), sample);
    assert!(repaired.repaired && repaired.events[0].kept[0].raw == "a \\xFF b", "{repaired:?}");
}

/// The preview of a text whose sourcetype has these rules.
fn previewed(sourcetype: &str, rules: &str, text: &str) -> Preview {
    let props = format!("[{sourcetype}]\n{rules}");
    let layers = Layers::builtin().with(Layer::SystemLocal, "props", &props);
    preview(&Knowledge::new(layers), sample(Some(sourcetype), text))
}

fn preview(knowledge: &Knowledge, sample: Sample) -> Preview {
    let settings = Arc::new(Settings::default());
    let clock: Arc<dyn Clock> = Arc::new(SystemClock);
    let previewer = Previewer {
        rules: RuleBook::new(Arc::new(knowledge.clone()), settings.max_event_size),
        limits: &HotLimits::new(Arc::clone(&settings), knowledge),
        events: settings.event_limits(),
        clock: &clock,
    };
    previewer.preview(sample)
}

fn sample(sourcetype: Option<&str>, text: &str) -> Sample {
    Sample {
        origin: InputMeta {
            index: IndexName::new("main").unwrap(),
            host: "h".into(),
            source: "s".into(),
            sourcetype: sourcetype.map(Into::into),
        },
        bytes: Bytes::copy_from_slice(text.as_bytes()),
        modified: None,
        events: 100,
        shown_bytes: 1 << 20,
    }
}
