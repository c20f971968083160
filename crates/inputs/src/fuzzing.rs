//! What a fuzzer needs of the insides.

use std::hint::black_box;

use crate::syslog::{Framer, header_host};

/// Cuts a stream of syslog into messages, in pieces of several sizes, and reads their headers.
pub fn syslog(stream: &[u8]) {
    for piece in [1, 7, 4_096] {
        let mut framer = Framer::default();
        let mut emit = |message: &[u8]| {
            assert!(message.len() <= LIMIT, "a message is longer than its limit");
            black_box(header_host(message));
        };
        for piece in stream.chunks(piece) {
            framer.push(piece, LIMIT, &mut emit);
        }
        framer.finish(&mut emit);
    }
}

/// Longest message.
const LIMIT: usize = 1_024;
