package sqlite_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"freshet"
	"freshet/sqlite"
)

// A reader beside the writer sees every source, also those that were removed.
func TestKnown(t *testing.T) {
	dir := t.TempDir()
	s := open(t, sqlite.Config{Dir: dir})
	defer s.Close()
	look := open(t, sqlite.Config{Dir: dir, ReadOnly: true})
	defer look.Close()
	var want []sqlite.Known
	for i := range 1203 { // more than are read at once
		src := freshet.Source{
			ID: freshet.SourceID(fmt.Sprintf("s%04d", i)), URL: fmt.Sprintf("https://host%d.example/%d", i%7, i), Created: noon,
			Tags: []string{"even", "odd"}[i%2 : i%2+1], Weight: float64(i % 3), Cost: 2, MinGap: time.Minute, MaxGap: time.Hour, Paused: i%5 == 0,
			Life:    freshet.Life{Kind: freshet.LifeLast, N: 1 + i%4},
			Urgency: freshet.Urgency{Kind: freshet.UrgencyExp, A: 0.5},
			Level:   freshet.ServiceLevel{Share: 0.9, Within: time.Hour},
		}
		added, err := s.AddSource(t.Context(), src)
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, sqlite.Known{Source: added})
	}
	for i := 0; i < len(want); i += 100 {
		if err := s.RemoveSource(t.Context(), want[i].ID, false); err != nil {
			t.Fatal(err)
		}
		want[i].Removed = true
	}
	var got []sqlite.Known
	for k, err := range look.Known(t.Context()) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, k)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("what is known differs (-want +got):\n%s", diff)
	}
	for range look.Known(t.Context()) {
		break // a reader may stop early
	}
}
