//! Mutates responses for a given time: `cargo run -p karst-saml --example mutate_responses -- SECONDS
//! SEED`.
//!
//! Every fixture is a seed; pieces of other fixtures, including invalid ones, are spliced in. A response
//! may be refused, or have the same login as an original one. The run ends with a message on any other
//! result, on a panic, or if an answer takes more than 2 s.

use std::path::Path;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use conf::{Layer, Layers, Reader};
use karst_saml::{Certificate, Console, Expected, Login, Settings};

const TOKENS: [&str; 16] = [
    "<!---->",
    "<![CDATA[x]]>",
    "<?x?>",
    "&#13;",
    "&amp;",
    " ID=\"_a\"",
    " xmlns=\"urn:x\"",
    " xmlns:saml=\"urn:x\"",
    "<saml:Assertion>",
    "</saml:Assertion>",
    "<ds:Signature/>",
    "\"",
    ">",
    "/>",
    "\u{a0}",
    "admin",
];

struct Seed {
    xml: String,
    now: i64,
    login: Option<Login>,
}

/// xorshift64*.
struct Random(u64);

impl Random {
    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_F491_4F6C_DD1D) >> 33) as usize % end.max(1)
    }

    /// The position of the beginning of a tag, or any position.
    fn place(&mut self, text: &str) -> usize {
        let at = self.below(text.len() + 1);
        let at =
            if self.below(4) > 0 { text[..floor(text, at)].rfind('<').unwrap_or(0) } else { at };
        floor(text, at)
    }

    fn piece<'a>(&mut self, text: &'a str) -> &'a str {
        let (a, b) = (self.place(text), self.place(text));
        if self.below(2) > 0 {
            return element(text, a).unwrap_or("");
        }
        &text[a.min(b)..a.max(b)]
    }
}

fn floor(text: &str, at: usize) -> usize {
    (0..=at.min(text.len())).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0)
}

/// The element that begins at a position.
fn element(text: &str, at: usize) -> Option<&str> {
    let rest = text[at..].strip_prefix('<')?;
    let name = &rest[..rest.find([' ', '>', '/'])?];
    let close = format!("</{name}>");
    let end = text[at..].find(&close)? + close.len();
    Some(&text[at..at + end])
}

fn mutate(random: &mut Random, seeds: &[Seed], xml: &str) -> String {
    let mut text = xml.to_owned();
    for _ in 0..=random.below(4) {
        let at = random.place(&text);
        match random.below(5) {
            0 => text.insert_str(at, TOKENS[random.below(TOKENS.len())]),
            1 => {
                let piece = random.piece(&text).to_owned();
                text.insert_str(at, &piece);
            }
            2 => {
                let other = &seeds[random.below(seeds.len())].xml;
                let piece = random.piece(other);
                text.insert_str(at, piece);
            }
            3 => {
                let piece = random.piece(&text).to_owned();
                text = text.replacen(&piece, "", 1);
                let at = random.place(&text);
                if random.below(2) > 0 {
                    text.insert_str(at, &piece);
                }
            }
            _ => {
                let with = TOKENS[random.below(TOKENS.len())];
                let end = floor(&text, at + random.below(6));
                text.replace_range(at..end.max(at), with);
            }
        }
        text.truncate(floor(&text, 100_000));
    }
    text
}

fn login(settings: &Settings, certificates: &[Certificate], xml: &str, now: i64) -> Option<Login> {
    let expected = Expected { request_id: "_request-of-the-tests", now };
    karst_saml::response::login(settings, certificates, &BASE64_STANDARD.encode(xml), expected).ok()
}

fn settings() -> Result<Settings, conf::Invalid> {
    let stanza = "[idp]\nentityId = https://karst.example.org\n\
                  issuerId = https://idp.example.org/metadata\n\
                  idpSSOUrl = https://idp.example.org/sso\nidpCertPath = idp.pem\n";
    let layers = Layers::builtin().with(Layer::SystemLocal, "authentication", stanza);
    let conf = layers.effective("authentication");
    let console = Console { host: "karst.example.org".to_owned(), port: 8000, tls: true };
    Settings::read(Reader::new(&conf, "idp"), Reader::new(&conf, "attributes"), &console)
}

fn seeds(
    folder: &Path,
    settings: &Settings,
    certificates: &[Certificate],
) -> Result<Vec<Seed>, Box<dyn std::error::Error>> {
    let mut seeds = Vec::new();
    let mut paths: Vec<_> =
        std::fs::read_dir(folder)?.flatten().map(|entry| entry.path()).collect();
    paths.sort();
    for path in paths.iter().filter(|path| path.extension().is_some_and(|own| own == "xml")) {
        let xml = std::fs::read_to_string(path)?;
        let issued = xml.split("IssueInstant=\"").nth(1).and_then(|rest| rest.split('"').next());
        let issued = issued.and_then(|text| text.parse::<jiff::Timestamp>().ok());
        let now = issued.map(jiff::Timestamp::as_second).ok_or("no IssueInstant")?;
        let login = login(settings, certificates, &xml, now);
        seeds.push(Seed { xml, now, login });
    }
    Ok(seeds)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let seconds = arguments.next().map_or(Ok(10), |text| text.parse())?;
    let seed: u64 = arguments.next().map_or(Ok(1), |text| text.parse())?;
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures");
    let settings = settings()?;
    let mut certificates = Vec::new();
    for name in ["idp.pem", "ec256.pem", "ec384.pem"] {
        certificates.extend(Certificate::from_pem(&std::fs::read(folder.join(name))?)?);
    }
    let seeds = seeds(&folder, &settings, &certificates)?;
    let good: Vec<&Seed> = seeds.iter().filter(|seed| seed.login.is_some()).collect();
    let mut random = Random(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let until = Instant::now() + Duration::from_secs(seconds);
    let (mut tried, mut accepted) = (0_u64, 0_u64);
    while Instant::now() < until {
        let seed = good[random.below(good.len())];
        let xml = mutate(&mut random, &seeds, &seed.xml);
        let begun = Instant::now();
        let found = login(&settings, &certificates, &xml, seed.now);
        if begun.elapsed() > Duration::from_secs(2) {
            return Err(format!("{:?} for {xml}", begun.elapsed()).into());
        }
        tried += 1;
        if let Some(found) = found {
            accepted += 1;
            if !good.iter().any(|seed| seed.login.as_ref() == Some(&found)) {
                return Err(format!("{found:?} from {xml}").into());
            }
        }
    }
    println!(
        "{tried} responses, {accepted} of them accepted as what they were; {} seeds",
        good.len()
    );
    Ok(())
}
