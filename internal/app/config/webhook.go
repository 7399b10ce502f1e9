package config

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"freshet/internal/fetch"
	"freshet/internal/fetch/auth"
	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/sinks"
)

// A Webhook is a receiver of changes, as configured.
type Webhook struct {
	Name, URL string
	Secret    string
	SecretEnv string // the variable that Secret came from
	Unsigned  bool
	Tags      []string
	Sources   []freshet.SourceID
}

// errUnset means that there is no secret where the file says it is.
var errUnset = errors.New("is not set")

// Complete fills in what follows from the rest and checks that all is there.
func (w *Webhook) Complete(env func(string) string) error {
	if w.URL == "" {
		return fmt.Errorf("the webhook has no url")
	}
	if w.Name == "" {
		return fmt.Errorf("the webhook has no name; add one, because its position in the change log is stored under it")
	}
	if w.SecretEnv != "" {
		if w.Secret != "" {
			return fmt.Errorf("has both secret and secret_env; remove one of them")
		}
		if w.Secret = env(w.SecretEnv); w.Secret == "" {
			return fmt.Errorf("secret_env: the environment variable %s %w", w.SecretEnv, errUnset)
		}
	}
	if w.Secret == "" && !w.Unsigned {
		return fmt.Errorf("has no secret; set secret_env or secret, or unsigned: true if the receiver does not check signatures")
	}
	return nil
}

// MissingSecrets returns the variables that webhooks want their secrets from and that
// are not set. There are none unless the settings were read without secrets.
func (s *Settings) MissingSecrets() (names []string) {
	for _, w := range s.Webhooks {
		if w.SecretEnv != "" && w.Secret == "" {
			names = append(names, w.SecretEnv)
		}
	}
	return names
}

// sink returns the webhook as a sink.
func (w Webhook) sink() sinks.Sink {
	s := sinks.Sink{
		Name: w.Name, Kind: "webhook", URL: literal(w.URL), Tags: w.Tags, Sources: w.Sources,
		Settings: map[string]profile.Value{}, Origin: freshet.FromFile,
	}
	switch {
	case w.Unsigned:
		s.Settings["unsigned"] = "true"
	case w.SecretEnv != "":
		s.Settings["secret"] = profile.Value("${env:" + w.SecretEnv + "}")
	default:
		s.Settings["secret"] = literal(w.Secret)
	}
	return s
}

// literal returns a text as a value that refers to nothing.
func literal(text string) profile.Value { return profile.Value(strings.ReplaceAll(text, "${", "$${")) }

// AllSinks returns all receivers of changes: the webhooks and the other sinks.
func (s *Settings) AllSinks() []sinks.Sink {
	all := make([]sinks.Sink, 0, len(s.Webhooks)+len(s.Sinks))
	for _, w := range s.Webhooks {
		all = append(all, w.sink())
	}
	return append(all, s.Sinks...)
}

// Outlets returns what outlets of sinks are made with. Requests are dated by now; nil
// means time.Now. Vault is where secrets are kept; nil means that there are none.
func (s *Settings) Outlets(env func(string) string, vault *secrets.Vault, now func() time.Time) sinks.Config {
	with := sinks.Config{
		Do: fetch.NewEgress(s.Fetch).Do, CheckURL: s.Fetch.CheckURL, Dial: s.Fetch.Dialer, TLS: s.Fetch.TLS,
		Secrets: auth.Secrets{Env: env, Vault: vault}, Exec: s.Media.Exec, Apprise: s.Apprise, Mail: s.MailServer, Base: s.API.URL, Now: now,
	}
	if vault != nil {
		with.Mac = vault.Mac
	}
	return with
}
