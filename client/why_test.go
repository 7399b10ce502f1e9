package client_test

import (
	"testing"
	"time"

	"freshet/client"
)

// Outside of its active hours a source says which those are, and when they begin.
func TestWhyOfActiveHours(t *testing.T) {
	friday := time.Date(2026, 11, 20, 18, 0, 0, 0, time.UTC)
	monday := time.Date(2026, 11, 23, 8, 0, 0, 0, time.UTC)
	why := client.Why{
		ID: "a", At: friday, LastSeen: friday.Add(-2 * time.Hour), Next: monday, Cause: "policy", Active: "mon-fri 09:00-17:00 Europe/Berlin",
		Hold: client.Hold{Kind: "hours", Until: monday, Reason: "it is polled only in its active hours"},
	}
	want := "Next poll about 08:00 UTC on 23 November, in about 3 days. The policy does not say when it wants to poll. " +
		"It is polled only in its active hours, mon-fri 09:00-17:00 Europe/Berlin, which begin at 08:00 UTC on 23 November. It was last seen 2 hours ago."
	if got := why.Words(time.UTC); got != want {
		t.Errorf("it says %q, want %q", got, want)
	}
}
