//! Uses bytes as a sequence of choices, to build structured inputs. When the bytes end, every choice is the first option.

/// Texts that are special in YAML, shells, ssh, Kubernetes, terminals or HTML.
pub const HOSTILE: &[&str] = &[
    "",
    " ",
    "'",
    "\"",
    "'\"'\"'",
    "\\",
    "\n",
    "a\nb",
    "\r",
    "\t",
    "\u{7}",
    "\u{1b}[31m",
    "\u{1b}]0;x\u{7}",
    "\u{7f}",
    "\u{85}",
    "\u{9b}31m",
    "\u{2028}",
    "\u{202e}",
    "\u{feff}",
    "\u{1f680}",
    "$(touch pwned)",
    "`touch pwned`",
    "${IFS}",
    "$HOME",
    "$(HOME)",
    "$$(HOME)",
    "$",
    "; touch pwned;",
    "&& touch pwned",
    "| sh",
    "> pwned",
    "\n touch pwned\n",
    "'; touch pwned; '",
    "\"; touch pwned; \"",
    "EOF",
    "\nEOF\ntouch pwned\n",
    "*",
    "~",
    "~root",
    "{a,b}",
    "!!",
    "#",
    "# x",
    "-oProxyCommand=touch pwned",
    "--",
    "-",
    "-x",
    "%h",
    "%%",
    "a b",
    "a slots=99",
    "host:8,other:8",
    "@eval x",
    "{{ x }}",
    "{{{x}}}",
    "{%x%}",
    "</script><script>alert(1)</script>",
    "<img src=x onerror=alert(1)>",
    "javascript:alert(1)",
    "::error::x",
    "%0A::error::x",
    "---",
    "...",
    "- x",
    "? x",
    ": x",
    "x: y",
    "x #y",
    "&a",
    "*a",
    "!!str",
    "|",
    ">",
    "%YAML 1.1",
    "yes",
    "null",
    "0x1f",
    "0777",
    "1_000",
    "1:30",
    ".inf",
    "1e3",
    "2001-01-01",
    "<<",
    "=",
    "../../etc/passwd",
    "/",
    "//",
    "/a/../b",
    "18446744073709551615",
    "9223372036854775807",
    "-9223372036854775808",
    "1000000000000Ti",
    "khorovod",
    "masked",
];

/// The remaining bytes.
pub struct Choices<'a>(&'a [u8]);

impl<'a> Choices<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn byte(&mut self) -> u8 {
        let Some((first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        *first
    }

    /// A number from 0 to below a limit.
    pub fn below(&mut self, count: usize) -> usize {
        let wide = if count > 256 { usize::from(self.byte()) << 8 } else { 0 };
        (wide | usize::from(self.byte())) % count.max(1)
    }

    pub fn pick<'t, T>(&mut self, list: &'t [T]) -> &'t T {
        &list[self.below(list.len())]
    }

    /// Any number; small numbers are as likely as large ones.
    pub fn number(&mut self) -> u64 {
        (0..self.below(9)).fold(0, |number, _| number << 8 | u64::from(self.byte()))
    }

    /// Up to a number of bytes as text.
    fn written(&mut self, most: usize) -> String {
        let length = self.below(most + 1).min(self.0.len());
        let (text, rest) = self.0.split_at(length);
        self.0 = rest;
        String::from_utf8_lossy(text).into_owned()
    }

    /// Any text, often one of the special texts.
    pub fn text(&mut self) -> String {
        match self.below(8) {
            0..=2 => (*self.pick(HOSTILE)).to_owned(),
            3 => format!("{}{}", self.pick(HOSTILE), self.pick(HOSTILE)),
            4 => format!("a{}", self.pick(HOSTILE)),
            5 => format!("{}z", self.pick(HOSTILE)),
            6 => {
                let times = 1 << self.below(10);
                self.pick(&["a", "ab ", "é", "x\n", "'", "0", "/a", "a.", "\\"]).repeat(times)
            }
            _ => self.written(40),
        }
    }
}
