package delivery_test

import (
	"bytes"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"freshet/internal/freshet"
)

// Why a node cannot send to a sink is told once, with what to do about it, until it is another reason
// or it could meanwhile.
func TestWhyANodeCannotSendIsToldOnce(t *testing.T) {
	at, a := newReceiver(t), newHelper(t, "a")
	var log bytes.Buffer
	b := newLoggingLeader(t, slog.New(slog.NewTextHandler(&log, nil)), 1, a)
	s := b.hookFor(at, a.address())
	told := func(times int, want ...string) {
		t.Helper()
		for range 3 {
			b.Forgive()
			if _, err := b.carry(s); err != nil {
				t.Error(err)
			}
		}
		if got := strings.Count(log.String(), "a node cannot make deliveries to a sink"); got != times {
			t.Errorf("it is told %d times, want %d:\n%s", got, times, log.String())
		}
		for _, w := range append(want, "level=WARN", "sink="+s.Name, "node="+a.address()) {
			if !strings.Contains(log.String(), w) {
				t.Errorf("%q is not told:\n%s", w, log.String())
			}
		}
	}
	a.unknown = freshet.WithHint(errors.New("no key"), "copy the key")
	told(1, `why="no key"`, `hint="copy the key"`)
	a.unknown = errors.New("another key")
	told(2, `why="another key"`)
	knows(s, a)
	told(2)
	delete(a.sinks, s.Name)
	a.Forget()
	told(3)
}
