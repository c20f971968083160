//! Apps that are disabled and enabled, in two processes over one catalog.
#![allow(clippy::unwrap_used)]

use crate::installed_tests::{Setup, definition, package};
use crate::{Apps, Error, NOBODY, Namespace, ObjectChange, SEARCH, Sharing};

const FILES: [(&str, &str); 5] = [
    ("default/commands.conf", "[c]\nfilename = c.py\n"),
    ("default/data/ui/views/v.xml", "<form/>"),
    ("default/macros.conf", "[m]\ndefinition = one\n"),
    ("default/props.conf", "[st]\nTRUNCATE = 7\n"),
    ("lookups/a.csv", "a\n1\n"),
];

/// Whether the macro, the index-time rule, the lookup, the view and the command of the app have an effect.
async fn effects(apps: &Apps) -> [bool; 5] {
    let there = Namespace::new("ann", "shop");
    [
        definition(apps, "m").is_some(),
        apps.rules().parsing_rules("st", "", "").truncate == Some(7),
        apps.read_lookup("a.csv", &Namespace::default()).await.unwrap().is_some(),
        apps.get("views", "v", &there).is_ok(),
        apps.view(&there).custom_command_names().contains("c"),
    ]
}

async fn set(apps: &Apps, app: &str, value: &str) -> Result<(), Error> {
    apps.update_app(app, &[("install.disabled".to_owned(), value.to_owned())]).await
}

#[tokio::test]
async fn a_disabled_app_has_no_effect_in_all_processes_and_after_a_restart_until_it_is_enabled() {
    let setup = Setup::new().await;
    let (one, two) = (setup.process("one").await, setup.process("two").await);
    one.install(package(&FILES), false, "ann").await.unwrap();
    let follow = async || {
        catalog::Followed::reload(&two).unwrap();
        two.apply_installed().await.unwrap();
    };
    follow().await;
    for (value, in_force) in [("1", false), ("0", true)] {
        assert_eq!((effects(&one).await, effects(&two).await), ([!in_force; 5], [!in_force; 5]));
        set(&one, "shop", value).await.unwrap();
        follow().await;
        let again = setup.process("one").await;
        for apps in [&one, &two, &again] {
            assert_eq!(effects(apps).await, [in_force; 5], "{value}");
            let info = apps.apps().into_iter().find(|app| app.name == "shop").unwrap();
            assert_eq!((info.disabled, info.installed), (!in_force, true));
        }
        let made = one.create("macros", "new", &Namespace::new(NOBODY, "shop"), Vec::new()).await;
        assert_eq!(made.is_ok(), in_force, "{made:?}");
    }
}

#[tokio::test]
async fn an_app_whose_file_disables_it_has_no_effect_until_it_is_enabled() {
    let setup = Setup::new().await;
    let one = setup.process("one").await;
    let app_conf = ("default/app.conf", "[install]\nstate = disabled\n");
    let files: Vec<(&str, &str)> = FILES.into_iter().chain([app_conf]).collect();
    one.install(package(&files), false, "ann").await.unwrap();
    assert_eq!(effects(&one).await, [false; 5]);
    assert!(one.disabled().contains("shop"));
    set(&one, "shop", "0").await.unwrap();
    assert_eq!(effects(&one).await, [true; 5]);
    assert!(matches!(set(&one, SEARCH, "1").await, Err(Error::Invalid(_))));
}

#[tokio::test]
async fn an_index_of_a_disabled_app_stays_with_its_settings_also_after_a_restart() {
    let setup = Setup::new().await;
    let one = setup.process("one").await;
    let of_index = ("default/indexes.conf", "[shop_web]\nfrozenTimePeriodInSecs = 86400\n");
    let files: Vec<(&str, &str)> = FILES.into_iter().chain([of_index]).collect();
    one.install(package(&files), false, "ann").await.unwrap();
    set(&one, "shop", "1").await.unwrap();
    let again = setup.process("one").await;
    for apps in [&one, &again] {
        let indexes = apps.rules().conf("indexes");
        let kept = indexes.stanza("shop_web").unwrap().get("frozenTimePeriodInSecs").unwrap();
        assert_eq!(kept.value, "86400");
    }
}

#[tokio::test]
async fn a_change_ends_an_app_only_if_all_layers_of_its_file_say_so_afterwards() {
    let setup = Setup::new().await;
    let one = setup.process("one").await;
    one.install(package(&FILES), false, "ann").await.unwrap();
    let (shop, own) = (Namespace::new(NOBODY, "shop"), Namespace::new("ann", "shop"));
    let settings = |key: &str, value: &str| vec![(key.to_owned(), value.to_owned())];
    let ends = |namespace: &Namespace, change: ObjectChange<'_>| {
        !one.ended_by("install", namespace, change).is_empty()
    };
    let (off, on) = (settings("disabled", "1"), settings("disabled", "0"));
    assert!(ends(&shop, ObjectChange::Create(&off)) && !ends(&own, ObjectChange::Create(&off)));
    assert!(one.ended_by("ui", &shop, ObjectChange::Create(&off)).is_empty());
    one.create("app", "install", &shop, on).await.unwrap();
    let by_state = settings("state", "disabled");
    assert!(!ends(&shop, ObjectChange::Update(&by_state)), "disabled takes precedence");
    assert!(ends(&shop, ObjectChange::Update(&off)));
    assert!(!ends(&shop, ObjectChange::Remove), "the files do not disable it");
    one.remove("app", "install", &shop).await.unwrap();
    one.create("app", "install", &own, off).await.unwrap();
    assert!(ends(&own, ObjectChange::Share("ann", Sharing::App)));
    one.create_app("gates", &[]).await.unwrap();
    one.share("app", "install", &own, "ann", Sharing::App).await.unwrap();
    assert!(one.ended_by("install", &shop, ObjectChange::Move("gates")).contains("gates"));
}
