//! The words lines are made of, and how often each is drawn.

/// Paths, most frequent first: the k-th is drawn about 1/k as often as the first.
pub const PATHS: [&str; 40] = [
    "/",
    "/products",
    "/search",
    "/cart",
    "/login",
    "/products/shoes",
    "/cart/checkout",
    "/products/shirts",
    "/api/v1/stock",
    "/account",
    "/static/app.js",
    "/static/app.css",
    "/products/jackets",
    "/api/v1/prices",
    "/orders",
    "/cart/items",
    "/products/bags",
    "/help",
    "/api/v1/recommend",
    "/account/orders",
    "/products/socks",
    "/favicon.ico",
    "/logout",
    "/api/v1/reviews",
    "/products/hats",
    "/wishlist",
    "/account/addresses",
    "/checkout/payment",
    "/checkout/confirm",
    "/api/v1/sessions",
    "/products/belts",
    "/returns",
    "/gift-cards",
    "/help/shipping",
    "/stores",
    "/api/v1/coupons",
    "/newsletter",
    "/account/password",
    "/healthz",
    "/admin",
];

/// Methods out of 64.
pub const METHODS: [(&str, usize); 5] =
    [("GET", 44), ("POST", 14), ("PUT", 3), ("DELETE", 2), ("HEAD", 1)];

/// Statuses out of 1,000: 91.0 % are 2xx, 3.0 % 3xx, 4.0 % 4xx, 2.0 % 5xx.
pub const STATUSES: [(u16, usize); 14] = [
    (200, 880),
    (201, 20),
    (204, 10),
    (301, 10),
    (302, 10),
    (304, 10),
    (400, 8),
    (401, 10),
    (403, 4),
    (404, 18),
    (500, 10),
    (502, 4),
    (503, 4),
    (504, 2),
];

/// Marker words, on the events whose number the marker's divides.
pub const MARKERS: [(&str, u64); 7] = [
    ("every1", 1),
    ("every10", 10),
    ("every100", 100),
    ("every1k", 1_000),
    ("every10k", 10_000),
    ("every100k", 100_000),
    ("every1m", 1_000_000),
];

/// Beginnings of a message.
pub const OPENINGS: [&str; 16] = [
    "request served by the primary pool",
    "request served from the edge cache",
    "response sent after template rendering",
    "order draft stored for the customer",
    "customer session was refreshed by token",
    "inventory lookup answered by replica",
    "price list loaded from shared memory",
    "payment provider accepted the request",
    "recommendation model answered in time",
    "search index returned a page of results",
    "cart contents merged with saved items",
    "upstream connection taken from the pool",
    "static content sent without compression",
    "review feed assembled for the product",
    "shipping estimate computed for address",
    "customer profile read from the database",
];

/// Middles of a message.
pub const MIDDLES: [&str; 16] = [
    " with warm connection and valid session,",
    " while the database replica was in sync,",
    " after one retry on the shared connection,",
    " without any retry or fallback involved,",
    " under normal load of the worker threads,",
    " with the feature flag checkout-v2 enabled,",
    " while the background job queue was empty,",
    " using the compressed response of the peer,",
    " after waiting for a lock on the customer row,",
    " with two queries sent to the order database,",
    " because the token in the request was fresh,",
    " although the cache entry was about to expire,",
    " with the default currency and language set,",
    " while a deploy of the service was in progress,",
    " after the rate limit of the client was checked,",
    " with tracing enabled for this customer session,",
];

/// Ends of a message.
pub const ENDS: [&str; 16] = [
    " nothing left to do",
    " result stored in the cache for one minute",
    " connection returned to the pool",
    " upstream closed the idle connection early",
    " response was complete on the first attempt",
    " metrics sent to the collector in the background",
    " customer was redirected to the next step",
    " the worker picked up the next request in line",
    " the session stays valid for thirty minutes",
    " body was sent in a single chunk to the client",
    " slow query log entry was not necessary here",
    " the audit trail has been written to storage",
    " no further action is required by the operator",
    " the replica confirmed the write within its budget",
    " all downstream services reported a healthy state",
    " timeouts and retries stayed within their limits",
];

/// A table to draw from: each entry as often as its weight says, `N` in all.
pub(crate) fn weighted<const N: usize>(weights: impl Iterator<Item = usize>) -> [u8; N] {
    let mut table = [0; N];
    let mut filled = 0;
    for (entry, weight) in weights.enumerate() {
        let end = (filled + weight).min(N);
        // Tables have at most 40 entries.
        table[filled..end].fill(u8::try_from(entry).unwrap_or(u8::MAX));
        filled = end;
    }
    assert_eq!(filled, N, "the weights of a table must add up to its size");
    table
}

/// How many of 4,096 draws each path gets: 1/k, what is left over going to the first.
pub(crate) fn path_weights() -> Vec<usize> {
    let harmonic: usize = (1..=PATHS.len()).map(|k| 1_000_000 / k).sum();
    let mut weights: Vec<usize> =
        (1..=PATHS.len()).map(|k| 4_096 * (1_000_000 / k) / harmonic).collect();
    weights[0] += 4_096 - weights.iter().sum::<usize>();
    weights
}
