//! Events in one line, buckets in memory, and a store that counts.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, AsArray, DictionaryArray, RecordBatch, StringArray, StringViewArray,
    TimestampMicrosecondArray,
};
use arrow::datatypes::{Int32Type, Int64Type, TimestampMicrosecondType};
use async_trait::async_trait;
use bucket::{
    BucketReader, FieldExtractor, FieldSource, GranuleSet, NoFields, WriteOptions, Written,
    hot_schema, write_bucket,
};
use bytes::Bytes;
use futures::TryStreamExt;
use futures::stream::BoxStream;
use model::{BucketId, IndexName};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{
    CopyOptions, GetOptions, GetResult, ListResult, MultipartUpload, ObjectMeta, ObjectStore,
    ObjectStoreExt, PutMultipartOptions, PutOptions, PutPayload, PutResult, Result,
};
use parking_lot::Mutex;

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Event {
    pub(crate) time: i64,
    pub(crate) index_time: i64,
    pub(crate) raw: String,
    pub(crate) host: String,
    pub(crate) sourcetype: String,
    pub(crate) fields: Option<String>,
}

pub(crate) fn event(time: i64, index_time: i64, raw: &str) -> Event {
    let (raw, host, sourcetype) = (raw.into(), "web1".into(), "app".into());
    Event { time, index_time, raw, host, sourcetype, fields: None }
}

/// One event per line, a second apart.
pub(crate) fn lines<S: AsRef<str>>(lines: impl IntoIterator<Item = S>) -> Vec<Event> {
    let numbered = lines.into_iter().enumerate();
    numbered.map(|(at, raw)| event(at as i64 * 1_000_000, at as i64, raw.as_ref())).collect()
}

pub(crate) fn batch(events: &[Event]) -> RecordBatch {
    let times = |pick: fn(&Event) -> i64| {
        let values = events.iter().map(pick).collect::<Vec<_>>();
        Arc::new(TimestampMicrosecondArray::from(values).with_timezone("UTC")) as ArrayRef
    };
    let names = |pick: fn(&Event) -> &str| {
        Arc::new(events.iter().map(pick).collect::<DictionaryArray<Int32Type>>()) as ArrayRef
    };
    let raw = StringViewArray::from_iter_values(events.iter().map(|event| &event.raw));
    let fields: StringArray = events.iter().map(|event| event.fields.as_deref()).collect();
    let columns: Vec<ArrayRef> = vec![
        times(|event| event.time),
        times(|event| event.index_time),
        Arc::new(raw),
        names(|event| &event.host),
        names(|_| "/var/log/app.log"),
        names(|event| &event.sourcetype),
        Arc::new(fields),
    ];
    RecordBatch::try_new(hot_schema(), columns).unwrap()
}

pub(crate) fn small() -> WriteOptions {
    WriteOptions { granule_rows: 64, row_group_rows: 256, ..WriteOptions::default() }
}

pub(crate) fn id() -> BucketId {
    BucketId(uuid::Uuid::from_u128(7))
}

pub(crate) fn written(
    events: &[Event],
    fields: &dyn FieldSource,
    options: &WriteOptions,
) -> Written {
    write_bucket(id(), &IndexName::new("main").unwrap(), &[batch(events)], fields, options).unwrap()
}

pub(crate) fn plain(events: &[Event]) -> Written {
    written(events, &NoFields, &small())
}

pub(crate) async fn open(written: &Written) -> BucketReader {
    open_in(Arc::new(InMemory::new()), written.bytes.clone()).await.unwrap()
}

pub(crate) async fn open_in(
    store: Arc<dyn ObjectStore>,
    bytes: Bytes,
) -> std::result::Result<BucketReader, bucket::Error> {
    let path = Path::from("buckets/main/x.parquet");
    let size = bytes.len() as u64;
    store.put(&path, bytes.into()).await.unwrap();
    BucketReader::open(store, &path, size).await
}

pub(crate) async fn rows(
    reader: &BucketReader,
    columns: &[&str],
    granules: &GranuleSet,
) -> Vec<RecordBatch> {
    reader.read(columns, granules, 1000).await.unwrap().try_collect().await.unwrap()
}

/// The values of a column as text.
pub(crate) fn texts(batches: &[RecordBatch], column: usize) -> Vec<Option<String>> {
    let mut found = Vec::new();
    for batch in batches {
        let column = batch.column(column);
        if let Some(times) = column.as_primitive_opt::<TimestampMicrosecondType>() {
            found.extend(times.iter().map(|time| time.map(|time| time.to_string())));
        } else if let Some(numbers) = column.as_primitive_opt::<Int64Type>() {
            found.extend(numbers.iter().map(|number| number.map(|number| number.to_string())));
        } else if let Some(lists) = column.as_list_opt::<i32>() {
            let joined = |list: ArrayRef| {
                let texts: Vec<&str> = list.as_string_view().iter().flatten().collect();
                texts.join("|")
            };
            found.extend(lists.iter().map(|list| list.map(joined)));
        } else if let Some(names) = column.as_dictionary_opt::<Int32Type>() {
            let names = names.downcast_dict::<StringArray>().unwrap();
            found.extend(names.into_iter().map(|name| name.map(str::to_owned)));
        } else {
            let texts = column.as_string_view().iter();
            found.extend(texts.map(|text| text.map(str::to_owned)));
        }
        assert!(column.len() == batch.num_rows());
    }
    found
}

/// `key=value` pairs between spaces.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Pairs;

impl FieldSource for Pairs {
    fn extractor(&self, _sourcetype: &str, _source: &str, _host: &str) -> Arc<dyn FieldExtractor> {
        Arc::new(Self)
    }
}

impl FieldExtractor for Pairs {
    fn fingerprint(&self) -> u64 {
        42
    }

    fn extract(&self, raw: &str, emit: &mut dyn FnMut(&str, &str)) -> bool {
        for part in raw.split(' ') {
            if let Some((name, value)) = part.split_once('=') {
                emit(name, value);
            }
        }
        !raw.ends_with(" cut")
    }
}

/// Forwards to memory and notes every range that is read.
#[derive(Debug, Default)]
pub(crate) struct CountingStore {
    inner: InMemory,
    pub(crate) reads: Mutex<Vec<Vec<Range<u64>>>>,
}

impl CountingStore {
    pub(crate) fn take(&self) -> Vec<Vec<Range<u64>>> {
        std::mem::take(&mut self.reads.lock())
    }
}

impl fmt::Display for CountingStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("counting store")
    }
}

#[async_trait]
impl ObjectStore for CountingStore {
    async fn put_opts(&self, path: &Path, payload: PutPayload, o: PutOptions) -> Result<PutResult> {
        self.inner.put_opts(path, payload, o).await
    }

    async fn put_multipart_opts(
        &self,
        path: &Path,
        options: PutMultipartOptions,
    ) -> Result<Box<dyn MultipartUpload>> {
        self.inner.put_multipart_opts(path, options).await
    }

    async fn get_opts(&self, path: &Path, options: GetOptions) -> Result<GetResult> {
        let result = self.inner.get_opts(path, options).await?;
        self.reads.lock().push(vec![result.range.clone()]);
        Ok(result)
    }

    async fn get_ranges(&self, path: &Path, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        self.reads.lock().push(ranges.to_vec());
        self.inner.get_ranges(path, ranges).await
    }

    fn delete_stream(
        &self,
        paths: BoxStream<'static, Result<Path>>,
    ) -> BoxStream<'static, Result<Path>> {
        self.inner.delete_stream(paths)
    }

    fn list(&self, prefix: Option<&Path>) -> BoxStream<'static, Result<ObjectMeta>> {
        self.inner.list(prefix)
    }

    async fn list_with_delimiter(&self, prefix: Option<&Path>) -> Result<ListResult> {
        self.inner.list_with_delimiter(prefix).await
    }

    async fn copy_opts(&self, from: &Path, to: &Path, options: CopyOptions) -> Result<()> {
        self.inner.copy_opts(from, to, options).await
    }
}
