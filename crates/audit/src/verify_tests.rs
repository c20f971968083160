//! Any tampering with the files of a trail is detected, and its kind is named.

#![allow(clippy::unwrap_used)]

use model::EventTime;
use proptest::prelude::*;

use super::*;
use crate::{Info, Record};

fn key() -> Key {
    Key::new(&[7; 32])
}

/// The lines of a chain of some records.
fn chain(records: u64) -> Vec<Vec<u8>> {
    let mut hash = Digest::ZERO;
    let mut lines = Vec::new();
    for seq in 1..=records {
        let record =
            Record::new("ann", "search", Info::Granted).with("search", format!("error {seq}"));
        let (line, next) = record.line(EventTime(1_795_342_500_000_000), seq, &hash, &key());
        hash = next;
        lines.push(line.into_bytes());
    }
    lines
}

fn head_of(lines: &[Vec<u8>]) -> Anchor {
    let last = Line::parse(lines.last().unwrap()).unwrap();
    Anchor { seq: last.seq, hash: Some(last.hash), noted: "the catalog" }
}

fn verify(lines: &[Vec<u8>], anchors: Vec<Anchor>) -> Result<Summary, Finding> {
    let mut verifier = Verifier::new(key(), anchors, 1);
    for (at, line) in lines.iter().enumerate() {
        verifier.line(&(at + 1), line, true);
    }
    verifier.finish()
}

/// The kind and the record number of the finding.
fn found(lines: &[Vec<u8>], anchors: Vec<Anchor>) -> (Kind, u64) {
    let finding = verify(lines, anchors).unwrap_err();
    (finding.kind, finding.seq)
}

#[test]
fn what_was_written_verifies() {
    let lines = chain(20);
    let summary = verify(&lines, vec![head_of(&lines), head_of(&lines[..5])]).unwrap();
    assert_eq!((summary.records, summary.first, summary.head.seq), (20, 1, 20));
}

#[test]
fn each_kind_of_change_is_named_with_its_record() {
    let whole = chain(9);
    let head = || vec![head_of(&whole)];
    let edit = |change: fn(&mut Vec<Vec<u8>>)| {
        let mut lines = whole.clone();
        change(&mut lines);
        lines
    };
    let altered = edit(|lines| {
        lines[3] = String::from_utf8(lines[3].clone()).unwrap().replace("ann", "bob").into()
    });
    assert_eq!(found(&altered, head()), (Kind::Altered, 4));
    assert_eq!(found(&edit(|lines| drop(lines.remove(3))), head()), (Kind::Removed, 4));
    assert_eq!(found(&edit(|lines| lines.swap(3, 4)), head()), (Kind::Reordered, 4));
    assert_eq!(
        found(&edit(|lines| lines.insert(6, lines[3].clone())), head()),
        (Kind::Inserted, 4)
    );
    let forged = edit(|lines| {
        let made_up = Record::new("eve", "login attempt", Info::Succeeded);
        let before = Line::parse(&lines[2]).unwrap().hash;
        let (line, _) = made_up.line(EventTime(0), 4, &before, &Key::new(&[8; 32]));
        lines.insert(3, line.into());
    });
    assert_eq!(found(&forged, head()), (Kind::Inserted, 4));
    assert_eq!(found(&edit(|lines| lines.truncate(6)), head()), (Kind::Truncated, 7));
    assert_eq!(found(&edit(|lines| drop(lines.drain(0..2))), head()), (Kind::Removed, 1));
    assert_eq!(found(&[], head()), (Kind::Truncated, 1));
    let text = |lines: &[Vec<u8>]| verify(lines, head()).unwrap_err().to_string();
    assert!(text(&[]).contains("after a restore without DATA_DIR/audit"), "{}", text(&[]));
    let cut = text(&edit(|lines| lines.truncate(6)));
    assert!(!cut.contains("restore"), "{cut}");
}

#[test]
fn a_chain_made_anew_with_the_key_differs_from_what_was_noted() {
    let noted = head_of(&chain(5));
    let mut lines = Vec::new();
    let mut hash = Digest::ZERO;
    for seq in 1..=8 {
        let (line, next) =
            Record::new("bob", "search", Info::Granted).line(EventTime(0), seq, &hash, &key());
        hash = next;
        lines.push(line.into_bytes());
    }
    assert_eq!(found(&lines, vec![noted]), (Kind::Altered, 5));
}

#[test]
fn a_torn_line_is_accepted_only_with_the_record_that_vouches_for_it() {
    let mut lines = chain(3);
    let hash = Line::parse(&lines[2]).unwrap().hash;
    let torn = b"Audit:[timestamp=\"11-22".to_vec();
    let repair = Record::of_server(REPAIR, Info::Succeeded)
        .with("torn_sha256", Digest::sha256(&[&torn[..], b"\n"].concat()));
    let (repair, _) = repair.line(EventTime(0), 4, &hash, &key());
    lines.push(torn);
    lines.push(repair.into());
    assert_eq!(verify(&lines, Vec::new()).unwrap().records, 4);
    lines[3][2] = b'x';
    assert_eq!(found(&lines, Vec::new()), (Kind::Altered, 4));
}

#[test]
fn a_start_that_expired_is_no_finding_if_a_record_says_so() {
    let lines = chain(6);
    let read = Line::parse(&lines[5]).unwrap();
    let third = Line::parse(&lines[2]).unwrap().hash;
    let expired = |hash: Digest| {
        let record =
            Record::of_server(EXPIRE, Info::Succeeded).with("last", 3).with("last_hash", hash);
        let (line, _) = record.line(EventTime(0), 7, &read.hash, &key());
        [&lines[3..], &[line.into_bytes()]].concat()
    };
    assert_eq!(verify(&expired(third), Vec::new()).unwrap().first, 4);
    assert_eq!(found(&expired(read.hash), Vec::new()), (Kind::Removed, 1));
    assert_eq!(found(&lines[3..], Vec::new()), (Kind::Removed, 1));
}

/// The lines of a text.
fn split(bytes: &[u8]) -> Vec<(Vec<u8>, bool)> {
    let parts = bytes.split_inclusive(|b| *b == b'\n');
    parts
        .map(|line| (line.strip_suffix(b"\n").unwrap_or(line).to_vec(), line.ends_with(b"\n")))
        .collect()
}

fn verify_text(bytes: &[u8], anchor: Anchor) -> Result<Summary, Finding> {
    let mut verifier = Verifier::new(key(), vec![anchor], 1);
    for (at, (line, ended)) in split(bytes).into_iter().enumerate() {
        verifier.line(&at, &line, ended);
    }
    verifier.finish()
}

proptest! {
    #[test]
    fn any_changed_byte_is_found(at in any::<prop::sample::Index>(), flip in 1_u8..) {
        let lines = chain(6);
        let mut bytes: Vec<u8> = lines.iter().flat_map(|line| [line, &b"\n"[..]].concat()).collect();
        let at = at.index(bytes.len());
        bytes[at] ^= flip;
        prop_assert!(verify_text(&bytes, head_of(&lines)).is_err());
    }

    #[test]
    fn any_removed_piece_is_found(from in any::<prop::sample::Index>(), most in 1_usize..2_000) {
        let lines = chain(6);
        let bytes: Vec<u8> = lines.iter().flat_map(|line| [line, &b"\n"[..]].concat()).collect();
        // The last byte is a line end, which carries no data.
        let from = from.index(bytes.len() - 1);
        let to = (from + most).min(bytes.len());
        let left = [&bytes[..from], &bytes[to..]].concat();
        prop_assert!(verify_text(&left, head_of(&lines)).is_err());
    }

    #[test]
    fn any_swap_removal_copy_or_cut_of_records_is_found(a in 0_usize..8, b in 0_usize..8, what in 0..4) {
        let whole = chain(8);
        let mut lines = whole.clone();
        match what {
            0 => lines.swap(a, b),
            1 => drop(lines.remove(a)),
            2 => lines.insert(b, whole[a].clone()),
            _ => lines.truncate(a),
        }
        let changed = lines != whole;
        prop_assert_eq!(verify(&lines, vec![head_of(&whole)]).is_err(), changed);
    }
}
