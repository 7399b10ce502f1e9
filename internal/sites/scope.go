package sites

import (
	"errors"
	"fmt"
	"strings"
)

// A Scope says which pages belong to a site.
type Scope struct {
	root       string // normalised
	host       string
	folder     string // what paths begin with when there are no patterns
	match      []Pattern
	exclude    []Pattern
	subdomains bool
	depth      int
	limit      int
}

// Bounds is how a user names a site.
type Bounds struct {
	Root       string   // the page at which it begins
	Match      []string // patterns; if there are any, a page has to match one of them
	Exclude    []string // patterns of what does not belong to it
	Subdomains bool     // docs.example.com belongs to example.com
	Depth      int      // how many links away from the root; 0 is as far as it goes
	Limit      int      // how many pages; 0 is all
}

// NewScope reads the bounds of a site. It returns all that is wrong with them.
func NewScope(b Bounds) (*Scope, error) {
	root, err := Normalise("", b.Root)
	if err != nil {
		return nil, fmt.Errorf("root: %w", err)
	}
	s := &Scope{root: root, subdomains: b.Subdomains, depth: b.Depth, limit: b.Limit}
	origin, path, _ := split(root)
	s.host = siteHost(origin)
	s.folder = folderOf(path)
	var faults []error
	read := func(field string, texts []string) (list []Pattern) {
		for i, text := range texts {
			p, err := ParsePattern(text)
			if err != nil {
				faults = append(faults, fmt.Errorf("%s[%d]: %w", field, i, err))
			}
			list = append(list, p)
		}
		return list
	}
	s.match, s.exclude = read("match", b.Match), read("exclude", b.Exclude)
	if b.Depth < 0 {
		faults = append(faults, fmt.Errorf("depth: %d is negative", b.Depth))
	}
	if b.Limit < 0 {
		faults = append(faults, fmt.Errorf("limit: %d is negative", b.Limit))
	}
	if err := errors.Join(faults...); err != nil {
		return nil, err
	}
	return s, nil
}

// Root returns the page at which the site begins.
func (s *Scope) Root() string { return s.root }

// Depth returns how many links away from the root a page may be; 0 is any number.
func (s *Scope) Depth() int { return s.depth }

// Limit returns how many pages the site may have; 0 is any number.
func (s *Scope) Limit() int { return s.limit }

// siteHost returns the host by which a site is known: without "www." and without the
// scheme and its port, because these variants show the same site.
func siteHost(origin string) string {
	_, host, _ := strings.Cut(origin, "://")
	return strings.TrimPrefix(host, "www.")
}

// folderOf returns what the paths of a site begin with whose root has this path: its
// folder if it is a file, else the path itself.
func folderOf(path string) string {
	slash := strings.LastIndexByte(path, '/')
	if strings.Contains(path[slash:], ".") {
		return path[:slash+1]
	}
	return path
}

// Home returns a URL of the site's host under the scheme and host of the root, so that a
// page that is linked to with and without "www." is one page.
func (s *Scope) Home(url string) string {
	origin, _, _ := split(url)
	root, _, _ := split(s.root)
	if origin == root || siteHost(origin) != s.host || strings.Contains(s.host, ":") {
		return url
	}
	return root + url[len(origin):]
}

// Contains reports whether a normalised URL belongs to the site, and if not, why not.
func (s *Scope) Contains(url string) (ok bool, reason string) {
	if url == s.root {
		return true, ""
	}
	origin, path, _ := split(url)
	if host := siteHost(origin); host != s.host && !(s.subdomains && strings.HasSuffix(host, "."+s.host)) {
		return false, "on another host"
	}
	for _, p := range s.exclude {
		if p.Match(url) {
			return false, "excluded by " + p.text
		}
	}
	if len(s.match) == 0 {
		if !within(path, s.folder) {
			return false, "not below " + s.folder
		}
		return true, ""
	}
	for _, p := range s.match {
		if p.Match(url) {
			return true, ""
		}
	}
	return false, "matches no pattern"
}

// within reports whether a path is a folder or below it.
func within(path, folder string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(folder, "/"))
	return ok && (rest == "" || rest[0] == '/')
}
