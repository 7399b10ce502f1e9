package importer

import (
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"freshet/client"
)

// reporters returns the receivers that a configuration of urlwatch or webchanges switches on, each
// as an entry.
func reporters(report object) (entries []Entry) {
	for _, name := range slices.Sorted(maps.Keys(report)) {
		r := report.object(name)
		if !r.on("enabled") || name == "stdout" || name == "browser" { // freshet changes --follow prints them
			continue
		}
		e := Entry{Path: "report." + name}
		sinks, err := reporter(name, r)
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

// reporter returns the sinks for a reporter: one for each of its chats.
func reporter(name string, r object) (sinks []client.NewSink, err error) {
	at := func(format string, args ...any) ([]client.NewSink, error) {
		for i, v := range args {
			args[i] = url.PathEscape(fmt.Sprint(v))
		}
		return []client.NewSink{{URL: literal(fmt.Sprintf(format, args...))}}, nil
	}
	settings := func(kind, url string, settings map[string]string) ([]client.NewSink, error) {
		maps.DeleteFunc(settings, func(_, v string) bool { return v == "" })
		for name, v := range settings {
			settings[name] = literal(v)
		}
		return []client.NewSink{{Kind: kind, URL: literal(url), Settings: settings}}, nil
	}
	switch name {
	case "slack", "discord", "mattermost":
		return settings(name, r.text("webhook_url"), nil)
	case "google_chat":
		return settings("googlechat", r.text("webhook_url"), nil)
	case "webhook", "webhook_markdown":
		return settings("", r.text("webhook_url"), nil)
	case "telegram":
		for _, chat := range r.texts("chat_id") {
			one, _ := settings("telegram", "", map[string]string{"token": r.text("bot_token"), "chat": chat})
			sinks = append(sinks, one...)
		}
		if len(sinks) == 0 {
			err = errors.New("chat_id is missing")
		}
		return sinks, err
	case "matrix":
		return settings("matrix", r.text("homeserver"), map[string]string{"token": r.text("access_token"), "room": r.text("room_id")})
	case "gotify":
		return settings("gotify", r.text("server_url"), map[string]string{"token": r.text("token"), "priority": r.text("priority")})
	case "ntfy":
		server, topic, _ := cutLast(r.text("topic_url"), "/")
		return settings("ntfy", server, map[string]string{"topic": topic, "priority": r.text("priority")})
	case "email":
		return mailReporter(r)
	case "pushover":
		return at("pover://%s@%s", r.text("user"), r.text("app"))
	case "pushbullet":
		return at("pbul://%s", r.text("api_key"))
	case "prowl":
		return at("prowl://%s", r.text("api_key"))
	case "ifttt":
		return at("ifttt://%s@%s", r.text("key"), r.text("event"))
	case "mailgun":
		user, domain, _ := strings.Cut(r.text("from_mail"), "@")
		if r.text("domain") != "" {
			domain = r.text("domain")
		}
		return at("mailgun://%s@%s/%s/%s", user, domain, r.text("api_key"), r.text("to"))
	case "shell", "run_command":
		return nil, fmt.Errorf("a command is run only by the configuration file: kind: command, settings: {command: %s}", inJSON(r.first("command")))
	}
	return nil, errors.New("there is no such kind of sink; freshet sink kinds lists them")
}

// mailReporter returns the sink for e-mails by an SMTP server.
func mailReporter(r object) ([]client.NewSink, error) {
	smtp := r.object("smtp")
	if method := r.text("method"); method == "sendmail" || smtp.text("host") == "" {
		return nil, errors.New("it sends by sendmail; freshet sink add mail smtp://HOST:587 --set from=... --set to=... sends by an SMTP server")
	}
	scheme := "smtp"
	port := smtp.text("port")
	if port == "465" {
		scheme = "smtps"
	}
	if port != "" {
		port = ":" + port
	}
	s := client.NewSink{Kind: "email", URL: scheme + "://" + smtp.text("host") + port, Settings: map[string]string{"from": r.text("from"), "to": r.text("to")}}
	if smtp.off("starttls") && scheme == "smtp" {
		s.Settings["tls"] = "none"
	}
	if !smtp.off("auth") || smtp.on("keyring") {
		user := smtp.text("user")
		if user == "" {
			user = r.text("from")
		}
		password := smtp.first("insecure_password", "password")
		if password == "" {
			password = smtp.text("passwd")
		}
		if password != "" {
			s.Settings["user"], s.Settings["password"] = user, literal(password)
		}
	}
	return []client.NewSink{s}, nil
}

// cutLast cuts a text around the last separator.
func cutLast(text, separator string) (before, after string, ok bool) {
	if i := strings.LastIndex(text, separator); i >= 0 {
		return text[:i], text[i+len(separator):], true
	}
	return text, "", false
}
