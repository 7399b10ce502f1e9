package api_test

import (
	"context"
	"net/http"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"freshet/client"
	"freshet/internal/api"
	"freshet/internal/daemon"
	"freshet/internal/freshet"
	"freshet/internal/store/sqlite"
)

// A passStore counts how often the definition of a source is decoded and encoded for the
// database. A source that is read as it was written is decoded only if another was stored.
type passStore struct {
	*sqlite.Store
	passes atomic.Int64
}

func (s *passStore) Source(ctx context.Context, id freshet.SourceID) (freshet.SourceWithStatus, error) {
	s.passes.Add(1)
	return s.Store.Source(ctx, id)
}

func (s *passStore) SourceAsWritten(ctx context.Context, written freshet.Source) (freshet.SourceWithStatus, error) {
	w, err := s.Store.SourceAsWritten(ctx, written)
	if w.Revision != written.Revision {
		s.passes.Add(1)
	}
	return w, err
}

func (s *passStore) UpdateSource(ctx context.Context, src freshet.Source) error {
	s.passes.Add(1)
	return s.Store.UpdateSource(ctx, src)
}

// An edit passes the definition through JSON at most four times: it decodes the request and
// the stored definition, and encodes the new definition and the answer.
func TestPassesOfAnEdit(t *testing.T) {
	var store passStore
	r := newRigWith(t, func(c *daemon.Config) {
		store.Store = c.Store.(*sqlite.Store)
		c.Store = &store
	}, func(c *api.Config) { c.Store = &store }).run()
	c := client.New(r.API.URL, http.DefaultClient.Do)
	if _, err := c.Sources.Add(t.Context(), client.NewSource{ID: "a", URL: r.Origin.URL + "/a", Tags: []string{"z", "b"}}); err != nil {
		t.Fatal(err)
	}
	const requestAndAnswer = 2
	before := store.passes.Load()
	edited, err := c.Sources.Edit(t.Context(), "a", client.Patch{"name": "A", "tags": []string{"y", "c", "y"}, "extract": map[string]any{"price": "css .price | number"}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	if n := store.passes.Load() - before + requestAndAnswer; n > 4 {
		t.Errorf("an edit passes the definition through JSON %d times, want at most 4", n)
	}
	stored, err := c.Sources.Get(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(stored, edited); diff != "" || edited.Revision != 2 {
		t.Errorf("an edit answers otherwise than a read of revision %d (-read +edit):\n%s", edited.Revision, diff)
	}
}
