package api

import (
	"context"
	"errors"
	"net/http"
	"slices"

	"freshet/internal/api/rest"
	"freshet/internal/auth"
	"freshet/internal/freshet"
	"freshet/internal/queries"
	"freshet/internal/sinks"
	"freshet/ui"
)

// linkAPI serves the links of messages. Programs that check mail follow links, so that a GET shows what a link
// does, and only a POST does it.
type linkAPI struct {
	*queryAPI
	show func(http.ResponseWriter, *http.Request, ui.Notice)
}

func (a *linkAPI) routes() {
	a.HandleFunc("GET /links/{token}", func(w http.ResponseWriter, r *http.Request) { a.show(w, r, a.offer(r)) })
	a.HandleFunc("POST /links/{token}", func(w http.ResponseWriter, r *http.Request) { a.show(w, r, a.follow(r)) })
}

// read returns the link of a request with what it is about, or what to show instead.
func (a *linkAPI) read(r *http.Request) (l sinks.Link, about string, instead *ui.Notice) {
	refused := &ui.Notice{Status: http.StatusNotFound, Title: "This link does not work", Text: "It is incomplete, or not of this server. Copy it from the message as a whole."}
	if a.sinks == nil {
		return l, "", refused
	}
	l, err := sinks.ReadLink(r.PathValue("token"), a.sinks.Mac, a.Now())
	switch {
	case errors.Is(err, sinks.ErrLinkExpired):
		return l, "", &ui.Notice{Status: http.StatusGone, Title: "This link has expired", Text: "Links in messages work for 30 days. A newer message has a new one."}
	case errors.Is(err, sinks.ErrLinkInvalid):
		return l, "", refused
	case err != nil:
		return l, "", a.broken(err)
	case l.Query == "":
		return l, "the changes that are sent to " + l.Sink, nil
	}
	q, err := a.queries.Query(r.Context(), l.Query)
	if errors.Is(err, freshet.ErrNotFound) {
		return l, "", &ui.Notice{Status: http.StatusGone, Title: "This alert is gone", Text: "Somebody has removed it. Nothing more is sent."}
	}
	if err != nil {
		return l, "", a.broken(err)
	}
	return l, "the alert “" + q.Name + "”", nil
}

func (a *linkAPI) broken(err error) *ui.Notice {
	a.Log.Error("a link of a message failed", "err", err)
	return &ui.Notice{Status: http.StatusInternalServerError, Title: "That did not work", Text: "The server has a problem, which is in its log. Try again later."}
}

// offer says what a link does.
func (a *linkAPI) offer(r *http.Request) ui.Notice {
	l, about, instead := a.read(r)
	switch {
	case instead != nil:
		return *instead
	case l.Action == sinks.Acknowledge:
		return ui.Notice{Status: http.StatusOK, Title: "Acknowledge an alert", Text: "What you got so far of " + about + " is not sent again. What happens later is.", Button: "Acknowledge"}
	}
	return ui.Notice{Status: http.StatusOK, Title: "Stop messages", Text: "Nothing more of " + about + " is sent to " + l.Sink + ", until somebody starts it again on the page.", Button: "Stop"}
}

// follow does what a link says.
func (a *linkAPI) follow(r *http.Request) ui.Notice {
	l, about, instead := a.read(r)
	if instead != nil {
		return *instead
	}
	done := ui.Notice{Status: http.StatusOK, Title: "Acknowledged", Text: "What you got so far of " + about + " is not sent again."}
	var err error
	if l.Action == sinks.Acknowledge {
		_, err = a.acknowledge(r.Context(), l.Query, l.Number)
	} else {
		done.Title = "Stopped"
		done.Text, err = a.stop(r.Context(), l)
	}
	problem := &rest.Problem{}
	switch {
	case errors.As(err, &problem):
		return ui.Notice{Status: problem.Status, Title: "That cannot be done here", Text: problem.Detail + ". " + problem.Hint + "."}
	case err != nil:
		return *a.broken(err)
	}
	c := auth.Of(r.Context())
	if !c.Known {
		c.Via = "link"
	}
	subject := "sink " + l.Sink
	if l.Query != "" {
		subject = "query " + string(l.Query)
	}
	a.Gate.Note(r.Context(), c, auth.AuditEntry{What: string(l.Action), Method: r.Method, Path: "/links", Status: http.StatusOK, Subject: subject})
	return done
}

// stop ends what a sink gets of a query, or all that it gets, and says what it did. Others who get the same go on
// to. A query that nobody else follows is paused; a sink without queries would get every change.
func (a *linkAPI) stop(ctx context.Context, l sinks.Link) (string, error) {
	a.Edits.Lock()
	defer a.Edits.Unlock()
	all, err := a.sinks.List(ctx)
	if err != nil {
		return "", err
	}
	others, sink := 0, sinks.Sink{}
	for _, st := range all {
		switch follows := slices.Contains(st.Sink.Queries, l.Query); {
		case st.Sink.Name == l.Sink && (follows || l.Query == "" && len(st.Sink.Queries) == 0):
			sink = st.Sink
		case follows:
			others++
		}
	}
	if sink.Name == "" || sink.Paused {
		return "Nothing of this is sent to " + l.Sink + " any more.", nil
	}
	if l.Query != "" && others == 0 {
		q, err := a.queries.Query(ctx, l.Query)
		if err != nil {
			return "", err
		}
		if q.Origin != freshet.FromFile {
			return "The alert is paused. It can be started again on the page.", a.pause(ctx, q)
		}
	}
	if sink.Origin == freshet.FromFile {
		p := rest.NewProblem(http.StatusConflict, "The configuration file says that this is sent")
		p.Hint = "Ask the administrator of the server to change the file"
		return "", p
	}
	said := "Nothing is sent to " + l.Sink + " any more. It can be started again on the page."
	if rest := slices.DeleteFunc(slices.Clone(sink.Queries), func(id queries.ID) bool { return id == l.Query }); len(rest) > 0 {
		sink.Queries, said = rest, "Nothing of this alert is sent to "+l.Sink+" any more."
	} else {
		sink.Paused = true
	}
	return said, a.sinks.Put(ctx, sink, sink.Revision, false)
}

func (a *linkAPI) pause(ctx context.Context, q queries.Query) error {
	if q.Paused {
		return nil
	}
	q.Paused = true
	_, err := a.queries.UpdateQuery(ctx, q)
	a.queriesEdited()
	return err
}
