//! Decoders of data on disks and in object stores, and of files from administrators.

use std::hint::black_box;
use std::sync::Arc;

use apps::Install;
use arrow::array::AsArray;
use arrow::datatypes::DataType;
use bucket::{BucketReader, NoFields, TermHash, WriteOptions, write_bucket};
use conf::{Layer, Layers};
use futures::StreamExt;
use knowledge::Knowledge;
use model::{BucketId, IndexName};
use object_store::memory::InMemory;
use object_store::path::Path;
use object_store::{ObjectStore, ObjectStoreExt};

use super::Target;

pub(super) const JOURNAL: Target = Target {
    name: "journal",
    decode: ingest::fuzzing::journal,
    seeds: ingest::fuzzing::journal_seeds,
    words: &["\0\0\0\0", "main", "\u{7f}"],
};

pub(super) const REMOTE_JOURNAL: Target = Target {
    name: "remote-journal",
    decode: ingest::fuzzing::remote_journal,
    seeds: ingest::fuzzing::remote_journal_seeds,
    words: &["\0\0\0\0", "main", "kJrn", "KARSTRJL"],
};

pub(super) const BUCKET: Target = Target {
    name: "bucket",
    decode: |bytes| {
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let Ok(runtime) = runtime else { return };
        runtime.block_on(read_bucket(bytes.to_vec()));
    },
    seeds: || vec![bucket_of(&["GET /a status=200", "POST /b status=404", "error é"])],
    words: &["PAR1", "\0\0\0\0", "_raw"],
};

fn bucket_of(texts: &[&str]) -> Vec<u8> {
    let columns = ingest::fuzzing::rows(texts);
    let index = IndexName::new("main").expect("it is a name");
    let id = BucketId(uuid::Uuid::from_u128(7));
    let written = write_bucket(id, &index, &[columns], &NoFields, &WriteOptions::default());
    written.expect("rows can be written").bytes.to_vec()
}

async fn read_bucket(bytes: Vec<u8>) {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let (path, size) = (Path::from("bucket"), bytes.len() as u64);
    if store.put(&path, bytes.into()).await.is_err() {
        return;
    }
    let Ok(reader) = BucketReader::open(store, &path, size).await else { return };
    let _ = black_box(reader.lookup(&[TermHash::of("error"), TermHash::of("none")]).await);
    let Ok(mut rows) = reader.read_rows(100).await else { return };
    // The maximum number of batches of this bucket; damage ends the stream.
    for _ in 0..10 {
        match rows.next().await {
            Some(Ok(batch)) => drop(black_box(batch)),
            Some(Err(_)) | None => return,
        }
    }
}

pub(super) const PAGES: Target = Target {
    name: "pages",
    decode: |bytes| {
        let text = String::from_utf8_lossy(bytes);
        let lines: Vec<&str> = text.split('\n').collect();
        let runtime = tokio::runtime::Builder::new_current_thread().build();
        let Ok(runtime) = runtime else { return };
        let mut read = runtime.block_on(texts_of(bucket_of(&lines)));
        read.sort_unstable();
        let mut written: Vec<String> = lines.into_iter().map(str::to_owned).collect();
        written.sort_unstable();
        assert_eq!(read, written, "events of a bucket are those that it was written from");
    },
    seeds: || {
        let varied: Vec<String> = (0..300)
            .map(|n| format!("GET /item/{} status={} took={n}ms", n % 7, 200 + n % 3))
            .collect();
        vec![
            b"one\n\ntwo\ntwo".to_vec(),
            varied.join("\n").into_bytes(),
            "é=1\n".repeat(70).into_bytes(),
        ]
    },
    words: &["\n", "\n\n", "a=1 ", "\0", "\u{7f}", "{\"a\":[1,2]}", "9223372036854775808", "ä"],
};

async fn texts_of(bucket: Vec<u8>) -> Vec<String> {
    let store: Arc<dyn ObjectStore> = Arc::new(InMemory::new());
    let (path, size) = (Path::from("bucket"), bucket.len() as u64);
    store.put(&path, bucket.into()).await.expect("memory takes an object");
    let reader = BucketReader::open(store, &path, size).await.expect("the bucket opens");
    let mut rows = reader.read_rows(64).await.expect("the bucket is read");
    let mut texts = Vec::new();
    while let Some(batch) = rows.next().await {
        let batch = batch.expect("the pages are whole");
        let raw = batch.column_by_name("_raw").expect("events have text");
        let raw = arrow::compute::cast(raw, &DataType::Utf8).expect("text is text");
        texts.extend(raw.as_string::<i32>().iter().map(|text| text.unwrap_or_default().to_owned()));
    }
    texts
}

pub(super) const CATALOG: Target = Target {
    name: "catalog",
    decode: |bytes| {
        // The first byte is the length of the key.
        let Some((cut, rest)) = bytes.split_first() else { return };
        let (key, value) = rest.split_at(usize::from(*cut).min(rest.len()));
        catalog::fuzzing::entry(key, value);
    },
    seeds: || {
        let joined = |(key, value): (Vec<u8>, Vec<u8>)| {
            let cut = u8::try_from(key.len()).unwrap_or(u8::MAX);
            [vec![cut], key, value].concat()
        };
        catalog::fuzzing::entries().into_iter().map(joined).collect()
    },
    words: &["\x01", "\0", "{}", "null"],
};

pub(super) const CONF: Target = Target {
    name: "conf",
    decode: |bytes| {
        let text = String::from_utf8_lossy(bytes);
        // One file per input, without the built-in ones, because compiling those takes 12 ms.
        let files = ["props", "transforms", "indexes", "inputs", "limits", "macros"];
        let sum: usize = bytes.iter().map(|byte| usize::from(*byte)).sum();
        let layers = Layers::default().with(Layer::SystemLocal, files[sum % files.len()], &text);
        let knowledge = Knowledge::new(layers);
        let _ = black_box((knowledge.errors().len(), knowledge.warnings().len()));
    },
    seeds: || {
        let texts = [
            "# a comment\n[syslog]\nTRUNCATE = 100\nEXTRACT-a = (?<x>\\d+) in source\nSEDCMD-b = s/a/b/g\n",
            "[source::/var/log/*.log]\nLINE_BREAKER = ([\\r\\n]+)\nTIME_FORMAT = %Y-%m-%d %H:%M:%S.%3N %z\n\
             TRANSFORMS-x = a, b\nREPORT-y = c\nEVAL-z = if(x>1, \"a\", lower(b))\n",
            "[a]\nREGEX = (\\w+)=(\\S+)\nFORMAT = $1::$2\nDEST_KEY = _meta\nfilename = a.csv\nmax_matches = 1\n",
            "[main]\nmaxDataSize = auto\nfrozenTimePeriodInSecs = 100\n[http]\nport = 1\n[default]\nx = \\\n y\n",
        ];
        texts.iter().map(|text| text.as_bytes().to_vec()).collect()
    },
    words: &[
        "[",
        "]",
        "=",
        "\n",
        "\\\n",
        "#",
        "(?<",
        ")*",
        "(a*)*",
        "{1000}",
        "{1000,}",
        "$1",
        "::",
        "...",
        "*",
        "default",
        "REGEX = ",
        "EXTRACT-",
        "EVAL-",
        "TIME_FORMAT = ",
        "\u{feff}",
        "ä",
        "\r",
    ],
};

pub(super) const APP: Target = Target {
    name: "app",
    decode: |bytes| {
        let Ok(directory) = tempfile::tempdir() else { return };
        let from = directory.path().join("app.tgz");
        if std::fs::write(&from, bytes).is_err() {
            return;
        }
        let to = directory.path().join("etc");
        let settings = conf::Registry::new(&[knowledge::settings::DECLARED]);
        let _ = black_box(apps::install(&Install { from, to, update: false }, &settings));
    },
    seeds: || archive().into_iter().collect(),
    words: &["../", "/", "default/", "\0\0\0\0\0\0\0\0", "ustar"],
};

/// A packed app.
fn archive() -> Option<Vec<u8>> {
    let packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::none());
    let mut archive = tar::Builder::new(packer);
    let files = [
        ("app/default/app.conf", "[launcher]\nversion = 1\n"),
        ("app/default/props.conf", "[a]\nTRUNCATE = 1\n"),
        ("app/lookups/a.csv", "a,b\n1,2\n"),
    ];
    for (path, text) in files {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        archive.append_data(&mut header, path, text.as_bytes()).ok()?;
    }
    archive.into_inner().ok()?.finish().ok()
}

pub(super) const STATES: Target = Target {
    name: "states",
    decode: exprs::aggregates::fuzzing::states,
    seeds: exprs::aggregates::fuzzing::state_seeds,
    words: &[
        "\u{1}\u{1}\0",
        "\u{1}\0\0\0\0\0\0\0\u{7f}",
        "\u{1}\0\0\0\0\0\0\u{70}\u{7f}",
        "\0\0\0\0",
        "\u{1}\u{3}\0nan",
    ],
};
