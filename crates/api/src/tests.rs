//! The whole REST service in this process: every route with its normal answer and an invalid request, every
//! path and command in every role, and the pages that come from the routes.

mod accounts;
mod apps;
pub(crate) mod cases;
mod console;
mod deployment;
mod followed_inputs;
mod job_stream;
mod jobs;
mod matrix;
mod objects;
pub(crate) mod openapi;
mod page;
mod quotas;
pub(crate) mod server;
