package ui

import (
	"bytes"
	"net/http"
	"slices"
	"strings"
)

// A frame is what the shell shows before the script is there, and what the script finds in it.
type frame struct {
	Style, Script string
	Theme         string // "light" or "dark"; "" as the system has it
	Screen        string // its name; "" if only the script knows it
	Heading       string // what stands over the screen; "" if nothing does, or only the script knows
	Nav           []entry
	Session       any      // nil for a stranger
	First         []string // what the screen asks the API for first
}

// An entry of the bar leads to a screen.
type entry struct {
	Path, Name string
	Titled     bool // its name stands over it
	Here       bool
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
	"/sources": {"/api/v1/sources?named=true&next=true&total=true&limit=200", "/api/v1/sources/facets"},
}

// frameOf returns the frame for a request.
func (p *Page) frameOf(r *http.Request) frame {
	reader := p.reader(r.Context())
	f := frame{Style: p.names["style"], Script: p.names["app"], Theme: themeOf(r), Session: reader.Session}
	for _, e := range entries {
		if e.Here = e.Path == r.URL.Path || e.Path != "/" && strings.HasPrefix(r.URL.Path, e.Path+"/"); e.Here {
			f.Screen = e.Name
		}
		if e.Titled && e.Path == r.URL.Path && reader.Session != nil {
			f.Heading = e.Name
		}
		f.Nav = append(f.Nav, e)
	}
	if reader.Lists && r.URL.RawQuery == "" {
		f.First = slices.Concat(first[r.URL.Path], first[""])
	} else if reader.Lists {
		f.First = first[""]
	}
	return f
}

// themeOf returns the colours that somebody has chosen in this browser.
func themeOf(r *http.Request) string {
	if c, err := r.Cookie("freshet-theme"); err == nil && (c.Value == "light" || c.Value == "dark") {
		return c.Value
	}
	return ""
}

func (p *Page) serveShell(w http.ResponseWriter, r *http.Request) {
	var out bytes.Buffer
	if err := p.shell.Execute(&out, p.frameOf(r)); err != nil {
		http.Error(w, "the page cannot be shown: "+err.Error(), http.StatusInternalServerError)
		return
	}
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Content-Security-Policy", Policy)
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cache-Control", "private, no-cache")
	_, _ = w.Write(out.Bytes())
}
