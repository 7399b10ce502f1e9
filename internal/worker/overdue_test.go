package worker_test

import (
	"context"
	"net/http"
	"testing"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/worker"
)

// A server that answers 304 for ever is asked in full as soon as what is known of the source contradicts it,
// and not more often than that.
func TestOverdue(t *testing.T) {
	s := newSite(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Etag", `"1"`)
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		_, _ = w.Write([]byte("new"))
	})
	for name, tt := range map[string]struct {
		after  time.Duration // since the newest version
		asked  time.Duration // how long ago it was asked in full
		number int           // of versions, a minute apart
		polls  int64
		full   bool
	}{
		"used to change each minute": {10 * time.Minute, 10 * time.Minute, 6, 16, true},
		"not for long":               {7 * time.Minute, 7 * time.Minute, 6, 16, false},
		"asked in full since":        {time.Hour, 7 * time.Minute, 6, 16, false},
		"little is known":            {time.Hour, time.Hour, 4, 16, false},
		"not the poll to look at it": {time.Hour, time.Hour, 6, 17, false},
		"asked in full long ago":     {2 * time.Hour, time.Hour, 6, 24, true},
	} {
		o := worker.Task{Source: freshet.Source{ID: "a", URL: s.URL}, At: noon}
		o.Head = freshet.Head{Number: tt.number, Hash: freshet.HashOf([]byte("old\n")), Recipe: o.Source.Key(), Validators: freshet.Validators{ETag: `"1"`}, Asked: noon.Add(-tt.asked), Polls: tt.polls}
		pastOf(&o).versions = func(context.Context, freshet.Hash) (all []freshet.Version, err error) {
			for i := range tt.number {
				all = append(all, freshet.Version{Number: tt.number - i, SeenAt: noon.Add(-tt.after - time.Duration(i)*time.Minute)})
			}
			return all, nil
		}
		if f := s.look(t, o); (f.Result == freshet.Changed) != tt.full {
			t.Errorf("%s: it is found as %s %v", name, f.Result, f.Err)
		}
	}
}
