package freshet

import (
	"fmt"
	"math"
	"net/url"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"freshet/internal/freshet/evidence"
	"freshet/internal/freshet/objective"
	"freshet/internal/freshet/timetable"
	"freshet/internal/invalid"
	"freshet/internal/mask"
	"freshet/internal/strictjson"
	"freshet/internal/units"
)

const (
	maxURL    = 8192 // bytes
	maxName   = 200  // runes
	maxTag    = 64   // bytes
	maxTags   = 32
	maxSiteID = 40 // bytes
)

// Check judges what a user says of a source. It returns the source in its normal
// form, or an *invalid.Error that names the field as the user wrote it. Whether
// the URL may be reached is for package fetch to say and whether a selector can
// be used for package content, whose CheckSource judges all of it.
//
// Sources that are stored already are not judged: rules may have changed since.
func (s Source) Check() (Source, error) {
	for _, check := range []func(*Source) error{
		(*Source).checkID, (*Source).checkURL, (*Source).checkName, (*Source).checkTags, (*Source).checkRequest, (*Source).checkExpect, (*Source).checkWorth, (*Source).checkGaps, (*Source).checkKeep, (*Source).checkNextChange, (*Source).checkRender, (*Source).checkSite,
	} {
		if err := check(&s); err != nil {
			return s, err
		}
	}
	return s, nil
}

func (s *Source) checkID() error {
	if s.ID != "" && !ValidSourceID(s.ID) {
		return invalid.Errorf("id", "%.80q is not a valid id; use up to 64 letters, digits, '.', '_' and '-'", s.ID)
	}
	return nil
}

func (s *Source) checkURL() error {
	if s.URL == "" {
		return invalid.Errorf("url", "the source has no url")
	}
	if len(s.URL) > maxURL {
		return invalid.Errorf("url", "is longer than %d bytes", maxURL)
	}
	if err := s.expand(); err != nil {
		return err
	}
	if _, err := url.Parse(s.URL); err != nil {
		return invalid.Errorf("url", "%q is not a URL", mask.Shorten(mask.URL(s.URL), 200))
	}
	if mask.Applied(s.URL) {
		return invalid.Errorf("url", "has %s in place of a secret; give the full URL, or leave it out to keep the current one", mask.Placeholder)
	}
	return nil
}

func (s *Source) checkName() error {
	s.Name = strings.TrimSpace(s.Name)
	if utf8.RuneCountInString(s.Name) > maxName {
		return invalid.Errorf("name", "is longer than %d characters", maxName)
	}
	if strings.ContainsFunc(s.Name, unicode.IsControl) {
		return invalid.Errorf("name", "contains a control character")
	}
	return nil
}

func (s *Source) checkTags() error {
	if len(s.Tags) > maxTags {
		return invalid.Errorf("tags", "there are too many; the most is %d", maxTags)
	}
	tidy := make([]string, 0, len(s.Tags))
	for i, tag := range s.Tags {
		tag = strings.TrimSpace(tag)
		field := fmt.Sprintf("tags[%d]", i)
		switch {
		case tag == "":
			return invalid.Errorf(field, "must not be empty")
		case len(tag) > maxTag:
			return invalid.Errorf(field, "is longer than %d bytes", maxTag)
		case strings.ContainsFunc(tag, func(r rune) bool { return unicode.IsControl(r) || unicode.IsSpace(r) || r == ',' }):
			return invalid.Errorf(field, "%q contains a space, a comma or a control character", tag)
		}
		tidy = append(tidy, tag)
	}
	slices.Sort(tidy)
	s.Tags = slices.Compact(tidy)
	return nil
}

func (s *Source) checkWorth() error {
	if _, err := objective.ParseVisibility(s.Life.String()); err != nil {
		return err
	}
	if _, err := objective.ParseUrgency(s.Urgency.String()); err != nil {
		return err
	}
	if math.IsNaN(s.Weight) || s.Weight < 0 || s.Weight > most {
		return invalid.Errorf("weight", "must be above 0 and at most 1,000,000")
	}
	if math.IsNaN(s.Cost) || s.Cost < 0 || s.Cost > most {
		return invalid.Errorf("cost", "must be above 0 and at most 1,000,000")
	}
	return nil
}

// The shortest lengths of time that make sense. What is shorter is a slip, such
// as a missing unit.
const (
	shortestMinGap  = time.Millisecond
	shortestMaxGap  = time.Second
	shortestKeepAge = time.Minute
)

func (s *Source) checkGaps() error {
	if err := units.CheckShortest("min_gap", s.MinGap, shortestMinGap); err != nil {
		return err
	}
	if err := units.CheckShortest("max_gap", s.MaxGap, shortestMaxGap); err != nil {
		return err
	}
	switch {
	case s.MaxGap > 0 && s.MinGap > s.MaxGap:
		return invalid.Errorf("max_gap", "%s is shorter than min_gap, which is %s", units.FormatDuration(s.MaxGap), units.FormatDuration(s.MinGap))
	}
	if s.MaxGap > 0 && !s.Strategy.IsZero() {
		return invalid.Errorf("strategy", "cannot be used together with max_gap: it says when the source is polled")
	}
	if _, err := timetable.Parse(s.Strategy.String()); err != nil {
		return err
	}
	if _, err := objective.ParseObjective(string(s.Aim)); err != nil {
		return err
	}
	if err := CheckPlace("from", s.From); err != nil {
		return err
	}
	_, err := objective.ParseServiceLevel(s.Level.String())
	return err
}

func (s *Source) checkRender() error {
	r := s.Recipe.Render
	if r.On && s.Request != nil && s.Request.Proxy != "" {
		return invalid.Errorf("render", "cannot be used together with request.proxy: the parts of the page would not go through it")
	}
	return r.Check()
}

func (s *Source) checkKeep() error {
	if err := units.CheckShortest("keep.age", s.Keep.Age, shortestKeepAge); err != nil {
		return err
	}
	switch {
	case s.Keep.Versions < 0:
		return invalid.Errorf("keep.versions", "must not be negative")
	case s.Keep.Bytes < 0:
		return invalid.Errorf("keep.bytes", "must not be negative")
	}
	return nil
}

// mostPlace is how many bytes the name of a place has at most.
const mostPlace = 64

// CheckPlace returns an *invalid.Error if a name is not one of a place where hands are.
func CheckPlace(field, name string) error {
	for _, r := range name {
		if r != '-' && r != '_' && r != '.' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			return invalid.Errorf(field, "%q is not the name of a place; use letters, digits, '-', '_' and '.', such as eu-west", name)
		}
	}
	if len(name) > mostPlace {
		return invalid.Errorf(field, "the name of a place is longer than %d characters", mostPlace)
	}
	return nil
}

func (s *Source) checkSite() error {
	if s.Of != "" && s.Site != nil {
		return invalid.Errorf("site", "a page of a site cannot be a site itself")
	}
	if s.Site == nil {
		return nil
	}
	if u, err := url.Parse(s.URL); err != nil || MediumOf(s.URL) != OnWeb || u.Host == "" {
		return invalid.Errorf("site", "a site begins at an http or https URL")
	}
	if len(s.ID) > maxSiteID {
		return invalid.Errorf("id", "the id of a site is at most %d characters long: its pages have it in theirs", maxSiteID)
	}
	return s.Site.Check()
}

func (s *Source) checkNextChange() error {
	n, err := evidence.ParseNextChange(s.NextChange.String())
	if err != nil || n.Field == "" {
		return err
	}
	if _, ok := s.Recipe.Extract[n.Field]; !ok {
		return invalid.Errorf("next_change", "there is no value %.80q; name one of extract", n.Field)
	}
	return nil
}

func (s *Source) checkRequest() error {
	if s.Request.Empty() {
		s.Request = nil
		return nil
	}
	if s.Request.Hosts != nil {
		return invalid.Errorf("request.hosts", "belongs to a profile under requests:, not to a source")
	}
	p, err := s.Request.Check("request")
	s.Request = &p
	return err
}

func (s *Source) checkExpect() error {
	if s.Expect == nil || strictjson.MarshalCanonical(s.Expect) == "{}" {
		s.Expect = nil
		return nil
	}
	return s.Expect.Check("expect")
}
