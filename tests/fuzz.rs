//! Random requests to every RPC: each is answered or refused with a clean message, and the daemon keeps serving.
//!
//! A separate program, so that its memory is that of this daemon alone.

mod descriptors;

use std::collections::BTreeMap;
use std::time::Duration;

use tonic::Code;
use weft_testkit::Random;
use weft_tests::{Failure, TestDaemon, served};

use crate::descriptors::{Contract, FieldValues, ask};

/// The allocator of `weft`, which determines how much freed memory returns to the system.
#[cfg(unix)]
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Default number of requests: enough to cover every RPC, few enough for every test run.
const N_REQUESTS: u64 = 600;

/// Maximum size of a request in bytes, below which even an oversized request is generated quickly.
const MAX_REQUEST: usize = 1 << 16;

/// Maximum time of any request.
const PATIENCE: Duration = Duration::from_secs(30);

/// Texts with a meaning in some field, and texts without a meaning.
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

/// Generates values of all kinds, most of them unusual.
struct RandomValues {
    random: Random,
}

impl FieldValues for RandomValues {
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

/// Corrupts some bytes, and the length.
fn corrupt(bytes: &mut Vec<u8>, random: &mut Random) {
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

/// Returns the resident memory of this process in bytes, if the system reports it.
fn resident() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmRSS:"))?;
    line.split_whitespace().nth(1)?.parse::<u64>().ok().map(|kib| kib * 1024)
}

#[tokio::test(flavor = "multi_thread")]
async fn random_requests_get_clean_responses() -> Result<(), Failure> {
    #[expect(clippy::disallowed_methods, reason = "the environment sets the number of requests")]
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
        // Some requests wait for a generation that is never published.
        ("server.timeout_ms", "100"),
    ];
    let daemon = TestDaemon::start(vault.path(), &settings).await?;
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
                let mut odd = RandomValues { random: random.clone() };
                let mut bytes = contract.message(&call.input, 3, &mut odd);
                if kind < 5 {
                    corrupt(&mut bytes, &mut random);
                }
                bytes
            }
        };
        let sent_request = tokio::time::timeout(PATIENCE, ask(&channel, call, bytes)).await;
        let answer = sent_request.map_err(|_| format!("{} hangs, seed {seed}", call.path))?;
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
    assert!(codes.len() > 2, "the requests reach the handlers: {codes:?}");
    if let (Some(before), Some(after)) = (halfway, resident()) {
        let grown = after.saturating_sub(before);
        assert!(grown < 64 << 20, "the second half of the requests leaked {grown} bytes");
    }
    served(&channel).await?;
    daemon.stop().await?;
    Ok(())
}
