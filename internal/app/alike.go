package app

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"freshet/internal/app/config"
	"freshet/internal/freshet"
	"freshet/internal/units"
)

// alikeFact is where the node that decides says what others are to have in common with it.
const alikeFact = "alike"

// A likeness is what all nodes on a database are to have in common, by fingerprints. One that differs
// is noticed by nobody until it decides: then it polls other sources, tells other sinks or lets no
// hand in.
type likeness struct {
	Sources string `json:"sources"`
	Sinks   string `json:"sinks"`
	Token   string `json:"token"` // of hands
}

// likeness returns that of this node. Sources and sinks are gone through once for each file that is
// read; a token that cannot be read is told elsewhere.
func (s *service) likeness() (likeness, error) {
	print := func(what ...any) (string, error) {
		text, err := json.Marshal(what)
		return freshet.HashOf(text).String(), err
	}
	settings := s.inForce.Load()
	if s.likened.of != settings {
		sources, err := print(settings.Sources)
		if err != nil {
			return likeness{}, err
		}
		sinks, err := print(settings.Webhooks, settings.Sinks)
		if err != nil {
			return likeness{}, err
		}
		s.likened = likened{of: settings, is: likeness{Sources: sources, Sinks: sinks}}
	}
	l, token := s.likened.is, ""
	if settings.HandToken != "" {
		token, _ = ReadToken(settings.HandToken)
	}
	var err error
	l.Token, err = print(token)
	return l, err
}

// A likened is the likeness of settings, without what can change while they hold.
type likened struct {
	of *config.Settings
	is likeness
}

// noteLikeness has other nodes see what they are to have in common with this one, which decides.
func (s *service) noteLikeness(ctx context.Context, n *Node) error {
	own, err := s.likeness()
	if err != nil {
		return err
	}
	text, err := json.Marshal(own)
	if err != nil {
		return err
	}
	known, err := s.peers.Fact(ctx, alikeFact)
	if err != nil || known == string(text) {
		return err
	}
	return n.leads.SetFact(ctx, alikeFact, string(text))
}

// lookAtLikeness returns in what a node that stands by differs from the one that decides; nil if in
// nothing. It is logged once.
func (s *service) lookAtLikeness(ctx context.Context, b *standby) (problem error, err error) {
	known, err := s.peers.Fact(ctx, alikeFact)
	if err != nil {
		return nil, err
	}
	own, err := s.likeness()
	if err != nil {
		return nil, err
	}
	var brain likeness
	if json.Unmarshal([]byte(known), &brain) != nil { // of no version, or another
		brain = own
	}
	var differs []string
	if l := b.passer.leader.Load(); l != nil && l.Length != 0 && l.Length != s.lease {
		differs = append(differs, fmt.Sprintf("its lease is %s and not %s", units.FormatDuration(s.lease), units.FormatDuration(l.Length)))
	}
	for _, d := range []struct{ what, own, brain string }{
		{"it has another token of hands", own.Token, brain.Token},
		{"its configuration file has other sources", own.Sources, brain.Sources},
		{"its configuration file has other sinks", own.Sinks, brain.Sinks},
	} {
		if d.own != d.brain {
			differs = append(differs, d.what)
		}
	}
	if len(differs) == 0 {
		s.unlike = ""
		return nil, nil
	}
	problem = freshet.WithHint(errors.New("it differs from the node that decides, and goes by its own when it decides itself: "+strings.Join(differs, "; ")),
		"give all nodes the same --lease, --hand-token-file and configuration file")
	if s.unlike != problem.Error() {
		s.unlike = problem.Error()
		s.Log.Warn("this node is set up otherwise than the one that decides", "err", problem, "hint", freshet.HintOf(problem))
	}
	return problem, nil
}
