package config

import (
	"errors"
	"fmt"
	"time"

	"freshet"
	"freshet/deliver"
	"freshet/fetch"
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

// Sink returns what sends to a webhook. It dates requests by now; nil means
// time.Now.
func (s *Settings) Sink(w Webhook, now func() time.Time) (*deliver.Webhook, error) {
	url, err := s.Fetch.CheckURL(w.URL)
	if err != nil {
		return nil, fmt.Errorf("webhook %s: %w", w.Name, err)
	}
	sink, err := deliver.NewWebhook(deliver.WebhookConfig{
		Name: w.Name, URL: url, Secret: w.Secret, Unsigned: w.Unsigned, Send: fetch.NewEgress(s.Fetch).Do, Now: now,
	})
	if err != nil {
		return nil, fmt.Errorf("webhook %s: %w", w.Name, err)
	}
	return sink, nil
}
