package noise_test

import (
	"strings"
	"testing"
	"unicode"

	"pgregory.net/rapid"

	"freshet/noise"
)

// What is found in a line by hand is what the pattern of all tokens finds in it.
func TestScanFindsWhatThePatternFinds(t *testing.T) {
	part := rapid.OneOf(
		rapid.SampledFrom([]string{
			" ", " ", " ", " ", ".", ",", "-", "+", ":", "/", "_", "é", "٣", "[", "]", "@", "$", "€", "%", "'", "年", "月", "日", "前", "ё", "\u0301", "\t", "(", "T",
			"12", "2026", "03", "7", "1.5", "1,204", "0f3a9b2c", "km", "v2", "V", "version", "March", "mar", "Sun", "SATURDAY", "miércoles", "Sábado", "de", "of", "st", "th",
			"ago", "hours", "an", "hour", "just now", "yesterday", "vor", "Stunden", "il y a", "hace", "há", "назад", "USD", "eur", "kr", "pm", "a.m.", "[email protected]",
			"a.b+c@d-e.fr", "2026-03-01T12:03:44Z", "12:03", "2026年3月1日", "f81d4fae-7dec-11d0-a765-00a0c91e6bf6", "1.2.3-rc1", "views", "x9Yz", "word", "LongestWordWithoutAnyDigits",
			strings.Repeat("9", 220), strings.Repeat("ab", 120),
		}),
		rapid.StringOfN(rapid.RuneFrom(nil, unicode.Latin, unicode.Nd), 1, 4, -1),
	)
	rapid.Check(t, func(t *rapid.T) {
		line := strings.ToValidUTF8(strings.Join(rapid.SliceOfN(part, 1, 14).Draw(t, "parts"), ""), "")
		if got, want := noise.TokensOf(line); got != want {
			t.Errorf("of %q are found by hand\n%s\nand by the pattern\n%s", line, got, want)
		}
	})
}
