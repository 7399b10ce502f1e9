package sitemap

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// maxItem is how many bytes one item of a JSON Feed may have.
const maxItem = 4 << 20

var errLongItem = errors.New("an item is too large")

// A jsonFeed reads a JSON Feed item by item.
type jsonFeed struct {
	*document
	*json.Decoder
	from    *ration
	stopped error // why reading ended though nothing is wrong with the JSON
}

// A ration is a reader that gives out no more than is left.
type ration struct {
	w    *window
	left int
}

// Read reads on while something is left.
func (r *ration) Read(p []byte) (int, error) {
	if r.left == 0 {
		return 0, errLongItem
	}
	if r.w.pos == r.w.end && !r.w.more() {
		return 0, r.w.err
	}
	n := copy(p[:min(len(p), r.left)], r.w.rest())
	r.w.pos += n
	r.left -= n
	return n, nil
}

// readJSON reads a JSON Feed.
func (d *document) readJSON(w *window) error {
	from := &ration{w: w, left: maxItem}
	f := &jsonFeed{document: d, Decoder: json.NewDecoder(from), from: from}
	err := f.members()
	switch {
	case f.stopped != nil:
		return f.stopped
	case d.Kind == "" && fine(w.err):
		return fmt.Errorf("%w: it is JSON, and not a JSON Feed", ErrNotSitemap)
	case err != nil && fine(w.err):
		d.note(faultCut, w.at(), "it breaks off or is not JSON: %v", err)
		return nil
	}
	d.Complete = err == nil
	return nil
}

// members goes through the members of the feed. Items must be among them.
func (f *jsonFeed) members() error {
	if _, err := f.Token(); err != nil { // {
		return err
	}
	for f.More() {
		f.from.left = maxItem
		name, err := f.Token()
		if err != nil {
			return err
		}
		if name == "items" {
			err = f.items()
		} else {
			err = f.Decode(new(json.RawMessage))
		}
		if err != nil {
			return err
		}
	}
	_, err := f.Token()
	return err
}

func (f *jsonFeed) items() error {
	open, err := f.Token()
	if err != nil {
		return err
	}
	if open != json.Delim('[') {
		return fmt.Errorf("items is not a list")
	}
	f.Kind = JSONFeed
	for n := 1; f.More(); n++ {
		f.from.left = maxItem
		var item map[string]json.RawMessage
		if err := f.Decode(&item); err != nil {
			if e := new(json.UnmarshalTypeError); errors.As(err, &e) {
				f.note(faultValue, 0, "item %d is not an object", n)
				continue
			}
			return err
		}
		if f.stopped = f.item(item); f.stopped != nil {
			return f.stopped
		}
	}
	_, err = f.Token()
	return err
}

// item hands over an item: by its url or, failing that, by an id that is one.
func (f *jsonFeed) item(m map[string]json.RawMessage) error {
	word := func(name string) (s string) {
		if json.Unmarshal(m[name], &s) != nil {
			return ""
		}
		return strings.TrimSpace(s)
	}
	raw := word("url")
	for _, name := range []string{"external_url", "id"} {
		if s := word(name); raw == "" && strings.Contains(s, "://") {
			raw = s
		}
	}
	url, ok := f.resolve([]byte(raw), 0)
	if !ok {
		return nil
	}
	e := Entry{URL: url, LastMod: f.date([]byte(word("date_modified")), 0), Published: f.date([]byte(word("date_published")), 0), Priority: 0.5}
	if e.LastMod.IsZero() {
		e.LastMod = e.Published
	}
	return f.hand(e)
}
