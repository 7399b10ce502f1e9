package freshet

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"freshet/internal/freshet/reading"
	"freshet/internal/invalid"
)

// A Medium is a kind of source that is not a page of the Web.
type Medium string

// The media beside the Web, named as in their URLs.
const (
	OnWeb  Medium = ""
	InFile Medium = "file" // a file of this machine: file:///srv/list.txt
	InExec Medium = "exec" // what a command prints: exec:df -h /
	InDNS  Medium = "dns"  // records of a name: dns:example.com?type=MX
	InTLS  Medium = "tls"  // the certificate of a server: tls:example.com:443
)

// MediumOf returns the medium of a URL.
func MediumOf(rawURL string) Medium {
	scheme, _, ok := strings.Cut(rawURL, ":")
	if p := Medium(strings.ToLower(scheme)); ok && slices.Contains([]Medium{InFile, InExec, InDNS, InTLS}, p) {
		return p
	}
	return OnWeb
}

// host returns the host that politeness counts by. All commands share one, and so do all
// files.
func (p Medium) host(rawURL string) string {
	_, rest, _ := strings.Cut(rawURL, ":")
	switch p {
	case InDNS:
		name, _, _ := strings.Cut(rest, "?")
		return strings.ToLower(name)
	case InTLS:
		return strings.ToLower(strings.TrimSuffix(rest, ":443"))
	}
	return string(p)
}

// A shortName is an abbreviation of a URL and its recipe.
type shortName struct {
	form  *regexp.Regexp
	url   func(name string) string
	kind  reading.Kind
	path  string
	usage string
}

const (
	word     = `[A-Za-z0-9][A-Za-z0-9._-]*`
	wordPath = word + `(/` + word + `)+`
)

// shortNames are the short names of releases and packages.
var shortNames = map[string]shortName{
	"github": {regexp.MustCompile(`^` + word + `/` + word + `$`), func(n string) string { return "https://github.com/" + n + "/releases.atom" }, reading.Feed, "", "github:owner/repo"},
	"gitlab": {regexp.MustCompile(`^` + wordPath + `$`), func(n string) string {
		return "https://gitlab.com/api/v4/projects/" + url.PathEscape(n) + "/releases?per_page=20"
	}, reading.Auto, `$[*]["tag_name","released_at"]`, "gitlab:group/project"},
	"npm": {regexp.MustCompile(`^(@` + word + `/)?` + word + `$`), func(n string) string {
		return "https://registry.npmjs.org/-/package/" + strings.Replace(n, "/", "%2f", 1) + "/dist-tags"
	}, reading.JSON, "", "npm:name or npm:@scope/name"},
	"pypi":   {regexp.MustCompile(`^` + word + `$`), func(n string) string { return "https://pypi.org/rss/project/" + n + "/releases.xml" }, reading.Feed, "", "pypi:name"},
	"crates": {regexp.MustCompile(`^` + word + `$`), func(n string) string { return "https://crates.io/api/v1/crates/" + n + "/versions" }, reading.Auto, `$.versions[*].num`, "crates:name"},
	"go":     {regexp.MustCompile(`^` + word + `(/` + word + `)*$`), func(n string) string { return "https://proxy.golang.org/" + escapeModule(n) + "/@latest" }, reading.Auto, `$.Version`, "go:example.com/module"},
	"docker": {regexp.MustCompile(`^` + word + `/` + word + `$`), func(n string) string {
		return "https://hub.docker.com/v2/repositories/" + n + "/tags?page_size=50&ordering=last_updated"
	}, reading.Auto, `$.results[*].name`, "docker:library/nginx"},
}

// escapeModule encodes a module path as the module proxy protocol requires.
func escapeModule(path string) string {
	return regexp.MustCompile(`[A-Z]`).ReplaceAllStringFunc(path, func(c string) string { return "!" + strings.ToLower(c) })
}

// expand replaces a short name by its URL. The short name becomes the name of the source,
// and its recipe applies unless the source has one.
func (s *Source) expand() error {
	scheme, name, ok := strings.Cut(s.URL, ":")
	short, known := shortNames[strings.ToLower(scheme)]
	if !ok || !known {
		return nil
	}
	if !short.form.MatchString(name) {
		return invalid.Errorf("url", "%.200q is not a short name such as %s", s.URL, short.usage)
	}
	if s.Name == "" {
		s.Name = s.URL
	}
	if r := s.Recipe; r.CSS == "" && r.JSONPath == "" && r.Kind == reading.Auto && len(r.Read) == 0 {
		s.Recipe.Kind, s.Recipe.JSONPath = short.kind, short.path
	}
	s.URL = short.url(name)
	return nil
}
