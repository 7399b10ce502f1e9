package store_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"freshet/internal/store"
)

// TestCodecRoundTrip encodes chains of edited bodies.
func TestCodecRoundTrip(t *testing.T) {
	var c store.Codec
	rapid.Check(t, func(rt *rapid.T) {
		word := rapid.SampledFrom([]string{"<p>", "</p>\n", "price ", "12", "\x00\xff", "a rather longer passage of text, ", "é"})
		base := []byte(strings.Join(rapid.SliceOfN(word, 0, 400).Draw(rt, "base"), ""))
		body := base
		for range rapid.IntRange(0, 6).Draw(rt, "edits") {
			from := rapid.IntRange(0, len(body)).Draw(rt, "from")
			to := rapid.IntRange(from, min(len(body), from+50)).Draw(rt, "to")
			edit := strings.Join(rapid.SliceOfN(word, 0, 5).Draw(rt, "edit"), "")
			body = bytes.Join([][]byte{body[:from], []byte(edit), body[to:]}, nil)
		}
		frame, alone, err := c.Encode(body, base)
		if err != nil {
			rt.Fatal(err)
		}
		history := base
		if alone {
			history = nil
		}
		got, err := c.Decode(frame, history, int64(len(body)))
		if err != nil || !bytes.Equal(got, body) {
			rt.Fatalf("%d bytes came back as %d: %v", len(body), len(got), err)
		}
	})
}

// TestCodecPaths sees to it that every kind of frame is made, and that a small
// change makes a small frame whatever the size of the body.
func TestCodecPaths(t *testing.T) {
	page := func(n int) []byte {
		var b strings.Builder
		rnd := rand.New(rand.NewPCG(1, 2))
		for b.Len() < n {
			fmt.Fprintf(&b, "<li>%x</li>\n", rnd.Uint32())
		}
		return []byte(b.String())
	}
	few := func(b []byte) []byte {
		b = bytes.Clone(b)
		copy(b[len(b)/3:], "changed here")
		return append(b, "and here"...)
	}
	many := func(b []byte) []byte {
		return bytes.ReplaceAll(b, []byte("a"), []byte("[A]"))
	}
	tests := []struct {
		name       string
		body, base []byte
		kind       byte
		most       int
	}{
		{"nothing", nil, nil, 0, 1},
		{"noise", noise(1), nil, 0, 20_100},
		{"a page alone", page(20_000), nil, 1, 12_000},
		{"few changes", few(page(20_000)), page(20_000), 3, 60},
		{"few changes of a large page", few(page(3_000_000)), page(3_000_000), 3, 60},
		{"many changes", many(page(20_000)), page(20_000), 2, 6_000},
		{"many changes of a large page", many(page(3_000_000)), page(3_000_000), 2, 900_000},
		{"the same", page(20_000), page(20_000), 3, 20},
		{"a short base", page(1000), []byte("short"), 1, 700},
	}
	var c store.Codec
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			frame, alone, err := c.Encode(tt.body, tt.base)
			if err != nil {
				t.Fatal(err)
			}
			if frame[0] != tt.kind || alone != (tt.kind < 2) {
				t.Errorf("the frame is of kind %d, want %d", frame[0], tt.kind)
			}
			if len(frame) > tt.most {
				t.Errorf("the frame has %d bytes, want %d at most", len(frame), tt.most)
			}
			if got, err := c.Decode(frame, tt.base, int64(len(tt.body))); err != nil || !bytes.Equal(got, tt.body) {
				t.Errorf("the body does not come back: %v", err)
			}
		})
	}
}

// FuzzDecode feeds frames that nobody wrote. They must be refused or give a
// body of the size asked for, and not more.
func FuzzDecode(f *testing.F) {
	var c store.Codec
	base := []byte(strings.Repeat("a base to copy from. ", 20))
	for _, body := range []string{"", "x", string(base) + "!", strings.ToUpper(string(base))} {
		frame, _, err := c.Encode([]byte(body), base)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(frame, int64(len(body)))
	}
	f.Add([]byte{3, 1, 'x', 5, 4, 0}, int64(6))
	f.Fuzz(func(t *testing.T, frame []byte, size int64) {
		body, err := c.Decode(frame, base, size%(1<<16))
		if err == nil && int64(len(body)) != size%(1<<16) {
			t.Errorf("%d bytes were decoded where %d were asked for", len(body), size%(1<<16))
		}
	})
}

func TestHeaderRoundTrip(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		name := rapid.SampledFrom([]string{"Date", "Etag", "Content-Type", "X-Other", "", "Näme"})
		value := rapid.OneOf(rapid.String(), rapid.SampledFrom([]string{
			"Sun, 01 Mar 2026 12:00:00 GMT", "Sunday, 01-Mar-26 12:00:00 GMT", "Sun Mar  1 12:00:00 2026", "Mon, 01 Mar 2026 12:00:00 GMT",
			`W/"0123456789abcdef"`, "abcdef0123456", "8a0123456789abcd-FRA", "0", "-17", "007", "99999999999999999999",
		}))
		want := http.Header(rapid.MapOfN(name, rapid.SliceOfN(value, 1, 3), 0, 5).Draw(rt, "header"))
		got := http.Header{}
		if err := store.UnpackHeader(store.PackHeader(want), got); err != nil {
			rt.Fatal(err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			rt.Fatalf("the header came back otherwise (-want +got):\n%s", diff)
		}
	})
}

// FuzzHeader feeds packed headers that nobody packed. They must be refused, or
// be the header that they say.
func FuzzHeader(f *testing.F) {
	f.Add(store.PackHeader(http.Header{"Date": {"Sun, 01 Mar 2026 12:00:00 GMT"}, "X": {"y"}}))
	f.Fuzz(func(t *testing.T, packed []byte) {
		one, two := http.Header{}, http.Header{}
		if store.UnpackHeader(packed, one) != nil {
			return
		}
		if err := store.UnpackHeader(store.PackHeader(one), two); err != nil || !cmp.Equal(one, two) {
			t.Errorf("%v came back as %v: %v", one, two, err)
		}
	})
}
