package importer

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// A cdWatch is a page of changedetection.io. Many of its settings are added to by its tags.
type cdWatch struct {
	object
	*Entry
	file *cdFile
	tags []object
}

// entry returns what becomes of a watch.
func (f *cdFile) entry(settings object, o Options) (e Entry) {
	w := cdWatch{object: settings, Entry: &e, file: f, tags: f.tagsOf(settings)}
	s := &e.Source
	url, raw := strings.CutPrefix(w.text("url"), "source:")
	if s.URL = url; url == "" {
		e.Err = errors.New(cmp.Or(w.text(unreadable), "the watch has no url"))
		return e
	}
	if raw {
		s.Select.Kind = "text"
	}
	s.URL = complete(s.URL)
	application := f.Settings.Application
	s.Name, s.Paused = nameOf(w.first("title", "page_title")), w.on("paused") || application.on("all_paused")
	s.Keep.Versions = int(numberOf(cmp.Or(w.text("history_snapshot_max_length"), application.text("history_snapshot_max_length"))))
	s.Tags = tagsOf(append(f.tagNames(settings), strings.Split(w.text("tag"), ",")...)...)
	w.carryRequest()
	w.carryRendering()
	w.carryReading()
	w.carryTimes(o)
	w.carryConditions()
	w.carryReceivers()
	for _, key := range slices.Sorted(maps.Keys(settings)) {
		w.unknown(key, settings[key], handled, lostFromWatches)
	}
	return e
}

// tagsOf returns the tags of a watch whose settings hold for it.
func (f *cdFile) tagsOf(watch object) (tags []object) {
	for _, id := range watch.texts("tags") {
		if tag := f.Settings.Application.object("tags").object(id); tag != nil {
			tags = append(tags, tag)
		}
	}
	return tags
}

// tagNames returns the names of the tags of a watch, which are named by IDs.
func (f *cdFile) tagNames(watch object) (names []string) {
	for _, id := range watch.texts("tags") {
		name := f.Settings.Application.object("tags").object(id).text("title")
		if name == "" && len(id) != 36 { // an unknown ID says nothing
			name = id
		}
		names = append(names, name)
	}
	return names
}

// all returns the texts of a setting: those of the watch, of tags that add to their watches, and of
// the program.
func (w cdWatch) all(key, global string) []string {
	texts := w.texts(key)
	for _, tag := range w.overriding() {
		texts = append(texts, tag.texts(key)...)
	}
	return append(texts, w.file.Settings.Application.texts(global)...)
}

// overriding returns the tags whose settings count more than those of the watch.
func (w cdWatch) overriding() []object {
	return slices.DeleteFunc(slices.Clone(w.tags), func(tag object) bool { return !tag.on("overrides_watch") })
}

// effective returns the object that a setting belongs to: the watch, or a tag that overrides it.
func (w cdWatch) effective(key string) object {
	for _, tag := range w.overriding() {
		if tag[key] != nil {
			return tag
		}
	}
	return w.object
}

// browser returns the program that fetches the page, and the settings of a browser that has an ID.
func (w cdWatch) browser() (program string, settings object) {
	for _, o := range append(append([]object{w.object}, w.overriding()...), w.file.Settings.Application) {
		if program = o.text("fetch_backend"); program != "" && program != "system" {
			break
		}
	}
	if b := w.file.Browsers[program]; b != nil {
		return b.text("base_fetcher"), b.object("browser_config")
	}
	return program, nil
}

// carryRequest carries over how the page is requested.
func (w cdWatch) carryRequest() {
	if method := strings.ToUpper(w.text("method")); method != "" && method != "GET" {
		w.request()["method"] = method
	}
	if body := w.text("body"); body != "" {
		w.body(body)
	}
	w.carryHeaders()
	requests := w.file.Settings.Requests
	_, browser := w.browser()
	if timeout := cmp.Or(browser.text("timeout"), requests.text("timeout")); timeout != "" && timeout != "45" { // the default
		w.timeout(timeout)
	}
	if w.on("ignore_status_codes") || w.file.Settings.Application.on("ignore_status_codes") && !w.off("ignore_status_codes") {
		w.Source.Expect = map[string]any{"status": []any{200, 400, 401, 403, 404, 410, 429, 451, 500, 502, 503, 504}}
	}
	w.carryProxy(cmp.Or(w.text("proxy"), requests.text("proxy")))
}

// carryHeaders carries over the headers of the watch and of all watches, and those in files.
func (w cdWatch) carryHeaders() {
	program, browser := w.browser()
	agent := cmp.Or(browser.text("user_agent"), w.file.Settings.Requests.object("default_ua").text(program))
	w.headers(map[string]any(object{"User-Agent": agent, "Accept-Language": browser.text("locale")}.filled()))
	files := []object{w.object.object("headers"), w.file.Settings.Headers, w.file.Headers[headersFile], w.object.object(headersFile)}
	for _, tag := range w.tags {
		name := strings.Map(func(r rune) rune {
			if r == '_' || !unicode.IsLetter(r) && !unicode.IsDigit(r) {
				return -1
			}
			return unicode.ToLower(r)
		}, tag.text("title"))
		files = append(files, w.file.Headers["headers-"+name+".txt"])
	}
	for _, headers := range files {
		if len(headers) > 0 {
			w.headers(map[string]any(headers))
		}
	}
}

// carryProxy carries over a proxy that the program knows by a name.
func (w cdWatch) carryProxy(name string) {
	if name == "" || name == "no-proxy" {
		return
	}
	url := w.file.Proxies[name].text("url")
	for _, one := range w.file.Settings.Requests.list("extra_proxies") {
		if extra := objectOf(one); name == "ui-0"+extra.text("proxy_name") { // the number is always 0
			url = extra.text("proxy_url")
		}
	}
	if url == "" {
		w.lost("proxy "+name, "request: {proxy: URL} names one; its URL is in proxies.json in the data folder")
		return
	}
	w.proxy(url)
}

// carryReading carries over what is compared.
func (w cdWatch) carryReading() {
	drop := w.all("subtractive_selectors", "global_subtractive_selectors")
	for _, one := range w.list("browser_steps") {
		if step := objectOf(one); step.text("operation") == "Remove elements" && step.text("selector") != "" {
			drop = append(drop, strings.TrimPrefix(step.text("selector"), "xpath="))
		}
	}
	if len(drop) > 0 {
		w.step("drop", selectorsOf(drop))
	}
	w.selectors(append(w.texts("css_filter"), w.all("include_filters", "")...)) // the first is its former name
	if w.file.Settings.Application.on("render_anchor_tag_content") {
		w.Source.Read = append(w.Source.Read, "markdown")
	}
	if list := w.all("extract_text", ""); len(list) > 0 {
		w.step("regex", alternatives(list))
	}
	if list := w.all("ignore_text", "global_ignore_text"); len(list) > 0 {
		w.lines("drop", alternatives(list))
	}
	for _, line := range []struct{ key, does string }{
		{"trim_text_whitespace", "trim"}, {"remove_duplicate_lines", "unique"}, {"sort_text_alphabetically", "sort"},
	} {
		if w.on(line.key) {
			w.lines(line.does, true)
		}
	}
}

// selectorsOf returns selectors as the argument of the step drop.
func selectorsOf(list []string) map[string]any {
	drop := map[string]any{}
	for _, one := range list {
		kind, selector := selectorOf(one)
		known, _ := drop[kind].([]any)
		drop[kind] = append(known, selector)
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
	return goPattern(text[1:end], false), flags, true
}

// selectorOf returns the step of a filter, which may be named before a colon, and its argument.
func selectorOf(filter string) (step, arg string) {
	name, arg, _ := strings.Cut(filter, ":")
	step = map[string]string{"json": "jsonpath", "jq": "jq", "jqraw": "jq", "xpath": "xpath", "xpath1": "xpath", "css": "css"}[name]
	if step == "" {
		if step, arg = "css", filter; strings.HasPrefix(filter, "/") || strings.HasPrefix(filter, "(") {
			step = "xpath"
		}
	}
	if step == "xpath" && strings.HasPrefix(arg, "///") { // xpath:// was written before paths
		arg = arg[2:]
	}
	return step, strings.TrimSpace(arg)
}

// selectors turns filters into a step. Several are united: elements that any of them selects.
func (e *Entry) selectors(filters []string) {
	by := map[string][]string{}
	for _, f := range filters {
		kind, arg := selectorOf(f)
		by[kind] = append(by[kind], arg)
	}
	joined := map[string]string{"css": ", ", "xpath": " | ", "jq": ", "}
	taken := false
	for _, kind := range []string{"css", "xpath", "jsonpath", "jq"} {
		list := by[kind]
		switch {
		case len(list) == 0:
		case taken:
			e.lost(fmt.Sprintf("filter %s: %s", kind, strings.Join(list, ", ")), "it cannot be united with the others in one source; watch the page a second time with it")
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

// carryTimes carries over when the page is checked.
func (w cdWatch) carryTimes(o Options) {
	times := w.effective("time_between_check")
	every := intervalOf(times.object("time_between_check"))
	if every == 0 || w.on("time_between_check_use_default") {
		every = intervalOf(w.file.Settings.Requests.object("time_between_check"))
	}
	if every == 0 {
		every = intervalOf(object{"minutes": w.object["minutes_between_check"]}) // of the first versions
	}
	w.every(every, o)
	schedule := w.effective("time_schedule_limit").object("time_schedule_limit")
	if w.on("time_between_check_use_default") {
		if global := w.file.Settings.Requests.object("time_schedule_limit"); global != nil {
			schedule = global
		}
	}
	if schedule.on("enabled") {
		zone := schedule.text("timezone")
		if zone == "" {
			zone = w.file.Settings.Application.first("scheduler_timezone_default", "timezone")
		}
		w.active(schedule, zone)
	}
}

// intervalOf returns a length of time.
func intervalOf(units object) (d time.Duration) {
	for unit, length := range map[string]time.Duration{"weeks": 7 * 24 * time.Hour, "days": 24 * time.Hour, "hours": time.Hour, "minutes": time.Minute, "seconds": time.Second} {
		d += time.Duration(max(0, numberOf(units[unit])) * float64(length))
	}
	return d
}

// active carries over the hours in which the page is checked.
func (e *Entry) active(schedule object, zone string) {
	var spans []string
	for _, day := range []string{"monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"} {
		of := schedule.object(day)
		begin, err := time.Parse("15:04", of.text("start_time"))
		d := intervalOf(of.object("duration"))
		if !of.on("enabled") || err != nil || d <= 0 {
			continue
		}
		end := begin.Add(min(d, 24*time.Hour)).Format("15:04") // if it is not after the beginning, of the next day
		if end == "00:00" {
			end = "24:00"
		}
		spans = append(spans, day[:3]+" "+begin.Format("15:04")+"-"+end)
	}
	if len(spans) == 0 {
		e.lost("the schedule", "no day of it has hours; pause the source if it is not to be polled")
		return
	}
	e.Source.Active = strings.TrimSpace(strings.Join(spans, ", ") + " " + zone)
}

// numberOf returns a number that may be written as a text.
func numberOf(v any) float64 {
	n, _ := strconv.ParseFloat(textOf(v), 64)
	return n
}

// handled are the settings of a watch that are carried over or noted elsewhere, and what it keeps
// of its checks.
const handled = " url title page_title paused tag tags method body headers ignore_status_codes proxy fetch_backend browser_steps webdriver_delay webdriver_js_execute_code" +
	" subtractive_selectors css_filter include_filters extract_text ignore_text trim_text_whitespace remove_duplicate_lines sort_text_alphabetically time_between_check" +
	" time_between_check_use_default time_schedule_limit trigger_text text_should_not_be_present conditions conditions_match_logic filter_text_added filter_text_removed" +
	" filter_text_replaced processor restock_settings in_stock_only follow_price_changes price_change_min price_change_max price_change_threshold_percent restock" +
	" notification_urls notification_title notification_body notification_format notification_muted notification_alert_count last_notification_error uuid history history_n" +
	" last_checked last_changed last_error last_viewed viewed newest_history_key previous_md5 previous_md5_before_filters date_created check_count consecutive_filter_failures" +
	" content-type content_type fetch_time has_ldjson_price_data track_ldjson_price_data remote_server_reply browser_steps_last_error_step extract_title_as_title" +
	" use_page_title_in_list empty_pages_are_a_change etag favicon_filename last_modified link schema_version snapshot_count screenshot_taken error_text_ctime" +
	" filter_failure_notification_send save_screenshot save_button last_check_status minutes_between_check data_dir __datastore llm_diff_summary" +
	" price_change_custom_include_filters history_snapshot_max_length " + restockKey + " " + headersFile + " "

// lostFromWatches are the settings of a watch that have no counterpart, with the nearest that exists.
var lostFromWatches = map[string]string{
	"check_unique_lines":      "freshet query add --when 'size(added) > 0' reports only new lines, also those that come back",
	"strip_ignored_lines":     "lines that are ignored are left out of the text",
	"notification_screenshot": "freshet screenshot SOURCE shows the picture of a version",
	"ignore_whitespace":       "white space does not count in texts",
}
