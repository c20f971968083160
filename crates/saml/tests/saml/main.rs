//! SAML logins from outside of the crate.

#![allow(clippy::unwrap_used)]

mod fixture;
/// Every change of a byte is detected, or has no effect.
mod mutations;
/// Settings, requests, metadata.
mod requests;
/// Responses of providers, and reasons for refusing them.
mod responses;
/// Signed elements that were moved, copied or hidden.
mod wrapping;
