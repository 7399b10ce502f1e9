package sinks

import (
	"context"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"strings"

	"freshet/internal/freshet"
	"freshet/internal/freshet/profile"
	"freshet/internal/invalid"
	"freshet/internal/mask"
	"freshet/internal/suggest"
	"golang.org/x/net/http/httpguts"
)

// A Setting is what a kind of sink needs or takes besides a URL.
type Setting struct {
	Name   string `json:"name"`
	About  string `json:"about"`
	Needed bool   `json:"needed,omitempty"`
	Secret bool   `json:"secret,omitempty"` // nobody sees it again
}

// A Kind says what a kind of sink is.
type Kind struct {
	Name     string    `json:"name"`
	About    string    `json:"about"`
	URL      string    `json:"url,omitempty"` // what its URL is like; "" if it needs none
	Settings []Setting `json:"settings,omitempty"`
	Words    string    `json:"template,omitempty"` // its own; "" if it sends data
}

// A kind is all that differs between kinds of sink.
type kind struct {
	Kind
	secretURL bool     // the URL alone is enough to post
	command   bool     // the URL can be exec:COMMAND in the configuration file
	fileOnly  string   // why only the configuration file can have it; "" if the API can
	at        string   // the URL, if none is given
	spareURL  bool     // the URL can be missing; see Config.Mail
	schemes   []string // of its URL; none means http and https
	words     string
	check     func(Sink) error // beyond what is said here; may be nil
	frame     func(o *Outlet, e *Event, text string) ([]byte, error)
	open      func(*Outlet) (sender, error)
}

// secret reports whether nobody sees a setting again.
func (k *kind) secret(name string) bool {
	return name == summaryKey || slices.ContainsFunc(k.Settings, func(s Setting) bool { return s.Name == name && s.Secret })
}

// kinds are all kinds of sink.
var kinds = slices.Concat(eventKinds, chatKinds, []*kind{mailKind, appriseKind}, brokerKinds, []*kind{postgresKind}, localKinds)

// eventKinds send data to programs.
var eventKinds = []*kind{
	{Kind: Kind{Name: "webhook", About: "an HTTP endpoint that verifies signatures (Standard Webhooks)", URL: "https://hooks.example/freshet", Settings: []Setting{
		{Name: "secret", About: "signs requests: whsec_ and 24 to 64 bytes in base64", Secret: true},
		{Name: "unsigned", About: "true sends without a signature"},
	}}, check: checkWebhook, frame: frameEvent, open: posting(postWebhook)},
	{Kind: Kind{Name: "cloudevents", About: "an HTTP endpoint that takes CloudEvents 1.0", URL: "https://events.example/", Settings: []Setting{
		{Name: "mode", About: "structured, or binary, which has all but the data in headers"},
	}}, check: oneOf("mode", "structured", "binary"), frame: frameEvent, open: posting(postEvent)},
	{Kind: Kind{Name: "json", About: "an HTTP endpoint that takes plain JSON, with the diff", URL: "https://hooks.example/any", Settings: []Setting{
		{Name: "method", About: "POST, PUT or PATCH"}, {Name: "content_type", About: "of what a template makes"},
	}}, check: oneOf("method", "POST", "PUT", "PATCH", "post", "put", "patch"), frame: framePlain, open: posting(postPlain)},
}

// chatKinds tell people.
var chatKinds = []*kind{
	{Kind: Kind{Name: "slack", About: "an incoming webhook of Slack", URL: "https://hooks.slack.com/services/T000/B000/XXX"},
		secretURL: true, words: chatWords("*", "mrkdwn"), frame: textFrame("text", 3900, nil), open: posting(postChat)},
	{Kind: Kind{Name: "discord", About: "a webhook of Discord", URL: "https://discord.com/api/webhooks/ID/TOKEN"},
		secretURL: true, words: chatWords("**", "quiet"),
		frame: textFrame("content", 2000, map[string]any{"allowed_mentions": map[string]any{"parse": []string{}}}), open: posting(postChat)},
	{Kind: Kind{Name: "teams", About: "a workflow of Microsoft Teams that takes webhooks", URL: "https://example.logic.azure.com/workflows/..."},
		secretURL: true, words: teamsWords, frame: frameTeams, open: posting(postChat)},
	{Kind: Kind{Name: "telegram", About: "a bot of Telegram", URL: "https://api.telegram.org", Settings: []Setting{
		{Name: "token", About: "of the bot", Needed: true, Secret: true}, {Name: "chat", About: "ID of the chat, or @channel", Needed: true}, {Name: "thread", About: "number of the topic in the chat"},
	}}, at: "https://api.telegram.org", words: plainWords, frame: frameTelegram, open: posting(postTelegram)},
	{Kind: Kind{Name: "ntfy", About: "a topic of ntfy", URL: "https://ntfy.sh", Settings: []Setting{
		{Name: "topic", About: "where subscribers listen", Needed: true}, {Name: "token", About: "access token", Secret: true},
		{Name: "user", About: "name, instead of a token"}, {Name: "password", About: "of the user", Secret: true}, {Name: "priority", About: "1 to 5"},
	}}, at: "https://ntfy.sh", words: plainWords, frame: frameNtfy, open: posting(postNtfy)},
	{Kind: Kind{Name: "gotify", About: "a Gotify server", URL: "https://gotify.example", Settings: []Setting{
		{Name: "token", About: "of the application", Needed: true, Secret: true}, {Name: "priority", About: "0 to 10"},
	}}, words: plainWords, frame: frameGotify, open: posting(postGotify)},
	{Kind: Kind{Name: "matrix", About: "a room of Matrix", URL: "https://matrix.example", Settings: []Setting{
		{Name: "token", About: "access token of the account", Needed: true, Secret: true}, {Name: "room", About: "ID of the room, such as !abc:matrix.example", Needed: true},
	}}, words: plainWords, frame: frameMatrix, open: posting(postMatrix)},
	{Kind: Kind{Name: "mattermost", About: "an incoming webhook of Mattermost", URL: "https://mattermost.example/hooks/KEY", Settings: []Setting{
		{Name: "channel", About: "other than that of the webhook"}, {Name: "username", About: "shown as the sender"},
	}}, secretURL: true, words: chatWords("**", "quiet"), frame: frameMattermost, open: posting(postChat)},
	{Kind: Kind{Name: "googlechat", About: "a webhook of a Google Chat space", URL: "https://chat.googleapis.com/v1/spaces/SPACE/messages?key=KEY&token=TOKEN"},
		secretURL: true, words: chatWords("*", "quiet"), frame: textFrame("text", 4000, nil), open: posting(postChat)},
	{Kind: Kind{Name: "pagerduty", About: "a service of PagerDuty (Events API v2)", URL: "https://events.pagerduty.com", Settings: []Setting{
		{Name: "routing_key", About: "integration key of the service", Needed: true, Secret: true}, {Name: "severity", About: "critical, error, warning or info"},
	}}, at: "https://events.pagerduty.com", words: headline, check: oneOf("severity", "critical", "error", "warning", "info"),
		frame: framePagerDuty, open: posting(postPagerDuty)},
}

// oneOf returns a check that a setting is one of some words, or not there.
func oneOf(name string, words ...string) func(Sink) error {
	return func(s Sink) error {
		if v := string(s.Settings[name]); v != "" && !slices.Contains(words, v) {
			return &invalid.Error{Field: "settings." + name, Reason: fmt.Sprintf("%q is not one of %s", v, strings.Join(words, ", "))}
		}
		return nil
	}
}

// kindOf returns a kind by its name, or nil.
func kindOf(name string) *kind {
	for _, k := range kinds {
		if k.Name == name {
			return k
		}
	}
	return nil
}

// Kinds returns all kinds of sink.
func Kinds() (all []Kind) {
	for _, k := range kinds {
		shown := k.Kind
		shown.Words = k.words
		all = append(all, shown)
	}
	return all
}

// Check judges a sink and returns it in its normal form: a URL whose scheme names a
// service is taken apart. The error is an *invalid.Error. Secrets are not looked up.
func Check(cfg Config, s Sink) (Sink, error) {
	s, err := s.CheckCommon()
	if err != nil {
		return s, err
	}
	if s, err = takeApart(cfg, s); err != nil {
		return s, err
	}
	k := kindOf(s.Kind)
	if k == nil {
		var known []string
		for _, k := range kinds {
			known = append(known, k.Name)
		}
		if s.Kind == "" {
			return s, freshet.WithHint(invalid.Errorf("kind", "is missing, and the URL does not tell it"),
				fmt.Sprintf("freshet sink add %s URL --kind json adds a sink that gets JSON; freshet sink kinds lists the other kinds", s.Name))
		}
		return s, invalid.Errorf("kind", "there is no kind %q%s; the kinds are %s", s.Kind, suggest.DidYouMean(s.Kind, known), strings.Join(known, ", "))
	}
	if s.Origin != freshet.FromFile {
		if k.fileOnly != "" {
			return s, invalid.Errorf("kind", "%s", k.fileOnly)
		}
		if field := s.Local(); field != "" {
			return s, freshet.WithHint(invalid.Errorf(field, "only sinks in the configuration file can use files and environment variables"),
				"keep the secret with freshet settings secret set NAME --host HOST and refer to it as ${secret:NAME}, or put the sink into the file")
		}
	}
	if err := k.checkSettings(s); err != nil {
		return s, err
	}
	if s.URL == "" {
		s.URL = profile.Value(k.at)
	}
	if err := k.checkURL(cfg, &s); err != nil {
		return s, err
	}
	if k.check != nil {
		if err := k.check(s); err != nil {
			return s, err
		}
	}
	if _, err := modelOf(cfg, s); err != nil {
		return s, err
	}
	return s, checkWords(s)
}

// checkWords tries the template of a sink on samples.
func checkWords(s Sink) error {
	if s.Template == "" {
		return nil
	}
	_, err := sampled(s)
	return err
}

// sampled returns what the template of a sink makes of a sample.
func sampled(s Sink) (string, error) {
	w, err := parseWords(s.Template)
	if err != nil {
		return "", err
	}
	first := ""
	for i, e := range samples(s) {
		text, err := w.render(e)
		if err != nil {
			return "", err
		}
		if i == 0 {
			first = text
		}
	}
	return first, nil
}

// samples are what a template is tried on: a change or, if the sink follows queries, a match
// and a digest.
func samples(s Sink) []*Event {
	ctx := context.Background()
	if len(s.Queries) == 0 {
		c, texts := Sample("check", sampleTime)
		return []*Event{NewEvent(ctx, c, "", texts)}
	}
	return []*Event{newBatchEvent(ctx, SampleBatch("check", s.Queries[0], 1, sampleTime), ""), newBatchEvent(ctx, SampleBatch("check", s.Queries[0], 2, sampleTime), "")}
}

// checkSettings reports missing and unknown settings.
func (k *kind) checkSettings(s Sink) error {
	var known []string
	for _, one := range k.Settings {
		known = append(known, one.Name)
		if one.Needed && s.Settings[one.Name] == "" {
			return invalid.Errorf("settings."+one.Name, "is missing; %s needs it: %s", k.Name, one.About)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(s.Settings)) {
		if !slices.Contains(known, name) && !slices.Contains(summarySettings, name) {
			return invalid.Errorf("settings."+name, "%s has no setting %q%s", k.Name, name, suggest.DidYouMean(name, known))
		}
	}
	if len(s.Headers) > 0 && len(k.schemes) > 0 {
		return invalid.Errorf("headers", "%s sends no HTTP requests", k.Name)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Headers)) {
		switch {
		case !httpguts.ValidHeaderFieldName(name):
			return invalid.Errorf("headers", "%.80q is not the name of a header", name)
		case !profile.ValidHeaderValue(string(s.Headers[name])):
			return invalid.Errorf("headers."+name, "contains a line break or another control character")
		}
	}
	return nil
}

// checkURL judges a URL as far as it is known before its secrets are.
func (k *kind) checkURL(cfg Config, s *Sink) error {
	if k.URL == "" {
		if s.URL != "" {
			return invalid.Errorf("url", "%s has no url", k.Name)
		}
		return nil
	}
	if s.URL == "" && k.spareURL {
		return nil
	}
	if s.URL == "" {
		return invalid.Errorf("url", "is missing; %s needs one, such as %s", k.Name, k.URL)
	}
	refs, _ := s.URL.References() // they have been checked
	plain, err := s.URL.Expand(func(profile.Reference) (string, error) { return "x", nil })
	if err != nil || plain == "x" && len(refs) == 1 {
		return err
	}
	if len(k.schemes) > 0 {
		return k.checkScheme(plain)
	}
	if k.command && strings.HasPrefix(plain, "exec:") {
		if s.Origin != freshet.FromFile {
			return invalid.Errorf("url", "only sinks in the configuration file can run commands")
		}
		return nil
	}
	if u, err := url.Parse(plain); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return invalid.Errorf("url", "%q is not an http or https URL", mask.URL(plain))
	}
	normal, err := cfg.CheckURL(plain)
	if err != nil {
		return freshet.WithHint(invalid.Errorf("url", "%v", invalid.ReasonOf(err)), freshet.HintOf(err))
	}
	if len(refs) == 0 {
		s.URL = profile.Value(strings.ReplaceAll(normal, "${", "$${"))
	}
	return nil
}

// checkScheme judges a URL that is not one of HTTP.
func (k *kind) checkScheme(plain string) error {
	u, err := url.Parse(plain)
	if err != nil || !slices.Contains(k.schemes, u.Scheme) {
		return invalid.Errorf("url", "%q is not a URL such as %s", mask.URL(plain), k.URL)
	}
	return nil
}

// Shown returns a sink as it can be shown: without secrets. What refers to a secret is
// shown as it refers.
func Shown(s Sink) Sink {
	k := kindOf(s.Kind)
	refs, _ := s.URL.References()
	s.URL = profile.Value(mask.URL(string(s.URL)))
	if u, err := url.Parse(string(s.URL)); err == nil && k != nil && k.secretURL && len(refs) == 0 && u.Host != "" {
		s.URL = profile.Value(u.Scheme + "://" + u.Host + "/" + mask.Placeholder)
	}
	s.Settings, s.Headers = maps.Clone(s.Settings), maps.Clone(s.Headers)
	for name, v := range s.Settings {
		if refs, err := v.References(); (k == nil || k.secret(name)) && (err != nil || len(refs) == 0) {
			s.Settings[name] = mask.Placeholder
		}
	}
	for name, v := range s.Headers {
		if refs, err := v.References(); err != nil || len(refs) == 0 {
			s.Headers[name] = mask.Placeholder
		}
	}
	return s
}

// Restore returns an edited sink with the values that it was shown without: those that
// stand there as they were shown are as they were.
func Restore(edited, stored Sink) Sink {
	shown := Shown(stored)
	if edited.URL == shown.URL {
		edited.URL = stored.URL
	}
	for name, v := range edited.Settings {
		if v == shown.Settings[name] {
			edited.Settings[name] = stored.Settings[name]
		}
	}
	for name, v := range edited.Headers {
		if v == shown.Headers[name] {
			edited.Headers[name] = stored.Headers[name]
		}
	}
	return edited
}
