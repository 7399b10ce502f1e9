package app

import (
	"fmt"
	"os"
	"time"

	"freshet/internal/app/config"
	"freshet/internal/fetch/secrets"
	"freshet/internal/freshet"
	"freshet/internal/sinks"
	"freshet/internal/sinks/delivery"
)

// outlets returns a function that opens sinks with the given settings, the mail server in force, and the pictures of a store.
func outlets(s config.Settings, store freshet.Store, mail func() (sinks.Sink, error), now func() time.Time) func(sinks.Sink) (*sinks.Outlet, error) {
	with := s.Outlets(os.Getenv, secrets.Open(s.SecretDir()), now)
	with.Mail, with.Difference, with.Answers = mail, delivery.Difference(store), sinks.NewAnswers(store)
	return func(to sinks.Sink) (*sinks.Outlet, error) { return sinks.Open(with, to) }
}

// checkSinks returns an error if one of the sinks cannot be opened.
func checkSinks(to []sinks.Sink, open func(sinks.Sink) (*sinks.Outlet, error)) error {
	for _, one := range to {
		o, err := open(one)
		if err != nil {
			return fmt.Errorf("sink %s: %w", one.Name, err)
		}
		if err := o.Close(); err != nil {
			return fmt.Errorf("sink %s: %w", one.Name, err)
		}
	}
	return nil
}
