//! The kinds of objects, and their properties.

use apps::{ConfObject, NOBODY, Namespace, Settings, TEXT, simple_xml};
use futures::future::BoxFuture;
use inputs::exec::Schedule;
use serde_json::{Map, Value, json};

use crate::ApiState;
use crate::atom::Attributes;
use crate::error::RestError;
use crate::params::is_true;

/// Adds values of the kind to the entry of an object.
type Add = fn(&ApiState, &ConfObject, &mut Map<String, Value>);
/// Removes data that belongs to a removed object.
type Removed = fn(ApiState, ConfObject) -> BoxFuture<'static, Result<(), RestError>>;

/// A kind of objects.
pub(crate) struct Kind {
    /// The title of its feeds.
    pub(crate) title: &'static str,
    /// The name of one object, with its article.
    pub(crate) one: &'static str,
    /// Several.
    pub(crate) many: &'static str,
    /// Below `/services`.
    pub(crate) path: &'static str,
    /// The file its objects are stanzas of.
    pub(crate) conf: &'static str,
    /// Required parameters of a new object besides its name.
    pub(crate) required: &'static [&'static str],
    /// The accepted settings; names that end in `*` are prefixes.
    pub(crate) settings: &'static [&'static str],
    /// Settings that are true or false.
    pub(crate) flags: &'static [&'static str],
    /// The values that are shown for settings that are not set.
    pub(crate) defaults: &'static [(&'static str, &'static str)],
    /// The links of an object.
    pub(crate) links: &'static [&'static str],
    /// Stanzas as they are: any setting, no defaults.
    pub(crate) is_raw: bool,
    /// Whether the objects are files of apps, in which case `default` is an ordinary object, not the defaults
    /// of others.
    pub(crate) is_page: bool,
    /// Changed only as stanzas of their file, `configs/conf-*`.
    pub(crate) is_read_only: bool,
    /// Refuses settings that do not fit.
    pub(crate) check: fn(&Settings) -> Result<(), RestError>,
    /// Refuses namespaces that the kind does not have.
    pub(crate) check_namespace: fn(&Namespace) -> Result<(), RestError>,
    /// Whether a stanza of the file is listed: two kinds share `transforms.conf`.
    pub(crate) lists: fn(&ConfObject) -> bool,
    pub(crate) add: Add,
    pub(crate) removed: Removed,
}

impl Kind {
    const fn new(
        title: &'static str,
        (one, many): (&'static str, &'static str),
        path: &'static str,
        conf: &'static str,
    ) -> Self {
        Self {
            title,
            one,
            many,
            path,
            conf,
            required: &[],
            settings: &[],
            flags: &["disabled"],
            defaults: &[],
            links: &["enable", "disable", "acl", "move"],
            is_raw: false,
            is_page: false,
            is_read_only: false,
            check: |_| Ok(()),
            check_namespace: |_| Ok(()),
            lists: |_| true,
            add: |_, _, _| {},
            removed: |_, _| Box::pin(async { Ok(()) }),
        }
    }

    pub(crate) fn takes(&self, key: &str) -> bool {
        let fits = |known: &&str| match known.strip_suffix('*') {
            Some(prefix) => key.starts_with(prefix),
            None => key == *known,
        };
        self.is_raw
            || key == "disabled"
            || self.required.contains(&key)
            || self.settings.iter().any(fits)
    }

    pub(crate) fn is_flag(&self, key: &str) -> bool {
        self.flags.contains(&key)
    }

    /// Returns the parameters of the kind's objects: of a new one, or of an existing one.
    pub(crate) fn attributes(&self, new: bool) -> Attributes {
        let (wildcard, mut optional): (Vec<&str>, Vec<&str>) =
            self.settings.iter().partition(|name| name.ends_with('*'));
        if !self.is_raw {
            optional.push("disabled");
        }
        let wildcard: Vec<String> =
            wildcard.iter().map(|name| name.replace('.', "\\.").replace('*', ".*")).collect();
        let mut required = self.required.to_vec();
        if new {
            required.insert(0, "name");
        }
        let mut attributes = Attributes::new(&required, &optional, &[]);
        attributes.wildcard = if self.is_raw { vec![".*".to_owned()] } else { wildcard };
        attributes
    }
}

/// Stanzas of any file, `configs/conf-*`.
pub(crate) static CONFS: Kind = Kind {
    is_raw: true,
    flags: &["disabled", "iseval"],
    ..Kind::new("conf", ("a stanza", "the stanzas of a file"), "configs", "")
};

pub(crate) static MACROS: Kind = Kind {
    required: &["definition"],
    settings: &["args", "definition", "description", "errormsg", "iseval", "validation"],
    flags: &["disabled", "iseval"],
    defaults: &[
        ("args", ""),
        ("definition", ""),
        ("errormsg", ""),
        ("iseval", "0"),
        ("validation", ""),
    ],
    ..Kind::new("macros", ("a macro", "macros"), "data/macros", "macros")
};

pub(crate) static EVENT_TYPES: Kind = Kind {
    required: &["search"],
    settings: &["color", "description", "priority", "search", "tags"],
    defaults: &[
        ("color", ""),
        ("description", ""),
        ("priority", "1"),
        ("search", ""),
        ("tags", ""),
    ],
    check: check_event_type,
    ..Kind::new("eventtypes", ("an event type", "event types"), "saved/eventtypes", "eventtypes")
};

/// Refuses a priority out of range, and tags with blanks, each of which would be several tags.
fn check_event_type(settings: &Settings) -> Result<(), RestError> {
    let get = |name: &str| {
        let found = settings.iter().find(|(key, _)| key == name);
        found.map_or("", |(_, value)| value.trim())
    };
    let priority = get("priority");
    let is_valid = priority.parse::<u8>().is_ok_and(|value| (1..=10).contains(&value));
    if !priority.is_empty() && !is_valid {
        let text = format!("priority = {priority}: expected a whole number from 1 to 10");
        return Err(RestError::invalid(text));
    }
    match get("tags").split(',').map(str::trim).find(|tag| tag.contains(char::is_whitespace)) {
        Some(tag) => Err(RestError::invalid(format!(
            "tags: \"{tag}\" has a blank: tags have no blanks and are separated by commas"
        ))),
        None => Ok(()),
    }
}

pub(crate) static DATAMODELS: Kind = Kind {
    required: &[TEXT],
    settings: &["acceleration", "acceleration.*", "dataset.*", "description", TEXT],
    defaults: &[("acceleration", "0")],
    ..Kind::new("datamodel", ("a data model", "data models"), "datamodel/model", "datamodels")
};

/// Dashboards and other views.
pub(crate) static VIEWS: Kind = Kind {
    required: &[TEXT],
    settings: &[TEXT],
    defaults: &[("eai:type", "views")],
    is_page: true,
    check: check_page,
    add: |_, object, content| {
        let facts = simple_xml::facts(object.get(TEXT).unwrap_or_default());
        let label = facts.label.unwrap_or_else(|| object.name.clone());
        let is_dashboard = matches!(facts.root.as_str(), "dashboard" | "form");
        for (key, value) in [
            ("label", json!(label)),
            ("description", json!(facts.description.unwrap_or_default())),
            ("rootNode", json!(facts.root)),
            ("version", json!(facts.version.unwrap_or_default())),
            ("isDashboard", json!(is_dashboard)),
            ("isVisible", json!(facts.is_visible)),
        ] {
            content.insert(key.to_owned(), value);
        }
    },
    ..Kind::new("views", ("a view", "views"), "data/ui/views", "views")
};

/// The navigation bars of apps.
pub(crate) static NAVIGATION: Kind = Kind {
    required: &[TEXT],
    settings: &[TEXT],
    defaults: &[("eai:type", "nav")],
    is_page: true,
    check: check_page,
    ..Kind::new("nav", ("a navigation menu", "navigation menus of apps"), "data/ui/nav", "nav")
};

/// Panels that several dashboards show.
pub(crate) static PANELS: Kind = Kind {
    required: &[TEXT],
    settings: &[TEXT],
    defaults: &[("eai:type", "panels")],
    is_page: true,
    check: check_page,
    add: |_, object, content| {
        let facts = simple_xml::facts(object.get(TEXT).unwrap_or_default());
        let label = facts.label.unwrap_or_else(|| object.name.clone());
        content.insert("label".to_owned(), json!(label));
        content.insert("rootNode".to_owned(), json!(facts.root));
    },
    ..Kind::new("panels", ("a panel", "prebuilt panels"), "data/ui/panels", "panels")
};

/// Time ranges that the picker offers.
pub(crate) static TIMES: Kind = Kind {
    settings: &[
        "earliest_time",
        "header_label",
        "is_sub_menu",
        "label",
        "latest_time",
        "order",
        "sub_menu",
    ],
    flags: &["disabled", "is_sub_menu"],
    // Additional values for the picker.
    lists: |object| object.name != "settings",
    ..Kind::new("times", ("a time range", "time ranges of the picker"), "data/ui/times", "times")
};

/// Actions of apps on the results of alerts.
pub(crate) static ALERT_ACTIONS: Kind = Kind {
    is_read_only: true,
    flags: &["disabled", "is_custom"],
    ..Kind::new(
        "alert_actions",
        ("an alert action", "alert actions"),
        "alerts/alert_actions",
        "alert_actions",
    )
};

/// Search commands that apps bring.
pub(crate) static COMMANDS: Kind = Kind {
    is_read_only: true,
    flags: &[
        "chunked",
        "disabled",
        "enableheader",
        "is_risky",
        "local",
        "passauth",
        "retainsevents",
        "run_in_preview",
        "streaming",
        "supports_getinfo",
    ],
    ..Kind::new(
        "commandsconf",
        ("a command", "search commands of apps"),
        "data/commands",
        "commands",
    )
};

/// Source types that `props.conf` names.
pub(crate) static SOURCETYPES: Kind = Kind {
    is_read_only: true,
    // The other stanzas are those of sources, hosts and rules: source::, host::, rule::, (?::).
    lists: |object| !object.name.contains("::"),
    ..Kind::new(
        "sourcetypes",
        ("a source type", "source types of props.conf"),
        "saved/sourcetypes",
        "props",
    )
};

/// The stored state of pages of the interface.
pub(crate) static UI_PREFS: Kind = Kind {
    is_read_only: true,
    ..Kind::new(
        "ui-prefs",
        ("settings of a page", "settings of pages"),
        "data/ui/prefs",
        "ui-prefs",
    )
};

/// Actions for events and their fields.
pub(crate) static WORKFLOW_ACTIONS: Kind = Kind {
    is_read_only: true,
    ..Kind::new(
        "workflow-actions",
        ("a workflow action", "workflow actions"),
        "data/ui/workflow-actions",
        "workflow_actions",
    )
};

/// Refuses a text that is not XML, with the line.
fn check_page(settings: &Settings) -> Result<(), RestError> {
    let text = settings.iter().find(|(key, _)| key == TEXT).map(|(_, value)| value);
    match text.map(|text| simple_xml::check_form(text)) {
        Some(Err(error)) => Err(RestError::invalid(format!("{TEXT} is not XML: {error}"))),
        _ => Ok(()),
    }
}

/// `transforms.conf` with a file, a collection or a program behind it.
pub(crate) static LOOKUPS: Kind = Kind {
    settings: LOOKUP_SETTINGS,
    flags: &["case_sensitive_match", "disabled", "reverse_lookup_honor_case_sensitive_match"],
    lists: is_lookup,
    add: |_, object, content| {
        let kind = object.get("external_type").unwrap_or(match object.get("filename") {
            Some(_) => "file",
            None => "external",
        });
        content.insert("type".to_owned(), json!(kind));
    },
    ..Kind::new(
        "transforms-lookup",
        ("a lookup", "lookups"),
        "data/transforms/lookups",
        "transforms",
    )
};

/// Whether a stanza of `transforms.conf` is a lookup.
fn is_lookup(object: &ConfObject) -> bool {
    let names = ["filename", "collection", "external_cmd", "external_type"];
    names.iter().any(|name| object.get(name).is_some())
}

const LOOKUP_SETTINGS: &[&str] = &[
    "allow_caching",
    "batch_index_query",
    "case_sensitive_match",
    "collection",
    "default_match",
    "external_cmd",
    "external_type",
    "fields_list",
    "filename",
    "filter",
    "match_type",
    "max_matches",
    "max_offset_secs",
    "min_matches",
    "min_offset_secs",
    "time_field",
    "time_format",
];

/// `transforms.conf` with a regular expression or delimiters.
pub(crate) static EXTRACTIONS: Kind = Kind {
    settings: &[
        "CAN_OPTIMIZE",
        "CLEAN_KEYS",
        "DEFAULT_VALUE",
        "DELIMS",
        "DEST_KEY",
        "FIELDS",
        "FORMAT",
        "KEEP_EMPTY_VALS",
        "LOOKAHEAD",
        "MV_ADD",
        "REGEX",
        "REPEAT_MATCH",
        "SOURCE_KEY",
        "WRITE_META",
    ],
    flags: &["CAN_OPTIMIZE", "CLEAN_KEYS", "KEEP_EMPTY_VALS", "MV_ADD", "disabled"],
    lists: |object| !is_lookup(object),
    ..Kind::new(
        "transforms-extract",
        ("an extraction", "extractions"),
        "data/transforms/extractions",
        "transforms",
    )
};

/// Collections of documents. They belong to apps, not to users.
pub(crate) static COLLECTIONS: Kind = Kind {
    settings: &[
        "accelerated_fields.*",
        "enforceTypes",
        "field.*",
        "profilingEnabled",
        "replicate*",
        "type",
    ],
    flags: &["disabled", "enforceTypes", "profilingEnabled", "replicate"],
    defaults: &[("profilingEnabled", "0"), ("replicate", "0"), ("type", "undefined")],
    check: |settings| {
        for (key, value) in settings {
            let wrong = || RestError::invalid(format!("{key} = {value}: expected a JSON object"));
            if key.starts_with("accelerated_fields.")
                && !serde_json::from_str::<Value>(value).is_ok_and(|value| value.is_object())
            {
                return Err(wrong());
            }
        }
        Ok(())
    },
    check_namespace: |namespace| match namespace.owner.as_str() {
        NOBODY | "-" => Ok(()),
        owner => Err(RestError::invalid(format!(
            "Must use user context of 'nobody' when interacting with collection configurations \
             (used user='{owner}')"
        ))),
    },
    removed: |state, object| {
        Box::pin(async move {
            let place = Namespace::new(NOBODY, &object.app);
            Ok(state.apps.replace_documents(&place, &object.name, Vec::new()).await?)
        })
    },
    ..Kind::new(
        "collections-conf",
        ("a collection", "collections"),
        "storage/collections/config",
        "collections",
    )
};

/// Whether a saved search has a schedule.
pub(super) fn is_scheduled(object: &ConfObject) -> bool {
    // The file calls it enableSched.
    let scheduled = object.get("is_scheduled").or_else(|| object.get("enableSched"));
    scheduled.is_some_and(is_true)
}

pub(crate) static SAVED_SEARCHES: Kind = Kind {
    required: &["search"],
    settings: &[
        "action.*",
        "actions",
        "alert.*",
        "alert_comparator",
        "alert_condition",
        "alert_threshold",
        "alert_type",
        "allow_skew",
        "args.*",
        "auto_summarize",
        "auto_summarize.*",
        "counttype",
        "cron_schedule",
        "defer_scheduled_searchable_idxc",
        "description",
        "dispatch.*",
        "dispatchAs",
        "display.*",
        "durable.*",
        "enableSched",
        "embed.*",
        "federated.*",
        "is_scheduled",
        "is_visible",
        "max_concurrent",
        "next_scheduled_time",
        "precalculate_required_fields_for_alerts",
        "qualifiedSearch",
        "quantity",
        "realtime_schedule",
        "relation",
        "request.*",
        "restart_on_searchpeer_add",
        "run_n_times",
        "run_on_startup",
        "schedule",
        "schedule_as",
        "schedule_priority",
        "schedule_window",
        "search",
        "sendresults",
        "userid",
        "vsid",
        "workload_pool",
    ],
    flags: &[
        "action.email",
        "action.populate_lookup",
        "action.rss",
        "action.script",
        "action.summary_index",
        "alert.digest_mode",
        "alert.track",
        "auto_summarize",
        "disabled",
        "dispatch.lookups",
        "dispatch.spawn_process",
        "is_scheduled",
        "is_visible",
        "realtime_schedule",
        "restart_on_searchpeer_add",
        "run_on_startup",
    ],
    defaults: SAVED_SEARCH_DEFAULTS,
    links: &["enable", "disable", "acl", "move", "dispatch", "history", "scheduled_times"],
    check: |settings| {
        let get = |name: &str| settings.iter().find(|(key, _)| key == name).map(|(_, value)| value);
        match get("cron_schedule") {
            Some(cron) if !cron.is_empty() => match Schedule::parse(cron) {
                Some(Schedule::Cron(_)) => Ok(()),
                _ => Err(RestError::invalid(format!(
                    "cron_schedule = {cron}: expected five fields (minute, hour, day of month, month, day of week) within \
                     their ranges, such as */5 * * * *"
                ))),
            },
            _ => Ok(()),
        }
    },
    add: |_, object, content| {
        content.insert("is_scheduled".to_owned(), json!(is_scheduled(object)));
        content.insert("triggered_alert_count".to_owned(), json!(0));
    },
    removed: |state, object| Box::pin(async move { Ok(state.suppressions.remove(&object).await?) }),
    ..Kind::new(
        "savedsearch",
        ("a saved search", "saved searches"),
        "saved/searches",
        "savedsearches",
    )
};

/// The defaults of `savedsearches.conf` for every search.
const SAVED_SEARCH_DEFAULTS: &[(&str, &str)] = &[
    ("action.email", "0"),
    ("action.populate_lookup", "0"),
    ("action.rss", "0"),
    ("action.script", "0"),
    ("action.summary_index", "0"),
    ("actions", ""),
    ("alert.digest_mode", "1"),
    ("alert.expires", "24h"),
    ("alert.severity", "3"),
    ("alert.suppress", ""),
    ("alert.suppress.period", ""),
    ("alert.track", "0"),
    ("alert_comparator", ""),
    ("alert_condition", ""),
    ("alert_threshold", ""),
    ("alert_type", "always"),
    ("allow_skew", "0"),
    ("auto_summarize", "0"),
    ("cron_schedule", ""),
    ("description", ""),
    ("dispatch.buckets", "0"),
    ("dispatch.earliest_time", ""),
    ("dispatch.index_earliest", ""),
    ("dispatch.index_latest", ""),
    ("dispatch.latest_time", ""),
    ("dispatch.lookups", "1"),
    ("dispatch.max_count", "500000"),
    ("dispatch.max_time", "0"),
    ("dispatch.reduce_freq", "10"),
    ("dispatch.spawn_process", "1"),
    ("dispatch.time_format", "%FT%T.%Q%:z"),
    ("dispatch.ttl", "2p"),
    ("is_visible", "1"),
    ("max_concurrent", "1"),
    ("qualifiedSearch", ""),
    ("realtime_schedule", "1"),
    ("restart_on_searchpeer_add", "1"),
    ("run_on_startup", "0"),
    ("schedule_priority", "default"),
    ("schedule_window", "0"),
    ("search", ""),
];
