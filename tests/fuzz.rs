//! Requests of any shape to every call: each is answered or refused in plain words, and the daemon goes on.
//!
//! A program of its own, so that the memory it looks at is this daemon's alone.

mod calls;

use std::collections::BTreeMap;
use std::time::Duration;

use tonic::Code;
use weft_testkit::Random;
use weft_tests::{Failure, Running, served};

use crate::calls::{Contract, Make, ask};

/// The program's allocator: how much of what is let go the system gets back is its doing.
#[cfg(unix)]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Requests where the environment says nothing: enough for every call to be met often, few enough for every run of the tests.
const N_REQUESTS: u64 = 600;

/// Bytes of a request at most, so that one that is too large is made quickly.
const MAX_REQUEST: usize = 1 << 16;

/// The longest that any one request may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// Texts that have a meaning somewhere, or had better have none.
const TEXTS: &[&str] = &[
    "",
    "fern",
    "moss",
    "fern.md",
    "plants/soil",
    "vault:fern",
    "nowhere",
    "../../etc/passwd",
    "/etc/passwd",
    "a\0b",
    "C:\\x.md",
    "\u{202e}nref",
    "*",
    "**/*.md",
    "[",
    "{a,",
    "[[fern]]",
    "fern#x^y",
    "\"soft",
    "+ - \"",
    "2024-13-45",
    "2024-01-01",
    "1.0",
    "1.0.1-1",
    "9999999999999999999999",
    "chars",
    "null",
    "#",
    "^",
    "\n\r\t",
    "ﬁrﬆ ＡＢＣ é e\u{301}",
    "🌱",
    "- : &a *a",
    "---\nid: x\n---\n# X",
];

/// Values of all kinds, most of them odd.
struct Odd {
    random: Random,
}

impl Make for Odd {
    fn n_values(&mut self, _: &str, is_repeated: bool) -> usize {
        match (is_repeated, self.random.below(8)) {
            (_, 0..=2) => 0,
            (true, 7) => 1 + self.random.below(40),
            (true, _) => 1 + self.random.below(3),
            (false, _) => 1,
        }
    }

    fn number(&mut self) -> u64 {
        match self.random.below(8) {
            0 => 0,
            1 | 2 => 1,
            3 => self.random.below(100) as u64,
            4 => u64::MAX,
            5 => u64::from(u32::MAX),
            6 => i64::MAX.unsigned_abs() + self.random.below(2) as u64,
            _ => self.random.number(),
        }
    }

    fn choice(&mut self, n: u64) -> u64 {
        if self.random.below(8) == 0 { self.number() } else { self.random.number() % n.max(1) }
    }

    fn double(&mut self) -> f64 {
        let odd = [
            0.0,
            -0.0,
            1.0,
            0.5,
            -1.0,
            f64::NAN,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::MAX,
            1e-320,
        ];
        odd[self.random.below(odd.len())]
    }

    fn text(&mut self, _: &str) -> Vec<u8> {
        match self.random.below(12) {
            0 => vec![0xff; 1 + self.random.below(9)],
            1 => "x".repeat(self.random.below(5000)).into_bytes(),
            _ => TEXTS[self.random.below(TEXTS.len())].as_bytes().to_vec(),
        }
    }
}

/// Spoils some bytes, and the length.
fn spoil(bytes: &mut Vec<u8>, random: &mut Random) {
    for _ in 0..1 + random.below(4) {
        if bytes.is_empty() {
            break;
        }
        let at = random.below(bytes.len());
        match random.below(3) {
            0 => bytes[at] = random.number().to_le_bytes()[0],
            1 => bytes.truncate(at),
            _ => bytes.insert(at, random.number().to_le_bytes()[0]),
        }
    }
}

/// Bytes of memory that this process holds, where the system says it.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

#[tokio::test(flavor = "multi_thread")]
async fn whatever_is_sent_the_answer_is_clean_and_the_daemon_goes_on() -> Result<(), Failure> {
    #[expect(clippy::disallowed_methods, reason = "how long to try is known outside")]
    let n_requests = std::env::var("WEFT_FUZZ_REQUESTS").ok();
    let n_requests = n_requests.map_or(Ok(N_REQUESTS), |n| n.parse())?;
    let vault = tempfile::tempdir()?;
    std::fs::create_dir(vault.path().join("plants"))?;
    for (path, text) in [
        ("fern.md", "---\ntags: [green]\n---\n# Fern\nbeside [[moss]] and [[nowhere]]\n"),
        ("moss.md", "# Moss\nsoft, on [[plants/soil]] ^block\n"),
        ("plants/soil.md", "---\nparent: [[fern]]\n---\n# Soil\nunder [[moss|it]]\n"),
    ] {
        std::fs::write(vault.path().join(path), text)?;
    }
    let max_request = MAX_REQUEST.to_string();
    let settings = [
        ("embedding.model", "none"),
        ("server.max_request_bytes", max_request.as_str()),
        // Some wait for a generation that never comes.
        ("server.timeout_ms", "100"),
    ];
    let daemon = Running::start(vault.path(), &settings).await?;
    let channel = daemon.channel().await?;
    served(&channel).await?;
    let contract = Contract::read();

    let mut codes: BTreeMap<i32, usize> = BTreeMap::new();
    let mut halfway = None;
    for seed in 0..n_requests {
        if seed == n_requests / 2 {
            halfway = resident();
        }
        let mut random = Random::new(seed);
        let call = &contract.calls[random.below(contract.calls.len())];
        let kind = random.below(10);
        let bytes = match kind {
            0 => (0..random.below(200)).map(|_| random.number().to_le_bytes()[0]).collect(),
            1 => vec![0; MAX_REQUEST + 1 + random.below(MAX_REQUEST)],
            _ => {
                let mut odd = Odd { random: random.clone() };
                let mut bytes = contract.message(&call.input, 3, &mut odd);
                if kind < 5 {
                    spoil(&mut bytes, &mut random);
                }
                bytes
            }
        };
        let asked = tokio::time::timeout(PATIENCE, ask(&channel, call, bytes)).await;
        let answer = asked.map_err(|_| format!("{} hangs, seed {seed}", call.path))?;
        let code = answer.as_ref().map_or_else(tonic::Status::code, |_| Code::Ok);
        *codes.entry(code as i32).or_default() += 1;
        match code {
            Code::Ok
            | Code::InvalidArgument
            | Code::NotFound
            | Code::AlreadyExists
            | Code::FailedPrecondition
            | Code::Aborted
            | Code::DeadlineExceeded
            | Code::ResourceExhausted => {}
            Code::Cancelled
            | Code::Unknown
            | Code::PermissionDenied
            | Code::OutOfRange
            | Code::Unimplemented
            | Code::Internal
            | Code::Unavailable
            | Code::DataLoss
            | Code::Unauthenticated => {
                return Err(
                    format!("{} with seed {seed} ({kind}) gives {answer:?}", call.path).into()
                );
            }
        }
        let too_large = kind == 1;
        assert!(!too_large || code == Code::ResourceExhausted, "{} {seed}: {answer:?}", call.path);
    }
    println!("{n_requests} requests, by code: {codes:?}; memory {halfway:?} then {:?}", resident());
    assert!(codes.len() > 2, "the requests reach something: {codes:?}");
    if let (Some(before), Some(after)) = (halfway, resident()) {
        let grown = after.saturating_sub(before);
        assert!(grown < 64 << 20, "the second half of the requests left {grown} bytes behind");
    }
    served(&channel).await?;
    daemon.stop().await?;
    Ok(())
}
