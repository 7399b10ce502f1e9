package importer

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A cdWatch is a page as changedetection.io has it. Values that are missing and null mean the same.
type cdWatch map[string]any

// A cdFile is what changedetection.io writes.
type cdFile struct {
	Watching map[string]cdWatch `json:"watching"`
	Settings struct {
		Application struct {
			Tags map[string]struct {
				Title string `json:"title"`
			} `json:"tags"`
		} `json:"application"`
	} `json:"settings"`
}

// eachWatch reads url-watches.json, a watch.json, or watches by ID or in a list as the API has them.
func eachWatch(text string, o Options, yield func(Entry) error) error {
	file, err := parseWatches(text)
	if err != nil {
		return fmt.Errorf("this is not what changedetection.io exports: %w", err)
	}
	for _, id := range slices.Sorted(maps.Keys(file.Watching)) {
		e := file.entry(file.Watching[id], o)
		e.Path = "watching." + id
		if err := yield(e); err != nil {
			return err
		}
	}
	return nil
}

// parseWatches reads the watches of a file, in whichever of the layouts they are.
func parseWatches(text string) (file cdFile, err error) {
	whole := map[string]json.RawMessage{}
	var list []cdWatch
	if json.Unmarshal([]byte(text), &list) == nil {
		file.number(list)
		return file, nil
	}
	if err := json.Unmarshal([]byte(text), &whole); err != nil {
		return file, err
	}
	if settings := whole["settings"]; settings != nil {
		_ = json.Unmarshal(settings, &file.Settings) // only names of tags are lost
	}
	watching := whole["watching"]
	switch {
	case watching != nil:
	case whole["url"] != nil:
		watching = json.RawMessage("[" + text + "]")
	default:
		watching = json.RawMessage(text)
	}
	if json.Unmarshal(watching, &list) == nil {
		file.number(list)
		return file, nil
	}
	return file, json.Unmarshal(watching, &file.Watching)
}

// number takes over a list of watches.
func (f *cdFile) number(list []cdWatch) {
	f.Watching = map[string]cdWatch{}
	for i, w := range list {
		f.Watching[fmt.Sprintf("%06d", i)] = w
	}
}

// JoinWatches returns the data folder of changedetection.io as one file: until 0.52 it has a
// url-watches.json, and since then a folder for each watch. It returns false if it is no such folder.
func JoinWatches(folder fs.FS) (text string, ok bool, err error) {
	file := cdFile{Watching: map[string]cdWatch{}}
	file.Settings.Application.Tags = map[string]struct {
		Title string `json:"title"`
	}{}
	names := []string{}
	err = fs.WalkDir(folder, ".", func(name string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			names = append(names, name)
		}
		return err
	})
	for _, name := range names {
		if err != nil {
			return "", false, err
		}
		switch path.Base(name) {
		case "url-watches.json":
			whole, err := fs.ReadFile(folder, name)
			return string(whole), err == nil, err
		case "changedetection.json":
			err = readInto(folder, name, &file)
		case "watch.json":
			watch := cdWatch{}
			if err = readInto(folder, name, &watch); err == nil {
				file.Watching[path.Base(path.Dir(name))] = watch
			}
		case "tag.json":
			tag := struct {
				Title string `json:"title"`
			}{}
			if err = readInto(folder, name, &tag); err == nil {
				file.Settings.Application.Tags[path.Base(path.Dir(name))] = tag
			}
		}
	}
	if err != nil || len(file.Watching) == 0 {
		return "", false, err
	}
	joined, err := json.Marshal(file)
	return string(joined), err == nil, err
}

// readInto decodes a file.
func readInto(folder fs.FS, name string, v any) error {
	text, err := fs.ReadFile(folder, name)
	if err == nil {
		err = json.Unmarshal(text, v)
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", name, err)
	}
	return nil
}

// entry returns what becomes of a watch.
func (f *cdFile) entry(w cdWatch, o Options) (e Entry) {
	s := &e.Source
	if s.URL = w.text("url"); s.URL == "" {
		e.Err = errors.New("the watch has no url")
		return e
	}
	s.URL = Complete(s.URL)
	for _, key := range []string{"title", "page_title"} {
		if s.Name == "" {
			s.Name = nameOf(w.text(key))
		}
	}
	s.Paused = w.on("paused")
	s.Tags = tagsOf(append(f.tags(w), strings.Split(w.text("tag"), ",")...)...)
	w.request(&e)
	w.rendering(&e)
	w.reading(&e)
	if !w.on("time_between_check_use_default") {
		e.every(w.interval(), o)
	}
	w.notes(&e)
	return e
}

// tags returns the names of the tags of a watch, which are named by ids.
func (f *cdFile) tags(w cdWatch) (names []string) {
	for _, id := range textsOf(w["tags"]) {
		name := f.Settings.Application.Tags[id].Title
		if name == "" && len(id) != 36 { // an unknown id says nothing
			name = id
		}
		names = append(names, name)
	}
	return names
}

func (w cdWatch) text(key string) string { return textOf(w[key]) }

func (w cdWatch) texts(key string) []string { return textsOf(w[key]) }

func (w cdWatch) on(key string) bool { return w[key] == true || w.text(key) == "true" }

// request carries over how the page is requested.
func (w cdWatch) request(e *Entry) {
	if method := w.text("method"); method != "" && method != "GET" {
		e.request()["method"] = strings.ToUpper(method)
	}
	if body := w.text("body"); body != "" {
		e.body(body)
	}
	if headers := asMap(w["headers"]); len(headers) > 0 {
		e.headers(headers)
	}
	if w.on("ignore_status_codes") {
		e.Source.Expect = map[string]any{"status": []any{"100-599"}}
	}
}

// rendering carries over the browser, and what is done in it.
func (w cdWatch) rendering(e *Entry) {
	backend := w.text("fetch_backend")
	render := map[string]any{}
	var steps []any
	list, _ := w["browser_steps"].([]any)
	for _, one := range list {
		step := asMap(one)
		if does := textOf(step["operation"]); does != "" && does != "Choose one" && does != "Goto site" {
			if s := browserStep(does, textOf(step["selector"]), textOf(step["optional_value"])); s != nil {
				steps = append(steps, s)
			} else {
				e.notef("the browser step %q is not carried over: click, fill, scroll and wait exist", does)
			}
		}
	}
	if len(steps) > 0 {
		render["steps"] = steps
	}
	if delay := w.text("webdriver_delay"); delay != "" && delay != "0" {
		render["steps"] = append([]any{map[string]any{"wait": delay + "s"}}, steps...)
	}
	if w.text("webdriver_js_execute_code") != "" {
		e.notef("webdriver_js_execute_code is not carried over: render: {steps: …} clicks, fills and waits")
	}
	switch {
	case len(render) > 0:
		e.Source.Render = render
	case strings.Contains(backend, "webdriver"), strings.Contains(backend, "browser"), strings.Contains(backend, "playwright"):
		e.Source.Render = true
	}
}

// browserStep returns a step of a browser; nil if there is none like it.
func browserStep(does, selector, value string) any {
	if strings.HasPrefix(selector, "/") || strings.HasPrefix(selector, "xpath=") {
		return nil
	}
	selector = strings.TrimPrefix(selector, "css=")
	switch does {
	case "Click element", "Click element if exists", "Check checkbox", "Uncheck checkbox":
		return map[string]any{"click": selector}
	case "Enter text in field":
		return map[string]any{"fill": map[string]any{selector: value}}
	case "Wait for seconds":
		if _, err := time.ParseDuration(value + "s"); err != nil {
			return nil
		}
		return map[string]any{"wait": value + "s"}
	case "Wait for element":
		return map[string]any{"wait": selector}
	case "Scroll down":
		return "scroll"
	case "Scroll to element":
		return map[string]any{"scroll": selector}
	}
	return nil
}

// reading carries over what is compared.
func (w cdWatch) reading(e *Entry) {
	if drop := w.texts("subtractive_selectors"); len(drop) > 0 {
		e.step("drop", selectorsOf(drop))
	}
	e.selectors(w.texts("include_filters"))
	if list := w.texts("extract_text"); len(list) > 0 {
		e.step("regex", alternatives(list))
	}
	if list := w.texts("ignore_text"); len(list) > 0 {
		e.lines("drop", alternatives(list))
	}
	for _, line := range []struct{ key, does string }{
		{"trim_text_whitespace", "trim"}, {"remove_duplicate_lines", "unique"}, {"sort_text_alphabetically", "sort"},
	} {
		if w.on(line.key) {
			e.lines(line.does, true)
		}
	}
}

// selectorsOf returns selectors as the argument of the step drop.
func selectorsOf(list []string) map[string]any {
	var css, xpath []any
	for _, one := range list {
		if strings.HasPrefix(one, "/") || strings.HasPrefix(one, "xpath:") {
			xpath = append(xpath, strings.TrimPrefix(one, "xpath:"))
		} else {
			css = append(css, one)
		}
	}
	drop := map[string]any{}
	if len(css) > 0 {
		drop["css"] = css
	}
	if len(xpath) > 0 {
		drop["xpath"] = xpath
	}
	return drop
}

// alternatives returns a pattern that matches any of several texts, in upper and lower case, and
// patterns between slashes.
func alternatives(list []string) string {
	var patterns []string
	for _, one := range list {
		if pattern, flags, ok := slashed(one); ok {
			patterns = append(patterns, "(?:"+flags+pattern+")")
		} else {
			patterns = append(patterns, "(?i:"+regexp.QuoteMeta(one)+")")
		}
	}
	return strings.Join(patterns, "|")
}

// slashed returns the pattern of /PATTERN/FLAGS.
func slashed(text string) (pattern, flags string, ok bool) {
	end := strings.LastIndexByte(text, '/')
	if !strings.HasPrefix(text, "/") || end < 1 || strings.Trim(text[end+1:], "ismx") != "" {
		return "", "", false
	}
	if flags = strings.ReplaceAll(text[end+1:], "x", ""); flags != "" {
		flags = "(?" + flags + ")"
	}
	return goPattern(text[1:end]), flags, true
}

// selectors turns filters into a step. Several are united: elements that any of them selects.
func (e *Entry) selectors(filters []string) {
	by := map[string][]string{}
	for _, f := range filters {
		kind, arg, _ := strings.Cut(f, ":")
		switch {
		case kind == "json":
			kind = "jsonpath"
		case kind == "jq" || kind == "jqraw":
			kind = "jq"
		case kind == "xpath" || kind == "xpath1":
			kind = "xpath"
		case strings.HasPrefix(f, "/") || strings.HasPrefix(f, "("):
			kind, arg = "xpath", f
		case kind == "css":
		default:
			kind, arg = "css", f
		}
		by[kind] = append(by[kind], strings.TrimSpace(arg))
	}
	joined := map[string]string{"css": ", ", "xpath": " | ", "jq": ", "}
	taken := false
	for _, kind := range []string{"css", "xpath", "jsonpath", "jq"} {
		list := by[kind]
		switch {
		case len(list) == 0:
		case taken:
			e.notef("the filters %s: %s are not carried over: they cannot be united with the others in one source; watch the page a second time with them", kind, strings.Join(list, ", "))
		case len(list) > 1 && joined[kind] == "":
			e.step("jq", pathsInJQ(list))
			taken = true
		default:
			e.step(kind, strings.Join(list, joined[kind]))
			taken = true
		}
	}
}

// pathsInJQ returns simple JSONPaths, such as $.a.b and $.list[*].c, as a program of jq.
func pathsInJQ(paths []string) string {
	programs := make([]string, len(paths))
	for i, p := range paths {
		p = strings.ReplaceAll(strings.TrimPrefix(p, "$"), "[*]", "[]")
		if !strings.HasPrefix(p, ".") {
			p = "." + p
		}
		programs[i] = strings.ReplaceAll(p, "..", "..|.")
	}
	return strings.Join(programs, ", ")
}

// interval returns the time between two checks; zero if the settings of the program hold.
func (w cdWatch) interval() (d time.Duration) {
	said := asMap(w["time_between_check"])
	for unit, length := range map[string]time.Duration{"weeks": 7 * 24 * time.Hour, "days": 24 * time.Hour, "hours": time.Hour, "minutes": time.Minute, "seconds": time.Second} {
		if n, ok := said[unit].(float64); ok && n > 0 {
			d += time.Duration(n * float64(length))
		}
	}
	return d
}

// notes says what of a watch is not carried over.
func (w cdWatch) notes(e *Entry) {
	for _, n := range []struct{ key, nearest string }{
		{"trigger_text", "freshet query add --when 'added.contains(\"TEXT\")' reports only such changes"},
		{"text_should_not_be_present", "expect: {no_match: PATTERN} makes such a response a failed poll"},
		{"notification_urls", "freshet sink add adds a receiver"},
		{"notification_title", "a template of the sink says what is sent"},
		{"notification_body", "a template of the sink says what is sent"},
		{"conditions", "freshet query add --when CONDITION reports only such changes"},
	} {
		if len(textsOf(w[n.key])) > 0 || len(listOf(w[n.key])) > 0 {
			e.notef("%s is not carried over: %s", n.key, n.nearest)
		}
	}
	for _, n := range []struct {
		key, nearest string
		on           bool
	}{
		{"proxy", "request: {proxy: URL} names one", w.text("proxy") != "" && w.text("proxy") != "no-proxy"},
		{"notification_muted", "a query of a sink can leave out its tag", w.on("notification_muted")},
		{"check_unique_lines", "a query on lines that were added reports only these", w.on("check_unique_lines")},
		{"time_schedule_limit", "strategy names the times of polls", asMap(w["time_schedule_limit"])["enabled"] == true},
		{"processor " + w.text("processor"), "extract: {price: CSS} and a query on it", w.text("processor") == "restock_diff"},
		{"filter_text_added", "a query on lines that were added or removed", w["filter_text_added"] == false},
		{"filter_text_removed", "a query on lines that were added or removed", w["filter_text_removed"] == false},
		{"filter_text_replaced", "a query on lines that were added or removed", w["filter_text_replaced"] == false},
	} {
		if n.on {
			e.notef("%s is not carried over: %s", n.key, n.nearest)
		}
	}
}

// listOf returns a value as a list.
func listOf(v any) []any {
	list, _ := v.([]any)
	return list
}
