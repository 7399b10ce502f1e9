package config

import (
	"time"

	"freshet/internal/units"
)

// renderOptions say with which browser pages are rendered, and bound what one page may
// take. A zero leaves the default of package render.
var renderOptions = []Option{
	{Key: "render.browser", Help: "path of Chromium, for sources with render (default: the first one in PATH)",
		set: text(func(s *Settings) *string { return &s.Render.Browser }), show: func(s Settings) any { return s.Render.Browser }},
	{Key: "render.browsers", Help: "most browsers at the same time (default 1)",
		set: count(func(s *Settings) *int { return &s.Render.Browsers }, 1), show: func(s Settings) any { return s.Render.Browsers }},
	{Key: "render.timeout", Help: "longest time to render one page (default 1m)",
		set: lengthIn(time.Second, 10*time.Minute, func(s *Settings) *time.Duration { return &s.Render.Total }), show: func(s Settings) any { return units.FormatDuration(s.Render.Total) }},
	{Key: "render.memory", Help: "most memory that one browser may use (default 1GiB)",
		set: size(func(s *Settings) *int64 { return &s.Render.Memory }), show: func(s Settings) any { return units.FormatSize(s.Render.Memory) }},
	{Key: "render.requests", Help: "most requests that one rendered page may make (default 200)",
		set: count(func(s *Settings) *int { return &s.Render.Requests }, 1), show: func(s Settings) any { return s.Render.Requests }},
	{Key: "render.bytes", Help: "most bytes that one rendered page may load (default 32MiB)",
		set: size(func(s *Settings) *int64 { return &s.Render.Bytes }), show: func(s Settings) any { return units.FormatSize(s.Render.Bytes) }},
}
