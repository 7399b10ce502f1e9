package profile

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"freshet/internal/invalid"
	"freshet/internal/mask"
	"freshet/internal/strictjson"
	"freshet/internal/units"
)

// A Login is a short script of requests that opens a session. Its cookies go into the
// jar of the profile, and what its steps take from answers can be referred to as
// ${NAME}. It is run when there is no session yet, and again when an answer of the
// source is 401 or 403 or not what the source expects.
type Login struct {
	Steps []LoginStep `json:"steps"`
	Every string      `json:"every,omitempty"` // the longest that a session is used; "" means until it has expired
	Wait  string      `json:"wait,omitempty"`  // the least time between two logins; "" means 5 minutes
}

// A LoginStep is one request of a Login. Either Get or Post is its URL.
type LoginStep struct {
	Get     string            `json:"get,omitempty"`
	Post    string            `json:"post,omitempty"`
	Headers map[string]Value  `json:"headers,omitempty"`
	Form    map[string]Value  `json:"form,omitempty"`
	Body    Value             `json:"body,omitempty"`
	Take    map[string]Taking `json:"take,omitempty"`
	Expect  *Expect           `json:"expect,omitempty"`
}

// A Taking says where a value stands in an answer. One of its fields is set.
type Taking struct {
	CSS    string `json:"css,omitempty"`    // one element and its attribute, such as input[name=csrf]@value; its text without one
	Regex  string `json:"regex,omitempty"`  // what the first group matches, or all of it
	JSON   string `json:"json,omitempty"`   // a path of keys and indexes, such as $.data[0].token
	Cookie string `json:"cookie,omitempty"` // the value of a cookie
}

const (
	maxLoginSteps = 10
	defaultWait   = 5 * time.Minute
	leastWait     = time.Minute
)

// URL returns where a step goes to.
func (s LoginStep) URL() string { return cmp.Or(s.Get, s.Post) }

// Apart returns the least time between two logins.
func (l *Login) Apart() time.Duration {
	if d, err := units.ParseDuration(l.Wait); err == nil && d > 0 {
		return d
	}
	return defaultWait
}

// Lasts returns the longest that a session is used; zero if it is until it has expired.
func (l *Login) Lasts() time.Duration {
	if l.Every == "" {
		return 0
	}
	d, _ := units.ParseDuration(l.Every) // it has been checked
	return d
}

// Key returns the login in a canonical form, equal for equal logins.
func (l *Login) Key() string { return strictjson.MarshalCanonical(l) }

// values yields what can refer to secrets in a login.
func (l *Login) values(add func(field string, v Value)) {
	if l == nil {
		return
	}
	for i, s := range l.Steps {
		at := fmt.Sprintf("login.steps[%d].", i)
		add(at+"body", s.Body)
		for section, values := range map[string]map[string]Value{"headers.": s.Headers, "form.": s.Form} {
			for _, name := range slices.Sorted(maps.Keys(values)) {
				add(at+section+name, values[name])
			}
		}
	}
}

func (l *Login) check(at string) error {
	if l == nil {
		return nil
	}
	if len(l.Steps) == 0 || len(l.Steps) > maxLoginSteps {
		return invalid.Errorf(at+".steps", "there must be 1 to %d", maxLoginSteps)
	}
	for field, text := range map[string]string{".every": l.Every, ".wait": l.Wait} {
		if text == "" {
			continue
		}
		d, err := units.ParseDuration(text)
		if err != nil {
			return invalid.Errorf(at+field, "%v", invalid.ReasonOf(err))
		}
		if err := units.CheckShortest(at+field, d, leastWait); err != nil {
			return err
		}
	}
	var taken []string
	for i, s := range l.Steps {
		if err := s.check(fmt.Sprintf("%s.steps[%d]", at, i), taken); err != nil {
			return err
		}
		taken = slices.AppendSeq(taken, maps.Keys(s.Take))
	}
	return nil
}

// check judges a step, before which these values have been taken.
func (s LoginStep) check(at string, taken []string) error {
	switch {
	case (s.Get == "") == (s.Post == ""):
		return invalid.Errorf(at, "needs get or post with a URL")
	case !isAbsolute(s.URL()):
		return invalid.Errorf(at, "%.200q is not an absolute URL", mask.URL(s.URL()))
	}
	method := "POST"
	if s.Get != "" {
		method = "GET"
	}
	p := Profile{Method: method, Headers: s.Headers, Form: s.Form, Body: s.Body}
	if err := p.checkMethod(at); err != nil {
		return err
	}
	if err := p.checkHeaders(at); err != nil {
		return err
	}
	for field, v := range p.Values {
		found, err := v.References()
		if err != nil {
			return invalid.Errorf(at+"."+field, "%v", err)
		}
		for _, r := range found {
			if r.Kind == TakenValue && !slices.Contains(taken, r.Name) {
				return invalid.Errorf(at+"."+field, "%s is not taken by a step before this one", r)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Take)) {
		if !ValidSecretName(name) {
			return invalid.Errorf(at+".take", "%.80q is not a name; use up to 64 letters, digits, '.', '_' and '-'", name)
		}
		if err := s.Take[name].check(at + ".take." + name); err != nil {
			return err
		}
	}
	if s.Expect != nil {
		return s.Expect.Check(at + ".expect")
	}
	return nil
}

var (
	oneElement = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*([.#][A-Za-z_][A-Za-z0-9_-]*|\[[A-Za-z_:][A-Za-z0-9_:.-]*([~|^$*]?=([A-Za-z0-9_-]+|"[^"\\]*"|'[^'\\]*'))?\])*(@[A-Za-z_:][A-Za-z0-9_:.-]*)?$`)
	keyPath    = regexp.MustCompile(`^\$(\.[A-Za-z_][A-Za-z0-9_-]*|\[[0-9]{1,6}\]|\['[^'\\]*'\])+$`)
)

func (t Taking) check(at string) error {
	given := slices.DeleteFunc([]string{t.CSS, t.Regex, t.JSON, t.Cookie}, func(s string) bool { return s == "" })
	switch {
	case len(given) != 1:
		return invalid.Errorf(at, "use one of css, regex, json and cookie")
	case t.CSS != "" && (len(t.CSS) > maxPattern || !oneElement.MatchString(t.CSS)):
		return invalid.Errorf(at+".css", "%.100q does not name one element by its tag, id, class and attributes, such as input[name=csrf]@value", t.CSS)
	case t.JSON != "" && (len(t.JSON) > maxPattern || !keyPath.MatchString(t.JSON)):
		return invalid.Errorf(at+".json", "%.100q is not a path of keys and indexes, such as $.data[0].token", t.JSON)
	case t.Cookie != "" && !isToken(t.Cookie):
		return invalid.Errorf(at+".cookie", "%.80q is not the name of a cookie", t.Cookie)
	case t.Cookie != "" || strings.Contains(t.CSS+t.JSON, "\n"):
		return nil
	}
	return checkPattern(at+".regex", t.Regex)
}
