package api_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"freshet/client"
	"freshet/internal/daemon"
	"freshet/internal/freshet"
)

// A counted store counts the transactions of edits, and calls before when one begins.
type counted struct {
	freshet.Store

	mu     sync.Mutex
	calls  map[string]int
	before func(call string, n int) error
}

func (c *counted) note(call string) error {
	c.mu.Lock()
	c.calls[call]++
	n, before := c.calls[call], c.before
	c.mu.Unlock()
	if before != nil {
		return before(call, n)
	}
	return nil
}

// reset forgets what was counted.
func (c *counted) reset(before func(call string, n int) error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.calls, c.before = map[string]int{}, before
}

func (c *counted) said() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return fmt.Sprint(c.calls)
}

func (c *counted) AddSource(ctx context.Context, s freshet.Source) (freshet.Source, error) {
	return s, errors.Join(c.note("add one"), errors.New("one at a time"))
}

func (c *counted) AddSources(ctx context.Context, list []freshet.Source) ([]freshet.Source, []error, error) {
	if err := c.note("add"); err != nil {
		return nil, nil, err
	}
	return c.Store.AddSources(ctx, list)
}

func (c *counted) UpdateSources(ctx context.Context, list []freshet.Source) ([]error, error) {
	if err := c.note("update"); err != nil {
		return nil, err
	}
	return c.Store.UpdateSources(ctx, list)
}

func (c *counted) RemoveSources(ctx context.Context, ids []freshet.SourceID) ([]error, error) {
	if err := c.note("remove"); err != nil {
		return nil, err
	}
	return c.Store.RemoveSources(ctx, ids)
}

// manyRig returns a rig that counts transactions.
func manyRig(t *testing.T) (*rig, *counted) {
	store := &counted{calls: map[string]int{}}
	r := newRigWith(t, func(c *daemon.Config) {
		store.Store = c.Store
		c.Store = store
	}).run()
	return r, store
}

// urls returns a list of so many addresses.
func urls(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "https://host%d.example/%d many\n", i%7, i)
	}
	return b.String()
}

func batchOf(n int) (list client.SourcesToAdd) {
	for url := range strings.Lines(urls(n)) {
		list.Sources = append(list.Sources, client.NewSource{URL: strings.Fields(url)[0], Tags: []string{"many"}})
	}
	return list
}

func (r *rig) sources() int {
	ids, err := r.Store.SourceIDs(r.t.Context(), freshet.SourceFilter{})
	if err != nil {
		r.t.Fatal(err)
	}
	return len(ids)
}

// Sources that come together are written together, and those that are there already are not
// written again.
func TestManySourcesInFewTransactions(t *testing.T) {
	t.Parallel()
	for name, add := range map[string]func(*rig) (added, known int){
		"import": func(r *rig) (int, int) {
			done := readJSON[client.Imported](t, r.do("POST", "/api/v1/import", client.Import{Text: urls(1000)}))
			return done.Added, done.Known
		},
		"batch": func(r *rig) (int, int) {
			done := readJSON[client.AddedSources](t, r.do("POST", "/api/v1/sources/batch", batchOf(1000)))
			return done.Added, done.Known
		},
		"file": func(r *rig) (int, int) {
			var list []freshet.Source
			for url := range strings.Lines(urls(1000)) {
				list = append(list, freshet.Source{URL: strings.Fields(url)[0]})
			}
			done, err := r.Sync(t.Context(), freshet.PackSources(list...))
			if err != nil {
				t.Error(err)
			}
			return done.Added, done.Kept
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, store := manyRig(t)
			if added, known := add(r); added != 1000 || known != 0 || store.said() != "map[add:2]" {
				t.Errorf("%d were added, %d known, in the transactions %s; want 1000 in 2", added, known, store.said())
			}
			if added, known := add(r); added != 0 || known != 1000 || r.sources() != 1000 {
				t.Errorf("the same again adds %d, knows %d, and there are %d", added, known, r.sources())
			}
		})
	}
}

// What could not be written is said, with what was, and the same request completes it.
func TestManySourcesUpToAFailure(t *testing.T) {
	t.Parallel()
	r, store := manyRig(t)
	store.reset(func(_ string, n int) error {
		if n == 3 {
			return fmt.Errorf("disk full: %w", freshet.ErrStorage)
		}
		return nil
	})
	list := client.Import{Text: urls(2000) + "http://10.0.0.1/\n"}
	failed := r.do("POST", "/api/v1/import", list).is(http.StatusServiceUnavailable)
	if !strings.Contains(string(failed.Body), "entries 1001 to 1500") || !strings.Contains(string(failed.Body), "1000 were added before that") || r.sources() != 1000 {
		t.Errorf("there are %d sources, and the answer is %s", r.sources(), failed.Body)
	}
	done := readJSON[client.Imported](t, r.do("POST", "/api/v1/import", list))
	if done.Added != 1000 || done.Known != 1000 || done.Wrong != 1 || r.sources() != 2000 {
		t.Errorf("the same again adds %d, knows %d, %d are wrong, and there are %d", done.Added, done.Known, done.Wrong, r.sources())
	}
}

// An edit ends when its client goes, after the transaction that is under way.
func TestManySourcesUntilTheClientGoes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, path string
		body       any
		all        int // transactions of the whole edit
	}{
		{"import", "/api/v1/import", client.Import{Text: urls(4000)}, 8},
		{"bulk edit", "/api/v1/sources/bulk", client.BulkEdit{Action: client.BulkPause, Filter: &client.BulkFilter{Tag: "there"}}, 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r, store := manyRig(t)
			r.do("POST", "/api/v1/import", client.Import{Text: strings.ReplaceAll(urls(2000), "many", "there"), Tags: []string{"there"}}).is(200)
			ctx, leave := context.WithCancel(t.Context())
			begun, gone := make(chan struct{}), make(chan struct{})
			store.reset(func(_ string, n int) error {
				if n == 2 {
					close(begun)
					<-gone
				} else if n > 2 { // the server has not noticed yet that the client is gone
					<-time.After(5 * time.Second)
				}
				return nil
			})
			go func() {
				<-begun
				leave()
			}()
			if _, err := ask(t, ctx, "POST", r.API.URL+c.path, c.body); err == nil {
				t.Error("the request has an answer")
			}
			close(gone)
			r.API.Close() // waits for the handler
			if n := store.calls["add"] + store.calls["update"]; n < 2 || n >= c.all {
				t.Errorf("%d of %d transactions were made, although the client went in the second", n, c.all)
			}
		})
	}
}

// An edit of many sources tells how far it is, can be undone, and is made in few transactions.
func TestBulkEditsTellHowFarTheyAre(t *testing.T) {
	t.Parallel()
	r, store := manyRig(t)
	r.do("POST", "/api/v1/import", client.Import{Text: urls(1200)}).is(200)
	edit := func(path string, e any) (last client.BulkProgress, lines int) {
		a := r.do("POST", path, e, "Accept", "application/x-ndjson").is(200)
		for line := range strings.Lines(string(a.Body)) {
			last = client.BulkProgress{}
			if err := json.Unmarshal([]byte(line), &last); err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			lines++
		}
		return last, lines
	}
	store.reset(nil)
	last, lines := edit("/api/v1/sources/bulk", client.BulkEdit{Action: client.BulkTag, Tag: "new", Filter: &client.BulkFilter{Tag: "many"}})
	if lines != 4 || last.Done == nil || last.Done.Changed != 1200 || store.said() != "map[update:3]" {
		t.Errorf("the edit ends with %+v after %d lines and the transactions %s", last, lines, store.said())
	}
	store.reset(nil)
	undone, _ := edit("/api/v1/sources/bulk/"+last.Done.Undo+"/undo", nil)
	if undone.Done == nil || undone.Done.Changed != 1200 || store.said() != "map[update:3]" {
		t.Errorf("the undo ends with %+v after the transactions %s", undone, store.said())
	}
	store.reset(nil)
	removed, _ := edit("/api/v1/sources/bulk", client.BulkEdit{Action: client.BulkRemove, Filter: &client.BulkFilter{}})
	if removed.Done == nil || r.sources() != 0 || store.said() != "map[remove:3]" {
		t.Errorf("the removal ends with %+v, %d are left, the transactions %s", removed, r.sources(), store.said())
	}
	if back, _ := edit("/api/v1/sources/bulk/"+removed.Done.Undo+"/undo", nil); back.Done == nil || r.sources() != 1200 {
		t.Errorf("the undo ends with %+v, and there are %d", back, r.sources())
	}
	store.reset(func(_ string, n int) error {
		if n == 2 {
			return freshet.ErrStorage
		}
		return nil
	})
	failed, _ := edit("/api/v1/sources/bulk", client.BulkEdit{Action: client.BulkPause, Filter: &client.BulkFilter{}})
	if failed.Problem == nil || failed.Problem.Status != http.StatusServiceUnavailable || !strings.Contains(failed.Problem.Hint, "500 sources were changed before that") {
		t.Errorf("an edit that fails ends with %+v", failed.Problem)
	}
}
