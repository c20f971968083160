//! SAML logins from outside of the crate.

#![allow(clippy::unwrap_used)]

mod fixture;
/// Every change of a byte is noticed, or changes nothing.
mod mutations;
/// Settings, requests, metadata.
mod requests;
/// Responses of providers, and what they are refused for.
mod responses;
/// Signed elements that were moved, copied or hidden.
mod wrapping;
