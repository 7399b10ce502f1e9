package config

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"freshet/internal/freshet"
	"freshet/internal/units"
)

// database reads the URL of a PostgreSQL database. The hint says what to write instead.
func database(field func(*Settings) *string, hint string) func(*Settings, string) error {
	return func(s *Settings, v string) error {
		if v != "" && !IsStore(v) {
			return freshet.WithHint(errors.New("is not the URL of a PostgreSQL database"), hint)
		}
		*field(s) = v
		return nil
	}
}

// IsStore reports whether a text is the URL of a PostgreSQL database.
func IsStore(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "postgres" || u.Scheme == "postgresql") && (u.Host != "" || u.RawQuery != "")
}

// withoutPassword returns the URL of a database as it may be shown.
func withoutPassword(store string) string {
	u, err := url.Parse(store)
	if err != nil {
		return ""
	}
	if _, has := u.User.Password(); has {
		u.User = url.User(u.User.Username())
	}
	q := u.Query()
	if q.Has("password") {
		q.Del("password")
		u.RawQuery = q.Encode()
	}
	return strings.TrimSuffix(u.String(), "?")
}

// setAdvertise takes the address under which other nodes reach the API.
func setAdvertise(s *Settings, v string) error {
	u, err := url.Parse(v)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || strings.Trim(u.Path, "/") != "" || u.RawQuery != "" || u.User != nil {
		return errors.New("is not an address such as http://10.0.0.1:8080")
	}
	s.Cluster.Advertise = u.Scheme + "://" + u.Host
	return nil
}

func setInsecure(s *Settings, v string) error {
	switch v {
	case "on", "true":
		s.Cluster.Insecure = true
	case "off", "false":
		s.Cluster.Insecure = false
	default:
		return fmt.Errorf("%q is not on or off", v)
	}
	return nil
}

func showInsecure(s Settings) any {
	if s.Cluster.Insecure {
		return "on"
	}
	return ""
}

// The shortest and the longest lease: within less a busy machine does not give its signs of
// life, and for more nobody wants to wait.
const (
	leastLease = 500 * time.Millisecond
	mostLease  = time.Minute
)

// What a node does while another decides.
const (
	WarmStandby = "warm" // it follows what is decided, to take over at once
	ColdStandby = "cold" // it reads everything when it takes over
)

// DefaultLease is how long a lease is if nobody says.
const DefaultLease = 5 * time.Second

// setLease takes how long a lease is.
func setLease(s *Settings, v string) error {
	d, err := units.ParseDuration(v)
	switch {
	case err != nil:
		return err
	case d < leastLease || d > mostLease:
		return fmt.Errorf("%q is not from %s to %s", v, units.FormatDuration(leastLease), units.FormatDuration(mostLease))
	}
	s.Cluster.Lease = d
	return nil
}

func showLease(s Settings) any {
	if s.Cluster.Lease == 0 || s.Cluster.Lease == DefaultLease {
		return ""
	}
	return units.FormatDuration(s.Cluster.Lease)
}
