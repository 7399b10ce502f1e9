package sinks

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strings"

	"freshet/internal/fetch/auth"
	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/invalid"
)

// appriseKind reaches the services for which there is no kind.
var appriseKind = &kind{
	Kind: Kind{Name: "apprise", About: "any service that Apprise knows, by an Apprise API server or the apprise command", URL: "http://apprise.example:8000", Settings: []Setting{
		{Name: "urls", About: "URLs of Apprise, with spaces or commas between them; not needed if the URL is http://HOST/notify/KEY", Secret: true},
	}},
	command: true, words: plainWords, check: checkApprise, frame: frameApprise, open: openApprise,
}

func checkApprise(s Sink) error {
	if s.Settings["urls"] == "" && !strings.Contains(string(s.URL), "/notify/") {
		return invalid.Errorf("settings.urls", "is missing; apprise needs a URL such as pover://USER@TOKEN")
	}
	return nil
}

// frameApprise is what Apprise sends. Its URLs are secret, and not stored with it.
func frameApprise(_ *Outlet, e *Event, text string) ([]byte, error) {
	return json.Marshal(map[string]any{"title": cutRunes(e.Heading(), 250), "body": cut(strings.TrimSpace(text), 30<<10), "type": "info", "format": "text"})
}

func openApprise(o *Outlet) (sender, error) {
	command, ok := strings.CutPrefix(string(o.sink.URL), "exec:")
	if !ok {
		return &poster{o, postApprise}, nil
	}
	if !o.cfg.Exec {
		return nil, freshet.WithHint(invalid.Errorf("url", "commands cannot be run unless the settings allow it"), "set allow_exec: true in the configuration file")
	}
	return appriseCommand(command), nil
}

// postApprise sends to an Apprise API server, which keeps URLs under a key or gets them with each
// message.
func postApprise(_ *Outlet, f filled, m Message) (request, error) {
	r := request{url: f.url, body: m.Body, header: contentHeader(jsonMedia)}
	if strings.Contains(f.url, "/notify/") {
		return r, nil
	}
	urls, err := json.Marshal(f.settings["urls"])
	r.url, r.body = under(f.url, "/notify/"), append(fmt.Appendf(nil, `{"urls":%s,`, urls), m.Body[1:]...)
	return r, err
}

// An appriseCommand is the program of Apprise.
type appriseCommand string

func (appriseCommand) close() error { return nil }

// send runs the command. The URLs stand in a file that only this user can read, the title and the
// text come on standard input: other users see neither.
func (c appriseCommand) send(ctx context.Context, f filled, m Message) (string, error) {
	var message struct{ Title, Body string }
	if err := json.Unmarshal(m.Body, &message); err != nil {
		return "", err
	}
	urls, err := os.CreateTemp("", "freshet-apprise-*.txt")
	if err != nil {
		return "", err
	}
	defer os.Remove(urls.Name())
	for one := range strings.FieldsFuncSeq(f.settings["urls"], isSeparator) {
		if _, err := fmt.Fprintln(urls, one); err != nil {
			return "", err
		}
	}
	if err := urls.Close(); err != nil {
		return "", err
	}
	title := strings.Join(strings.Fields(message.Title), " ")
	out, err := auth.RunCommand(ctx, `IFS= read -r title; exec `+string(c)+` --title="$title" --config='`+urls.Name()+`'`, []byte(title+"\n"+message.Body), maxAnswer)
	return quoted(out), err
}

func isSeparator(r rune) bool { return r == ' ' || r == ',' || r == '\n' }

// appriseSchemes are those of the services that Apprise knows and for which there is no kind.
const appriseSchemes = " apprise apprises africas aprs bark barks bluesky boxcar brevo bulksms bulkvs burstsms chantify clickatell clicksend d7sms dapnet dingtalk dot" +
	" emby embys enigma2 enigma2s evolution evolutions fcm feishu flock fluxer form forms gitter guilded hassio hassios httpsms ifttt join kavenegar kodi kodis kumulos" +
	" lametric lametrics lark line lunasea lunaseas mailgun mastodon mastodons misskey misskeys mqtts msg91 msgbird mqtt ncloud nclouds nctalk nctalks nexmo notica noticas" +
	" notifiarr notifico notifiarr nextcloud o365 office365 azure onesignal opsgenie pagertree parsep parseps pbul pjet pjets plivo popcorn pover prowl psafer psafers push" +
	" pushdeer pushdeers pushed pushme pushplus pushward pushy qq reddit resend revolt rocket rockets rsyslog ryver sendgrid sendpulse ses sfr signal signals sinch simplepush" +
	" smpp smpps smseagle smseagles smsmanager smsmgr smtp2go sns sparkpost spike splunk spugpush spush strmlabs synology synologys threema toot toots twilio twist twitter" +
	" tweet vapid viber voipms vonage wecombot whatsapp workflow wxpusher wxteams webex x xbmc xbmcs xml xmls zoom zulip kde gnome macosx windows dbus glib qt syslog "

// asApprise returns a sink whose URL only Apprise understands as one of an Apprise API server.
func asApprise(cfg Config, s Sink) (Sink, error) {
	server := s.Settings["server"]
	if server == "" {
		server = profile.Value(cfg.Apprise)
	}
	if server == "" {
		scheme, _, _ := strings.Cut(string(s.URL), "://")
		return s, freshet.WithHint(invalid.Errorf("url", "%s:// is understood by Apprise alone, and no Apprise API server is set", scheme),
			"name it: --set server=http://HOST:8000, or apprise: http://HOST:8000 in the configuration file")
	}
	settings := map[string]profile.Value{"urls": s.URL}
	for name, v := range s.Settings {
		if name != "server" {
			settings[name] = v
		}
	}
	s.Kind, s.URL, s.Settings = "apprise", server, settings
	return s, nil
}

// needsApprise reports whether only Apprise understands the URLs of a scheme.
func needsApprise(scheme string) bool { return strings.Contains(appriseSchemes, " "+scheme+" ") }

// The URLs of Apprise for kinds of our own. What they say besides is left to Apprise.

func takeTelegram(s *Sink, u shorthand) error { // tgram://BOT:TOKEN@telegram/CHAT, as takeApart has written it
	parts := u.parts()
	if u.User == nil || len(parts) == 0 {
		return u.wrong("BOT:TOKEN/CHAT")
	}
	if len(parts) > 1 {
		return errOnlyApprise
	}
	token := u.User.Username()
	if u.password() != "" {
		token += ":" + u.password()
	}
	s.Kind, s.URL = "telegram", ""
	u.set(s, "token", token)
	u.set(s, "chat", parts[0])
	u.set(s, "thread", u.Query().Get("topic"))
	return nil
}

func takeWorkflow(s *Sink, u shorthand) error { // workflows://HOST/WORKFLOW/SIGNATURE
	parts := u.parts()
	if len(parts) != 2 {
		return u.wrong("HOST/WORKFLOW/SIGNATURE")
	}
	query := url.Values{"api-version": {"2016-06-01"}, "sp": {"/triggers/manual/run"}, "sv": {"1.0"}, "sig": {parts[1]}}
	s.Kind, s.URL = "teams", u.text("https://"+u.Host+"/workflows/"+parts[0]+"/triggers/manual/paths/invoke?"+query.Encode())
	return nil
}

func takeOffice(s *Sink, u shorthand) error { // msteams://TEAM/A@B/C/D
	parts := u.parts()
	if u.User != nil && len(parts) == 2 { // msteams://A@B/C/D, of the time before teams had names
		s.Kind, s.URL = "teams", u.text("https://outlook.office.com/webhook/"+u.User.Username()+"@"+u.Host+"/IncomingWebhook/"+strings.Join(parts, "/"))
		return nil
	}
	if len(parts) < 3 || len(parts) > 4 {
		return u.wrong("TEAM/GROUP@TENANT/ID/OWNER")
	}
	s.Kind, s.URL = "teams", u.text("https://"+u.Host+".webhook.office.com/webhookb2/"+parts[0]+"/IncomingWebhook/"+strings.Join(parts[1:], "/"))
	return nil
}

func takeSpace(s *Sink, u shorthand) error { // gchat://SPACE/KEY/TOKEN
	parts := u.parts()
	if len(parts) != 2 {
		return errOnlyApprise
	}
	s.Kind, s.URL = "googlechat", u.text("https://chat.googleapis.com/v1/spaces/"+u.Host+"/messages?key="+url.QueryEscape(parts[0])+"&token="+url.QueryEscape(parts[1]))
	return nil
}

// appriseJSON is the body that Apprise sends to json://.
const appriseJSON = `{"version": "1.0", "title": {{json .Title}}, "message": {{json (printf "%s\n%s\n%s" .Summary .URL .Diff)}}, "attachments": [], "type": "info"}`

func takeJSON(s *Sink, u shorthand) error { // jsons://USER:PASSWORD@HOST/PATH?+header=value
	scheme := strings.Replace(strings.ToLower(u.Scheme), "json", "http", 1)
	query := u.Query()
	for name, values := range query {
		switch {
		case strings.HasPrefix(name, " "), strings.HasPrefix(name, "+"): // a header, whose + is read as a space
			if s.Headers == nil {
				s.Headers = map[string]profile.Value{}
			}
			s.Headers[strings.TrimLeft(name, " +")] = u.text(values[0])
		case name == "method":
			u.set(s, "method", strings.ToUpper(values[0]))
		case name != "verify" && name != "format" && name != "overflow" && name != "cto" && name != "rto":
			return errOnlyApprise
		}
	}
	s.Kind, s.URL = "json", u.text(scheme+"://"+withUser(u)+u.Host+u.EscapedPath())
	if s.Template == "" {
		s.Template = appriseJSON
	}
	return nil
}

func withUser(u shorthand) string {
	if u.User == nil {
		return ""
	}
	return u.User.String() + "@"
}

// mailServers are the SMTP servers of providers whose addresses are known.
var mailServers = []struct{ domains, server string }{
	{"gmail.com googlemail.com", "smtp://smtp.gmail.com:587"}, {"yahoo.com ymail.com", "smtps://smtp.mail.yahoo.com:465"}, {"fastmail.com fastmail.fm", "smtps://smtp.fastmail.com:465"},
	{"hotmail.com live.com outlook.com", "smtp://smtp-mail.outlook.com:587"}, {"zoho.com", "smtp://smtp.zoho.com:587"}, {"gmx.net gmx.de", "smtp://mail.gmx.net:587"},
	{"web.de", "smtp://smtp.web.de:587"}, {"yandex.com yandex.ru", "smtps://smtp.yandex.ru:465"}, {"icloud.com me.com", "smtp://smtp.mail.me.com:587"},
}

func takeMailto(s *Sink, u shorthand) error { // mailtos://USER:PASSWORD@DOMAIN?to=a@b&from=c@d&smtp=HOST
	q := u.Query()
	user, domain := "", u.Hostname()
	if u.User != nil {
		user = u.User.Username()
	}
	if q.Get("user") != "" {
		user = q.Get("user")
	}
	address := user
	if !strings.Contains(user, "@") && user != "" {
		address = user + "@" + domain
	}
	from, to := q.Get("from"), append(q["to"], u.parts()...)
	if !strings.Contains(from, "@") { // it is the name of the sender
		from = address
	}
	if len(to) == 0 {
		to = []string{address}
	}
	if from == "" || q.Get("cc") != "" || q.Get("bcc") != "" {
		return errOnlyApprise
	}
	scheme, port := "smtp", ":587"
	if strings.EqualFold(u.Scheme, "mailtos") && q.Get("mode") == "ssl" {
		scheme, port = "smtps", ":465"
	} else if strings.EqualFold(u.Scheme, "mailto") && u.Port() == "" {
		port = ":25"
	}
	if u.Port() != "" {
		port = ":" + u.Port()
	}
	s.Kind, s.URL = "email", u.text(scheme+"://"+domain+port)
	if q.Get("smtp") != "" {
		s.URL = u.text(scheme + "://" + q.Get("smtp") + port)
	} else if i := slices.IndexFunc(mailServers, func(m struct{ domains, server string }) bool {
		return slices.Contains(strings.Fields(m.domains), domain)
	}); i >= 0 {
		s.URL, user = u.text(mailServers[i].server), address
	}
	if strings.EqualFold(u.Scheme, "mailto") && u.Port() == "" && q.Get("smtp") == "" && strings.HasSuffix(string(s.URL), ":25") {
		u.set(s, "tls", "none")
	}
	if u.password() != "" || q.Get("pass") != "" {
		u.set(s, "user", user)
		u.set(s, "password", u.password()+q.Get("pass"))
	}
	u.set(s, "from", from)
	u.set(s, "to", strings.Join(to, ", "))
	return nil
}
