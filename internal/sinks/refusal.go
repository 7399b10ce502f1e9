package sinks

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"freshet/internal/freshet"
)

const (
	maxAnswer = 16 << 10 // bytes of a response body that are read
	maxQuote  = 200      // bytes of it that an error repeats

	// maxRetryAfter is the longest that a receiver can send us away for.
	maxRetryAfter = 24 * time.Hour
)

// A Refusal is a receiver's answer that is not a success.
type Refusal struct {
	Status     int           // of HTTP or SMTP
	Text       string        // the beginning of what it said
	RetryAfter time.Duration // how long the receiver asked us to stay away
	Mail       bool          // the status is one of SMTP
}

// Error says what was answered.
func (r *Refusal) Error() string {
	name := http.StatusText(r.Status)
	if r.Mail {
		name = ""
	}
	text := strings.TrimSpace(fmt.Sprintf("the endpoint answered %d %s", r.Status, name))
	if r.Text != "" {
		text += fmt.Sprintf(": %q", r.Text)
	}
	return text
}

// advised says what can be done about an answer, if it is known.
func advised(r *Refusal) error {
	switch r.Status {
	case http.StatusUnauthorized, http.StatusForbidden:
		return freshet.WithHint(r, "the receiver does not know this sender; check the url of the sink, and the settings and headers with which it logs in")
	case http.StatusNotFound, http.StatusMethodNotAllowed:
		return freshet.WithHint(r, "there is no receiver at this url; check it, and the kind of the sink")
	}
	return r
}

// Gone reports whether the receiver wants no more deliveries at all.
func (r *Refusal) Gone() bool { return !r.Mail && r.Status == http.StatusGone }

// Unfit reports whether the receiver says that there is something wrong with this one
// message, so that it will hardly take it later.
func (r *Refusal) Unfit() bool {
	if r.Mail {
		return r.Status >= 550 && r.Status != 571
	}
	switch r.Status {
	case http.StatusBadRequest, http.StatusRequestEntityTooLarge, http.StatusUnsupportedMediaType, http.StatusUnprocessableEntity:
		return true
	}
	return false
}

// quoted returns the beginning of an answer.
func quoted(answer []byte) string {
	return strings.ToValidUTF8(string(answer[:min(len(answer), maxQuote)]), "\uFFFD")
}

// retryAfter reads how long a receiver wants to be left alone: from the Retry-After
// header, in seconds or as a date, or from where chat services say it in their answers.
func retryAfter(h http.Header, body []byte, now time.Time) time.Duration {
	value := strings.TrimSpace(h.Get("Retry-After"))
	if seconds, err := strconv.ParseUint(value, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) {
		return time.Duration(min(seconds, uint64(maxRetryAfter/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return min(max(at.Sub(now), 0), maxRetryAfter)
	}
	var said struct {
		Seconds    float64 `json:"retry_after"`
		Millis     float64 `json:"retry_after_ms"`
		Parameters struct {
			Seconds float64 `json:"retry_after"`
		} `json:"parameters"`
	}
	if json.Unmarshal(body, &said) != nil {
		return 0
	}
	seconds := max(said.Seconds, said.Parameters.Seconds, said.Millis/1000, 0)
	return time.Duration(min(seconds, maxRetryAfter.Seconds()) * float64(time.Second))
}
