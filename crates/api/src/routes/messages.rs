//! `/services/messages`: notices for administrators. There are none yet; clients ask all the same.

use axum::response::Response;

use super::feed;
use crate::error::RestError;
use crate::params::Params;

pub(crate) async fn list(params: Params) -> Result<Response, RestError> {
    feed::respond("messages", "/services/messages", Vec::new(), &params)
}
