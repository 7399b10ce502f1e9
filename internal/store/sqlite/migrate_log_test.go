package sqlite_test

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"

	"freshet/internal/store/sqlite"
)

// A new store says nothing of formats; one that is brought up to date says so once.
func TestFormatIsLoggedOnce(t *testing.T) {
	for _, tt := range []struct {
		name string
		dir  string
		want int
	}{{"a new store", t.TempDir(), 0}, {"an old one", written(t, 1), 1}} {
		t.Run(tt.name, func(t *testing.T) {
			var log bytes.Buffer
			s, err := sqlite.Open(t.Context(), sqlite.Config{Dir: tt.dir, Log: slog.New(slog.NewTextHandler(&log, nil))})
			if err != nil {
				t.Fatal(err)
			}
			defer s.Close()
			if n := strings.Count(log.String(), "data format updated"); n != tt.want {
				t.Errorf("the log has it %d times, want %d:\n%s", n, tt.want, log.String())
			}
		})
	}
}
