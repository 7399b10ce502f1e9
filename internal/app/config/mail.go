package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/mail"
	"net/url"

	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/sinks"
)

// mailSettings are the server of e-mail sinks that name none.
type mailSettings struct {
	Server, From, User, TLS string
	Password                profile.Value
}

// MailPassword is the key of the password at the mail server.
const MailPassword = "mail.password"

var mailOptions = []Option{
	{Key: "mail.server", Help: "SMTP server of e-mail sinks that name none, such as smtp://mail.example:587, or smtps://mail.example:465 for TLS from the beginning", live: true,
		set: setMailServer, show: func(s Settings) any { return s.Mail.Server }},
	{Key: "mail.from", Help: "address that e-mail comes from (default the first receiver)", live: true,
		set: setMailFrom, show: func(s Settings) any { return s.Mail.From }},
	{Key: "mail.user", Help: "name at the mail server", live: true,
		set: func(s *Settings, v string) error { s.Mail.User = v; return nil }, show: func(s Settings) any { return s.Mail.User }},
	{Key: MailPassword, Help: "password at the mail server, such as ${env:NAME}, ${file:/path} or ${secret:NAME}; one that is set over the API is stored encrypted, for this server alone", live: true,
		set: setMailPassword, show: func(s Settings) any { return showReference(s.Mail.Password) }},
	{Key: "mail.tls", Help: "how the connection to the mail server is secured: starttls, tls or none (default starttls for smtp, tls for smtps)", live: true,
		set: oneOf(func(s *Settings) *string { return &s.Mail.TLS }, "starttls", "tls", "none", ""), show: func(s Settings) any { return s.Mail.TLS }},
}

func setMailServer(s *Settings, v string) error {
	u, err := url.Parse(v)
	switch {
	case v == "":
	case err != nil || u.Scheme != "smtp" && u.Scheme != "smtps" || u.Hostname() == "":
		return errors.New("is not a URL such as smtp://mail.example:587")
	case u.User != nil:
		return errors.New("must not have a user or a password; set mail.user and mail.password")
	case u.Path != "" && u.Path != "/" || u.RawQuery != "":
		return fmt.Errorf("must end with the host or the port, and not with %q", u.RequestURI())
	}
	s.Mail.Server = v
	return nil
}

func setMailFrom(s *Settings, v string) error {
	if _, err := mail.ParseAddress(v); v != "" && err != nil {
		return fmt.Errorf("%q is not an address such as freshet@mail.example", v)
	}
	s.Mail.From = v
	return nil
}

func setMailPassword(s *Settings, v string) (err error) {
	s.Mail.Password, err = parseSecret(v)
	return err
}

// MailServer returns the mail server as a sink.
func (s *Settings) MailServer() (sinks.Sink, error) {
	return sinks.Sink{Kind: "email", URL: literal(s.Mail.Server), Origin: cmp.Or(map[From]freshet.Origin{FromAPI: freshet.FromAPI}[s.From(MailPassword)], freshet.FromFile),
		Settings: map[string]profile.Value{"from": literal(s.Mail.From), "user": literal(s.Mail.User), "password": s.Mail.Password, "tls": literal(s.Mail.TLS)}}, nil
}
