package main

import (
	"fmt"
	"strconv"
	"time"

	"freshet"
	"freshet/config"
)

// fetchOptions bound what one poll may take. A zero leaves the default of
// package fetch.
var fetchOptions = []option{
	{key: "fetch.agent", help: "User-Agent",
		set: text(func(s *config.Settings) *string { return &s.Fetch.Agent }), show: func(s config.Settings) any { return s.Fetch.Agent }},
	fetchTime("dns_timeout", func(s *config.Settings) *time.Duration { return &s.Fetch.DNSTimeout }),
	fetchTime("dial_timeout", func(s *config.Settings) *time.Duration { return &s.Fetch.DialTimeout }),
	fetchTime("tls_timeout", func(s *config.Settings) *time.Duration { return &s.Fetch.TLSTimeout }),
	fetchTime("header_timeout", func(s *config.Settings) *time.Duration { return &s.Fetch.HeaderTimeout }),
	fetchTime("body_idle", func(s *config.Settings) *time.Duration { return &s.Fetch.BodyIdle }),
	fetchTime("total", func(s *config.Settings) *time.Duration { return &s.Fetch.Total }),
	fetchSize("min_rate", func(s *config.Settings) *int64 { return &s.Fetch.MinRate }),
	fetchSize("header_bytes", func(s *config.Settings) *int64 { return &s.Fetch.HeaderBytes }),
	fetchSize("wire_bytes", func(s *config.Settings) *int64 { return &s.Fetch.WireBytes }),
	fetchSize("decoded_bytes", func(s *config.Settings) *int64 { return &s.Fetch.DecodedBytes }),
	fetchSize("ratio", func(s *config.Settings) *int64 { return &s.Fetch.Ratio }),
	{key: "fetch.redirects",
		set: count(func(s *config.Settings) *int { return &s.Fetch.Redirects }, -1), show: func(s config.Settings) any { return s.Fetch.Redirects }},
	{key: "fetch.ports", many: true, set: setPorts, show: func(s config.Settings) any { return s.Fetch.Ports }},
}

func fetchTime(key string, at func(*config.Settings) *time.Duration) option {
	return option{key: "fetch." + key, set: length(at), show: func(s config.Settings) any { return freshet.FormatDuration(*at(&s)) }}
}

func fetchSize(key string, at func(*config.Settings) *int64) option {
	return option{key: "fetch." + key, set: size(at), show: func(s config.Settings) any { return freshet.FormatSize(*at(&s)) }}
}

func setPorts(s *config.Settings, v string) error {
	var ports []uint16
	for _, item := range splitList(v) {
		n, err := strconv.ParseUint(item, 10, 16)
		if err != nil || n == 0 {
			return fmt.Errorf("%q is not a port between 1 and 65535", item)
		}
		ports = append(ports, uint16(n))
	}
	s.Fetch.Ports = ports
	return nil
}
