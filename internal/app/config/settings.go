package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"time"

	"freshet/internal/auth/openid"
	"freshet/internal/fetch"
	"freshet/internal/fetch/auth"
	"freshet/internal/fetch/browser"
	"freshet/internal/freshet"
	"freshet/internal/freshet/objective"
	"freshet/internal/queries"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/sinks"
	"freshet/internal/units"
)

// Settings are all that an operator can set. They come, the later ones winning, from the
// defaults, what was set over the API, the file, the environment and the flags.
type Settings struct {
	File     string // that they were read from; "" if none was
	Data     string // the data directory; "" if there is no place for one
	Store    string // URL of the PostgreSQL database that has sources and history; "" means the data directory
	Secrets  string // directory with secrets and their key; "" means the data directory
	Listen   string
	Policy   string
	Aim      objective.Objective // of sources that have none, by themselves or by a tag
	Limits   sched.Limits
	Fetch    fetch.Config
	Render   browser.Config
	Keep     freshet.Keep
	Memory   int64         // bytes that polls under way may hold together; 0 means by what there is
	Logs     time.Duration // how long outcomes of polls are kept
	Reserve  int64         // bytes of the disk to keep free; 0 means by how large it is, less means none
	LogLevel string
	LogForm  string

	PublicURL string   // of the API, in events
	WebSubURL string   // under which hubs of feeds reach the API; "" means that no feed is subscribed to
	Names     []string // that the API is called by, besides addresses

	Advertise string        // where other nodes reach the API; "" means where it listens
	Lease     time.Duration // after so long without a sign of life another node takes over; 0 means 5 s
	Standby   string        // what this node does while another decides: WarmStandby or ColdStandby; "" means the former

	HandToken string // file with the token that hands on other machines show; "" means that there are none
	OwnSlots  int    // looks that this machine makes at once beside theirs; less than 0 means as many as there are workers

	Login   string         // who has to log in: auto, on or off
	Proxies []netip.Prefix // in front of the API, whose word on where a request comes from is taken
	Audit   time.Duration  // how long the audit log is kept

	OIDC openid.Settings // where people log in besides; without an issuer there is no such place

	Media    auth.Media    // beside the Web that may be watched
	NoSearch bool          // what versions say is not indexed
	Requests auth.Profiles // that sources build on, by name
	Webhooks []Webhook
	Sinks    []sinks.Sink // beside the webhooks
	Queries  []queries.Query
	Levels   []freshet.TagLevel
	Sources  []freshet.Source

	Strategies []freshet.TagStrategy // of all sources with a tag that have none of their own
	Doubts     []string              // what is allowed in the file and probably not meant

	said  map[string]From // where options have their values from, by key
	lines map[string]int  // of the file, of options and profiles of requests, by key
}

// Wanted returns what is wanted of sources by their tags, and what polls are for where
// neither a source nor its tags say.
func (s Settings) Wanted() []freshet.TagLevel {
	if s.Aim == "" {
		return s.Levels
	}
	return append(slices.Clone(s.Levels), freshet.TagLevel{Aim: s.Aim})
}

// Defaults returns what holds where nothing else is said, in an environment.
func Defaults(env func(string) string) Settings {
	return Settings{
		Data:     dataHome(env),
		Listen:   "127.0.0.1:8080",
		Policy:   policy.Default,
		Limits:   sched.DefaultLimits(),
		Logs:     30 * 24 * time.Hour,
		OwnSlots: -1,

		Login:    "auto",
		Audit:    365 * 24 * time.Hour,
		OIDC:     openid.Settings{Scopes: []string{"profile", "email"}, Groups: "groups", Session: units.Day},
		LogLevel: "info",
		LogForm:  "text",
	}
}

// dataHome returns where data is kept if nothing else is said; "" if nobody knows.
func dataHome(env func(string) string) string {
	if dir := env("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "freshet")
	}
	if home := env("HOME"); home != "" {
		return filepath.Join(home, ".local", "share", "freshet")
	}
	return ""
}

// CheckData says what to do if there is no place to keep data.
func (s *Settings) CheckData() error {
	if s.Data != "" {
		return nil
	}
	hint := "set a directory with --data or FRESHET_DATA"
	if info, err := os.Stat("freshet-data"); err == nil && info.IsDir() { // where earlier versions kept it then
		hint += "; to keep using ./freshet-data, use --data freshet-data"
	}
	return freshet.WithHint(errors.New("no data directory: neither HOME nor XDG_DATA_HOME is set"), hint)
}

// SecretDir returns the directory with secrets and their key.
func (s *Settings) SecretDir() string { return cmp.Or(s.Secrets, s.Data) }

// CheckURL judges the URL of a source, and returns it in its normal form.
func (s *Settings) CheckURL(raw string) (string, error) { return s.Media.Check(raw, s.Fetch.CheckURL) }

func setSearch(s *Settings, v string) error {
	switch v {
	case "on", "true":
		s.NoSearch = false
	case "off", "false":
		s.NoSearch = true
	default:
		return fmt.Errorf("%q is not on or off", v)
	}
	return nil
}

func showSearch(s Settings) any {
	if s.NoSearch {
		return "off"
	}
	return "on"
}
