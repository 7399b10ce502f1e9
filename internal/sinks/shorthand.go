package sinks

import (
	"cmp"
	"errors"
	"maps"
	"net/url"
	"strconv"
	"strings"
	"time"

	"freshet/internal/freshet/profile"
	"freshet/internal/invalid"
)

// sampleTime is when the sample of a check was seen.
var sampleTime = time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC)

// shorthands are the schemes of URLs that say a whole sink, as Shoutrrr and Apprise have
// them, and what to make of one.
var shorthands = map[string]func(*Sink, shorthand) error{
	"slack": func(s *Sink, u shorthand) error {
		tokens := strings.Split(u.password(), "-") // hook:A-B-C@webhook
		if u.Host != "webhook" || len(tokens) != 3 {
			tokens = append([]string{u.Host}, u.parts()...) // A/B/C
		}
		switch {
		case strings.HasPrefix(u.Host, "xox"), len(tokens) > 3, u.Fragment != "": // a bot, or channels
			return errOnlyApprise
		case len(tokens) != 3:
			return u.wrong("hook:A-B-C@webhook, or A/B/C")
		}
		s.Kind, s.URL = "slack", u.text("https://hooks.slack.com/services/"+strings.Join(tokens, "/"))
		return nil
	},
	"discord": func(s *Sink, u shorthand) error {
		id, token := u.Host, ""
		if parts := u.parts(); len(parts) == 1 { // ID/TOKEN
			token = parts[0]
		} else if u.User != nil {
			token = u.User.Username()
		}
		if id == "" || token == "" {
			return u.wrong("TOKEN@ID, or ID/TOKEN")
		}
		s.Kind, s.URL = "discord", u.text("https://discord.com/api/webhooks/"+id+"/"+token)
		return nil
	},
	"telegram": func(s *Sink, u shorthand) error {
		chats := u.Query().Get("chats")
		if chats == "" {
			chats = u.Query().Get("channels")
		}
		if u.User == nil || chats == "" || strings.Contains(chats, ",") {
			return u.wrong("TOKEN@telegram?chats=CHAT, with one chat")
		}
		token := u.User.Username()
		if p := u.password(); p != "" {
			token += ":" + p
		}
		s.Kind, s.URL = "telegram", ""
		u.set(s, "token", token)
		u.set(s, "chat", chats)
		return nil
	},
	"ntfy": takeNtfy, "ntfys": takeNtfy, "gotify": takeGotify, "gotifys": takeGotify, "matrix": takeMatrix, "matrixs": takeMatrix,
	"mattermost": takeMattermost, "mmost": takeMattermost, "mmosts": takeMattermost, "tgram": takeTelegram, "workflows": takeWorkflow, "msteams": takeOffice, "gchat": takeSpace,
	"json": takeJSON, "jsons": takeJSON, "mailto": takeMailto, "mailtos": takeMailto,
	"teams": func(s *Sink, u shorthand) error {
		parts, host := u.parts(), u.Query().Get("host")
		switch {
		case u.User != nil && u.Host != "" && host != "" && (len(parts) == 2 || len(parts) == 3): // an incoming webhook
			s.URL = u.text("https://" + host + "/webhookb2/" + u.User.Username() + "@" + u.Host + "/IncomingWebhook/" + strings.Join(parts, "/"))
		case u.User == nil && u.Host != "" && len(parts) > 0: // a workflow, whose URL has teams for https
			s.URL = u.text("https://" + u.Host + u.EscapedPath())
			if u.RawQuery != "" {
				s.URL += u.text("?" + u.RawQuery)
			}
		default:
			return u.wrong("HOST/PATH of a workflow, or GROUP@TENANT/ID/OWNER?host=ORGANIZATION.webhook.office.com of an incoming webhook")
		}
		s.Kind = "teams"
		return nil
	},
	"googlechat": func(s *Sink, u shorthand) error {
		if u.Host == "" || u.Query().Get("token") == "" {
			return u.wrong("chat.googleapis.com/v1/spaces/SPACE/messages?key=KEY&token=TOKEN")
		}
		s.Kind, s.URL = "googlechat", u.text("https://"+u.Host+u.EscapedPath()+"?"+u.RawQuery)
		return nil
	},
	"pagerduty": func(s *Sink, u shorthand) error {
		parts, host := u.parts(), u.Host
		if len(parts) == 0 { // pagerduty://KEY
			parts, host = []string{u.Host}, "events.pagerduty.com"
		}
		s.Kind, s.URL = "pagerduty", u.server(host)
		u.set(s, "routing_key", parts[0])
		if v := u.Query().Get("severity"); v != "" {
			u.set(s, "severity", v)
		}
		return nil
	},
	"smtp":          takeMail,
	"smtps":         takeMail,
	"postgres":      takePostgres,
	"postgresql":    takePostgres,
	"generic":       func(s *Sink, u shorthand) error { return u.generic(s, "https") },
	"generic+https": func(s *Sink, u shorthand) error { return u.generic(s, "https") },
	"generic+http":  func(s *Sink, u shorthand) error { return u.generic(s, "http") },
}

func takeNtfy(s *Sink, u shorthand) error {
	host, topic := u.Host, strings.Trim(u.Path, "/")
	if topic == "" { // ntfy://TOPIC
		host, topic = "ntfy.sh", u.Host
	}
	if strings.Contains(topic, "/") {
		return errOnlyApprise // several
	}
	s.Kind, s.URL = "ntfy", u.server(host)
	u.set(s, "topic", topic)
	if u.User != nil && u.User.Username() == "" {
		u.set(s, "token", u.password())
	} else if u.User != nil && u.password() == "" && (u.Query().Get("auth") == "token" || strings.HasPrefix(u.User.Username(), "tk_")) {
		u.set(s, "token", u.User.Username())
	} else if u.User != nil {
		u.set(s, "user", u.User.Username())
		u.set(s, "password", u.password())
	}
	if p := u.Query().Get("priority"); p != "" {
		u.set(s, "priority", p)
	}
	return nil
}

func takeGotify(s *Sink, u shorthand) error {
	parts := u.parts()
	if u.Host == "" || len(parts) == 0 {
		return u.wrong("HOST/TOKEN")
	}
	last := len(parts) - 1
	s.Kind, s.URL = "gotify", u.server(strings.Join(append([]string{u.Host}, parts[:last]...), "/"))
	u.set(s, "token", parts[last])
	if p := u.Query().Get("priority"); p != "" {
		u.set(s, "priority", p)
	}
	return nil
}

func takeMatrix(s *Sink, u shorthand) error {
	room, token := u.Query().Get("rooms"), u.password()
	if parts := u.parts(); room == "" && len(parts) == 1 && strings.HasPrefix(parts[0], "!") { // TOKEN@HOST/!ROOM:HOST
		s.Kind, s.URL = "matrix", u.server(u.Host)
		if u.User != nil && token == "" {
			token = u.User.Username()
		} else if u.User != nil && u.User.Username() != "" {
			return errOnlyApprise // logs in
		}
		u.set(s, "token", token)
		u.set(s, "room", parts[0])
		return nil
	} else if len(parts) > 0 || u.Fragment != "" {
		return errOnlyApprise
	}
	if u.User == nil || u.User.Username() != "" || room == "" || strings.Contains(room, ",") {
		return u.wrong(":ACCESSTOKEN@HOST/?rooms=!ROOM:HOST, with one room; a user and a password are not taken")
	}
	s.Kind, s.URL = "matrix", u.server(u.Host)
	u.set(s, "token", u.password())
	u.set(s, "room", room)
	return nil
}

func takeMattermost(s *Sink, u shorthand) error {
	parts := u.parts()
	if u.Host == "" || len(parts) == 0 || len(parts) > 2 {
		return u.wrong("HOST/KEY, or NAME@HOST/KEY/CHANNEL")
	}
	s.Kind, s.URL = "mattermost", u.server(u.Host)+u.text("/hooks/"+parts[0])
	if len(parts) == 2 {
		u.set(s, "channel", parts[1])
	}
	u.set(s, "channel", u.Query().Get("channel"))
	if u.User != nil {
		u.set(s, "username", u.User.Username())
	}
	return nil
}

// A shorthand is a URL whose references stand aside while it is taken apart.
type shorthand struct {
	*url.URL
	refs []string
}

// standIn is what stands for a reference. It has to survive the host of a URL.
func standIn(i int) string { return "freshetreference" + strconv.Itoa(i) + "x" }

// text returns a part as a value, with its references.
func (u shorthand) text(part string) profile.Value {
	part = strings.ReplaceAll(part, "${", "$${")
	for i, ref := range u.refs {
		part = strings.ReplaceAll(part, standIn(i), ref)
	}
	return profile.Value(part)
}

// set sets a setting, unless it is set already.
func (u shorthand) set(s *Sink, name, value string) {
	if s.Settings[name] == "" && value != "" {
		s.Settings[name] = u.text(value)
	}
}

func (u shorthand) password() string {
	if u.User == nil {
		return ""
	}
	p, _ := u.User.Password()
	return p
}

// parts returns the segments of the path.
func (u shorthand) parts() []string {
	return strings.FieldsFunc(u.Path, func(r rune) bool { return r == '/' })
}

// server returns the URL of a host; disabletls=yes has it without TLS.
func (u shorthand) server(host string) profile.Value {
	scheme := "https"
	if strings.EqualFold(u.Scheme, "mmost") { // whose TLS has a scheme of its own, mmosts
		scheme = "http"
	}
	if v := strings.ToLower(u.Query().Get("disabletls")); v == "yes" || v == "true" || u.Query().Get("scheme") == "http" {
		scheme = "http"
	}
	return u.text(scheme + "://" + host)
}

func (u shorthand) generic(s *Sink, scheme string) error {
	if u.Host == "" {
		return u.wrong("HOST/PATH")
	}
	s.Kind, s.URL = "json", u.text(scheme+"://"+u.Host+u.EscapedPath())
	if u.RawQuery != "" {
		s.URL += u.text("?" + u.RawQuery)
	}
	return nil
}

func (u shorthand) wrong(form string) error {
	return invalid.Errorf("url", "what follows %s:// is not of the form %s", u.Scheme, form)
}

// errOnlyApprise is returned for a shorthand with more than its kind can do.
var errOnlyApprise = errors.New("only Apprise understands the URL")

// takeApart returns a sink whose URL is a shorthand as its kind has it.
func takeApart(cfg Config, s Sink) (Sink, error) {
	scheme, _, ok := strings.Cut(string(s.URL), "://")
	scheme = strings.ToLower(scheme)
	read, known := shorthands[scheme]
	if ok && !known && s.Kind == "" && needsApprise(scheme) && kindByScheme(scheme) == "" {
		return asApprise(cfg, s)
	}
	if !ok || !known {
		if s.Kind == "" {
			s.Kind = cmp.Or(kindByScheme(scheme), kindByHost(string(s.URL)))
		}
		return s, nil
	}
	var u shorthand
	plain, err := s.URL.Expand(func(r profile.Reference) (string, error) {
		u.refs = append(u.refs, r.String())
		return standIn(len(u.refs) - 1), nil
	})
	if err != nil {
		return s, invalid.Errorf("url", "%v", err)
	}
	if scheme == "tgram" { // BOT:TOKEN/CHAT, in which the token is no port
		bot, chats, _ := strings.Cut(plain[len("tgram://"):], "/")
		plain = "tgram://" + bot + "@telegram/" + chats
	}
	if u.URL, err = url.Parse(plain); err != nil {
		return s, invalid.Errorf("url", "is not a URL such as %s://...", scheme)
	}
	given, whole := s.Kind, s
	if s.Settings = maps.Clone(s.Settings); s.Settings == nil {
		s.Settings = map[string]profile.Value{}
	}
	if err := read(&s, u); errors.Is(err, errOnlyApprise) {
		return asApprise(cfg, whole)
	} else if err != nil {
		return s, err
	}
	if given != "" && given != s.Kind {
		return s, invalid.Errorf("kind", "is %s, but the URL is that of %s", given, s.Kind)
	}
	return s, nil
}

// kindByScheme returns the kind whose URLs have a scheme; "" if it does not say.
func kindByScheme(scheme string) string {
	for _, k := range kinds {
		for _, s := range k.schemes {
			if s == scheme {
				return k.Name
			}
		}
	}
	return ""
}

// kindByHost returns the kind whose service has the host of a URL; "" if it is none of those that are known.
func kindByHost(raw string) string {
	u, err := url.Parse(raw)
	if err != nil || u.Scheme != "https" {
		return ""
	}
	for _, service := range []struct{ host, path, kind string }{
		{"hooks.slack.com", "/services/", "slack"}, {"discord.com", "/api/webhooks/", "discord"}, {"discordapp.com", "/api/webhooks/", "discord"},
		{"chat.googleapis.com", "/v1/spaces/", "googlechat"}, {".logic.azure.com", "/workflows/", "teams"}, {".webhook.office.com", "/", "teams"},
	} {
		at := u.Hostname() == service.host || strings.HasPrefix(service.host, ".") && strings.HasSuffix(u.Hostname(), service.host)
		if at && strings.HasPrefix(u.Path, service.path) {
			return service.kind
		}
	}
	return ""
}
