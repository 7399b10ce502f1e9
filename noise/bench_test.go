package noise_test

import (
	"testing"

	"freshet/content"
	"freshet/noise"
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

func BenchmarkDiff(b *testing.B) {
	s := siteNamed("clock")
	for k := 1; b.Loop(); k++ {
		_ = content.Diff([]byte(s.at(k-1)), []byte(s.at(k))).Summary()
	}
}
