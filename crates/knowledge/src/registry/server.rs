//! Settings of `server.conf`.

use super::{Setting, unused, used};

pub(super) const SETTINGS: &[Setting] = &[
    used("serverName", "[general]: name of this server; default: this machine's name"),
    used(
        "catalogLeaseInterval",
        "[general]: seconds between renewals of the catalog's lease, 1 to 60; default 10",
    ),
    used("parallelIngestionPipelines", "[general]: pipeline sets side by side; default 1"),
    used("sessionTimeout", "[general]: idle time of a login, such as 1h; default 1h"),
    used(
        "maxSessionLifetime",
        "[general]: how long a login lasts, used or not, such as 12h; default 24h",
    ),
    used(
        "maxSessionsPerUser",
        "[general]: logins of a user; the least used end first; default 100",
    ),
    used("maxSessions", "[general]: logins of all users; the least used end first; default 10000"),
    unused("enableSplunkdSSL"),
    used("serverCert", "[sslConfig]: PEM file with certificate and key; default: self-signed"),
    used("port", "[httpServer]: port"),
    used(
        "max_content_length",
        "[httpServer]: bytes of a REST body; default 64MB (Splunk: 2147483648)",
    ),
    used("maxFormParameters", "[httpServer]: parameters of a form; default 10000"),
    used("maxThreads", "[httpServer]: requests served at a time, 0 for 16384; default 0"),
    used(
        "maxSockets",
        "[httpServer]: connections at a time, 0 for a third of the open files allowed, at most 8192; default 0",
    ),
    used(
        "maxSocketsPerClient",
        "[httpServer]: connections of one address (IPv6: network of 64 bits), 0 for half of maxSockets; default 0",
    ),
    used(
        "reservedSockets",
        "[httpServer]: of maxSockets, kept for this machine and the management port; default 32",
    ),
    used("maxHeaderSize", "[httpServer]: bytes of a request's head, 8KB at least; default 64KB"),
    used("headerTimeout", "[httpServer]: seconds for the head of a request; default 30"),
    used("handshakeTimeout", "[httpServer]: seconds for a TLS handshake; default 10"),
    used("bodyIdleTimeout", "[httpServer]: seconds between two pieces of a body; default 30"),
    used(
        "bodyMinRate",
        "[httpServer]: bytes of a body per second of waiting for it, 0 for any; default 256",
    ),
    used("bodyGraceTime", "[httpServer]: seconds of waiting before bodyMinRate counts; default 30"),
    used(
        "streamIdleTimeout",
        "[httpServer]: seconds between two pieces of a stream to receivers/stream; default 600",
    ),
    used(
        "keepAliveIdleTimeout",
        "[httpServer]: seconds between two requests of a connection; default 300 (Splunk: 7200)",
    ),
    used(
        "busyKeepAliveIdleTimeout",
        "[httpServer]: the same while four fifths of maxSockets are taken; default 12",
    ),
    used(
        "responseStallTimeout",
        "[httpServer]: seconds in which a client takes nothing of its answer; default 3600",
    ),
    used(
        "http2MaxStreams",
        "[httpServer]: requests at a time of an HTTP/2 connection; default 128",
    ),
    used(
        "http2MaxHeaderListSize",
        "[httpServer]: bytes of an HTTP/2 request's headers, unpacked; default 16KB",
    ),
    used(
        "http2MaxResets",
        "[httpServer]: HTTP/2 requests cancelled before they are looked at; more end the connection; default 20",
    ),
    used("http2PingInterval", "[httpServer]: seconds of silence before an HTTP/2 ping; default 60"),
    used("http2PingTimeout", "[httpServer]: seconds for its answer; default 20"),
    used(
        "sendStrictTransportSecurityHeader",
        "[httpServer]: browsers that came with TLS are told to come with TLS only; default true (Splunk: false)",
    ),
    used(
        "metricsToken",
        "[httpServer]: what scrapers of /metrics on other machines show as Authorization: Bearer; default: none",
    ),
    used(
        "maxRequestMemory",
        "[httpServer]: memory that all requests together may take for their bodies, packed, unpacked and decoded, such as 512MB; default: an eighth of the machine's memory, at most 1GB",
    ),
    used(
        "requestMemoryWaitSecs",
        "[httpServer]: seconds a request waits for memory that others hold before it is answered with 503; default 5",
    ),
    used("minFreeSpace", "[diskUsage]: free MB below which indexing pauses; default 5000"),
    used(
        "max_cache_size",
        "[cachemanager]: MB of NVMe for cached blocks, 0 for none; default 4096 (Splunk: 0 for no limit)",
    ),
    used(
        "max_concurrent_downloads",
        "[cachemanager]: requests to object storage for blocks at a time; default 128 (Splunk: 8)",
    ),
    used(
        "eviction_padding",
        "[cachemanager]: MB that stay free on the file system of the cache, at most a twentieth of it; default 5120",
    ),
    used("dram_size", "[cachemanager]: MB of DRAM for cached blocks; default 512"),
    used(
        "index_percent",
        "[cachemanager]: share of DRAM and NVMe that only footers and term indexes use; default 25",
    ),
    used(
        "block_size",
        "[cachemanager]: size of a cached block of data, a power of two; default 256KB",
    ),
    used(
        "index_block_size",
        "[cachemanager]: size of a cached block of footers and term indexes, a power of two; default 32KB",
    ),
    used(
        "max_request_size",
        "[cachemanager]: most bytes of one request to object storage; default 4MB",
    ),
    used(
        "request_gap",
        "[cachemanager]: unwanted bytes read along rather than making two requests; default 256KB",
    ),
    used(
        "hedge_percent",
        "[cachemanager]: second requests for slow reads, in percent of all, 0 for none; default 5",
    ),
    used(
        "hedge_min_delay_ms",
        "[cachemanager]: least wait before a second request; the observed p95 if that is more; default 20",
    ),
    used("write_buffer_size", "[cachemanager]: blocks that wait for NVMe, in memory; default 64MB"),
    used("maxSize", "[queue]: size of each queue between stages, such as 500KB; default 16MB"),
    used("journalCodec", "[ingest]: compression of the journal: lz4, zstd or none; default lz4"),
    used("journalGroupIntervalMs", "[ingest]: how long a sync waits for more records; default 0"),
    used("journalGroupSize", "[ingest]: records of this size are synced at once; default 8MB"),
    used("journalSegmentSize", "[ingest]: size of a journal file; default 64MB"),
    used(
        "maxJournalSize",
        "[ingest]: journal of a pipeline set above which the hot bucket that keeps the most of it rolls; default 2GB",
    ),
    used(
        "queueWaitSecs",
        "[ingest]: how long an input waits for room before it is refused; default 10",
    ),
    used(
        "maxEventSize",
        "[ingest]: most bytes of one event with its indexed fields; requests with a larger one are refused, streams cut it as TRUNCATE does; default 10MB",
    ),
    used(
        "maxRejectedSize",
        "[ingest]: bytes of events set aside (data/rejected) above which only the first 64 KB of such an event are kept; default 1GB",
    ),
    used("maxEventFields", "[ingest]: most indexed fields of one event; default 1000"),
    used("maxFieldNameSize", "[ingest]: longest name of an indexed field in bytes; default 1KB"),
    used(
        "maxEventDepth",
        "[ingest]: how deep objects and lists may lie in each other in events that are JSON; default 200",
    ),
    used(
        "maxHotMemory",
        "[ingest]: raw text of all hot buckets; over it the largest rolls; default 2GB",
    ),
    used("maxBucketSize", "[ingest]: limit to the maxDataSize of every index; default 1GB"),
    used(
        "maxSpoolSize",
        "[ingest]: MB of finished buckets that may wait on the disk for object storage, 0 for as much as minFreeSpace allows; default 0",
    ),
    used(
        "remoteAckIntervalSecs",
        "[ingest]: how long events of an index with ackLevel = remote wait before their bucket rolls; default 5",
    ),
    used("encodeConcurrency", "[ingest]: buckets encoded at a time; default 2"),
    used("uploadConcurrency", "[ingest]: buckets uploaded at a time; default 2"),
    used(
        "multipartThreshold",
        "[ingest]: size from which an object is uploaded in parts; default 64MB",
    ),
    used("mergeConcurrency", "[ingest]: merges of small buckets at a time; default 1"),
    used("mergeCpuPercent", "[ingest]: share of a core that each merge may take; default 25"),
    used(
        "mergeMaxBytes",
        "[ingest]: raw text of a merge, in memory meanwhile, 0 for no merging; default 256MB",
    ),
    used("mergeMinBuckets", "[ingest]: fewest small buckets worth a merge; default 4"),
    used("mergeMinAgeSecs", "[ingest]: age from which a bucket may be merged; default 30"),
    used(
        "mergeDeleteGraceSecs",
        "[ingest]: how long objects without a bucket stay for searches that still run; default 600",
    ),
    used(
        "maxFileSize",
        "[audit]: size at which a file of the audit trail is followed by a new one; default 64MB",
    ),
    used(
        "keepDays",
        "[audit]: days that files of the audit trail are kept, 0 for all; default 400",
    ),
    used("queueSize", "[audit]: audit records that wait to be written; default 16MB"),
    used(
        "maxRecordSize",
        "[audit]: longer values of an audit record are cut, with a mark; default 256KB",
    ),
    used(
        "onFailure",
        "[audit]: refuse or continue: what becomes of changes that cannot be recorded; default refuse",
    ),
    used(
        "anchorIntervalSecs",
        "[audit]: how often the head of the audit trail is noted in the catalog; default 60",
    ),
    used(
        "trustedProxies",
        "[audit]: addresses and networks whose X-Forwarded-For is believed; default none",
    ),
    used(
        "denialsPerSecond",
        "[audit]: refusals of unknown senders that are recorded per address; default 10",
    ),
    unused("pass4SymmKey"),
    unused("site"),
    unused("eviction_policy"),
    unused("hotlist_recency_secs"),
    unused("sslPassword"),
    unused("sslVersions"),
    unused("cipherSuite"),
    unused("mode"),
    unused("manager_uri"),
    unused("master_uri"),
    unused("replication_factor"),
    unused("search_factor"),
    unused("site_replication_factor"),
    unused("site_search_factor"),
    unused("multisite"),
    unused("available_sites"),
    unused("max_fixup_time_ms"),
];
