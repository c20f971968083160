//! The console in a browser: addresses of its views, its session in a cookie, its form key.

use std::sync::Arc;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::http::{HeaderMap, Method, Request, StatusCode};
use axum::middleware::from_fn_with_state;
use axum::routing::get;
use tower::ServiceExt;

use super::server::Server;
use crate::Arrival;
use crate::session::authenticate;

const BROWSER: (&str, &str) = ("accept", "text/html,application/xhtml+xml,*/*;q=0.8");
const HOST: (&str, &str) = ("host", "karst:8000");

struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    text: String,
}

/// A request to the console's port.
async fn ask(
    server: &Server,
    method: Method,
    path: &str,
    sent: &[(&str, &str)],
    body: &str,
) -> Answer {
    let arrival = Arrival { tls: false, web: true };
    let request = Request::builder().method(method).uri(path).extension(arrival);
    let request = sent.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    let request = request.body(Body::from(body.to_owned())).unwrap();
    let Ok(answer) = crate::rest_router(server.state.clone()).oneshot(request).await;
    let (status, headers) = (answer.status(), answer.headers().clone());
    let bytes = to_bytes(answer.into_body(), 1 << 20).await.unwrap();
    Answer { status, headers, text: String::from_utf8_lossy(&bytes).into_owned() }
}

#[tokio::test(flavor = "multi_thread")]
async fn every_address_that_a_browser_opens_is_the_page() {
    let server = Server::with_admin().await;
    for path in [
        "/",
        "/app/search/search?q=index%3Dmain",
        "/en-US/app/search/search",
        "/jobs/17.3/inspect",
        "/monitor/cluster",
        "/app/ops/disk.usage",
    ] {
        let answer = ask(&server, Method::GET, path, &[BROWSER], "").await;
        assert_eq!((answer.status, answer.text.as_str()), (StatusCode::OK, "the page"), "{path}");
        let policy = answer.headers["content-security-policy"].to_str().unwrap();
        assert!(policy.contains("script-src 'self';"), "{path}: {policy}");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn programs_are_told_what_is_not_there() {
    let server = Server::with_admin().await;
    let json = ("accept", "application/json");
    for (path, accept) in [
        ("/app/search/search", json),
        ("/assets/gone.js", ("accept", "*/*")),
        ("/assets/gone.js", BROWSER),
        ("/static/app/ops/gone.css", BROWSER),
        ("/services/gone", BROWSER),
        ("/api/v1/gone", BROWSER),
        ("/saml/gone", BROWSER),
    ] {
        let answer = ask(&server, Method::GET, path, &[accept], "").await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}: {}", answer.text);
    }
    let post = ask(&server, Method::POST, "/app/search/search", &[BROWSER], "").await;
    assert_eq!(post.status, StatusCode::METHOD_NOT_ALLOWED);
    for (path, form) in
        [("/services/gone?output_mode=json", ""), ("/services/gone", "output_mode=json")]
    {
        let answer = ask(&server, Method::POST, path, &[], form).await;
        assert_eq!(answer.status, StatusCode::NOT_FOUND, "{path}: {}", answer.text);
        assert!(answer.text.starts_with('{'), "{path}: {}", answer.text);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_browser_has_its_session_in_a_cookie_and_writes_with_the_form_key() {
    let server = Server::with_admin().await;
    let form = "username=admin&password=changeme-1&cookie=1&output_mode=json";
    let origin = ("origin", "http://karst:8000");
    let login = "/services/auth/login";
    let answer = ask(&server, Method::POST, login, &[HOST, origin], form).await;
    assert_eq!(answer.status, StatusCode::OK, "{}", answer.text);
    let set: Vec<&str> =
        answer.headers.get_all("set-cookie").iter().map(|one| one.to_str().unwrap()).collect();
    let of = |name: &str| *set.iter().find(|one| one.starts_with(name)).unwrap();
    assert!(of("splunkd_8000=").contains("HttpOnly") && of("splunkd_8000=").contains("Strict"));
    assert!(!of("splunkweb_csrf_token_8000=").contains("HttpOnly"));
    let pairs: Vec<&str> = set.iter().filter_map(|one| one.split(';').next()).collect();
    let cookies = pairs.join("; ");
    let key = of("splunkweb_csrf_token_8000=").split(['=', ';']).nth(1).unwrap();
    let search = "search=%7C+makeresults&output_mode=json";
    let jobs = "/services/search/jobs";
    let cookie = ("cookie", cookies.as_str());
    let with_key = [HOST, cookie, ("x-splunk-form-key", key)];
    let started = ask(&server, Method::POST, jobs, &with_key, search).await;
    assert_eq!(started.status, StatusCode::CREATED, "{}", started.text);
    let wrong = [HOST, cookie, ("x-splunk-form-key", "17")];
    for sent in [&wrong[..], &[HOST, cookie], &[HOST, cookie, ("origin", "https://evil.example")]] {
        let refused = ask(&server, Method::POST, jobs, sent, search).await;
        assert_eq!(refused.status, StatusCode::FORBIDDEN, "{sent:?}: {}", refused.text);
    }
    let read = ask(&server, Method::GET, jobs, &[HOST, cookie], "").await;
    assert_eq!(read.status, StatusCode::OK, "{}", read.text);
    let whose = ask(&server, Method::GET, "/services/auth/providers", &[HOST, cookie], "").await;
    assert!(whose.text.contains("\"user\":\"admin\""), "{}", whose.text);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_logout_takes_the_cookie_from_the_browser() {
    let server = Server::with_admin().await;
    let origin = ("origin", "http://karst:8000");
    let form = "username=admin&password=changeme-1&cookie=1&output_mode=json";
    let login = ask(&server, Method::POST, "/services/auth/login", &[HOST, origin], form).await;
    let set = login.headers.get_all("set-cookie").iter().map(|one| one.to_str().unwrap());
    let pairs: Vec<&str> = set.filter_map(|one| one.split(';').next()).collect();
    let session = *pairs.iter().find(|one| one.starts_with("splunkd_8000=")).unwrap();
    let sent = [HOST, origin, ("cookie", session)];
    let logout = ask(&server, Method::POST, "/services/auth/logout", &sent, "").await;
    assert_eq!(logout.status, StatusCode::OK, "{}", logout.text);
    let set: Vec<&str> =
        logout.headers.get_all("set-cookie").iter().map(|one| one.to_str().unwrap()).collect();
    assert_eq!(set, ["splunkd_8000=; Path=/; Max-Age=0; HttpOnly; SameSite=Strict"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_answer_after_the_logout_does_not_give_the_cookie_back() {
    let server = Server::with_admin().await;
    let ended_meanwhile = async |ends: bool| {
        let key = server.state.accounts.open_session("admin", None).await;
        let (accounts, ended) = (Arc::clone(&server.state.accounts), key.clone());
        let slow = move || async move {
            if ends {
                drop(accounts.close_session(&ended).await);
            }
        };
        let state = Arc::new(server.state.clone());
        let authenticated = from_fn_with_state(state, authenticate);
        let router = Router::new().route("/slow", get(slow)).layer(authenticated);
        let request = Request::builder().uri("/slow").header(HOST.0, HOST.1);
        let request = request.header("cookie", format!("splunkd_8000={key}"));
        let Ok(answer) = router.oneshot(request.body(Body::empty()).unwrap()).await;
        (answer.status(), answer.headers().contains_key("set-cookie"))
    };
    assert_eq!(ended_meanwhile(false).await, (StatusCode::OK, true));
    assert_eq!(ended_meanwhile(true).await, (StatusCode::OK, false));
}
