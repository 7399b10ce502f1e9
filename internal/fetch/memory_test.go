package fetch_test

import (
	"runtime"
	"strings"
	"testing"

	"freshet/internal/fetch"
)

// TestBombsTakeLittle decodes bombs and looks at what they made us allocate:
// a refusal that comes after the memory is taken is none.
func TestBombsTakeLittle(t *testing.T) {
	zeros := strings.Repeat("\x00", 16<<20)
	wide := wideZstd + strings.Repeat("\x00", 1<<20)
	for encoding, body := range map[string]string{
		"gzip": zipped(zeros), "br": brotliedText(zeros), "zstd": zstded([]byte(zeros)), "ZSTD": wide, "deflate": deflatedText(zeros), "Deflate": bareText(zeros), "gzip, gzip": zipped(zipped(zeros)),
	} {
		took := allocated(func() {
			if got, err := fetch.Decode(fetch.Config{}, encoding, strings.NewReader(body)); err == nil {
				t.Errorf("a bomb coded as %s decodes to %d bytes", encoding, len(got))
			}
		})
		if limit := uint64(24 << 20); took > limit {
			t.Errorf("a bomb of %d bytes coded as %s took %d bytes of memory, want less than %d", len(body), encoding, took, limit)
		}
	}
}

// TestEndlessBodyTakesLittle refuses a body by its announced size before any
// of it is read, and an endless one at the limit.
func TestEndlessBodyTakesLittle(t *testing.T) {
	took := allocated(func() {
		if _, err := fetch.Decode(fetch.Config{}, "", endless{}); err == nil {
			t.Error("an endless body came to an end")
		}
	})
	if limit := uint64(64 << 20); took > limit {
		t.Errorf("an endless body took %d bytes of memory, want less than %d", took, limit)
	}
}

// endless is a body without end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

// allocated returns the bytes that f allocates.
func allocated(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
