package main

import (
	"fmt"
	"strings"
	"time"

	"freshet/client"
	"freshet/internal/freshet"
)

// heldInWords says what is held, since when, and what becomes of it.
func heldInWords(id freshet.SourceID, h client.Withheld, now time.Time) string {
	words := fmt.Sprintf("version %d, since %s (%s), seen in %s; ", h.Version, h.Since.Local().Format(time.DateTime), ago(h.Since, now), counted(h.Looks, "poll"))
	if !h.Again.IsZero() {
		words += "next look at " + h.Again.Local().Format(time.TimeOnly) + "; "
	}
	return words + fmt.Sprintf("%s; if this is the page now: freshet confirm %s", h.Next, id)
}

// quietInWords counts versions that were stored and not reported.
func quietInWords(q client.Quiets) string {
	var parts []string
	if q.Suspect > 0 {
		parts = append(parts, counted(q.Suspect, "suspect version"))
	}
	if q.Noise > 0 {
		parts = append(parts, counted(q.Noise, "version")+" with noise only")
	}
	return strings.Join(parts, ", ")
}
