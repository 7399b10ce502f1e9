package policy

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/internal/invalid"
	"freshet/internal/units"
)

// Options are what is written behind a policy's name. Reading one takes it; what
// nobody has taken in the end is not known.
type Options struct {
	given map[string]string
	known []string
	err   error // of the first that could not be read
}

// ReadOptions reads "key=value,key=value".
func ReadOptions(s string) (*Options, error) {
	o := &Options{given: map[string]string{}}
	if s == "" {
		return o, nil
	}
	for item := range strings.SplitSeq(s, ",") {
		key, value, ok := strings.Cut(strings.TrimSpace(item), "=")
		if !ok || key == "" {
			return nil, badOption(fmt.Sprintf("%q is not of the form key=value", item))
		}
		if _, twice := o.given[key]; twice {
			return nil, badOption(fmt.Sprintf("%s is given twice", key))
		}
		o.given[key] = value
	}
	return o, nil
}

func badOption(reason string) error { return &invalid.Error{Field: "policy", Reason: reason} }

// take returns what was given for a key.
func (o *Options) take(key string) (string, bool) {
	o.known = append(o.known, key)
	v, ok := o.given[key]
	delete(o.given, key)
	return v, ok
}

// read takes a key and reads it, and notes if it cannot be.
func read[T any](o *Options, key, want string, parse func(string) (T, bool), otherwise T) T {
	text, ok := o.take(key)
	if !ok {
		return otherwise
	}
	v, ok := parse(text)
	if !ok && o.err == nil {
		o.err = badOption(fmt.Sprintf("%s=%s: the value is not %s", key, text, want))
	}
	return v
}

// Count takes a whole number.
func (o *Options) Count(key string, otherwise int) int {
	return read(o, key, "a whole number", func(s string) (int, bool) {
		n, err := strconv.Atoi(s)
		return n, err == nil && n >= 0 && n <= 1<<30
	}, otherwise)
}

// Number takes a number.
func (o *Options) Number(key string, otherwise float64) float64 {
	return read(o, key, "a number", func(s string) (float64, bool) {
		x, err := strconv.ParseFloat(s, 64)
		return x, err == nil && x >= -1 && x <= 1e9
	}, otherwise)
}

// Share takes a share, such as 0.1 or 10%.
func (o *Options) Share(key string, otherwise float64) float64 {
	return read(o, key, "a share from 0% to 100%", func(s string) (float64, bool) {
		x, err := units.ParseShare(s)
		return x, err == nil
	}, otherwise)
}

// Portion takes how many there are to be, as a number or as a share of all such as
// 20%. Both are 0 without one.
func (o *Options) Portion(key string) (count int, share float64) {
	type portion struct {
		count int
		share float64
	}
	p := read(o, key, "a whole number, or a share from 0% to 100%", func(s string) (portion, bool) {
		if !strings.HasSuffix(s, "%") {
			n, err := strconv.Atoi(s)
			return portion{count: n}, err == nil && n >= 0 && n <= 1<<30
		}
		x, err := units.ParseShare(s)
		return portion{share: x}, err == nil && x > 0
	}, portion{})
	return p.count, p.share
}

// refuse notes that what was given for a key will not do.
func (o *Options) refuse(key, reason string) {
	if o.err == nil {
		o.err = badOption(key + " " + reason)
	}
}

// Length takes a length of time; 0 is what is meant without one.
func (o *Options) Length(key string) time.Duration {
	return read(o, key, "a length of time such as 90s, 1h or 1d", func(s string) (time.Duration, bool) {
		d, err := units.ParseDuration(s)
		return d, err == nil
	}, 0)
}

// Choice takes one of several words; the first is what is meant without one.
func (o *Options) Choice(key string, words ...string) string {
	return read(o, key, "one of "+strings.Join(words, ", "), func(s string) (string, bool) {
		return s, slices.Contains(words, s)
	}, words[0])
}

// Finish reports what could not be read, or was not known to the policy.
func (o *Options) Finish(name string) error {
	if o.err != nil {
		return o.err
	}
	if len(o.given) == 0 {
		return nil
	}
	key := slices.Min(slices.Collect(maps.Keys(o.given)))
	if len(o.known) == 0 {
		return badOption(fmt.Sprintf("%s has no options, but %s was given", name, key))
	}
	return badOption(fmt.Sprintf("%s has no option %s; it has %s", name, key, strings.Join(o.known, ", ")))
}
