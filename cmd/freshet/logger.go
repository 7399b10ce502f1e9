package main

import (
	"io"
	"log/slog"
	"time"

	"github.com/lmittmann/tint"

	"freshet/internal/mask"
)

// newLogger returns a logger to w in the form that was set. The level can be
// changed while it is in use.
func (p *program) newLogger(w io.Writer, form string, level *slog.LevelVar) *slog.Logger {
	switch {
	case form == "json":
		return slog.New(slog.NewJSONHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: logged}))
	case p.colours(w):
		return slog.New(tint.NewTextHandler(w, &tint.Options{Level: level, TimeFormat: time.TimeOnly, ReplaceAttr: logged}))
	}
	return slog.New(slog.NewTextHandler(w, &slog.HandlerOptions{Level: level, ReplaceAttr: logged}))
}

// mostLogged is how many bytes of a value go into the log.
const mostLogged = 2000

// logged returns what goes into the log of a value: no secrets, and not too much.
func logged(_ []string, a slog.Attr) slog.Attr {
	text := ""
	switch v := a.Value.Any().(type) {
	case string:
		text = v
	case error:
		text = v.Error()
	default:
		return a
	}
	if shown := mask.Shorten(mask.Text(text), mostLogged); shown != text {
		a.Value = slog.StringValue(shown)
	}
	return a
}

// levelOf returns the level that a setting names. The setting has been checked.
func levelOf(name string) slog.Level {
	var l slog.Level
	if err := l.UnmarshalText([]byte(name)); err != nil {
		return slog.LevelInfo
	}
	return l
}
