package postgres_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/jackc/pgx/v5/pgconn"

	"freshet/internal/freshet"
	"freshet/internal/store/postgres"
)

// A server that ends a connection, or is shut down, can come back: a node waits for that, and does
// not end. What is wrong with a statement does not pass.
func TestFaultsThatPass(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		err    error
		passes bool
	}{
		{&pgconn.PgError{Code: "57P01"}, true}, // terminated by an administrator
		{&pgconn.PgError{Code: "57P03"}, true}, // starting up
		{&pgconn.PgError{Code: "08006"}, true}, // connection failure
		{&pgconn.PgError{Code: "53100"}, true}, // disk full
		{&pgconn.PgError{Code: "53200"}, true}, // out of memory
		{&pgconn.PgError{Code: "40P01"}, true}, // a deadlock
		{&pgconn.PgError{Code: "55P03"}, true}, // a lock is not to be had
		{&pgconn.PgError{Code: "58030"}, true}, // reading or writing a file failed
		{fmt.Errorf("receive: %w", io.ErrUnexpectedEOF), true},
		{&pgconn.PgError{Code: "57014"}, true},  // a statement was cancelled
		{&pgconn.PgError{Code: "42703"}, false}, // no such column
		{errors.New("another"), false},
	} {
		got := postgres.FaultOf(tt.err)
		if errors.Is(got, freshet.ErrStorage) != tt.passes || !errors.Is(got, tt.err) {
			t.Errorf("%v becomes %v; want it to pass: %v", tt.err, got, tt.passes)
		}
		if tt.passes && freshet.HintOf(got) == "" {
			t.Errorf("%v comes without a hint", got)
		}
	}
}
