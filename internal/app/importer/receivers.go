package importer

import (
	"net/url"
	"strings"

	"freshet/client"
	"freshet/internal/lazyregexp"
)

// A Receiver is a sink that a list asks for. Its URL may be one of Apprise.
type Receiver struct {
	Sink client.NewSink
	Err  error // why it cannot be a sink
}

// carryReceivers carries over who is notified: by the watch itself, by its tags, or by all.
func (w cdWatch) carryReceivers() {
	application := w.file.Settings.Application
	if w.on("notification_muted") || application.on("all_muted") {
		return
	}
	from := w.object
	for _, o := range append(append([]object{w.object}, w.tags...), application) {
		if len(o.texts("notification_urls")) > 0 && !o.on("notification_muted") {
			from = o
			break
		}
	}
	setting := func(key string) string {
		for _, o := range []object{from, w.object, application} {
			if text := o.text(key); text != "" && !strings.HasPrefix(text, "System default") {
				return text
			}
		}
		return ""
	}
	title, lostTitle := goTemplate(setting("notification_title"))
	body, lostBody := goTemplate(setting("notification_body"))
	for _, lost := range append(lostTitle, lostBody...) {
		w.lost("{{"+lost+"}} of the notification", "a template of the sink has .Title, .URL, .Diff, .Added, .Removed and .Text")
	}
	for _, u := range from.texts("notification_urls") {
		w.Receivers = append(w.Receivers, receiverAt(u, title, body))
	}
}

// receiverAt returns the receiver at a URL of Apprise. Without a title and a body it gets what
// Freshet sends by default.
func receiverAt(raw, title, body string) (r Receiver) {
	scheme, rest, _ := strings.Cut(raw, "://")
	s := &r.Sink
	s.URL = literal(raw)
	switch scheme {
	case "ntfy", "gotify", "matrix": // which have no TLS in Apprise, where a host is named
		if u, err := url.Parse(raw); err == nil && strings.Trim(u.Path, "/") != "" {
			s.URL = literal(withQuery(raw, "scheme=http"))
		}
	case "post", "posts", "put", "puts", "patch", "patchs": // of changedetection.io: the body as it is
		method := strings.TrimSuffix(scheme, "s")
		s.Kind, s.URL, s.Template = "json", literal("http"+strings.TrimPrefix(scheme, method)+"://"+rest), body
		s.Settings = map[string]string{"method": strings.ToUpper(method)}
		return r
	}
	switch {
	case title == "" && body == "":
	case strings.HasPrefix(scheme, "mailto"):
		s.Template, s.Settings = body, map[string]string{"subject": title}
		if title == "" {
			s.Settings = nil
		}
	case scheme == "json" || scheme == "jsons":
		// the shape that Apprise sends is that of the sink's own template; see sinks
	default:
		s.Template = strings.TrimSpace(title + "\n" + body)
	}
	return r
}

// withQuery returns a URL with one more parameter.
func withQuery(raw, parameter string) string {
	if strings.Contains(raw, "?") {
		return raw + "&" + parameter
	}
	return raw + "?" + parameter
}

// jinjaPart matches a part of a template of Jinja2, or of the older {name}.
var jinjaPart = lazyregexp.New(`\{\{-?\s*(.*?)\s*-?\}\}|\{%.*?%\}|\{(watch_url|watch_title|watch_uuid|watch_tag|diff|diff_url|diff_added|diff_removed|diff_full|current_snapshot|preview_url|base_url|triggered_text)\}`)

// defaultWords matches the titles and bodies that the program has unless they are edited.
var defaultWords = lazyregexp.New(`^\s*(ChangeDetection\.io Notification - \{\{?\s*watch_url\s*\}\}?|\{\{?\s*watch_url\s*\}\}? had a change\.(\s|---|\{\{?\s*diff\s*\}\}?)*)\s*$`)

// goTemplate returns a template of Jinja2 as one of Go, and the parts that have no counterpart.
func goTemplate(jinja string) (text string, lost []string) {
	if strings.TrimSpace(jinja) == "" || defaultWords.MatchString(jinja) {
		return "", nil
	}
	names := map[string]string{
		"watch_url": ".URL", "watch_title": ".Title", "watch_uuid": ".Source", "watch_tag": `join ", " .Tags`, "diff": ".Diff", "diff_full": ".Diff", "diff_patch": ".Diff",
		"diff_added": ".Added", "diff_removed": ".Removed", "diff_clean": ".Diff", "diff_added_clean": ".Added", "diff_removed_clean": ".Removed",
		"current_snapshot": ".Text", "diff_url": ".DiffLink", "preview_url": ".DiffLink", "triggered_text": ".Added", "timestamp_to": ".Before",
	}
	var out strings.Builder
	at := 0
	for _, m := range jinjaPart.FindAllStringIndex(jinja, -1) {
		out.WriteString(strings.ReplaceAll(jinja[at:m[0]], "{{", "{{`{{`}}"))
		at = m[1]
		groups := jinjaPart.FindStringSubmatch(jinja[m[0]:m[1]])
		name, pipe, _ := strings.Cut(groups[1]+groups[2], "|")
		if field := names[strings.TrimSpace(name)]; field != "" {
			out.WriteString("{{" + field + "}}")
		} else if strings.TrimSpace(name) != "base_url" {
			lost = append(lost, strings.Trim(jinja[m[0]:m[1]], "{} "))
		}
		if strings.TrimSpace(pipe) != "" {
			lost = append(lost, strings.TrimSpace(name)+" |"+pipe)
		}
	}
	return out.String() + strings.ReplaceAll(jinja[at:], "{{", "{{`{{`}}"), lost
}
