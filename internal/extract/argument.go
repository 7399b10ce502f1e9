package extract

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
	"unicode/utf8"

	"freshet/internal/invalid"
	"freshet/internal/suggest"
)

// An argument is what a step takes, and where it was written.
type argument struct {
	field string // such as read[2].lines
	json  string // "" if the step stands alone
}

// at returns the place of a part of the argument.
func (a argument) at(part string) string { return a.field + "." + part }

func (a argument) missing(example string) error {
	return invalid.Errorf(a.field, "needs something to go by, such as %s", example)
}

// none refuses an argument of a step that takes none.
func (a argument) none() error {
	if a.json != "" && a.json != "true" && a.json != `""` {
		return invalid.Errorf(a.field, "takes nothing, but has %s", quoted(a.json))
	}
	return nil
}

// word returns the argument as a text, if it is one.
func (a argument) word() (string, bool) {
	var s string
	if !strings.HasPrefix(a.json, `"`) || json.Unmarshal([]byte(a.json), &s) != nil {
		return "", false
	}
	return s, true
}

// text returns the argument as a text, which it must be.
func (a argument) text(example string) (string, error) {
	s, ok := a.word()
	if !ok || strings.TrimSpace(s) == "" {
		return "", a.missing(example)
	}
	return s, checkLength(a.field, s)
}

// object reads the argument as an object with the keys that dst has.
func (a argument) object(dst any) error {
	if !strings.HasPrefix(a.json, "{") {
		return invalid.Errorf(a.field, "expected keys and values, but found %s; the keys are %s", quoted(a.json), strings.Join(keysOf(dst), ", "))
	}
	var raw map[string]json.RawMessage
	if err := json.Unmarshal([]byte(a.json), &raw); err != nil {
		return invalid.Errorf(a.field, "is not valid: %v", err)
	}
	known := keysOf(dst)
	for key := range raw {
		if !slices.Contains(known, key) {
			return invalid.Errorf(a.field, "unknown key %q%s; the keys are %s", key, suggest.DidYouMean(key, known), strings.Join(known, ", "))
		}
	}
	d := json.NewDecoder(bytes.NewReader([]byte(a.json)))
	if err := d.Decode(dst); err != nil {
		if e, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
			return invalid.Errorf(a.at(e.Field), "cannot be %s", article(e.Value))
		}
		return invalid.Errorf(a.field, "%v", err)
	}
	return nil
}

func article(word string) string {
	if word == "bool" {
		return "true or false"
	}
	if strings.ContainsRune("aeiou", rune(word[0])) {
		return "an " + word
	}
	return "a " + word
}

// keysOf returns the keys of a struct in JSON.
func keysOf(dst any) (keys []string) {
	t := reflect.TypeOf(dst).Elem()
	for i := range t.NumField() {
		name, _, _ := strings.Cut(t.Field(i).Tag.Get("json"), ",")
		keys = append(keys, name)
	}
	return keys
}

// texts is a text or a list of texts.
type texts []string

// UnmarshalJSON reads either.
func (t *texts) UnmarshalJSON(b []byte) error {
	if bytes.HasPrefix(b, []byte(`"`)) {
		var s string
		err := json.Unmarshal(b, &s)
		*t = texts{s}
		return err
	}
	var list []string
	if err := json.Unmarshal(b, &list); err != nil {
		return errors.New("expected a text or a list of texts")
	}
	*t = list
	return nil
}

func checkLength(field, s string) error {
	if len(s) > maxSelector {
		return invalid.Errorf(field, "is %d bytes long; the most is %d", len(s), maxSelector)
	}
	if !utf8.ValidString(s) {
		return invalid.Errorf(field, "is not valid UTF-8")
	}
	return nil
}

// pattern compiles a regular expression in RE2's syntax, in which lines begin at
// ^ and end at $.
func pattern(field, s string) (*regexp.Regexp, error) {
	if err := checkLength(field, s); err != nil {
		return nil, err
	}
	if s == "" {
		return nil, invalid.Errorf(field, "is an empty pattern")
	}
	re, err := regexp.Compile("(?m)" + s)
	if err == nil {
		return re, nil
	}
	reason := err.Error()
	if e, ok := errors.AsType[*syntax.Error](err); ok {
		reason = string(e.Code) + " " + quoted(e.Expr)
		if strings.HasPrefix(e.Expr, "(?=") || strings.HasPrefix(e.Expr, "(?!") || strings.HasPrefix(e.Expr, "(?<") {
			reason += ", which RE2 does not have"
		}
	}
	return nil, invalid.Errorf(field, "%s in the pattern %s", reason, quoted(s))
}

// patterns compiles several.
func patterns(field string, list texts) (all []*regexp.Regexp, err error) {
	for _, s := range list {
		re, err := pattern(field, s)
		if err != nil {
			return nil, err
		}
		all = append(all, re)
	}
	return all, nil
}

// gentle reports whether patterns are simple enough to be run where they cannot
// be stopped: each costs little for every byte.
func gentle(list ...string) bool {
	total := 0
	for _, s := range list {
		if total += len(s); total > 200 || strings.ContainsRune(s, '{') {
			return false
		}
	}
	return true
}

// quote returns a text as JSON.
func quote(s string) string {
	b, err := json.Marshal(s)
	if err != nil {
		panic(err) // strings always marshal
	}
	return string(b)
}
