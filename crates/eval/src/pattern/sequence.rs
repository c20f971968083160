//! A backtracking matcher for the typical patterns of field extractions: runs of characters, words and
//! separators in sequence (docs/decisions/0006).
//!
//! From a given position, it finds the match and the groups that the `regex` crate would find, several times
//! faster: it walks over runs of bytes instead of through states, and the next byte nearly always decides
//! between alternatives. Other patterns are not compiled, and a search that backtracks too often is aborted.
//! In both cases the caller uses `regex`, whose time is linear.

mod set;

use memchr::memmem::Finder;
use regex_syntax::hir::{Capture, Hir, HirKind, Look, Repetition};

use set::{Bytes, Set, behind_escaped, width};

/// Maximum number of groups, the whole match included. A fixed number: spans need no allocation.
pub(super) const GROUPS: usize = 16;
/// Maximum number of steps of a pattern.
const STEPS: usize = 256;
/// Maximum number of times that a search from one position may backtrack.
const RETREATS: u32 = 512;
/// Maximum number of bytes that runs may walk over in a search from one position, per byte of the text; only
/// backtracking reaches it.
const WALKED_PER_BYTE: usize = 8;
/// Number of bytes of a lazy run that are examined first.
const WINDOW: u32 = 128;
/// Maximum number of start positions that a search tries; after that, `regex` searches.
const BEGINNINGS: u32 = 32;
/// The value for no position.
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

/// The result of a search.
pub(super) enum Outcome {
    Match(Spans),
    None,
    /// The search was aborted because it backtracked too often.
    GaveUp,
}

/// A compiled pattern.
#[derive(Debug, Clone)]
pub(super) struct Sequence {
    steps: Vec<Step>,
    beginning: Beginning,
    can_be_empty: bool,
}

/// The positions where matches can begin.
#[derive(Debug, Clone)]
enum Beginning {
    /// At the start of the text only.
    Text,
    /// At the occurrences of these bytes.
    Literal(Box<Finder<'static>>),
    /// Anywhere; another engine has to find the position.
    Anywhere,
}

#[derive(Debug, Clone)]
enum Step {
    Bytes(Box<[u8]>),
    /// One character.
    Character(Set),
    /// As many characters as possible (greedy), or as few as possible (lazy).
    Run {
        set: Set,
        least: u32,
        most: u32,
        lazy: bool,
        next: Next,
    },
    /// As many characters and pairs of an escape and a character as possible, as in a quoted string:
    /// `(?:[^"\\]|\\.)*`. Nothing that can follow begins like them, so fewer of them never match.
    Escaped {
        plain: Set,
        escape: u8,
        after: Set,
        least: u32,
        next: Next,
    },
    Group(u8),
    TextStart,
    TextEnd,
    WordBoundary {
        negated: bool,
    },
    /// Two alternatives; the second one is tried if the first one fails.
    Fork {
        first: u16,
        second: u16,
        into_first: Next,
        into_second: Next,
    },
    Jump(u16),
    Done,
}

/// The bytes that can follow a step.
#[derive(Debug, Clone, Default)]
struct Next {
    bytes: Bytes,
    /// Whether the match can end there, or the next byte is unknown.
    any: bool,
    /// Whether the match always ends there.
    done: bool,
    /// Whether these bytes have none in common with the run before the step.
    apart: bool,
}

impl Next {
    fn allows(&self, byte: Option<&u8>) -> bool {
        self.any || byte.is_some_and(|byte| self.bytes.has(*byte))
    }
}

fn is_word(byte: Option<&u8>) -> bool {
    byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_')
}

impl Sequence {
    /// Compiles a pattern; `None` if this matcher does not support it.
    pub(super) fn compile(pattern: &str) -> Option<Self> {
        let hir = regex_syntax::Parser::new().parse(pattern).ok()?;
        if hir.properties().explicit_captures_len() + 1 > GROUPS {
            return None;
        }
        let mut steps = Compiler::steps_of(&hir, &[])?;
        let loops: Vec<bool> = steps.iter().filter_map(Step::must_be_loop).collect();
        if loops.contains(&true) {
            // Loops begin with the same bytes as the steps that they replace, so all other escaped runs are
            // still followed by the same bytes.
            steps = Compiler::steps_of(&hir, &loops)?;
        }
        let beginning = Beginning::of(&steps);
        let can_be_empty = hir.properties().minimum_len() == Some(0);
        Some(Self { steps, beginning, can_be_empty })
    }

    /// Returns whether a match can be empty.
    pub(super) fn can_be_empty(&self) -> bool {
        self.can_be_empty
    }

    /// Returns whether the matcher finds the start of matches itself.
    pub(super) fn finds_beginnings(&self) -> bool {
        !matches!(self.beginning, Beginning::Anywhere)
    }

    /// Finds the first match that begins at or after a position. The pattern must find the start of matches
    /// itself.
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
                        // This position may be inside of a character, but no literal in UTF-8 matches there.
                        Outcome::None => from += at + 1,
                        other => return other,
                    }
                }
                Outcome::GaveUp
            }
            Beginning::Anywhere => Outcome::GaveUp,
        }
    }

    /// Returns the match that begins at a position.
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

impl Step {
    /// Returns whether a match may need fewer characters of an escaped run than it takes; `None` for other
    /// steps.
    fn must_be_loop(&self) -> Option<bool> {
        match self {
            Self::Escaped { next, .. } => Some(!next.done && !next.apart),
            _ => None,
        }
    }
}

struct Compiler<'l> {
    steps: Vec<Step>,
    /// Which escaped runs of the pattern, in order, are loops with alternatives; others, and those beyond
    /// the end, are [`Step::Escaped`].
    loops: &'l [bool],
    /// Number of escaped runs so far.
    escaped_runs: usize,
}

impl<'l> Compiler<'l> {
    fn steps_of(hir: &Hir, loops: &'l [bool]) -> Option<Vec<Step>> {
        let mut compiler = Self { steps: Vec::new(), loops, escaped_runs: 0 };
        // Group 0 is the whole match: slot 0 is its start, slot 1 its end.
        compiler.step(Step::Group(0))?;
        compiler.hir(hir)?;
        compiler.step(Step::Group(1))?;
        compiler.step(Step::Done)?;
        let mut steps = compiler.steps;
        look_ahead(&mut steps);
        Some(steps)
    }

    fn step(&mut self, step: Step) -> Option<()> {
        self.steps.push(step);
        (self.steps.len() <= STEPS).then_some(())
    }

    fn here(&self) -> u16 {
        // There are at most STEPS.
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
            // A literal of one byte is compiled as a set with one character.
            HirKind::Literal(literal) if literal.0.len() == 1 => Some(Set::only(literal.0[0])),
            _ => None,
        };
        // Runs are counted in bytes. For non-ASCII characters that is correct only if there is nothing to
        // count: no maximum, and a minimum of 0 or 1, for which `behind` examines the first byte.
        if let Some(set) = class
            && (set.is_ascii() || (*min <= 1 && max.is_none()))
        {
            let (least, most) = (*min, max.unwrap_or(u32::MAX));
            return self.step(Step::Run { set, least, most, lazy: !greedy, next: Next::default() });
        }
        if *greedy
            && *min <= 1
            && max.is_none()
            && let Some((plain, escape, after)) = escaped(sub)
        {
            let is_loop = self.loops.get(self.escaped_runs) == Some(&true);
            self.escaped_runs += 1;
            if !is_loop {
                let (least, next) = (*min, Next::default());
                return self.step(Step::Escaped { plain, escape, after, least, next });
            }
        }
        match (min, max) {
            (0, Some(1)) => {
                let fork = self.fork()?;
                self.hir(sub)?;
                self.join(fork, fork + 1, self.here(), *greedy);
                Some(())
            }
            // A repeated expression must consume a character, or the loop would not end.
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

    /// Adds a fork whose alternatives are set later.
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

/// Takes `[^"\\]|\\.` apart: a set of characters, an escape that is not one of them, and the set of the
/// characters behind it. The order does not matter, as the first byte decides; neither does a `+` behind the
/// first set, as the expression is repeated.
fn escaped(sub: &Hir) -> Option<(Set, u8, Set)> {
    let HirKind::Alternation(ways) = sub.kind() else { return None };
    let (plain, pair) = match ways.as_slice() {
        [one, other] => match (one.kind(), other.kind()) {
            (plain, HirKind::Concat(pair)) | (HirKind::Concat(pair), plain) => (plain, pair),
            _ => return None,
        },
        _ => return None,
    };
    let class = match plain {
        HirKind::Class(class) => class,
        HirKind::Repetition(Repetition { min: 1, max: None, greedy: true, sub: plain }) => {
            let HirKind::Class(class) = plain.kind() else { return None };
            class
        }
        _ => return None,
    };
    let [escape, after] = pair.as_slice() else { return None };
    let (HirKind::Literal(escape), HirKind::Class(after)) = (escape.kind(), after.kind()) else {
        return None;
    };
    let &[escape] = &*escape.0 else { return None };
    let plain = Set::new(class)?;
    (!plain.bytes.has(escape)).then_some((plain, escape, Set::new(after)?))
}

/// Computes the bytes that can follow runs and forks. This is the last step, because the targets of forks are
/// set after their own steps.
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
            Step::Escaped { .. } => {
                let following = following(steps, at + 1);
                if let Step::Escaped { plain, escape, next, .. } = &mut steps[at] {
                    let meets = following.bytes.meets(&plain.bytes) || following.bytes.has(*escape);
                    *next = following;
                    next.apart = !next.any && !meets;
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

/// Returns the bytes that the text can continue with at a step.
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
                Some(first) => next.bytes.insert(*first),
                None => open.push(at + 1),
            },
            Step::Character(set) => next.bytes.add(&set.bytes),
            Step::Run { set, least, .. } => {
                next.bytes.add(&set.bytes);
                if *least == 0 {
                    open.push(at + 1);
                }
            }
            Step::Escaped { plain, escape, least, .. } => {
                next.bytes.add(&plain.bytes);
                next.bytes.insert(*escape);
                if *least == 0 {
                    open.push(at + 1);
                }
            }
            Step::Group(_) | Step::TextStart | Step::WordBoundary { .. } => open.push(at + 1),
            // The next byte may be missing, or may be any.
            Step::TextEnd | Step::Done => next.any = true,
            Step::Fork { first, second, .. } => {
                open.extend([usize::from(*first), usize::from(*second)]);
            }
            Step::Jump(to) => open.push(usize::from(*to)),
        }
    }
    next
}

/// How to continue when an alternative fails.
enum Retreat {
    /// Restores the previous position of a group.
    Group { slot: u8, was: u32 },
    /// Tries the other alternative.
    Other { step: u16, at: u32 },
    /// Shortens a run by a character, down to a minimum.
    Shorter { step: u16, least: u32, at: u32 },
    /// Extends a run by a character, up to a maximum.
    Longer { step: u16, at: u32, known: u32, most: u32 },
}

struct Walk<'p> {
    steps: &'p [Step],
    text: &'p [u8],
    spans: Spans,
    /// Bytes that greedy runs walked over, forward and back. Lazy runs take only bytes of the match.
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

    /// Executes a step at a position; returns the next step and its position if the step matches.
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
                    // No retreat is recorded: the match ends here, or the next part cannot begin with a
                    // character of the set, so that a shorter run never matches.
                    (next.done || next.allows(text.get(longest))).then_some((step + 1, longest))
                } else {
                    self.shorten(run, next, shortest, longest, retreats)
                }
            }
            Step::Escaped { plain, escape, after, least, next } => {
                let end = behind_escaped(text, at, plain, *escape, after);
                self.walked += end - at;
                let is_match =
                    (*least == 0 || end > at) && (next.done || next.allows(text.get(end)));
                is_match.then_some((step + 1, end))
            }
            Step::Group(slot) => {
                let place = &mut self.spans.0[usize::from(*slot)];
                // The old position is needed only to undo this step when backtracking.
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

    /// Returns the position after the minimum number of characters of a run.
    fn behind(&self, at: usize, least: u32, longest: usize) -> Option<usize> {
        let end = match least {
            0 => at,
            // For a set with non-ASCII characters, the minimum is at most one: see the compiler.
            1 => at + self.text.get(at).map_or(1, |byte| width(*byte)),
            least => at + least as usize,
        };
        (end <= longest).then_some(end)
    }

    /// Takes the longest run that can be followed by the next part, down to a minimum length.
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
            // One entry stands for all shorter runs: `retreat` looks for the next candidate from here.
            let (least, at) = (place_of(least), place_of(end - 1));
            retreats.push(Retreat::Shorter { step: number_of(run), least, at });
        }
        Some((run + 1, end))
    }

    /// Takes the shortest run that can be followed by the next part, up to a maximum length. The run is known
    /// to reach from `at` to `known`.
    ///
    /// The run is examined in windows: otherwise the rest of a long text would be scanned again for every
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
        // Continuation bytes of a character are 10xxxxxx.
        self.text.get(at).is_none_or(|byte| byte & 0xc0 != 0x80)
    }
}

fn place_of(at: usize) -> u32 {
    // Texts of 4 GiB or more are not searched.
    u32::try_from(at).unwrap_or(NOWHERE)
}

fn number_of(step: usize) -> u16 {
    u16::try_from(step).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests;
