package noise_test

import (
	"bytes"
	"errors"
	"testing"

	"pgregory.net/rapid"

	"freshet/internal/extract/noise"
)

// mostBytes is how large a memory may become.
const mostBytes = 13 << 10

func marshalled(t interface{ Fatal(...any) }, m *noise.Memory) []byte {
	b, err := m.MarshalBinary()
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// A memory that was written and read judges what comes as if it had not been.
func TestMemoryIsKept(t *testing.T) {
	for _, s := range append(noisySites(), honestSites()...) {
		t.Run(s.name, func(t *testing.T) {
			var m noise.Memory
			for k := 1; k < rounds; k++ {
				var read noise.Memory
				if err := read.UnmarshalBinary(marshalled(t, &m)); err != nil {
					t.Fatal(err)
				}
				old, new := []byte(s.at(k-1)), []byte(s.at(k))
				got, want := read.Judge(old, new), m.Judge(old, new)
				if got.Verdict != want.Verdict {
					t.Fatalf("step %d is %s after the memory was kept, and %s otherwise", k, got.Verdict, want.Verdict)
				}
				if !bytes.Equal(marshalled(t, &read), marshalled(t, &m)) {
					t.Fatalf("step %d teaches something else after the memory was kept", k)
				}
			}
			if n := len(marshalled(t, &m)); n > mostBytes {
				t.Errorf("the memory takes %d bytes, want at most %d", n, mostBytes)
			}
		})
	}
}

// However a page behaves, its memory stays small.
func TestMemoryIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var m noise.Memory
		old := []byte{}
		for range rapid.IntRange(1, 8).Draw(t, "steps") {
			var new []byte
			for _, l := range rapid.SliceOfN(rapid.StringMatching(`[a-z]{0,60} ?[0-9:.-]{0,12} ?[a-z]{0,60}`), 0, 200).Draw(t, "lines") {
				new = append(new, l+"\n"...)
			}
			m.Judge(old, new)
			old = new
		}
		if n := len(marshalled(t, &m)); n > mostBytes {
			t.Fatalf("the memory takes %d bytes, want at most %d", n, mostBytes)
		}
	})
}

func TestDamagedMemory(t *testing.T) {
	var m noise.Memory
	for k := 1; k < 20; k++ {
		s := siteNamed("clock")
		m.Judge([]byte(s.at(k-1)), []byte(s.at(k)))
	}
	whole := marshalled(t, &m)
	for i := range whole {
		for _, damaged := range [][]byte{append(append(bytes.Clone(whole[:i]), whole[i]^0x10), whole[i+1:]...), whole[:i]} {
			var read noise.Memory
			if err := read.UnmarshalBinary(damaged); !errors.Is(err, noise.ErrDamaged) {
				t.Fatalf("a memory damaged at byte %d is read: %v", i, err)
			}
			if read.Report().Polls != 0 {
				t.Fatalf("a memory damaged at byte %d is read in part", i)
			}
		}
	}
}

func FuzzMemory(f *testing.F) {
	var m noise.Memory
	f.Add(marshalled(f, &m), "a\nb 12:03\n", "a\nb 12:04\n")
	for k := 1; k < 20; k++ {
		s := siteNamed("clock")
		m.Judge([]byte(s.at(k-1)), []byte(s.at(k)))
	}
	f.Add(marshalled(f, &m), "", "x")
	f.Add([]byte("0"), "0", "\xff")
	f.Fuzz(func(t *testing.T, data []byte, old, new string) {
		var m noise.Memory
		if err := m.UnmarshalBinary(data); err != nil {
			if !errors.Is(err, noise.ErrDamaged) {
				t.Fatal(err)
			}
		} else if again := marshalled(t, &m); !bytes.Equal(again, data) && len(again) > len(data) {
			t.Fatalf("what was read is written as %d bytes, and was %d", len(again), len(data))
		}
		j := m.Judge([]byte(old), []byte(new))
		if (old == new) != (j.Verdict == noise.Same) {
			t.Fatalf("the step from %q to %q is %s", old, new, j.Verdict)
		}
		m.Report()
		var read noise.Memory
		if err := read.UnmarshalBinary(marshalled(t, &m)); err != nil {
			t.Fatalf("what was written cannot be read: %v", err)
		}
	})
}
