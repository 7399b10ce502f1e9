package sinks

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"strconv"
	"strings"
	"unicode/utf16"

	"freshet/internal/mask"
)

// The default templates of messages for people: the source and what happened, the new text, links,
// and why.
const (
	headline = `{{if eq .Kind "digest"}}{{.QueryName}}: {{.Count}} matches{{else}}{{.Title}}: {{.What}}{{end}}`

	plainWords = headline + `

{{with .ModelSummary}}{{.}}

{{end}}{{with .News}}{{truncate 1500 .}}
{{else}}{{with .Summary}}{{.}}
{{end}}{{end}}{{with .ValueText}}{{truncate 500 .}}
{{end}}{{with .DiffLink}}
What changed: {{.}}{{end}}{{with .URL}}
{{.}}{{end}}{{range .Top 20}}
- {{.Title}}{{with .Summary}}: {{.}}{{end}}{{with .ValueText}} ({{truncate 200 .}}){{end}}{{with .URL}}
  {{.}}{{end}}{{end}}{{with .Beyond 20}}
and {{.}} more: {{$.Link}}/matches{{end}}

{{.Foot}}`
)

// chatWords are plainWords for services that read Markdown and mentions: what the page
// says passes through a filter, and the new text stands in a block of code.
func chatWords(bold, filter string) string {
	title := strings.NewReplacer(
		"{{.Title}}", bold+"{{"+filter+" .Title}}"+bold, "{{.QueryName}}", bold+"{{"+filter+" .QueryName}}"+bold, "{{.What}}", "{{"+filter+" .What}}",
	).Replace(headline)
	return title + `
{{with .ModelSummary}}{{` + filter + ` .}}
{{end}}{{with .News}}{{fence (` + filter + ` (truncate 1200 .))}}
{{else}}{{with .Summary}}{{` + filter + ` .}}
{{end}}{{end}}{{with .ValueText}}{{` + filter + ` (truncate 500 .)}}
{{end}}{{with .DiffLink}}What changed: {{` + filter + ` .}}
{{end}}{{with .URL}}{{` + filter + ` .}}
{{end}}{{range .Top 10}}- {{` + filter + ` .Title}}{{with .Summary}}: {{` + filter + ` (truncate 200 .)}}{{end}}{{with .ValueText}} ({{` + filter + ` (truncate 100 .)}}){{end}}
{{end}}{{with .Beyond 10}}and {{.}} more: {{$.Link}}/matches
{{end}}{{` + filter + ` .Foot}}`
}

// teamsWords are plainWords for Teams, which reads links in Markdown.
var teamsWords = strings.NewReplacer(
	"{{.}}", "{{quiet .}}", "{{.Title}}", "{{quiet .Title}}", "{{.What}}", "{{quiet .What}}", "{{.QueryName}}", "{{quiet .QueryName}}", "{{.Foot}}", "{{quiet .Foot}}",
	"{{truncate 200 .}}", "{{quiet (truncate 200 .)}}", "{{truncate 500 .}}", "{{quiet (truncate 500 .)}}", "{{truncate 1500 .}}", "{{quiet (truncate 1500 .)}}",
).Replace(plainWords)

// cutRunes returns a text of at most so many characters as UTF-16 counts them, which is
// how chat services do.
func cutRunes(text string, most int) string {
	if len(utf16.Encode([]rune(text))) <= most {
		return text
	}
	n := 0
	for i, r := range text {
		if n += utf16.RuneLen(r); n > most-1 {
			return text[:i] + "…"
		}
	}
	return text
}

// textFrame returns a frame that puts the text into one member of an object, beside
// others that are always the same.
func textFrame(member string, most int, others map[string]any) func(*Outlet, *Event, string) ([]byte, error) {
	return func(_ *Outlet, _ *Event, text string) ([]byte, error) {
		body := map[string]any{member: cutRunes(strings.TrimSpace(text), most)}
		for name, value := range others {
			body[name] = value
		}
		return json.Marshal(body)
	}
}

// postChat sends a body of JSON to the URL.
func postChat(_ *Outlet, f filled, m Message) (request, error) {
	return request{url: f.url, body: m.Body, header: contentHeader(jsonMedia)}, nil
}

// frameTeams sets the text in an adaptive card, as the workflows of Teams take it.
func frameTeams(_ *Outlet, _ *Event, text string) ([]byte, error) {
	head, rest, _ := strings.Cut(strings.TrimSpace(text), "\n")
	block := func(text string, more map[string]any) map[string]any {
		b := map[string]any{"type": "TextBlock", "text": cutRunes(text, 8000), "wrap": true}
		for name, value := range more {
			b[name] = value
		}
		return b
	}
	blocks := []any{block(head, map[string]any{"weight": "bolder"})}
	if rest = strings.TrimSpace(rest); rest != "" {
		blocks = append(blocks, block(strings.ReplaceAll(rest, "\n", "\n\n"), nil))
	}
	return json.Marshal(map[string]any{
		"type": "message",
		"attachments": []any{map[string]any{
			"contentType": "application/vnd.microsoft.card.adaptive", "contentUrl": nil,
			"content": map[string]any{"$schema": "http://adaptivecards.io/schemas/adaptive-card.json", "type": "AdaptiveCard", "version": "1.4", "body": blocks},
		}},
	})
}

// frameTelegram is what the method sendMessage takes.
func frameTelegram(o *Outlet, _ *Event, text string) ([]byte, error) {
	body := map[string]any{
		"chat_id": string(o.sink.Settings["chat"]), "text": cutRunes(strings.TrimSpace(text), 4096),
		"link_preview_options": map[string]any{"is_disabled": true},
	}
	if thread, err := strconv.Atoi(string(o.sink.Settings["thread"])); err == nil {
		body["message_thread_id"] = thread
	}
	return json.Marshal(body)
}

func postTelegram(_ *Outlet, f filled, m Message) (request, error) {
	return request{url: under(f.url, "/bot"+escape(f.settings["token"])+"/sendMessage"), body: m.Body, header: contentHeader(jsonMedia)}, nil
}

// frameNtfy is what ntfy takes as JSON at its root.
func frameNtfy(o *Outlet, e *Event, text string) ([]byte, error) {
	body := map[string]any{
		"topic": string(o.sink.Settings["topic"]), "title": cutRunes(e.Heading(), 250), "message": cut(strings.TrimSpace(text), 4096),
	}
	if e.URL != "" && !mask.Applied(e.URL) {
		body["click"] = e.URL
	}
	if p, err := strconv.Atoi(string(o.sink.Settings["priority"])); err == nil {
		body["priority"] = p
	}
	return json.Marshal(body)
}

func postNtfy(_ *Outlet, f filled, m Message) (request, error) {
	r := request{url: under(f.url, "/"), body: m.Body, header: bearer(jsonMedia, f.settings["token"])}
	if user := f.settings["user"]; user != "" {
		basic := http.Request{Header: r.header}
		basic.SetBasicAuth(user, f.settings["password"])
	}
	return r, nil
}

// frameGotify is what Gotify takes at /message.
func frameGotify(o *Outlet, e *Event, text string) ([]byte, error) {
	body := map[string]any{"title": cutRunes(e.Heading(), 250), "message": cut(strings.TrimSpace(text), maxDiffText)}
	if p, err := strconv.Atoi(string(o.sink.Settings["priority"])); err == nil {
		body["priority"] = p
	}
	if e.URL != "" && !mask.Applied(e.URL) {
		body["extras"] = map[string]any{"client::notification": map[string]any{"click": map[string]any{"url": e.URL}}}
	}
	return json.Marshal(body)
}

func postGotify(_ *Outlet, f filled, m Message) (request, error) {
	r := request{url: under(f.url, "/message"), body: m.Body, header: contentHeader(jsonMedia)}
	r.header.Set("X-Gotify-Key", f.settings["token"])
	return r, nil
}

// frameMatrix is the content of an m.room.message. It mentions nobody.
func frameMatrix(_ *Outlet, _ *Event, text string) ([]byte, error) {
	text = cut(strings.TrimSpace(text), 30<<10) // an event is at most 64 KiB, with the text in it twice
	return json.Marshal(map[string]any{
		"msgtype": "m.text", "body": text, "m.mentions": map[string]any{},
		"format": "org.matrix.custom.html", "formatted_body": "<pre>" + html.EscapeString(text) + "</pre>",
	})
}

// postMatrix sends the event under an id of ours: a server that has it already makes no
// second one.
func postMatrix(o *Outlet, f filled, m Message) (request, error) {
	path := "/_matrix/client/v3/rooms/" + escape(f.settings["room"]) + "/send/m.room.message/" + escape(WebhookID(o.sink.Name, m.ID))
	return request{method: http.MethodPut, url: under(f.url, path), body: m.Body, header: bearer(jsonMedia, f.settings["token"])}, nil
}

// frameMattermost is what incoming webhooks of Mattermost take.
func frameMattermost(o *Outlet, _ *Event, text string) ([]byte, error) {
	body := map[string]any{"text": cutRunes(strings.TrimSpace(text), 16000)}
	for _, name := range []string{"channel", "username"} {
		if v := o.sink.Settings[name]; v != "" {
			body[name] = string(v)
		}
	}
	return json.Marshal(body)
}

// framePagerDuty is an event of the Events API v2, but for its routing key, which is a
// secret. PagerDuty takes events with one dedup_key for one alert.
func framePagerDuty(o *Outlet, e *Event, text string) ([]byte, error) {
	severity := string(o.sink.Settings["severity"])
	if severity == "" {
		severity = "info"
	}
	body := map[string]any{
		"event_action": "trigger", "dedup_key": e.ID, "client": "Freshet",
		"payload": map[string]any{
			"summary": cutRunes(strings.TrimSpace(text), 1024), "source": Message{Source: e.Source, Query: e.Query}.line(), "severity": severity,
			"timestamp": e.Before.Format("2006-01-02T15:04:05.000Z07:00"), "component": e.Heading(),
			"custom_details": pagerDetails(e),
		},
	}
	if e.URL != "" && !mask.Applied(e.URL) {
		body["links"] = []any{map[string]any{"href": e.URL, "text": e.Title}}
	}
	return json.Marshal(body)
}

// pagerDetails says more of an event.
func pagerDetails(e *Event) map[string]any {
	if e.batch == nil {
		return map[string]any{"summary": e.Summary, "seq": e.Seq, "version": e.Number, "tags": e.Tags}
	}
	details := map[string]any{"summary": e.Summary, "query": e.Query, "match": e.Match, "count": e.Count}
	if e.Value != nil {
		details["value"] = e.Value
	}
	for _, entry := range e.Top(20) {
		details[fmt.Sprintf("match %d", entry.Match)] = entry.Title + ": " + entry.Summary
	}
	return details
}

func postPagerDuty(_ *Outlet, f filled, m Message) (request, error) {
	key, err := json.Marshal(f.settings["routing_key"])
	if err != nil {
		return request{}, err
	}
	body := append(fmt.Appendf(nil, `{"routing_key":%s,`, key), m.Body[1:]...)
	return request{url: under(f.url, "/v2/enqueue"), body: body, header: contentHeader(jsonMedia)}, nil
}
