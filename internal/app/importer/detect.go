package importer

import (
	"encoding/json"
	"strings"

	"freshet/internal/lazyregexp"
)

// Detect returns the format of a text by its content, or false if nothing tells which it is.
func Detect(text string) (Format, bool) {
	if text = strings.TrimSpace(text); isWARC(text) {
		return WARC, true
	}
	text = strings.TrimSpace(asUTF8(text))
	switch {
	case text == "" || strings.ContainsRune(text, 0):
		return "", false
	case text[0] == '<' && strings.Contains(strings.ReplaceAll(beginning(text), `"`, ""), "rel=original"):
		return TimeMap, true
	case text[0] == '{' || text[0] == '[':
		if f, ok := detectJSON(text); ok {
			return f, true
		}
	case text[0] == '<' || strings.Contains(beginning(text), "<"):
		if f, ok := detectMarkup(text); ok {
			return f, true
		}
	}
	if f, ok := detectYAML(text); ok {
		return f, true
	}
	return detectLines(text)
}

// beginning returns the first part of a text, which shows what it is.
func beginning(text string) string { return text[:min(len(text), 4<<10)] }

// detectJSON tells the exports in JSON apart by their members.
func detectJSON(text string) (Format, bool) {
	type members = map[string]json.RawMessage
	var list []members
	var file members
	if json.Unmarshal([]byte(text), &list) == nil && len(list) > 0 {
		file = list[0]
	} else if json.Unmarshal([]byte(text), &file) != nil {
		return "", false
	}
	switch {
	case file["include_filters"] != nil || file["time_between_check"] != nil: // watch.json, or the answer of the API
		return Changedetection, list != nil || file["url"] != nil
	case list != nil:
		return Distill, file["uri"] != nil && file["config"] != nil
	case file["watching"] != nil:
		return Changedetection, true
	case file["agents"] != nil:
		return Huginn, true
	case file["data"] != nil && (file["client"] != nil || strings.Contains(string(file["data"]), `"uri"`)):
		return Distill, true
	}
	for _, value := range file { // the API of changedetection.io lists watches by their ids
		var watch struct {
			URL *string `json:"url"`
		}
		if json.Unmarshal(value, &watch) != nil || watch.URL == nil {
			return "", false
		}
	}
	return Changedetection, len(file) > 0
}

// detectMarkup tells OPML from the bookmarks of browsers.
func detectMarkup(text string) (Format, bool) {
	text = strings.ToLower(text)
	switch {
	case strings.Contains(text, "<opml"), strings.Contains(text, "xmlurl="):
		return OPML, true
	case strings.Contains(text, "netscape-bookmark-file"), strings.Contains(text, "<dl") && strings.Contains(text, "href="):
		return Bookmarks, true
	}
	return "", false
}

var (
	// jobKey matches a line of YAML that only a job has.
	jobKey = lazyregexp.New(`(?m)^(- +| {0,4})["']?(url|navigate|command)["']?[ \t]*:([ \t]|$)|^(- *)?\{ *["']?(url|navigate|command)["']? *:`)
	// configKey matches what the configuration of urlwatch and webchanges has.
	configKey = lazyregexp.New(`(?m)^(report|job_defaults):`)
	// configOnly matches what no other configuration with such a key has.
	configOnly = lazyregexp.New(`(?m)^(display|differ_defaults):|^ +enabled:`)
	// webchangesOnly matches what urlwatch does not know.
	webchangesOnly = lazyregexp.New(`(?m)^(- +| *)(use_browser|wait_for_selector|wait_for_url|initialization_url|http_client|additions_only|is_markdown|differ|filters|note|data_as_json|no_redirects|http_credentials|block_elements|empty-diff|differ_defaults)[ \t]*:|(keep_lines_containing|delete_lines_containing|strip_each_line|remove_repeated|absolute_links|execute:|jsontoyaml|jobs\.schema\.json)`)
)

// detectYAML recognizes the jobs of urlwatch and webchanges.
func detectYAML(text string) (Format, bool) {
	switch {
	case !jobKey.MatchString(text) && (!configKey.MatchString(text) || !configOnly.MatchString(text)):
		return "", false
	case webchangesOnly.MatchString(text):
		return Webchanges, true
	}
	return Urlwatch, true
}

// detectLines recognizes tables and lists, of which nearly every line has a URL.
func detectLines(text string) (Format, bool) {
	lines, urls, cells := 0, 0, 0
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		lines++
		if word := strings.Fields(line)[0]; looksLikeURL(word) && !strings.ContainsAny(word, ",;|") {
			urls++
		} else if i := strings.IndexAny(line, ",;\t|"); i >= 0 && hasURLCell(line) {
			cells++
		}
	}
	switch {
	case cells > 0 && cells+1 >= lines-urls && cells >= urls:
		return CSV, true
	case urls > 0 && urls*10 >= lines*9:
		return URLs, true
	}
	return "", false
}

// hasURLCell reports whether a cell of a row is a URL.
func hasURLCell(line string) bool {
	for cell := range strings.FieldsFuncSeq(line, func(r rune) bool { return strings.ContainsRune(",;\t|", r) }) {
		if looksLikeURL(strings.Trim(strings.TrimSpace(cell), `"'`)) {
			return true
		}
	}
	return false
}

var urlLike = lazyregexp.New(`^(?i:(?:https?|file|dns|github|npm|pypi|docker)://?[^\s"'<>]+|(?:dns|github|npm|pypi|docker):[^\s"'<>]+|localhost(?::\d+)?(?:/[^\s"'<>]*)?|(?:[\p{L}\p{N}_](?:[\p{L}\p{N}_-]*[\p{L}\p{N}])?\.)+[\p{L}][\p{L}\p{N}-]+(?::\d+)?(?:[/?#][^\s"'<>]*)?|\d+\.\d+\.\d+\.\d+(?::\d+)?(?:[/?#][^\s"'<>]*)?)$`)

// looksLikeURL reports whether a word is a URL, or a host with a path.
func looksLikeURL(word string) bool { return urlLike.MatchString(word) }
