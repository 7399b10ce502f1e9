package synth

import "bytes"

// VersionIn finds the number of the version that a text was taken from, be it
// a whole body, the text extracted from it or a selected part: every page says
// its edition, every item the edition it came with, and the highest counts.
func VersionIn(text []byte) (int, bool) {
	const word = "edition"
	version, found := 0, false
	for {
		i := bytes.Index(text, []byte(word))
		if i < 0 {
			return version, found
		}
		text = text[i+len(word):]
		if n, ok := leadingNumber(bytes.TrimLeft(text, "\": \t\n")); ok {
			version, found = max(version, n), true
		}
	}
}

// leadingNumber reads the digits that b begins with.
func leadingNumber(b []byte) (n int, ok bool) {
	for i, c := range b {
		if c < '0' || c > '9' || i == 18 {
			break
		}
		n, ok = n*10+int(c-'0'), true
	}
	return n, ok
}
