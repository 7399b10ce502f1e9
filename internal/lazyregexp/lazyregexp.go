// Package lazyregexp compiles the regular expressions of package variables at their first
// use. Compiling them all at start-up took longer than most commands run.
package lazyregexp

import (
	"os"
	"regexp"
	"strings"
	"sync"
)

// A Regexp is a regular expression that is compiled at its first use. Its methods are
// those of package regexp.
type Regexp struct{ compile func() *regexp.Regexp }

// New returns a regular expression, which must be valid. A test finds a wrong one at
// start-up.
func New(expr string) *Regexp {
	re := &Regexp{sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(expr) })}
	if len(os.Args) > 0 && strings.HasSuffix(os.Args[0], ".test") {
		re.compile()
	}
	return re
}

// MatchString is that of package regexp.
func (re *Regexp) MatchString(s string) bool { return re.compile().MatchString(s) }

// Match is that of package regexp.
func (re *Regexp) Match(b []byte) bool { return re.compile().Match(b) }

// FindString is that of package regexp.
func (re *Regexp) FindString(s string) string { return re.compile().FindString(s) }

// FindStringIndex is that of package regexp.
func (re *Regexp) FindStringIndex(s string) []int { return re.compile().FindStringIndex(s) }

// FindStringSubmatch is that of package regexp.
func (re *Regexp) FindStringSubmatch(s string) []string { return re.compile().FindStringSubmatch(s) }

// FindStringSubmatchIndex is that of package regexp.
func (re *Regexp) FindStringSubmatchIndex(s string) []int {
	return re.compile().FindStringSubmatchIndex(s)
}

// FindIndex is that of package regexp.
func (re *Regexp) FindIndex(b []byte) []int { return re.compile().FindIndex(b) }

// FindSubmatch is that of package regexp.
func (re *Regexp) FindSubmatch(b []byte) [][]byte { return re.compile().FindSubmatch(b) }

// FindSubmatchIndex is that of package regexp.
func (re *Regexp) FindSubmatchIndex(b []byte) []int { return re.compile().FindSubmatchIndex(b) }

// FindAllStringIndex is that of package regexp.
func (re *Regexp) FindAllStringIndex(s string, n int) [][]int {
	return re.compile().FindAllStringIndex(s, n)
}

// FindAllStringSubmatch is that of package regexp.
func (re *Regexp) FindAllStringSubmatch(s string, n int) [][]string {
	return re.compile().FindAllStringSubmatch(s, n)
}

// FindAllSubmatch is that of package regexp.
func (re *Regexp) FindAllSubmatch(b []byte, n int) [][][]byte {
	return re.compile().FindAllSubmatch(b, n)
}

// ReplaceAllString is that of package regexp.
func (re *Regexp) ReplaceAllString(src, repl string) string {
	return re.compile().ReplaceAllString(src, repl)
}

// ReplaceAllLiteralString is that of package regexp.
func (re *Regexp) ReplaceAllLiteralString(src, repl string) string {
	return re.compile().ReplaceAllLiteralString(src, repl)
}
