package importer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"freshet/internal/safeyaml"
)

// eachJob reads jobs of urlwatch and webchanges: one per YAML document, or a list in one document.
// A document that is not YAML is one invalid entry, and the others are read.
func eachJob(text string, o Options, yield func(Entry) error) error {
	begin, at, first, line := 0, 0, 0, 0
	for next := range strings.Lines(text) {
		rule := strings.HasPrefix(next, "---") && (len(strings.TrimRight(next, " \t\r\n")) == 3 || next[3] == ' ')
		if rule && at > begin && !strings.HasPrefix(text[begin:at], "%") { // directives belong to the document that follows
			if err := eachJobOf(text[begin:at], first, o, yield); err != nil {
				return err
			}
			begin, first = at, line
		}
		at += len(next)
		line++
	}
	return eachJobOf(text[begin:], first, o, yield)
}

// eachJobOf reads the jobs of a part of a text that follows linesBefore lines.
func eachJobOf(text string, linesBefore int, o Options, yield func(Entry) error) error {
	tree, err := safeyaml.Parse([]byte(text), parser.AllowDuplicateMapKey())
	if err != nil {
		if at, ok := errors.AsType[*safeyaml.Error](err); ok {
			at.Line += linesBefore
		}
		return yield(Entry{Line: linesBefore + 1, Err: fmt.Errorf("this is not YAML: %w", err)})
	}
	for _, doc := range tree.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.NullType || doc.Body.Type() == ast.CommentType {
			continue
		}
		var said any
		if err := yaml.NodeToValue(doc.Body, &said, yaml.AllowDuplicateMapKey()); err != nil {
			return err
		}
		jobs, nodes := []any{said}, []ast.Node{doc.Body}
		if list, ok := doc.Body.(*ast.SequenceNode); ok {
			jobs, _ = said.([]any)
			nodes = list.Values
		}
		for i, job := range jobs {
			if job == nil {
				continue
			}
			e := jobOf(job, o)
			e.Line = linesBefore + 1
			if tk := nodes[i].GetToken(); tk != nil && tk.Position != nil {
				e.Line = linesBefore + tk.Position.Line
			}
			if err := yield(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// jobOf returns what becomes of a job.
func jobOf(said any, o Options) (e Entry) {
	job, ok := said.(map[string]any)
	if !ok {
		e.Err = errors.New("a job has keys and values, such as url: https://…")
		return e
	}
	s := &e.Source
	url := textOf(job["url"])
	if navigate := textOf(job["navigate"]); url == "" && navigate != "" {
		url, s.Render = navigate, true
	}
	s.Name, s.URL = nameOf(textOf(job["name"])), url
	switch command := textOf(job["command"]); {
	case url == "" && command != "":
		e.Err = fmt.Errorf("a command cannot be imported; list it in the configuration file as url: exec:%s", command)
		return e
	case url == "":
		e.Err = errors.New("the job has no url")
		return e
	}
	for _, key := range slices.Sorted(maps.Keys(job)) {
		e.jobSetting(key, job[key], o)
	}
	e.waitFor(job)
	e.filters(job["filter"])
	e.filters(job["filters"])
	return e
}

// jobSetting carries over a setting of a job.
func (e *Entry) jobSetting(key string, value any, o Options) {
	s, text := &e.Source, textOf(value)
	on := text == "true" || text == "yes" || text == "1"
	switch key {
	case "url", "navigate", "name", "kind", "filter", "filters", "index_number", "wait_for", "wait_for_selector", "wait_for_navigation", "wait_for_timeout":
	case "note":
		if s.Name == "" {
			s.Name = nameOf(text)
		} else {
			e.notef("the note %.80q is not carried over", text)
		}
	case "tags":
		for _, tags := range textsOf(value) {
			s.Tags = append(s.Tags, tagsOf(strings.Split(tags, ",")...)...)
		}
	case "enabled":
		s.Paused = text == "false" || text == "no"
	case "use_browser", "render":
		if on && s.Render == nil {
			s.Render = true
		}
	case "method":
		e.request()["method"] = strings.ToUpper(text)
	case "headers":
		e.headers(value)
	case "cookies":
		e.pairs("cookies", value)
	case "data", "data_as_json":
		e.body(value)
	case "http_proxy", "https_proxy":
		e.proxy(text)
	case "timeout":
		e.timeout(text)
	case "http_credentials":
		e.notef("http_credentials are secret: freshet settings secret set NAME --host HOST, then freshet edit SOURCE --user 'USER:${secret:NAME}'")
	case "ignore_connection_errors", "ignore_http_error_codes", "ignore_timeout_errors", "ignore_too_many_redirects", "max_tries", "wait_until":
		// A failed poll is never a change, and is tried again with a back-off; a page is read when it is quiet.
	case "compared_versions":
		// A page that goes back and forth between versions is held as flapping.
	case "treat_new_as_changed", "color", "monospace", "markdown", "is_markdown", "contextlines", "compact", "return_page_source":
		// They say how differences are printed.
	case "ssl_no_verify", "insecure_skip_verify":
		if on {
			e.notef("ssl_no_verify is not carried over: certificates are always verified; add the certificate to those that the machine trusts")
		}
	case "additions_only", "deletions_only":
		if on {
			list := map[string]string{"additions_only": "added", "deletions_only": "removed"}[key]
			e.notef("%s is not carried over: freshet query add --when 'size(%s) > 0' reports only these", key, list)
		}
	case "user_visible_url":
		e.notef("user_visible_url %s is not carried over: messages link to the URL that is polled", text)
	case "diff_filter", "diff_tool", "differ":
		e.notef("%s is not carried over: steps of read filter what is compared; a sink with a template prints it", key)
	case "no_redirects":
		if on {
			e.notef("no_redirects is not carried over: redirects are followed, and to another page they are suspect")
		}
	default:
		e.notef("%s is not carried over", key)
	}
}

// waitFor carries over what a rendered page waits for.
func (e *Entry) waitFor(job map[string]any) {
	for _, key := range []string{"wait_for_selector", "wait_for"} {
		if selector := textOf(job[key]); selector != "" && e.Source.Render == true {
			e.Source.Render = map[string]any{"wait_for": selector}
		}
	}
	for _, key := range []string{"wait_for_timeout", "wait_for_navigation"} {
		if job[key] != nil {
			e.notef("%s is not carried over: render: {wait_for: CSS, wait: 5s} says when a page is there", key)
		}
	}
}

// headers carries over headers. A secret must not be written down in a source.
func (e *Entry) headers(value any) {
	headers, ok := value.(map[string]any)
	if !ok && value != nil {
		e.notef("headers are not carried over: they are not a list of names and values")
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		e.header(name, textOf(headers[name]))
	}
}

// header carries over a header.
func (e *Entry) header(name, value string) {
	switch strings.ToLower(name) {
	case "host", "content-length", "connection", "accept-encoding", "transfer-encoding", "range": // Freshet sets them
		return
	case "cookie":
		for pair := range strings.SplitSeq(value, ";") {
			if name, value, ok := strings.Cut(pair, "="); ok {
				e.pair("cookies", strings.TrimSpace(name), strings.TrimSpace(value))
			}
		}
		return
	}
	e.pair("headers", name, value)
}

// pairs carries over names and values of a part of the request.
func (e *Entry) pairs(part string, value any) {
	values, _ := value.(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(values)) {
		e.pair(part, name, textOf(values[name]))
	}
}

// pair carries over a name and its value.
func (e *Entry) pair(part, name, value string) {
	pairs, ok := e.request()[part].(map[string]any)
	if !ok {
		pairs = map[string]any{}
		e.request()[part] = pairs
	}
	pairs[name] = strings.ReplaceAll(value, "${", "$${")
}

// body carries over what is sent: a form, or a text as it is.
func (e *Entry) body(value any) {
	switch value := value.(type) {
	case map[string]any:
		nested := slices.ContainsFunc(slices.Collect(maps.Values(value)), func(v any) bool { return v != nil && textOf(v) == "" && v != "" })
		if nested {
			e.request()["body"] = strings.ReplaceAll(inJSON(value), "${", "$${")
			return
		}
		e.pairs("form", value)
	case []any:
		e.request()["body"] = strings.ReplaceAll(inJSON(value), "${", "$${")
	default:
		e.request()["body"] = strings.ReplaceAll(textOf(value), "${", "$${")
	}
	if textOf(e.Source.Request["method"]) == "" {
		e.request()["method"] = "POST"
	}
}

// proxy carries over a proxy.
func (e *Entry) proxy(url string) {
	if url != "" {
		e.request()["proxy"] = url
	}
}

// timeout carries over a time-out in seconds.
func (e *Entry) timeout(seconds string) {
	if d, err := time.ParseDuration(seconds + "s"); err == nil && d > 0 {
		e.request()["timeout"] = d.String()
	}
}

// nameOf returns a text as the name of a source.
func nameOf(text string) string {
	name := []rune(strings.Join(strings.Fields(text), " "))
	return string(name[:min(len(name), longestName)])
}

// longestName is how many characters of a name are kept.
const longestName = 200
