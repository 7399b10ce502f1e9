package ui

import (
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"slices"
	"strings"
)

// An entry of the bar leads to a screen.
type entry struct {
	Path, Name string
	Titled     bool // its name stands over it
}

// entries are the screens in the bar.
var entries = []entry{
	{Path: "/", Name: "Overview"}, {Path: "/changes", Name: "Changes", Titled: true}, {Path: "/sources", Name: "Sources", Titled: true}, {Path: "/queries", Name: "Queries"},
	{Path: "/sinks", Name: "Sinks"}, {Path: "/lab", Name: "Lab", Titled: true}, {Path: "/settings", Name: "Settings", Titled: true},
}

// first is what screens ask the API for first, by their addresses; "" is for all of them. The
// browser asks for it while the script is on its way.
var first = map[string][]string{
	"":         {"/api/v1/overview"},
	"/":        {"/api/v1/changes/newest?limit=60", "/api/v1/flow?hours=24"},
	"/changes": {"/api/v1/status", "/api/v1/changes/newest?limit=100", "/api/v1/sources/facets"},
	"/sources": {"/api/v1/sources?sort=attention&named=true&next=true&outlook=true&total=true&limit=200", "/api/v1/sources/facets"},
}

// shellFor returns the shell for a request: what it shows before the script is there, and what
// the script finds in it. All that is not constant is escaped.
func (p *Page) shellFor(r *http.Request) (string, error) {
	reader := p.reader(r.Context())
	var theme, screen, heading, session string
	var nav, early strings.Builder
	if t := themeOf(r); t != "" {
		theme = ` data-theme="` + t + `"`
	}
	for _, e := range entries {
		here := ""
		if e.Path == r.URL.Path || e.Path != "/" && strings.HasPrefix(r.URL.Path, e.Path+"/") {
			here, screen = ` aria-current="page"`, e.Name+" · "
		}
		if e.Titled && e.Path == r.URL.Path && reader.Session != nil {
			heading = `<h1 class="title">` + e.Name + "</h1>"
		}
		fmt.Fprintf(&nav, `<li><a href="%s"%s>%s</a></li>`, e.Path, here, e.Name)
	}
	var paths []string
	if reader.Lists && r.URL.RawQuery == "" {
		paths = slices.Concat(first[r.URL.Path], first[""])
	} else if reader.Lists {
		paths = first[""]
	}
	for _, path := range p.parts {
		fmt.Fprintf(&early, `<link rel="modulepreload" href="%s">`+"\n", path)
	}
	for _, path := range paths {
		fmt.Fprintf(&early, `<link rel="preload" as="fetch" crossorigin href="%s">`+"\n", html.EscapeString(path))
	}
	if reader.Session != nil {
		text, err := json.Marshal(reader.Session) // without < and &, which could end the script
		if err != nil {
			return "", err
		}
		session = `<script type="application/json" id="session">` + string(text) + "</script>\n"
	}
	return strings.NewReplacer(
		"{{theme}}", theme, "{{screen}}", screen, "{{style}}", p.names["style"], "{{script}}", p.names["app"],
		"{{first}}", early.String(), "{{session}}", session, "{{nav}}", nav.String(), "{{heading}}", heading,
	).Replace(shell), nil
}

// themeOf returns the colours that somebody has chosen in this browser.
func themeOf(r *http.Request) string {
	if c, err := r.Cookie("freshet-theme"); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return ""
}

func (p *Page) serveShell(w http.ResponseWriter, r *http.Request) { p.serve(w, r, http.StatusOK) }

// noticePolicy lets a notice use its style and post its form, and nothing else.
const noticePolicy = "default-src 'none'; style-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"

// A Notice is a page without a script, for people who need not be logged in.
type Notice struct {
	Status int
	Title  string
	Text   string
	Button string // posts to the address of the page; "" if there is none
}

// ServeNotice serves a notice.
func (p *Page) ServeNotice(w http.ResponseWriter, r *http.Request, n Notice) {
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", noticePolicy)
	h.Set("Referrer-Policy", "same-origin") // or the form would come from nowhere
	w.WriteHeader(n.Status)
	title, button := html.EscapeString(n.Title), ""
	if n.Button != "" {
		button = `<form method="post"><button class="button main" type="submit">` + html.EscapeString(n.Button) + "</button></form>\n"
	}
	fmt.Fprintf(w, `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex">
<title>%s · Freshet</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="%s">
</head>
<body><main id="main" class="notice"><h1 class="title">%s</h1>
<p>%s</p>
%s</main></body>
</html>
`, title, p.names["style"], title, html.EscapeString(n.Text), button)
}

// ServeMissing serves the shell at an address at which there is nothing; the script says so.
func (p *Page) ServeMissing(w http.ResponseWriter, r *http.Request) {
	p.serve(w, r, http.StatusNotFound)
}

func (p *Page) serve(w http.ResponseWriter, r *http.Request, status int) {
	text, err := p.shellFor(r)
	if err != nil {
		http.Error(w, "the page cannot be shown: "+err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", Policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "private, no-cache")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, text)
}
