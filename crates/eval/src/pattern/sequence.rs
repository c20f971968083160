//! A backtracking matcher for the patterns that extractions are mostly made of: runs of characters,
//! words and separators, one after the other (docs/decisions/0006).
//!
//! It finds the match and the groups that the `regex` crate would find from a given place, several
//! times faster: it walks over runs of bytes instead of through states, and the next byte nearly always
//! decides which way to go. Other patterns are not compiled; a search that backtracks too often is
//! aborted. In both cases the caller uses `regex`, whose time is linear.

use memchr::memmem::Finder;
use regex_syntax::hir::{Capture, Class, Hir, HirKind, Look, Repetition};

/// Maximum number of groups, the whole match included. A fixed number: spans need no allocation.
pub(super) const GROUPS: usize = 16;
/// Maximum number of steps of a pattern.
const STEPS: usize = 256;
/// Maximum number of retreats of a search from one place.
const RETREATS: u32 = 512;
/// Maximum number of bytes that the runs of a search from one place walk over, per byte of its text, if ways
/// led nowhere.
const WALKED_PER_BYTE: usize = 8;
/// Bytes of a lazy run that are looked at first.
const WINDOW: u32 = 128;
/// Maximum number of places that a search tries to begin at; then it is left to `regex`.
const BEGINNINGS: u32 = 32;
/// No place.
const NOWHERE: u32 = u32::MAX;

/// Begins and ends of the groups of a match, in bytes of the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct Spans([u32; 2 * GROUPS]);

impl Spans {
    pub(super) fn get(&self, group: usize) -> Option<(usize, usize)> {
        let (start, end) = (*self.0.get(2 * group)?, *self.0.get(2 * group + 1)?);
        (start != NOWHERE && end != NOWHERE).then_some((start as usize, end as usize))
    }
}

/// What a search came to.
pub(super) enum Outcome {
    Match(Spans),
    None,
    /// It went back too often to be worth it.
    GaveUp,
}

/// A compiled pattern.
#[derive(Debug, Clone)]
pub(super) struct Sequence {
    steps: Vec<Step>,
    beginning: Beginning,
    can_be_empty: bool,
}

/// Where matches can begin.
#[derive(Debug, Clone)]
enum Beginning {
    /// At the start of the text only.
    Text,
    /// Where these bytes are.
    Literal(Box<Finder<'static>>),
    /// Somewhere that another engine has to find.
    Anywhere,
}

#[derive(Debug, Clone)]
enum Step {
    Bytes(Box<[u8]>),
    /// One character.
    Character(Set),
    /// As many characters as possible, or as few.
    Run {
        set: Set,
        least: u32,
        most: u32,
        lazy: bool,
        next: Next,
    },
    Group(u8),
    TextStart,
    TextEnd,
    WordBoundary {
        negated: bool,
    },
    /// The first way, and if it leads nowhere the second one.
    Fork {
        first: u16,
        second: u16,
        into_first: Next,
        into_second: Next,
    },
    Jump(u16),
    Done,
}

/// Bytes that the text can go on with behind a step.
#[derive(Debug, Clone, Default)]
struct Next {
    bytes: Bytes,
    /// Whether the match can end there, or nothing can be said.
    any: bool,
    /// Whether the match ends there, whatever comes.
    done: bool,
    /// Whether it cannot go on with a character of the run before it.
    apart: bool,
}

impl Next {
    fn allows(&self, byte: Option<&u8>) -> bool {
        self.any || byte.is_some_and(|byte| self.bytes.has(*byte))
    }
}

#[derive(Debug, Clone)]
struct Bytes(Box<[bool; 256]>);

impl Default for Bytes {
    fn default() -> Self {
        Self(Box::new([false; 256]))
    }
}

impl Bytes {
    fn has(&self, byte: u8) -> bool {
        self.0[usize::from(byte)]
    }

    fn add(&mut self, other: &Self) {
        for (mine, theirs) in self.0.iter_mut().zip(other.0.iter()) {
            *mine |= theirs;
        }
    }

    fn meets(&self, other: &Self) -> bool {
        self.0.iter().zip(other.0.iter()).any(|(mine, theirs)| *mine && *theirs)
    }
}

/// A set of characters: some of ASCII, and all others or none of them. So no byte has to be decoded: all
/// bytes of a character beyond ASCII are in the table, or none is.
#[derive(Debug, Clone)]
struct Set {
    bytes: Bytes,
    /// The missing byte if it is the only one: `memchr` then finds the end of a run.
    all_but: Option<u8>,
}

impl Set {
    fn new(class: &Class) -> Option<Self> {
        let mut bytes = Bytes::default();
        let mut beyond = false;
        let mut add = |start: u32, end: u32| {
            for byte in start..=end.min(0x7f) {
                bytes.0[byte as usize] = true;
            }
        };
        match class {
            Class::Unicode(class) => {
                for range in class.ranges() {
                    add(range.start().into(), range.end().into());
                    // A set has all characters beyond ASCII or none of them; a class with some of them is
                    // not supported.
                    if range.end() == char::MAX && range.start() <= '\u{80}' {
                        beyond = true;
                    } else if !range.end().is_ascii() {
                        return None;
                    }
                }
            }
            Class::Bytes(class) => {
                for range in class.ranges() {
                    add(range.start().into(), range.end().into());
                    if !range.end().is_ascii() {
                        return None;
                    }
                }
            }
        }
        if beyond {
            bytes.0[0x80..].fill(true);
        }
        // Classes such as `[^"]` lack a single byte.
        let mut missing = (0..=255u8).filter(|byte| !bytes.has(*byte));
        let all_but = missing.next().filter(|_| missing.next().is_none());
        Some(Self { bytes, all_but })
    }

    /// Whether every character of it is a byte.
    fn is_ascii(&self) -> bool {
        !self.bytes.has(0x80)
    }

    /// Where a run from a place ends. `most` is in bytes: see [`Compiler::repetition`].
    fn run(&self, text: &[u8], from: usize, most: u32) -> usize {
        let rest = &text[from..];
        let rest = &rest[..rest.len().min(most as usize)];
        let length = match self.all_but {
            Some(byte) => memchr::memchr(byte, rest),
            None => rest.iter().position(|byte| !self.bytes.has(*byte)),
        };
        from + length.unwrap_or(rest.len())
    }
}

/// The length of a character in bytes, by its first byte. Steps never begin inside of a character.
fn width(byte: u8) -> usize {
    match byte {
        0..=0x7f => 1,
        0x80..=0xdf => 2,
        0xe0..=0xef => 3,
        0xf0.. => 4,
    }
}

fn is_word(byte: Option<&u8>) -> bool {
    byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

impl Sequence {
    /// Compiles a pattern; `None` for one that is not of this kind.
    pub(super) fn compile(pattern: &str) -> Option<Self> {
        let hir = regex_syntax::Parser::new().parse(pattern).ok()?;
        if hir.properties().explicit_captures_len() + 1 > GROUPS {
            return None;
        }
        let mut compiler = Compiler { steps: Vec::new() };
        // Group 0 is the whole match: slot 0 is its start, slot 1 its end.
        compiler.step(Step::Group(0))?;
        compiler.hir(&hir)?;
        compiler.step(Step::Group(1))?;
        compiler.step(Step::Done)?;
        let mut steps = compiler.steps;
        look_ahead(&mut steps);
        let beginning = Beginning::of(&steps);
        let can_be_empty = hir.properties().minimum_len() == Some(0);
        Some(Self { steps, beginning, can_be_empty })
    }

    /// Whether a match can be of no characters.
    pub(super) fn can_be_empty(&self) -> bool {
        self.can_be_empty
    }

    /// Whether it finds the begin of matches by itself.
    pub(super) fn finds_beginnings(&self) -> bool {
        !matches!(self.beginning, Beginning::Anywhere)
    }

    /// The first match that begins at or after a place. The pattern must find beginnings by itself.
    pub(super) fn search(&self, text: &str, from: usize) -> Outcome {
        match &self.beginning {
            Beginning::Text if from == 0 => self.match_at(text, 0),
            Beginning::Text => Outcome::None,
            Beginning::Literal(literal) => {
                let mut from = from;
                for _ in 0..BEGINNINGS {
                    let rest = text.as_bytes().get(from..);
                    let Some(at) = rest.and_then(|rest| literal.find(rest)) else {
                        return Outcome::None;
                    };
                    match self.match_at(text, from + at) {
                        // Perhaps inside of a character, where no literal in UTF-8 can be found.
                        Outcome::None => from += at + 1,
                        other => return other,
                    }
                }
                Outcome::GaveUp
            }
            Beginning::Anywhere => Outcome::GaveUp,
        }
    }

    /// The match that begins at a place.
    pub(super) fn match_at(&self, text: &str, at: usize) -> Outcome {
        // Positions are 32-bit integers, of which [`NOWHERE`] is reserved.
        if text.len() >= NOWHERE as usize {
            return Outcome::GaveUp;
        }
        let spans = Spans([NOWHERE; 2 * GROUPS]);
        Walk { steps: &self.steps, text: text.as_bytes(), spans, walked: 0 }.run(at)
    }
}

impl Beginning {
    fn of(steps: &[Step]) -> Self {
        // Groups take no bytes, so that a match begins with the first other step.
        let first = steps.iter().find(|step| !matches!(step, Step::Group(_)));
        match first {
            Some(Step::TextStart) => Self::Text,
            Some(Step::Bytes(bytes)) => Self::Literal(Box::new(Finder::new(bytes).into_owned())),
            _ => Self::Anywhere,
        }
    }
}

struct Compiler {
    steps: Vec<Step>,
}

impl Compiler {
    fn step(&mut self, step: Step) -> Option<()> {
        self.steps.push(step);
        (self.steps.len() <= STEPS).then_some(())
    }

    fn here(&self) -> u16 {
        // At most STEPS.
        u16::try_from(self.steps.len()).unwrap_or(u16::MAX)
    }

    fn hir(&mut self, hir: &Hir) -> Option<()> {
        match hir.kind() {
            HirKind::Empty => Some(()),
            HirKind::Literal(literal) => self.step(Step::Bytes(literal.0.clone())),
            HirKind::Class(class) => self.step(Step::Character(Set::new(class)?)),
            HirKind::Look(look) => self.look(*look),
            HirKind::Repetition(repetition) => self.repetition(repetition),
            HirKind::Capture(Capture { index, sub, .. }) => {
                let slot = u8::try_from(2 * index).ok()?;
                self.step(Step::Group(slot))?;
                self.hir(sub)?;
                self.step(Step::Group(slot + 1))
            }
            HirKind::Concat(parts) => parts.iter().try_for_each(|part| self.hir(part)),
            HirKind::Alternation(ways) => self.alternation(ways),
        }
    }

    fn look(&mut self, look: Look) -> Option<()> {
        self.step(match look {
            Look::Start => Step::TextStart,
            Look::End => Step::TextEnd,
            Look::WordAscii => Step::WordBoundary { negated: false },
            Look::WordAsciiNegate => Step::WordBoundary { negated: true },
            // All others, such as Unicode word boundaries and line anchors, are left to `regex`.
            _ => return None,
        })
    }

    fn repetition(&mut self, repetition: &Repetition) -> Option<()> {
        let Repetition { min, max, greedy, sub } = repetition;
        let class = match sub.kind() {
            HirKind::Class(class) => Set::new(class),
            // A literal of one byte is a class of one.
            HirKind::Literal(literal) if literal.0.len() == 1 => Some(Set::only(literal.0[0])),
            _ => None,
        };
        // Runs are counted in bytes. Beyond ASCII that is right only where nothing has to be counted:
        // without a maximum, and with a minimum of 0 or 1, for which `behind` looks at the first byte.
        if let Some(set) = class
            && (set.is_ascii() || (*min <= 1 && max.is_none()))
        {
            let (least, most) = (*min, max.unwrap_or(u32::MAX));
            return self.step(Step::Run { set, least, most, lazy: !greedy, next: Next::default() });
        }
        match (min, max) {
            (0, Some(1)) => {
                let fork = self.fork()?;
                self.hir(sub)?;
                self.join(fork, fork + 1, self.here(), *greedy);
                Some(())
            }
            // What repeats must take a character, or the walk would not end.
            (0, None) if sub.properties().minimum_len().is_some_and(|len| len > 0) => {
                let fork = self.fork()?;
                self.hir(sub)?;
                self.step(Step::Jump(fork))?;
                self.join(fork, fork + 1, self.here(), *greedy);
                Some(())
            }
            (1, None) if sub.properties().minimum_len().is_some_and(|len| len > 0) => {
                let begin = self.here();
                self.hir(sub)?;
                let fork = self.fork()?;
                self.join(fork, begin, fork + 1, *greedy);
                Some(())
            }
            _ => None,
        }
    }

    fn alternation(&mut self, ways: &[Hir]) -> Option<()> {
        let (last, others) = ways.split_last()?;
        let mut jumps = Vec::new();
        for way in others {
            let fork = self.fork()?;
            self.hir(way)?;
            jumps.push(self.here());
            // The target is known after the last alternative has been compiled.
            self.step(Step::Jump(0))?;
            self.join(fork, fork + 1, self.here(), true);
        }
        self.hir(last)?;
        let end = self.here();
        for jump in jumps {
            self.steps[usize::from(jump)] = Step::Jump(end);
        }
        Some(())
    }

    /// A fork whose ways are not known yet.
    fn fork(&mut self) -> Option<u16> {
        let at = self.here();
        let next = Next::default();
        self.step(Step::Fork { first: 0, second: 0, into_first: next.clone(), into_second: next })?;
        Some(at)
    }

    fn join(&mut self, at: u16, taken: u16, passed: u16, greedy: bool) {
        let (ahead, other) = if greedy { (taken, passed) } else { (passed, taken) };
        if let Step::Fork { first, second, .. } = &mut self.steps[usize::from(at)] {
            (*first, *second) = (ahead, other);
        }
    }
}

impl Set {
    fn only(byte: u8) -> Self {
        let mut bytes = Bytes::default();
        bytes.0[usize::from(byte)] = true;
        Self { bytes, all_but: None }
    }
}

/// Works out what can follow runs and forks; last, since forks get their ways after their own steps.
fn look_ahead(steps: &mut [Step]) {
    for at in 0..steps.len() {
        match &steps[at] {
            Step::Run { .. } => {
                let following = following(steps, at + 1);
                if let Step::Run { set, next, .. } = &mut steps[at] {
                    *next = following;
                    next.apart = !next.any && !next.bytes.meets(&set.bytes);
                }
            }
            Step::Fork { first, second, .. } => {
                let (a, b) = (usize::from(*first), usize::from(*second));
                let (a, b) = (following(steps, a), following(steps, b));
                if let Step::Fork { into_first, into_second, .. } = &mut steps[at] {
                    (*into_first, *into_second) = (a, b);
                }
            }
            _ => {}
        }
    }
}

/// Bytes with which the text can go on at a step.
fn following(steps: &[Step], at: usize) -> Next {
    let mut next = Next::default();
    let behind_groups = steps[at..].iter().find(|step| !matches!(step, Step::Group(_)));
    next.done = matches!(behind_groups, Some(Step::Done));
    // Repetitions jump backwards: without this, the loop would not end.
    let mut seen = vec![false; steps.len()];
    let mut open = vec![at];
    while let Some(at) = open.pop() {
        if std::mem::replace(&mut seen[at], true) {
            continue;
        }
        match &steps[at] {
            Step::Bytes(bytes) => match bytes.first() {
                Some(first) => next.bytes.0[usize::from(*first)] = true,
                None => open.push(at + 1),
            },
            Step::Character(set) => next.bytes.add(&set.bytes),
            Step::Run { set, least, .. } => {
                next.bytes.add(&set.bytes);
                if *least == 0 {
                    open.push(at + 1);
                }
            }
            Step::Group(_) | Step::TextStart | Step::WordBoundary { .. } => open.push(at + 1),
            // There may be no next byte, or any.
            Step::TextEnd | Step::Done => next.any = true,
            Step::Fork { first, second, .. } => {
                open.extend([usize::from(*first), usize::from(*second)]);
            }
            Step::Jump(to) => open.push(usize::from(*to)),
        }
    }
    next
}

/// What to do when a way leads nowhere.
enum Retreat {
    /// A group's place as it was.
    Group { slot: u8, was: u32 },
    /// Another way.
    Other { step: u16, at: u32 },
    /// A run gives a character back, down to a place.
    Shorter { step: u16, least: u32, at: u32 },
    /// A run takes one more, up to a place.
    Longer { step: u16, at: u32, known: u32, most: u32 },
}

struct Walk<'p> {
    steps: &'p [Step],
    text: &'p [u8],
    spans: Spans,
    /// Bytes that greedy runs went over, there and back. Lazy ones take no more than the match has.
    walked: usize,
}

impl Walk<'_> {
    fn run(mut self, from: usize) -> Outcome {
        let mut retreats: Vec<Retreat> = Vec::new();
        let mut taken_back = 0;
        let most = WALKED_PER_BYTE * (self.text.len() - from.min(self.text.len())) + 1_024;
        let mut way = Some((0, from));
        loop {
            let Some((step, at)) = way else {
                taken_back += 1;
                if taken_back > RETREATS || self.walked > most {
                    return Outcome::GaveUp;
                }
                let Some(retreat) = retreats.pop() else { return Outcome::None };
                way = self.retreat(&retreat, &mut retreats);
                continue;
            };
            if matches!(self.steps[step], Step::Done) {
                return Outcome::Match(self.spans);
            }
            way = self.advance(step, at, &mut retreats);
        }
    }

    /// Does a step at a place: the next step and its place, if it fits.
    #[inline]
    fn advance(
        &mut self,
        step: usize,
        at: usize,
        retreats: &mut Vec<Retreat>,
    ) -> Option<(usize, usize)> {
        let (text, steps) = (self.text, self.steps);
        match &steps[step] {
            Step::Bytes(bytes) => {
                text[at..].starts_with(bytes).then(|| (step + 1, at + bytes.len()))
            }
            Step::Character(set) => {
                let byte = *text.get(at)?;
                set.bytes.has(byte).then(|| (step + 1, at + width(byte)))
            }
            Step::Run { set, least, most, lazy, next } => {
                let run = step;
                if *lazy {
                    let known = set.run(text, at, (*most).min((*least).max(WINDOW)));
                    let shortest = self.behind(at, *least, known)?;
                    let longest = text.len().min(at.saturating_add(*most as usize));
                    return self.extend(run, shortest, known, longest, retreats);
                }
                let longest = set.run(text, at, *most);
                self.walked += longest - at;
                let shortest = self.behind(at, *least, longest)?;
                if next.done || next.apart {
                    // No way back is kept: the match ends here, or what follows cannot begin with a
                    // character of the set, so that a shorter run never helps.
                    (next.done || next.allows(text.get(longest))).then_some((step + 1, longest))
                } else {
                    self.shorten(run, next, shortest, longest, retreats)
                }
            }
            Step::Group(slot) => {
                let place = &mut self.spans.0[usize::from(*slot)];
                // The old place is only needed to undo this step, on a way back.
                if !retreats.is_empty() {
                    retreats.push(Retreat::Group { slot: *slot, was: *place });
                }
                *place = place_of(at);
                Some((step + 1, at))
            }
            Step::TextStart => (at == 0).then_some((step + 1, at)),
            Step::TextEnd => (at == text.len()).then_some((step + 1, at)),
            Step::WordBoundary { negated } => {
                let before = at.checked_sub(1).and_then(|before| text.get(before));
                let is_boundary = is_word(before) != is_word(text.get(at));
                (is_boundary != *negated).then_some((step + 1, at))
            }
            Step::Fork { first, second, into_first, into_second } => {
                let byte = text.get(at);
                match (into_first.allows(byte), into_second.allows(byte)) {
                    (true, true) => {
                        retreats.push(Retreat::Other { step: *second, at: place_of(at) });
                        Some((usize::from(*first), at))
                    }
                    // The next byte excludes the other way, so that no retreat is needed.
                    (true, false) => Some((usize::from(*first), at)),
                    (false, true) => Some((usize::from(*second), at)),
                    (false, false) => None,
                }
            }
            Step::Jump(to) => Some((usize::from(*to), at)),
            Step::Done => Some((step, at)),
        }
    }

    /// The place behind the characters that a run must have.
    fn behind(&self, at: usize, least: u32, longest: usize) -> Option<usize> {
        let end = match least {
            0 => at,
            // At most one of a set beyond ASCII: see the compiler.
            1 => at + self.text.get(at).map_or(1, |byte| width(*byte)),
            least => at + least as usize,
        };
        (end <= longest).then_some(end)
    }

    /// Takes as much as what follows allows, down to a place.
    fn shorten(
        &mut self,
        run: usize,
        next: &Next,
        least: usize,
        most: usize,
        retreats: &mut Vec<Retreat>,
    ) -> Option<(usize, usize)> {
        let fits = |at: &usize| next.allows(self.text.get(*at)) && self.is_border(*at);
        let end = (least..=most).rev().find(fits);
        self.walked += most - end.unwrap_or(least);
        let end = end?;
        if end > least {
            // One entry for all shorter runs: `retreat` looks for the next one from here.
            let (least, at) = (place_of(least), place_of(end - 1));
            retreats.push(Retreat::Shorter { step: number_of(run), least, at });
        }
        Some((run + 1, end))
    }

    /// Takes as little as what follows allows, up to a place. The run is known to go from `at` to `known`.
    ///
    /// It is followed in windows: to its end, the rest of a long text would be walked over again for every
    /// match in it.
    fn extend(
        &self,
        run: usize,
        mut at: usize,
        mut known: usize,
        most: usize,
        retreats: &mut Vec<Retreat>,
    ) -> Option<(usize, usize)> {
        let Step::Run { set, next, .. } = &self.steps[run] else { return None };
        let fits = |at: &usize| next.allows(self.text.get(*at)) && self.is_border(*at);
        let mut window = WINDOW as usize;
        loop {
            if let Some(found) = (at..=known).find(fits) {
                let taken = |byte: &u8| set.bytes.has(*byte);
                let longer = found < most && self.text.get(found).is_some_and(taken);
                if found < known || longer {
                    retreats.push(Retreat::Longer {
                        step: number_of(run),
                        at: place_of(found + 1),
                        known: place_of(known),
                        most: place_of(most),
                    });
                }
                return Some((run + 1, found));
            }
            let end = set.run(self.text, known, place_of(window.min(most - known)));
            if end == known {
                return None;
            }
            (at, known) = (known + 1, end);
            // Doubled, so that a long run needs few windows.
            window *= 2;
        }
    }

    fn retreat(
        &mut self,
        retreat: &Retreat,
        retreats: &mut Vec<Retreat>,
    ) -> Option<(usize, usize)> {
        match *retreat {
            Retreat::Group { slot, was } => {
                self.spans.0[usize::from(slot)] = was;
                None
            }
            Retreat::Other { step, at } => Some((usize::from(step), at as usize)),
            Retreat::Shorter { step, least, at } => {
                let steps = self.steps;
                let Step::Run { next, .. } = steps.get(usize::from(step))? else { return None };
                self.shorten(usize::from(step), next, least as usize, at as usize, retreats)
            }
            Retreat::Longer { step, at, known, most } => {
                let (at, known, most) = (at as usize, known as usize, most as usize);
                self.extend(usize::from(step), at, known, most, retreats)
            }
        }
    }

    fn is_border(&self, at: usize) -> bool {
        // Bytes that go on with a character are 10xxxxxx.
        self.text.get(at).is_none_or(|byte| byte & 0xc0 != 0x80)
    }
}

fn place_of(at: usize) -> u32 {
    // Texts of 4 GiB are declined.
    u32::try_from(at).unwrap_or(NOWHERE)
}

fn number_of(step: usize) -> u16 {
    u16::try_from(step).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests;
