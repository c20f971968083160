//! The queue: which one, how it is reached, and its four calls.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use aws_config::{BehaviorVersion, Region};
use aws_sdk_sqs::Client;
use aws_sdk_sqs::config::Credentials;
use aws_sdk_sqs::error::DisplayErrorContext;
use aws_smithy_http_client::tls;
use model::{ErrorKind, IndexName};

use super::object::Decoder;
use super::reader::SqsReader;
use super::taken::Taken;
use crate::Error;

/// Maximum number of object names that are remembered to detect repeated messages.
const REMEMBERED: usize = 100_000;
/// Time that one call waits for messages, in seconds.
const LONG_POLL: i32 = 20;

/// A queue that tells of new objects.
#[derive(Debug, Clone)]
pub struct SqsInput {
    /// The name in the stanza.
    pub name: String,
    /// The queue's address.
    pub queue_url: String,
    /// The region of the queue; `None`: the one in the address, otherwise `AWS_REGION`.
    pub region: Option<String>,
    /// The endpoint of SQS, instead of AWS.
    pub sqs_endpoint: Option<String>,
    /// The endpoint of S3, instead of AWS; `None`: `AWS_ENDPOINT`.
    pub s3_endpoint: Option<String>,
    /// Messages that are worked on at the same time, 1 to 10.
    pub batch_size: i32,
    /// Time for which a message is hidden from other consumers; it is extended while its objects are read.
    pub visibility_timeout: Duration,
    /// How objects are split into events.
    pub decoder: Decoder,
    /// The index of events.
    pub index: IndexName,
    /// The host of events.
    pub host: Arc<str>,
    /// Their source; `None`: `s3://bucket/key`.
    pub source: Option<Arc<str>>,
    /// Their format; `None`: recognised.
    pub sourcetype: Option<Arc<str>>,
}

impl SqsInput {
    /// A queue with usual limits.
    #[must_use]
    pub fn new(name: &str, queue_url: &str, index: IndexName) -> Self {
        Self {
            name: name.to_owned(),
            queue_url: queue_url.to_owned(),
            region: None,
            sqs_endpoint: None,
            s3_endpoint: None,
            batch_size: 10,
            visibility_timeout: Duration::from_secs(300),
            decoder: Decoder::CustomLogs,
            index,
            host: "localhost".into(),
            source: None,
            sourcetype: None,
        }
    }

    /// Its name as a file's.
    pub(crate) fn file_name(&self) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' };
        self.name.chars().map(plain).collect()
    }

    /// Makes the clients; nothing is asked of the network yet, unless credentials are.
    ///
    /// # Errors
    /// The list of objects that were taken in cannot be read.
    pub async fn open(
        self,
        taken: &Path,
        aws: &BTreeMap<String, String>,
    ) -> Result<SqsReader, Error> {
        let fail = |error| Error::checkpoints(taken.display(), error);
        let taken = Taken::open(taken, REMEMBERED).map_err(fail)?;
        let client = self.client(aws).await;
        let mut variables = aws.clone();
        if let Some(endpoint) = &self.s3_endpoint {
            variables.insert("AWS_ENDPOINT".to_owned(), endpoint.clone());
        }
        if let Some(region) = self.region_of(aws) {
            variables.entry("AWS_REGION".to_owned()).or_insert(region);
        }
        Ok(SqsReader::new(Queue { client, url: self.queue_url.clone() }, self, taken, variables))
    }

    async fn client(&self, aws: &BTreeMap<String, String>) -> Client {
        let provider = tls::Provider::Rustls(tls::rustls_provider::CryptoMode::Ring);
        let http = aws_smithy_http_client::Builder::new().tls_provider(provider).build_https();
        let mut loader = aws_config::defaults(BehaviorVersion::latest()).http_client(http);
        if let Some(region) = self.region_of(aws) {
            loader = loader.region(Region::new(region));
        }
        let variable = |name: &str| aws.get(name).cloned();
        if let (Some(key), Some(secret)) =
            (variable("AWS_ACCESS_KEY_ID"), variable("AWS_SECRET_ACCESS_KEY"))
        {
            let token = variable("AWS_SESSION_TOKEN");
            loader =
                loader.credentials_provider(Credentials::new(key, secret, token, None, "karst"));
        }
        let endpoint = self.sqs_endpoint.clone().or_else(|| variable("AWS_ENDPOINT_URL_SQS"));
        if let Some(endpoint) = endpoint {
            loader = loader.endpoint_url(endpoint);
        }
        Client::new(&loader.load().await)
    }

    fn region_of(&self, aws: &BTreeMap<String, String>) -> Option<String> {
        let from_url = || {
            let host = self.queue_url.split("://").nth(1)?.split('/').next()?;
            let mut names = host.split('.');
            (names.next()? == "sqs").then(|| names.next().map(str::to_owned))?
        };
        let from_variables = || aws.get("AWS_REGION").or(aws.get("AWS_DEFAULT_REGION")).cloned();
        self.region.clone().or_else(from_url).or_else(from_variables)
    }
}

/// A message.
#[derive(Debug, Clone)]
pub(crate) struct Message {
    pub(crate) id: String,
    pub(crate) receipt: String,
    pub(crate) body: String,
}

/// See the module.
#[derive(Debug, Clone)]
pub(crate) struct Queue {
    client: Client,
    url: String,
}

impl Queue {
    pub(crate) async fn receive(
        &self,
        most: i32,
        visibility: Duration,
    ) -> Result<Vec<Message>, Error> {
        let answer = self
            .client
            .receive_message()
            .queue_url(&self.url)
            .max_number_of_messages(most)
            .wait_time_seconds(LONG_POLL)
            .visibility_timeout(seconds(visibility))
            .send()
            .await
            .map_err(|error| self.fail("receive from", DisplayErrorContext(&error)))?;
        let message = |message: aws_sdk_sqs::types::Message| {
            Some(Message {
                id: message.message_id.unwrap_or_default(),
                receipt: message.receipt_handle?,
                body: message.body.unwrap_or_default(),
            })
        };
        Ok(answer.messages.unwrap_or_default().into_iter().filter_map(message).collect())
    }

    pub(crate) async fn delete(&self, message: &Message) -> Result<(), Error> {
        let call = self.client.delete_message().queue_url(&self.url);
        let sent = call.receipt_handle(&message.receipt).send().await;
        let fail = |error| self.fail("delete from", DisplayErrorContext(&error));
        sent.map(drop).map_err(fail)
    }

    /// Hides a message from other consumers for this time from now on.
    pub(crate) async fn hold(&self, message: &Message, time: Duration) -> Result<(), Error> {
        let call = self.client.change_message_visibility().queue_url(&self.url);
        let call = call.receipt_handle(&message.receipt).visibility_timeout(seconds(time));
        let fail = |error| self.fail("hold a message of", DisplayErrorContext(&error));
        call.send().await.map(drop).map_err(fail)
    }

    fn fail(&self, what: &str, error: impl std::fmt::Display) -> Error {
        let reason = format!("cannot {what} the queue {}: {error}", self.url);
        Error::Refused { kind: ErrorKind::Unavailable, reason: reason.into() }
    }
}

fn seconds(time: Duration) -> i32 {
    i32::try_from(time.as_secs()).unwrap_or(i32::MAX)
}
