package sqlite_test

import (
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/store/sqlite"
)

// captured returns the record of a poll that saw a text.
func captured(id freshet.SourceID, at time.Time, text string) freshet.Record {
	return freshet.Record{
		Outcome: freshet.Outcome{Source: id, Began: at, Ended: at.Add(time.Second), Result: freshet.Changed, Status: http.StatusOK, Requests: 1},
		Capture: &freshet.Capture{Recipe: reading.Recipe{}.Key(), Text: []byte(text), Hash: freshet.HashOf([]byte(text)), Raw: freshet.Raw{Status: http.StatusOK, Body: []byte(text)}},
	}
}

// commit records a poll or stops the test.
func commit(t *testing.T, s *sqlite.Store, r freshet.Record) (freshet.Outcome, freshet.Change) {
	t.Helper()
	o, c, err := s.Commit(t.Context(), r)
	if err != nil {
		t.Fatal(err)
	}
	return o, c
}

// findChange looks for a place in the change log.
func findChange(t *testing.T, s *sqlite.Store, p freshet.Place) error {
	t.Helper()
	epochs, err := s.ChangeEpochs(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	end, err := s.LastChange(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, err = epochs.Find(p, end)
	return err
}

// Outcomes that come while the log is pruned, and go at once because they are old,
// leave their cursors taken, also if the program is killed then.
func TestPrunedOutcomesKeepTheirCursors(t *testing.T) {
	for range 20 {
		dir, killed := t.TempDir(), t.TempDir()
		s := open(t, sqlite.Config{Dir: dir})
		if _, err := s.AddSource(t.Context(), freshet.Source{ID: "a", URL: "https://a.example/"}); err != nil {
			t.Fatal(err)
		}
		past := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
		var last freshet.Cursor
		var committing sync.WaitGroup
		ended := make(chan struct{})
		committing.Go(func() {
			defer close(ended)
			for range 30 {
				o, _, err := s.Commit(t.Context(), freshet.Record{Outcome: freshet.Outcome{Source: "a", Began: past, Ended: past, Result: freshet.Failed}})
				if err != nil {
					t.Error(err)
					return
				}
				last = o.Cursor
			}
		})
		for over := false; !over; {
			select {
			case <-ended:
				over = true
			default:
				if _, err := s.Prune(t.Context(), past.Add(time.Hour), freshet.Keep{}, time.Minute); err != nil {
					t.Fatal(err)
				}
			}
		}
		committing.Wait()
		if err := os.CopyFS(killed, os.DirFS(dir)); err != nil {
			t.Fatal(err)
		}
		after := open(t, sqlite.Config{Dir: killed})
		if o, _ := commit(t, after, captured("a", past, "one")); o.Cursor <= last {
			t.Errorf("after the outcome at %d comes one at %d", last, o.Cursor)
		}
		if err := errors.Join(after.Close(), s.Close()); err != nil {
			t.Fatal(err)
		}
	}
}

// Whoever followed the log past the end of a backup that is put back is told from
// where to go on: the backup knows the run in which it was made.
func TestBackupKnowsWhereItEnds(t *testing.T) {
	dir, copied := t.TempDir(), filepath.Join(t.TempDir(), "backup.db")
	s := open(t, sqlite.Config{Dir: dir})
	if _, err := s.AddSource(t.Context(), freshet.Source{ID: "a", URL: "https://a.example/"}); err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var places []freshet.Place
	for i := range 6 {
		_, c := commit(t, s, captured("a", at.Add(time.Duration(i)*time.Minute), fmt.Sprint(i)))
		places = append(places, c.Place())
		if i == 3 {
			if err := s.Backup(t.Context(), copied); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(copied, filepath.Join(dir, "freshet.db")); err != nil {
		t.Fatal(err)
	}
	s = open(t, sqlite.Config{Dir: dir})
	defer s.Close()
	for i, p := range places[1:] {
		err := findChange(t, s, p)
		gone, lost := errors.AsType[*freshet.GoneError](err)
		switch {
		case i < 3 && err != nil:
			t.Errorf("the place %s is in the backup, and gives %v", p, err)
		case i >= 3 && (!lost || gone.Resume != places[3]):
			t.Errorf("the place %s after the backup gives %v, want to be sent on from %s", p, err, places[3])
		}
	}
	for range 9 { // past all that was lost
		at = at.Add(time.Hour)
		commit(t, s, captured("a", at, at.String()))
	}
	for _, p := range places[4:] {
		if gone, lost := errors.AsType[*freshet.GoneError](findChange(t, s, p)); !lost || gone.Resume != places[3] {
			t.Errorf("when the log has grown the place %s gives %v, want to be sent on from %s", p, gone, places[3])
		}
	}
}

// Who reads beside the process that writes calls changes by the same names.
func TestReaderNamesChangesAlike(t *testing.T) {
	dir := t.TempDir()
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var want []string
	var reading *sqlite.Store
	for run := range 3 {
		s := open(t, sqlite.Config{Dir: dir})
		if run == 0 {
			if _, err := s.AddSource(t.Context(), freshet.Source{ID: "a", URL: "https://a.example/"}); err != nil {
				t.Fatal(err)
			}
			reading = open(t, sqlite.Config{Dir: dir, ReadOnly: true})
			defer reading.Close()
		}
		for i := range 2 {
			at = at.Add(time.Minute)
			if _, c := commit(t, s, captured("a", at, at.String())); run+i > 0 {
				want = append(want, c.ID()+" at "+c.Place().String())
			}
		}
		changes, err := reading.Changes(t.Context(), freshet.ChangeQuery{})
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, c := range changes {
			got = append(got, c.ID()+" at "+c.Place().String())
			if err := findChange(t, reading, c.Place()); err != nil {
				t.Errorf("a reader does not find %s: %v", c.Place(), err)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("a reader calls the changes %v, want %v", got, want)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}
