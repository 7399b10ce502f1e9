package config

import (
	"cmp"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"freshet/internal/freshet/objective"
	"freshet/internal/invalid"
	"freshet/internal/sched"
	"freshet/internal/sched/policy"
	"freshet/internal/suggest"
	"freshet/internal/units"
)

// An Option is one thing to set: the same by a key of the file, a variable of
// the environment or a flag.
type Option struct {
	Key    string // in the file, with a dot before what is nested
	Env    string
	Flag   string // "" if there is none
	Arg    string // what the flag takes, for its help
	Help   string
	Switch bool // a flag without a value turns it on
	Many   bool // a list in the file, a flag that can be repeated, commas in the environment

	items itemReader // of a list of sections, which the environment and the API give whole; nil otherwise

	live bool // a reload takes it on, and it can be set over the API
	zero bool // nothing is not its default, and is shown
	set  func(*Settings, string) error
	show func(Settings) any // as it would be written in the file
}

// options are all of them, in the order in which they are shown.
var options = named(slices.Concat([]Option{
	{Key: "data", Flag: "data", Arg: "DIR", Help: "directory for sources and history (default $XDG_DATA_HOME/freshet or ~/.local/share/freshet)",
		set: text(func(s *Settings) *string { return &s.Data }), show: func(s Settings) any { return s.Data }},
	{Key: "store", Flag: "store", Arg: "URL", Help: "PostgreSQL database for sources and history, instead of a file in the data directory",
		set: database(func(s *Settings) *string { return &s.Store }, "write postgres://USER@HOST:PORT/DATABASE; for a directory use data"), show: func(s Settings) any { return withoutPassword(s.Store) }},
	{Key: "secrets", Flag: "secrets", Arg: "DIR", Help: "directory for passwords, tokens and their key (secret.key); nodes on one database share it, or a copy of the key (default the data directory)",
		set: text(func(s *Settings) *string { return &s.Secrets }), show: func(s Settings) any { return s.Secrets }},
	{Key: "listen", Flag: "listen", Arg: "ADDR", Help: "address of the API; port 0 picks a free one (default 127.0.0.1:8080)",
		set: setListen, show: func(s Settings) any { return s.API.Listen }},
	{Key: "api.url", Help: "public URL of the API, used in events",
		set: text(func(s *Settings) *string { return &s.API.URL }), show: func(s Settings) any { return s.API.URL }},
	{Key: "api.names", Help: "host names that the API accepts, besides IP addresses and localhost", Many: true,
		set: func(s *Settings, v string) error { s.API.Names = SplitList(v); return nil }, show: func(s Settings) any { return s.API.Names }},
	{Key: "api.login", Help: "who has to log in: auto (everybody, except people on this machine while there are no users), on (everybody) or off (nobody; for a proxy in front that asks for a password) (default auto)",
		set: oneOf(func(s *Settings) *string { return &s.API.Login }, "auto", "on", "off"), show: func(s Settings) any { return s.API.Login }},
	{Key: "api.proxies", Help: "addresses of proxies in front of the API, such as 127.0.0.1/32, whose X-Forwarded-For and X-Forwarded-Proto are believed", Many: true,
		set: setAPIProxies, show: func(s Settings) any { return s.API.Proxies }},
}, oidcOptions, []Option{
	{Key: "budget", Flag: "budget", Arg: "N/TIME", Help: "most requests to make, such as 500/s or 10/30s (default 60/m)", live: true,
		set: (*Settings).SetBudget, show: func(s Settings) any { return s.Limits.Budget.String() }},
	{Key: "policy", Flag: "policy", Arg: "NAME", Help: "how to choose what to poll (default " + policy.Default + ", which learns when each source changes); docs/reference/configuration.md describes the others",
		set: (*Settings).SetPolicy, show: func(s Settings) any { return s.Policy }},
	{Key: "aim", Flag: "aim", Arg: "AIM", Help: "what polls are for, of sources that do not say: captures (see as many changes as possible), freshness (have up-to-date copies as much of the time as possible) or age (copies that are never out of date for long); only auto heeds it (default captures)", live: true,
		set: (*Settings).SetAim, show: func(s Settings) any { return string(cmp.Or(s.Aim, objective.Captures)) }},
	{Key: "source_gap", Flag: "source-gap", Arg: "TIME", Help: "least time between two polls of a source that has no min_gap of its own; 0s means none (default 10s)", live: true, zero: true,
		set: lengthIn(time.Millisecond, units.Day, func(s *Settings) *time.Duration { return &s.Limits.SourceGap }), show: func(s Settings) any { return units.FormatDuration(s.Limits.SourceGap) }},
	{Key: "source_share", Flag: "source-share", Arg: "SHARE", Help: "most of the budget that one source may use; 100% means no limit (default 50%)", live: true, zero: true,
		set: share(func(s *Settings) *float64 { return &s.Limits.SourceShare }), show: func(s Settings) any { return showShare(s.Limits.SourceShare) }},
	{Key: "hosts.delay", Flag: "host-delay", Arg: "TIME", Help: "least time between two polls of one host (default 1s)", live: true, zero: true,
		set: lengthIn(time.Millisecond, units.Day, func(s *Settings) *time.Duration { return &s.Limits.Hosts.Delay }), show: func(s Settings) any { return units.FormatDuration(s.Limits.Hosts.Delay) }},
	{Key: "hosts.concurrency", Help: "most polls of one host at the same time, if hosts.delay is 0", live: true,
		set: count(func(s *Settings) *int { return &s.Limits.Hosts.Concurrency }, 1), show: func(s Settings) any { return s.Limits.Hosts.Concurrency }},
	{Key: "hosts.share", Flag: "host-share", Arg: "SHARE", Help: "most of the budget that the sources of one host may use together; 100% means no limit (default 90%)", live: true, zero: true,
		set: share(func(s *Settings) *float64 { return &s.Limits.Hosts.Share }), show: func(s Settings) any { return showShare(s.Limits.Hosts.Share) }},
	{Key: "hosts.crawl_delay", Flag: "crawl-delay", Arg: "TIME", Help: "longest pause between requests to a host that its robots.txt can ask for (Crawl-delay); 0s means robots.txt is not read for that (default 1m)", live: true, zero: true,
		set: lengthIn(time.Second, units.Day, func(s *Settings) *time.Duration { return &s.Limits.Hosts.CrawlDelay }), show: func(s Settings) any { return units.FormatDuration(s.Limits.Hosts.CrawlDelay) }},
	{Key: "robots", Help: "whether to poll a page only if the robots.txt of its site allows it, for sources that do not say (default ignore)", live: true,
		set: setRobots, show: func(s Settings) any { return showRobots(s.Limits.Hosts.Obey) }},
	{Key: "hints", Flag: "hints", Arg: "TIME", Help: "longest time that a server's max-age or a feed's ttl can delay a poll; 0s ignores them (default 1h)", live: true, zero: true,
		set: lengthIn(time.Second, 7*units.Day, func(s *Settings) *time.Duration { return &s.Limits.Hints }), show: func(s Settings) any { return units.FormatDuration(s.Limits.Hints) }},
	{Key: "workers", Help: "most polls at the same time; one that waits for a slow server for more than a second gives its place to another, up to 8 times as many", live: true,
		set: count(func(s *Settings) *int { return &s.Limits.Workers }, 1), show: func(s Settings) any { return s.Limits.Workers }},
	{Key: "advertise", Flag: "advertise", Arg: "URL", Help: "where other nodes on the same database and workers reach the API, such as http://10.0.0.1:8080 (default from listen)",
		set: setAdvertise, show: func(s Settings) any { return s.Cluster.Advertise }},
	{Key: "bundle", Flag: "bundle", Arg: "DIR", Help: "what the nodes of a cluster share, as made by freshet cluster init: the API then uses TLS, and secrets and hand-token-file are those of the bundle",
		set: text(func(s *Settings) *string { return &s.Cluster.Bundle }), show: func(s Settings) any { return s.Cluster.Bundle }},
	{Key: "tls.cert", Flag: "tls-cert", Arg: "FILE", Help: "certificate of the API in PEM; the API then uses TLS, and takes on a new file at once",
		set: text(func(s *Settings) *string { return &s.API.Cert }), show: func(s Settings) any { return s.API.Cert }},
	{Key: "tls.key", Flag: "tls-key", Arg: "FILE", Help: "key of the certificate in PEM",
		set: text(func(s *Settings) *string { return &s.API.Key }), show: func(s Settings) any { return s.API.Key }},
	{Key: "tls.ca", Flag: "ca", Arg: "FILE", Help: "CA certificates in PEM by which nodes are verified (default those of the bundle, or else of the system)",
		set: text(func(s *Settings) *string { return &s.Cluster.CA }), show: func(s Settings) any { return s.Cluster.CA }},
	{Key: "insecure_cluster", Flag: "insecure-cluster", Arg: "on|off", Switch: true, Help: "let nodes and workers on other machines use http, over which everybody on the way reads passwords and pages",
		set: setInsecure, show: showInsecure},
	{Key: "lease", Flag: "lease", Arg: "TIME", Help: "how long other nodes on the same database wait for a sign of life before one takes over; the same on all of them (default 5s)",
		set: setLease, show: showLease},
	{Key: "standby", Flag: "standby", Arg: "HOW", Help: "while another node on the same database decides: warm follows it to take over at once, cold saves the memory and reads everything then (default warm)",
		set: oneOf(func(s *Settings) *string { return &s.Cluster.Standby }, WarmStandby, ColdStandby), show: func(s Settings) any { return s.Cluster.Standby }},
	{Key: "hands.token_file", Flag: "hand-token-file", Arg: "FILE", Help: "let workers on other machines join with the token in this file (freshet cluster worker --join)",
		set: text(func(s *Settings) *string { return &s.Cluster.TokenFile }), show: func(s Settings) any { return s.Cluster.TokenFile }},
	{Key: "hands.own_slots", Flag: "own-slots", Arg: "N", Help: "most polls that this machine makes itself at the same time when workers may join; 0 leaves to them all that they can do (default the setting workers)",
		set: count(func(s *Settings) *int { return &s.Cluster.OwnSlots }, 0), show: showOwnSlots},
	{Key: "hands.trusted", Help: "ids of tokens (freshet user token list) whose workers may poll URLs with secrets, such as ?key=...; other workers are not given such sources", Many: true,
		set: func(s *Settings, v string) error { s.Cluster.Trusted = SplitList(v); return nil }, show: func(s Settings) any { return s.Cluster.Trusted }},
	{Key: "memory", Flag: "memory", Arg: "SIZE", Help: "most memory that running polls may use together, such as 512MB (default a quarter of the memory, at most 1GB)",
		set: size(func(s *Settings) *int64 { return &s.Memory }), show: func(s Settings) any { return units.FormatSize(s.Memory) }},
	{Key: "allow_cidr", Flag: "allow-cidr", Arg: "CIDR", Help: "private addresses that may be polled, such as 127.0.0.0/8", Many: true,
		set: setAllow, show: func(s Settings) any { return s.Fetch.Allow }},
	{Key: "allow_proxy", Help: "proxies that requests may go through, as host:port", Many: true,
		set: setProxies, show: func(s Settings) any { return s.Fetch.Proxies }},
	{Key: "websub_url", Help: "public URL of this daemon, for feeds that say by WebSub when they change; off if absent",
		set: setWebSub, show: func(s Settings) any { return s.API.WebSubURL }},
	{Key: "apprise", Help: "Apprise API server, such as http://HOST:8000, for sinks whose URL only Apprise understands",
		set: setApprise, show: func(s Settings) any { return s.Apprise }},
	{Key: "allow_exec", Help: "run commands for sources of the configuration file (exec:)",
		set: setExec, show: func(s Settings) any { return s.Media.Exec }},
	{Key: "allow_files", Help: "directories whose files may be watched (file:)", Many: true,
		set: setFiles, show: func(s Settings) any { return s.Media.Files }},
	{Key: "log.level", Flag: "log-level", Arg: "LEVEL", Help: "least important level to log: debug, info, warn or error (default info)", live: true,
		set: oneOf(func(s *Settings) *string { return &s.Log.Level }, "debug", "info", "warn", "error"), show: func(s Settings) any { return s.Log.Level }},
	{Key: "log.format", Flag: "log-format", Arg: "FORM", Help: "log format: text or json (default text)",
		set: oneOf(func(s *Settings) *string { return &s.Log.Format }, "text", "json"), show: func(s Settings) any { return s.Log.Format }},
	{Key: "keep.age", Help: "delete versions that were replaced longer ago than this", live: true,
		set: lengthIn(time.Minute, ever, func(s *Settings) *time.Duration { return &s.Retention.Keep.Age }), show: func(s Settings) any { return units.FormatDuration(s.Retention.Keep.Age) }},
	{Key: "keep.versions", Help: "most versions to keep, of all sources together", live: true,
		set: count(func(s *Settings) *int { return &s.Retention.Keep.Versions }, 0), show: func(s Settings) any { return s.Retention.Keep.Versions }},
	{Key: "keep.bytes", Help: "most bytes of versions to keep, of all sources together", live: true,
		set: size(func(s *Settings) *int64 { return &s.Retention.Keep.Bytes }), show: func(s Settings) any { return units.FormatSize(s.Retention.Keep.Bytes) }},
	{Key: "keep.total", Help: "largest size of the data directory; the oldest versions are deleted first", live: true,
		set: size(func(s *Settings) *int64 { return &s.Retention.Keep.Total }), show: func(s Settings) any { return units.FormatSize(s.Retention.Keep.Total) }},
	{Key: "keep.logs", Help: "how long to keep the results of polls", live: true,
		set: lengthIn(time.Minute, ever, func(s *Settings) *time.Duration { return &s.Retention.Logs }), show: func(s Settings) any { return units.FormatDuration(s.Retention.Logs) }},
	{Key: "keep.audit", Help: "how long to keep the log of who changed what (default 365d)",
		set: lengthIn(units.Day, ever, func(s *Settings) *time.Duration { return &s.Retention.Audit }), show: func(s Settings) any { return units.FormatDuration(s.Retention.Audit) }},
	{Key: "search", Help: "index what versions say, for freshet search: on or off (default on)",
		set: setSearch, show: showSearch},
	{Key: "reserve", Flag: "reserve", Arg: "SIZE", Help: "disk space to leave free, such as 1GB; polling stops when less is free; 0 means none (default 2% of the disk, from 256MiB to 4GiB)",
		set: setReserve, show: showReserve},
}, mailOptions, fetchOptions, renderOptions, listOptions))

// Options returns all that can be set, in the order in which it is shown.
func Options() []Option { return slices.Clone(options) }

// FlagOption returns the option that a flag sets. There must be one.
func FlagOption(flag string) Option {
	return options[slices.IndexFunc(options, func(o Option) bool { return o.Flag == flag })]
}

// named fills in the names of the variables: after the flag if there is one,
// and otherwise after the key.
func named(list []Option) []Option {
	for i, o := range list {
		name := o.Flag
		if name == "" {
			name = o.Key
		}
		list[i].Env = "FRESHET_" + strings.ToUpper(strings.NewReplacer("-", "_", ".", "_").Replace(name))
	}
	return list
}

func text(at func(*Settings) *string) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		if v == "" {
			return fmt.Errorf("must not be empty")
		}
		*at(s) = v
		return nil
	}
}

func oneOf(at func(*Settings) *string, known ...string) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		if !slices.Contains(known, v) {
			return fmt.Errorf("%q is not one of %s%s", v, strings.Join(known, ", "), suggest.DidYouMean(v, known))
		}
		*at(s) = v
		return nil
	}
}

// ever is longer than anything is kept.
const ever = 1<<63 - 1

// lengthIn reads a length of time that is zero or within bounds.
func lengthIn(least, most time.Duration, at func(*Settings) *time.Duration) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		d, err := units.ParseDuration(v)
		switch {
		case err != nil:
			return err
		case d != 0 && d < least:
			return fmt.Errorf("%q is too short; the shortest allowed is %s", v, units.FormatDuration(least))
		case d > most:
			return fmt.Errorf("%q is too long; the longest allowed is %s", v, units.FormatDuration(most))
		}
		*at(s) = d
		return nil
	}
}

// share reads a part of the budget. None of it means that nothing is held back,
// which is the same as all.
func share(at func(*Settings) *float64) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		x, err := units.ParseShare(v)
		if err == nil {
			*at(s) = x
		}
		return err
	}
}

func showShare(x float64) string {
	if x == 0 {
		x = 1
	}
	return units.FormatShare(x)
}

func size(at func(*Settings) *int64) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		n, err := units.ParseSize(v)
		if err == nil {
			*at(s) = n
		}
		return err
	}
}

func setReserve(s *Settings, v string) error {
	n, err := units.ParseSize(v)
	switch {
	case err != nil:
		return err
	case n == 0:
		s.Reserve = -1
	default:
		s.Reserve = n
	}
	return nil
}

func showReserve(s Settings) any {
	switch {
	case s.Reserve < 0:
		return "0B"
	case s.Reserve == 0: // by how large the disk is
		return ""
	}
	return units.FormatSize(s.Reserve)
}

func count(at func(*Settings) *int, least int) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		n, err := strconv.Atoi(v)
		if err != nil || n < least {
			return fmt.Errorf("%q is not a whole number; use %d or more", v, least)
		}
		*at(s) = n
		return nil
	}
}

func setListen(s *Settings, v string) error {
	host, port, err := net.SplitHostPort(v)
	if err != nil {
		return fmt.Errorf("%q is not an address with a port, such as 127.0.0.1:8080", v)
	}
	if n, err := strconv.Atoi(port); err != nil || n < 0 || n > 65535 {
		return fmt.Errorf("%q does not end with a port from 0 to 65535", v)
	}
	s.API.Listen = net.JoinHostPort(host, port)
	return nil
}

// SetBudget reads a budget.
func (s *Settings) SetBudget(v string) error {
	b, err := sched.ParseBudget(v)
	if err != nil {
		return invalid.ReasonOf(err)
	}
	s.Limits.Budget = b
	return nil
}

// SetPolicy takes on the policy called v.
func (s *Settings) SetPolicy(v string) error {
	if _, err := policy.New(v, policy.Setting{}); err != nil {
		return fmt.Errorf("%w%s", invalid.ReasonOf(err), suggest.DidYouMean(v, policy.Names))
	}
	s.Policy = v
	return nil
}

// SetAim takes on what polls are for.
func (s *Settings) SetAim(v string) error {
	aim, err := objective.ParseObjective(v)
	if err == nil && aim == "" {
		return fmt.Errorf("must not be empty; use %s", objective.ObjectiveNames())
	}
	s.Aim = aim
	return invalid.ReasonOf(err)
}

func setAllow(s *Settings, v string) (err error) {
	prefixes, err := ParsePrefixes(v)
	if err == nil {
		s.Fetch.Allow = prefixes
	}
	return err
}

func showOwnSlots(s Settings) any {
	if s.Cluster.OwnSlots < 0 {
		return ""
	}
	return strconv.Itoa(s.Cluster.OwnSlots) // none is not the default
}

func setAPIProxies(s *Settings, v string) error {
	prefixes, err := ParsePrefixes(v)
	if err == nil {
		s.API.Proxies = prefixes
	}
	return err
}

// setApprise sets the Apprise API server.
func setApprise(s *Settings, v string) error {
	if u, err := url.Parse(v); v != "" && (err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "") {
		return fmt.Errorf("%q is not an http or https URL", v)
	}
	s.Apprise = v
	return nil
}
