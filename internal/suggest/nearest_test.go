package suggest_test

import (
	"testing"

	"freshet/internal/suggest"
)

func TestNearest(t *testing.T) {
	known := []string{"budget", "listen", "sources", "hosts", "id"}
	for word, want := range map[string]string{
		"budgett": "budget", "bugdet": "budget", "lisen": "listen", "source": "sources", "di": "id", "zebra": "", "": "",
	} {
		if got := suggest.Nearest(word, known); got != want {
			t.Errorf("nearest to %q is %q, want %q", word, got, want)
		}
	}
}
