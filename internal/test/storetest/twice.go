package storetest

import (
	"fmt"
	"os"
	"testing"
	"time"

	"pgregory.net/rapid"

	"freshet/internal/freshet"
)

// A witness remembers every name that a store has given out, in all its lives.
type witness struct {
	*testing.T
	open   Open
	place  string
	store  freshet.Store
	copies []twin
	life   int // grows with every restore
	now    time.Time
	texts  int
	given  map[string]string // what was given a name
}

// runNumbers takes random steps with a store, puts older copies of it back, and
// wants every name to be given out once.
func runNumbers(t *testing.T, open Open) {
	if raced {
		t.Skip("one step at a time has no races")
	}
	rapid.Check(t, func(rt *rapid.T) {
		place, err := os.MkdirTemp(t.TempDir(), "numbers-")
		if err != nil {
			rt.Fatal(err)
		}
		w := &witness{T: t, open: open, place: place, store: open(t, place), now: noon, given: map[string]string{}}
		defer func() {
			if err := w.store.Close(); err != nil {
				rt.Errorf("closing the store: %v", err)
			}
		}()
		rt.Repeat(map[string]func(*rapid.T){
			"add":    w.add,
			"poll":   w.poll,
			"poll 2": w.poll,
			"poll 3": w.poll,
			"remove": w.remove,
			"prune":  w.prune,
			"files":  w.files,
		})
	})
}

// new fails if a name was given out before.
func (w *witness) new(rt *rapid.T, name, to string) {
	if before, ok := w.given[name]; ok {
		rt.Fatalf("%s was given to %s, and is given to %s", name, before, to)
	}
	w.given[name] = to
}

func (w *witness) pick(rt *rapid.T) freshet.SourceID {
	w.now = w.now.Add(time.Duration(rapid.IntRange(-50, 100).Draw(rt, "seconds")) * time.Second)
	return rapid.SampledFrom(modelIDs).Draw(rt, "source")
}

func (w *witness) add(rt *rapid.T) {
	id := w.pick(rt)
	s, err := w.store.AddSource(w.Context(), freshet.Source{ID: id, URL: "https://" + string(id) + ".example/", Keep: freshet.Keep{Versions: 2}})
	if err == nil {
		w.new(rt, fmt.Sprintf("revision %d of %s in life %d", s.Revision, id, w.life), "a source")
	}
}

func (w *witness) poll(rt *rapid.T) {
	id := w.pick(rt)
	w.texts++
	text := fmt.Sprintf("text %d", w.texts)
	result := rapid.SampledFrom([]freshet.Result{freshet.Changed, freshet.Changed, freshet.Unchanged}).Draw(rt, "result")
	o, c, err := w.store.Commit(w.Context(), saw(id, w.now, result, text))
	if err != nil {
		return // it is not known
	}
	epochs, err := w.store.OutcomeEpochs(w.Context())
	if err != nil {
		rt.Fatal(err)
	}
	w.new(rt, fmt.Sprintf("the place %s of an outcome", epochs.Place(o.Cursor)), text)
	if o.Result.Captured() {
		w.new(rt, fmt.Sprintf("version %d of %s in life %d", o.Version, id, w.life), text)
	}
	if c.Cursor != 0 {
		w.new(rt, fmt.Sprintf("the place %s of a change", c.Place()), text)
		w.new(rt, fmt.Sprintf("the id %s", c.ID()), text)
	}
}

func (w *witness) remove(rt *rapid.T) {
	// What is not there cannot be removed, which is fine here.
	_ = w.store.RemoveSource(w.Context(), w.pick(rt), rapid.Bool().Draw(rt, "purge"))
}

func (w *witness) prune(rt *rapid.T) {
	logs := time.Duration(rapid.IntRange(0, 100).Draw(rt, "logs")) * time.Second
	if _, err := w.store.Prune(w.Context(), w.now, freshet.Keep{}, logs); err != nil {
		rt.Fatalf("prune: %v", err)
	}
}

// files does something with the files of the store, now and then: it takes longer
// than any other step.
func (w *witness) files(rt *rapid.T) {
	switch rapid.IntRange(0, 8).Draw(rt, "what") {
	case 0:
		w.reopen(rt, nil)
	case 1:
		w.copy(rt)
	case 2:
		w.restore(rt)
	}
}

// reopen closes the store, does something to its files, and opens it again.
func (w *witness) reopen(rt *rapid.T, do func() error) {
	if err := w.store.Close(); err != nil {
		rt.Fatalf("closing the store: %v", err)
	}
	if do != nil {
		if err := do(); err != nil {
			rt.Fatal(err)
		}
	}
	w.store = w.open(w.T, w.place)
}

func (w *witness) copy(rt *rapid.T) {
	w.reopen(rt, func() error {
		copied := twin(w.TempDir())
		w.copies = append(w.copies, copied)
		return os.CopyFS(string(copied), os.DirFS(w.place))
	})
}

func (w *witness) restore(rt *rapid.T) {
	if len(w.copies) == 0 {
		return // there is no copy yet
	}
	from := rapid.SampledFrom(w.copies).Draw(rt, "copy")
	w.life++ // versions and revisions bear no epoch
	w.reopen(rt, func() error { return putBack(from, w.place) })
}
