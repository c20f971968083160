//! The parameter `bundle` of searches: the version of the installed apps by which a search is planned.

use search::JobRequest;

use crate::ApiState;
use crate::error::RestError;
use crate::params::Params;
use crate::session::Caller;

/// The capability that a search by an earlier bundle needs: the permissions that are checked are those of the
/// apps in force, and may not know the objects of an earlier bundle.
const CAPABILITY: &str = "admin_all_objects";

/// Sets the bundle by which a search is planned, if the request names one.
pub(super) async fn set_bundle(
    state: &ApiState,
    params: &Params,
    caller: &Caller,
    request: &mut JobRequest,
) -> Result<(), RestError> {
    let Some(bundle) = params.text("bundle") else { return Ok(()) };
    caller.require(CAPABILITY)?;
    request.bundle = Some(Box::pin(state.apps.at(bundle)).await?);
    // The text may begin with a command of one of these apps.
    if let Some(search) = state.search.with_pipe(request) {
        request.search = search;
    }
    Ok(())
}
