package postgres_test

import (
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"freshet/internal/store/postgres"
)

// A role that other programs share has limits under which no store works: they are overruled. What
// the URL says of the store itself holds. A writer waits for a lock for less than a lease.
func TestLimitsOfTheRoleAreOverruled(t *testing.T) {
	names := []string{"statement_timeout", "lock_timeout", "idle_session_timeout", "default_transaction_isolation", "client_encoding"}
	of := strings.ReplaceAll(url.QueryEscape("-c statement_timeout=3s -c lock_timeout=3s -c idle_session_timeout=3s -c default_transaction_isolation=serializable -c client_encoding=LATIN1"), "+", "%20")
	for _, tt := range []struct {
		url           string
		reads, writes []string
	}{
		{"&options=" + of, []string{"0", "0", "0", "read committed", "UTF8"}, []string{"12min", "15s", "0", "read committed", "UTF8"}},
		{"&options=" + of + "&statement_timeout=7s", []string{"7s", "0", "0", "read committed", "UTF8"}, []string{"7s", "15s", "0", "read committed", "UTF8"}},
		{"&lock_timeout=1h", []string{"0", "1h", "0", "read committed", "UTF8"}, []string{"12min", "15s", "0", "read committed", "UTF8"}},
	} {
		s := open(t, postgres.Config{URL: newShed(t).url(t, t.TempDir()) + tt.url, Lease: time.Minute})
		reads, writes, err := s.Settings(t.Context(), names...)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(reads, tt.reads) || !slices.Equal(writes, tt.writes) {
			t.Errorf("with %s it reads with %v and writes with %v, want %v and %v of %v", tt.url, reads, writes, tt.reads, tt.writes, names)
		}
	}
}
