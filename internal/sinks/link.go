package sinks

import (
	"crypto/hmac"
	"encoding/base32"
	"errors"
	"strconv"
	"strings"
	"time"

	"freshet/internal/queries"
	"freshet/internal/units"
)

// An Action is what a link in a message does.
type Action string

// The actions.
const (
	Acknowledge Action = "acknowledge" // the matches of the query up to a number
	Stop        Action = "stop"        // what the sink gets of the query, or all of it
)

// A Link in a message authorizes one action without a login.
type Link struct {
	Action  Action
	Sink    string
	Query   queries.ID // "" if the sink gets changes
	Number  int64      // of the newest match of the message
	Expires time.Time
}

// linkLife is how long the links of a message work.
const linkLife = 30 * units.Day

// Why a link does nothing.
var (
	ErrLinkInvalid = errors.New("the link is not valid")
	ErrLinkExpired = errors.New("the link has expired")
)

// linkLetters have no character that a chat reads as markup.
var linkLetters = base32.HexEncoding.WithPadding(base32.NoPadding)

// Token returns the link as text, signed by mac.
func (l Link) Token(mac func(label string) (string, error)) (string, error) {
	said := strings.Join([]string{string(l.Action), l.Sink, string(l.Query), strconv.FormatInt(l.Number, 10), strconv.FormatInt(l.Expires.Unix(), 10)}, "\n")
	signature, err := mac("link\n" + said)
	return strings.ToLower(linkLetters.EncodeToString([]byte(said))) + "." + signature, err
}

// ReadLink returns the link that Token made. One that is not signed by mac is ErrLinkInvalid.
func ReadLink(token string, mac func(label string) (string, error), now time.Time) (l Link, err error) {
	text, signature, _ := strings.Cut(token, ".")
	said, err := linkLetters.DecodeString(strings.ToUpper(text))
	if err != nil {
		return l, ErrLinkInvalid
	}
	want, err := mac("link\n" + string(said))
	if err != nil {
		return l, err
	}
	parts := strings.Split(string(said), "\n")
	if !hmac.Equal([]byte(signature), []byte(want)) || len(parts) != 5 {
		return l, ErrLinkInvalid
	}
	number, err := strconv.ParseInt(parts[3], 10, 64)
	expires, atErr := strconv.ParseInt(parts[4], 10, 64)
	if err != nil || atErr != nil {
		return l, ErrLinkInvalid
	}
	l = Link{Action(parts[0]), parts[1], queries.ID(parts[2]), number, time.Unix(expires, 0)}
	if !now.Before(l.Expires) {
		return l, ErrLinkExpired
	}
	return l, nil
}

// A linker makes the links of an event.
type linker struct {
	base string
	link Link // without an action
	acks bool // its matches are repeated until they are acknowledged
	stop bool // there is something to stop that is not in the configuration file
	mac  func(label string) (string, error)
}

// linksOf returns what makes the links of an event for a sink.
func (o *Outlet) linksOf(e *Event) linker {
	l := linker{
		base: strings.TrimSuffix(o.cfg.Base, "/"), mac: o.cfg.Mac, stop: o.sink.Origin != "file" || e.Query != "",
		link: Link{Sink: o.sink.Name, Query: e.Query, Expires: o.cfg.Now().Add(linkLife)},
	}
	if e.batch != nil {
		l.link.Number, l.acks = e.batch.To, e.batch.Repeats
	}
	return l
}

func (l linker) to(a Action) (string, error) {
	if l.base == "" || l.mac == nil {
		return "", nil
	}
	l.link.Action = a
	token, err := l.link.Token(l.mac)
	return l.base + "/links/" + token, err
}

// AckLink returns where the matches of the event can be acknowledged; "" if they need not be.
func (e *Event) AckLink() (string, error) {
	if !e.links.acks {
		return "", nil
	}
	return e.links.to(Acknowledge)
}

// StopLink returns where the messages of this kind can be stopped; "" if there is no public URL.
func (e *Event) StopLink() (string, error) {
	if !e.links.stop {
		return "", nil
	}
	return e.links.to(Stop)
}

// Foot says why the message is sent, and has the links to acknowledge and to stop it.
func (e *Event) Foot() (string, error) {
	ack, err := e.AckLink()
	if err != nil {
		return "", err
	}
	stop, err := e.StopLink()
	foot := e.Why()
	if stop != "" {
		foot = strings.Replace(foot, "Stop or change it:", "Change it:", 1) + "\nStop these messages: " + stop
	}
	if ack != "" {
		foot = "Acknowledge it, or it is sent again: " + ack + "\n" + foot
	}
	return foot, err
}
