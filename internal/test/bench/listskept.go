package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
)

// A listsKept says what the store in a directory was made of. It is written when all is there.
type listsKept struct {
	Sources  int `json:"sources"`
	Versions int `json:"versions"`
	Hosts    int `json:"hosts"`
	Port     int `json:"port"` // of the server that its sources are at
}

// prepare starts the server and sees to it that the directory has a store over its pages.
func (b *Lists) prepare(ctx context.Context, dir string) (_ *origin, err error) {
	file := filepath.Join(dir, "bench.json")
	kept, err := readKept(file)
	if err != nil {
		return nil, err
	}
	want := listsKept{Sources: b.Plan.Sources, Versions: b.Versions, Hosts: b.Plan.Hosts, Port: kept.Port}
	if kept != (listsKept{}) && kept != want {
		return nil, fmt.Errorf("%s has a store of %d sources, %d versions and %d hosts: ask for as many, or name another directory", dir, kept.Sources, kept.Versions, kept.Hosts)
	}
	b.Plan.Port = kept.Port
	o, err := b.Plan.start(ctx)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, o.stop())
		}
	}()
	if want.Port, err = portOf(o.URLs); err != nil {
		return nil, err
	}
	b.Plan.Port = want.Port
	if kept == want {
		return o, nil
	}
	if kept.Port != 0 {
		return nil, fmt.Errorf("the sources of %s are at port %d, which is taken: try again when it is free", dir, kept.Port)
	}
	b.Say("storing %d sources and %d versions", b.Plan.Sources, b.Versions)
	data := filepath.Join(dir, "data")
	if _, err := os.Lstat(data); err == nil { // it may be anything: its owner removes it
		return nil, fmt.Errorf("%s is there, but not whole: remove it, or name another directory", data)
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if err := b.build(ctx, data, o.URLs); err != nil {
		return nil, err
	}
	text, err := json.Marshal(want)
	if err != nil {
		return nil, err
	}
	return o, os.WriteFile(file, text, 0o600)
}

// readKept reads what a directory has; nothing if it has nothing.
func readKept(file string) (kept listsKept, err error) {
	text, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return kept, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil {
		return kept, fmt.Errorf("read what %s was made of: %w", filepath.Dir(file), err)
	}
	return kept, nil
}

// portOf returns the port of the first page.
func portOf(urls []string) (int, error) {
	u, err := url.Parse(urls[0])
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(u.Port())
}
