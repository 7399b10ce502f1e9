package sinks

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"html"
	"maps"
	"net"
	stdmail "net/mail"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/wneessen/go-mail"
	"github.com/wneessen/go-mail/smtp"

	"freshet/internal/freshet"
	"freshet/internal/invalid"
)

// mailKind tells people by e-mail.
var mailKind = &kind{
	Kind: Kind{Name: "email", About: "e-mail by an SMTP server, as text and HTML with the diff", URL: "smtp://mail.example:587", Settings: []Setting{
		{Name: "to", About: "addresses, with commas between them", Needed: true},
		{Name: "from", About: "address of the sender; without the URL of a server, that of the settings"},
		{Name: "user", About: "name at the server"}, {Name: "password", About: "of the user", Secret: true},
		{Name: "subject", About: "template of the subject"}, {Name: "tls", About: "starttls, tls or none; starttls is the default for smtp, tls for smtps"},
	}},
	spareURL: true, schemes: []string{"smtp", "smtps"}, words: mailWords, check: checkMail, frame: frameMail,
	open: func(o *Outlet) (sender, error) { return &mailer{o, o.cfg.Dial(mailPorts...)}, nil },
}

// mailPorts are where SMTP servers listen.
var mailPorts = []uint16{25, 465, 587, 2525}

// checkMail judges the addresses and the subject.
func checkMail(s Sink) error {
	for _, name := range []string{"user", "password", "tls"} {
		if s.URL == "" && s.Settings[name] != "" { // it is not sent to the server of the settings
			return invalid.Errorf("settings."+name, "needs the url of a server")
		}
	}
	if _, err := stdmail.ParseAddress(string(s.Settings["from"])); err != nil && (s.URL != "" || s.Settings["from"] != "") {
		return invalid.Errorf("settings.from", "%q is not an address such as freshet@mail.example", s.Settings["from"])
	}
	if _, err := stdmail.ParseAddressList(string(s.Settings["to"])); err != nil {
		return invalid.Errorf("settings.to", "%q is not a list of addresses such as a@mail.example, b@mail.example", s.Settings["to"])
	}
	if subject := string(s.Settings["subject"]); subject != "" {
		if _, err := parseWords(subject); err != nil {
			return invalid.Errorf("settings.subject", "%v", invalid.ReasonOf(err))
		}
	}
	return oneOf("tls", "starttls", "tls", "none")(s)
}

// withServer returns a sink with the mail server of the settings if it is for e-mail and names no server.
func (c Config) withServer(s Sink) (Sink, error) {
	if s.Kind != "email" || s.URL != "" {
		return s, nil
	}
	if c.Mail == nil {
		return s, errNoServer()
	}
	server, err := c.Mail()
	if err == nil && server.URL == "" {
		err = errNoServer()
	}
	if err != nil {
		return s, err
	}
	settings := maps.Clone(server.Settings)
	maps.Copy(settings, s.Settings)
	s.URL, s.Settings, s.Origin = server.URL, settings, server.Origin
	return s, nil
}

// errNoServer means that e-mail cannot be sent.
func errNoServer() error {
	return freshet.WithHint(errors.New("no mail server is set"), "freshet settings mail.server=smtp://mail.example:587 sets it")
}

// from returns the sender of the e-mail of a sink: the first receiver if the settings name none.
func (o *Outlet) from() string {
	s, _ := o.cfg.withServer(o.sink) // without a server it is not sent yet
	return senderOf(string(s.Settings["from"]), string(s.Settings["to"]))
}

func senderOf(from, to string) string {
	if from == "" {
		from, _, _ = strings.Cut(to, ",")
	}
	return from
}

// frameMail returns a whole message, with a Message-ID that is the same for a change
// whenever it is made.
func frameMail(o *Outlet, e *Event, text string) ([]byte, error) {
	subject := string(o.sink.Settings["subject"])
	if subject == "" {
		subject = headline
	}
	w, err := parseWords(subject)
	if err != nil {
		return nil, err
	}
	if subject, err = w.render(e); err != nil {
		return nil, err
	}
	news, err := e.News()
	if err != nil {
		return nil, err
	}
	id := WebhookID(o.sink.Name, e.ID)
	pictures, err := o.pictures(e)
	if err != nil {
		return nil, err
	}
	options := []mail.MsgOption{mail.WithNoDefaultUserAgent()}
	if len(pictures) == 0 {
		options = append(options, mail.WithBoundary("freshet-"+id)) // with pictures, there are two
	}
	m := mail.NewMsg(options...)
	if err := errors.Join(m.From(o.from()), m.ToFromString(string(o.sink.Settings["to"]))); err != nil {
		return nil, err
	}
	m.Subject(cutRunes(strings.Join(strings.Fields(subject), " "), 200))
	m.SetMessageIDWithValue(id + "@" + domainOf(o.from()))
	m.SetDateWithValue(e.Before)
	m.SetGenHeader("X-Freshet-Event", e.ID)
	m.SetGenHeader("Auto-Submitted", "auto-generated") // nobody's holiday notice answers it
	stop, err := e.StopLink()
	if err != nil {
		return nil, err
	}
	if strings.HasPrefix(stop, "https://") { // RFC 8058: the mail program shows a button that posts to it
		m.SetGenHeader("List-Unsubscribe", "<"+stop+">")
		m.SetGenHeader("List-Unsubscribe-Post", "List-Unsubscribe=One-Click")
	}
	m.SetBodyString(mail.TypeTextPlain, strings.TrimSpace(text)+"\n")
	page, err := mailHTML(o, e, text, news, pictures)
	if err != nil {
		return nil, err
	}
	m.AddAlternativeString(mail.TypeTextHTML, page)
	for name, picture := range pictures {
		if err := m.EmbedReader(name, bytes.NewReader(picture), mail.WithFileContentID("<"+name+">"), mail.WithFileContentType("image/png")); err != nil {
			return nil, err
		}
	}
	var b bytes.Buffer
	_, err = m.WriteTo(&b)
	return b.Bytes(), err
}

// domainOf returns the domain of an address.
func domainOf(address string) string {
	a, err := stdmail.ParseAddress(address)
	if err != nil {
		return "localhost"
	}
	return a.Address[strings.LastIndexByte(a.Address, '@')+1:]
}

// mailWords are plainWords with more of a digest, and what differs in each of its entries.
var mailWords = strings.Replace(strings.ReplaceAll(strings.ReplaceAll(plainWords, ".Top 20", ".Top 100"), ".Beyond 20", ".Beyond 100"),
	`{{end}}{{end}}{{with .Beyond`, `{{end}}{{with .News}}
{{truncate 500 .}}
{{end}}{{end}}{{with .Beyond`, 1)

// mostMailDiffs is how many bytes the diffs of a digest have together.
const mostMailDiffs = 128 << 10

// mailHTML returns the text for programs that show HTML. What differs has colours; without a
// template of its own the sink's text has that already, and the list of a digest.
func mailHTML(o *Outlet, e *Event, text, news string, pictures map[string][]byte) (string, error) {
	var b strings.Builder
	b.WriteString("<!doctype html><html><body>\n")
	before, after, inside := strings.Cut(text, cut(news, 1500))
	if news == "" || !inside {
		before, after = text, ""
	}
	if len(e.Entries) > 0 && o.sink.Template == "" {
		before, _, _ = strings.Cut(before, "\n- ")
		foot, err := e.Foot()
		if err != nil {
			return "", err
		}
		after = foot
	}
	linesHTML(&b, before)
	b.WriteString(newsHTML(news) + pictureHTML(pictures, e))
	if o.sink.Template == "" {
		if err := digestHTML(&b, e, pictures); err != nil {
			return "", err
		}
	}
	linesHTML(&b, after)
	b.WriteString("</body></html>\n")
	return b.String(), nil
}

// linesHTML writes each line of a text that is not empty as a paragraph. A URL at its end is a link.
func linesHTML(b *strings.Builder, text string) {
	for line := range strings.SplitSeq(strings.TrimSpace(text), "\n") {
		if line = strings.TrimSpace(line); line == "" {
			continue
		}
		words, last := "", line
		if i := strings.LastIndexByte(line, ' '); i >= 0 {
			words, last = line[:i+1], line[i+1:]
		}
		b.WriteString("<p>" + html.EscapeString(words) + linkHTML(last) + "</p>\n")
	}
}

// digestHTML writes the entries of a digest, each with what differs.
func digestHTML(b *strings.Builder, e *Event, pictures map[string][]byte) error {
	left := mostMailDiffs
	for _, entry := range e.Top(100) {
		news, err := entry.News()
		if err != nil {
			return err
		}
		news = cut(news, min(4<<10, left))
		left -= len(news)
		text, err := entryHTML(entry, news)
		if err != nil {
			return err
		}
		b.WriteString(text + pictureHTML(pictures, entry))
	}
	if more := e.Beyond(100); more > 0 {
		fmt.Fprintf(b, "<p>and %d more: %s</p>\n", more, linkHTML(e.Link+"/matches"))
	}
	return nil
}

// linkHTML returns a URL as a link, if it is one of HTTP.
func linkHTML(url string) string {
	shown := html.EscapeString(url)
	if strings.HasPrefix(url, "https://") || strings.HasPrefix(url, "http://") {
		return fmt.Sprintf(`<a href="%s">%s</a>`, shown, shown)
	}
	return shown
}

// newsHTML returns what differs with colours. What it says is in it as text only.
func newsHTML(news string) string {
	if news == "" {
		return ""
	}
	var b strings.Builder
	b.WriteString(`<pre style="font-family:monospace">` + "\n")
	for line := range strings.SplitSeq(news, "\n") {
		style := ""
		switch {
		case strings.HasPrefix(line, "+"):
			style = ` style="background:#e6ffec"`
		case strings.HasPrefix(line, "-"):
			style = ` style="background:#ffebe9"`
		}
		fmt.Fprintf(&b, "<span%s>%s</span>\n", style, html.EscapeString(line))
	}
	b.WriteString("</pre>\n")
	return b.String()
}

// A mailer hands messages to an SMTP server, each over a connection of its own.
type mailer struct {
	*Outlet
	dial func(ctx context.Context, network, address string) (net.Conn, error)
}

func (m *mailer) close() error { return nil }

func (m *mailer) send(ctx context.Context, f filled, msg Message) (string, error) {
	u, err := url.Parse(f.url)
	if err != nil || u.Hostname() == "" {
		return "", fmt.Errorf("the url is not that of an SMTP server")
	}
	security := f.settings["tls"]
	port := u.Port()
	switch {
	case u.Scheme == "smtps" && security == "":
		security = "tls"
	case security == "":
		security = "starttls"
	}
	if port == "" {
		port = map[bool]string{true: "465", false: "587"}[security == "tls"]
	}
	conn, err := m.dial(ctx, "tcp", net.JoinHostPort(u.Hostname(), port))
	if err != nil {
		return "", err
	}
	defer conn.Close()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	if security == "tls" {
		secure := tls.Client(conn, m.cfg.TLS(u.Hostname()))
		if err := secure.HandshakeContext(ctx); err != nil {
			return "", fmt.Errorf("TLS handshake with %s: %w", u.Host, err)
		}
		conn = secure
	}
	answer, err := m.deliver(conn, u.Hostname(), security, f, msg)
	if said, ok := errors.AsType[*textproto.Error](err); ok {
		return "", &Refusal{Status: said.Code, Text: quoted([]byte(said.Msg)), Mail: true}
	}
	return answer, err
}

// deliver speaks SMTP over a connection.
func (m *mailer) deliver(conn net.Conn, host, security string, f filled, msg Message) (string, error) {
	c, err := smtp.NewClient(conn, host)
	if err != nil {
		return "", err
	}
	defer c.Close()
	if err := c.Hello("freshet"); err != nil {
		return "", err
	}
	if security == "starttls" {
		if ok, _ := c.Extension("STARTTLS"); !ok {
			return "", freshet.WithHint(errors.New("the server offers no STARTTLS"), "use smtps:// if it speaks TLS from the beginning, or set tls (mail.tls in the settings) to none to send in the clear")
		}
		if err := c.StartTLS(m.cfg.TLS(host)); err != nil {
			return "", err
		}
	}
	if user := f.settings["user"]; user != "" {
		if err := c.Auth(mailAuth(c, user, f.settings["password"], host)); err != nil {
			return "", err
		}
	}
	from, err := stdmail.ParseAddress(senderOf(f.settings["from"], f.settings["to"]))
	if err != nil {
		return "", err
	}
	to, err := stdmail.ParseAddressList(f.settings["to"])
	if err != nil {
		return "", err
	}
	if err := c.Mail(from.Address); err != nil {
		return "", err
	}
	for _, one := range to {
		if err := c.Rcpt(one.Address); err != nil {
			return "", err
		}
	}
	w, err := c.Data()
	if err != nil {
		return "", err
	}
	if _, err := w.Write(msg.Body); err != nil {
		return "", err
	}
	if err := w.Close(); err != nil {
		return "", err
	}
	answer := "250 accepted"
	if d, ok := w.(*smtp.DataCloser); ok && d.ServerResponse() != "" {
		answer = d.ServerResponse()
	}
	_ = c.Quit() // it has the message, whatever it says now
	return answer, nil
}

// mailAuth returns how to log in: with PLAIN, or with LOGIN if the server offers that alone.
func mailAuth(c *smtp.Client, user, password, host string) smtp.Auth {
	_, offered := c.Extension("AUTH")
	if mechanisms := strings.Fields(strings.ToUpper(offered)); slices.Contains(mechanisms, "LOGIN") && !slices.Contains(mechanisms, "PLAIN") {
		return smtp.LoginAuth(user, password, host, false)
	}
	return smtp.PlainAuth("", user, password, host, false)
}

// takeMail reads smtp://user:password@host:port/?from=...&to=...
func takeMail(s *Sink, u shorthand) error {
	if u.Host == "" {
		return u.wrong("USER:PASSWORD@HOST:PORT/?from=FROM&to=TO")
	}
	s.Kind, s.URL = "email", u.text(u.Scheme+"://"+u.Host)
	if u.User != nil {
		u.set(s, "user", u.User.Username())
		u.set(s, "password", u.password())
	}
	q := u.Query()
	for _, names := range [][]string{{"from", "fromaddress"}, {"to", "toaddresses"}, {"subject"}} {
		for name, value := range q {
			if slices.Contains(names, strings.ToLower(name)) && len(value) > 0 {
				u.set(s, names[0], value[0])
			}
		}
	}
	return nil
}
