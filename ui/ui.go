package ui

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"net/http"
	"strings"
	"sync"

	"freshet/internal/lazyregexp"
)

//go:embed dist
var files embed.FS

//go:embed shell.html
var shell string

// Policy is what a browser may do on the page: run its script, use its style, talk to
// this server, and nothing else.
const Policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"frame-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'"

// A Page serves the shell at the addresses of the screens, and its files.
type Page struct {
	reader func(context.Context) Reader
	names  map[string]string // the paths of the files by their stems
	files  map[string]file   // by path
	parts  []string          // of the script that it needs at once
}

// A Reader is who looks at the page. A stranger is the zero Reader: a browser that comes from
// another site leaves out the cookie of the session, so the script asks again.
type Reader struct {
	Session any  // as the API tells it; nil for a stranger
	Lists   bool // whether they may read what the screens list
}

// A file of the page, which never changes: its content is in its name.
type file struct {
	kind  string
	plain []byte
	zip   func() []byte // compressed when a browser first wants it: commands build the page and never serve it
}

// New returns the page. The reader of a request is told by its context.
func New(reader func(context.Context) Reader) *Page {
	p := &Page{reader: reader, names: map[string]string{}, files: map[string]file{}}
	all, err := files.ReadDir("dist")
	if err != nil {
		panic(err) // it is embedded
	}
	for _, f := range all {
		text, err := files.ReadFile("dist/" + f.Name())
		if err != nil {
			panic(err) // likewise
		}
		p.add(f.Name(), text)
	}
	return p
}

// add adds a file. The names of the parts of the script have a hash already, and other parts refer to them.
func (p *Page) add(name string, text []byte) {
	stem, ext, _ := strings.Cut(name, ".")
	kind := map[string]string{"js": "text/javascript; charset=utf-8", "css": "text/css; charset=utf-8"}[ext]
	path := "/assets/" + name
	if stem == "app" || stem == "style" {
		sum := sha256.Sum256(text)
		path = "/assets/" + stem + "-" + base64.RawURLEncoding.EncodeToString(sum[:9]) + "." + ext
		p.names[stem] = path
	}
	if stem == "app" {
		for _, m := range imported.FindAllSubmatch(text, -1) {
			p.parts = append(p.parts, "/assets/"+string(m[1]))
		}
	}
	p.files[path] = file{kind, text, sync.OnceValue(func() []byte { return zipped(text) })}
}

// imported finds the parts that the script needs at once.
var imported = lazyregexp.New(`from"\./([\w-]+\.js)"`)

func zipped(text []byte) []byte {
	var out bytes.Buffer
	w := gzip.NewWriter(&out)
	_, _ = w.Write(text) // to memory, which does not fail
	_ = w.Close()
	return out.Bytes()
}

// Screens are the patterns of the addresses at which the shell is served; which screen
// it shows is the business of the script.
var Screens = []string{"/{$}", "/changes", "/sources", "/sources/{rest...}", "/queries", "/queries/{rest...}", "/sinks", "/sinks/{rest...}", "/lab", "/lab/{rest...}", "/start", "/settings", "/settings/{rest...}", "/login", "/share/{secret}"}

// Route serves the page on a mux.
func (p *Page) Route(mux interface {
	HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request))
}) {
	for _, screen := range Screens {
		mux.HandleFunc("GET "+screen, p.serveShell)
	}
	mux.HandleFunc("GET /assets/{name}", p.serveFile)
}

func (p *Page) serveFile(w http.ResponseWriter, r *http.Request) {
	f, ok := p.files[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", f.kind)
	h.Set("Cache-Control", "public, max-age=31536000, immutable")
	h.Set("Vary", "Accept-Encoding")
	text := f.plain
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		h.Set("Content-Encoding", "gzip")
		text = f.zip()
	}
	_, _ = w.Write(text)
}
