package config

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
	"freshet/internal/suggest"
)

// A From says where the value of an option comes from. What comes later wins.
type From string

// Where values come from.
const (
	FromDefault From = "default"
	FromAPI     From = "api" // set while the daemon runs, and kept in the data directory or the database
	FromFile    From = "file"
	FromEnv     From = "environment"
	FromFlag    From = "flag"
)

// keptName is the file in the data directory with what was set over the API.
const keptName = "settings.json"

// From returns where the value of an option comes from.
func (s *Settings) From(key string) From {
	if from, said := s.said[key]; said {
		return from
	}
	return FromDefault
}

// note records where the value of an option comes from. Settings are copied, so the record
// is never changed in place.
func (s *Settings) note(key string, from From) {
	said := maps.Clone(s.said)
	if said == nil {
		said = map[string]From{}
	}
	if said[key] = from; from == FromDefault {
		delete(said, key)
	}
	s.said = said
}

// place records the line of the file that says something, likewise.
func (s *Settings) place(key string, line int) {
	lines := maps.Clone(s.lines)
	if lines == nil {
		lines = map[string]int{}
	}
	lines[key] = line
	s.lines = lines
}

// Live returns the options that can be changed while the daemon runs.
func Live() []Option {
	return slices.DeleteFunc(Options(), func(o Option) bool { return !o.live })
}

// Text returns the value of an option in the settings, as it is written.
func (o Option) Text(s Settings) string { return fmt.Sprint(o.show(s)) }

// With returns the settings with options set over the API, or set back to what holds without
// that. What the file, the environment or a flag says cannot be changed so: it is a conflict.
// Other errors are an *invalid.Error.
func (s Settings) With(set map[string]string, unset []string) (Settings, error) {
	for _, key := range unset {
		if _, both := set[key]; both {
			return s, &invalid.Error{Field: "unset", Reason: key + " is in set, too"}
		}
		o, err := s.settable(key)
		if err != nil {
			return s, err
		}
		if err := o.set(&s, o.Text(Defaults(func(string) string { return "" }))); err != nil {
			return s, &invalid.Error{Field: "unset", Reason: key + ": " + err.Error()}
		}
		s.note(key, FromDefault)
	}
	for _, key := range slices.Sorted(maps.Keys(set)) {
		o, err := s.settable(key)
		if err != nil {
			return s, err
		}
		if err := o.set(&s, set[key]); err != nil {
			return s, &invalid.Error{Field: "set." + key, Reason: err.Error()}
		}
		s.note(key, FromAPI)
	}
	return s, nil
}

// A FixedError says that an option cannot be changed over the API.
type FixedError struct {
	Key  string
	From From
	File string
}

// Error says where it is set.
func (e *FixedError) Error() string {
	switch e.From {
	case FromFile:
		return fmt.Sprintf("%s is set in %s", e.Key, filepath.Base(e.File))
	case FromEnv:
		return fmt.Sprintf("%s is set in the environment of the daemon", e.Key)
	}
	return fmt.Sprintf("%s is set by a flag of the daemon", e.Key)
}

// Is makes it an ErrConflict.
func (e *FixedError) Is(target error) bool { return target == freshet.ErrConflict }

// settable returns an option that can be changed over the API.
func (s *Settings) settable(key string) (Option, error) {
	var live []string
	for _, o := range options {
		if o.live {
			live = append(live, o.Key)
		}
		switch from := s.From(o.Key); {
		case o.Key != key:
		case !o.live:
			return o, invalid.Errorf("set."+key, "cannot be changed while the daemon runs; set it in the configuration file and restart")
		case from == FromFile:
			return o, freshet.WithHint(&FixedError{key, from, s.File}, "change it there, then reload the daemon; or remove it there to change it here")
		case from == FromEnv || from == FromFlag:
			return o, freshet.WithHint(&FixedError{key, from, ""}, "start the daemon without it to change it here")
		default:
			return o, nil
		}
	}
	return Option{}, &invalid.Error{Field: "set." + key, Reason: "there is no such setting" + suggest.DidYouMean(key, live)}
}

// applyKept applies settings that were made over the API and are kept in the data directory. Those
// in a database are applied when it is opened.
func (s *Settings) applyKept() error {
	if s.Store != "" {
		return nil
	}
	kept, err := ReadKept(s.Data)
	if err != nil {
		return err
	}
	return s.TakeKept(kept, filepath.Join(s.Data, keptName))
}

// TakeKept takes on what was set over the API, where nothing else says otherwise. The errors
// tell where it is kept.
func (s *Settings) TakeKept(kept map[string]string, where string) error {
	var faults []error
	for _, key := range slices.Sorted(maps.Keys(kept)) {
		if from := s.From(key); from != FromDefault {
			continue
		}
		o, err := s.settable(key)
		if err == nil {
			err = o.set(s, kept[key])
		}
		if err != nil {
			faults = append(faults, freshet.WithHint(fmt.Errorf("%s: %s: %w", where, key, err), "remove the key, or the file, to begin with the defaults"))
			continue
		}
		s.note(key, FromAPI)
	}
	return errors.Join(faults...)
}

// ReadKept returns what was set over the API, by key.
func ReadKept(data string) (map[string]string, error) {
	kept := map[string]string{}
	if data == "" {
		return kept, nil
	}
	path := filepath.Join(data, keptName)
	text, err := os.ReadFile(path)
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrPermission) || errors.Is(err, syscall.ENOTDIR) {
		return kept, nil // of a directory that is another's, or is none, nothing is known
	}
	if err == nil {
		err = json.Unmarshal(text, &kept)
	}
	if err != nil {
		return nil, freshet.WithHint(fmt.Errorf("read what was set over the API: %s: %w", path, err), "remove the file to begin with the defaults")
	}
	return kept, nil
}

// WriteKept replaces what was set over the API: it is on disk as a whole, or as before.
func WriteKept(data string, kept map[string]string) error {
	text, err := json.MarshalIndent(kept, "", "  ")
	if err != nil {
		return err
	}
	f, err := os.CreateTemp(data, strings.TrimSuffix(keptName, ".json")+"-*")
	if err != nil {
		return fmt.Errorf("keep the settings: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Sync(), f.Close()); err == nil {
		err = os.Rename(f.Name(), filepath.Join(data, keptName))
	}
	if err != nil {
		return fmt.Errorf("keep the settings: %w", errors.Join(err, os.Remove(f.Name())))
	}
	dir, err := os.Open(data)
	if err != nil {
		return fmt.Errorf("keep the settings: %w", err)
	}
	return errors.Join(dir.Sync(), dir.Close())
}
