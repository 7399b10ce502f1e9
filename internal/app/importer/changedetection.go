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
	s.Name, s.Paused = nameOf(w.first("title", "page_title")), w.on("paused")
	s.Tags = tagsOf(append(f.tagNames(settings), strings.Split(w.text("tag"), ",")...)...)
	w.carryRequest()
	w.carryRendering()
	w.carryReading()
	w.carryTimes(o)
	w.carryConditions()
	w.carryReceivers()
	w.noteRest()
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
	for _, tag := range w.tags {
		if tag.on("overrides_watch") {
			texts = append(texts, tag.texts(key)...)
		}
	}
	return append(texts, w.file.Settings.Application.texts(global)...)
}

// effective returns the object that a setting belongs to: the watch, or a tag that overrides it.
func (w cdWatch) effective(key string) object {
	for _, tag := range w.tags {
		if tag.on("overrides_watch") && tag[key] != nil {
			return tag
		}
	}
	return w.object
}

// carryRequest carries over how the page is requested.
func (w cdWatch) carryRequest() {
	if method := strings.ToUpper(w.text("method")); method != "" && method != "GET" {
		w.request()["method"] = method
	}
	if body := w.text("body"); body != "" {
		w.body(body)
	}
	for _, headers := range []object{w.file.Settings.Headers, w.object.object("headers")} {
		if len(headers) > 0 {
			w.headers(map[string]any(headers))
		}
	}
	if w.on("ignore_status_codes") {
		w.Source.Expect = map[string]any{"status": []any{200, 400, 401, 403, 404, 410, 429, 451, 500, 502, 503, 504}}
	}
	requests := w.file.Settings.Requests
	proxy := w.first("proxy")
	if proxy == "" {
		proxy = requests.text("proxy")
	}
	if proxy == "" || proxy == "no-proxy" {
		return
	}
	for i, one := range requests.list("extra_proxies") {
		extra := objectOf(one)
		if proxy == fmt.Sprintf("ui-%d%s", i, extra.text("proxy_name")) {
			w.proxy(extra.text("proxy_url"))
			return
		}
	}
	w.lost("proxy "+proxy, "request: {proxy: URL} names one; its URL is not in the file")
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
			zone = w.file.Settings.Application.text("timezone")
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
	" filter_failure_notification_send save_screenshot save_button last_check_status minutes_between_check data_dir __datastore llm_diff_summary "

// noteRest notes the settings that nothing else carries over.
func (w cdWatch) noteRest() {
	for _, key := range slices.Sorted(maps.Keys(w.object)) {
		if strings.Contains(handled, " "+key+" ") || w.empty(key) {
			continue
		}
		nearest := map[string]string{
			"check_unique_lines":          "freshet query add --when 'size(added) > 0' reports only new lines, also those that come back",
			"strip_ignored_lines":         "lines that are ignored are left out of the text",
			"notification_screenshot":     "freshet screenshot SOURCE shows the picture of a version",
			"history_snapshot_max_length": "keep: {versions: N} says how many versions are kept",
			"ignore_whitespace":           "white space does not count in texts",
		}[key]
		if nearest == "" {
			nearest = "there is nothing like it"
		}
		w.lost(key, nearest)
	}
}

// empty reports whether a setting says nothing.
func (w cdWatch) empty(key string) bool {
	switch v := w.object[key].(type) {
	case []any:
		return len(v) == 0
	case map[string]any:
		return len(v) == 0
	case string:
		return strings.TrimSpace(v) == "" || v == "system"
	}
	return w.off(key) || w.object[key] == nil
}
