package main

import (
	"fmt"
	"strconv"
	"time"

	"freshet"
)

// fetchOptions bound what one poll may take. A zero leaves the default of
// package fetch.
var fetchOptions = []option{
	{key: "fetch.agent", help: "User-Agent",
		set: text(func(s *settings) *string { return &s.fetch.Agent }), show: func(s settings) any { return s.fetch.Agent }},
	fetchTime("dns_timeout", func(s *settings) *time.Duration { return &s.fetch.DNSTimeout }),
	fetchTime("dial_timeout", func(s *settings) *time.Duration { return &s.fetch.DialTimeout }),
	fetchTime("tls_timeout", func(s *settings) *time.Duration { return &s.fetch.TLSTimeout }),
	fetchTime("header_timeout", func(s *settings) *time.Duration { return &s.fetch.HeaderTimeout }),
	fetchTime("body_idle", func(s *settings) *time.Duration { return &s.fetch.BodyIdle }),
	fetchTime("total", func(s *settings) *time.Duration { return &s.fetch.Total }),
	fetchSize("min_rate", func(s *settings) *int64 { return &s.fetch.MinRate }),
	fetchSize("header_bytes", func(s *settings) *int64 { return &s.fetch.HeaderBytes }),
	fetchSize("wire_bytes", func(s *settings) *int64 { return &s.fetch.WireBytes }),
	fetchSize("decoded_bytes", func(s *settings) *int64 { return &s.fetch.DecodedBytes }),
	fetchSize("ratio", func(s *settings) *int64 { return &s.fetch.Ratio }),
	{key: "fetch.redirects",
		set: count(func(s *settings) *int { return &s.fetch.Redirects }, -1), show: func(s settings) any { return s.fetch.Redirects }},
	{key: "fetch.ports", many: true, set: setPorts, show: func(s settings) any { return s.fetch.Ports }},
}

func fetchTime(key string, at func(*settings) *time.Duration) option {
	return option{key: "fetch." + key, set: length(at), show: func(s settings) any { return freshet.FormatDuration(*at(&s)) }}
}

func fetchSize(key string, at func(*settings) *int64) option {
	return option{key: "fetch." + key, set: size(at), show: func(s settings) any { return freshet.FormatSize(*at(&s)) }}
}

func setPorts(s *settings, v string) error {
	var ports []uint16
	for _, item := range splitList(v) {
		n, err := strconv.ParseUint(item, 10, 16)
		if err != nil || n == 0 {
			return fmt.Errorf("%q is not a port between 1 and 65535", item)
		}
		ports = append(ports, uint16(n))
	}
	s.fetch.Ports = ports
	return nil
}
