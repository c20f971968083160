//! Rate of decoding HEC bodies: megabytes of body per second of one thread, beside its bar. Also that of
//! making events of OTLP log records that share the attributes of their resource.

use std::hint::black_box;
use std::time::{Duration, Instant};

use bytes::Bytes;
use karst_inputs::body::unpack;
use karst_inputs::hec::{HecDefaults, decode_events};
use karst_inputs::otlp::{OtlpDefaults, decode_json, decode_logs};
use karst_inputs::{EventLimits, StreamKey};
use model::IndexName;

/// Megabytes of body per second.
const BAR: f64 = 1_000.0;
const BODY: usize = 1 << 20;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let defaults = HecDefaults {
        index: IndexName::new("main")?,
        host: "10.1.2.3".into(),
        time: None,
        source: "http:bench".into(),
        sourcetype: None,
        extract_time: false,
        limits: EventLimits::default(),
    };
    println!("{:<44} {:>10} {:>8}", "body", "MB/s", "bar");
    for (name, body) in bodies() {
        let decode = |body: &[u8]| {
            let stream = StreamKey("bench".into());
            decode_events(body, &defaults, &|_| true, stream).expect("the body is valid")
        };
        let rate = rate(body.len(), || drop(black_box(decode(black_box(&body)))));
        println!("{name:<44} {rate:>10.0} {BAR:>8.0}");
    }
    let json = otlp();
    let request = decode_json(json.as_bytes())?;
    let of_otlp = OtlpDefaults {
        index: IndexName::new("main")?,
        host: "10.1.2.3".into(),
        source: "otlp:bench".into(),
        sourcetype: None,
        limits: EventLimits::default(),
    };
    let logs = rate(json.len(), || {
        drop(black_box(decode_logs(black_box(&request), &of_otlp, &|_| true)));
    });
    println!("{:<44} {logs:>10.0} {:>8}", "OTLP records of one resource, of JSON bytes", "-");
    let (_, body) = bodies().remove(0);
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    std::io::Write::write_all(&mut packer, &body)?;
    let packed = Bytes::from(packer.finish()?);
    let rate = rate(body.len(), || {
        black_box(unpack(packed.clone(), "gzip", 1 << 30, 64).expect("the body is valid"));
    });
    println!("{:<44} {rate:>10.0} {:>8}", "unpacking gzip, of unpacked bytes", "-");
    Ok(())
}

/// Records of one resource, with 20 attributes that are maps of three values.
fn otlp() -> String {
    let value = |key: &str| format!(r#"{{"key":"{key}","value":{{"stringValue":"of a pod"}}}}"#);
    let map = ["a", "b", "c"].map(value).join(",");
    let attribute =
        |n: usize| format!(r#"{{"key":"k8s.{n}","value":{{"kvlistValue":{{"values":[{map}]}}}}}}"#);
    let attributes = (0..20).map(attribute).collect::<Vec<_>>().join(",");
    let record = |n: usize| format!(r#"{{"body":{{"stringValue":"GET /api/v1/orders/{n}"}}}}"#);
    let records = (0..10_000).map(record).collect::<Vec<_>>().join(",");
    format!(
        r#"{{"resourceLogs":[{{"resource":{{"attributes":[{attributes}]}},
        "scopeLogs":[{{"logRecords":[{records}]}}]}}]}}"#
    )
}

fn bodies() -> Vec<(&'static str, Vec<u8>)> {
    let line = |n: usize| {
        format!(
            "2026-01-02T03:04:{:02}.{:06}Z INFO web-{} \\\"GET /api/v1/orders/{n}?page=2 HTTP/1.1\\\" \
             status=200 bytes={} user_id={} session=\\\"{:016x}\\\" trace_id={:032x} duration_ms={} \
             agent=\\\"Mozilla/5.0 (X11; Linux x86_64)\\\" region=eu-central-1 cached=false",
            n % 60,
            n % 1_000_000,
            n % 16,
            n * 37 % 100_000,
            n * 7919,
            n * 31,
            n * 17,
            n % 977
        )
    };
    let build = |object: &dyn Fn(usize) -> String| {
        let mut body = String::new();
        for n in 0.. {
            body.push_str(&object(n));
            if body.len() >= BODY {
                break;
            }
        }
        body.into_bytes()
    };
    let time = |n: usize| format!("17633{:05}.{:03}", n % 100_000, n % 1_000);
    vec![
        (
            "lines with escaped quotes",
            build(&|n| {
                let (time, line) = (time(n), line(n));
                format!(
                    r#"{{"time":{time},"host":"web-7","source":"/var/log/app","event":"{line}"}}"#
                )
            }),
        ),
        (
            "plain lines, event first",
            build(&|n| {
                let (time, line) = (time(n), line(n).replace("\\\"", "'"));
                format!(r#"{{"event":"{line}","time":{time},"host":"web-{}"}}"#, n % 16)
            }),
        ),
        (
            "objects as events",
            build(&|n| {
                let time = time(n);
                format!(
                    r#"{{"time":{time},"host":"web-7","event":{{"level":"info","n":{n},"message":"{}"}}}}"#,
                    line(n)
                )
            }),
        ),
        (
            "lines with three indexed fields",
            build(&|n| {
                let (time, line) = (time(n), line(n));
                format!(
                    r#"{{"time":{time},"event":"{line}","fields":{{"pod":"web-{n}","ns":"shop","n":3}}}}"#
                )
            }),
        ),
    ]
}

/// The best of several runs: others use this machine too.
fn rate(bytes: usize, mut run: impl FnMut()) -> f64 {
    let mut best = Duration::MAX;
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(1) {
        let begin = Instant::now();
        for _ in 0..10 {
            run();
        }
        best = best.min(begin.elapsed());
    }
    #[allow(clippy::cast_precision_loss)]
    let megabytes = bytes as f64 * 10.0 / 1e6;
    megabytes / best.as_secs_f64()
}
