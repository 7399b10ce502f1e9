package postgres_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"freshet/internal/store/postgres"
)

// Whatever bytes a text has, it is stored as one that PostgreSQL takes and is read as it
// was; a plain one is stored as it is.
func TestTextsOfAnyBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		bytes := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		text := string(bytes) + rapid.StringOf(rapid.SampledFrom([]rune{'a', 'é', 0, 0x10FE00, 0x10FEFF, 0x10FDFF, 0x10FFFF, utf8.RuneError})).Draw(t, "runes")
		stored := postgres.Escape(text)
		if !utf8.ValidString(stored) || strings.ContainsRune(stored, 0) {
			t.Fatalf("%q is stored as %q, which is no text", text, stored)
		}
		if got := postgres.Unescape(stored); got != text {
			t.Fatalf("%q is stored as %q and read as %q", text, stored, got)
		}
	})
	if got := postgres.Escape("a plain téxt"); got != "a plain téxt" {
		t.Errorf("a plain text is stored as %q", got)
	}
}

// Statements are read as they are meant.
func TestRebind(t *testing.T) {
	for query, want := range map[string]string{
		"SELECT a FROM t WHERE b = ? AND c = ?":                       "SELECT a FROM t WHERE b = $1 AND c = $2",
		"SELECT a FROM t WHERE b = ?2 AND c = ?1":                     "SELECT a FROM t WHERE b = $2 AND c = $1",
		"SELECT '?' WHERE b = (SELECT ?) LIMIT (SELECT ?)":            "SELECT '?' WHERE b = $1 LIMIT $2",
		"SELECT a FROM t INDEXED BY t_by_a WHERE b = ?":               "SELECT a FROM t WHERE b = $1",
		"SELECT a FROM t CROSS JOIN u ON u.a = t.a":                   "SELECT a FROM t JOIN u ON u.a = t.a",
		"SELECT user FROM passes JOIN users ON name = user":           `SELECT "user" FROM passes JOIN users ON name = "user"`,
		"SELECT a FROM t WHERE b IN (SELECT value FROM json_each(?))": "SELECT a FROM t WHERE b IN (SELECT json_array_elements_text(CAST($1 AS JSON)))",
	} {
		if got := postgres.Rebind(query); got != want {
			t.Errorf("%s\nis read as %s\nwant       %s", query, got, want)
		}
	}
}
