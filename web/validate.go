package web

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"freshet"
	"freshet/client"
	"freshet/content"
)

const (
	maxName = 200 // runes
	maxTag  = 64  // bytes
	maxTags = 32
)

// admit returns the source that n describes in its normal form, or a
// *freshet.InvalidError that says what is wrong with it.
func (a *api) admit(n client.NewSource) (freshet.Source, error) {
	s := sourceFrom(n)
	var err error
	if s.ID != "" && !freshet.ValidSourceID(s.ID) {
		return s, wrong("id", "%q is not 1 to 64 letters, digits, '.', '_' and '-'", s.ID)
	}
	if s.URL, err = a.Check(s.URL); err != nil {
		return s, err
	}
	if s.Name = strings.TrimSpace(s.Name); utf8.RuneCountInString(s.Name) > maxName {
		return s, wrong("name", "is longer than %d characters", maxName)
	}
	if strings.ContainsFunc(s.Name, unicode.IsControl) {
		return s, wrong("name", "has a control character in it")
	}
	if s.Tags, err = tidyTags(s.Tags); err != nil {
		return s, err
	}
	if err := content.Check(s.Recipe); err != nil {
		return s, err
	}
	if s.Life, err = freshet.ParseLife(cmp.Or(n.Life, s.Life.String())); err != nil {
		return s, err
	}
	if s.Urgency, err = freshet.ParseUrgency(cmp.Or(n.Urgency, s.Urgency.String())); err != nil {
		return s, err
	}
	if s.Level, err = freshet.ParseServiceLevel(n.Level); err != nil {
		return s, err
	}
	switch {
	case math.IsNaN(s.Cost) || s.Cost < 0 || s.Cost > 1e6:
		return s, wrong("cost", "is not between 0 and a million")
	case math.IsNaN(s.Weight) || s.Weight < 0 || s.Weight > 1e6:
		return s, wrong("weight", "is not between 0 and a million")
	case s.MaxGap > 0 && s.MinGap > s.MaxGap:
		return s, wrong("max_gap", "is shorter than min_gap")
	}
	return s, nil
}

// tidyTags returns tags sorted and without repeats.
func tidyTags(tags []string) ([]string, error) {
	if len(tags) > maxTags {
		return nil, wrong("tags", "there are more than %d", maxTags)
	}
	tidy := make([]string, 0, len(tags))
	for i, tag := range tags {
		tag = strings.TrimSpace(tag)
		field := fmt.Sprintf("tags[%d]", i)
		switch {
		case tag == "":
			return nil, wrong(field, "is empty")
		case len(tag) > maxTag:
			return nil, wrong(field, "is longer than %d bytes", maxTag)
		case strings.ContainsFunc(tag, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) || r == ',' }):
			return nil, wrong(field, "has a space, a comma or a control character in it")
		}
		tidy = append(tidy, tag)
	}
	slices.Sort(tidy)
	return slices.Compact(tidy), nil
}

func wrong(field, format string, args ...any) error {
	return &freshet.InvalidError{Field: field, Reason: fmt.Sprintf(format, args...)}
}
