package auth

import (
	"context"
	"encoding/json"
	"fmt"

	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
)

// A jarKey says whose cookies a jar holds: those of one source, or of all that name
// the jar.
type jarKey struct {
	source freshet.SourceID
	name   string
}

// jarBelief is the estimator under which cookies are kept in the store.
const jarBelief = "cookies"

// belief returns under which estimator the jar is kept.
func (k jarKey) belief() string {
	if k.source != "" {
		return jarBelief
	}
	return jarBelief + ":" + k.name
}

// label is what the jar is sealed with.
func (k jarKey) label() string { return k.belief() + "\n" + string(k.source) }

// jars are the jars at work. They are read from the store when they are first needed.
type jars struct {
	client *Client
	turn   chan struct{} // holds one: whose turn it is to open or to save jars
	known  map[jarKey]*jar
	own    map[freshet.SourceID][]byte // sealed jars of sources, as the store has them; nil until read
}

func newJars(c *Client) jars {
	return jars{client: c, turn: make(chan struct{}, 1), known: map[jarKey]*jar{}}
}

// open returns a jar of a source, nil if it has none.
func (js *jars) open(ctx context.Context, name string, id freshet.SourceID) (*jar, error) {
	if name == "" {
		return nil, nil
	}
	key := jarKey{name: name}
	if name == profile.OwnJar {
		key = jarKey{source: id}
	}
	select {
	case js.turn <- struct{}{}:
		defer func() { <-js.turn }()
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if j := js.known[key]; j != nil {
		return j, nil
	}
	var kept []cookie
	sealed, err := js.stored(ctx, key)
	if err == nil && sealed != nil {
		kept, err = js.unseal(key, sealed)
	}
	if err != nil { // the cookies are gone, and the source is asked for without
		js.client.cfg.Log.Warn("the cookies of a jar cannot be read and are set anew", "jar", name, "source", id, "err", err)
	}
	j := newJar(key, js.client.cfg.Now, kept)
	js.known[key] = j
	return j, nil
}

// stored returns what the store has of a jar.
func (js *jars) stored(ctx context.Context, key jarKey) ([]byte, error) {
	if js.client.cfg.Store == nil {
		return nil, nil
	}
	if key.source != "" && js.own != nil {
		return js.own[key.source], nil
	}
	found := map[freshet.SourceID][]byte{}
	for b, err := range js.client.cfg.Store.States(ctx, key.belief()) {
		if err != nil {
			return nil, err
		}
		found[b.Source] = b.Value
	}
	if key.source != "" {
		js.own = found
	}
	return found[key.source], nil
}

func (js *jars) unseal(key jarKey, sealed []byte) (kept []cookie, err error) {
	if js.client.cfg.Vault == nil {
		return nil, nil
	}
	text, err := js.client.cfg.Vault.Unseal(key.label(), sealed)
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	return kept, err
}

// keep saves a jar if it has changed. That it cannot be saved does not fail the poll:
// the cookies are in memory, and are saved with the next.
func (js *jars) keep(ctx context.Context, j *jar) {
	if js.client.cfg.Store == nil || js.client.cfg.Vault == nil {
		return
	}
	ctx = context.WithoutCancel(ctx) // the answer has come, even if the caller has gone meanwhile
	js.turn <- struct{}{}
	defer func() { <-js.turn }()
	kept, changed := j.changed()
	if !changed {
		return
	}
	text, err := json.Marshal(kept)
	if err == nil {
		text, err = js.client.cfg.Vault.Seal(j.key.label(), text)
	}
	if err == nil {
		err = js.client.cfg.Store.SaveState(ctx, []freshet.State{{Source: j.key.source, Key: j.key.belief(), Value: text}})
	}
	if err != nil {
		j.again()
		js.client.cfg.Log.Error("cannot save cookies", "jar", fmt.Sprint(j.key.name, j.key.source), "err", err)
	}
}
