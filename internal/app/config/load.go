package config

import (
	"errors"
	"fmt"
	"io"
	"net/netip"
	"os"
	"strings"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
)

// An Input is where settings come from.
type Input struct {
	File string                   // "" means none
	Text io.Reader                // what the file says; nil means that it is read from the disk
	Env  func(name string) string // of variables
	Flag func(name string) (value string, given bool)

	// NoSecrets says that nothing will be sent to webhooks, so that the variables
	// with their secrets need not be set.
	NoSecrets bool

	// Allow are private addresses that may be polled besides those that the settings name, such
	// as those of the daemon that a file is applied to.
	Allow []netip.Prefix

	apply bool // what the file says is for the API of a daemon, see LoadToApply
}

// A FlagError is what is wrong with a flag.
type FlagError struct {
	Flag string
	Err  error
}

// Error names the flag.
func (e *FlagError) Error() string { return "--" + e.Flag + ": " + e.Err.Error() }

// Unwrap returns what is wrong.
func (e *FlagError) Unwrap() error { return e.Err }

// Load gathers settings: flags win over the environment, that over the file, that over
// what was set over the API, and that over the defaults. All that is wrong is reported at once, what is wrong
// with the file as an [*Error], and with a flag as a [*FlagError].
func Load(in Input) (Settings, error) {
	if in.File == "" {
		return in.load(nil)
	}
	text, err := in.read()
	if err != nil {
		err = fmt.Errorf("read the configuration: %w", err)
		if !in.apply {
			err = freshet.WithHint(err, "set the file with --config or FRESHET_CONFIG")
		}
		return Defaults(in.Env), err
	}
	return in.load(text)
}

// removed are settings that there were once, with their environment variables.
var removed = map[string]string{"pool": "FRESHET_POOL", "shard": "FRESHET_SHARD"}

// RemovedHint says what to do about a removed setting.
const RemovedHint = "daemons no longer share a budget; give each a budget of its own, or run one daemon with workers on other machines (docs/how-to/cluster.md)"

// read reads the file.
func (in Input) read() ([]byte, error) {
	if in.Text != nil {
		return io.ReadAll(in.Text)
	}
	return os.ReadFile(in.File)
}

// load gathers settings, where the file has been read.
func (in Input) load(text []byte) (Settings, error) {
	s := Defaults(in.Env)
	var doc document
	if s.File = in.File; s.File != "" {
		doc = in.readDocument(text, &s)
	}
	var faults []error
	refuse := func(err error) {
		if err != nil {
			faults = append(faults, invalid.Input(err))
		}
	}
	for _, o := range options {
		if v := in.Env(o.Env); v != "" {
			if err := o.set(&s, v); err != nil {
				refuse(fmt.Errorf("%s: %w", o.Env, err))
			}
			s.note(o.Key, FromEnv)
		}
		if v, given := in.Flag(o.Flag); given {
			if err := o.set(&s, v); err != nil {
				refuse(&FlagError{o.Flag, err})
			}
			s.note(o.Key, FromFlag)
		}
	}
	refuse(s.checkTLS())
	for key, env := range removed {
		if in.Env(env) != "" {
			refuse(freshet.WithHint(fmt.Errorf("%s: the setting %s was removed", env, key), RemovedHint))
		}
	}
	if !in.apply {
		if err := s.applyKept(); err != nil {
			faults = append(faults, err)
		}
	}
	if s.API.OIDC.Issuer != "" {
		refuse(s.API.OIDC.Check(s.API.URL))
	}
	s.Fetch.Allow = append(s.Fetch.Allow, in.Allow...)
	doc.admit(&s) // only now is it known which addresses are allowed
	doc.admitQueries(&s)
	doc.admitHooks(&s)
	if err := doc.err(); err != nil {
		faults = append([]error{err}, faults...)
	}
	return s, errors.Join(faults...)
}

// ParsePrefixes reads ranges of addresses; a lone address is a range of one.
func ParsePrefixes(list string) (found []netip.Prefix, err error) {
	for _, s := range SplitList(list) {
		prefix, err := netip.ParsePrefix(s)
		if addr, addrErr := netip.ParseAddr(s); err != nil && addrErr == nil {
			prefix, err = addr.Prefix(addr.BitLen())
		}
		if err != nil {
			return nil, fmt.Errorf("%q is not an address or a range of addresses, such as 127.0.0.0/8, 10.1.2.3 or fd00::/8", s)
		}
		found = append(found, prefix.Masked())
	}
	return found, nil
}

// SplitList cuts a list at its commas and drops what is empty.
func SplitList(list string) (items []string) {
	for item := range strings.SplitSeq(list, ",") {
		if item = strings.TrimSpace(item); item != "" {
			items = append(items, item)
		}
	}
	return items
}
