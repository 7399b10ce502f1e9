package runner_test

import (
	"testing"
	"time"

	"freshet/internal/queries"
)

// The store cannot be read for a while: queries go on by themselves, and match what they would have
// matched, once.
func TestOutagesChangeNothing(t *testing.T) {
	inBubble(t, func(r *rig) {
		r.add(queries.Query{ID: "p", Name: "p", From: -1, When: `added.contains("sale")`})
		r.see("a", "sale one\n", nil)
		want(t, "before", r.matches(), "p.1 a.1")
		for n, more := range []string{"sale two\n", "sale three\n"} {
			r.out.Store(true)
			r.see("b", more, nil)
			want(t, "while nothing can be read", r.matches(), []string{"p.1 a.1", "p.2 b.1"}[:n+1]...)
			time.Sleep(time.Hour)
			r.out.Store(false)
			time.Sleep(time.Minute)
		}
		want(t, "after", r.matches(), "p.1 a.1", "p.2 b.1", "p.3 b.2")
	})
}
