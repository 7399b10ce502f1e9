package config

import (
	"fmt"
	"net/mail"
	"net/url"
	"strconv"
	"strings"
	"time"

	"freshet/internal/units"
)

// fetchOptions bound what one poll may take. A zero leaves the default of
// package fetch.
var fetchOptions = []Option{
	{Key: "fetch.agent", Help: "User-Agent (default freshet/...)",
		set: text(func(s *Settings) *string { return &s.Fetch.Agent }), show: func(s Settings) any { return s.Fetch.Agent }},
	{Key: "fetch.contact", Help: "web page or e-mail address at which you can be reached; it is added to the User-Agent",
		set: setContact, show: func(s Settings) any { return s.Fetch.Contact }},
	fetchTime("dns_timeout", "longest time to look up a name (default 5s)", func(s *Settings) *time.Duration { return &s.Fetch.DNSTimeout }),
	fetchTime("dial_timeout", "longest time to connect (default 10s)", func(s *Settings) *time.Duration { return &s.Fetch.DialTimeout }),
	fetchTime("tls_timeout", "longest time of a TLS handshake (default 10s)", func(s *Settings) *time.Duration { return &s.Fetch.TLSTimeout }),
	fetchTime("header_timeout", "longest time until the header of a response (default 15s)", func(s *Settings) *time.Duration { return &s.Fetch.HeaderTimeout }),
	fetchTime("body_idle", "longest time without a byte of the body (default 15s)", func(s *Settings) *time.Duration { return &s.Fetch.BodyIdle }),
	fetchTime("total", "longest time of a poll, with its redirects (default 60s)", func(s *Settings) *time.Duration { return &s.Fetch.Total }),
	fetchSize("min_rate", "least bytes a second of a body (default 1KB)", func(s *Settings) *int64 { return &s.Fetch.MinRate }),
	fetchSize("header_bytes", "largest header (default 256KB)", func(s *Settings) *int64 { return &s.Fetch.HeaderBytes }),
	fetchSize("wire_bytes", "largest body as it is received (default 8MB)", func(s *Settings) *int64 { return &s.Fetch.WireBytes }),
	fetchSize("decoded_bytes", "largest body after it is unpacked (default 32MB)", func(s *Settings) *int64 { return &s.Fetch.DecodedBytes }),
	fetchSize("ratio", "most that a body may grow when it is unpacked (default 100)", func(s *Settings) *int64 { return &s.Fetch.Ratio }),
	{Key: "fetch.redirects", Help: "most redirects to follow; -1 means none (default 5)",
		set: count(func(s *Settings) *int { return &s.Fetch.Redirects }, -1), show: func(s Settings) any { return s.Fetch.Redirects }},
	{Key: "fetch.ports", Help: "ports that may be polled on public addresses (default 80, 443, 8080, 8443)", Many: true, set: setPorts, show: func(s Settings) any { return s.Fetch.Ports }},
}

func fetchTime(key, help string, at func(*Settings) *time.Duration) Option {
	return Option{Key: "fetch." + key, Help: help, set: lengthIn(10*time.Millisecond, time.Hour, at), show: func(s Settings) any { return units.FormatDuration(*at(&s)) }}
}

func fetchSize(key, help string, at func(*Settings) *int64) Option {
	return Option{Key: "fetch." + key, Help: help, set: size(at), show: func(s Settings) any { return units.FormatSize(*at(&s)) }}
}

func setPorts(s *Settings, v string) error {
	var ports []uint16
	for _, item := range SplitList(v) {
		n, err := strconv.ParseUint(item, 10, 16)
		if err != nil || n == 0 {
			return fmt.Errorf("%q is not a port from 1 to 65535", item)
		}
		ports = append(ports, uint16(n))
	}
	s.Fetch.Ports = ports
	return nil
}

// setContact takes a URL or an e-mail address that can stand in a header.
func setContact(s *Settings, v string) error {
	u, err := url.Parse(v)
	isURL := err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
	address, err := mail.ParseAddress(v)
	isMail := err == nil && address.Address == v
	if !isURL && !isMail || len(v) > 200 || strings.ContainsFunc(v, func(r rune) bool { return r <= ' ' || r >= 0x7f || strings.ContainsRune("();<>", r) }) {
		return fmt.Errorf("%q is not a web page such as https://example.org/bot or an e-mail address", v)
	}
	s.Fetch.Contact = v
	return nil
}
