package importer

import (
	"cmp"
	"encoding/base64"
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
	"ntfy":       {"ntfy", "$server", "topic=$topic priority=$priority token=$token user=$user password=$password"},
	"pushover":   {"", "pover://$user@$app/$device", ""},
	"pushbullet": {"", "pbul://$api_key", ""},
	"prowl":      {"", "prowl://$api_key", ""},
	"ifttt":      {"", "ifttt://$key@$event", ""},
	"mailgun":    {"", "mailgun://$user@$domain/$api_key/$to?region=$region", ""},

	"SlackAgent": {"slack", "$webhook_url", ""}, "PostAgent": {"json", "$post_url", ""}, "PushoverAgent": {"", "pover://$user@$token", ""},
	"PushbulletAgent": {"", "pbul://$api_key", ""}, "TelegramAgent": {"telegram", "", "token=$auth_token chat=$chat_id"},
}

// reporterSettings are the settings of a reporter that are carried over, or only say how a report of many jobs looks.
const reporterSettings = " enabled webhook_url bot_token chat_id homeserver access_token room_id server_url token priority topic_url authorization priorities user app device" +
	" api_key event key domain region from_mail to from subject title html method smtp sendmail command details footer minimal separate line_length embed colored" +
	" max_message_length markdown rich_text utf_8 color keyring "

// lostFromReporters are the settings of a reporter that have no counterpart, with the nearest that exists.
var lostFromReporters = map[string]string{
	"sound": sentByService, "silent": sentByService, "application": sentByService, "from_name": sentByService, "reply_to": sentByService, "cc": "the setting to takes several addresses",
}

const sentByService = "freshet sink kinds lists what a sink can be told"

// ntfyPriorities are the numbers of priorities, which webchanges names.
var ntfyPriorities = map[string]string{"min": "1", "low": "2", "default": "", "high": "4", "urgent": "5", "max": "5"}

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
		for _, key := range slices.Sorted(maps.Keys(r)) {
			e.unknown(key, r[key], reporterSettings, lostFromReporters)
		}
		if subject := r.first("subject", "title"); subject != "" && !strings.Contains(subject, "{count}") {
			e.lost("the subject of "+name, sentByTemplate)
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
		if changed := r.object("priorities").text("changed"); changed != "" {
			priority, named := ntfyPriorities[changed]
			if r["priority"] = changed; named {
				r["priority"] = priority
			}
		}
		if scheme, secret, _ := strings.Cut(r.text("authorization"), " "); strings.EqualFold(scheme, "Basic") {
			login, _ := base64.StdEncoding.DecodeString(secret)
			r["user"], r["password"], _ = strings.Cut(string(login), ":")
		} else {
			r["token"] = secret
		}
	case "mailgun":
		user, domain, _ := strings.Cut(r.text("from_mail"), "@")
		r["user"], r["domain"] = user, cmp.Or(r.text("domain"), domain)
	case "email":
		return mailReporter(r)
	case "EmailAgent", "EmailDigestAgent":
		if to := r.texts("recipients"); len(to) > 0 {
			return []client.NewSink{{Kind: "email", Settings: map[string]string{"to": strings.Join(to, ", ")}}}, nil
		}
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
