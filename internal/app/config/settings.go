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
	"freshet/internal/cluster/identity"
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
	File    string // that they were read from; "" if none was
	Data    string // the data directory; "" if there is no place for one
	Store   string // URL of the PostgreSQL database that has sources and history; "" means the data directory
	Secrets string // directory with secrets and their key; "" means the data directory

	API       APISettings
	Cluster   ClusterSettings
	Log       LogSettings
	Retention Retention

	Policy   string
	Aim      objective.Objective // of sources that have none, by themselves or by a tag
	Limits   sched.Limits
	Fetch    fetch.Config
	Render   browser.Config
	Memory   int64         // bytes that polls under way may hold together; 0 means by what there is
	Reserve  int64         // bytes of the disk to keep free; 0 means by how large it is, less means none
	Media    auth.Media    // beside the Web that may be watched
	NoSearch bool          // what versions say is not indexed
	Requests auth.Profiles // that sources build on, by name

	Webhooks   []Webhook
	Sinks      []sinks.Sink // beside the webhooks
	Queries    []queries.Query
	Levels     []freshet.TagLevel
	Strategies []freshet.TagStrategy // of all sources with a tag that have none of their own
	Sources    freshet.PackedSources

	Doubts []string // what is allowed in the file and probably not meant

	said  map[string]From // where options have their values from, by key
	lines map[string]int  // of the file, of options and profiles of requests, by key
}

// APISettings say where the API is and who may use it.
type APISettings struct {
	Listen    string
	URL       string          // public, in events
	WebSubURL string          // under which hubs of feeds reach the API; "" means that no feed is subscribed to
	Names     []string        // that the API is called by, besides addresses
	Login     string          // who has to log in: auto, on or off
	Proxies   []netip.Prefix  // in front of the API, whose headers on where a request comes from are trusted
	Cert, Key string          // files with the certificate; "" means that of the bundle, or none
	OIDC      openid.Settings // where people log in besides; without an issuer there is no such place
}

// ClusterSettings say how nodes and workers work together.
type ClusterSettings struct {
	Advertise string        // where other nodes reach the API; "" means where it listens
	Bundle    string        // directory with what nodes share; "" if there is none
	CA        string        // file with the certificates by which nodes are verified; "" means the CA of the bundle, or those of the system
	Insecure  bool          // others may be reached over http
	Lease     time.Duration // after so long without a sign of life another node takes over; 0 means 5 s
	Standby   string        // what this node does while another leads: WarmStandby or ColdStandby; "" means the former
	Trusted   []string      // ids of tokens whose workers may see secrets in URLs
	TokenFile string        // with the token of workers on other machines; "" means that there are none
	OwnSlots  int           // polls that this machine makes at once beside theirs; less than 0 means the setting workers
}

// LogSettings say what is logged, and how.
type LogSettings struct {
	Level  string
	Format string
}

// Retention says how long history is kept.
type Retention struct {
	Keep  freshet.Keep
	Logs  time.Duration // outcomes of polls
	Audit time.Duration // the audit log
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
		Data: dataHome(env),
		API: APISettings{
			Listen: "127.0.0.1:8080", Login: "auto",
			OIDC: openid.Settings{Scopes: []string{"profile", "email"}, Groups: "groups", Session: units.Day},
		},
		Cluster:   ClusterSettings{OwnSlots: -1},
		Log:       LogSettings{Level: "info", Format: "text"},
		Retention: Retention{Logs: 30 * units.Day, Audit: 365 * units.Day},
		Policy:    policy.Default,
		Limits:    sched.DefaultLimits(),
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
func (s *Settings) SecretDir() string { return cmp.Or(s.Secrets, s.Cluster.Bundle, s.Data) }

// CAFile returns the file with the certificates by which nodes are verified; "" means those of the system.
func (s *Settings) CAFile() string {
	if s.Cluster.CA == "" && s.Cluster.Bundle != "" {
		return filepath.Join(s.Cluster.Bundle, identity.CAName)
	}
	return s.Cluster.CA
}

// UsesTLS reports whether the API is served over https.
func (s *Settings) UsesTLS() bool { return s.Cluster.Bundle != "" || s.API.Cert != "" }

// checkTLS returns what is wrong with the settings of TLS, and takes what the bundle has.
func (s *Settings) checkTLS() error {
	if (s.API.Cert == "") != (s.API.Key == "") {
		return freshet.WithHint(errors.New("tls.cert and tls.key go together"), "set both with --tls-cert and --tls-key, or neither")
	}
	if s.Cluster.Bundle != "" && s.Cluster.TokenFile == "" {
		s.Cluster.TokenFile = filepath.Join(s.Cluster.Bundle, identity.TokenName)
	}
	return nil
}

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
