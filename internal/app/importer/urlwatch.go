package importer

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"freshet/internal/freshet/reading"
	"freshet/internal/safeyaml"
)

// A jobFile is a text with jobs of urlwatch or webchanges: one per YAML document, or a list in one
// document. One document may be the configuration of the program.
type jobFile struct {
	format   Format
	options  Options
	defaults object // of jobs, in the configuration
}

// eachJob returns what reads jobs. A document that is not YAML is one invalid entry, and the
// others are read.
func eachJob(format Format) reader {
	return func(text string, o Options, yield func(Entry)) error {
		f := &jobFile{format: format, options: o}
		for line, part := range documents(text) {
			if strings.Contains(part, "job_defaults") {
				f.read(part, line, func(Entry) {})
			}
		}
		for line, part := range documents(text) {
			f.read(part, line, yield)
		}
		return nil
	}
}

// documents returns the YAML documents of a text, each with the number of lines before it.
func documents(text string) iter.Seq2[int, string] {
	return func(yield func(int, string) bool) {
		begin, at, first, line := 0, 0, 0, 0
		for next := range strings.Lines(text) {
			rule := strings.HasPrefix(next, "---") && (len(strings.TrimRight(next, " \t\r\n")) == 3 || next[3] == ' ')
			if rule && at > begin && !strings.HasPrefix(text[begin:at], "%") { // directives belong to the document that follows
				if !yield(first, text[begin:at]) {
					return
				}
				begin, first = at, line
			}
			at += len(next)
			line++
		}
		yield(first, text[begin:])
	}
}

// read reads the jobs of a document.
func (f *jobFile) read(text string, linesBefore int, yield func(Entry)) {
	tree, err := safeyaml.Parse([]byte(text), parser.AllowDuplicateMapKey())
	if err != nil {
		if at, ok := errors.AsType[*safeyaml.Error](err); ok {
			at.Line += linesBefore
		}
		yield(Entry{Line: linesBefore + 1, Err: fmt.Errorf("this is not YAML: %w", err)})
		return
	}
	for _, doc := range tree.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.NullType || doc.Body.Type() == ast.CommentType {
			continue
		}
		var said any
		if err := yaml.NodeToValue(doc.Body, &said, yaml.AllowDuplicateMapKey()); err != nil {
			yield(Entry{Line: linesBefore + 1, Err: fmt.Errorf("this is not YAML: %w", err)})
			continue
		}
		jobs, nodes := []any{said}, []ast.Node{doc.Body}
		if list, ok := doc.Body.(*ast.SequenceNode); ok {
			jobs, _ = said.([]any)
			nodes = list.Values
		}
		for i, job := range jobs {
			line := linesBefore + 1
			if tk := nodes[i].GetToken(); tk != nil && tk.Position != nil {
				line = linesBefore + tk.Position.Line
			}
			if job != nil {
				f.entries(objectOf(job), line, yield)
			}
		}
	}
}

// entries yields what becomes of a job, or the receivers of a configuration.
func (f *jobFile) entries(job object, line int, yield func(Entry)) {
	switch {
	case isConfig(job):
		f.defaults = job.object("job_defaults")
		for _, e := range reporters(job.object("report")) {
			e.Line = line
			yield(e)
		}
	case job == nil:
		yield(Entry{Line: line, Err: errors.New("a job has keys and values, such as url: https://…")})
	default:
		e := f.job(f.withDefaults(job))
		e.Line = line
		yield(e)
	}
}

// isConfig reports whether a document is the configuration of the program.
func isConfig(doc object) bool {
	return doc.text("url") == "" && doc.text("navigate") == "" && doc.text("command") == "" && (doc.object("report") != nil || doc.object("job_defaults") != nil)
}

// withDefaults returns a job with the settings that the configuration gives to its kind.
func (f *jobFile) withDefaults(job object) object {
	kind := "url"
	if job.text("navigate") != "" || job.on("use_browser") {
		kind = "browser"
	}
	all := object{}
	maps.Copy(all, f.defaults.object("all"))
	maps.Copy(all, f.defaults.object(cmp.Or(job.text("kind"), kind)))
	delete(all, "_note")
	maps.Copy(all, job)
	return all
}

// job returns what becomes of a job.
func (f *jobFile) job(job object) (e Entry) {
	s := &e.Source
	s.Name, s.URL = nameOf(job.text("name")), job.text("url")
	if navigate := job.text("navigate"); s.URL == "" && navigate != "" {
		s.URL, s.Render = navigate, true
	}
	switch command := job.text("command"); {
	case s.URL == "" && command != "":
		e.Err = fmt.Errorf("a command cannot be imported; add the source to the configuration file, with allow_exec: true and url: %s", inJSON("exec:"+command))
		return e
	case s.URL == "":
		e.Err = errors.New("the job has no url")
		return e
	}
	if e.location = job.text("user_visible_url"); e.location == "" {
		e.location = s.URL
	}
	for _, key := range slices.Sorted(maps.Keys(job)) {
		e.jobSetting(key, job[key])
	}
	if job.on("data_as_json") {
		delete(e.request(), "form")
		e.body(inJSON(job["data"]))
		e.header("Content-Type", "application/json")
	}
	e.waitFor(job)
	c := chain{Entry: &e, format: f.format}
	c.filters(job["filter"])
	c.filters(job["filters"])
	return e
}

// jobSettings are the settings of a job that say nothing about what is watched, or are carried over
// with others: a failed poll is never a change, and is tried again with a back-off; a page is read
// when it is quiet; one without text is suspect, and one that goes back and forth between versions is held as flapping.
const jobSettings = " url navigate name kind filter filters index_number wait_for wait_for_selector wait_for_timeout" +
	" ignore_connection_errors ignore_http_error_codes ignore_timeout_errors ignore_too_many_redirects ignore_incomplete_reads ignore_cached max_tries wait_until" +
	" compared_versions empty_as_transient retries suppress_errors suppress_error_ended suppress_repeated_errors guid markdown_padded_tables treat_new_as_changed" +
	" color monospace markdown is_markdown contextlines compact return_page_source no_conditional_request data_as_json block_elements http_client browser" +
	" chromium_revision ignore_default_args stderr tz "

const (
	noUnverified    = "certificates are always verified; add the certificate to those that the machine trusts"
	printed         = "steps of read filter what is compared; a sink with a template prints it"
	encodingIsFound = "the encoding is found out by what the page declares and has"
	redirected      = "redirects are followed, and to another page they are suspect"
	pageURL         = "messages link to the URL that is polled"
	noScript        = "render: {steps: …} clicks, fills, scrolls and waits"
	isThere         = "render: {wait_for: CSS} says when a page is there"
)

// lostFromJobs are the settings of a job that have no counterpart, with the nearest that exists.
var lostFromJobs = map[string]string{
	"ssl_no_verify": noUnverified, "insecure_skip_verify": noUnverified, "ignore_https_errors": noUnverified, "ignore_dh_key_too_small": noUnverified,
	"diff_filter": printed, "diff_filters": printed, "diff_tool": printed, "differ": printed, "user_visible_url": pageURL, "url_for_human": pageURL,
	"no_redirects": redirected, "encoding": encodingIsFound,
	"evaluate": noScript, "init_script": noScript, "initialization_js": noScript, "initialization_url": noScript,
	"wait_for_function": isThere, "wait_for_navigation": isThere, "wait_for_url": isThere,
	"switches": "the browser is started with those of Freshet", "user_data_dir": "the browser starts without a profile; request: {cookies: …} sends cookies",
}

// mediaKinds are the kinds of documents that a job can name by their media types.
var mediaKinds = map[string]reading.Kind{
	"text/html": "html", "text/plain": "text", "application/json": "json", "text/json": "json", "application/xml": "xml", "text/xml": "xml", "text/csv": "csv",
	"application/pdf": "pdf", "text/calendar": "ical", "application/rss+xml": "feed", "application/atom+xml": "feed",
}

// onlyParts are the conditions of jobs that report only lines that are not blank and were added, or
// were removed. A text of which three quarters have gone is reported anyway.
var onlyParts = map[string]string{
	"additions_only": `(added.matches("\\S") || size(text) * 3 + size(added) <= size(removed))`, "deletions_only": `removed.matches("\\S")`,
}

// jobSetting carries over a setting of a job.
func (e *Entry) jobSetting(key string, value any) {
	s, text := &e.Source, textOf(value)
	switch key {
	case "note":
		if s.Name == "" {
			s.Name = nameOf(text)
		} else {
			e.lost(fmt.Sprintf("the note %.80q", text), "tags and a name are kept of a source")
		}
	case "tags":
		for _, tags := range textsOf(value) {
			s.Tags = append(s.Tags, tagsOf(strings.Split(tags, ",")...)...)
		}
	case "enabled":
		s.Paused = object{key: value}.off(key)
	case "use_browser", "render":
		if isOn(text) && s.Render == nil {
			s.Render = true
		}
	case "method":
		e.request()["method"] = strings.ToUpper(text)
	case "headers":
		e.headers(value)
	case "cookies":
		e.header("Cookie", text)
		e.pairs("cookies", objectOf(value))
	case "data":
		e.body(value)
	case "http_proxy", "https_proxy", "proxy":
		e.proxy(text)
	case "timeout":
		e.timeout(text)
	case "referer", "useragent":
		e.header(map[string]string{"referer": "Referer", "useragent": "User-Agent"}[key], text)
	case "mime_type":
		if s.Select.Kind = mediaKinds[text]; s.Select.Kind == "" {
			e.lost(key+" "+text, "select: {kind: …} says what a response is")
		}
	case "params":
		e.parameters(value)
	case "http_credentials":
		e.credentials(key)
	case "additions_only", "deletions_only":
		if isOn(text) {
			e.only(onlyParts[key])
			e.notef("messages show all of a change; a template of the sink with {{.Added}} or {{.Removed}} shows a part")
		}
	default:
		e.unknown(key, value, jobSettings, lostFromJobs)
	}
}

// waitFor carries over what a rendered page waits for: selectors and times.
func (e *Entry) waitFor(job object) {
	var steps []any
	for _, key := range []string{"wait_for", "wait_for_selector", "wait_for_timeout"} {
		list := job.list(key)
		if list == nil && job[key] != nil {
			list = []any{job[key]}
		}
		for _, one := range list {
			text := cmp.Or(textOf(one), objectOf(one).text("selector"))
			selector, isCSS := cssOf(text)
			if numberOf(text) > 0 {
				selector, isCSS = text+"s", true
			}
			if isCSS && e.Source.Render == true {
				steps = append(steps, map[string]any{"wait": selector})
			} else {
				e.lost(key+" "+text, isThere)
			}
		}
	}
	if len(steps) > 0 {
		e.Source.Render = map[string]any{"steps": steps}
	}
}

// parameters adds names and values to the query of the URL.
func (e *Entry) parameters(v any) {
	query := strings.TrimPrefix(textOf(v), "?")
	if named := objectOf(v); named != nil {
		values := url.Values{}
		for name := range named {
			values[name] = named.texts(name)
		}
		query = values.Encode()
	}
	if u, err := url.Parse(e.Source.URL); err == nil && query != "" {
		u.RawQuery = strings.TrimPrefix(u.RawQuery+"&"+query, "&")
		e.Source.URL = u.String()
	}
}

// credentials notes a user and a password, which must not be written down in a source.
func (e *Entry) credentials(setting string) {
	e.lost(setting, "it is secret; freshet settings secret set NAME --host HOST, then freshet edit SOURCE --user 'USER:${secret:NAME}'")
}

// headers carries over headers. A secret must not be written down in a source.
func (e *Entry) headers(v any) {
	headers := objectOf(v)
	if headers == nil && v != nil {
		e.lost("headers", "they are not a list of names and values")
	}
	for _, name := range slices.Sorted(maps.Keys(headers)) {
		e.header(name, headers.text(name))
	}
}

// header carries over a header.
func (e *Entry) header(name, value string) {
	switch strings.ToLower(name) {
	case "host", "content-length", "connection", "accept-encoding", "transfer-encoding", "range": // Freshet sets them
	case "cookie":
		for pair := range strings.SplitSeq(value, ";") {
			if name, value, ok := strings.Cut(pair, "="); ok {
				e.pair("cookies", strings.TrimSpace(name), strings.TrimSpace(value))
			}
		}
	default:
		e.pair("headers", name, value)
	}
}

// pairs carries over names and values of a part of the request.
func (e *Entry) pairs(part string, values object) {
	for _, name := range slices.Sorted(maps.Keys(values)) {
		e.pair(part, name, values.text(name))
	}
}

// pair carries over a name and its value.
func (e *Entry) pair(part, name, value string) {
	pairs, ok := e.request()[part].(map[string]any)
	if !ok {
		pairs = map[string]any{}
		e.request()[part] = pairs
	}
	pairs[name] = literal(value)
}

// literal returns a text in which nothing refers to a secret.
func literal(text string) string { return strings.ReplaceAll(text, "${", "$${") }

// body carries over what is sent: a form, or a text as it is.
func (e *Entry) body(v any) {
	form := objectOf(v)
	nested := slices.ContainsFunc(slices.Collect(maps.Values(form)), func(v any) bool { return v != nil && textOf(v) == "" && v != "" })
	switch _, list := v.([]any); {
	case form != nil && !nested:
		e.pairs("form", form)
	case form != nil || list:
		e.request()["body"] = literal(inJSON(v))
	default:
		e.request()["body"] = literal(textOf(v))
	}
	if e.Source.Request["method"] == nil {
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
	} else {
		e.lost("timeout "+seconds, "request: {timeout: 30s} says how long a request may take")
	}
}
