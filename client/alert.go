package client

import (
	"context"

	"freshet/internal/freshet"
)

// A NewAlert says what to be notified of about one source, and where. All that it needs is made in one
// transaction: the source or its new values, a query, and what the sink follows.
type NewAlert struct {
	Watch  *NewSource       `json:"watch,omitempty" doc:"A source to add for the alert, as POST /sources takes it"`
	Source freshet.SourceID `json:"source,omitempty" doc:"ID of a watched source instead"`
	Tag    string           `json:"tag,omitempty" doc:"All sources with this tag instead, in one alert"`
	Edit   Patch            `json:"edit,omitempty" doc:"What is to be edited of that source for the alert, as PATCH /sources/{id} takes it, such as extract"`

	When string `json:"when,omitempty" doc:"What to be notified of: a short form such as price < 100, price falls by 5%, \"sold out\" appears, back in stock, new items or stops working, or a condition in CEL; anything that changes if it is left out"`
	To   string `json:"to,omitempty" doc:"Where to send, besides where a changed alert is sent already: the name of a sink, an e-mail address, or the URL of a new sink. An e-mail address needs the setting mail.server"`

	ID      string `json:"id,omitempty" doc:"ID of the query of an alert, to change that alert instead of adding one"`
	Name    string `json:"name,omitempty" doc:"For people; made of the source and the condition if it is left out"`
	Trigger string `json:"trigger,omitempty" enum:"becomes,first,each,poll" doc:"As in a query"`
	For     string `json:"for,omitempty" doc:"How long the condition must hold, or the change must last, such as 10m; 0 for not at all"`
	Repeat  string `json:"repeat,omitempty" doc:"Send it again after this length of time, such as 30m, until somebody acknowledges it; 0 for never"`
	Digest  string `json:"digest,omitempty" doc:"Send what happens together, such as daily 08:00 Europe/Berlin; never for each by itself"`
}

// An Alert is what a NewAlert has made, or would make.
type Alert struct {
	Query  Query   `json:"query"`
	Source *Source `json:"source,omitempty" doc:"The source, unless nothing was made"`
	Sink   string  `json:"sink,omitempty" doc:"Name of the sink that gets its matches"`
	Words  string  `json:"words,omitempty" doc:"The condition in words, if it is one of the short forms"`
}

// Alerts are queries about one source or those with a tag, with the sinks that follow them.
type Alerts struct{ adder[NewAlert, Alert] }

// Preview returns what an alert would make, and makes nothing.
func (a Alerts) Preview(ctx context.Context, n NewAlert) (Alert, error) {
	return post[Alert](ctx, a.c, a.at("preview"), nil, n)
}

// An AlertTest says where a sample is sent.
type AlertTest struct {
	To string `json:"to" doc:"As that of an alert"`
}
