package sinks

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"

	"freshet/internal/fetch/auth"
	"freshet/internal/freshet"
	"freshet/internal/invalid"
)

// localKinds stay on this machine. A user of the API must not be able to write files and run
// commands.
var localKinds = []*kind{
	{Kind: Kind{Name: "file", About: "a file that grows by a line of JSON for each change", URL: "file:///var/log/freshet/changes.jsonl", Settings: []Setting{
		{Name: "max_bytes", About: "size at which a new file is begun; 100000000 is the default"}, {Name: "keep", About: "number of old files to keep; 5 is the default"},
	}}, schemes: []string{"file"}, fileOnly: "only sinks in the configuration file can write to files", check: checkFile, frame: frameEvent, open: openFile},
	{Kind: Kind{Name: "command", About: "a command that gets the change on standard input", Settings: []Setting{
		{Name: "command", About: "for the shell", Needed: true},
	}}, schemes: []string{"exec"}, fileOnly: "only sinks in the configuration file can run commands", frame: frameEvent, open: openCommand},
}

// OnItsMachine reports whether a kind of sink writes to the machine that it is on, so that no other
// can send to it.
func OnItsMachine(name string) bool {
	return slices.ContainsFunc(localKinds, func(k *kind) bool { return k.Name == name })
}

// whole reads a setting that is a number.
func whole(s Sink, name string, otherwise int64) (int64, error) {
	text := string(s.Settings[name])
	if text == "" {
		return otherwise, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < 0 {
		return 0, invalid.Errorf("settings."+name, "%q is not a whole number", text)
	}
	return n, nil
}

const (
	defaultMaxBytes = 100_000_000
	leastMaxBytes   = 1000
	defaultKeep     = 5
	mostKeep        = 1000
)

// pathIn returns the path of a file URL.
func pathIn(raw string) (string, error) {
	u, err := url.Parse(raw)
	if err != nil || u.Host != "" || !filepath.IsAbs(u.Path) || filepath.Clean(u.Path) == "/" {
		return "", invalid.Errorf("url", "a file must be named by its full path, such as file:///var/log/freshet/changes.jsonl")
	}
	return filepath.Clean(u.Path), nil
}

func checkFile(s Sink) error {
	most, err := whole(s, "max_bytes", defaultMaxBytes)
	if err == nil && most < leastMaxBytes {
		err = invalid.Errorf("settings.max_bytes", "is less than %d", leastMaxBytes)
	}
	if err != nil {
		return err
	}
	keep, err := whole(s, "keep", defaultKeep)
	if err == nil && keep > mostKeep {
		err = invalid.Errorf("settings.keep", "is more than %d", mostKeep)
	}
	if err != nil {
		return err
	}
	_, err = pathIn(string(s.URL))
	return err
}

// An appender adds lines to a file. It opens the file for each, so that others can move
// it away.
type appender struct {
	mu         sync.Mutex
	path       string
	most, keep int64
}

func openFile(o *Outlet) (sender, error) {
	path, err := pathIn(string(o.sink.URL))
	if err != nil {
		return nil, err
	}
	most, _ := whole(o.sink, "max_bytes", defaultMaxBytes) // they have been checked
	keep, _ := whole(o.sink, "keep", defaultKeep)
	return &appender{path: path, most: most, keep: keep}, nil
}

func (a *appender) close() error { return nil }

func (a *appender) send(_ context.Context, _ filled, m Message) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	line := append(bytes.TrimRight(m.Body, "\n"), '\n')
	if info, err := os.Stat(a.path); err == nil && info.Size() > 0 && info.Size()+int64(len(line)) > a.most {
		if err := a.rotate(); err != nil {
			return "", err
		}
	}
	f, err := os.OpenFile(a.path, os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o600)
	if err != nil {
		return "", err
	}
	defer f.Close()
	if torn(f) { // by a crash: the change is written again in whole
		line = append([]byte("\n"), line...)
	}
	if _, err := f.Write(line); err != nil {
		return "", err
	}
	if err := errors.Join(f.Sync(), f.Close()); err != nil {
		return "", err
	}
	return fmt.Sprintf("%d bytes written to %s", len(line), a.path), nil
}

// torn reports whether the last line of a file has no end.
func torn(f *os.File) bool {
	var last [1]byte
	info, err := f.Stat()
	if err != nil || info.Size() == 0 {
		return false
	}
	_, err = f.ReadAt(last[:], info.Size()-1)
	return (err == nil || errors.Is(err, io.EOF)) && last[0] != '\n'
}

// rotate moves files on by one: changes.jsonl to changes.jsonl.1, that to .2, and so on.
func (a *appender) rotate() error {
	name := func(n int64) string {
		if n == 0 {
			return a.path
		}
		return fmt.Sprintf("%s.%d", a.path, n)
	}
	if err := os.Remove(name(a.keep)); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	for n := a.keep - 1; n >= 0; n-- {
		if err := os.Rename(name(n), name(n+1)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

// A commander runs a command for each message.
type commander struct{}

func openCommand(o *Outlet) (sender, error) {
	if !o.cfg.Exec {
		return nil, freshet.WithHint(invalid.Errorf("kind", "commands cannot be run unless the settings allow it"), "set allow_exec: true in the configuration file")
	}
	return commander{}, nil
}

func (commander) close() error { return nil }

func (commander) send(ctx context.Context, f filled, m Message) (string, error) {
	out, err := auth.RunCommand(ctx, f.settings["command"], m.Body, maxAnswer)
	return quoted(bytes.TrimSpace(out)), err
}
