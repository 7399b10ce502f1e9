package noise_test

import (
	"strings"
	"testing"

	"freshet/internal/extract"
	"freshet/internal/extract/noise"
)

// BenchmarkJudge judges a page with a clock, as a hand does at every change. The
// difference that people are shown is made anyway: compare with BenchmarkDiff.
func BenchmarkJudge(b *testing.B) {
	s := siteNamed("clock")
	var m noise.Memory
	for k := 1; b.Loop(); k++ {
		known, err := m.MarshalBinary()
		if err == nil {
			err = m.UnmarshalBinary(known)
		}
		if err != nil {
			b.Fatal(err)
		}
		m.Judge([]byte(s.at(k-1)), []byte(s.at(k)))
	}
}

// BenchmarkTokens finds the tokens of lines as pages have them.
func BenchmarkTokens(b *testing.B) {
	for name, lines := range map[string][]string{
		"words": {clause(3), clause(4), clause(17), "Terms of use"},
		"news": {
			"The valley of the parliament will question telescopes, and 7 pilots cross it. The weather of the newspaper will open lanterns, and 37 gardeners weigh it.",
			"Posted 3 hours ago by Ann", "1,204 views and 17 comments", "It is now 12:03:44", "Last updated: March 1, 2026", "from EUR 1,204.50 a month",
		},
		"numbers": {"10.0.0.1 2026-03-01T12:03:44Z 1700000000 0f3a9b2c 12 ms 1.2.3 v2.0.1-rc1 5 % 3/4 12,5 7 8 9", "1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20"},
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(strings.Join(lines, ""))))
			for b.Loop() {
				for _, line := range lines {
					noise.TokensOf(line)
				}
			}
		})
	}
}

func BenchmarkDiff(b *testing.B) {
	s := siteNamed("clock")
	for k := 1; b.Loop(); k++ {
		_ = extract.Diff([]byte(s.at(k-1)), []byte(s.at(k))).Summary()
	}
}
