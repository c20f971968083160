//! Arrow Flight SQL, at the management port: the same SQL as `POST /api/v1/sql`, as columns and as a stream.
//!
//! Guarantees: no state between two calls. A handle holds its query, so that any search head may answer
//! the next call; there is nothing to expire, and nothing to close. Rows come as they are found, all of
//! them: a reader that waits makes the query wait, and one that leaves ends it.
//!
//! The range of time, the zone and the app come as headers, as connections of ADBC and JDBC can set them:
//! `karst-earliest`, `karst-latest`, `karst-timezone`, `karst-app`.

mod metadata;
mod statement;

use std::pin::Pin;
use std::sync::Arc;

use arrow::array::RecordBatch;
use arrow::datatypes::{Schema, SchemaRef};
use arrow::ipc::writer::IpcWriteOptions;
use arrow_flight::encode::FlightDataEncoderBuilder;
use arrow_flight::error::FlightError;
use arrow_flight::flight_service_server::{FlightService, FlightServiceServer};
use arrow_flight::sql::metadata::SqlInfoDataBuilder;
use arrow_flight::sql::server::{FlightSqlService, PeekableFlightDataStream};
use arrow_flight::sql::{
    ActionClosePreparedStatementRequest, ActionCreatePreparedStatementRequest,
    ActionCreatePreparedStatementResult, CommandGetCatalogs, CommandGetDbSchemas,
    CommandGetSqlInfo, CommandGetTableTypes, CommandGetTables, CommandPreparedStatementQuery,
    CommandStatementQuery, CommandStatementUpdate, DoPutPreparedStatementResult, ProstMessageExt,
    SqlInfo, TicketStatementQuery,
};
use arrow_flight::{
    Action, FlightDescriptor, FlightEndpoint, FlightInfo, HandshakeRequest, HandshakeResponse,
    IpcMessage, SchemaAsIpc, Ticket,
};
use axum::Router;
use axum::extract::State;
use axum::http::{Extensions, HeaderMap};
use axum::middleware::{Next, from_fn_with_state};
use futures::future::BoxFuture;
use futures::{Stream, StreamExt, TryStreamExt, stream};
use prost::Message;
use search::SqlRequest;
use tonic::metadata::MetadataValue;
use tonic::{Code, Request, Response, Status, Streaming};

use crate::ApiState;
use crate::audit::Observed;
use crate::audit::searches::{self, Rows};
use crate::error::RestError;
use crate::portable::{portable, portable_batch};
use crate::routes::health::text_for;
use crate::routes::sql::{MESSAGE, header_messages};
use crate::session::{self, Caller};
use statement::Statement;

/// The path of the service in gRPC.
const PATH: &str = "/arrow.flight.protocol.FlightService/{*call}";
/// The message for queries that change data.
const READ_ONLY: &str = "events can be changed only by ingest: send a SELECT";

type FlightStream = <Flight as FlightService>::DoGetStream;
type HandshakeStream = Pin<Box<dyn Stream<Item = Result<HandshakeResponse, Status>> + Send>>;

/// Bytes of a message; queries are the largest.
const MAX_MESSAGE_BYTES: usize = 4 << 20;

/// The service's calls.
pub(crate) fn router(state: ApiState) -> Router {
    let service = FlightServiceServer::new(Flight(Arc::new(state.clone())))
        .max_decoding_message_size(MAX_MESSAGE_BYTES);
    Router::new().route_service(PATH, service).layer(from_fn_with_state(state, known_only))
}

/// Accepts known callers, before a message is read. The calls authenticate again, which is cheap by then.
///
/// While a condition is fatal, all calls are refused, as over REST: the results of a query would be
/// incomplete. A handshake only opens a session.
async fn known_only(
    State(state): State<ApiState>,
    request: axum::extract::Request,
    next: Next,
) -> axum::response::Response {
    let source = session::source(request.extensions());
    let caller = match session::caller(&state, request.headers(), source).await {
        Ok((caller, _)) => caller,
        Err(error) => return status_of(&error).into_http(),
    };
    if !request.uri().path().ends_with("/Handshake")
        && let Some(condition) = state.health.fatal()
    {
        return Status::unavailable(text_for(Some(&caller), &condition)).into_http();
    }
    next.run(request).await
}

/// The functions of the server that the calls need. Behind a trait object: the compiler proves for the future
/// of each call that it is `Send`, and would examine the whole server each time
/// (docs/decisions/0042-boxed-futures.md).
trait Server: Send + Sync {
    /// Returns the caller, if the caller may search.
    fn caller<'a>(
        &'a self,
        headers: HeaderMap,
        extensions: &'a Extensions,
    ) -> BoxFuture<'a, Result<Caller, Status>>;

    /// The key of a new session.
    fn open_session<'a>(
        &'a self,
        caller: &'a Caller,
        extensions: &'a Extensions,
    ) -> BoxFuture<'a, String>;

    fn schema(&self, query: SqlRequest) -> BoxFuture<'_, Result<Schema, Status>>;

    fn rows<'a>(
        &'a self,
        query: SqlRequest,
        caller: &'a Caller,
        seen: Observed,
    ) -> BoxFuture<'a, Result<Rows, Status>>;

    fn tables<'a>(
        &'a self,
        query: CommandGetTables,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<RecordBatch, FlightError>>;
}

impl Server for ApiState {
    fn caller<'a>(
        &'a self,
        headers: HeaderMap,
        extensions: &'a Extensions,
    ) -> BoxFuture<'a, Result<Caller, Status>> {
        Box::pin(async move {
            let found = session::caller(self, &headers, session::source(extensions)).await;
            let (caller, _) = found.map_err(|error| status_of(&error))?;
            seen(extensions).caller(&caller.user);
            caller.require("search").map_err(|error| status_of(&error))?;
            Ok(caller)
        })
    }

    fn open_session<'a>(
        &'a self,
        caller: &'a Caller,
        extensions: &'a Extensions,
    ) -> BoxFuture<'a, String> {
        Box::pin(async move {
            let source = session::source(extensions);
            let key = self.accounts.open_session(&caller.user, source).await;
            seen(extensions).opened(&key);
            key
        })
    }

    fn schema(&self, query: SqlRequest) -> BoxFuture<'_, Result<Schema, Status>> {
        Box::pin(async move {
            let schema = self.search.sql_schema(query).await.map_err(search_status)?;
            Ok(portable(&schema))
        })
    }

    fn rows<'a>(
        &'a self,
        query: SqlRequest,
        caller: &'a Caller,
        seen: Observed,
    ) -> BoxFuture<'a, Result<Rows, Status>> {
        Box::pin(async move {
            let started = searches::sql_stream(self, &seen, &caller.user, query).await;
            started.map_err(search_status)
        })
    }

    fn tables<'a>(
        &'a self,
        query: CommandGetTables,
        caller: &'a Caller,
    ) -> BoxFuture<'a, Result<RecordBatch, FlightError>> {
        Box::pin(metadata::tables(&self.search, query, &caller.rights))
    }
}

struct Flight(Arc<dyn Server>);

impl Flight {
    async fn caller<T>(&self, request: &Request<T>) -> Result<Caller, Status> {
        let headers = request.metadata().clone().into_headers();
        self.0.caller(headers, request.extensions()).await
    }

    /// The query of a handle, as its caller may run it.
    fn request(&self, statement: Statement, caller: &Caller) -> Result<SqlRequest, Status> {
        statement.request(&caller.rights).map_err(Status::invalid_argument)
    }

    /// Returns the location of the rows of a statement: this server.
    async fn info_of(
        &self,
        statement: Statement,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        let caller = self.caller(&request).await?;
        let ticket = TicketStatementQuery { statement_handle: statement.handle() };
        let schema = self.0.schema(self.request(statement, &caller)?).await?;
        info(&schema, &ticket, request.into_inner())
    }

    async fn rows_of<T>(
        &self,
        statement: Statement,
        request: &Request<T>,
    ) -> Result<Response<FlightStream>, Status> {
        let caller = self.caller(request).await?;
        let query = self.request(statement, &caller)?;
        let rows = self.0.rows(query, &caller, seen(request.extensions())).await?;
        let messages = header_messages(&rows.messages());
        let schema = SchemaRef::new(portable(rows.schema()));
        let batches = portable_rows(rows, SchemaRef::clone(&schema));
        let encoded = FlightDataEncoderBuilder::new().with_schema(schema).build(batches);
        let mut response: Response<FlightStream> =
            Response::new(encoded.map_err(Status::from).boxed());
        for message in messages {
            if let Ok(text) = MetadataValue::try_from(message.as_bytes()) {
                response.metadata_mut().append(MESSAGE, text);
            }
        }
        Ok(response)
    }

    /// Returns metadata of the server for a caller who may search.
    async fn metadata(
        &self,
        request: &Request<Ticket>,
        batch: Result<RecordBatch, FlightError>,
    ) -> Result<Response<FlightStream>, Status> {
        self.caller(request).await?;
        one_batch(batch)
    }
}

/// Returns the facts about a call for its audit record.
fn seen(extensions: &Extensions) -> Observed {
    extensions.get::<Observed>().cloned().unwrap_or_default()
}

/// Returns a response with one batch, which is sufficient for the metadata of the server and its tables.
fn one_batch(batch: Result<RecordBatch, FlightError>) -> Result<Response<FlightStream>, Status> {
    let batch = batch.map_err(Status::from)?;
    let encoder = FlightDataEncoderBuilder::new().with_schema(batch.schema());
    let encoded = encoder.build(stream::iter([Ok(batch)]));
    Ok(Response::new(encoded.map_err(Status::from).boxed()))
}

/// Converts batches to types that every client reads. An error is the last item.
fn portable_rows(
    rows: Rows,
    schema: SchemaRef,
) -> impl Stream<Item = Result<RecordBatch, FlightError>> + Send {
    stream::unfold(Some((rows, schema)), async |open| {
        let (mut rows, schema) = open?;
        match rows.next().await? {
            Ok(batch) => match portable_batch(&batch, &schema) {
                Ok(batch) => Some((Ok(batch), Some((rows, schema)))),
                Err(error) => Some((Err(FlightError::from(error)), None)),
            },
            Err(error) => Some((Err(FlightError::from(search_status(error))), None)),
        }
    })
}

/// Returns one endpoint without a location, so that the client uses the server that it has asked.
fn info(
    schema: &Schema,
    ticket: &impl ProstMessageExt,
    descriptor: FlightDescriptor,
) -> Result<Response<FlightInfo>, Status> {
    let ticket = Ticket::new(ticket.as_any().encode_to_vec());
    let info = FlightInfo::new()
        .try_with_schema(schema)
        .map_err(|error| Status::internal(error.to_string()))?
        .with_endpoint(FlightEndpoint::new().with_ticket(ticket))
        .with_descriptor(descriptor);
    Ok(Response::new(info))
}

fn search_status(error: search::Error) -> Status {
    use model::ErrorKind as K;
    let code = match error.kind() {
        K::Invalid => Code::InvalidArgument,
        K::Forbidden => Code::PermissionDenied,
        K::NotFound => Code::NotFound,
        K::Conflict => Code::Aborted,
        K::Unavailable => Code::Unavailable,
        K::Exhausted => Code::ResourceExhausted,
        K::Corrupt => Code::DataLoss,
        K::Internal => Code::Internal,
    };
    Status::new(code, error.to_string())
}

fn status_of(error: &RestError) -> Status {
    let code = match error.status.as_u16() {
        401 => Code::Unauthenticated,
        403 => Code::PermissionDenied,
        503 => Code::Unavailable,
        _ => Code::InvalidArgument,
    };
    Status::new(code, error.text.clone())
}

#[tonic::async_trait]
impl FlightSqlService for Flight {
    type FlightService = Self;

    /// A session for a name and a password, as the header `authorization` of the answer.
    async fn do_handshake(
        &self,
        request: Request<Streaming<HandshakeRequest>>,
    ) -> Result<Response<HandshakeStream>, Status> {
        let caller = self.caller(&request).await?;
        if caller.scope.is_some() {
            // A session may do all that its user may.
            return Err(Status::permission_denied(
                "a token needs no login: send it with each call",
            ));
        }
        let key = match caller.session {
            Some(key) => key,
            None => self.0.open_session(&caller, request.extensions()).await,
        };
        let answer = HandshakeResponse { protocol_version: 0, payload: key.clone().into() };
        let mut response: Response<HandshakeStream> =
            Response::new(stream::iter([Ok(answer)]).boxed());
        let bearer = MetadataValue::try_from(format!("Bearer {key}"));
        let bearer = bearer.map_err(|error| Status::internal(error.to_string()))?;
        response.metadata_mut().insert("authorization", bearer);
        Ok(response)
    }

    async fn get_flight_info_statement(
        &self,
        query: CommandStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        let statement = Statement::of(query.query, request.metadata())?;
        self.info_of(statement, request).await
    }

    async fn do_get_statement(
        &self,
        ticket: TicketStatementQuery,
        request: Request<Ticket>,
    ) -> Result<Response<FlightStream>, Status> {
        let statement = Statement::from_handle(&ticket.statement_handle)?;
        self.rows_of(statement, &request).await
    }

    async fn do_action_create_prepared_statement(
        &self,
        query: ActionCreatePreparedStatementRequest,
        request: Request<Action>,
    ) -> Result<ActionCreatePreparedStatementResult, Status> {
        let caller = self.caller(&request).await?;
        let statement = Statement::of(query.query, request.metadata())?;
        let prepared_statement_handle = statement.handle();
        let schema = self.0.schema(self.request(statement, &caller)?).await?;
        let message: Result<IpcMessage, _> =
            SchemaAsIpc::new(&schema, &IpcWriteOptions::default()).try_into();
        let IpcMessage(dataset_schema) =
            message.map_err(|error| Status::internal(error.to_string()))?;
        Ok(ActionCreatePreparedStatementResult {
            prepared_statement_handle,
            dataset_schema,
            ..Default::default()
        })
    }

    async fn do_action_close_prepared_statement(
        &self,
        _: ActionClosePreparedStatementRequest,
        _: Request<Action>,
    ) -> Result<(), Status> {
        Ok(())
    }

    async fn get_flight_info_prepared_statement(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        let statement = Statement::from_handle(&query.prepared_statement_handle)?;
        self.info_of(statement, request).await
    }

    async fn do_get_prepared_statement(
        &self,
        query: CommandPreparedStatementQuery,
        request: Request<Ticket>,
    ) -> Result<Response<FlightStream>, Status> {
        let statement = Statement::from_handle(&query.prepared_statement_handle)?;
        self.rows_of(statement, &request).await
    }

    async fn do_put_prepared_statement_query(
        &self,
        _: CommandPreparedStatementQuery,
        _: Request<PeekableFlightDataStream>,
    ) -> Result<DoPutPreparedStatementResult, Status> {
        Err(Status::unimplemented(
            "parameters of statements are not supported: write the values into the statement",
        ))
    }

    async fn do_put_statement_update(
        &self,
        _: CommandStatementUpdate,
        _: Request<PeekableFlightDataStream>,
    ) -> Result<i64, Status> {
        Err(Status::invalid_argument(READ_ONLY))
    }

    async fn get_flight_info_catalogs(
        &self,
        query: CommandGetCatalogs,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        info(&query.into_builder().schema(), &query, request.into_inner())
    }

    async fn do_get_catalogs(
        &self,
        query: CommandGetCatalogs,
        request: Request<Ticket>,
    ) -> Result<Response<FlightStream>, Status> {
        self.metadata(&request, metadata::catalogs(query)).await
    }

    async fn get_flight_info_schemas(
        &self,
        query: CommandGetDbSchemas,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        info(&query.clone().into_builder().schema(), &query, request.into_inner())
    }

    async fn do_get_schemas(
        &self,
        query: CommandGetDbSchemas,
        request: Request<Ticket>,
    ) -> Result<Response<FlightStream>, Status> {
        self.metadata(&request, metadata::schemas(query)).await
    }

    async fn get_flight_info_tables(
        &self,
        query: CommandGetTables,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        info(&query.clone().into_builder().schema(), &query, request.into_inner())
    }

    async fn do_get_tables(
        &self,
        query: CommandGetTables,
        request: Request<Ticket>,
    ) -> Result<Response<FlightStream>, Status> {
        let caller = self.caller(&request).await?;
        one_batch(self.0.tables(query, &caller).await)
    }

    async fn get_flight_info_table_types(
        &self,
        query: CommandGetTableTypes,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        info(&query.into_builder().schema(), &query, request.into_inner())
    }

    async fn do_get_table_types(
        &self,
        query: CommandGetTableTypes,
        request: Request<Ticket>,
    ) -> Result<Response<FlightStream>, Status> {
        self.metadata(&request, metadata::table_types(query)).await
    }

    async fn get_flight_info_sql_info(
        &self,
        query: CommandGetSqlInfo,
        request: Request<FlightDescriptor>,
    ) -> Result<Response<FlightInfo>, Status> {
        info(SqlInfoDataBuilder::schema(), &query, request.into_inner())
    }

    async fn do_get_sql_info(
        &self,
        query: CommandGetSqlInfo,
        request: Request<Ticket>,
    ) -> Result<Response<FlightStream>, Status> {
        self.metadata(&request, metadata::server(query)).await
    }

    async fn register_sql_info(&self, _: i32, _: &SqlInfo) {}
}
