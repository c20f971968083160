//! Logins, tokens and users of providers over a catalog in memory.
#![allow(clippy::unwrap_used)]

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use catalog::{Catalog, Changes, Commit, Documents, Rules, Snapshot};
use model::EventTime;
use object_store::memory::InMemory;
use parking_lot::Mutex;
use runtime::ManualClock;
use tokio::sync::watch;

use crate::lockout::LockoutSettings;
use crate::password_policy::PasswordPolicy;
use crate::sessions::{AtProvider, SessionSettings};
use crate::{
    Accounts, ApiTokens, Attempt, AuthenticationSettings, Error, ExternalUser, NewToken, NewUser,
    Refusal, RoleMap, Scope, ServerSettings, UserChange, role_name_fault,
};

const DAY: Duration = Duration::from_secs(86_400);

struct House {
    accounts: Accounts,
    catalog: Catalog,
    clock: Arc<ManualClock>,
}

async fn house(settings: AuthenticationSettings) -> House {
    let clock = Arc::new(ManualClock::new(EventTime(1_700_000_000_000_000)));
    let store = Arc::new(InMemory::new());
    let catalog = Catalog::open(store, "catalog", catalog::Settings::default(), clock.clone());
    let catalog = catalog.await.unwrap();
    let accounts = Accounts::load(catalog.clone(), settings, clock.clone()).await.unwrap();
    let house = House { accounts, catalog, clock };
    house.add("ann", "correct horse").await.unwrap();
    house
}

fn with_policy(passwords: PasswordPolicy) -> AuthenticationSettings {
    AuthenticationSettings { passwords, ..AuthenticationSettings::default() }
}

impl House {
    async fn add(&self, name: &str, password: &str) -> Result<(), Error> {
        let (name, password) = (name.to_owned(), password.to_owned());
        self.accounts.put(NewUser { name, password, roles: vec!["user".to_owned()] }).await
    }

    async fn log_in(&self, user: &str, password: &str) -> Result<String, Refusal> {
        let source = Some(IpAddr::from([192, 0, 2, 1]));
        let attempt = Attempt { user, password, new_password: None, source };
        self.accounts.log_in(attempt).await.map(|entered| entered.name)
    }

    async fn log_in_with_new(&self, password: &str, new: &str) -> Result<String, Refusal> {
        let new_password = Some(new);
        let attempt = Attempt { user: "ann", password, new_password, source: None };
        self.accounts.log_in(attempt).await.map(|entered| entered.name)
    }

    /// The accounts of a process that is started again.
    async fn restarted(&self) -> Accounts {
        let (catalog, settings) = (self.catalog.clone(), AuthenticationSettings::default());
        let mut accounts = Accounts::load(catalog, settings, self.clock.clone()).await.unwrap();
        accounts.keep_sessions();
        accounts
    }

    async fn change(&self, change: UserChange) -> Result<bool, Error> {
        self.accounts.change("ann", change, None).await
    }

    async fn set_password(&self, password: &str) -> Result<bool, Error> {
        self.change(UserChange { password: Some(password.to_owned()), ..Default::default() }).await
    }

    fn now(&self) -> i64 {
        use runtime::Clock;
        self.clock.now().0 / 1_000_000
    }
}

#[tokio::test]
async fn wrong_passwords_lock_a_user_out_and_an_administrator_lets_the_user_in_again() {
    let lockout = LockoutSettings { attempts: 3, ..LockoutSettings::default() };
    let house = house(AuthenticationSettings { lockout, ..Default::default() }).await;
    assert_eq!(house.log_in("Ann", "correct horse").await.as_deref(), Ok("ann"));
    assert_eq!(house.log_in("ann", "wrong").await, Err(Refusal::WrongPassword));
    assert_eq!(house.log_in("ann", "wrong").await, Err(Refusal::WrongPassword));
    assert_eq!(house.log_in("ann", "wrong").await, Err(Refusal::LockedNow));
    assert_eq!(house.log_in("ann", "correct horse").await, Err(Refusal::Locked));
    assert!(house.accounts.is_locked_out("ann") && house.accounts.unlock("ann").await.unwrap());
    assert_eq!(house.log_in("ann", "correct horse").await.as_deref(), Ok("ann"));
}

#[tokio::test]
async fn names_that_are_no_users_are_treated_as_if_they_were() {
    let lockout = LockoutSettings { attempts: 3, ..LockoutSettings::default() };
    let house = house(AuthenticationSettings { lockout, ..Default::default() }).await;
    let mut answers = [Vec::new(), Vec::new()];
    for _ in 0..6 {
        answers[0].push(house.log_in("ann", "wrong").await.err().map(|refusal| refusal.word()));
        answers[1].push(house.log_in("bob", "wrong").await.err().map(|refusal| refusal.word()));
    }
    assert_eq!(answers[0], answers[1]);
}

#[tokio::test]
async fn a_weak_password_is_refused_wherever_it_is_set() {
    let house = house(AuthenticationSettings::default()).await;
    let weak = |result: Result<(), Error>| {
        let text = result.err().map(|error| error.to_string()).unwrap_or_default();
        assert!(text.contains("at least 8 characters (minPasswordLength)"), "{text}");
    };
    weak(house.add("bob", "a").await);
    weak(house.set_password("passwor").await.map(drop));
    assert!(house.accounts.user("bob").is_none());
    assert!(house.log_in("ann", "correct horse").await.is_ok());
}

#[tokio::test]
async fn former_passwords_are_not_taken_again() {
    let house = house(with_policy(PasswordPolicy {
        has_history: true,
        history_count: 2,
        ..Default::default()
    }))
    .await;
    for fresh in ["second one", "third one"] {
        assert!(house.set_password(fresh).await.unwrap());
    }
    for used in ["third one", "second one"] {
        let error = house.set_password(used).await.unwrap_err().to_string();
        assert!(error.contains("passwordHistoryCount"), "{error}");
    }
    assert!(house.set_password("correct horse").await.unwrap(), "the last but two");
}

#[tokio::test]
async fn an_expired_password_lets_in_with_a_new_one_only() {
    let policy = PasswordPolicy { expires: true, expires_after: 90 * DAY, ..Default::default() };
    let house = house(with_policy(policy)).await;
    house.clock.advance(89 * DAY);
    assert!(house.log_in("ann", "correct horse").await.is_ok());
    house.clock.advance(DAY);
    let refused = house.log_in("ann", "correct horse").await;
    assert!(matches!(refused, Err(Refusal::MustChange(_))), "{refused:?}");
    let refused = house.log_in_with_new("correct horse", "short").await;
    assert!(matches!(refused, Err(Refusal::NewPassword(_))), "{refused:?}");
    let refused = house.log_in_with_new("correct horse", "correct horse").await;
    assert!(matches!(refused, Err(Refusal::NewPassword(_))), "{refused:?}");
    assert!(house.log_in_with_new("wrong", "battery staple").await.is_err());
    assert!(house.log_in_with_new("correct horse", "battery staple").await.is_ok());
    assert!(house.log_in("ann", "battery staple").await.is_ok());
}

#[tokio::test]
async fn a_user_who_is_kept_out_or_gets_a_new_password_loses_the_sessions() {
    let house = house(AuthenticationSettings::default()).await;
    let key = house.accounts.open_session("ann", None).await;
    house.set_password("battery staple").await.unwrap();
    assert_eq!(house.accounts.session_user(&key), None);
    let key = house.accounts.open_session("ann", None).await;
    house.change(UserChange { locked: Some(true), ..Default::default() }).await.unwrap();
    assert_eq!(house.accounts.session_user(&key), None);
    assert_eq!(house.log_in("ann", "battery staple").await, Err(Refusal::KeptOut));
    assert_eq!(house.log_in("ann", "wrong").await, Err(Refusal::WrongPassword));
    assert!(house.accounts.unlock("ann").await.unwrap());
    assert!(house.log_in("ann", "battery staple").await.is_ok());
}

fn vouched(name: &str, groups: &[&str], since: i64) -> ExternalUser {
    ExternalUser {
        name: name.to_owned(),
        realname: "Somebody".to_owned(),
        email: String::new(),
        groups: groups.iter().map(|group| (*group).to_owned()).collect(),
        provider: "corp".to_owned(),
        since,
    }
}

#[tokio::test]
async fn users_of_a_provider_come_in_by_their_groups_and_never_as_a_local_user() {
    let house = house(AuthenticationSettings::default()).await;
    let groups_of = |role: &str, group: &str| (role.to_owned(), vec![group.to_owned()]);
    let map = RoleMap {
        groups_of: vec![groups_of("power", "ops"), groups_of("admin", "wheel")],
        default: Vec::new(),
    };
    let provision = async |user| house.accounts.provision(user, &map).await;
    let roles = |name: &str| house.accounts.user(name).map(|user| user.roles).unwrap_or_default();
    assert_eq!(provision(vouched("eve", &["ops"], 10)).await.as_deref(), Ok("eve"));
    assert_eq!(roles("eve"), ["power"]);
    assert!(house.log_in("eve", "").await.is_err(), "no password of hers is here");
    assert!(house.accounts.user("eve").unwrap().password_hash.is_empty());
    // Older provider data does not replace newer data.
    assert!(provision(vouched("eve", &["wheel"], 20)).await.is_ok());
    assert!(provision(vouched("eve", &["ops"], 10)).await.is_ok());
    assert_eq!(roles("eve"), ["admin"]);
    for (user, word) in [
        (vouched("ann", &["wheel"], 30), "not_allowed"),
        (vouched("mallory", &["others"], 30), "not_allowed"),
        (vouched("a b", &["wheel"], 30), "not_allowed"),
    ] {
        assert_eq!(provision(user).await.err().map(|refusal| refusal.word()), Some(word));
    }
    assert_eq!(roles("ann"), ["user"]);
}

fn new_token(now: i64, ephemeral: bool) -> NewToken {
    NewToken {
        user: "ann".to_owned(),
        created_by: "admin".to_owned(),
        audience: "tests".to_owned(),
        not_before: Some(now + 10),
        expires: Some(now + 100),
        ephemeral,
        scope: Scope { capabilities: Some(vec!["search".to_owned()]), indexes: None },
    }
}

#[tokio::test]
async fn a_token_is_good_between_its_times_and_until_it_is_revoked() {
    let house = house(AuthenticationSettings::default()).await;
    let tokens = ApiTokens::load(house.catalog.clone(), "here", &[7; 32]).unwrap();
    let now = house.now();
    for ephemeral in [false, true] {
        let (id, text) = tokens.create(now, new_token(now, ephemeral)).await.unwrap();
        let bearer = |at: i64| tokens.bearer(at, &text, None);
        assert_eq!((bearer(now + 9), bearer(now + 100)), (None, None));
        let found = bearer(now + 10).unwrap();
        assert_eq!((found.user.as_str(), found.id.as_str()), ("ann", id.as_str()));
        assert!(found.scope.allows("search") && !found.scope.allows("edit_user"));
        assert_eq!(found.ephemeral_since.is_some(), ephemeral);
        assert_eq!(tokens.get(&id).is_some(), !ephemeral);
    }
}

#[tokio::test]
async fn a_static_token_can_be_disabled_and_removed_and_outlives_a_restart() {
    let house = house(AuthenticationSettings::default()).await;
    let load = || ApiTokens::load(house.catalog.clone(), "here", &[7; 32]).unwrap();
    let (tokens, now) = (load(), house.now());
    let (id, text) = tokens.create(now, new_token(now, false)).await.unwrap();
    let is_good = |tokens: &ApiTokens| tokens.bearer(now + 20, &text, None).is_some();
    assert!(is_good(&tokens) && is_good(&load()));
    let stored = house.catalog.snapshot().document("api_tokens", &id).unwrap();
    let signature = text.rsplit('.').next().unwrap();
    assert!(!stored.to_string().contains(signature));
    assert!(tokens.enable(&id, false).await.unwrap() && !is_good(&tokens) && !is_good(&load()));
    assert!(tokens.enable(&id, true).await.unwrap() && is_good(&tokens));
    assert!(tokens.remove(&id).await.unwrap() && !is_good(&tokens) && !is_good(&load()));
    let other_key = ApiTokens::load(house.catalog.clone(), "here", &[8; 32]).unwrap();
    let (_, text) = tokens.create(now, new_token(now, true)).await.unwrap();
    assert!(tokens.bearer(now + 20, &text, None).is_some());
    assert!(other_key.bearer(now + 20, &text, None).is_none(), "signed with another key");
    for broken in ["", "a.b.c", &text[..text.len() - 2], &format!("{text}x")] {
        assert!(tokens.bearer(now + 20, broken, None).is_none());
    }
}

#[test]
fn names_of_roles_are_letters_digits_and_three_signs() {
    assert!(["a", "ops_1", "a-b.c", "größe"].iter().all(|name| role_name_fault(name).is_none()));
    let long = "a".repeat(1_025);
    for name in ["a b", "a/b", "a:b", long.as_str()] {
        assert!(role_name_fault(name).is_some_and(|fault| fault.contains("not a valid role name")));
    }
}

#[tokio::test]
async fn a_session_timeout_is_kept_over_a_restart_and_an_invalid_one_is_refused() {
    let house = house(AuthenticationSettings::default()).await;
    let load = || ServerSettings::load(house.catalog.clone(), Duration::from_secs(7_200)).unwrap();
    let settings = load();
    assert_eq!(settings.session_timeout_text(), "2h");
    let refused = settings.set_session_timeout("long").await.unwrap_err();
    assert_eq!(refused.kind(), model::ErrorKind::Invalid);
    assert_eq!(settings.set_session_timeout("90s").await.unwrap(), Duration::from_secs(90));
    assert_eq!(load().session_timeout(), Some(Duration::from_secs(90)));
}

/// Two processes of a cluster: their accounts over one catalog.
async fn two_houses(sessions: SessionSettings) -> [House; 2] {
    let settings = || AuthenticationSettings { sessions: sessions.clone(), ..Default::default() };
    let mut one = house(settings()).await;
    let (catalog, clock) = (one.catalog.clone(), one.clock.clone());
    let accounts = Accounts::load(catalog.clone(), settings(), clock.clone()).await.unwrap();
    let mut two = House { accounts, catalog, clock };
    one.accounts.share_sessions();
    two.accounts.share_sessions();
    [one, two]
}

#[tokio::test]
async fn a_session_is_known_to_all_processes_until_one_of_them_ends_it() {
    let [one, two] = two_houses(SessionSettings::default()).await;
    let subject = Some(saml::Subject {
        name_id: "a".to_owned(),
        format: None,
        session_index: Some("7".to_owned()),
    });
    let at = AtProvider { subject, ends_in: Some(DAY) };
    let source = Some(IpAddr::from([192, 0, 2, 1]));
    let key = one.accounts.open_session_of("ann", source, at.clone()).await;
    assert!(
        !serde_json::json!(one.catalog.snapshot().documents("session")[0].json)
            .to_string()
            .contains(&key)
    );
    let arrived = two.accounts.arriving_session_user(&key).await;
    assert_eq!(arrived.map(|user| user.name).as_deref(), Some("ann"));
    let [[ours], [theirs]] =
        [&one, &two].map(|house| house.accounts.sessions().try_into().unwrap());
    let (ours, theirs): (crate::SessionInfo, crate::SessionInfo) = (ours, theirs);
    assert_eq!((&ours.id, ours.source), (&theirs.id, source));
    // The provider is notified by the process that ends the session.
    let (closed, ended) = two.accounts.close_session(&key).await;
    assert!(ended.is_ok());
    assert_eq!(closed, at);
    assert_eq!(one.accounts.session_user(&key), None);
    assert!(one.accounts.sessions().is_empty());

    let [first, second, third] = [
        one.accounts.open_session("ann", None).await,
        one.accounts.open_session("ann", None).await,
        two.accounts.open_session("ann", None).await,
    ];
    assert!(two.accounts.session_user(&first).is_some());
    let id = one.accounts.sessions()[0].id.clone();
    assert!(two.accounts.close_session_by_id(&id).await.unwrap());
    assert!(!two.accounts.close_session_by_id(&id).await.unwrap());
    let left = [&first, &second, &third].map(|key| one.accounts.session_user(key).is_some());
    assert_eq!(left.into_iter().filter(|is| *is).count(), 2);
    // A new password ends the other sessions, in all processes.
    let change = UserChange { password: Some("battery staple".to_owned()), ..Default::default() };
    two.accounts.change("ann", change, Some(&third)).await.unwrap();
    for house in [&one, &two] {
        assert!(house.accounts.session_user(&second).is_none());
        assert!(house.accounts.session_user(&first).is_none());
        assert_eq!(
            house.accounts.sessions().len(),
            usize::from(house.accounts.session_user(&third).is_some())
        );
    }
    assert!(one.accounts.arriving_session_user("no key").await.is_none());
    assert!(one.accounts.arriving_session_user(&"x".repeat(64)).await.is_none());
    // Local ones are nobody else's.
    let local = one.accounts.local_session("ann");
    assert!(two.accounts.session_user(&local).is_none());
}

#[tokio::test]
async fn a_session_of_a_program_is_known_here_and_ends_when_its_user_is_locked_anywhere() {
    let [one, two] = two_houses(SessionSettings::default()).await;
    let scope = Some(Scope { capabilities: None, indexes: Some(vec!["web".to_owned()]) });
    let key = one.accounts.program_session("ann", scope.clone());
    let found = one.accounts.arriving_session_user(&key).await.unwrap();
    assert_eq!((found.name.as_str(), &found.scope), ("ann", &scope));
    assert!(two.accounts.session_user(&key).is_none());
    let (closed, left) = (key, one.accounts.program_session("ann", None));
    one.accounts.close_local_session(&closed);
    assert!(one.accounts.session_user(&closed).is_none());
    assert!(one.accounts.session_user(&left).is_some());
    let lock = UserChange { locked: Some(true), ..Default::default() };
    two.accounts.change("ann", lock, None).await.unwrap();
    assert!(one.accounts.session_user(&left).is_none());
    assert!(!one.accounts.has_session(&left));
}

#[tokio::test]
async fn a_session_of_a_single_process_outlives_it_unless_it_was_ended() {
    let mut before = house(AuthenticationSettings::default()).await;
    before.accounts.keep_sessions();
    let [kept, closed] = [
        before.accounts.open_session("ann", None).await,
        before.accounts.open_session("ann", None).await,
    ];
    before.accounts.close_session(&closed).await.1.unwrap();
    let start = async |minutes: i64| {
        before.clock.set(EventTime(1_700_000_000_000_000 + minutes * 60_000_000));
        before.restarted().await
    };
    let after = start(30).await;
    assert_eq!(after.session_user(&kept).as_deref(), Some("ann"));
    assert_eq!(after.arriving_session_user(&closed).await, None);
    assert_eq!(after.sessions().len(), 1);
    // The limits hold over the time in which no process ran.
    assert_eq!(start(24 * 60).await.session_user(&kept), None);
    // A new password ends sessions that this process has not met yet, too.
    let last = start(31).await;
    let change = UserChange { password: Some("battery staple".to_owned()), ..Default::default() };
    last.change("ann", change, None).await.unwrap();
    assert_eq!(start(32).await.session_user(&kept), None);
    assert!(before.catalog.snapshot().documents("session").is_empty());
}

#[tokio::test]
async fn a_lock_a_new_password_and_a_removal_end_the_sessions_in_the_same_change() {
    let mut house = house(AuthenticationSettings::default()).await;
    house.accounts.keep_sessions();
    let number = || house.catalog.snapshot().number();
    let lock = UserChange { locked: Some(true), ..Default::default() };
    let unlock = UserChange { locked: Some(false), ..Default::default() };
    let password = UserChange { password: Some("battery staple".to_owned()), ..Default::default() };
    for change in [Some(password), Some(lock), None] {
        house.change(unlock.clone()).await.unwrap();
        for _ in 0..2 {
            house.accounts.open_session("ann", None).await;
        }
        assert_eq!(house.catalog.snapshot().documents("session").len(), 2);
        let before = number();
        match change {
            Some(change) => assert!(house.change(change).await.unwrap()),
            None => assert!(house.accounts.remove("ann").await.unwrap()),
        }
        assert_eq!(number(), before + 1);
        assert!(house.catalog.snapshot().documents("session").is_empty());
    }
}

#[tokio::test]
async fn a_restart_does_not_take_on_the_sessions_of_a_locked_or_removed_user() {
    let mut before = house(AuthenticationSettings::default()).await;
    before.accounts.keep_sessions();
    let key = before.accounts.open_session("ann", None).await;
    let after = async || before.restarted().await.session_user(&key);
    assert_eq!(after().await.as_deref(), Some("ann"));
    // The state that remains if a process is killed before it ends the sessions.
    let locked = crate::User { locked: true, ..before.accounts.user("ann").unwrap() };
    before.catalog.put_document("users", "ann", serde_json::json!(locked)).await.unwrap();
    assert_eq!(after().await, None);
    before.catalog.delete_document("users", "ann").await.unwrap();
    assert_eq!(after().await, None);
    assert_eq!(before.catalog.snapshot().documents("session").len(), 1);
}

#[tokio::test]
async fn sessions_that_were_left_behind_are_removed_in_one_change() {
    let mut house = house(AuthenticationSettings::default()).await;
    house.accounts.keep_sessions();
    for _ in 0..5 {
        house.accounts.open_session("ann", None).await;
    }
    house.clock.set(EventTime(1_700_000_000_000_000 + 90_000 * 1_000_000));
    let after = house.restarted().await;
    let number = house.catalog.snapshot().number();
    let mut ended = 0;
    for _ in 0..40 {
        ended += after.take_expired_sessions().await.len();
    }
    assert_eq!((ended, house.catalog.snapshot().number()), (5, number + 1));
    assert!(house.catalog.snapshot().documents("session").is_empty());
}

#[tokio::test]
async fn a_session_is_not_left_behind_while_it_is_used_and_nobody_was_told() {
    let mut house = house(AuthenticationSettings::default()).await;
    house.accounts.keep_sessions();
    let key = house.accounts.open_session("ann", None).await;
    // The document is older than the idle time-out; the session in memory is not.
    house.clock.set(EventTime(1_700_000_000_000_000 + 70 * 60_000_000));
    for _ in 0..40 {
        assert!(house.accounts.take_expired_sessions().await.is_empty());
    }
    assert_eq!(house.accounts.sessions().len(), 1);
    assert_eq!(house.accounts.session_user(&key).as_deref(), Some("ann"));
}

#[tokio::test]
async fn a_session_lives_while_one_of_the_processes_is_asked_with_its_key() {
    let idle = Duration::from_secs(1);
    let [one, two] = two_houses(SessionSettings { idle, ..Default::default() }).await;
    let key = one.accounts.open_session("ann", None).await;
    let began = std::time::Instant::now();
    // The clock advances, as the real one does.
    let advance = || {
        let since = i64::try_from(began.elapsed().as_micros()).unwrap();
        one.clock.set(EventTime(1_700_000_000_000_000 + since));
    };
    let mut before = began;
    while began.elapsed() < idle * 5 / 2 {
        advance();
        let user = two.accounts.session_user(&key);
        tokio::time::sleep(idle / 50).await;
        advance();
        let expired = one.accounts.take_expired_sessions().await;
        // A busy machine may sleep for longer than the session lives.
        if std::mem::replace(&mut before, std::time::Instant::now()).elapsed() > idle / 4 {
            return;
        }
        assert_eq!((user.as_deref(), expired.len()), (Some("ann"), 0));
    }
    let user = one.accounts.session_user(&key);
    if before.elapsed() < idle / 4 {
        assert_eq!(user.as_deref(), Some("ann"), "it is used at the other one");
    }
    tokio::time::sleep(idle * 2).await;
    advance();
    assert_eq!(two.accounts.session_user(&key), None);
    // The process that opened it records its end, once.
    assert!(two.accounts.take_expired_sessions().await.is_empty());
    let expired = one.accounts.take_expired_sessions().await;
    assert_eq!((expired.len(), expired[0].limit), (1, "sessionTimeout"));
    // A record of a use that was written late is removed, too.
    for _ in 0..40 {
        assert!(one.accounts.take_expired_sessions().await.is_empty());
    }
    for kind in ["session", "session_use"] {
        assert!(one.catalog.snapshot().documents(kind).is_empty());
    }
}

#[tokio::test]
async fn sessions_are_limited_over_all_processes_and_none_is_left_behind() {
    let sessions = SessionSettings { per_user: 2, ..Default::default() };
    let [one, two] = two_houses(sessions).await;
    let mut keys = Vec::new();
    for number in 0..4 {
        one.clock.set(EventTime(1_700_000_000_000_000 + number * 1_000_000));
        let house = if number % 2 == 0 { &one } else { &two };
        keys.push(house.accounts.open_session("ann", None).await);
    }
    let alive = |house: &House| -> Vec<bool> {
        keys.iter().map(|key| house.accounts.session_user(key).is_some()).collect()
    };
    assert_eq!(alive(&one), [false, false, true, true]);
    assert_eq!(alive(&two), [false, false, true, true]);
    // The process that opened a session does not run any more; the leader removes the document.
    drop(two);
    one.clock.set(EventTime(1_700_000_000_000_000 + 90_000 * 1_000_000));
    let mut ended = Vec::new();
    for _ in 0..40 {
        ended.extend(one.accounts.take_expired_sessions().await);
    }
    assert!(one.catalog.snapshot().documents("session").is_empty());
    assert!(ended.iter().all(|session| session.user == "ann") && !ended.is_empty());
}

#[tokio::test]
async fn a_session_that_has_ended_does_not_come_back_while_the_catalog_takes_no_change() {
    let [one, two] = two_houses(SessionSettings::default()).await;
    let [first, second] = [
        one.accounts.open_session("ann", None).await,
        one.accounts.open_session("ann", None).await,
    ];
    one.catalog.close().await.unwrap();
    let told = one.accounts.close_session(&first).await.1.unwrap_err();
    assert_eq!(told.kind(), model::ErrorKind::Unavailable);
    assert!(told.to_string().contains("other processes accept the session"), "{told}");
    assert_eq!(one.accounts.arriving_session_user(&first).await, None);
    assert_eq!(one.accounts.sessions().len(), 1);
    // Elsewhere it is valid until the catalog takes the change.
    assert!(two.accounts.session_user(&first).is_some());
    assert!(one.accounts.session_user(&second).is_some());
}

type Changing<'a> = Pin<Box<dyn Future<Output = Result<(), catalog::Error>> + Send + 'a>>;

/// A catalog whose object storage may be slow: then each change fails, and is made later.
struct Slow {
    rules: Mutex<Rules>,
    view: Arc<watch::Sender<Arc<Snapshot>>>,
    /// The pending changes, while the catalog is slow.
    late: Mutex<Option<Vec<Documents>>>,
}

impl Slow {
    fn open() -> (Arc<Self>, Catalog) {
        let view = Arc::new(watch::Sender::new(Arc::new(Snapshot::default())));
        let rules = Mutex::new(Rules::over(Snapshot::default()));
        let slow = Arc::new(Self { rules, view: Arc::clone(&view), late: Mutex::default() });
        (Arc::clone(&slow), Catalog::simulated(view, slow))
    }

    fn make(&self, documents: Documents) -> Result<(), catalog::Error> {
        let mut rules = self.rules.lock();
        rules.documents(documents)?;
        self.view.send_replace(rules.snapshot());
        Ok(())
    }

    fn is_slow_from_now_on(&self) {
        *self.late.lock() = Some(Vec::new());
    }

    fn makes_what_is_late(&self) {
        let mut late = self.late.lock();
        for documents in late.take().unwrap() {
            self.make(documents).unwrap();
        }
    }
}

impl Changes for Slow {
    fn commit(&self, _: Commit) -> Changing<'_> {
        Box::pin(async { Ok(()) })
    }

    fn documents(&self, documents: Documents) -> Changing<'_> {
        Box::pin(async move {
            let mut late = self.late.lock();
            let Some(late) = late.as_mut() else { return self.make(documents) };
            late.push(documents);
            let (leader, reason) = ("slow".to_owned(), "it is under way".to_owned());
            Err(catalog::Error::Unreachable { leader, seconds: 20, reason })
        })
    }
}

#[tokio::test]
async fn a_session_that_has_ended_does_not_come_back_when_its_document_is_late() {
    let (slow, catalog) = Slow::open();
    let clock = Arc::new(ManualClock::new(EventTime(1_700_000_000_000_000)));
    let settings = AuthenticationSettings::default();
    let accounts = Accounts::load(catalog.clone(), settings, clock.clone()).await.unwrap();
    let mut house = House { accounts, catalog, clock };
    house.accounts.keep_sessions();
    house.add("ann", "correct horse").await.unwrap();
    slow.is_slow_from_now_on();
    let [kept, closed, closed_by_id] = [
        house.accounts.open_session("ann", None).await,
        house.accounts.open_session("ann", None).await,
        house.accounts.open_session("ann", Some(IpAddr::from([192, 0, 2, 1]))).await,
    ];
    let told = house.accounts.close_session(&closed).await.1.unwrap_err().to_string();
    assert!(told.contains("if the process ends before the end is stored"), "{told}");
    let mut all = house.accounts.sessions().into_iter();
    let by_id = all.find(|session| session.source.is_some()).unwrap();
    assert!(house.accounts.close_session_by_id(&by_id.id).await.is_err());
    slow.makes_what_is_late();
    assert_eq!(house.catalog.snapshot().documents("session").len(), 1);
    let users = [&kept, &closed, &closed_by_id].map(|key| house.accounts.session_user(key));
    assert_eq!(users, [Some("ann".to_owned()), None, None]);
}
