//! Repair of the `:authority` that gRPC's C core sends over a Unix socket.
//!
//! Its clients (Python, Ruby, PHP, C++, Objective-C) send the percent-encoded path of the socket, which is not a valid authority (RFC 3986, section 3.2), and HTTP/2 libraries reset such streams.
//! Each `%` is replaced by `-` while the bytes are read: lengths stay the same, and so do the sizes of entries in the dynamic table of header compression (RFC 7541), so that nothing else has to be rewritten.
//! The socket admits only its owner, so the authority decides nothing.

/// First bytes of an HTTP/2 connection.
const PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// Length of the head of a frame: length, type, flags and stream.
const HEAD_LENGTH: usize = 9;

const HEADERS: u8 = 1;
const CONTINUATION: u8 = 9;
const PADDED: u8 = 0x8;
const PRIORITY: u8 = 0x20;

/// Number of bytes of a stream dependency and its weight.
const PRIORITY_LENGTH: u32 = 5;

const AUTHORITY: &[u8] = b":authority";

/// Index of `:authority` in the static table.
const AUTHORITY_INDEX: u64 = 1;

/// Rewrites the bytes of one connection in place, in parts of any length.
#[derive(Debug)]
pub(super) struct AuthorityRepair {
    place: FramePlace,
    block: BlockPlace,
}

/// Place of the next byte among the frames.
#[derive(Clone, Copy, Debug)]
enum FramePlace {
    /// In the preface, after this many bytes.
    Preface(usize),
    /// In the head of a frame.
    Head([u8; HEAD_LENGTH], usize),
    /// At the padding length of a frame of headers with this many bytes left.
    PaddingLength { n_left: u32, n_skipped: u32 },
    /// In a header block, after `n_skipped` more bytes of priority, and before `n_padding` bytes of padding.
    Block { n_left: u32, n_skipped: u32, n_padding: u32 },
    /// In the payload of another frame.
    Payload(u32),
    /// In a connection that is not HTTP/2.
    Other,
}

/// Place of the next byte in a header block.
#[derive(Clone, Copy, Debug)]
enum BlockPlace {
    /// At the start of a field.
    Field,
    /// In an integer that continues.
    Integer { of: IntegerRole, value: u64, shift: u32 },
    /// At the length of a string.
    Length(StringRole),
    /// In a string. `n_equal` bytes of a name equal those of `:authority`.
    Text { of: StringRole, n_left: u64, n_read: u64, n_equal: u64 },
}

/// Meaning of an integer.
#[derive(Clone, Copy, Debug)]
enum IntegerRole {
    /// A whole field, or a table size.
    Whole,
    /// Index of a name; 0 if the name follows.
    NameIndex,
    /// Length of a string.
    Length(StringRole),
}

/// Meaning of a string. A compressed string is not read.
#[derive(Clone, Copy, Debug)]
enum StringRole {
    Name { is_plain: bool },
    Value { is_authority: bool, is_plain: bool },
}

impl Default for AuthorityRepair {
    fn default() -> Self {
        Self { place: FramePlace::Preface(0), block: BlockPlace::Field }
    }
}

impl AuthorityRepair {
    /// Rewrites the next bytes of the connection.
    pub(super) fn repair(&mut self, bytes: &mut [u8]) {
        let mut rest = bytes;
        loop {
            if matches!(self.place, FramePlace::Other) {
                return;
            }
            if let FramePlace::Payload(n_left) = self.place {
                let n = rest.len().min(n_left as usize);
                let left = n_left - u32::try_from(n).unwrap_or(n_left);
                self.place =
                    if left == 0 { FramePlace::start() } else { FramePlace::Payload(left) };
                rest = &mut std::mem::take(&mut rest)[n..];
            }
            let Some((byte, after)) = std::mem::take(&mut rest).split_first_mut() else { return };
            rest = after;
            self.read(byte);
        }
    }

    /// Reads the next byte, except in the payload of another frame.
    fn read(&mut self, byte: &mut u8) {
        match self.place {
            FramePlace::Other | FramePlace::Payload(_) => {}
            FramePlace::Preface(n) if PREFACE[n] != *byte => self.place = FramePlace::Other,
            FramePlace::Preface(n) if n + 1 < PREFACE.len() => {
                self.place = FramePlace::Preface(n + 1);
            }
            FramePlace::Preface(_) => self.place = FramePlace::start(),
            FramePlace::Head(mut head, n) => {
                head[n] = *byte;
                self.place = FramePlace::Head(head, n + 1);
                if n + 1 == HEAD_LENGTH {
                    self.start_payload(head);
                }
            }
            FramePlace::PaddingLength { n_left, n_skipped } => {
                let n_padding = u32::from(*byte).min(n_left - 1);
                self.place = FramePlace::Block { n_left: n_left - 1, n_skipped, n_padding };
                self.end_payload();
            }
            FramePlace::Block { n_left, n_skipped, n_padding } => {
                if n_skipped == 0 && n_left > n_padding {
                    self.block = self.block.after(byte);
                }
                let n_skipped = n_skipped.saturating_sub(1);
                self.place = FramePlace::Block { n_left: n_left - 1, n_skipped, n_padding };
                self.end_payload();
            }
        }
    }

    fn start_payload(&mut self, head: [u8; HEAD_LENGTH]) {
        let [a, b, c, kind, flags, ..] = head;
        let n_left = u32::from_be_bytes([0, a, b, c]);
        if kind == HEADERS {
            self.block = BlockPlace::Field;
        }
        let has = |flag| kind == HEADERS && flags & flag != 0;
        let n_skipped = if has(PRIORITY) { PRIORITY_LENGTH } else { 0 };
        self.place = match kind {
            _ if n_left == 0 => FramePlace::start(),
            HEADERS if has(PADDED) => FramePlace::PaddingLength { n_left, n_skipped },
            HEADERS | CONTINUATION => FramePlace::Block { n_left, n_skipped, n_padding: 0 },
            _ => FramePlace::Payload(n_left),
        };
    }

    fn end_payload(&mut self) {
        if let FramePlace::Block { n_left: 0, .. } = self.place {
            self.place = FramePlace::start();
        }
    }
}

impl FramePlace {
    const fn start() -> Self {
        Self::Head([0; HEAD_LENGTH], 0)
    }
}

impl BlockPlace {
    /// Reads the next byte, and replaces it if it is a `%` of an authority.
    fn after(self, byte: &mut u8) -> Self {
        match self {
            Self::Field => {
                // Indexed; literal to be indexed; size of the table; literal that is not indexed.
                let (of, n_bits) = match *byte {
                    0x80.. => (IntegerRole::Whole, 7),
                    0x40.. => (IntegerRole::NameIndex, 6),
                    0x20.. => (IntegerRole::Whole, 5),
                    _ => (IntegerRole::NameIndex, 4),
                };
                Self::integer(of, *byte, n_bits)
            }
            Self::Integer { of, value, shift } => {
                let more = u64::from(*byte & 0x7f).checked_shl(shift).unwrap_or(u64::MAX);
                let value = value.saturating_add(more);
                if *byte & 0x80 == 0 {
                    Self::after_integer(of, value)
                } else {
                    Self::Integer { of, value, shift: shift.saturating_add(7) }
                }
            }
            Self::Length(of) => {
                let is_plain = *byte & 0x80 == 0;
                let of = match of {
                    StringRole::Name { .. } => StringRole::Name { is_plain },
                    StringRole::Value { is_authority, .. } => {
                        StringRole::Value { is_authority, is_plain }
                    }
                };
                Self::integer(IntegerRole::Length(of), *byte, 7)
            }
            Self::Text { of, n_left, n_read, n_equal } => {
                let n_equal = match of {
                    StringRole::Value { is_authority: true, is_plain: true } if *byte == b'%' => {
                        *byte = b'-';
                        0
                    }
                    StringRole::Name { is_plain: true } => {
                        let expected = usize::try_from(n_read).ok().and_then(|n| AUTHORITY.get(n));
                        n_equal + u64::from(expected == Some(byte))
                    }
                    StringRole::Value { .. } | StringRole::Name { .. } => 0,
                };
                Self::in_text(of, n_left - 1, n_read + 1, n_equal)
            }
        }
    }

    /// Reads the first byte of an integer in its last `n_bits`.
    fn integer(of: IntegerRole, byte: u8, n_bits: u32) -> Self {
        let most = (1_u64 << n_bits) - 1;
        match u64::from(byte) & most {
            value if value == most => Self::Integer { of, value, shift: 0 },
            value => Self::after_integer(of, value),
        }
    }

    fn after_integer(of: IntegerRole, value: u64) -> Self {
        const UNREAD: bool = false;
        match of {
            IntegerRole::Whole => Self::Field,
            IntegerRole::NameIndex if value == 0 => {
                Self::Length(StringRole::Name { is_plain: UNREAD })
            }
            IntegerRole::NameIndex => {
                let is_authority = value == AUTHORITY_INDEX;
                Self::Length(StringRole::Value { is_authority, is_plain: UNREAD })
            }
            IntegerRole::Length(of) => Self::in_text(of, value, 0, 0),
        }
    }

    /// Returns the place in a string, or after it if nothing of it is left.
    fn in_text(of: StringRole, n_left: u64, n_read: u64, n_equal: u64) -> Self {
        match of {
            _ if n_left > 0 => Self::Text { of, n_left, n_read, n_equal },
            StringRole::Name { .. } => {
                let n_authority = AUTHORITY.len() as u64;
                let is_authority = n_equal == n_authority && n_read == n_authority;
                Self::Length(StringRole::Value { is_authority, is_plain: false })
            }
            StringRole::Value { .. } => Self::Field,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns a frame.
    fn frame(kind: u8, flags: u8, payload: &[u8]) -> Vec<u8> {
        let length = u32::try_from(payload.len()).unwrap().to_be_bytes();
        [&length[1..], &[kind, flags, 0, 0, 0, 1], payload].concat()
    }

    /// Returns a plain string.
    fn string(text: &[u8]) -> Vec<u8> {
        let n = text.len();
        let length = if n < 127 {
            vec![u8::try_from(n).unwrap()]
        } else {
            vec![
                127,
                u8::try_from((n - 127) & 0x7f).unwrap() | 0x80,
                u8::try_from((n - 127) >> 7).unwrap(),
            ]
        };
        [&length[..], text].concat()
    }

    /// Rewrites `bytes` in parts of `n`.
    fn repaired(bytes: &[u8], n: usize) -> Vec<u8> {
        let mut bytes = bytes.to_vec();
        let mut repair = AuthorityRepair::default();
        bytes.chunks_mut(n).for_each(|part| repair.repair(part));
        bytes
    }

    #[test]
    fn percent_signs_are_replaced_in_the_authority_only() {
        let path = [b"\x40".to_vec(), string(b":path"), string(b"/a%2Fb")].concat();
        let long = [b"run%2F".repeat(40), b"weft.sock".to_vec()].concat();
        let named = [&b"\x40"[..], &string(b":authority"), &string(&long)].concat();
        let indexed = [&b"\x41"[..], &string(b"a%2Fb")].concat();
        let unindexed = [&b"\x01"[..], &string(b"a%2Fb")].concat();
        let similar = [&b"\0"[..], &string(b":authoritx"), &string(b"a%b")].concat();
        let longer = [&b"\0"[..], &string(b":authority2"), &string(b"a%b")].concat();
        let compressed = b"\x41\x83%%%".to_vec();
        let sizes = b"\x3f\xe1\x1f\x82\xff\x01".to_vec();
        for (name, block, is_changed) in [
            ("name as text", &named, true),
            ("name from the static table", &indexed, true),
            ("not indexed", &unindexed, true),
            ("another field", &path, false),
            ("a similar name", &similar, false),
            ("a longer name", &longer, false),
            ("compressed", &compressed, false),
        ] {
            let changed: Vec<u8> = match is_changed {
                true => block.iter().map(|b| if *b == b'%' { b'-' } else { *b }).collect(),
                false => block.clone(),
            };
            let whole = |block: &[u8]| {
                let block = [&sizes[..], &path, block, &path].concat();
                let padded = [&[3][..], &[0; 5], &block, b"%%%"].concat();
                let (first, second) = block.split_at(block.len() / 2);
                [
                    PREFACE.to_vec(),
                    frame(4, 0, b"%%%%%%"),
                    frame(HEADERS, 4, &block),
                    frame(0, 1, &named),
                    frame(HEADERS, PADDED | PRIORITY | 4, &padded),
                    frame(HEADERS, 0, first),
                    frame(CONTINUATION, 4, second),
                    frame(4, 1, b""),
                    frame(HEADERS, PADDED | 4, &[9]),
                    frame(HEADERS, 5, &block),
                ]
                .concat()
            };
            let (sent, expected) = (whole(block), whole(&changed));
            for n in [1, 2, 7, 64, sent.len()] {
                assert!(repaired(&sent, n) == expected, "{name}, in parts of {n}");
            }
        }
        let http1 = b"GET /%41 HTTP/1.1\r\nHost: a%b\r\n\r\n";
        assert_eq!(repaired(http1, 3), http1);
    }

    #[test]
    fn any_bytes_are_accepted() {
        let mut state = 1_u32;
        let mut next = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            state.to_be_bytes()[0]
        };
        for _ in 0..200 {
            let payload: Vec<u8> = (0..300).map(|_| next()).collect();
            let flags = next();
            let bytes = [PREFACE, &frame(HEADERS, flags, &payload), &payload].concat();
            assert_eq!(repaired(&bytes, 5).len(), bytes.len());
            assert_eq!(repaired(&bytes, 5), repaired(&bytes, bytes.len()));
        }
    }
}
