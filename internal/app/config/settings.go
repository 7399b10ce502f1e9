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

	people "freshet/internal/auth"
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

	Mail       mailSettings
	Apprise    string // URL of the Apprise API server of sinks that do not name one; "" if there is none
	Webhooks   []Webhook
	Sinks      []sinks.Sink // beside the webhooks
	Queries    []queries.Query
	Users      []people.User // without passwords
	Levels     []freshet.TagLevel
	Strategies []freshet.TagStrategy // of all sources with a tag that have none of their own
	Sources    freshet.PackedSources

	Doubts []string // what is allowed in the file and probably not meant

	said  map[string]From // where options have their values from, by key
	lines map[string]int  // of the file, of options and profiles of requests, by key
}

// APISettings are the address of the API and who may use it.
type APISettings struct {
	Listen    string
	URL       string          // public URL, used in events
	WebSubURL string          // URL for WebSub hubs; "" disables WebSub
	Names     []string        // accepted host names, besides addresses
	Login     string          // who has to log in: auto, on or off
	Proxies   []netip.Prefix  // reverse proxies whose forwarding headers are trusted
	Cert, Key string          // certificate files; "" means the certificate of the bundle, or no TLS
	OIDC      openid.Settings // OpenID provider; none without an issuer
}

// ClusterSettings configure nodes and workers.
type ClusterSettings struct {
	Advertise string        // URL of the API for other nodes; "" means the listening address
	Bundle    string        // directory with the shared files of nodes; "" means none
	CA        string        // CA file that verifies nodes; "" means the CA of the bundle, or those of the system
	Insecure  bool          // permits http between machines
	Lease     time.Duration // after this time without a heartbeat another node takes over; 0 means 5 s
	Standby   string        // role while another node leads: WarmStandby or ColdStandby; "" means the former
	Trusted   []string      // IDs of tokens whose workers may see secrets in URLs
	TokenFile string        // file with the token of remote workers; "" means that none may join
	OwnSlots  int           // concurrent polls of this machine with remote workers; negative means the setting workers
}

// LogSettings configure the log.
type LogSettings struct {
	Level  string
	Format string
}

// Retention is how long history is kept.
type Retention struct {
	Keep  freshet.Keep
	Logs  time.Duration // outcomes of polls
	Audit time.Duration // the audit log
}

// Wanted returns the service levels by tag, ending with the default objective.
func (s Settings) Wanted() []freshet.TagLevel {
	if s.Aim == "" {
		return s.Levels
	}
	return append(slices.Clone(s.Levels), freshet.TagLevel{Aim: s.Aim})
}

// Defaults returns the default settings in an environment.
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

// dataHome returns the default data directory, or "" if there is none.
func dataHome(env func(string) string) string {
	if dir := env("XDG_DATA_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "freshet")
	}
	if home := env("HOME"); home != "" {
		return filepath.Join(home, ".local", "share", "freshet")
	}
	return ""
}

// CheckData returns an error if there is no data directory.
func (s *Settings) CheckData() error {
	if s.Data != "" {
		return nil
	}
	hint := "set a directory with --data or FRESHET_DATA"
	if info, err := os.Stat("freshet-data"); err == nil && info.IsDir() { // the default of earlier versions in that case
		hint += "; to keep using ./freshet-data, use --data freshet-data"
	}
	return freshet.WithHint(errors.New("no data directory: neither HOME nor XDG_DATA_HOME is set"), hint)
}

// SecretDir returns the directory with secrets and their key.
func (s *Settings) SecretDir() string { return cmp.Or(s.Secrets, s.Cluster.Bundle, s.Data) }

// CAFile returns the CA file that verifies nodes; "" means the CAs of the system.
func (s *Settings) CAFile() string {
	if s.Cluster.CA == "" && s.Cluster.Bundle != "" {
		return filepath.Join(s.Cluster.Bundle, identity.CAName)
	}
	return s.Cluster.CA
}

// UsesTLS reports whether the API is served over https.
func (s *Settings) UsesTLS() bool { return s.Cluster.Bundle != "" || s.API.Cert != "" }

// checkTLS checks the TLS settings and completes them from the bundle.
func (s *Settings) checkTLS() error {
	if (s.API.Cert == "") != (s.API.Key == "") {
		return freshet.WithHint(errors.New("tls.cert and tls.key go together"), "set both with --tls-cert and --tls-key, or neither")
	}
	if s.Cluster.Bundle != "" && s.Cluster.TokenFile == "" {
		s.Cluster.TokenFile = filepath.Join(s.Cluster.Bundle, identity.TokenName)
	}
	return nil
}

// CheckURL checks the URL of a source and returns it in its normal form.
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
