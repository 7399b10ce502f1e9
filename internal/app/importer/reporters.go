package importer

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"os"
	"slices"
	"strings"

	"freshet/client"
)

// A sinkTemplate is a sink with the names of settings of another program.
type sinkTemplate struct{ kind, url, settings string }

// sinkTemplates are the sinks for reporters of urlwatch and webchanges, and for agents of Huginn.
var sinkTemplates = map[string]sinkTemplate{
	"slack": {"slack", "$webhook_url", ""}, "discord": {"discord", "$webhook_url", ""}, "mattermost": {"mattermost", "$webhook_url", ""},
	"google_chat": {"googlechat", "$webhook_url", ""}, "webhook": {"", "$webhook_url", ""}, "webhook_markdown": {"", "$webhook_url", ""},
	"telegram":   {"telegram", "", "token=$bot_token chat=$chat_id"},
	"matrix":     {"matrix", "$homeserver", "token=$access_token room=$room_id"},
	"gotify":     {"gotify", "$server_url", "token=$token priority=$priority"},
	"ntfy":       {"ntfy", "$server", "topic=$topic priority=$priority"},
	"pushover":   {"", "pover://$user@$app", ""},
	"pushbullet": {"", "pbul://$api_key", ""},
	"prowl":      {"", "prowl://$api_key", ""},
	"ifttt":      {"", "ifttt://$key@$event", ""},
	"mailgun":    {"", "mailgun://$user@$domain/$api_key/$to", ""},

	"SlackAgent": {"slack", "$webhook_url", ""}, "PostAgent": {"json", "$post_url", ""}, "PushoverAgent": {"", "pover://$user@$token", ""},
	"PushbulletAgent": {"", "pbul://$api_key", ""}, "TelegramAgent": {"telegram", "", "token=$auth_token chat=$chat_id"},
}

// reporters returns the receivers that a configuration of urlwatch or webchanges switches on, each
// as an entry.
func reporters(report object) (entries []Entry) {
	for _, name := range slices.Sorted(maps.Keys(report)) {
		r := report.object(name)
		if !r.on("enabled") || name == "stdout" || name == "browser" { // freshet changes --follow prints them
			continue
		}
		e := Entry{Path: "report." + name}
		sinks, err := sinksOf(name, r)
		if err != nil {
			sinks = []client.NewSink{{Kind: name}}
		}
		for _, s := range sinks {
			e.Receivers = append(e.Receivers, Receiver{Sink: s, Err: err})
		}
		if subject := r.first("subject", "title"); subject != "" && !strings.Contains(subject, "{count}") {
			e.lost("the subject of "+name, "a template of the sink says what is sent")
		}
		entries = append(entries, e)
	}
	return entries
}

// sinksOf returns the sinks for a reporter or an agent: one for each of its chats.
func sinksOf(name string, r object) (sinks []client.NewSink, err error) {
	r = maps.Clone(r)
	switch name {
	case "ntfy":
		r["server"], r["topic"] = r.text("topic_url"), ""
		if i := strings.LastIndexByte(r.text("topic_url"), '/'); i >= 0 {
			r["server"], r["topic"] = r.text("topic_url")[:i], r.text("topic_url")[i+1:]
		}
	case "mailgun":
		user, domain, _ := strings.Cut(r.text("from_mail"), "@")
		r["user"], r["domain"] = user, cmp.Or(r.text("domain"), domain)
	case "email":
		return mailReporter(r)
	case "shell", "run_command":
		return nil, fmt.Errorf("a command is run only by the configuration file: kind: command, settings: {command: %s}", inJSON(r.first("command")))
	}
	t, ok := sinkTemplates[name]
	if !ok {
		return nil, errors.New("there is no such kind of sink; freshet sink kinds lists them")
	}
	if t.kind != "telegram" {
		return []client.NewSink{t.sink(r)}, nil
	}
	for _, chat := range r.texts("chat_id") {
		r["chat_id"] = chat
		sinks = append(sinks, t.sink(r))
	}
	if len(sinks) == 0 {
		err = errors.New("chat_id is missing")
	}
	return sinks, err
}

// sink fills the template. What is part of a URL is escaped.
func (t sinkTemplate) sink(r object) client.NewSink {
	fill := func(text string) string {
		return literal(os.Expand(text, func(name string) string {
			if strings.HasPrefix(text, "$") {
				return r.text(name)
			}
			return url.PathEscape(r.text(name))
		}))
	}
	s := client.NewSink{Kind: t.kind, URL: fill(t.url)}
	for setting := range strings.FieldsSeq(t.settings) {
		name, value, _ := strings.Cut(setting, "=")
		if value = fill(value); value != "" {
			if s.Settings == nil {
				s.Settings = map[string]string{}
			}
			s.Settings[name] = value
		}
	}
	return s
}

// mailReporter returns the sink for e-mails by an SMTP server.
func mailReporter(r object) ([]client.NewSink, error) {
	smtp := r.object("smtp")
	host, port := smtp.text("host"), smtp.text("port")
	if r.text("method") == "sendmail" || host == "" {
		return nil, errors.New("it sends by sendmail; freshet sink add mail smtp://HOST:587 --set from=... --set to=... sends by an SMTP server")
	}
	s := client.NewSink{Kind: "email", URL: "smtp://" + host, Settings: map[string]string{"from": r.text("from"), "to": r.text("to")}}
	if port == "465" {
		s.URL = "smtps://" + host
	} else if smtp.off("starttls") {
		s.Settings["tls"] = "none"
	}
	if port != "" {
		s.URL += ":" + port
	}
	password := smtp.first("insecure_password", "password", "passwd")
	if password != "" && (!smtp.off("auth") || smtp.on("keyring")) {
		s.Settings["user"], s.Settings["password"] = cmp.Or(smtp.text("user"), r.text("from")), literal(password)
	}
	return []client.NewSink{s}, nil
}
