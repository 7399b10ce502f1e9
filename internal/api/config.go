package api

import (
	"context"
	"log/slog"
	"time"

	"freshet/client"
	"freshet/internal/auth"
	"freshet/internal/auth/openid"
	"freshet/internal/daemon"
	"freshet/internal/extract"
	fetchauth "freshet/internal/fetch/auth"
	"freshet/internal/freshet"
	"freshet/internal/freshet/reading"
	"freshet/internal/queries"
	"freshet/internal/search"
	"freshet/internal/sinks/delivery"
	"freshet/internal/sites/discovery"
	"freshet/internal/sites/frontier"
)

// A Store is the store with what only the API reads.
type Store interface {
	discovery.Store

	// CountOutcomes counts the outcomes after a place of polls that began at a time or later, by the
	// stretches of a length in which they began. It returns up to which place of the log it counted.
	CountOutcomes(ctx context.Context, after freshet.Cursor, since time.Time, length time.Duration) ([]freshet.OutcomeCount, freshet.Cursor, error)

	// FirstChange returns the place in the log before the first change that was seen at a time or later.
	FirstChange(ctx context.Context, since time.Time) (freshet.Cursor, error)

	// ChangesByDay counts the changes between two places of the log that were seen at a time or later, by
	// source and day of UTC.
	ChangesByDay(ctx context.Context, after, upto freshet.Cursor, since time.Time) ([]freshet.DayCount, error)
}

// Config says what a handler serves. Store, Daemon, Auth.Gate and Sources.Check are required.
type Config struct {
	Store    Store
	Frontier *frontier.Store // of sites
	Daemon   *daemon.Daemon  // it need not be running

	Auth     AuthConfig
	Sources  SourceConfig
	Search   SearchConfig
	Settings *SettingsConfig // nil means that nothing can be set
	Cluster  ClusterConfig
	Program  ProgramConfig

	QueryStore *queries.Store // required, like Store

	Queries *queries.Runner // nil means that queries are not run, though they can be edited
	Sinks   *delivery.Sinks // nil means none

	// Stop ends streams and long polls when it is closed. A server that shuts
	// down waits for them.
	Stop <-chan struct{}

	Base    string           // of the URLs in events, such as "https://freshet.example"
	Now     func() time.Time // the wall clock; nil means time.Now
	Metrics *Metrics         // nil means new ones
	Log     *slog.Logger     // nil means silence
}

// AuthConfig says who may call the API.
type AuthConfig struct {
	Gate *auth.Gate // identifies callers

	// Provider is where people can log in besides; nil means nowhere.
	Provider *openid.Provider

	// Hosts are the names under which the API is called, besides IP addresses
	// and localhost. Under another name a request is refused, because a page
	// of any site can have its name resolve to this machine. "*" means any.
	Hosts []string
}

// SourceConfig says how sources are judged and read.
type SourceConfig struct {
	// Check judges the URL of a source and returns it in its normal form, or
	// an *invalid.Error.
	Check func(rawURL string) (string, error)

	// Trust judges how a source that comes over the API is requested: it must not
	// have secrets sent that are not meant for its host. Nil means that all may.
	Trust func(freshet.Source) error

	// Read reads a stored response again, and Trace also reports what each step made of
	// it. Nil means that stored responses cannot be read.
	Read, Trace func(context.Context, reading.Recipe, freshet.Response) (extract.Reading, error)

	Hooks  *fetchauth.Hooks  // by which others report that a source has changed; nil means none
	WebSub *fetchauth.WebSub // subscriptions to feeds; nil means none
}

// SearchConfig says whether versions can be searched.
type SearchConfig struct {
	Off    bool // versions are not indexed
	Search func(context.Context, search.Request) (search.Result, error)

	// Index brings the index up to date before a search; nil if that is done elsewhere.
	Index func(context.Context) error
}

// SettingsConfig is how settings are read and changed while the daemon runs.
type SettingsConfig struct {
	Get func() client.Settings
	Set func(context.Context, client.SettingsEdit) (client.Settings, Bounds, error)
}

// value returns the value of a setting; "" without settings.
func (c *SettingsConfig) value(key string) string {
	if c == nil {
		return ""
	}
	for _, s := range c.Get().Items {
		if s.Key == key {
			return s.Value
		}
	}
	return ""
}

// ClusterConfig is the place of this process among the machines that work together.
type ClusterConfig struct {
	Forward Forward  // passes on what another node has to answer; nil means that this one decides
	Members *Cluster // nil means this machine alone

	// Sure reports whether no other process can have written since; nil means that none can.
	HoldsLease func() bool
}

// ProgramConfig is what the program reports of itself.
type ProgramConfig struct {
	Version string

	// Ready returns why the program is not ready although the daemon is; nil means that
	// there is nothing else to wait for.
	Ready func() error

	Reload  func(context.Context) error // of the configuration; nil means that there is none
	Size    func() (int64, error)       // of the store, in bytes; nil means unknown
	Browser func() client.Browser       // that renders pages, or why it cannot; nil means none
}

func (c Config) withDefaults() Config {
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	if c.Metrics == nil {
		c.Metrics = NewMetrics()
	}
	return c
}
