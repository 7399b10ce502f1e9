package robots

import (
	"maps"
	"slices"
	"strings"
	"time"
)

// Rules are what a robots.txt asks of one program: the rules of all groups that name it,
// and if none does, of those for everybody. They do not change, and may be asked by many
// at once.
type Rules struct {
	rules   []Rule                // in the order of the file
	heads   []int                 // how long the heads of patterns are, each length once
	byHead  map[string][]*pattern // by what stands before the first star; the most specific first
	delay   time.Duration
	delayed bool
}

// A pattern is a rule that is ready to be matched.
type pattern struct {
	rule     Rule
	head     string   // that a path has to begin with
	parts    []string // that follow in this order, wherever: what stands between the stars
	tail     string   // that it has to end with, if it is bound
	bound    bool     // to the end of the path
	starred  bool     // there is a star
	specific int      // octets: the longest that matches decides
	marks    marks    // of what a path has to have after the head
}

// marks are a rough picture of the octets and pairs of octets in a text. Most patterns
// with stars are known not to match a path by them alone.
type marks [4]uint64

// add takes in a text.
func (m *marks) add(text string) {
	before := byte(0)
	for i := range len(text) {
		c := text[i]
		m.set(c * 37)
		if i > 0 {
			m.set(before*167 + c*13 + 1)
		}
		before = c
	}
}

func (m *marks) set(bit byte) { m[bit>>6] |= 1 << (bit & 63) }

// within reports whether all of the marks are among others.
func (m *marks) within(n *marks) bool {
	return m[0]&^n[0]|m[1]&^n[1]|m[2]&^n[2]|m[3]&^n[3] == 0
}

// For returns what the file asks of a program, which is called by the first word of its
// User-Agent header.
func (f *File) For(agent string) *Rules {
	name := token(agent)
	if !f.names(name) {
		name = everybody
	}
	var rules []Rule
	delay, delayed := time.Duration(0), false
	for _, g := range f.groups {
		if !g.names(name) {
			continue
		}
		rules = append(rules, g.rules...)
		if d, ok := g.delayFor(name); ok {
			delay, delayed = max(delay, d), true
		}
	}
	return newRules(rules, delay, delayed)
}

// newRules makes rules ready to be asked.
func newRules(rules []Rule, delay time.Duration, delayed bool) *Rules {
	r := &Rules{rules: rules, byHead: map[string][]*pattern{}, delay: delay, delayed: delayed}
	for _, rule := range rules {
		p := compile(rule)
		r.byHead[p.head] = append(r.byHead[p.head], p)
	}
	lengths := map[int]bool{}
	for head, list := range r.byHead {
		slices.SortFunc(list, func(a, b *pattern) int {
			if a.beats(b) {
				return -1
			}
			return 1
		})
		lengths[len(head)] = true
	}
	r.heads = slices.Sorted(maps.Keys(lengths))
	return r
}

// names reports whether a group of the file is for a program of its own name.
func (f *File) names(name string) bool {
	return slices.ContainsFunc(f.groups, func(g group) bool { return g.names(name) })
}

func (g group) names(name string) bool {
	return name != "" && slices.ContainsFunc(g.agents, func(a agentLine) bool { return a.name == name })
}

// compile makes a rule ready to be matched.
func compile(rule Rule) *pattern {
	text := normal(rule.Pattern)
	p := &pattern{rule: rule, specific: len(text)}
	text, p.bound = strings.CutSuffix(text, "$")
	parts := strings.Split(strings.ReplaceAll(text, "$", "%24"), "*")
	p.head, p.parts = parts[0], parts[1:]
	if p.starred = len(p.parts) > 0; p.starred && p.bound {
		p.tail, p.parts = p.parts[len(p.parts)-1], p.parts[:len(p.parts)-1]
	}
	p.parts = slices.DeleteFunc(p.parts, func(part string) bool { return part == "" })
	for _, part := range append(p.parts, p.tail) {
		p.marks.add(part)
	}
	return p
}

// matches reports whether a path that begins with the head of the pattern matches it.
// It goes through the path once: the first place where a part stands leaves most for the
// next.
func (p *pattern) matches(path string) bool {
	rest := path[len(p.head):]
	switch {
	case !p.starred:
		return !p.bound || rest == ""
	case p.bound && !strings.HasSuffix(rest, p.tail):
		return false
	}
	for _, part := range p.parts {
		i := strings.Index(rest, part)
		if i < 0 {
			return false
		}
		rest = rest[i+len(part):]
	}
	return !p.bound || strings.HasSuffix(rest, p.tail)
}

// A Verdict says whether a page may be asked for.
type Verdict struct {
	Allowed     bool
	Rule        Rule // that decided; zero if none did
	Unreachable bool // nothing may be asked for, because the file cannot be read
}

// Verdict says whether the program may ask for a path with its query. The most specific
// rule that matches decides, and of an Allow and a Disallow that are as specific, the
// Allow. The robots.txt itself may always be asked for.
func (r *Rules) Verdict(path string) Verdict {
	path = literal(normal(pathOf(path)))
	if r == nil || path == robotsPath {
		return Verdict{Allowed: true}
	}
	var best *pattern
	var seen marks
	seen.add(path)
	for _, n := range r.heads {
		if n > len(path) {
			break
		}
		list := r.byHead[path[:n]]
		for _, p := range list {
			if best != nil && !p.beats(best) {
				break // those after it are less specific still
			}
			if p.marks.within(&seen) && p.matches(path) {
				best = p
				break
			}
		}
	}
	if best == nil {
		return Verdict{Allowed: true}
	}
	return Verdict{Allowed: best.rule.Allow, Rule: best.rule}
}

// beats reports whether a pattern decides against another that matches, too. Of two that
// say the same the first in the file does.
func (p *pattern) beats(q *pattern) bool {
	switch {
	case p.specific != q.specific:
		return p.specific > q.specific
	case p.rule.Allow != q.rule.Allow:
		return p.rule.Allow
	}
	return p.rule.Line < q.rule.Line
}

// CrawlDelay returns how far apart the file wants requests to be, and whether it says so.
func (r *Rules) CrawlDelay() (time.Duration, bool) {
	if r == nil {
		return 0, false
	}
	return r.delay, r.delayed
}

// Len returns how many rules there are.
func (r *Rules) Len() int {
	if r == nil {
		return 0
	}
	return len(r.rules)
}
