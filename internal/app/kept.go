package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"freshet/internal/app/config"
	"freshet/internal/freshet"
	"freshet/internal/store/postgres"
)

// What nodes know together: see [postgres.Peers].
const (
	settingsFact = "settings"   // that were set over the API, as JSON
	keyFact      = "secret.key" // by what to recognise the key of the secrets
)

// readKept returns what was set over the API. In a database where nothing was set yet that is
// what the data directory has.
func (s *service) readKept(ctx context.Context) (map[string]string, error) {
	return keptIn(ctx, s.peers, s.settings.Data)
}

// keptIn is readKept, of a database if there is one, or of a data directory.
func keptIn(ctx context.Context, peers *postgres.Peers, data string) (map[string]string, error) {
	if peers == nil {
		return config.ReadKept(data)
	}
	text, err := peers.Fact(ctx, settingsFact)
	switch {
	case err != nil:
		return nil, err
	case text == "":
		return config.ReadKept(data)
	}
	kept := map[string]string{}
	if err := json.Unmarshal([]byte(text), &kept); err != nil {
		return nil, fmt.Errorf("read what was set over the API: %w", err)
	}
	return kept, nil
}

// writeKept replaces what was set over the API.
func (s *service) writeKept(ctx context.Context, kept map[string]string) error {
	if s.peers == nil {
		return config.WriteKept(s.settings.Data, kept)
	}
	text, err := json.Marshal(kept)
	if err != nil {
		return err
	}
	return s.node.leads.SetFact(ctx, settingsFact, string(text))
}

// withKept returns settings with what was set over the API, if that is not in them already.
func (s *service) withKept(ctx context.Context, to config.Settings) (config.Settings, error) {
	if s.peers == nil {
		return to, nil
	}
	kept, err := s.readKept(ctx)
	if err == nil {
		err = to.TakeKept(kept, "the settings in "+s.peers.Name())
	}
	return to, err
}

// keyHint is what to do about a node that cannot decrypt what others have encrypted.
const keyHint = "copy secret.key from the data directory of another node to that of this one, or give all the same directory with --secrets DIR"

// errOtherKey means that this node could not read what others have encrypted.
var errOtherKey = freshet.WithHint(errors.New("it has not the secret.key of the other nodes: it answers and passes on requests, does not take over, and sends to no sink that was added over the API"),
	keyHint)

// checkKey compares the key of this node with that of the store.
func (s *service) checkKey(ctx context.Context) error {
	want, err := s.peers.Fact(ctx, keyFact)
	if err != nil || want == "" {
		return err
	}
	have, err := s.vault.Fingerprint()
	if err == nil && have != want {
		err = errOtherKey
	}
	if err != nil {
		err = keyProblem{err}
	}
	return err
}

// A keyProblem is why a node cannot decrypt what others have encrypted.
type keyProblem struct{ error }

// Unwrap returns the reason.
func (e keyProblem) Unwrap() error { return e.error }

// lookAtKey returns what is wrong with the key of a node that stands by; nil if nothing is. It is
// logged once: whoever starts a node is not to learn of it at the next election.
func (s *service) lookAtKey(ctx context.Context) (problem error, err error) {
	err = s.checkKey(ctx)
	p, is := errors.AsType[keyProblem](err)
	if !is {
		if err == nil {
			s.keyProblem = ""
		}
		return nil, err
	}
	if s.keyProblem != p.Error() {
		s.keyProblem = p.Error()
		s.Log.Warn("this node cannot decrypt what others have encrypted", "err", p.error, "hint", freshet.HintOf(p))
	}
	return p, nil
}

// noteKey has other nodes recognise the key, once there is one.
func (s *service) noteKey(ctx context.Context, n *Node) error {
	have, err := s.vault.Fingerprint()
	if err != nil || have == "" {
		return err
	}
	known, err := s.peers.Fact(ctx, keyFact)
	if err != nil || known != "" {
		return err
	}
	return n.leads.SetFact(ctx, keyFact, have)
}
