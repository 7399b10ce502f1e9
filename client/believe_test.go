package client_test

import (
	"strings"
	"testing"

	"freshet/client"
)

// A share is told only when enough has been seen to tell it, and with a reason where
// it says little.
func TestBelieve(t *testing.T) {
	narrow, wide := client.Estimate{Mean: 0.5, Low: 0.4, High: 0.6}, client.Estimate{Mean: 0.5, Low: 0.1, High: 0.9}
	tests := []struct {
		name        string
		is          client.Captured
		early, wide string // how the reason begins
	}{
		{"no sources", client.Captured{}, "no source is polled", ""},
		{"paused sources", client.Captured{Captured: 50, Polls: 100, Share: narrow}, "", ""},
		{"most are new", client.Captured{Sources: 430, Early: 406, Captured: 50, Share: narrow}, "406 of 430 sources were seen less than twice", ""},
		{"half are new", client.Captured{Sources: 10, Early: 5, Captured: 50, Polls: 100, Share: narrow}, "", ""},
		{"one that is new", client.Captured{Sources: 1, Early: 1}, "it was seen less than twice", ""},
		{"no change", client.Captured{Sources: 2, Polls: 40}, "no change has been seen yet", ""},
		{"one change", client.Captured{Sources: 2, Polls: 40, Captured: 0.98, Share: narrow}, "only 1 change has been seen", ""},
		{"four changes", client.Captured{Sources: 2, Polls: 40, Captured: 4.2, Share: narrow}, "only 4 changes have been seen", ""},
		{"five changes, the first a while ago", client.Captured{Sources: 2, Polls: 40, Captured: 4.97, Share: narrow}, "", ""},
		{"at every poll", client.Captured{Sources: 1, Polls: 40, Captured: 38, Share: wide}, "", "Nearly every poll"},
		{"few polls", client.Captured{Sources: 10, Polls: 40, Captured: 8, Share: wide}, "", "There are few polls"},
		{"uneven", client.Captured{Sources: 1, Polls: 40, Captured: 8, Share: wide}, "", "The pages change unevenly"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			tt.is.Believe()
			if want := strings.HasPrefix(tt.wide, "Nearly"); tt.is.Saturated != want {
				t.Errorf("it is saturated: %v, want %v", tt.is.Saturated, want)
			}
			if tt.is.TooEarly != tt.early || len(tt.is.Wide) < len(tt.wide) || tt.is.Wide[:len(tt.wide)] != tt.wide || tt.wide == "" && tt.is.Wide != "" {
				t.Errorf("it is too early because %q and wide because %q, want %q and %q", tt.is.TooEarly, tt.is.Wide, tt.early, tt.wide)
			}
		})
	}
}
