//! The first bytes of a client at a TLS port: plain HTTP gets a readable response instead of a TLS error.

use std::convert::Infallible;
use std::future::{Ready, ready};
use std::io::Write;

use axum::body::Body;
use axum::extract::Request;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use tokio::net::TcpStream;
use tower::Service;

/// First byte of every TLS connection: a handshake record.
const HANDSHAKE: u8 = 0x16;

/// The first action of a client at a TLS port.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum First {
    /// The client begins a handshake.
    Tls,
    /// The client sends other bytes.
    Plain,
    /// The client closes the connection without a byte, as health checks of load balancers do.
    Gone,
}

/// Waits for the first byte of a client, or the end of the connection.
pub(crate) async fn first(socket: &TcpStream) -> First {
    let mut byte = [0_u8];
    match socket.peek(&mut byte).await {
        Ok(0) | Err(_) => First::Gone,
        Ok(_) if byte[0] == HANDSHAKE => First::Tls,
        Ok(_) => First::Plain,
    }
}

/// Responds to every request with a hint; `redirects` sends browsers to the same page with TLS.
pub(crate) fn service(
    redirects: bool,
) -> impl Service<
    Request,
    Response = Response,
    Error = Infallible,
    Future = Ready<Result<Response, Infallible>>,
> + Clone
+ Send
+ 'static {
    tower::service_fn(move |request: Request| ready(Ok(answer(&request, redirects))))
}

fn answer(request: &Request, redirects: bool) -> Response {
    let mut response = Response::new(Body::empty());
    let target = secure_url(request.headers(), request.uri().path_and_query().map(|p| p.as_str()));
    let safe = matches!(*request.method(), Method::GET | Method::HEAD);
    match target {
        Some(target) if redirects && safe => {
            *response.status_mut() = StatusCode::TEMPORARY_REDIRECT;
            response.headers_mut().insert(header::LOCATION, target);
        }
        _ => {
            let text = "This port speaks TLS: use https:// in place of http://.\n";
            *response.status_mut() = StatusCode::BAD_REQUEST;
            *response.body_mut() = Body::from(text);
            let plain = HeaderValue::from_static("text/plain; charset=UTF-8");
            response.headers_mut().insert(header::CONTENT_TYPE, plain);
        }
    }
    let headers = response.headers_mut();
    headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

fn secure_url(headers: &HeaderMap, path: Option<&str>) -> Option<HeaderValue> {
    let host = headers.get(header::HOST)?.to_str().ok()?;
    let path = path.filter(|path| path.starts_with('/')).unwrap_or("/");
    HeaderValue::from_str(&format!("https://{host}{path}")).ok()
}

/// Sends a short refusal to a client, if its socket accepts it without waiting, and closes it.
pub(crate) fn say_busy(socket: TcpStream, setting: &str) {
    let text = format!("Too many connections ([httpServer] {setting}); try again later.\n");
    let answer = format!(
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 5\r\nConnection: close\r\n\
         Content-Type: text/plain\r\nContent-Length: {}\r\n\r\n{text}",
        text.len()
    );
    // `try_write` of the runtime would refuse until its driver has seen that a new socket is writable.
    if let Ok(mut socket) = socket.into_std() {
        let _ = socket.write_all(answer.as_bytes());
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use tokio::io::AsyncWriteExt;

    use super::*;

    #[tokio::test]
    async fn a_client_that_closes_at_once_is_told_apart_from_one_without_tls() {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let cases: [(&[u8], First); 3] =
            [(b"", First::Gone), (b"<13>", First::Plain), (&[HANDSHAKE, 3, 1], First::Tls)];
        for (sent, expected) in cases {
            let mut client = TcpStream::connect(address).await.unwrap();
            client.write_all(sent).await.unwrap();
            drop(client);
            let (socket, _) = listener.accept().await.unwrap();
            assert_eq!(first(&socket).await, expected);
        }
    }

    fn asked(method: Method, path: &str, redirects: bool) -> (u16, Option<String>) {
        let request = Request::builder().method(method).uri(path).header("host", "karst:8000");
        let response = answer(&request.body(Body::empty()).unwrap(), redirects);
        let location = response.headers().get(header::LOCATION);
        let location = location.map(|value| value.to_str().unwrap().to_owned());
        (response.status().as_u16(), location)
    }

    #[test]
    fn a_browser_is_sent_to_the_same_page_with_tls() {
        let (status, location) = asked(Method::GET, "/search?q=1", true);
        assert_eq!((status, location.unwrap().as_str()), (307, "https://karst:8000/search?q=1"));
    }

    #[test]
    fn what_cannot_be_redirected_is_told_what_to_do() {
        assert_eq!(asked(Method::POST, "/services/auth/login", true), (400, None));
        assert_eq!(asked(Method::GET, "/services/collector/health", false), (400, None));
    }
}
