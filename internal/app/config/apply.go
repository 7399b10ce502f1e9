package config

import (
	"cmp"
	"slices"
	"strings"
)

// LoadToApply reads a file whose parts are to be put into a running daemon over its API. It is
// read alone: of the environment and the flags only the options count that say what may be
// watched (allow_...), and nothing that was set over an API. What only the daemon's own file
// may say, such as a secret in a variable of its machine, is a problem with its line.
func LoadToApply(in Input) (Settings, error) {
	in.apply = true
	whole, flag := in.Env, in.Flag
	in.Env = func(name string) string {
		for _, o := range options {
			if o.Env == name && !strings.HasPrefix(o.Key, "allow_") {
				return ""
			}
		}
		return whole(name)
	}
	in.Flag = func(name string) (string, bool) {
		if !strings.HasPrefix(name, "allow-") {
			return "", false
		}
		return flag(name)
	}
	return Load(in)
}

// ToApply returns the options of the file that can be set while the daemon runs, by key, as
// they are written.
func (s *Settings) ToApply() map[string]string {
	set := map[string]string{}
	for _, o := range options {
		if o.live && s.From(o.Key) == FromFile {
			set[o.Key] = o.Text(*s)
		}
	}
	return set
}

// A Place is a part of a configuration file.
type Place struct {
	Line int    `json:"line"`
	Key  string `json:"key"` // such as listen, hosts.delay or requests.shop
}

// NotToApply returns the parts of the file that the API cannot set, in their order: the daemon
// reads them from its own file. Requests are among them because they can send secrets.
func (s *Settings) NotToApply() (parts []Place) {
	for _, o := range options {
		if !o.live && s.From(o.Key) == FromFile {
			parts = append(parts, Place{s.lines[o.Key], o.Key})
		}
	}
	for name := range s.Requests {
		parts = append(parts, Place{s.lines["requests."+name], "requests." + name})
	}
	slices.SortFunc(parts, func(a, b Place) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Key, b.Key)) })
	return parts
}
